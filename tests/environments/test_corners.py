"""The grid with rewards in two corners: how it moves, what is ideal there, what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from omnimeter.contract import Budget, Instance, InvalidInputError
from omnimeter.environments.corners import DOWN, LEFT, RIGHT, UP, Corners, ideal_policy
from omnimeter.environments.switch import Switch
from omnimeter.interaction import run_single
from omnimeter.reproductions.perturbation.tolerance import plain_learner
from omnimeter.reproductions.shared import draw_exercises

RNG = np.random.default_rng


def built(environment_class: Any) -> Any:
    return environment_class.build(environment_class.draw(RNG(0)))


def moved(environment: Any, place: int, action: int) -> tuple[float, int]:
    environment.state.place[0] = place
    reward, observation = environment.step(action)
    return reward, observation


def test_walls_block_and_corners_pay() -> None:
    grid = built(Corners(3, [7, -2]))
    grid.start(RNG(1))
    assert moved(grid, 4, UP) == (0, 1)
    assert moved(grid, 4, DOWN) == (0, 7)
    assert moved(grid, 4, LEFT) == (0, 3)
    assert moved(grid, 4, RIGHT) == (0, 5)
    for place, action in ((1, UP), (2, RIGHT), (6, LEFT), (7, DOWN), (2, UP), (6, DOWN)):
        assert moved(grid, place, action) == (0, place)
    for place, action, reward in ((1, LEFT, 7), (3, UP, 7), (7, RIGHT, -2), (5, DOWN, -2)):
        reached = [moved(grid, place, action) for _ in range(100)]
        assert {paid for paid, _ in reached} == {reward}
        assert {where for _, where in reached} == {1, 2, 3, 4, 5, 6, 7}


def test_rewards_are_declared_and_rescaled() -> None:
    assert built(Corners(8, [25, 5])).rewards == (0, 25)
    assert built(Corners()).rewards == (-10, 10)
    rescaled = built(Corners(8, [25, 5], rescale=True))
    assert rescaled.rewards == (-1, 1)
    assert rescaled.state.rewards.tolist() == [-1, 1, -0.6]


def test_squares_are_told_apart_by_column_row_and_reward() -> None:
    grid = Corners()
    overlay = grid.overlay(grid.draw(RNG(0)), RNG(0), 5)
    assert list(overlay.columns) == ["x", "y", "reward"]
    assert (overlay.adjacency.size, overlay.duration, len(overlay.changes)) == (64, 5, 0)
    labels = [overlay.columns["reward"][code - 1] for code in overlay.codes[:, 2]]
    assert labels == [10, *[0] * 62, -10]


@pytest.mark.parametrize(
    "given", [{"size": 1}, {"rewards": [1]}, {"rewards": [1, float("nan")]}, {"size": 10**6}]
)
def test_wrong_parameters_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Corners(**given)


def test_other_complexities_are_refused() -> None:
    assert Corners().draw(RNG(0), 64).data["size"] == 8
    with pytest.raises(InvalidInputError, match="complexity 64, not 63"):
        Corners().draw(RNG(0), 63)


# The ideal policy


def relative_value_iteration(rewards: tuple[float, float], size: int) -> float:
    """The best average reward per turn of all policies, over single moves of single turns."""
    last = size * size - 1
    values = np.zeros(size * size)
    inside = slice(1, last)
    for _ in range(20_000):
        anywhere = values[inside].mean()
        grid = values.reshape(size, size).copy()
        worth = grid.copy()
        worth[0, 0], worth[-1, -1] = rewards[0] + anywhere, rewards[1] + anywhere
        moves = [
            np.vstack([worth[:1], worth[:-1]]),
            np.vstack([worth[1:], worth[-1:]]),
            np.hstack([worth[:, :1], worth[:, :-1]]),
            np.hstack([worth[:, 1:], worth[:, -1:]]),
        ]
        # Half of the time the agent stays, at half the average: the iteration does not oscillate.
        new = (0.5 * np.max(moves, axis=0) + 0.5 * grid).ravel()
        gains = (new - values)[inside]
        values = new - new[1]
        if np.ptp(gains) < 1e-12:
            break
    return float(2 * gains.mean())


@pytest.mark.parametrize(
    ("rewards", "average"),
    [
        ((10, -10), Fraction(10, 7)),
        ((25, 5), Fraction(635, 159)),
        ((35, 15), Fraction(295, 49)),
        ((19, 21), Fraction(156, 35)),
        ((21, 19), Fraction(156, 35)),
        ((-10, 10), Fraction(10, 7)),
        ((-3, -5), Fraction(0)),
    ],
)
def test_ideal_average_is_that_of_value_iteration(
    rewards: tuple[float, float], average: Fraction
) -> None:
    ideal = ideal_policy(rewards)
    assert ideal.average == average
    assert float(average) == pytest.approx(relative_value_iteration(rewards, 8), abs=1e-9)


def test_ideal_policies_of_other_sizes_and_real_rewards() -> None:
    for size, rewards in ((2, (1.0, 3.0)), (3, (0.5, 0.25)), (5, (2.5, -1.0)), (6, (4.0, 4.0))):
        expected = relative_value_iteration(rewards, size)
        assert float(ideal_policy(rewards, size).average) == pytest.approx(expected, abs=1e-9)


def test_squares_go_toward_the_corner_that_is_worth_more() -> None:
    assert ideal_policy((10, -10)).toward_first.all()
    assert not ideal_policy((-10, 10)).toward_first.any()
    places = np.arange(64)
    near = places // 8 + places % 8
    np.testing.assert_array_equal(ideal_policy((21, 19)).toward_first, near <= 7)
    np.testing.assert_array_equal(ideal_policy((19, 21)).toward_first, near < 7)
    np.testing.assert_array_equal(ideal_policy((5, 5)).toward_first, near <= 7)


# The switch


def test_the_agent_stays_where_it_is_when_rewards_change() -> None:
    parts = [{"id": "corners-v1", "parameters": {"rewards": each}} for each in ([3, 1], [4, 2])]
    environment_class = Switch(first=parts[0], second=parts[1], at=50)
    learner = plain_learner({"epsilon": 0.5})
    exercises = draw_exercises(environment_class, Budget(100), 20)
    traces = list(run_single(environment_class, learner, exercises, record=True))
    again = list(run_single(environment_class, learner, exercises, record=True, compiled=False))
    paid = set()
    for trace, other in zip(traces, again, strict=True):
        np.testing.assert_array_equal(trace.rewards, other.rewards)
        np.testing.assert_array_equal(trace.observations, other.observations)
        assert set(trace.rewards[:50]) <= {0, 1, 3}
        assert set(trace.rewards[50:]) <= {0, 2, 4}
        paid |= set(trace.rewards)
        places = np.asarray(trace.observations).ravel()
        if trace.rewards[49] == 0:
            steps = abs(places[50] // 8 - places[49] // 8) + abs(places[50] % 8 - places[49] % 8)
            assert steps <= 1
    assert paid == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    "changed", [{"size": 0}, {"size": 2.0}, {"size": True}, {"rewards": [0.0]}, {"rewards": []}]
)
def test_descriptions_that_are_none_of_a_grid_are_refused(changed):
    drawn = Corners().draw(RNG(0))
    with pytest.raises(InvalidInputError, match="A grid cannot have"):
        Corners().build(Instance({**drawn.data, **changed}))
