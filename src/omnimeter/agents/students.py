"""The students of the introduction to fixed-time payoffs, as scripted traces of half an hour.

The figure that shows them is lost. The text says how many exercises each did and how many were
right, and a little about when; every other time is our choice, which ``STUDENTS`` states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnimeter.contract import Ending, Trace, UnknownNameError
from omnimeter.contract.exercise import NANOSECONDS

HALF_AN_HOUR = 1800 * NANOSECONDS
"""The tau of the test."""


@dataclass(frozen=True, slots=True)
class Student:
    """How many exercises a student did, and how many were right.

    Attributes:
        steady_from: From which exercise on, counted from 1, all were right, if any.
        minutes: When each was done, if not at equal distances.
        last: The nanosecond at which the last was done, if they were at equal distances.
        stops: Whether the student did no more by choice.
    """

    exercises: int
    right: int
    steady_from: int | None = None
    minutes: tuple[int, ...] | None = None
    last: int = HALF_AN_HOUR
    stops: bool = False


STUDENTS = {
    # Right ones at equal distances: the text does not say when.
    "s1": Student(15, 10),
    "s2": Student(42, 18),
    # "With only two attempts" knew the way, "in about 10 minutes": the first was wrong, the
    # second, after 10 minutes, right, and so on.
    "s3": Student(5, 4, steady_from=2, minutes=(5, 10, 16, 23, 30)),
    # At random, so that equal distances are as good as any.
    "s4": Student(5_000, 50),
    "s5": Student(4_000_000, 4_000),
    # Always right after "about 17 minutes": from the 14th exercise on, after 16.8 minutes. The
    # four right ones before are at equal distances.
    "s6": Student(25, 16, steady_from=14),
    # At random until the first 1. No number is given: as fast and as good as s4, half of such
    # students stop at the 69th exercise or before, since 0.99 ** 69 < 1/2 < 0.99 ** 68.
    "s7": Student(69, 1, steady_from=69, last=69 * HALF_AN_HOUR // 5_000, stops=True),
}
"""Each student by name, with the reasons for what the text leaves open."""


def student(name: str) -> Trace:
    """What a student did in half an hour: reward 1 for a right exercise, 0 for a wrong one.

    Args:
        name: ``s1`` to ``s7``.

    Raises:
        UnknownNameError: There is no such student.
    """
    if name not in STUDENTS:
        raise UnknownNameError("student", name, STUDENTS)
    course = STUDENTS[name]
    steady = 0 if course.steady_from is None else course.exercises - course.steady_from + 1
    early = course.exercises - steady
    # Exactly so many early right ones, at equal distances, equally far from both ends.
    right_by = (np.arange(early + 1) * (course.right - steady) + early // 2) // max(early, 1)
    if course.minutes is None:
        times = np.arange(1, course.exercises + 1) * course.last // course.exercises
    else:
        times = np.array(course.minutes, dtype=np.int64) * 60 * NANOSECONDS
    return Trace(
        rewards=np.concatenate((np.diff(right_by), np.ones(steady))),
        times=times,
        end_ns=HALF_AN_HOUR,
        ending=Ending.STOPPED if course.stops else Ending.BUDGET,
    )
