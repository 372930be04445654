"""How the rewards of the agents go with the complexity of their environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES, Reference
from omnimeter.reproductions.lambda_experiments.measures import MEASURES, Measure
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.statistics import Correlation, Estimate, Line, correlation, regression

WEAK = 0.3
"""A correlation whose interval is within this distance of 0 explains less than a tenth of what
differs: such an agent is hardly affected."""


@dataclass(frozen=True)
class Relation:
    """How the rewards of one agent go with one measure of complexity.

    Attributes:
        agent: Its name.
        among: In which environments.
        measure: What complexity is.
        line: The least-squares line.
        correlation: Pearson's.
    """

    agent: str
    among: str
    measure: Measure
    line: Line
    correlation: Correlation

    @property
    def slope(self) -> Estimate:
        """The change of the reward for so much more complexity as the measure says."""
        slope, per = self.line.slope, self.measure.per
        return replace(slope, value=per * slope.value, low=per * slope.low, high=per * slope.high)

    @property
    def weak(self) -> bool:
        """Whether the agent is hardly affected."""
        return self.correlation.low > -WEAK and self.correlation.high < WEAK

    @property
    def falls(self) -> bool:
        """Whether the agent gets less in more complex environments."""
        return self.slope.high < 0


def among(found: Sequence[Sample]) -> dict[str, Sequence[Sample]]:
    """The environments of the two panels: those of the largest size, and all."""
    return {f"{found[-1].cells}-cells": found[-1:], "all-sizes": found}


def complexities(found: Sequence[Sample], measure: Measure) -> FloatArray:
    """The complexity of each environment."""
    return np.concatenate([sample.complexity[measure.name] for sample in found])


def rewards(found: Sequence[Sample], agent: str) -> FloatArray:
    """What an agent got in each environment."""
    return np.concatenate([sample.final(agent) for sample in found])


def relate(
    agent: str, where: str, measure: Measure, complexity: FloatArray, gained: FloatArray
) -> Relation:
    """How what an agent gained goes with complexity."""
    line, strength = regression(complexity, gained), correlation(complexity, gained)
    return Relation(agent, where, measure, line, strength)


def relations(found: Sequence[Sample]) -> list[Relation]:
    """All of them: for both measures, both panels and each agent."""
    return [
        relate(
            agent.name, where, measure, complexities(chosen, measure), rewards(chosen, agent.name)
        )
        for measure in MEASURES
        for where, chosen in among(found).items()
        for agent in REFERENCES
    ]


def relations_of(
    related: Sequence[Relation], agent: Reference, measure: Measure
) -> dict[str, Relation]:
    """Those of one agent by one measure, by the environments that are meant."""
    return {
        each.among: each
        for each in related
        if (each.agent, each.measure.name) == (agent.name, measure.name)
    }


def relation_rows(related: Sequence[Relation]) -> list[dict[str, Any]]:
    """All relations as records; slopes are for 100 bytes, or 10,000 of the product."""
    return [
        {
            "agent": relation.agent,
            "among": relation.among,
            "measure": relation.measure.name,
            "slope": relation.slope.value,
            "slope-low": relation.slope.low,
            "slope-high": relation.slope.high,
            "correlation": relation.correlation.value,
            "correlation-low": relation.correlation.low,
            "correlation-high": relation.correlation.high,
            "p": relation.correlation.probability,
        }
        for relation in related
    ]


def relation_figures(related: Sequence[Relation]) -> dict[str, float]:
    """Slopes and correlations by name."""
    return {
        f"{each.agent}.{each.among}.{each.measure.mark}{what}": value
        for each in related
        for what, value in (
            ("slope", each.slope.value),
            ("correlation", each.correlation.value),
        )
    }


def point_rows(found: Sequence[Sample]) -> list[dict[str, Any]]:
    """What each agent got in each environment, as records."""
    return [
        {
            "cells": sample.cells,
            "environment": number,
            **_at(sample.complexity, number),
            **{agent.name: float(sample.final(agent.name)[number]) for agent in REFERENCES},
        }
        for sample in found
        for number in range(sample.environments)
    ]


def _at(columns: Mapping[str, FloatArray], number: int) -> dict[str, float]:
    return {name: float(values[number]) for name, values in columns.items()}
