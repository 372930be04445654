"""The compiled loop leaves the same traces as the ordinary one, whatever happens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from odd_kernels import Boxes, HalfTeller, Teller, TellerState, box
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import (
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Exercise,
    FaultKind,
    Instance,
    Spec,
    Timeout,
    Trace,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.interaction import batch, take
from omnimeter.interaction.batch import run_batch
from omnimeter.kernels import KernelAgent, KernelEnvironmentClass


def exercise(instance: Instance, number: int = 0, **conditions: Any) -> Exercise:
    conditions.setdefault("budget", Budget(interactions=20))
    return Exercise(Spec("agent"), Spec("class"), instance, seed=5, number=number, **conditions)


def both(
    environment_class: KernelEnvironmentClass, agent: KernelAgent, taken: list[Exercise]
) -> list[Trace]:
    """The compiled traces, after they were found to be the same as those of the ordinary loop."""
    compiled = list(run_batch(environment_class, agent, taken, record=True))
    for each, trace in zip(taken, compiled, strict=True):
        other = take(environment_class, agent, each, record=True)
        assert trace.same_as(other)
        assert (trace.fault and (trace.fault.kind, trace.fault.message)) == (
            other.fault and (other.fault.kind, other.fault.message)
        )
    return compiled


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which loop ran, each time that one did."""
    seen: list[str] = []
    runner, ordinary = batch.runner, batch.take

    def counted(*sides: Any) -> Callable[..., None]:
        run = runner(*sides)
        return lambda *arguments: (seen.append("compiled"), run(*arguments))[1]

    def watched(*arguments: Any, **conditions: Any) -> Trace:
        seen.append("ordinary")
        return ordinary(*arguments, **conditions)

    monkeypatch.setattr(batch, "runner", counted)
    monkeypatch.setattr(batch, "take", watched)
    return seen


def test_exercises_of_all_sizes_in_pieces(
    monkeypatch: pytest.MonkeyPatch, loops: list[str]
) -> None:
    """Rooms so small that everything is done in several calls, and groups are full soon."""
    for name, value in (("LARGEST", 64), ("FIRST_GUESS", 3), ("TIMED_PER_CALL", 4)):
        monkeypatch.setattr(batch, name, value)
    budgets = [
        Budget(interactions=0), Budget(interactions=1), Budget(interactions=63),
        Budget(interactions=64), Budget(interactions=65), Budget(interactions=300),
        Budget(seconds=0), Budget(seconds=7.5), Budget(seconds=200),
        Budget(interactions=5, seconds=200), Budget(interactions=200, seconds=5),
    ]  # fmt: skip
    cups = Cups()
    rng = stream(1).generator()
    taken = [
        exercise(cups.draw(rng), number, budget=budget, clock=Clock(tick=tick))
        for number, (budget, tick) in enumerate(
            [(budget, tick) for tick in (1.0, 0.5) for budget in budgets]
        )
    ]
    both(cups, RandomAgent(), taken)
    assert set(loops) == {"compiled"}
    recorded = run_batch(cups, RandomAgent(), taken, record=True)
    for trace, full in zip(run_batch(cups, RandomAgent(), taken), recorded, strict=True):
        assert trace.actions is trace.observations is None
        assert np.array_equal(trace.rewards, full.rewards)


def test_nothing_to_do() -> None:
    assert list(run_batch(Cups(), RandomAgent(), [])) == []


def test_no_exercise_depends_on_its_neighbours() -> None:
    cups, rng = Cups(), stream(2).generator()
    taken = [exercise(cups.draw(rng), number) for number in range(30)]
    together = run_batch(cups, RandomAgent(), taken, record=True)
    backwards = list(run_batch(cups, RandomAgent(), taken[::-1], record=True))[::-1]
    for each, one, other in zip(taken, together, backwards, strict=True):
        (alone,) = run_batch(cups, RandomAgent(), [each], record=True)
        assert one.same_as(other)
        assert one.same_as(alone)


def test_stopping_and_delays(loops: list[str]) -> None:
    agent = Teller([0, 1, 2, -1], [5, 0, 10**9])
    budgets = [
        Budget(interactions=9),
        Budget(seconds=9),
        Budget(seconds=1.5),
        Budget(interactions=3),
    ]
    taken = [exercise(box(0.1, 0.2, 0.3), budget=budget) for budget in budgets]
    traces = both(Boxes(), agent, taken)
    assert loops == ["compiled"]
    assert [trace.ending for trace in traces] == [
        Ending.STOPPED, Ending.STOPPED, Ending.BUDGET, Ending.BUDGET
    ]  # fmt: skip
    assert traces[0].times.tolist() == [5, 10**9 + 5, 2 * 10**9 + 5]
    assert [trace.end_ns for trace in traces] == [
        2 * 10**9 + 5,
        9 * 10**9,
        15 * 10**8,
        2 * 10**9 + 5,
    ]


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        (Teller([1, 3]), "returned 3"),
        (Teller([1, -2]), "returned -2"),
        (Teller([1], [5, 10**15 + 1]), "declared a delay of 1000000.000000001 seconds"),
    ],
)
def test_faults_of_the_agent(loops: list[str], agent: Teller, said: str) -> None:
    (trace,) = both(Boxes(), agent, [exercise(box(0.1, 0.2, 0.3))])
    assert loops == ["compiled"]
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert said in trace.fault.message
    assert trace.rewards.tolist() == [0.2]


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_reward_that_is_no_number(loops: list[str], reward: float) -> None:
    instances = [box(0.1, reward), box(reward, 0.1), box(0.1, first=reward), box(0.1, 0.2)]
    taken = [exercise(instance, number) for number, instance in enumerate(instances)]
    traces = both(Boxes(), Teller([0, 1]), taken)
    assert loops == ["compiled"]
    assert [len(trace) for trace in traces] == [1, 0, 0, 20]
    for trace in traces[:3]:
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.INFRASTRUCTURE
        assert trace.first_reward == 0.0


def test_time_ends_before_it_can_no_longer_be_counted() -> None:
    agent = Teller([0], [10**15])
    (trace,) = both(Boxes(), agent, [exercise(box(0.1), budget=Budget(interactions=10_000))])
    assert (len(trace), trace.ending) == (9223, Ending.BUDGET)


def test_kernel_that_raises_costs_its_own_exercise(loops: list[str]) -> None:
    instances = [box(0.1), box(0.2, heavy=True), box(0.3)]
    taken = [exercise(instance, number) for number, instance in enumerate(instances)]
    traces = both(Boxes(), Teller([0]), taken)
    assert loops[0] == "compiled"
    assert [len(trace) for trace in traces] == [20, 0, 20]
    assert traces[1].fault is not None
    assert traces[1].fault.kind is FaultKind.INFRASTRUCTURE
    assert "the luggage is too heavy" in traces[1].fault.message


def test_kernels_that_do_not_fit_together() -> None:
    (trace,) = both(Boxes(), HalfTeller([1]), [exercise(box(0.1))])
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert "returned 0.5" in trace.fault.message


class LumpyTeller(Teller):
    """Its state is not made of one-dimensional arrays, so many of them do not fit together."""

    def prepare(self, briefing: Briefing) -> TellerState:
        return super().prepare(briefing)._replace(heard=np.zeros((briefing.actions, 1)))


def test_states_that_do_not_fit_together() -> None:
    taken = [exercise(box(0.1, 0.2)), exercise(box(0.1, 0.2, 0.3), 1)]
    for trace in both(Boxes(), LumpyTeller([1]), taken):
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.AGENT_ERROR
        assert "'heard'" in trace.fault.message


def test_agent_that_refuses_an_environment() -> None:
    buttons = Buttons("bananas")
    (trace,) = both(buttons, Teller([0]), [exercise(buttons.draw(stream(1).generator()))])
    assert trace.fault is not None
    assert "too little to see" in trace.fault.message
    assert trace.first_reward == 1.0


def test_what_only_the_ordinary_loop_can_do_goes_there(loops: list[str]) -> None:
    taken = [
        exercise(box(0.1), 0),
        exercise(box(0.1), 1, timeout=Timeout(0.5)),
        exercise(box(0.1), 2, clock=Clock(ClockKind.WALL)),
        exercise(box(0.1), 3),
    ]
    traces = list(run_batch(Boxes(), Teller([0]), taken))
    assert sorted(loops) == ["compiled", "ordinary", "ordinary"]
    assert traces[1].rewards.tolist() == [0.0] * 20
    assert traces[2].end_ns < 10**9
    assert traces[0].end_ns == traces[3].end_ns == 20 * 10**9


def test_memory_stays_flat_as_work_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is seated before there is room."""
    built = []
    build = Cups.build
    monkeypatch.setattr(
        Cups, "build", lambda self, instance: built.append(1) or build(self, instance)
    )
    monkeypatch.setattr(batch, "LARGEST", 100)
    cups = Cups()
    taken = [exercise(cups.draw(stream(number).generator()), number) for number in range(50)]
    traces = run_batch(cups, RandomAgent(), taken)
    next(traces)
    assert len(built) <= 6
    assert len(list(traces)) == 49
