"""What the Lambda thesis says of agents at once (section 5.5), and what our runs say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.lambda_experiments.agents import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    REFERENCES,
    Reference,
)
from omnimeter.reproductions.lambda_experiments.curves import REWARDS, said
from omnimeter.reproductions.lambda_experiments.relations import (
    PER,
    Relation,
    Relations,
    among,
    complexities,
    learner_falls,
    relate,
    rewards,
)
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Estimate, paired_difference

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
    alone: Sequence[Sample], found: Sequence[Sample], related: Relations, strangers: FloatArray
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
        learner_falls(related, Q_LEARNING),
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
        f"in {better}, in some by much. Among three random agents, whose places tell nothing but "
        f"enlarge its table as much, its change would be {said(loss)}. So where the oracle and the "
        "follower are does help it, and in a table this small that makes up for the slower filling"
    )


def _slope_is_steeper(alone: Sequence[Sample], found: Sequence[Sample]) -> Statement:
    """The slope of the paired differences is the difference of the slopes."""
    steeper: dict[str, Relation] = {}
    for (where, here), there in zip(among(alone).items(), among(found).values(), strict=True):
        change = rewards(there, Q_LEARNING.name) - rewards(here, Q_LEARNING.name)
        steeper[where] = relate(complexities(here), change)
    holds = all(each.falls for each in steeper.values())
    return Statement(
        "The slope of Q-learning against complexity is steeper among the others.",
        "; ".join(
            f"{where}: by {said(each.slope)} for {PER} bytes" for where, each in steeper.items()
        )
        + ". Rule: the intervals of these differences of slopes are below 0.",
        holds,
        "" if holds else _why_not_steeper(alone[-1], found[-1]),
    )


def _why_not_steeper(alone: Sample, found: Sample) -> str:
    """Fifths of the environments, from the simplest to the most complex."""
    fifths = np.array_split(np.argsort(alone.complexity, kind="stable"), 5)
    change = found.final(Q_LEARNING.name) - alone.final(Q_LEARNING.name)
    left = found.final(Q_LEARNING.name)[fifths[-1]].mean()
    return (
        f"with {alone.cells} cells the loss does not simply grow with complexity: from the "
        "simplest fifth of the environments to the most complex the change is "
        + ", ".join(f"{change[fifth].mean():.2f}" for fifth in fifths)
        + f". In the last fifth Q-learning is down to {left:.2f}, so little is left to lose. Over "
        "all sizes, more cells go both with more complexity and with a greater loss"
    )


def _told(found: Sequence[Sample], changed: Sequence[Estimate]) -> str:
    return "Change against being alone: " + ", ".join(
        f"{sample.cells} cells {said(change)}"
        for sample, change in zip(found, changed, strict=True)
    )
