"""Measures of environments seen as overlays (perturbation tolerance)."""

from omnimeter.measures.basic import (
    FACTORS,
    MEASURES,
    Belief,
    Difference,
    Inconsistency,
    Measures,
    Volatility,
    complexity,
    inconsistency,
    information_density,
    measure,
    overlay_difference,
    volatility,
)
from omnimeter.measures.distances import UndefinedError, Variability, variability

__all__ = [
    "FACTORS",
    "MEASURES",
    "Belief",
    "Difference",
    "Inconsistency",
    "Measures",
    "UndefinedError",
    "Variability",
    "Volatility",
    "complexity",
    "inconsistency",
    "information_density",
    "measure",
    "overlay_difference",
    "variability",
    "volatility",
]
