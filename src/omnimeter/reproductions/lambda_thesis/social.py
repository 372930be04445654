"""All four agents in one environment at once (Lambda thesis, section 5.5, Figures 5.5 and 5.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Estimate, paired_difference
from omnimeter.reproductions.lambda_thesis.relations import (
    COMPRESSED,
    ENVIRONMENTS,
    MEASURES,
    Relation,
    Sample,
    among,
    complexities,
    curve_rows,
    curves_of,
    draw_relations,
    draw_sizes,
    learner_among_strangers,
    learner_falls,
    point_rows,
    relate,
    relation_figures,
    relation_rows,
    relations,
    rewards,
    samples,
)
from omnimeter.reproductions.lambda_thesis.shared import (
    FOLLOWER,
    INTERACTIONS,
    ORACLE,
    Q_LEARNING,
    REFERENCES,
    Reference,
    final,
)
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    fields,
    said,
    silent,
    write_records,
)

NOUGHT = 0.01
"""A change whose interval is within this distance of 0 is none."""


def changes(alone: Sequence[Sample], found: Sequence[Sample]) -> dict[str, list[Estimate]]:
    """By agent and size how much more it gets among others, paired by environment."""
    return {
        agent.name: [
            paired_difference(there.final(agent.name), here.final(agent.name), support=REWARDS)
            for here, there in zip(alone, found, strict=True)
        ]
        for agent in REFERENCES
    }


def statements(
    alone: Sequence[Sample],
    found: Sequence[Sample],
    related: Sequence[Relation],
    strangers: FloatArray,
) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided.

    Args:
        alone: What the agents get alone.
        found: What they get together.
        related: How the latter goes with complexity.
        strangers: What Q-learning gets in the smallest environments among random agents.
    """
    changed = changes(alone, found)
    return [
        _not_affected(ORACLE, found, changed[ORACLE.name]),
        _not_affected(FOLLOWER, found, changed[FOLLOWER.name]),
        _learner_is_worse(alone, found, strangers),
        *(learner_falls(found, related, Q_LEARNING, measure) for measure in MEASURES),
        _slope_is_steeper(alone, found),
    ]


def _not_affected(
    agent: Reference, found: Sequence[Sample], changed: Sequence[Estimate]
) -> Statement:
    return Statement(
        f"The {agent.title.lower()} is not affected by the others.",
        f"{_told(found, changed)}. Rule: the intervals are within {NOUGHT} of 0.",
        all(change.low > -NOUGHT and change.high < NOUGHT for change in changed),
    )


def _learner_is_worse(
    alone: Sequence[Sample], found: Sequence[Sample], strangers: FloatArray
) -> Statement:
    changed = changes(alone, found)[Q_LEARNING.name]
    holds = all(change.high < 0 for change in changed)
    return Statement(
        "Q-learning does worse among the others: it does not make use of them, and has a larger "
        "table to fill.",
        f"{_told(found, changed)}. Rule: the intervals are below 0.",
        holds,
        "" if holds else _why_not_worse(alone[0], found[0], strangers),
    )


def _why_not_worse(alone: Sample, found: Sample, strangers: FloatArray) -> str:
    before, among_others = alone.final(Q_LEARNING.name), found.final(Q_LEARNING.name)
    worse, better = int((among_others < before).sum()), int((among_others > before).sum())
    loss = paired_difference(strangers, before, support=REWARDS)
    return (
        f"with {alone.cells} cells it is worse in {worse} of {len(before)} environments and better "
        f"in {better}. Among three random agents, who enlarge its table as much, the change is "
        f"{said(loss)}. So it matters who the others are. Either the places of oracle and follower "
        "tell it something, or fewer states come up because both keep close to Good; these runs do "
        "not tell which"
    )


def _slope_is_steeper(alone: Sequence[Sample], found: Sequence[Sample]) -> Statement:
    """The slope of the paired differences is the difference of the slopes."""
    steeper: list[Relation] = []
    for (where, here), there in zip(among(alone).items(), among(found).values(), strict=True):
        change = rewards(there, Q_LEARNING.name) - rewards(here, Q_LEARNING.name)
        steeper += [
            relate(Q_LEARNING.name, where, measure, complexities(here, measure), change)
            for measure in MEASURES
        ]
    holds = all(each.falls for each in steeper)
    return Statement(
        "The slope of Q-learning against complexity is steeper among the others.",
        "Difference of the slopes: "
        + "; ".join(
            f"{each.among}, {each.measure.title}: {said(each.slope)} for {each.measure.unit}"
            for each in steeper
        )
        + ". Rule: the intervals of these differences are below 0.",
        holds,
        "" if holds else _why_not_steeper(alone[-1], found[-1]),
    )


def _why_not_steeper(alone: Sample, found: Sample) -> str:
    """Fifths of the environments, from the simplest to the most complex."""
    fifths = np.array_split(np.argsort(alone.complexity[COMPRESSED.name], kind="stable"), 5)
    before, among_others = alone.final(Q_LEARNING.name), found.final(Q_LEARNING.name)
    change = among_others - before
    last = fifths[-1]
    return (
        f"with {alone.cells} cells the loss does not simply grow with complexity. From the fifth "
        "of the environments with the smallest compressed length to that with the largest the "
        "change is "
        + ", ".join(f"{change[fifth].mean():.2f}" for fifth in fifths)
        + f". In the last of these Q-learning has {before[last].mean():.2f} alone and "
        f"{among_others[last].mean():.2f} among others; a random agent has 0"
    )


def _told(found: Sequence[Sample], changed: Sequence[Estimate]) -> str:
    return "Change against being alone: " + ", ".join(
        f"{sample.cells} cells {said(change)}"
        for sample, change in zip(found, changed, strict=True)
    )


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Put all agents into each environment together, and compare with each being there alone."""
    before = samples(environments, interactions, lambda what, done: report(what, 0.3 * done))
    found = samples(
        environments,
        interactions,
        lambda what, done: report(f"{what}, all agents at once", 0.3 + 0.55 * done),
        social=True,
    )
    report("Q-learning among random agents", 0.85)
    strangers = learner_among_strangers(environments, interactions)
    report("drawing", 0.95)
    changed = changes(before, found)
    rows = _rows(found, changed)
    related = relations(found)
    lines = relation_rows(related)
    title = f"Four agents at once in {environments} generated environments of each size"
    curves = curves_of(found)
    drawn = draw_sizes(curves, title, out / "social", curves_of(before))
    against = draw_relations(found, related, f"{title}: reward and complexity", out / "complexity")
    return Reproduced(
        name="lambda-social",
        title=title,
        statements=statements(before, found, related, strangers),
        figures={
            **{f"{row['agent']}.{row['cells']}-cells": row["value"] for row in rows},
            **{f"{row['agent']}.{row['cells']}-cells.change": row["change"] for row in rows},
            "q-learning.3-cells.among-random": float(strangers.mean()),
            **relation_figures(related),
        },
        rows=rows,
        files={
            "table": write_records(out / "agents.csv", rows),
            "curves": write_records(out / "curves.csv", curve_rows(curves)),
            "relations": write_records(out / "relations.csv", lines),
            "points": write_records(out / "points.csv", point_rows(found)),
            **drawn,
            **{f"{name}, complexity": path for name, path in against.items()},
        },
    )


def _rows(
    found: Sequence[Sample], changed: Mapping[str, Sequence[Estimate]]
) -> list[dict[str, Any]]:
    return [
        {
            "agent": agent.name,
            "cells": sample.cells,
            **fields(final(sample.averages[agent.name])),
            "change": change.value,
            "change-low": change.low,
            "change-high": change.high,
        }
        for agent in REFERENCES
        for sample, change in zip(found, changed[agent.name], strict=True)
    ]
