"""How the rewards of the agents go with the complexity of their environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES, Reference
from omnimeter.reproductions.lambda_experiments.curves import said
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Correlation, Estimate, Line, correlation, regression

WEAK = 0.3
"""A correlation whose interval is within this distance of 0 explains less than a tenth of what
differs: such an agent is hardly affected."""

PER = 100
"""Slopes are told for so many bytes."""


@dataclass(frozen=True)
class Relation:
    """How the rewards of one agent go with complexity.

    Attributes:
        line: The least-squares line.
        correlation: Pearson's.
    """

    line: Line
    correlation: Correlation

    @property
    def slope(self) -> Estimate:
        """The change of the reward for every 100 bytes."""
        slope = self.line.slope
        return replace(slope, value=PER * slope.value, low=PER * slope.low, high=PER * slope.high)

    @property
    def weak(self) -> bool:
        """Whether the agent is hardly affected."""
        return self.correlation.low > -WEAK and self.correlation.high < WEAK

    @property
    def falls(self) -> bool:
        """Whether the agent gets less in more complex environments."""
        return self.slope.high < 0


Relations = Mapping[str, Mapping[str, Relation]]
"""By the environments that are meant and the name of an agent."""


def among(found: Sequence[Sample]) -> dict[str, Sequence[Sample]]:
    """The environments of the two panels: those of the largest size, and all."""
    return {f"{found[-1].cells}-cells": found[-1:], "all-sizes": found}


def complexities(found: Sequence[Sample]) -> FloatArray:
    """The complexity of each environment."""
    return np.concatenate([sample.complexity for sample in found])


def rewards(found: Sequence[Sample], agent: str) -> FloatArray:
    """What an agent got in each environment."""
    return np.concatenate([sample.final(agent) for sample in found])


def relate(x: FloatArray, y: FloatArray) -> Relation:
    """How rewards ``y`` go with complexities ``x``."""
    return Relation(regression(x, y), correlation(x, y))


def relations(found: Sequence[Sample]) -> Relations:
    """All of them, for both panels."""
    return {
        name: {
            agent.name: relate(complexities(chosen), rewards(chosen, agent.name))
            for agent in REFERENCES
        }
        for name, chosen in among(found).items()
    }


def relation_rows(related: Relations) -> list[dict[str, Any]]:
    """All relations as records; slopes are for 100 bytes."""
    return [
        {
            "agent": agent,
            "among": where,
            "slope": relation.slope.value,
            "slope-low": relation.slope.low,
            "slope-high": relation.slope.high,
            "correlation": relation.correlation.value,
            "correlation-low": relation.correlation.low,
            "correlation-high": relation.correlation.high,
            "p": relation.correlation.probability,
        }
        for where, by_agent in related.items()
        for agent, relation in by_agent.items()
    ]


def relation_figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Slopes and correlations by name."""
    return {
        f"{row['agent']}.{row['among']}.{what}": row[what]
        for row in rows
        for what in ("slope", "correlation")
    }


def point_rows(found: Sequence[Sample]) -> list[dict[str, Any]]:
    """What each agent got in each environment, as records."""
    return [
        {
            "cells": sample.cells,
            "environment": number,
            "complexity": float(complexity),
            **{agent.name: float(sample.final(agent.name)[number]) for agent in REFERENCES},
        }
        for sample in found
        for number, complexity in enumerate(sample.complexity)
    ]


def hardly_affected(related: Relations, agent: Reference) -> Statement:
    """That complexity does not matter to an agent."""
    found = {where: by_agent[agent.name] for where, by_agent in related.items()}
    return Statement(
        f"{agent.title}: hardly affected by complexity.",
        "; ".join(
            f"{where}: correlation {said(each.correlation, 2)}, slope {said(each.slope)} for "
            f"{PER} bytes"
            for where, each in found.items()
        )
        + f". Rule: the intervals of the correlation are within {WEAK} of 0.",
        all(each.weak for each in found.values()),
    )


def learner_falls(related: Relations, agent: Reference) -> Statement:
    """That an agent gets less the more complex an environment is."""
    found = {where: by_agent[agent.name] for where, by_agent in related.items()}
    return Statement(
        f"{agent.title} does significantly worse the more complex the environment is.",
        "; ".join(
            f"{where}: slope {said(each.slope)} for {PER} bytes, correlation "
            f"{said(each.correlation, 2)}, p = {each.correlation.probability:.1g}"
            for where, each in found.items()
        )
        + ". Rule: the intervals of both slopes are below 0.",
        all(each.falls for each in found.values()),
    )
