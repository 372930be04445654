"""What the agents get in the generated environments of sections 5.4 and 5.5, alone and together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from omnimeter.contract import Exercise, FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.reproductions.lambda_experiments.agents import Q_LEARNING, RANDOM, REFERENCES
from omnimeter.reproductions.lambda_experiments.measures import MEASURES
from omnimeter.reproductions.lambda_experiments.runs import (
    INTERACTIONS,
    alone,
    exercises,
    points_along,
    together,
)
from omnimeter.reproductions.reproduction import Report, silent

SIZES = (3, 6, 9)
"""How many cells the environments have."""

ENVIRONMENTS = 100
"""How many there are of each size."""

STOP = 0.01
"""With which probability the pattern of Good and Evil ends after each of its actions."""


@dataclass(frozen=True)
class Sample:
    """Environments of one size, and what each agent got there.

    Attributes:
        cells: How many cells they have.
        complexity: By the name of a measure the complexity of each one.
        points: After which interactions averages were kept.
        averages: By the name of an agent its average reward, one row per environment, one column
            per point.
    """

    cells: int
    complexity: Mapping[str, FloatArray]
    points: IntArray
    averages: Mapping[str, FloatArray]

    @property
    def environments(self) -> int:
        """How many there are."""
        return len(next(iter(self.averages.values())))

    def final(self, agent: str) -> FloatArray:
        """An agent's average reward at the end, for each environment."""
        return self.averages[agent][:, -1]


def samples(
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
    report: Report = silent,
    *,
    social: bool = False,
) -> list[Sample]:
    """The environments of all sizes, the same ones and with the same chances at every call.

    Args:
        environments: How many of each size.
        interactions: How long each exercise lasts.
        report: Told what is being done.
        social: Whether all agents are in an environment at once, or each is there alone.
    """
    points = points_along(interactions)
    found = []
    for number, cells in enumerate(SIZES):
        report(f"{environments} environments of {cells} cells", number / len(SIZES))
        environment_class = Lambda(cells=cells, stop=STOP)
        # Another root for each size, so that no chance is used twice.
        taken = exercises(environment_class, environments, interactions, seed=cells)
        run = _together if social else _alone
        averages = run(environment_class, taken, points)
        found.append(Sample(cells, _complexities(taken), points, averages))
    return found


def learner_among_strangers(environments: int, interactions: int) -> FloatArray:
    """What Q-learning gets in the smallest environments among three agents that tell it nothing."""
    cells = SIZES[0]
    environment_class = Lambda(cells=cells, stop=STOP)
    taken = exercises(environment_class, environments, interactions, seed=cells)
    strangers = [replace(RANDOM, name=f"random-{number}") for number in (1, 2, 3)]
    points = np.array([interactions])
    averages = together(environment_class, [Q_LEARNING, *strangers], taken, points)
    return averages[Q_LEARNING.name][:, -1]


def _alone(
    environment_class: Lambda, taken: Sequence[Exercise], points: IntArray
) -> dict[str, FloatArray]:
    return {agent.name: alone(environment_class, agent, taken, points) for agent in REFERENCES}


def _together(
    environment_class: Lambda, taken: Sequence[Exercise], points: IntArray
) -> dict[str, FloatArray]:
    return together(environment_class, REFERENCES, taken, points)


def _complexities(taken: Sequence[Exercise]) -> dict[str, FloatArray]:
    graded = {measure.name: Lambda(grade=measure.grade) for measure in MEASURES}
    return {
        name: np.array([grading.complexity(exercise.instance) for exercise in taken])
        for name, grading in graded.items()
    }
