"""Complexities of texts: functions of strings that know nothing of agents."""

from omnimeter.complexity.compression import compressed_length
from omnimeter.complexity.kt import kt_max
from omnimeter.complexity.paths import (
    expand,
    primitive_period,
    read_expression,
    shortest_expression,
)
from omnimeter.complexity.prefix_codes import (
    elias_gamma,
    elias_gamma_length,
    read_elias_gamma,
    read_truncated_binary,
    truncated_binary,
    truncated_binary_length,
)

__all__ = [
    "compressed_length",
    "elias_gamma",
    "elias_gamma_length",
    "expand",
    "kt_max",
    "primitive_period",
    "read_elias_gamma",
    "read_expression",
    "read_truncated_binary",
    "shortest_expression",
    "truncated_binary",
    "truncated_binary_length",
]
