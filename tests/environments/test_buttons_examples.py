"""The worked examples of both papers, played by their robots in the buttons."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest

from omnimeter.agents.simple import ConstantAgent, ExampleRobot, PolicyAgent, RandomAgent
from omnimeter.contract import (
    Budget,
    Exercise,
    Instance,
    InvalidInputError,
    Spec,
    Trace,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.interaction import KernelAgent, run_single
from omnimeter.payoffs import Average, Total


def run(
    maker: Callable[[], KernelAgent], example: str, budget: Budget, count: int = 1
) -> list[Trace]:
    """Compiled traces, with everything recorded."""
    buttons = Buttons(example)  # type: ignore[arg-type]
    instance = buttons.draw(stream(1).generator())
    taken = [
        Exercise(Spec("agent"), Spec("buttons-v1"), instance, budget, seed=21, number=number)
        for number in range(count)
    ]
    return list(run_single(buttons, maker(), taken, record=True))


def test_first_robot_has_the_interaction_that_the_paper_writes_down() -> None:
    """0 C1 B1 0.1 C2 B1 0 C1 B1 0.1 ... with t_i = i / 3."""
    (trace,) = run(ExampleRobot, "alternating", Budget(seconds=30.0))
    assert trace.actions is not None
    assert trace.observations is not None
    assert trace.first_reward == 0.0
    assert trace.rewards.tolist() == [0.1, 0.0] * 45
    assert trace.actions.tolist() == [0] * 90
    assert trace.observations.ravel().tolist() == [0, 1] * 45 + [0]
    assert trace.times / 1e9 == pytest.approx(np.arange(1, 91) / 3, abs=1e-7)
    assert trace.end_ns == 30_000_000_000


def test_first_robot_gets_four_and_a_half() -> None:
    (trace,) = run(ExampleRobot, "alternating", Budget(seconds=30.0))
    assert len(trace) == 90
    assert Total()(trace) == pytest.approx(4.5, abs=1e-12)
    assert float(np.sum(trace.rewards)) == pytest.approx(4.5, abs=1e-12)


def test_random_robot_gets_ten_on_average() -> None:
    traces = run(lambda: ExampleRobot(4), "alternating", Budget(seconds=30.0), 500)
    totals = np.array([Total()(trace) for trace in traces])
    assert {len(trace) for trace in traces} == {300}
    expected_deviation = 0.1 * sqrt(300 * 2 / 9)
    assert totals.std(ddof=1) == pytest.approx(expected_deviation, rel=0.15)
    assert totals.mean() == pytest.approx(10, abs=4 * expected_deviation / sqrt(500))


def test_bananas_for_the_button_of_the_ball() -> None:
    """Anytime test, Example 1: an agent that presses the ball's button gets a banana each time."""
    for maker in (PolicyAgent, lambda: PolicyAgent([0, 1, 2])):
        (trace,) = run(maker, "bananas", Budget(interactions=1_000))
        assert trace.first_reward == 1.0
        assert trace.rewards.tolist() == [1.0] * 1_000
        assert trace.observations is not None
        assert np.unique(trace.observations).tolist() == [0, 1, 2]
    (wrong,) = run(lambda: PolicyAgent([1, 2, 0]), "bananas", Budget(interactions=1_000))
    assert not wrong.rewards.any()


@pytest.mark.parametrize("interactions", [2, 60])
def test_bounded_rewards_bring_a_third(interactions: int) -> None:
    """Anytime test, Example 2: 1/3 in the limit, (1 - 2^-n) / 3 after n actions."""
    traces = run(ConstantAgent, "bounded", Budget(interactions=interactions), 2_000)
    totals = np.array([Total()(trace) for trace in traces])
    expected = (1 - 0.5**interactions) / 3
    assert totals.mean() == pytest.approx(expected, abs=4 * totals.std() / sqrt(len(totals)))
    assert totals.max() <= 1
    if interactions == 60:
        assert expected == pytest.approx(1 / 3, abs=1e-15)


def test_best_policy_in_bounded_rewards_comes_to_one() -> None:
    (trace,) = run(PolicyAgent, "bounded", Budget(interactions=50))
    assert trace.rewards.tolist() == [0.5**k for k in range(1, 51)]


@pytest.mark.parametrize(("number", "expected"), [(1, 1 / 2), (2, -1 / 4), (3, -1 / 4), (4, 0.0)])
def test_robots_in_the_balanced_example(number: int, expected: float) -> None:
    """Anytime test, Example 4."""
    interactions = 1_000_000
    (trace,) = run(
        lambda: ExampleRobot(number),  # type: ignore[arg-type]
        "balanced",
        Budget(interactions=interactions),
    )
    assert len(trace) == interactions
    error = trace.rewards.std() / sqrt(interactions)
    assert 0 < error < 1e-3
    assert Average()(trace) == pytest.approx(expected, abs=4 * error)


def test_the_last_of_twenty_buttons_moves_the_ball() -> None:
    """Ours: the reward is that of the cell where the ball ends up."""
    traces = run(RandomAgent, "switch-balanced", Budget(interactions=400), 20)
    starts = set()
    for trace in traces:
        assert trace.actions is not None
        assert trace.observations is not None
        cells = trace.observations.ravel()
        assert np.array_equal(np.diff(cells) != 0, trace.actions == 19)
        assert np.array_equal(trace.rewards, np.where(cells[1:] == 0, 1.0, -1.0))
        starts.add(int(cells[0]))
    assert starts == {0, 1}
    for trace in run(RandomAgent, "switch-often", Budget(interactions=400), 20):
        assert trace.actions is not None
        assert trace.observations is not None
        cells = trace.observations.ravel()
        assert np.array_equal(np.diff(cells) != 0, trace.actions != 19)
        assert np.array_equal(trace.rewards, np.where(cells[1:] == 0, 1.0, -1.0))


def test_fate_never_changes() -> None:
    signs = set()
    for trace in run(RandomAgent, "fate", Budget(interactions=200), 20):
        assert trace.observations is not None
        (cell,) = set(trace.observations.ravel().tolist())
        (sign,) = set(trace.rewards[trace.rewards != 0].tolist())
        assert sign == (1.0, -1.0)[cell]
        signs.add(sign)
    assert signs == {1.0, -1.0}


@pytest.mark.parametrize(
    "changed",
    [
        {"scenes": [[0], [5]]},
        {"scenes": [[0], [1], [2]]},
        {"scenes": []},
        {"pays": [[1.0], [0.0], [0.0]]},
        {"pays": [[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]},
        {"values": [2, 2]},
        {"shrink": 0},
        {"first_reward": 9},
    ],
)
def test_descriptions_that_are_none_of_a_box_are_refused(changed):
    drawn = Buttons("fate").draw(stream(1).generator())
    Buttons("fate").build(drawn)
    with pytest.raises(InvalidInputError, match="of the buttons"):
        Buttons("fate").build(Instance({**drawn.data, **changed}))
