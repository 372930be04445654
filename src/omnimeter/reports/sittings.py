"""What a result counts: exercises or, where these depend on each other, whole sittings."""

from __future__ import annotations

from omnimeter.contract import Spec
from omnimeter.protocols import Result

EXERCISE, SITTING = "exercise", "sitting"
"""The two things that can be counted."""


def unit(result: Result) -> str:
    """What is independent of each other in a result, and therefore counted and compared.

    An adaptive test has a course. In it an exercise depends on what came of those before, and only
    sittings are independent.
    """
    return SITTING if any(result.courses.values()) else EXERCISE


def is_adjusted(result: Result) -> bool:
    """Whether an exercise counts with another value than its payoff."""
    return bool(result.values) and unit(result) == EXERCISE


def sitting_count(result: Result) -> int:
    """How many sittings each agent took side by side; 0 where exercises are independent."""
    if unit(result) == EXERCISE:
        return 0
    return max((1 + number for each in result.values.values() for number in each), default=0)


def sittings_of(agent: Spec, result: Result) -> int:
    """How many sittings of an agent have a score; 0 where exercises are independent."""
    return len(result.values.get(agent, ())) if unit(result) == SITTING else 0
