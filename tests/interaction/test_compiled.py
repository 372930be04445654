"""The compiled loop leaves the same traces as the stepwise one, whatever happens."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from odd_kernels import Boxes, BriefTeller, HalfTeller, Teller, TellerState, box
from omnimeter import caching
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import (
    Agent,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    EnvironmentClass,
    Exercise,
    FaultKind,
    Instance,
    Observation,
    Spec,
    Timeout,
    Trace,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.interaction import compilation, dispatch, run_single


def exercise(instance: Instance, number: int = 0, **conditions: Any) -> Exercise:
    conditions.setdefault("budget", Budget(interactions=20))
    return Exercise(Spec("agent"), Spec("class"), instance, seed=5, number=number, **conditions)


def both(environment_class: EnvironmentClass, agent: Agent, taken: list[Exercise]) -> list[Trace]:
    """The compiled traces, after they were seen to be the same as those of the stepwise loop."""
    compiled = list(run_single(environment_class, agent, taken, record=True))
    stepwise = run_single(environment_class, agent, taken, record=True, compiled=False)
    for trace, other in zip(compiled, stepwise, strict=True):
        assert trace.same_as(other)
        assert (trace.fault and (trace.fault.kind, trace.fault.message)) == (
            other.fault and (other.fault.kind, other.fault.message)
        )
    return compiled


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which loop ran, each time that one did."""
    seen: list[str] = []
    runner, run_stepwise = dispatch.runner, dispatch.run_stepwise

    def counted(*sides: Any, **options: Any) -> Callable[..., None]:
        run = runner(*sides, **options)
        return lambda *arguments: (seen.append("compiled"), run(*arguments))[1]

    def watched(*arguments: Any, **conditions: Any) -> list[Trace]:
        seen.append("stepwise")
        return run_stepwise(*arguments, **conditions)

    monkeypatch.setattr(dispatch, "runner", counted)
    monkeypatch.setattr(dispatch, "run_stepwise", watched)
    return seen


def test_exercises_of_all_sizes_in_pieces(
    monkeypatch: pytest.MonkeyPatch, loops: list[str]
) -> None:
    """So little capacity that everything is done in several calls, and groups are full soon."""
    for name, value in (("LARGEST", 64), ("FIRST_GUESS", 3), ("TIMED_PER_CALL", 4)):
        monkeypatch.setattr(dispatch, name, value)
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
    assert set(loops[: -len(taken)]) == {"compiled"}
    assert set(loops[-len(taken) :]) == {"stepwise"}
    recorded = run_single(cups, RandomAgent(), taken, record=True)
    for trace, full in zip(run_single(cups, RandomAgent(), taken), recorded, strict=True):
        assert trace.actions is trace.observations is None
        assert np.array_equal(trace.rewards, full.rewards)


def test_nothing_to_do() -> None:
    assert list(run_single(Cups(), RandomAgent(), [])) == []


def test_no_exercise_depends_on_its_neighbours() -> None:
    cups, rng = Cups(), stream(2).generator()
    taken = [exercise(cups.draw(rng), number) for number in range(30)]
    joint = run_single(cups, RandomAgent(), taken, record=True)
    backwards = list(run_single(cups, RandomAgent(), taken[::-1], record=True))[::-1]
    for each, one, other in zip(taken, joint, backwards, strict=True):
        (alone,) = run_single(cups, RandomAgent(), [each], record=True)
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
    assert loops[0] == "compiled"
    assert loops.count("compiled") == 1
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
    assert loops[0] == "compiled"
    assert loops.count("compiled") == 1
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert said in trace.fault.message
    assert trace.rewards.tolist() == [0.2]


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_reward_that_is_no_number(loops: list[str], reward: float) -> None:
    instances = [box(0.1, reward), box(reward, 0.1), box(0.1, first=reward), box(0.1, 0.2)]
    taken = [exercise(instance, number) for number, instance in enumerate(instances)]
    traces = both(Boxes(), Teller([0, 1]), taken)
    assert loops[0] == "compiled"
    assert loops.count("compiled") == 1
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
    taken = [exercise(box(0.1))]
    with pytest.warns(
        UserWarning, match=r"odd_kernels.Boxes, odd_kernels.HalfTeller do not compile"
    ):
        (trace,) = both(Boxes(), HalfTeller([1]), taken)
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert "returned 0.5" in trace.fault.message


def test_a_failing_compilation_is_announced_once_per_pair(
    monkeypatch: pytest.MonkeyPatch, loops: list[str]
) -> None:
    class OtherBoxes(Boxes):
        """The same kernels: the same pair."""

    told: list[str] = []
    monkeypatch.setattr(caching, "announcements", [told.append])
    monkeypatch.setattr(dispatch, "uncompilable", set())
    monkeypatch.setattr(dispatch, "runner", compilation.runner)
    for environment_class in (Boxes(), OtherBoxes()):
        (trace,) = run_single(environment_class, HalfTeller([1]), [exercise(box(0.1))])
        assert trace.fault is not None
    (message,) = [text for text in told if not text.startswith("Compiling")]
    assert "odd_kernels.Boxes, odd_kernels.HalfTeller do not compile together" in message
    assert "run step by step" in message
    assert "TypingError" in message
    assert loops == ["stepwise", "stepwise"]


class BareTeller(Agent):
    """Has kernels without being a KernelAgent: only its attribute says so."""

    kernels = Teller.kernels
    view = None

    def initial_state(self, briefing: Briefing) -> TellerState:
        return Teller([0, 1]).initial_state(briefing)

    def act(self, reward: float, observation: Observation) -> int:
        raise AssertionError("it runs compiled")


def test_kernels_are_asked_for_by_their_attribute(loops: list[str]) -> None:
    (trace,) = run_single(Boxes(), BareTeller(), [exercise(box(0.1, 0.2))])
    assert trace.rewards.tolist() == [0.1, 0.2] * 10
    assert loops == ["compiled"]


def test_an_agent_without_begin_and_finish(loops: list[str]) -> None:
    (trace,) = both(Boxes(), BriefTeller([1, 0]), [exercise(box(0.1, 0.2))])
    assert trace.rewards.tolist() == [0.2, 0.1] * 10
    assert loops == ["compiled", "stepwise"]


def test_a_factory_makes_an_agent_for_every_exercise() -> None:
    made: list[Agent] = []

    def make() -> Agent:
        made.append(Learner())
        return made[-1]

    taken = [exercise(box(0.1, 0.2), number) for number in range(3)]
    traces = list(run_single(Boxes(), make, taken, record=True))
    assert [trace.actions.tolist() for trace in traces] == [[0, 1] * 10] * 3  # type: ignore[union-attr]
    assert len(made) == 3
    learner = Learner()
    carried = list(run_single(Boxes(), learner, taken, record=True))
    assert learner.count == 60
    assert [len(trace) for trace in carried] == [20, 20, 20]


class Learner(Agent):
    """Counts its actions, and forgets nothing."""

    def __init__(self) -> None:
        self.count = 0

    def act(self, reward: float, observation: Observation) -> int:
        self.count += 1
        return (self.count - 1) % 2


class LumpyTeller(Teller):
    """Its state is not made of one-dimensional arrays, so many of them do not fit together."""

    def initial_state(self, briefing: Briefing) -> TellerState:
        return super().initial_state(briefing)._replace(heard=np.zeros((briefing.actions, 1)))


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


def test_what_only_the_stepwise_loop_can_do_goes_there(loops: list[str]) -> None:
    taken = [
        exercise(box(0.1), 0),
        exercise(box(0.1), 1, timeout=Timeout(0.5)),
        exercise(box(0.1), 2, clock=Clock(ClockKind.WALL)),
        exercise(box(0.1), 3),
        exercise(box(0.1), 4, budget=Budget(interactions=20, wall_limit=60)),
    ]
    traces = list(run_single(Boxes(), Teller([0]), taken))
    assert sorted(loops) == ["compiled", "stepwise", "stepwise", "stepwise"]
    assert traces[1].rewards.tolist() == [0.0] * 20
    assert traces[2].end_ns < 10**9
    assert traces[0].end_ns == traces[3].end_ns == traces[4].end_ns == 20 * 10**9


def test_memory_stays_flat_as_work_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is built before there is capacity for it."""
    built = []
    build = Cups.build
    monkeypatch.setattr(
        Cups, "build", lambda self, instance: built.append(1) or build(self, instance)
    )
    monkeypatch.setattr(dispatch, "LARGEST", 100)
    cups = Cups()
    taken = [exercise(cups.draw(stream(number).generator()), number) for number in range(50)]
    traces = run_single(cups, RandomAgent(), taken)
    next(traces)
    assert len(built) <= 6
    assert len(list(traces)) == 49
