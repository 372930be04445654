"""From a trace to a number: what the rewards and times of an exercise are worth."""

from omnimeter.payoffs.discounts import (
    DiscountFunction,
    DiscountSequence,
    finite,
    geometric,
    harmonic,
    named_discount,
    power,
    quadratic,
)
from omnimeter.payoffs.functions import (
    average,
    average_along,
    diminishing,
    diminishing_along,
    discounted,
    discounted_along,
    per_second,
    per_second_along,
    total,
    total_along,
)
from omnimeter.payoffs.parts import Average, Diminishing, Discounted, PerSecond, Total

__all__ = [
    "Average",
    "Diminishing",
    "DiscountFunction",
    "DiscountSequence",
    "Discounted",
    "PerSecond",
    "Total",
    "average",
    "average_along",
    "diminishing",
    "diminishing_along",
    "discounted",
    "discounted_along",
    "finite",
    "geometric",
    "harmonic",
    "named_discount",
    "per_second",
    "per_second_along",
    "power",
    "quadratic",
    "total",
    "total_along",
]
