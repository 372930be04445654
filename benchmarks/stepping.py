"""Stepping environments from Python, against FrozenLake as Gymnasium makes it.

Run ``python benchmarks/stepping.py``. It ends with 1 if our environments do not give at least five
times as many observations and rewards in the same processor time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from measuring import fastest, verdict

import omnimeter.gymnasium_adapter  # noqa: F401 - registers the environments
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Agent, Budget, Environment, EnvironmentClass, Observation, Spec
from omnimeter.contract import stream as named_stream
from omnimeter.interaction import interact

BAR = 5.0
STEPS = 5_120
TOGETHER = 1_024
LAKE = "FrozenLake-v1"
Rival = Callable[[], object]


@dataclass(frozen=True)
class Subject:
    """One of our environment classes, and which of its environments are stepped.

    Attributes:
        name: The id of the class.
        complexity: The complexity of the environments.
        parameters: The parameters of the class.
    """

    name: str
    complexity: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """What Gymnasium is told beside the id."""
        return {"complexity": self.complexity, **self.parameters}


SUBJECTS = (Subject("cups-v1", 5), Subject("buttons-v1"))


class FirstAction(Agent):
    """As little as an agent in Python can do."""

    def act(self, reward: float, observation: Observation) -> int:  # noqa: ARG002, D102 - see Agent
        return 0


def build(subject: Subject) -> Environment:
    """One environment of a class."""
    spec = Spec(subject.name, subject.parameters)
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    rng = np.random.default_rng(1)
    environment = environment_class.build(environment_class.draw(rng, subject.complexity))
    environment.start(rng)
    return environment


def random_actions(count: int) -> list[int]:
    """Actions that were drawn beforehand: drawing them is not what is measured."""
    return [int(action) for action in np.random.default_rng(1).integers(count, size=STEPS)]


def direct(subject: Subject) -> Rival:
    """An environment's own ``step``."""
    environment = build(subject)
    actions = random_actions(environment.actions)

    def run() -> None:
        step = environment.step
        for action in actions:
            step(action)

    return run


def through_gymnasium(environment: gymnasium.Env[Any, Any]) -> Rival:
    """Gymnasium's ``step``, and ``reset`` whenever an episode is over."""
    environment.reset(seed=1)
    assert isinstance(environment.action_space, gymnasium.spaces.Discrete)
    actions = random_actions(int(environment.action_space.n))

    def run() -> None:
        step, reset = environment.step, environment.reset
        for action in actions:
            _, _, terminated, truncated, _ = step(action)
            if terminated or truncated:
                reset()

    return run


def many_at_once(subject: Subject, steps: int = STEPS) -> Rival:
    """Gymnasium's ``step`` of a vector; one call is as many steps as there are environments."""
    name = f"omnimeter/{subject.name}"
    vector = gymnasium.make_vec(name, num_envs=TOGETHER, **subject.settings)
    vector.reset(seed=1)
    actions = vector.action_space.sample()

    def run() -> None:
        for _ in range(steps // TOGETHER):
            vector.step(actions)

    return run


def with_an_agent(subject: Subject) -> Rival:
    """The ordinary loop with an agent written in Python."""
    environment, budget = build(subject), Budget(interactions=STEPS)
    return lambda: interact(environment, FirstAction(), budget, lambda side: named_stream(1, side))


def agent_alone() -> None:
    """What the agent itself costs in that loop."""
    act, seen = FirstAction().act, np.zeros(5, dtype=np.int64)
    for _ in range(STEPS):
        act(0.0, seen)


def ways(subject: Subject) -> dict[str, Rival]:
    """All the ways in which one of our environments can be stepped, by name."""
    made = gymnasium.make(f"omnimeter/{subject.name}", **subject.settings)
    return {
        f"{subject.name}: step": direct(subject),
        f"{subject.name}: gymnasium.make": through_gymnasium(made),
        f"{subject.name}: {TOGETHER} at once": many_at_once(subject),
        f"{subject.name}: interact": with_an_agent(subject),
    }


def rivals() -> dict[str, Rival]:
    """Everybody, by name; each does the same number of steps."""
    result: dict[str, Rival] = {LAKE: through_gymnasium(gymnasium.make(LAKE))}
    result[f"{LAKE} without its wrappers"] = through_gymnasium(gymnasium.make(LAKE).unwrapped)
    result["agent alone"] = agent_alone
    for subject in SUBJECTS:
        result |= ways(subject)
    return result


def report(taken: Mapping[str, float], yardstick: str) -> None:
    """Print the nanoseconds per step of each, and how many steps it does for one of another."""
    print(f"{'':34}{'ns per step':>12}{'rate':>9}")
    for name, cost in taken.items():
        print(f"{name:34}{cost:12.0f}{taken[yardstick] / cost:8.1f}x")


def main() -> int:
    taken = {name: best / STEPS for name, best in fastest(rivals()).items()}
    report(taken, LAKE)
    holds = True
    for name in (subject.name for subject in SUBJECTS):
        cost = taken[f"{name}: step"]
        harness = taken[f"{name}: interact"] - cost - taken["agent alone"]
        print(f"{name}: the ordinary loop adds {harness:.0f} ns to agent and environment")
        for way in ("step", "gymnasium.make"):
            ratio = taken[LAKE] / taken[f"{name}: {way}"]
            holds &= verdict(f"{name}: {way}", ratio, at_least=BAR)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
