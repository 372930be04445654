"""Perturbed agents: nothing happens until the moment, and then what was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnimeter.agents.temporal_difference import QLearning, adjust
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    Agent,
    Briefing,
    Budget,
    Exercise,
    InvalidInputError,
    Move,
    Observation,
    Space,
    Spec,
    Trace,
    stream,
)
from omnimeter.contract.agent import EXPLORATION, LEARNING_RATE, MEMORY
from omnimeter.environments.cups import Cups
from omnimeter.interaction import run_single
from omnimeter.interaction.adapters import adapt

CUPS = Cups(4, 4)
AT = 20


class Witness(Agent):
    """Presses one button after the other, and keeps what it is told."""

    told: list[Any]
    adjusted: list[tuple[int, float]]

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.told, self.adjusted = [], []

    def act(self, reward: float, observation: Observation) -> int | Move:
        self.told.append(np.array(observation).tolist())
        return (len(self.told) - 1) % 4

    def finish(self, reward: float, observation: Observation) -> None:
        self.told.append(np.array(observation).tolist())

    def adjust(self, what: int, amount: float) -> bool:
        self.adjusted.append((what, amount))
        return True


WITNESS = f"{__file__}:Witness"


def perturbed(agent: str, **parameters: Any) -> Any:
    return make(Kind.AGENT, Spec("perturbed-v1", {"agent": agent, "at": AT, **parameters}))


def taken(agent: Agent, *, compiled: bool = True) -> Trace:
    instance = CUPS.draw(stream(1).generator())
    exercise = Exercise(
        Spec("agent"), Spec("class"), instance, Budget(interactions=60), seed=5, number=0
    )
    (trace,) = run_single(CUPS, agent, [exercise], record=True, compiled=compiled)
    assert trace.fault is None, trace.fault
    return trace


@pytest.mark.parametrize("agent", ["scripted(actions=[0,1,2,3],repeat=true)", WITNESS])
def test_actions_are_permuted_from_the_moment_on(agent: str) -> None:
    actions = np.asarray(taken(perturbed(agent, actions="permuted")).actions).reshape(-1, 4)
    assert (actions[: AT // 4] == [0, 1, 2, 3]).all()
    later = actions[AT // 4 :]
    assert (later == later[0]).all()
    assert sorted(later[0]) == [0, 1, 2, 3] != later[0].tolist()


def test_observations_are_replaced_as_often_as_asked_for() -> None:
    shown = {}
    for name in ("noise", "missing"):
        agent = perturbed(WITNESS, **{name: 0.5})
        seen = np.asarray(taken(agent).observations)
        told = np.array(agent.inner.told)
        assert (told[:AT] == seen[:AT]).all()
        before, after = seen[AT:], told[AT:]
        shown[name] = (before != after).mean(), after[before == 0].mean()
    assert shown["missing"][1] == 0, "what is missing is 0"
    assert 0.1 < shown["missing"][0] < 0.4, "half of those that are 1"
    assert 0.15 < shown["noise"][0] < 0.4, "half of half of them"
    assert shown["noise"][1] > 0.1


def test_memory_is_erased_once() -> None:
    agent = perturbed(WITNESS, erased=0.25)
    taken(agent)
    assert agent.inner.adjusted == [(MEMORY, 0.25)]


def test_each_action_takes_longer() -> None:
    for agent in ("random(rate=2)", "slowed(agent=random,seconds=0.5)"):
        times = np.diff(taken(perturbed(agent, delay=1.5)).times, prepend=0) / 1e9
        assert times.tolist() == [0.5] * AT + [2.0] * 40
    times = np.diff(taken(perturbed(WITNESS, delay=1.5)).times, prepend=0) / 1e9
    assert times.tolist() == [1.0] * AT + [1.5] * 40, "in place of the tick of the clock"


ALL = {"actions": "permuted", "noise": 0.2, "missing": 0.1, "erased": 0.5, "delay": 0.5}


def test_an_agent_of_kernels_runs_compiled_with_the_same_trace() -> None:
    agent = perturbed("q-learning(epsilon=0.1)", **ALL)
    assert agent.kernels is not None
    assert taken(agent).same_as(taken(agent, compiled=False))


def test_perturbations_can_be_put_around_each_other() -> None:
    agent = perturbed("perturbed(agent=q-learning,at=40,actions=permuted)", **ALL)
    assert taken(agent).same_as(taken(agent, compiled=False))


@pytest.mark.parametrize(
    ("agent", "parameters", "message"),
    [
        ("random", {"erased": 0.5}, "RandomAgent cannot be adjusted.*no method adjust"),
        ("q-learning", {}, "Nothing happens to the agent"),
        ("q-learning", {"noise": 1.5}, "noise is 1.5"),
        ("q-learning", {"noise": 0.7, "missing": 0.7}, "at most 1"),
        ("q-learning", {"noise": 0.7, "at": -1}, "There cannot be -1"),
        ("q-learning", {"delay": -1}, "cannot take -1.0 seconds"),
        ("q-lurning", {"noise": 0.7}, "q-learning"),
    ],
)
def test_wrong_parameters_are_refused(agent: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        perturbed(agent, **parameters)


def test_its_label_names_the_agent_inside_in_full() -> None:
    spec = parse(Kind.AGENT, "perturbed(agent=q-learning,at=5,noise=0.1)")
    assert spec.label == "perturbed-v1(agent=q-learning-v1, at=5, noise=0.1)"


# What the learners let others change


def test_a_learner_is_adjusted() -> None:
    agent = QLearning(alpha=0.5, epsilon=0.25, initial_value=1.0)
    state = agent.initial_state(Briefing(4, Space((2, 2))))
    state.table[:] = 9.0
    state.rng[0] = 1
    adjust(state, EXPLORATION, 0.8)
    adjust(state, LEARNING_RATE, 0.1)
    assert state.rates[[0, 3, 4]].tolist() == [0.1, 0.8, 0.2]
    adjust(state, EXPLORATION, -1.0)
    adjust(state, LEARNING_RATE, -1.0)
    assert state.rates[[0, 3, 4]].tolist() == [0.5, 0.25, 0.0625]
    adjust(state, MEMORY, 0.5)
    assert 0 < (state.table == 1.0).sum() < 16
    adjust(state, MEMORY, 1.0)
    assert (state.table == 1.0).all()


def test_a_learner_is_adjusted_from_python() -> None:
    """With all memory gone it is again at the mercy of its initial values."""
    agent = QLearning(initial_value=0.0, epsilon=0.0, ties="first")
    agent.begin(Briefing(4, Space((2, 2))), 7)
    here = np.zeros(2, dtype=np.int64)
    chosen = [agent.act(-1.0, here), agent.act(1.0, here), agent.act(-1.0, here)]
    assert chosen == [0, 0, 0], "it was good"
    assert agent.adjust(MEMORY, 1.0)
    assert agent.adjust(EXPLORATION, 1.0)
    assert {agent.act(-1.0, here) for _ in range(40)} == {0, 1, 2, 3}
    assert not adapt(make(Kind.AGENT, Spec("random-v1"))).adjust(MEMORY, 1.0)
