"""The students of the introduction to fixed-time payoffs."""

from __future__ import annotations

import numpy as np
import pytest

from omnimeter.agents.students import HALF_AN_HOUR, STUDENTS, student
from omnimeter.contract import Ending, UnknownNameError
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.payoffs import Average, PerSecond, Total

MINUTE = 60 * NANOSECONDS


@pytest.mark.parametrize(
    ("name", "right", "exercises"),
    [
        ("s1", 10, 15),
        ("s2", 18, 42),
        ("s3", 4, 5),
        ("s4", 50, 5_000),
        ("s5", 4_000, 4_000_000),
        ("s6", 16, 25),
    ],
)
def test_counts_are_those_of_the_text(name: str, right: int, exercises: int) -> None:
    trace = student(name)
    assert len(trace) == exercises
    assert Total()(trace) == right
    assert Average()(trace) == right / exercises
    assert PerSecond()(trace) * 3_600 == pytest.approx(2 * right, rel=1e-15)


@pytest.mark.parametrize("name", STUDENTS)
def test_traces_are_possible(name: str) -> None:
    trace = student(name)
    assert np.isin(trace.rewards, [0.0, 1.0]).all()
    assert (np.diff(trace.times, prepend=0) > 0).all()
    assert trace.times[-1] <= trace.end_ns == HALF_AN_HOUR == 30 * MINUTE
    assert trace.same_as(student(name))


@pytest.mark.parametrize(("name", "minutes"), [("s3", 10.0), ("s6", 17.0)])
def test_when_a_student_is_always_right(name: str, minutes: float) -> None:
    """The text says about 10 and about 17 minutes."""
    trace = student(name)
    steady = int(np.flatnonzero(trace.rewards == 0)[-1]) + 1
    assert trace.times[steady] / MINUTE == pytest.approx(minutes, abs=0.5)


def test_third_student_needs_two_attempts() -> None:
    assert student("s3").rewards.tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("name", ["s1", "s2", "s4", "s5"])
def test_right_ones_are_at_equal_distances(name: str) -> None:
    right = np.flatnonzero(student(name).rewards)
    gaps = np.diff(right)
    assert gaps.max() - gaps.min() <= 1
    wrong_at_the_ends = right[0], len(student(name)) - 1 - right[-1]
    assert abs(wrong_at_the_ends[0] - wrong_at_the_ends[1]) <= 1


def test_seventh_student_stops_at_the_first_right_one() -> None:
    trace = student("s7")
    assert trace.ending is Ending.STOPPED
    assert np.flatnonzero(trace.rewards).tolist() == [len(trace) - 1]
    assert Average()(trace) > Average()(student("s4"))
    assert trace.times[0] == student("s4").times[0]
    assert 0.99 ** len(trace) < 1 / 2 < 0.99 ** (len(trace) - 1)
    assert trace.times[-1] < MINUTE < trace.end_ns


def test_only_the_seventh_student_stops() -> None:
    assert [name for name in STUDENTS if student(name).ending is Ending.STOPPED] == ["s7"]


def test_unknown_student_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="no student 's8'"):
        student("s8")
