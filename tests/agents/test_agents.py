"""The reference agents: one trace at all speeds, and each behaves as it says."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.agents.opportunists import Rester, Stopper, Waiter
from omnimeter.agents.shared import MAX_TABLE_SIZE, observation_index, table_size
from omnimeter.agents.simple import (
    ConstantAgent,
    ExampleRobot,
    PolicyAgent,
    RandomAgent,
    ScriptedAgent,
)
from omnimeter.agents.specialists import CupPresser
from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Briefing,
    Budget,
    Ending,
    Exercise,
    FaultKind,
    InvalidInputError,
    Space,
    Spec,
    Trace,
    stream,
)
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.interaction import interact, run_single
from omnimeter.kernels import KernelAgent, KernelEnvironmentClass

Maker = Callable[[], KernelAgent]

AGENTS: dict[str, Maker] = {
    "constant": ConstantAgent,
    "constant that is wrong": lambda: ConstantAgent(action=7, rate=4.0),
    "robot 2": lambda: ExampleRobot(2),
    "robot 4": lambda: ExampleRobot(4),
    "scripted": lambda: ScriptedAgent([2, 0, 1, 1], [0.1, 1.5, 0.3, 1e-9]),
    "scripted that stops": lambda: ScriptedAgent([1, 2, 0], repeat=False),
    "policy": lambda: PolicyAgent(rate=3.0),
    "stopper": lambda: Stopper(rate=7.0),
    "ambitious stopper": lambda: Stopper(threshold=0.9),
    "rester": lambda: Rester(threshold=0.05, rest=0.7),
    "waiter": lambda: Waiter(rate=11.0, wait=0.45),
    "cup presser": CupPresser,
    "cup presser from the left": lambda: CupPresser("first", rate=20.0),
}
CLASSES: dict[str, KernelEnvironmentClass] = {"buttons": Buttons(), "cups": Cups(3, 6)}
PAIRS = [
    pair
    for pair in product(AGENTS, CLASSES)
    if not (pair[0].startswith("cup presser") and pair[1] == "buttons")
]
BUDGETS = [
    Budget(interactions=60),
    Budget(seconds=110.0),  # more than a batch provides for at first, for the fast ones
    Budget(interactions=25, seconds=6.5),
    Budget(seconds=0.05),
]

PLAIN = """
import json, sys
sys.path[:0] = sys.argv[1:]
import test_agents
print(json.dumps({"|".join(pair): test_agents.digests(*pair) for pair in test_agents.PAIRS}))
"""


def exercises(
    environment_class: KernelEnvironmentClass, budget: Budget, count: int, agent: str = "agent"
) -> list[Exercise]:
    """The same instances and the same seed of the environment for every agent."""
    rng = stream(3, "instances").generator()
    return [
        Exercise(
            Spec(agent), Spec("class"), environment_class.draw(rng), budget, seed=8, number=number
        )
        for number in range(count)
    ]


def run(
    maker: Maker,
    environment_class: KernelEnvironmentClass,
    budget: Budget,
    count: int = 1,
    agent: str = "agent",
) -> list[Trace]:
    """Compiled traces, with everything recorded."""
    given = exercises(environment_class, budget, count, agent)
    return list(run_single(environment_class, maker(), given, record=True))


def digest(traces: list[Trace]) -> str:
    """The bits of everything that happened."""
    result = hashlib.sha256()
    for trace in traces:
        for column in (trace.rewards, trace.times, trace.actions, trace.observations):
            assert column is not None
            result.update(column.tobytes())
        ends = (trace.end_ns, trace.ending, trace.first_reward, trace.fault and trace.fault.kind)
        result.update(repr(ends).encode())
    return result.hexdigest()


def digests(agent: str, environment: str) -> list[str]:
    """What the batch gives, and what the loop gives with the Python objects."""
    environment_class, maker = CLASSES[environment], AGENTS[agent]
    given = [
        exercise
        for budget in BUDGETS
        for exercise in exercises(environment_class, budget, 3, agent)
    ]
    batch = list(run_single(environment_class, maker(), given, record=True))
    single = [
        interact(
            environment_class.build(each.instance), maker(), each.budget, each.stream, record=True
        )
        for each in given
    ]
    return [digest(batch), digest(single)]


@pytest.fixture(scope="module")
def plain_digests() -> dict[str, list[str]]:
    """The same in a Python that compiles no kernels."""
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, os.path.dirname(__file__)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    digests_of_pairs: dict[str, list[str]] = json.loads(done.stdout)
    return digests_of_pairs


@pytest.mark.parametrize(("agent", "environment"), PAIRS)
def test_compiled_stepwise_and_plain_runs_are_the_same(
    agent: str, environment: str, plain_digests: dict[str, list[str]]
) -> None:
    batch, single = digests(agent, environment)
    assert single == batch
    assert plain_digests[f"{agent}|{environment}"] == [batch, batch]


def test_digest_sees_every_part_of_a_trace() -> None:
    """Otherwise the test above could not fail."""
    (trace,) = run(RandomAgent, CLASSES["cups"], Budget(interactions=5))
    (other,) = run(RandomAgent, CLASSES["cups"], Budget(interactions=5), agent="other")
    assert digest([trace]) != digest([other])
    assert digest([trace]) != digest([trace.until(trace.end_ns - 1)])


@pytest.mark.parametrize(
    ("place", "parameters"),
    [
        ("simple:ConstantAgent", {"action": 1, "rate": 2}),
        ("simple:ExampleRobot", {"number": 4}),
        ("simple:ScriptedAgent", {"actions": [0, 2], "seconds": [1, 0.5], "repeat": False}),
        ("simple:PolicyAgent", {"table": [0] * 27, "rate": 5}),
        ("opportunists:Stopper", {"threshold": 0.5, "rate": 5}),
        ("opportunists:Rester", {"threshold": 0.5, "rate": 5, "rest": 2}),
        ("opportunists:Waiter", {"threshold": 0.5, "rate": 5, "wait": 2}),
    ],
)
def test_parameters_come_from_json(place: str, parameters: dict[str, object]) -> None:
    for chosen in ({}, parameters):
        spec = Spec(f"omnimeter.agents.{place}", chosen)
        (trace,) = run(partial(make, Kind.AGENT, spec), Buttons(), Budget(interactions=2))
        assert trace.fault is None
        assert len(trace) >= 1


def test_constant_agent_does_the_same_at_its_rate() -> None:
    (trace,) = run(lambda: ConstantAgent(2, rate=4.0), Buttons(), Budget(seconds=3.1))
    assert trace.actions is not None
    assert trace.actions.tolist() == [2] * 12
    assert trace.times.tolist() == [NANOSECONDS // 4 * i for i in range(1, 13)]


def test_action_that_does_not_exist_is_a_fault_of_the_agent() -> None:
    (exercise,) = exercises(Buttons(), Budget(interactions=5), 1)
    (batch,) = run_single(Buttons(), ConstantAgent(3), [exercise])
    single = interact(
        Buttons().build(exercise.instance), ConstantAgent(3), exercise.budget, exercise.stream
    )
    assert batch.fault == single.fault
    assert batch.fault is not None
    assert batch.fault.kind is FaultKind.AGENT_ERROR
    assert "returned 3" in batch.fault.message
    assert (len(batch), batch.ending) == (0, Ending.FAULT)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ConstantAgent(-1),
        lambda: ConstantAgent(2**40),
        lambda: ConstantAgent(rate=0.0),
        lambda: ExampleRobot(5),  # type: ignore[arg-type]
        lambda: ScriptedAgent([]),
        lambda: ScriptedAgent([0, -1]),
        lambda: ScriptedAgent([0, 1], [1.0]),
        lambda: ScriptedAgent([0], [0.0]),
        lambda: PolicyAgent([]),
        lambda: PolicyAgent([-2]),
        lambda: Stopper(rate=-1.0),
        lambda: Rester(rest=float("inf")),
        lambda: Rester(rest=-float("inf")),
        lambda: Waiter(wait=float("nan")),
        lambda: Waiter(wait=1e-10),
    ],
)
def test_wrong_parameters_are_rejected(wrong: Maker) -> None:
    with pytest.raises(InvalidInputError) as caught:
        wrong()
    assert caught.value.advice


@settings(max_examples=30)
@given(
    script=st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 5 * NANOSECONDS)), min_size=1, max_size=6
    ),
    repeat=st.booleans(),
    seconds=st.integers(0, 60),
)
def test_script_is_played_in_time(
    script: list[tuple[int, int]], repeat: bool, seconds: int
) -> None:
    actions = [action for action, _ in script]
    delays = [delay for _, delay in script]
    maker = lambda: ScriptedAgent(actions, [each / 1e9 for each in delays], repeat)  # noqa: E731
    budget = Budget(interactions=20, seconds=float(seconds))
    (trace,) = run(maker, Buttons(), budget)
    lines = [(0, 0), *(script * 20 if repeat else script)]
    due = np.cumsum([delay for _, delay in lines])[1:21]
    count = int(np.sum(due <= budget.end_ns))
    assert trace.actions is not None
    assert trace.actions.tolist() == (actions * 20)[:count]
    assert trace.times.tolist() == due[:count].tolist()
    stopped = not repeat and count == len(script)
    assert trace.ending is (Ending.STOPPED if stopped else Ending.BUDGET)


@settings(max_examples=50)
@given(st.data())
def test_indices_count_observations_in_order(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    seen = [data.draw(st.integers(0, size - 1)) for size in sizes]
    index = observation_index(np.array(seen), np.array(sizes))
    assert index == np.ravel_multi_index(seen, sizes)
    assert 0 <= index < table_size(Space(tuple(sizes)))


def test_table_has_a_maximum_size() -> None:
    assert table_size(Space((2,) * 24)) == MAX_TABLE_SIZE
    with pytest.raises(InvalidInputError, match="observations"):
        table_size(Space((2,) * 25))


def test_policy_does_what_its_table_says() -> None:
    table = [int(action) for action in stream(1).generator().integers(3, size=27)]
    (trace,) = run(lambda: PolicyAgent(table), Buttons(), Budget(interactions=200))
    assert trace.actions is not None
    assert trace.observations is not None
    indices = trace.observations[:-1] @ [9, 3, 1]
    assert trace.actions.tolist() == [table[index] for index in indices]
    assert len(set(indices.tolist())) == 4


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (PolicyAgent([0, 1]), "2 actions, but there are 27 observations"),
        (CupPresser(), "0 or 1 for each of the 3 actions"),
    ],
)
def test_some_agents_do_not_fit_everywhere(agent: KernelAgent, message: str) -> None:
    (exercise,) = exercises(Buttons(), Budget(interactions=5), 1)
    environment = Buttons().build(exercise.instance)
    with pytest.raises(InvalidInputError, match=message):
        agent.initial_state(environment.briefing())
    trace = interact(environment, agent, exercise.budget, exercise.stream)
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert message in trace.fault.message


@pytest.mark.parametrize("threshold", [0.0, 0.3, -0.5])
@pytest.mark.parametrize("environment", CLASSES)
def test_stopper_stops_as_soon_as_its_average_is_good(environment: str, threshold: float) -> None:
    budget = Budget(seconds=30.0)
    traces = run(lambda: Stopper(threshold, rate=10.0), CLASSES[environment], budget, 40)
    assert any(trace.ending is Ending.STOPPED for trace in traces)
    for trace in traces:
        averages = np.cumsum(trace.rewards) / np.arange(1, len(trace) + 1)
        assert not (averages[:-1] > threshold).any()
        assert (averages[-1] > threshold) == (trace.ending is Ending.STOPPED)
        assert trace.end_ns == budget.end_ns
        assert np.all(np.diff(trace.times) == NANOSECONDS // 10)


def test_first_reward_does_not_count() -> None:
    """The bananas begin with a reward of 1, which is not attributed to any action."""
    traces = run(Stopper, Buttons("bananas"), Budget(interactions=50), 20)
    assert {trace.first_reward for trace in traces} == {1.0}
    assert all(len(trace) >= 1 and trace.rewards[-1] == 1.0 for trace in traces)
    (waiter,) = run(Waiter, Buttons("bananas"), Budget(interactions=1))
    (rester,) = run(Rester, Buttons("bananas"), Budget(interactions=1))
    assert waiter.times.tolist() == rester.times.tolist() == [NANOSECONDS // 10]


@pytest.mark.parametrize("environment", CLASSES)
def test_rester_is_slow_as_long_as_its_average_is_good(environment: str) -> None:
    traces = run(
        lambda: Rester(0.1, rate=4.0, rest=2.5), CLASSES[environment], Budget(interactions=300), 10
    )
    for trace in traces:
        averages = np.cumsum(trace.rewards) / np.arange(1, len(trace) + 1)
        delays = np.where(averages[:-1] > 0.1, 2_500_000_000, 250_000_000)
        assert np.diff(trace.times, prepend=0).tolist() == [250_000_000, *delays]
    assert len({delay for trace in traces for delay in np.diff(trace.times).tolist()}) == 2


@pytest.mark.parametrize("environment", CLASSES)
def test_waiter_is_slow_after_a_good_reward(environment: str) -> None:
    traces = run(
        lambda: Waiter(rate=4.0, wait=2.5), CLASSES[environment], Budget(interactions=300), 10
    )
    for trace in traces:
        delays = np.where(trace.rewards[:-1] > 0, 2_500_000_000, 250_000_000)
        assert np.diff(trace.times, prepend=0).tolist() == [250_000_000, *delays]
    assert any((trace.rewards > 0).any() for trace in traces)


def test_opportunists_act_at_random() -> None:
    for maker in (Rester, Waiter, lambda: Stopper(2.0)):
        (trace,) = run(maker, Buttons(), Budget(interactions=30_000))
        counts = np.bincount(trace.actions, minlength=3)  # type: ignore[arg-type]
        assert np.abs(counts - 10_000).max() < 4 * sqrt(30_000 * 2 / 9)


def test_cup_presser_presses_black_cups() -> None:
    for trace in run(CupPresser, Cups(4, 4), Budget(interactions=3_000), 8):
        assert trace.actions is not None
        assert trace.observations is not None
        seen = trace.observations[:-1]
        pressed = seen[np.arange(len(trace)), trace.actions]
        assert np.array_equal(pressed == 1, seen.all(axis=1))


def test_cup_presser_chooses_evenly_or_from_the_left() -> None:
    """Cups 1, 3 and 4 are black."""
    seen = np.array([1, 0, 1, 0, 0])
    chosen = []
    for agent in (CupPresser(), CupPresser("first")):
        agent.begin(Briefing(5, Space((2,) * 5)), stream(4).generator())
        chosen.append(Counter(agent.act(0.0, seen) for _ in range(3_000)))
    assert set(chosen[0]) == {1, 3, 4}
    assert all(abs(count - 1_000) < 4 * sqrt(3_000 * 2 / 9) for count in chosen[0].values())
    assert chosen[1] == {1: 3_000}


@pytest.mark.parametrize("rule", ["published", "rest"])
@pytest.mark.parametrize("cups", [3, 5, 8])
def test_cup_presser_beats_the_random_agent(cups: int, rule: str) -> None:
    """Anytime test, section 6.1: its limit is above 0, where random agents are."""
    environment_class = Cups(cups, cups, rule)  # type: ignore[arg-type]
    budget, count = Budget(interactions=2_000), 200

    def means(maker: Maker) -> np.ndarray:
        traces = run(maker, environment_class, budget, count)
        return np.array([trace.rewards.mean() for trace in traces])

    baseline, presser = means(RandomAgent), means(CupPresser)
    left = means(partial(CupPresser, "first"))
    error = 4 * sqrt((baseline.var() + presser.var() + left.var()) / count)
    assert abs(baseline.mean()) < 4 * baseline.std() / sqrt(count)
    assert presser.mean() > 4 * presser.std() / sqrt(count)
    assert left.mean() > max(presser.mean(), baseline.mean() + error)
