"""The payoffs on every worked example of the papers."""

from math import sqrt

import numpy as np
import pytest

from omnimeter.contract import Trace
from omnimeter.contract.exercise import NANOSECONDS, nanoseconds
from omnimeter.payoffs import Average, Diminishing, PerSecond, Total, average, total

HALF_AN_HOUR = 1_800 * NANOSECONDS


def steady(rewards, delay, seconds):
    """A trace of an agent that takes the same time for each action."""
    times = np.arange(1, len(rewards) + 1) * nanoseconds(delay)
    return Trace(np.asarray(rewards, dtype=float), times, 100 * len(times) * NANOSECONDS).until(
        nanoseconds(seconds)
    )


def student(right, exercises):
    """A trace of half an hour with so many exercises right, the last ones."""
    rewards = np.zeros(exercises)
    rewards[exercises - right :] = 1.0
    return Trace(rewards, np.linspace(1, HALF_AN_HOUR, exercises).astype(np.int64), HALF_AN_HOUR)


STUDENTS = {"s1": (10, 15), "s2": (18, 42), "s3": (4, 5), "s4": (50, 5_000)}


def test_the_first_robot_gets_four_and_a_half():
    """It presses B1 three times a second for 30 seconds; every other time the ball is in C1."""
    trace = steady(np.tile([0.1, 0.0], 100), 1 / 3, 30)
    assert len(trace) == 90
    assert Total()(trace) == 4.5
    assert Average()(trace) == 0.05
    assert PerSecond()(trace) == 0.15
    assert Diminishing()(trace) == pytest.approx(0.05, abs=0.001)


def test_counting_the_first_reward_would_make_no_difference_to_the_first_robot():
    """The paper sums r_1 to r_n, where r_1 = 0 comes before the first action."""
    brought = steady(np.tile([0.1, 0.0], 100), 1 / 3, 30).rewards
    assert total(np.concatenate([[0.0], brought[:-1]])) == 4.5


def test_the_random_robot_is_expected_to_get_ten():
    """The total is linear, so its expectation is the total of the expected rewards."""
    trace = steady(np.full(1_000, 1 / 3 * 0.1), 1 / 10, 30)
    assert len(trace) == 300
    assert Total()(trace) == pytest.approx(10, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "whole", "mean", "hourly"),
    [("s1", 10, 2 / 3, 20), ("s2", 18, 3 / 7, 36), ("s3", 4, 4 / 5, 8), ("s4", 50, 1 / 100, 100)],
)
def test_the_students(name, whole, mean, hourly):
    trace = student(*STUDENTS[name])
    assert Total()(trace) == whole
    assert Average()(trace) == mean
    assert PerSecond()(trace) * 3_600 == pytest.approx(hourly, rel=1e-15)


def mixed(right, exercises, hours=0.5, under_the_root=None):
    """The formula v' = v · √n / τ, which the paper proposes in order to refute it."""
    root = sqrt(exercises if under_the_root is None else under_the_root)
    return average(student(right, exercises).rewards) * root / hours


def test_the_mixed_formula_does_not_give_the_printed_values():
    """What the paper prints (2.3, 2.26, 1.6, 1) does not follow from its formula in any unit.

    Another unit of time multiplies all four by the same factor, so ratios are free of it: by the
    formula s2 is better than s1, in the printed values worse. The printed ones come out for
    τ = 0.5 when n is replaced by 3, 7, 1 and 2,500.
    """
    values = {name: mixed(*marks) for name, marks in STUDENTS.items()}
    assert values == pytest.approx({"s1": 5.164, "s2": 5.555, "s3": 3.578, "s4": 1.414}, abs=5e-4)
    assert values["s2"] / values["s1"] > 1 > 2.26 / 2.3
    replaced = {"s1": 3, "s2": 7, "s3": 1, "s4": 2_500}
    printed = {name: mixed(*STUDENTS[name], under_the_root=n) for name, n in replaced.items()}
    assert printed == pytest.approx({"s1": 2.309, "s2": 2.268, "s3": 1.6, "s4": 1.0}, abs=5e-4)


def test_the_very_fast_student_and_the_sixth():
    """The 4 of s5 is right. The paper's own expression for s6 gives 6.4, not the printed 5.2."""
    assert mixed(4_000, 4_000_000) == pytest.approx(4, rel=1e-15)
    assert mixed(16, 25) == pytest.approx(6.4, rel=1e-15)
    assert mixed(13, 25) == pytest.approx(5.2, rel=1e-15)


def test_a_reward_bounded_environment_gives_a_third():
    """Anytime test, Example 2: the k-th action is right one time in three and then brings 2^-k."""
    expected = 1 / 3 * 0.5 ** np.arange(1.0, 101.0)
    assert total(expected) == 1 / 3


def test_the_balanced_buttons():
    """Anytime test, section 4.5: four observations, equally likely; W brings 1 and B brings -1."""
    worth = {"W": 1.0, "B": -1.0, "0": 0.0}
    observations = ["0WB", "0BW", "W0B", "WB0"]
    rewards = np.array([[worth[cell] for cell in seen] for seen in observations])
    assert [average(rewards[:, button]) for button in range(3)] == [1 / 2, -1 / 4, -1 / 4]
    assert average(rewards.ravel()) == 0
