"""Estimates with their intervals: functions of arrays that know nothing of agents.

Where chance is needed, the generator is an argument. Intervals are two-sided and say their level.
"""

from omnimeter.statistics.estimate import Estimate, Support
from omnimeter.statistics.means import difference, mean, paired_difference
from omnimeter.statistics.proportions import proportion
from omnimeter.statistics.relations import Correlation, Line, correlation, regression
from omnimeter.statistics.reliability import intraclass, stability
from omnimeter.statistics.resampling import Statistic, bootstrap, interquartile_mean
from omnimeter.statistics.significance import holm, paired_test
from omnimeter.statistics.strata import (
    stratified_difference,
    stratified_mean,
    stratified_test,
)

__all__ = [
    "Correlation",
    "Estimate",
    "Line",
    "Statistic",
    "Support",
    "bootstrap",
    "correlation",
    "difference",
    "holm",
    "interquartile_mean",
    "intraclass",
    "mean",
    "paired_difference",
    "paired_test",
    "proportion",
    "regression",
    "stability",
    "stratified_difference",
    "stratified_mean",
    "stratified_test",
]
