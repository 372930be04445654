"""What the four agents get in the eight cells, for each reading of when Good and Evil swap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from omnimeter.contract import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.rules import Cycle, longest_cycle
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES
from omnimeter.reproductions.lambda_experiments.runs import (
    PATTERN,
    SPACE,
    alone,
    exercises,
    points_along,
)
from omnimeter.reproductions.lambda_experiments.simple.optimum import optimum
from omnimeter.reproductions.reproduction import Report

CYCLES: tuple[Cycle, ...] = get_args(Cycle)
"""When Good and Evil change places: the clause of section 3.6.2 can be read in several ways."""


@dataclass(frozen=True)
class Found:
    """What the agents got in the eight cells.

    Attributes:
        points: After which interactions averages were kept.
        averages: By clause and agent the average reward, one row per run, one column per point.
        optimum: The most that can be had.
    """

    points: IntArray
    averages: Mapping[str, Mapping[str, FloatArray]]
    optimum: float

    @property
    def usual(self) -> Mapping[str, FloatArray]:
        """The averages under the clause that is used elsewhere."""
        return self.averages[CYCLES[0]]


def find(runs: int, interactions: int, report: Report) -> Found:
    """Let each agent act alone, so many times for so long.

    Args:
        runs: How often, with everybody placed anew.
        interactions: For how long.
        report: Told what is being done.
    """
    points = points_along(interactions)
    averages: dict[str, dict[str, FloatArray]] = {}
    for number, cycle in enumerate(CYCLES):
        report(f"{runs} runs of each agent, cycle {cycle}", number / len(CYCLES))
        environment_class = Lambda(space=SPACE, pattern=PATTERN, cycle=cycle)
        taken = exercises(environment_class, runs, interactions)
        averages[cycle] = {
            agent.name: alone(environment_class, agent, taken, points) for agent in REFERENCES
        }
    cells, actions = environment_class.cells, environment_class.actions
    assert cells is not None  # the given space says how many
    assert actions is not None
    until_swap = (1 + longest_cycle(CYCLES[0], cells, actions)) / 2
    return Found(points, averages, optimum(SPACE, PATTERN, interactions, until_swap))
