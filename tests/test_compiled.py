"""Parts made of kernels: as Python objects, and in the compiled loop, which is the same."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from odd_kernels import KERNELS, LATE, Boxes, BoxState, HalfTeller, LateTeller, Teller, box
from omnimeter.agents.random_agent import RandomAgent
from omnimeter.contract import (
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Exercise,
    FaultKind,
    Instance,
    Percept,
    Space,
    Spec,
    Timeout,
    Trace,
    stream,
)
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.interaction import (
    KernelAgent,
    KernelEnvironment,
    KernelEnvironmentClass,
    batch,
    interact,
)
from omnimeter.interaction.batch import run_batch

SPACE = Space((10_000, 7))
BRIEFING = Briefing(3, SPACE)


def exercise(instance: Instance, number: int = 0, **conditions: Any) -> Exercise:
    conditions.setdefault("budget", Budget(interactions=20))
    return Exercise(Spec("agent"), Spec("class"), instance, seed=5, number=number, **conditions)


def stepwise(
    environment_class: KernelEnvironmentClass, agent: KernelAgent, taken: Exercise
) -> Trace:
    return interact(
        environment_class.build(taken.instance),
        agent,
        taken.budget,
        taken.stream,
        clock=taken.clock,
        timeout=taken.timeout,
        record=True,
    )


def both(
    environment_class: KernelEnvironmentClass, agent: KernelAgent, taken: list[Exercise]
) -> list[Trace]:
    """The compiled traces, after they were found to be the same as those of the ordinary loop."""
    compiled = list(run_batch(environment_class, agent, taken, record=True))
    for each, trace in zip(taken, compiled, strict=True):
        other = stepwise(environment_class, agent, each)
        assert trace.same_as(other)
        assert (trace.fault and (trace.fault.kind, trace.fault.message)) == (
            other.fault and (other.fault.kind, other.fault.message)
        )
    return compiled


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which loop ran, each time that one did."""
    seen: list[str] = []
    runner, ordinary = batch.runner, batch.interact

    def counted(*sides: Any) -> Callable[..., None]:
        run = runner(*sides)
        return lambda *arguments: (seen.append("compiled"), run(*arguments))[1]

    def interact(*arguments: Any, **conditions: Any) -> Trace:
        seen.append("ordinary")
        return ordinary(*arguments, **conditions)

    monkeypatch.setattr(batch, "runner", counted)
    monkeypatch.setattr(batch, "interact", interact)
    return seen


# Environments and agents as Python objects


def started(**parts: Any) -> KernelEnvironment:
    environment = Boxes().build(box(0.1, 0.2, 0.3, **parts))
    environment.start(3)
    return environment


def test_percepts_are_ordinary_values() -> None:
    environment = started()
    first, second = environment.step(2), environment.step(np.int64(1))
    assert type(first) is Percept
    assert (first.reward, type(first.reward)) == (0.3, float)
    assert first.observation[0] == 1  # what was given does not change
    assert second.observation[0] == 2
    box_with_ball = Buttons("bananas")
    plain = box_with_ball.build(box_with_ball.draw(stream(0).generator()))
    assert type(plain.start(3).observation) is type(plain.step(0).observation) is int


@pytest.mark.parametrize("action", [-1, 3, 10**30])
def test_action_that_does_not_exist(action: int) -> None:
    with pytest.raises(ValueError, match="does not exist: 0 to 2"):
        started().step(action)


def test_chance_is_a_generator_or_its_bits() -> None:
    environment = Boxes().build(box(0.1))
    one = [environment.start(stream(4).generator()), *(environment.step(0) for _ in range(20))]
    bits = int(stream(4).generator().integers(2**64, dtype=np.uint64))
    other = [environment.start(bits), *(environment.step(0) for _ in range(20))]
    assert all(
        np.array_equal(a.observation, b.observation) for a, b in zip(one, other, strict=True)
    )


COPIES = [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))]


@pytest.mark.parametrize("copied", COPIES)
def test_copied_environment_goes_its_own_way(copied: Callable[[Any], Any]) -> None:
    environment = started()
    environment.step(0)
    other = copied(environment)
    theirs = [other.step(1) for _ in range(10)]
    assert environment.state.count[0] == 1
    mine = [environment.step(1) for _ in range(10)]
    assert [percept.reward for percept in mine] == [percept.reward for percept in theirs]
    assert all(
        np.array_equal(a.observation, b.observation) for a, b in zip(mine, theirs, strict=True)
    )
    del environment
    assert other.step(2).observation[0] == 12


@pytest.mark.parametrize("copied", COPIES)
def test_copied_agent_goes_its_own_way(copied: Callable[[Any], Any]) -> None:
    agent = Teller([0, 1, 2])
    agent.begin(BRIEFING, 3)
    assert agent.act(0.0, np.zeros(2, dtype=np.int64)) == 0
    other = copied(agent)
    seen = np.zeros(2, dtype=np.int64)
    assert [other.act(0.0, seen), other.act(0.0, seen)] == [1, 2]
    assert agent.act(0.0, seen) == 1


def test_copy_before_the_beginning() -> None:
    environment = copy.deepcopy(Boxes().build(box(0.1)))
    assert environment.start(3).reward == 0.0
    assert copy.deepcopy(Teller([1])).actions == [1]


def test_environments_share_nothing() -> None:
    one, other = started(), started()
    one.step(0)
    assert other.step(0).observation[0] == 1


def test_environment_starts_anew() -> None:
    environment = started()
    first = [environment.step(1) for _ in range(5)]
    environment.start(3)
    again = [environment.step(1) for _ in range(5)]
    assert all(
        np.array_equal(a.observation, b.observation) for a, b in zip(first, again, strict=True)
    )


def test_state_may_be_strided_or_not_writeable() -> None:
    pays = np.array([0.1, 9.0, 0.2, 9.0])[::2]
    luggage = np.frombuffer(b"\x00\x00", dtype=np.bool_)
    state = BoxState(
        np.zeros(1, dtype=np.int64), pays, np.zeros(1), np.zeros(1, dtype=np.uint64), luggage
    )
    environment = KernelEnvironment(KERNELS, state, 2, SPACE)
    environment.start(3)
    assert [environment.step(0).reward, environment.step(1).reward] == [0.1, 0.2]
    assert environment.state.count[0] == 2


@pytest.mark.parametrize("field", [np.zeros((2, 2)), [0.0, 1.0], 1.0])
def test_state_that_is_no_state(field: Any) -> None:
    state = started().state._replace(pays=field)
    trace = interact(
        KernelEnvironment(KERNELS, state, 2, SPACE),
        Teller([0]),
        Budget(interactions=1),
        stream(1).child,
    )
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert "'pays'" in trace.fault.message


def test_agent_takes_observations_of_all_kinds() -> None:
    agent = Teller([1])
    agent.begin(BRIEFING, 3)
    frozen = np.arange(2)
    frozen.setflags(write=False)
    for seen in (frozen, np.arange(4)[::2], np.arange(2, dtype=np.int8), [0, 1]):
        assert agent.act(0, seen) == 1  # type: ignore[arg-type]


def test_nothing_is_loaded_once_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = LateTeller([1])
    environment = KernelEnvironment(LATE, Boxes().build(box(0.1, 0.2)).state, 2, SPACE)
    agent.begin(BRIEFING, 3)
    environment.start(3)

    def refuse(self: Any, *types: Any) -> None:
        raise AssertionError(f"{self} is loaded or compiled for {types}")

    monkeypatch.setattr(Dispatcher, "compile", refuse)
    assert agent.act(0.0, np.zeros(2, dtype=np.int64)) == 1
    assert environment.step(1).reward == 0.2
    agent.finish(0.2, np.zeros(2, dtype=np.int64))


# The compiled loop


def test_exercises_of_all_sizes_in_pieces(
    monkeypatch: pytest.MonkeyPatch, loops: list[str]
) -> None:
    """Rooms so small that everything is done in several calls, and groups are full soon."""
    for name, value in (("LARGEST", 64), ("FIRST_GUESS", 3), ("TIMED_TOGETHER", 4)):
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
    plain = list(run_batch(cups, RandomAgent(), taken))
    for trace, recorded in zip(
        plain, run_batch(cups, RandomAgent(), taken, record=True), strict=True
    ):
        assert trace.actions is trace.observations is None
        assert np.array_equal(trace.rewards, recorded.rewards)


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
    assert [trace.end for trace in traces] == [2 * 10**9 + 5, 9 * 10**9, 15 * 10**8, 2 * 10**9 + 5]


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


def test_agent_that_refuses_an_environment() -> None:
    (trace,) = both(
        Buttons("bananas"), Teller([0]), [exercise(Buttons("bananas").draw(stream(1).generator()))]
    )
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
    assert traces[2].end < 10**9
    assert traces[0].end == traces[3].end == 20 * 10**9


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
