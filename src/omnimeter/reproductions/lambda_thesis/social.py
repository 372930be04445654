"""All four agents in one environment at once (Lambda thesis, section 5.5, Figures 5.5 and 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Estimate, paired_difference
from omnimeter.reproductions import shared
from omnimeter.reproductions.lambda_thesis import relations
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, ORACLE, Q_LEARNING
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    join,
    silent,
)

NEAR_ZERO = 0.01  # a change whose interval is within this distance of 0 counts as no change


def changes(
    alone: Sequence[relations.Sample], joint: Sequence[relations.Sample]
) -> dict[str, list[Estimate]]:
    """By agent and size how much more it gets among others, paired by environment."""
    return {
        agent.name: [
            paired_difference(there.final(agent.name), here.final(agent.name), support=REWARDS)
            for here, there in zip(alone, joint, strict=True)
        ]
        for agent in thesis.REFERENCES
    }


def statements(
    alone: Sequence[relations.Sample],
    joint: Sequence[relations.Sample],
    related: Sequence[relations.Relation],
    among_random: FloatArray,
) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided.

    Args:
        alone: The rewards of the agents, each alone.
        joint: Their rewards with all of them at once.
        related: How the latter depend on complexity.
        among_random: The rewards of Q-learning in the smallest environments among random agents.
    """
    changed = changes(alone, joint)
    texts = {
        name: "Change against being alone: "
        + ", ".join(
            f"{sample.cells} cells {fmt(change)}"
            for sample, change in zip(joint, estimates, strict=True)
        )
        for name, estimates in changed.items()
    }
    worse = all(change.high < 0 for change in changed[Q_LEARNING.name])
    return [
        *(
            Statement(
                f"The {agent.title.lower()} is not affected by the others.",
                f"{texts[agent.name]}. Rule: the intervals are within {NEAR_ZERO} of 0.",
                all(shared.is_within(change, NEAR_ZERO) for change in changed[agent.name]),
                _why_undecided(alone, joint, agent, changed[agent.name]),
            )
            for agent in (ORACLE, FOLLOWER)
        ),
        Statement(
            "Q-learning does worse among the others: it does not make use of them, and has a "
            "larger table to fill.",
            f"{texts[Q_LEARNING.name]}. Rule: the intervals are below 0.",
            worse,
            "" if worse else _why_not_worse(alone[0], joint[0], among_random),
        ),
        *(
            relations.learner_falls(joint, related, Q_LEARNING, measure)
            for measure in relations.MEASURES
        ),
        _slope_is_steeper(alone, joint),
    ]


def _why_undecided(
    alone: Sequence[relations.Sample],
    joint: Sequence[relations.Sample],
    agent: thesis.Reference,
    changed: Sequence[Estimate],
) -> str:
    """The reason, if only intervals that few environments leave wide are not near 0."""
    reasons = []
    for here, there, change in zip(alone, joint, changed, strict=True):
        if shared.is_within(change, NEAR_ZERO):
            continue
        each = np.abs(there.final(agent.name) - here.final(agent.name))
        if not change.bounded or each.max() >= NEAR_ZERO:
            return ""
        reasons.append(
            f"with {here.cells} cells few environments carry the spread of the changes. So the "
            "interval only rests on the lowest and the highest possible reward, and says how much "
            f"environments that were not drawn could change. In the {len(each)} that were, the "
            f"change is {each.max():.4f} at most"
        )
    return "; ".join(reasons)


def _why_not_worse(
    alone: relations.Sample, joint: relations.Sample, among_random: FloatArray
) -> str:
    before, among_others = alone.final(Q_LEARNING.name), joint.final(Q_LEARNING.name)
    worse, better = int((among_others < before).sum()), int((among_others > before).sum())
    loss = paired_difference(among_random, before, support=REWARDS)
    return (
        f"with {alone.cells} cells it is worse in {worse} of {len(before)} environments and better "
        f"in {better}. Among three random agents, which enlarge its table as much, the change is "
        f"{fmt(loss)}. So it matters which agents the others are. Either the places of oracle and "
        "follower tell it something, or fewer states come up because both keep close to Good; "
        "these runs do not tell which"
    )


def _slope_is_steeper(
    alone: Sequence[relations.Sample], joint: Sequence[relations.Sample]
) -> Statement:
    """The slope of the paired differences is the difference of the slopes."""
    steeper: list[relations.Relation] = []
    there = relations.among(joint)
    for where, here in relations.among(alone).items():
        own = relations.rewards(here, Q_LEARNING.name)
        change = relations.rewards(there[where], Q_LEARNING.name) - own
        steeper += [
            relations.relate(
                Q_LEARNING.name, where, measure, relations.complexities(here, measure), change
            )
            for measure in relations.MEASURES
        ]
    holds = all(each.falls for each in steeper)
    return Statement(
        "The slope of Q-learning against complexity is steeper among the others.",
        "Difference of the slopes: "
        + "; ".join(
            f"{each.among}, {each.measure.title}: {fmt(each.slope)} for {each.measure.unit}"
            for each in steeper
        )
        + ". Rule: the intervals of these differences are below 0.",
        holds,
        "" if holds else _why_not_steeper(alone[-1], joint[-1]),
    )


def _why_not_steeper(alone: relations.Sample, joint: relations.Sample) -> str:
    """Fifths of the environments, from the simplest to the most complex."""
    fifths = np.array_split(
        np.argsort(alone.complexity[relations.COMPRESSED.name], kind="stable"), 5
    )
    before, among_others = alone.final(Q_LEARNING.name), joint.final(Q_LEARNING.name)
    losses = [float((among_others - before)[fifth].mean()) for fifth in fifths]
    last = fifths[-1]
    return (
        f"with {alone.cells} cells the loss does not simply grow with complexity. From the fifth "
        "of the environments with the smallest compressed length to that with the largest the "
        f"change is {join(losses, '.2f')}. In the last of these Q-learning has "
        f"{before[last].mean():.2f} alone and {among_others[last].mean():.2f} among others; a "
        "random agent has 0"
    )


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = relations.ENVIRONMENTS,
    interactions: int = thesis.INTERACTIONS,
) -> Reproduced:
    """Put all agents into each environment at once, and compare with each being there alone."""
    steps = Steps(out)
    alone = relations.draw_samples(
        environments, interactions, lambda what, done: report(what, 0.3 * done), steps=steps
    )
    joint = relations.draw_samples(
        environments,
        interactions,
        lambda what, done: report(f"{what}, all agents at once", 0.3 + 0.55 * done),
        joint=True,
        steps=steps,
    )
    report("Q-learning among random agents", 0.85)
    among_random = steps(relations.learner_among_random, environments, interactions)
    report("drawing", 0.95)
    rows: list[dict[str, Any]] = [
        {
            "agent": name,
            "cells": sample.cells,
            **shared.fields(sample.mean(name)),
            **shared.fields(change, "change"),
        }
        for name, changed in changes(alone, joint).items()
        for sample, change in zip(joint, changed, strict=True)
    ]
    related = relations.all_relations(joint)
    title = f"Four agents at once in {environments} generated environments of each size"
    scatter = relations.draw_relations(
        joint, related, f"{title}: reward and complexity", out / "complexity"
    )
    return Reproduced(
        name="lambda-social",
        title=title,
        findings="docs/findings.md#lambda",
        statements=statements(alone, joint, related, among_random),
        figures={
            **{f"{row['agent']}.{row['cells']}-cells": row["value"] for row in rows},
            **{f"{row['agent']}.{row['cells']}-cells.change": row["change"] for row in rows},
            "q-learning.3-cells.among-random": float(among_random.mean()),
            **relations.relation_figures(related),
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "agents.csv", rows),
            "curves": shared.write_records(out / "curves.csv", relations.curve_rows(joint)),
            "relations": shared.write_records(
                out / "relations.csv", relations.relation_rows(related)
            ),
            "points": shared.write_records(out / "points.csv", relations.point_rows(joint)),
            **relations.draw_sizes(joint, title, out / "social", alone),
            **{f"{name}, complexity": path for name, path in scatter.items()},
        },
    )
