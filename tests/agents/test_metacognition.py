"""The monitor around learners: what it notices, what it does, and that it costs little."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import Agent, Budget, Exercise, InvalidInputError, Spec, stream
from omnimeter.contract.agent import EXPLORATION, LEARNING_RATE, MEMORY, Briefing, single
from omnimeter.interaction import run_single
from omnimeter.reproductions.perturbation.tolerance import CHOSEN, Case, performance
from omnimeter.reproductions.perturbation.tolerance import monitored_learner as monitored

LEARNER = "q-learning(alpha=1, gamma=0.7, epsilon=0.05, initial_value=0, shift=false)"


def made(text: str) -> Any:
    return make(Kind.AGENT, parse(Kind.AGENT, text))


class Advised(Agent):
    """Does what it is told to, in turn, and remembers how it was adjusted."""

    def __init__(self) -> None:
        self.adjusted: list[tuple[int, float]] = []

    def act(self, reward: float, observation: Any) -> int:
        return 0

    def adjust(self, what: int, amount: float) -> bool:
        self.adjusted.append((what, amount))
        return True


def told(rewards: list[float], **settings: Any) -> list[tuple[int, float]]:
    """How a learner is adjusted that gets these rewards for always the same action."""
    given = {"agent": f"{__file__}:Advised", "length": 100, **settings}
    agent = make(Kind.AGENT, Spec("monitored-v1", given))
    agent.begin(Briefing(2, single(1), (-10.0, 10.0)), np.random.default_rng(0))
    for reward in [0.0, *rewards]:
        agent.act(reward, 0)
    adjusted: list[tuple[int, float]] = agent.inner.adjusted
    return adjusted


# Expectations and the detector


def test_repeated_other_rewards_are_an_alarm() -> None:
    assert told([1.0] * 50 + [2.0] * 2) == []
    assert told([1.0] * 50 + [2.0] * 3) == [(EXPLORATION, 0.5), (LEARNING_RATE, -1.0)]
    assert told([1.0] * 50 + [2.0] * 3, learning_rate=0.3)[1] == (LEARNING_RATE, 0.3)
    assert told([1.0] * 50 + [2.0] * 5, limit=6.0) == []


def test_rewards_that_vary_as_usual_are_not() -> None:
    rng = np.random.default_rng(3)
    assert told(rng.normal(1.0, 1.0, size=3000).tolist()) == []


def test_rare_rewards_that_are_usual_are_not() -> None:
    rng = np.random.default_rng(4)
    assert told((rng.random(5000) < 0.02).astype(float).tolist(), limit=5.0) == []


def test_a_long_wait_is_an_alarm() -> None:
    """The reward of the action varies too much for it to be noticed by its size."""
    rng = np.random.default_rng(5)
    usual = (rng.random(500) < 0.3).astype(float).tolist()
    assert told(usual) == []
    assert told([*usual, *[0.0] * 100])[0] == (EXPLORATION, 0.5)


def test_a_lower_average_is_an_alarm() -> None:
    rng = np.random.default_rng(6)
    usual = rng.choice([0.0, 1.0], size=3000).tolist()
    fewer = (rng.random(600) < 0.25).astype(float).tolist()
    assert told(usual) == []
    assert told([*usual, *fewer])[0] == (EXPLORATION, 0.5)


# The responses


def test_exploration_decays_and_ends() -> None:
    adjusted = told([1.0] * 50 + [2.0] * 200)
    amounts = [amount for what, amount in adjusted if what == EXPLORATION]
    assert amounts[:-1] == pytest.approx(np.linspace(0.5, 0.025, 20).tolist())
    assert adjusted[-2:] == [(EXPLORATION, -1.0), (LEARNING_RATE, -1.0)]
    assert MEMORY not in [what for what, _ in adjusted]


def test_it_starts_afresh_if_good_rewards_stay_away() -> None:
    adjusted = told([1.0] * 50 + [0.0] * 200)
    assert adjusted[0] == (EXPLORATION, 0.5)
    assert adjusted[-1] == (MEMORY, 1.0)


def test_it_starts_afresh_at_once_if_it_avoids_something() -> None:
    """Once a reward was below 0, and has to be expected to have changed as well."""
    adjusted = told([-1.0] + [1.0] * 50 + [2.0] * 3)
    assert sorted(adjusted) == [(EXPLORATION, -1.0), (LEARNING_RATE, -1.0), (MEMORY, 1.0)]
    adjusted = told([-1.0] + [1.0] * 50 + [2.0] * 3, masked=False)
    assert adjusted == [(EXPLORATION, 0.5), (LEARNING_RATE, -1.0)]


# In the grid


def test_large_perturbations_cost_much_less_and_none_nothing() -> None:
    runs = 10
    largest = Case((10, -10), (-10, 10))
    late = performance(largest, monitored(CHOSEN), runs)[-1].mean()
    idle = performance(largest, monitored(CHOSEN, limit=1e9), runs)[-1].mean()
    assert late > idle + 0.2
    unchanged = Case((25, 5), (25, 5))
    np.testing.assert_array_equal(
        performance(unchanged, monitored(CHOSEN), runs),
        performance(unchanged, monitored(CHOSEN, limit=1e9), runs),
    )


PLAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import test_metacognition
print(json.dumps(test_metacognition.recorded()))
"""


def recorded() -> list[list[float]]:
    """The rewards of a run with an alarm, compiled and step by step."""
    text = "switch(first='corners(size=3, rewards=[1,-1])', second='corners(size=3)', at=600)"
    environment_class = make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, text))
    agent = made(f'monitored(agent="{LEARNER}", length=100)')
    instance = environment_class.draw(stream(0).generator())
    exercise = Exercise(
        agent=Spec("a"),
        environment_class=Spec("b"),
        instance=instance,
        budget=Budget(900),
        seed=3,
        number=0,
    )
    runs = (
        run_single(environment_class, agent, [exercise], compiled=compiled)
        for compiled in (True, False)
    )
    return [trace.rewards.tolist() for run in runs for trace in run]


def test_compiled_stepwise_and_plain_runs_are_the_same() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PLAIN, os.path.dirname(__file__)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    batch, single_steps = recorded()
    assert batch == single_steps
    assert json.loads(done.stdout) == [batch, batch]
    assert {-10, 10} & set(batch)


# What is refused


@pytest.mark.parametrize(
    "given",
    ["limit=0", "tolerance=-1", "length=0", "slower=0", "exploration=1.5", "learning_rate=0"],
)
def test_wrong_parameters_are_refused(given: str) -> None:
    with pytest.raises(InvalidInputError):
        made(f"monitored(agent=q-learning, {given})")


def test_agents_that_cannot_be_adjusted_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="adjust"):
        made("monitored(agent=random)")
