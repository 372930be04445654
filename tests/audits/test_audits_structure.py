"""What an audit says of the structure of environments, exactly and by sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from automata import FAIR, MATCH, Automata, Coins, finding, small
from omnimeter.audits import Finding
from omnimeter.audits.states import Simulator, explore
from omnimeter.contract import Claims, Environment, EnvironmentClass, Instance, Percept, single
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups

ONE_WAY = [[0, 1], [1, 1]]
CYCLE = [[1, 1], [0, 0]]
TWINS = [[1, 2], [0, 0], [0, 0]]


def structure(environment_class: EnvironmentClass, **changes: Any) -> Finding:
    return finding(small(environment_class, **changes), "structure")


@pytest.mark.parametrize(
    ("environment_class", "said"),
    [
        (Automata(MATCH, FAIR), ["Ergodic"]),
        (Automata(ONE_WAY, FAIR), ["Dead ends"]),
        (Automata(CYCLE, FAIR), ["Ergodic", "Passive: actions change rewards only"]),
        (
            Automata(CYCLE, [[1.0, 1.0], [-1.0, -1.0]]),
            ["Ergodic", "Passive: actions change nothing"],
        ),
        # Two states look the same and pay differently: aliased. If they pay the same they are one.
        (
            Automata(TWINS, [[0.0, 0.0], [1.0, 1.0], [-1.0, -1.0]], shown=[0, 1, 1]),
            ["Ergodic", "Passive: actions change rewards only", "Aliased"],
        ),
        (
            Automata(TWINS, [[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]], shown=[0, 1, 1]),
            ["Ergodic", "Passive: actions change rewards only"],
        ),
    ],
)
def test_what_all_states_show(environment_class: EnvironmentClass, said: list[str]) -> None:
    result = structure(environment_class)
    assert result.passed is None
    assert not result.claimed
    *sentences, manner = result.summary.removesuffix(".").split(". ")
    assert manner == "Decided exactly"
    for sentence, text in zip(sentences, said, strict=True):
        assert sentence.startswith(text)


def test_what_is_only_known_is_no_failure() -> None:
    result = small(Automata(ONE_WAY, FAIR, Claims(balanced=False)))
    assert result.ok
    assert result.to_json()["findings"][3]["passed"] is None


class Gate(Environment):
    """Random rewards; one of two actions leads through a gate, and nothing leads back."""

    actions = 2
    space = single(2)

    def start(self, rng: np.random.Generator) -> Percept:
        self.rng = rng
        self.inside = int(rng.random() < 0.5)
        return Percept(0.0, self.inside)

    def step(self, action: int) -> Percept:
        return Percept(float(self.rng.choice([-1, 1])), self.inside)


class Gates(Coins):
    """What the start has drawn stays for ever, seen by sampling only."""

    def build(self, instance: Instance) -> Environment:
        return Gate()


@pytest.mark.parametrize(
    ("environment_class", "dead_ends", "passive", "nothing", "aliased"),
    [
        (Buttons("balanced"), 0, 1, 0, 0),
        (Buttons("switch-balanced"), 0, 0, 0, 0),
        (Buttons("fate"), 1, 1, 0, 0),
        (Coins(0.0), 0, 0, 1, 0),
        (Gates(0.0), 1, 0, 1, 0),
    ],
)
def test_what_walks_show(
    environment_class: EnvironmentClass, dead_ends: int, passive: int, nothing: int, aliased: int
) -> None:
    result = structure(environment_class)
    assert result.numbers["decided_exactly"] == 0
    assert result.numbers["likely_dead_ends"] == dead_ends
    assert result.numbers["passive"] == passive
    assert result.numbers["without_influence"] == nothing
    assert result.numbers["aliased"] == aliased
    assert result.summary.endswith("Examined by sampling.")
    assert ("No dead ends were found" in result.summary) is (dead_ends == 0)


def test_walks_find_what_all_states_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cups hide the turn of the environment: aliased, by both ways of looking."""
    exact = structure(Cups(3, 4))
    monkeypatch.setattr("omnimeter.audits.subject.explore", lambda *_: None)
    sampled = structure(Cups(3, 4))
    assert exact.numbers["decided_exactly"] == exact.numbers["distinct_instances"]
    assert sampled.numbers["decided_exactly"] == 0
    for name in ("aliased", "passive", "dead_ends", "without_influence"):
        assert sampled.numbers[name] == exact.numbers[name]
    assert exact.numbers["aliased"] == exact.numbers["distinct_instances"]


@pytest.mark.parametrize("compiled", [False, True])
def test_sensitivity_takes_a_least_difference(compiled: bool) -> None:
    """Each action changes the sum by 0.1 at most, so a difference of 0.5 needs five of them."""
    slight: EnvironmentClass = Automata([[0, 0]], [[0.1, 0.0]], Claims(False, 5))
    needed = {0.0: 1, 0.1: 1, 0.15: 2, 0.5: 5}
    if compiled:
        slight, needed = Buttons("fate"), {0.0: 1, 1.0: 1, 1.5: 2}
    for least, actions in needed.items():
        sensitivity = finding(small(slight, least_difference=least), "sensitivity")
        assert sensitivity.passed
        assert sensitivity.numbers["needed_horizon"] == actions
        assert sensitivity.claimed is (least == 0)
        assert (f"by {least:g} or more" in sensitivity.summary) is (least > 0)
    assert not finding(small(slight, least_difference=9.0), "sensitivity").passed


@pytest.mark.parametrize("states", [1, 7, 40, 41, 10**6])
def test_too_many_states_are_noticed_without_a_search_of_all(states: int) -> None:
    class Ring(Simulator):
        """So many states in a ring, through which all actions lead alike."""

        max_transitions, saved, state = 120, 0, 0

        def __init__(self) -> None:
            pass

        def save(self) -> int:
            self.saved += 1
            return self.state

        def restore(self, snapshot: int) -> None:
            self.state = snapshot

        def step(self, action: int) -> float:
            del action
            self.state = (self.state + 1) % states
            self.observation = np.array([self.state])
            return 0.0

    ring = Ring()
    ring.observation = np.array([0])
    graph = explore(ring, 3)
    assert (graph is not None) is (states <= 40)
    assert graph is None or len(graph.successors) == states
    assert states < 10**6 or ring.saved < 15
