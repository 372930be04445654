"""Measures of environments seen as overlays (perturbation tolerance)."""

from omnimeter.contract.overlay import Belief
from omnimeter.measures.basic import (
    FACTORS,
    MEASURES,
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
from omnimeter.measures.classes import ClassMeasures, measure_class
from omnimeter.measures.distances import UndefinedError, Variability, variability
from omnimeter.measures.files import read_knowledge, read_overlay

__all__ = [
    "FACTORS",
    "MEASURES",
    "Belief",
    "ClassMeasures",
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
    "measure_class",
    "overlay_difference",
    "read_knowledge",
    "read_overlay",
    "variability",
    "volatility",
]
