"""The model learner: what it knows, what it plans, and how soon it does well in automata."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choosing import begun
from omnimeter.agents.model_learner import EFFORT, KNOWN, ModelLearner
from omnimeter.agents.simple import RandomAgent
from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import (
    Briefing,
    Budget,
    Exercise,
    Instance,
    InvalidInputError,
    Space,
    Spec,
    Trace,
    stream,
)
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.automata import Automata
from omnimeter.interaction import run_single
from omnimeter.interaction.loop import run_stepwise
from omnimeter.kernels import KernelAgent

TWO = Briefing(2, Space((2,), single=True))

# What it knows and plans.


def test_by_hand() -> None:
    agent = ModelLearner(gamma=0.5, optimism=1.0)
    state = begun(agent, TWO)
    assert state.table.tolist() == [2, 2, 2, 2]  # 1 for ever
    first = agent.act(0.7, 0)  # the first reward is not attributed to any action
    assert state.visits.tolist() == [0, 0, 0, 0]
    assert agent.act(0.0, 0) == 1 - first  # 0 + 2/2 for what it did, 2 for what it did not
    assert state.table[first] == 1
    agent.act(-1.0, 1)
    assert state.table[1 - first] == 0  # -1 + 2/2
    assert state.table[2:].tolist() == [2, 2]


def test_rewards_are_averaged_and_the_last_successor_counts() -> None:
    agent = ModelLearner(gamma=0.0)
    state = begun(agent, Briefing(1, Space((3,))))
    for reward, seen in [(0.0, 0), (0.5, 1), (0.0, 0), (0.0, 2), (0.0, 0), (-0.5, 1)]:
        agent.act(reward, [seen])
    assert state.visits.tolist() == [3, 1, 1]
    assert state.rewards.tolist() == [0.0, 0.0, 0.0]
    assert state.successors.tolist() == [1, 0, 0]


PERCEPTS = st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 3)), min_size=1, max_size=60)


@given(PERCEPTS, st.floats(0, 0.9), st.floats(0, 1), st.integers(1, 2000))
def test_values_are_what_the_model_says(
    percepts: list[tuple[float, int]], gamma: float, hope: float, effort: int
) -> None:
    agent = ModelLearner(gamma, hope, effort)
    state = begun(agent, Briefing(3, Space((4,), single=True)))
    for reward, seen in percepts:
        agent.act(reward, seen)
    state.numbers[EFFORT] = 10_000  # enough to plan to the end
    agent.finish(0.0, 0)
    agent.act(0.0, 0)
    known = state.visits > 0
    assert state.numbers[KNOWN] == known.sum()
    best = state.table.reshape(4, 3).max(axis=1)
    expected = state.rewards + gamma * best[state.successors]
    assert state.table[known] == pytest.approx(expected[known], abs=1e-4)
    assert (state.table[~known] == (2 * hope - 1) / (1 - gamma)).all()


def test_one_action_takes_no_more_than_its_effort() -> None:
    lazy = begun(
        agent := ModelLearner(max_updates=1, gamma=0.9), Briefing(1, Space((5,), single=True))
    )
    for seen in (0, 1, 2, 3, 4, 0):
        agent.act(0.0, seen)
    planned = lazy.table.copy()
    agent.act(0.0, 1)
    assert 1 <= (lazy.table != planned).sum() <= 2  # what it has just learnt, and one more


# How it does in automata.


PLAIN = Automata()


def drawn(low: float, high: float, count: int = 20, place: Automata = PLAIN) -> list[Instance]:
    rng = stream(4, "automata").generator()
    results = [place.draw_between(rng, low, high) for _ in range(count)]
    return [each for each in results if each is not None]


def traces(
    agent: KernelAgent, instances: list[Instance], interactions: int, place: Automata = PLAIN
) -> list[Trace]:
    exercises = [
        Exercise(Spec("agent"), Spec("class"), instance, Budget(interactions), 6, number)
        for number, instance in enumerate(instances)
    ]
    return list(run_single(place, agent, exercises, record=True))


def average(results: list[Trace], first: int = 0) -> float:
    return float(np.mean([trace.rewards[first:] for trace in results]))


def optimum(instance: Instance) -> float:
    """The best average reward that there is in the long run."""
    (walk,) = traces(RandomAgent(), [instance], 5000)
    assert walk.observations is not None
    following = np.array(instance.data["transitions"])
    paid = np.zeros(len(following))
    paid[walk.observations[1:, 0]] = walk.rewards
    values: FloatArray = np.zeros(len(following))
    for _ in range(2000):
        values = (paid + values)[following].max(axis=1)
    return float(values[0]) / 2000


BANDS = [(17.0, 20.0), (60.0, 80.0), (150.0, 200.0)]


@pytest.mark.parametrize("band", BANDS)
def test_it_soon_does_as_well_as_can_be(band: tuple[float, float]) -> None:
    instances = drawn(*band)
    assert instances
    best = float(np.mean([optimum(instance) for instance in instances]))
    assert average(traces(ModelLearner(), instances, 500), 200) > best - 0.02


def test_it_learns_faster_than_q_learning() -> None:
    instances = [each for band in BANDS[1:] for each in drawn(*band)]
    ours, theirs = (traces(agent, instances, 400) for agent in (ModelLearner(), QLearning()))
    assert average(ours, 30) > average(theirs, 30) + 0.03
    assert average(ours) > average(theirs)


def test_compiled_and_stepwise_are_the_same() -> None:
    for number, instance in enumerate(drawn(*BANDS[1], count=3)):
        each = Exercise(Spec("agent"), Spec("class"), instance, Budget(300), 6, number)
        (compiled,) = run_single(PLAIN, ModelLearner(), [each], record=True)
        assert compiled.same_as(run_stepwise(PLAIN, [ModelLearner()], each, record=True)[0])


def test_it_copes_with_states_that_are_observed_alike() -> None:
    merged = Automata(symbols=3)
    instances = drawn(60, 80, 40, merged)
    assert instances
    assert average(traces(ModelLearner(), instances, 500, merged)) > 0.3


def test_with_full_hope_only_the_best_reward_keeps_it_from_trying_everything() -> None:
    instances = drawn(*BANDS[1])
    full, some = (traces(ModelLearner(0.99, hope), instances, 500) for hope in (1.0, 0.6))
    for trace, instance in zip(full, instances, strict=True):
        everything = 3 * len(instance.data["marks"])
        assert tried(trace) == everything or (trace.rewards[-20:] == 1).all()
    assert sum(map(tried, some)) < sum(map(tried, full))


def tried(trace: Trace) -> int:
    """How many pairs of an observation and an action came up."""
    assert trace.observations is not None
    assert trace.actions is not None
    return len(set(zip(trace.observations[:-1, 0], trace.actions, strict=True)))


# Errors.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"gamma": 1.0}, "gamma is 1.0"),
        ({"gamma": -0.1}, "gamma is -0.1"),
        ({"gamma": nan}, "gamma is nan"),
        ({"optimism": 1.1}, "optimism is 1.1"),
        ({"optimism": nan}, "optimism is nan"),
        ({"max_updates": 0}, "max_updates is 0"),
        ({"max_updates": 2**70}, "max_updates is 1180591620717411303424"),
    ],
)
def test_invalid_parameters_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ModelLearner(**wrong)


@pytest.mark.parametrize(
    ("briefing", "message"),
    [
        (
            Briefing(2, Space((2,) * 20)),
            "A table cannot have 2097152 entries",
        ),
        (Briefing(2, Space((2,)), rewards=(-1.0, inf)), "highest reward, and here one is missing"),
        (Briefing(2, Space((2,)), rewards=(-inf, 1.0)), "highest reward, and here one is missing"),
    ],
)
def test_unsuitable_environments_are_rejected(briefing: Briefing, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ModelLearner().begin(briefing, 0)  # type: ignore[arg-type]
