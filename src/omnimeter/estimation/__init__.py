"""Estimates with their intervals: functions of arrays that know nothing of agents.

Where randomness is needed, the generator is an argument. Intervals are two-sided and have a stated
confidence. Coverage given in docstrings is that of ``pytest tests/estimation``, slow tests
included.
"""

from omnimeter.estimation.comparison import SignedRank, probability_of_improvement, wilcoxon
from omnimeter.estimation.correlation import (
    Correlation,
    Line,
    correlation,
    rank_correlation,
    regression,
    regression_band,
)
from omnimeter.estimation.estimates import (
    Band,
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
    stratified_spread,
    stratified_test,
)
from omnimeter.estimation.performance import (
    LearningSpeed,
    interquartile_estimate,
    learning_speed,
    performance_profile,
)
from omnimeter.estimation.planning import Needed, detectable, pairs_for, pairs_needed
from omnimeter.estimation.reliability import intraclass, stability
from omnimeter.estimation.sequences import difference_sequence, mean_sequence
from omnimeter.estimation.variance import (
    Effect,
    TwoWay,
    repeated_measures,
    two_way_repeated_measures,
)

__all__ = [
    "Band",
    "Correlation",
    "Effect",
    "Estimate",
    "LearningSpeed",
    "Line",
    "Needed",
    "SignedRank",
    "Statistic",
    "Support",
    "TwoWay",
    "bootstrap",
    "combined_mean",
    "correlation",
    "detectable",
    "difference",
    "difference_sequence",
    "interquartile_estimate",
    "interquartile_mean",
    "intraclass",
    "learning_speed",
    "mean",
    "mean_sequence",
    "paired_difference",
    "paired_z",
    "pairs_for",
    "pairs_needed",
    "performance_profile",
    "probability_of_improvement",
    "proportion",
    "rank_correlation",
    "regression",
    "regression_band",
    "repeated_measures",
    "stability",
    "stratified_difference",
    "stratified_mean",
    "stratified_spread",
    "stratified_test",
    "two_way_repeated_measures",
    "wilcoxon",
]
