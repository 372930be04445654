"""Running the agents, alone or together, and what is kept: average rewards along the way.

Of each run only some points of its curve are kept, so that memory does not grow with its length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omnimeter.contract import Budget, Exercise, FloatArray, IntArray, Trace
from omnimeter.environments.lambda_class import Lambda
from omnimeter.interaction.batch import run_batch
from omnimeter.interaction.together import run_together
from omnimeter.payoffs.running import running_averages
from omnimeter.reproductions import simulation
from omnimeter.reproductions.lambda_experiments.agents import Reference

INTERACTIONS = 10_000
"""How long each exercise of chapter 5 lasts."""

SPACE = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|"
    "12+3++++++|1-----23-------|1++++++2-------3++|1----2+++3+"
)
"""The eight cells of Figure 5.1."""

PATTERN = "203210200"
"""What Good and Evil do there."""


def points_along(interactions: int = INTERACTIONS) -> IntArray:
    """After which interactions a curve is kept: closer together at first, where it changes most."""
    early = np.geomspace(1, interactions, 100)
    evenly = np.linspace(0, interactions, 201)[1:]
    return np.unique(np.ceil(np.concatenate([early, evenly])).astype(np.int64))


def exercises(
    environment_class: Lambda, runs: int, interactions: int = INTERACTIONS, seed: int = 0
) -> list[Exercise]:
    """The same exercises, with the same chances, for every agent."""
    return simulation.exercises(
        environment_class, Budget(interactions=interactions), runs, seed=seed
    )


def alone(
    environment_class: Lambda, agent: Reference, taken: Sequence[Exercise], points: IntArray
) -> FloatArray:
    """The average reward of an agent alone: one row per exercise, one column per point."""
    traces = run_batch(environment_class, agent.make(), taken)
    return np.array([averages(trace, points) for trace in traces])


def together(
    environment_class: Lambda,
    agents: Sequence[Reference],
    taken: Sequence[Exercise],
    points: IntArray,
) -> dict[str, FloatArray]:
    """What ``alone`` gives, for each of some agents who are in the same environment at once."""
    company = tuple(agent.spec for agent in agents)
    joint = [replace(exercise, agent=company[0], company=company) for exercise in taken]
    runs = run_together(environment_class, [agent.make() for agent in agents], joint)
    kept = np.array([[averages(trace, points) for trace in traces] for traces in runs])
    return {agent.name: kept[:, seat] for seat, agent in enumerate(agents)}


def averages(trace: Trace, points: IntArray) -> FloatArray:
    """The average reward of a run after some numbers of interactions.

    Raises:
        RuntimeError: The run did not come to its end.
    """
    if trace.fault is not None:
        raise RuntimeError(f"a reference agent failed: {trace.fault.message}")
    return running_averages(trace.rewards)[points]
