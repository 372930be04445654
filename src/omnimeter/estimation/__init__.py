"""Estimates with their intervals: functions of arrays that know nothing of agents.

Where randomness is needed, the generator is an argument. Intervals are two-sided and have a stated
confidence. Coverage given in docstrings is that of ``pytest tests/estimation``, slow tests
included.
"""

from omnimeter.estimation.correlation import Correlation, Line, correlation, regression
from omnimeter.estimation.estimates import (
    Estimate,
    Statistic,
    Support,
    bootstrap,
    interquartile_mean,
)
from omnimeter.estimation.means import (
    combined_mean,
    difference,
    mean,
    paired_difference,
    paired_z,
    proportion,
    stratified_difference,
    stratified_mean,
    stratified_test,
)
from omnimeter.estimation.reliability import intraclass, stability
from omnimeter.estimation.sequences import difference_sequence, mean_sequence

__all__ = [
    "Correlation",
    "Estimate",
    "Line",
    "Statistic",
    "Support",
    "bootstrap",
    "combined_mean",
    "correlation",
    "difference",
    "difference_sequence",
    "interquartile_mean",
    "intraclass",
    "mean",
    "mean_sequence",
    "paired_difference",
    "paired_z",
    "proportion",
    "regression",
    "stability",
    "stratified_difference",
    "stratified_mean",
    "stratified_test",
]
