"""Sensitivity to actions: against Definition 7 itself, and with its witnesses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FAIR, MATCH, Automata, Automaton, Coins, finding, small
from omnimeter.audits import audit
from omnimeter.audits.sensitivity import search
from omnimeter.audits.states import (
    Graph,
    KernelSimulator,
    ReplayedSimulator,
    Simulator,
    explore,
    make_simulator,
)
from omnimeter.contract import Claims, Environment, EnvironmentClass, Instance, Percept, stream
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups


def test_cups_that_never_pay_are_insensitive_and_no_others() -> None:
    environment_class = Cups(3, 6)
    sensitivity = finding(audit(environment_class, instances=40), "sensitivity")
    drawn = {
        environment_class.draw(stream(0, "audit", "instance", n).generator()).data["colours"]
        for n in range(40)
    }
    hopeless = [each for each in drawn if len(each) % 2 == 0 and each.count("B") % 2 == 1]
    assert hopeless
    assert not sensitivity.claimed
    assert sensitivity.numbers["insensitive_instances"] == len(hopeless)
    assert sensitivity.witness is not None
    assert sensitivity.witness["instance"]["colours"] in hopeless
    assert sensitivity.witness["decided"] == "exactly"


HEAVEN = [[0, 1], [2, 1], [2, 2]]
HEAVENLY = [[0.0, 0.5], [0.5, -0.5], [1.0, 1.0]]
"""From state 2 there is no return, and nothing that is done there matters."""


def test_heaven_is_detected_with_the_shortest_path_to_it() -> None:
    result = small(Automata(HEAVEN, HEAVENLY, Claims(balanced=False, sensitive=3)))
    sensitivity = finding(result, "sensitivity")
    assert not result.ok
    assert not sensitivity.passed
    assert sensitivity.witness is not None
    witness = sensitivity.witness
    assert (witness["actions"], witness["observation"]) == ([1, 0], [2])
    assert (witness["horizon"], witness["insensitive"], witness["states"]) == (3, 1, 3)
    assert witness["decided"] == "exactly"


def test_the_horizon_decides() -> None:
    """Three actions of waiting, then a choice: 4-actions sensitive, not 3."""
    corridor = [[1, 1], [2, 2], [3, 3], [0, 0]]
    rewards = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, -1.0]]
    for horizon, holds in ((3, False), (4, True)):
        result = small(Automata(corridor, rewards, Claims(sensitive=horizon)))
        assert finding(result, "sensitivity").passed is holds


def test_rewards_that_differ_by_rounding_are_the_same() -> None:
    assert 0.1 + 0.2 != 0.3
    result = small(Automata([[0, 0]], [[0.1 + 0.2, 0.3]], Claims(balanced=False)))
    assert not finding(result, "sensitivity").passed
    tiny = small(Automata([[0, 0]], [[1e-300, 0.0]], Claims(balanced=False)))
    assert finding(tiny, "sensitivity").passed


class Forgetful(Automata):
    """Counts its steps, so that its states never close; after some of them nothing matters."""

    def build(self, instance: Instance) -> Environment:
        return Counting(self.following, self.rewards)


class Counting(Automaton):
    count = 0

    def step(self, action: int) -> Percept:
        self.count += 1
        percept = super().step(action)
        return Percept(1.0, percept.observation) if self.count > 30 else percept


class Unpicklable(Forgetful):
    def build(self, instance: Instance) -> Environment:
        environment = super().build(instance)
        environment.hook = lambda: None  # type: ignore[attr-defined]
        return environment


@pytest.mark.parametrize("kind", [Forgetful, Unpicklable])
def test_states_that_are_too_many_are_sampled(kind: type[Automata]) -> None:
    result = small(kind(MATCH, FAIR, Claims(balanced=False, sensitive=2)), instances=2)
    sensitivity = finding(result, "sensitivity")
    assert not sensitivity.passed
    assert sensitivity.numbers["decided_exactly"] == 0
    assert sensitivity.witness is not None
    assert len(sensitivity.witness["actions"]) >= 29
    assert sensitivity.witness["decided"] == "by every sequence from a sampled state"
    again = kind(MATCH, FAIR).build(Instance(sensitivity.witness["instance"]))
    root, *path = sensitivity.witness["stream"]
    percept = again.start(stream(root, *path).generator())
    for action in sensitivity.witness["actions"]:
        percept = again.step(action)
    assert [percept.observation] == sensitivity.witness["observation"]


def test_random_rewards_that_no_action_changes_are_insensitive() -> None:
    sensitivity = finding(small(Coins(0.0)), "sensitivity")
    assert not sensitivity.passed
    assert sensitivity.witness is not None
    assert sensitivity.witness["actions"] == []


class Wheels(Automata):
    """Its start is random, and nothing after that."""

    def build(self, instance: Instance) -> Environment:
        return Wheel(self.following, self.rewards)


class Wheel(Automaton):
    def start(self, rng: np.random.Generator) -> Percept:
        super().start(rng)
        self.state = int(rng.integers(2))
        return Percept(0.0, self.state)


def test_a_random_start_is_never_decided_exactly() -> None:
    for seed in range(8):  # two starts are the same in some of them
        sensitivity = finding(small(Wheels(MATCH, FAIR), instances=2, seed=seed), "sensitivity")
        assert sensitivity.numbers["decided_exactly"] == 0
        assert sensitivity.passed


def test_kernels_say_whether_their_start_is_random() -> None:
    for environment_class, random in (
        (Cups(), False),
        (Buttons("alternating"), False),
        (Buttons("bananas"), True),
    ):
        instance = environment_class.draw(stream(0).generator())
        assert make_simulator(environment_class, instance, stream(1)).random_start is random


def explored(following: list[list[int]], rewards: list[list[float]]) -> Graph:
    environment_class = Automata(following, rewards)
    simulator = make_simulator(environment_class, Instance({}), stream(0))
    graph = explore(simulator, len(following[0]))
    assert graph is not None
    return graph


@st.composite
def automata(draw: st.DrawFn) -> tuple[list[list[int]], list[list[float]]]:
    states = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, states - 1), min_size=2, max_size=2)
    pays = st.lists(st.sampled_from([-1.0, 0.0, 0.0, 0.5, 1.0]), min_size=2, max_size=2)
    following = draw(st.lists(row, min_size=states, max_size=states))
    return following, draw(st.lists(pays, min_size=states, max_size=states))


def sums(environment: Automaton, state: int, length: int) -> set[float]:
    totals = set()
    for sequence in itertools.product(range(2), repeat=length):
        environment.state = state
        totals.add(sum(environment.step(action).reward for action in sequence))
    return totals


@given(automata())
def test_sensitivity_is_what_definition_7_says(
    automaton: tuple[list[list[int]], list[list[float]]],
) -> None:
    """Against every sequence from every state."""
    graph = explored(*automaton)
    needed = graph.horizons(4)
    environment = Automaton(*automaton)
    for number in range(len(needed)):
        environment.start(stream(0).generator())
        for action in graph.path(number):
            environment.step(action)
        state = environment.state
        lengths = [m for m in range(1, 5) if len(sums(environment, state, m)) > 1]
        assert needed[number] == (lengths[0] if lengths else 0)


@settings(max_examples=50)
@given(automata())
def test_the_random_mean_is_the_long_run_average(
    automaton: tuple[list[list[int]], list[list[float]]],
) -> None:
    following, rewards = map(np.array, automaton)
    moves = np.zeros((len(following), len(following)))
    for state, targets in enumerate(following):
        for target in targets:
            moves[state, target] += 0.5
    where, total, turns = np.eye(len(following))[0], 0.0, 1000
    for _ in range(turns):
        total += float(where @ rewards.mean(axis=1))
        where = where @ moves
    mean = explored(*automaton).random_mean()
    assert mean == pytest.approx(total / turns, abs=0.02)  # the first turns count for little


@given(automata())
def test_a_search_agrees_with_the_exact_horizon(
    automaton: tuple[list[list[int]], list[list[float]]],
) -> None:
    simulator = make_simulator(Automata(*automaton), Instance({}), stream(0))
    result = search(simulator, 2, 4, stream(1).generator())
    assert result.length == explored(*automaton).horizons(4)[0]


@pytest.mark.parametrize(("kind", "complete"), [(Automata, True), (Unpicklable, False)])
def test_a_search_reaches_beyond_all_short_sequences(kind: type[Automata], complete: bool) -> None:
    """Sequences that end in the same state are one; where states have no names, some are tried."""
    following = [[place + 1] * 4 for place in range(12)] + [[0] * 4]
    rewards = [[0.0] * 4 for _ in range(12)] + [[1.0, 0.0, 0.0, 0.0]]
    simulator = make_simulator(kind(following, rewards), Instance({}), stream(0))
    assert search(simulator, 4, 13, stream(1).generator()).length == 13
    simulator = make_simulator(kind(following, rewards), Instance({}), stream(0))
    short = search(simulator, 4, 12, stream(1).generator())
    assert (short.length, short.complete) == (0, complete)


# Restoring a state


def simulators() -> list[tuple[EnvironmentClass, type]]:
    return [
        (Buttons(), KernelSimulator),
        (Cups(), KernelSimulator),
        (Coins(0.0), Simulator),
        (Unpicklable(MATCH, FAIR), ReplayedSimulator),
    ]


@pytest.mark.parametrize(("environment_class", "kind"), simulators())
def test_a_state_is_restored_with_its_generator(
    environment_class: EnvironmentClass, kind: type
) -> None:
    instance = environment_class.draw(stream(3).generator())
    simulator = make_simulator(environment_class, instance, stream(4))
    assert type(simulator) is kind
    for _ in range(5):
        simulator.step(1)
    snapshot = simulator.save()
    first = [simulator.step(action) for action in (0, 1, 1, 0, 1, 0)]
    simulator.restore(snapshot)
    assert simulator.save() == snapshot
    assert [simulator.step(action) for action in (0, 1, 1, 0, 1, 0)] == first
