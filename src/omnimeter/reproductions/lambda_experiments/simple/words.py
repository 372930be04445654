"""What the Lambda thesis says of the eight-cell space (section 5.3), and what our runs say."""

from __future__ import annotations

import numpy as np

from omnimeter.contract import FloatArray, stream
from omnimeter.reproductions.estimates import REWARDS, said
from omnimeter.reproductions.lambda_experiments.agents import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    REFERENCES,
)
from omnimeter.reproductions.lambda_experiments.curves import final, passes, settled_after
from omnimeter.reproductions.lambda_experiments.simple.found import Found
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Estimate, difference, paired_difference

NOUGHT = 0.01
"""An interval within this distance of 0 counts as 0."""

NEARLY = 0.85
"""From this share of the most that can be had on, an agent is nearly optimal."""

EARLY = 10
"""Interactions that count as the beginning."""


def statements(found: Found) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    return [
        _random_tends_to_0(found),
        _follower_is_below_the_oracle(found),
        _oracle_is_nearly_optimal(found),
        _q_learning_is_slow_and_passes_the_follower(found),
        _averages_fluctuate_at_first(found),
        _what_the_clause_does(found),
    ]


def _random_tends_to_0(found: Found) -> Statement:
    estimate = final(found.usual[RANDOM.name])
    return Statement(
        "The random agent soon converges to its expected average, which is 0.",
        f"{said(estimate, 4)} over {estimate.count} runs. "
        f"Rule: the interval lies within {NOUGHT} of 0.",
        estimate.low > -NOUGHT and estimate.high < NOUGHT,
    )


def _follower_is_below_the_oracle(found: Found) -> Statement:
    follower, oracle = found.usual[FOLLOWER.name], found.usual[ORACLE.name]
    gap = paired_difference(oracle[:, -1], follower[:, -1], support=REWARDS)
    return Statement(
        "Following Good is a good policy, but only up to a point: the follower stays well below "
        "the oracle.",
        f"Follower {said(final(follower))}, oracle {said(final(oracle))}; the oracle is ahead by "
        f"{said(gap)}. Rule: both are above 0, and the interval of the difference is too.",
        gap.low > 0 and final(follower).low > 0,
    )


def _oracle_is_nearly_optimal(found: Found) -> Statement:
    oracle = final(found.usual[ORACLE.name])
    share = oracle.value / found.optimum
    return Statement(
        "The oracle is nearly optimal, but does not reach 1.",
        f"{said(oracle)}, which is {100 * share:.0f} % of the most that can be had by whoever "
        f"knows all but chance: {found.optimum:.3f}. Rule: the interval is below 1, and its lower "
        f"end is at least {100 * NEARLY:.0f} % of the most.",
        oracle.high < 1 and oracle.low >= NEARLY * found.optimum,
    )


def _q_learning_is_slow_and_passes_the_follower(found: Found) -> Statement:
    learner, follower = found.usual[Q_LEARNING.name], found.usual[FOLLOWER.name]
    lead = paired_difference(learner[:, -1], follower[:, -1], support=REWARDS)
    passed = passes(found.points, learner, follower, _chance())
    slow = {name: settled_after(found.points, runs) for name, runs in found.usual.items()}
    slowest = max(slow, key=lambda name: slow[name])
    return Statement(
        "Q-learning converges very slowly, and in the end passes the follower.",
        f"It ends at {said(final(learner))}, {said(lead)} above the follower, and its mean curve "
        f"is above the follower's from interaction {said(passed, 0)} on. It comes within 0.02 of "
        f"where it ends after {slow[Q_LEARNING.name]:,} interactions, the follower after "
        f"{slow[FOLLOWER.name]:,}, the oracle after {slow[ORACLE.name]:,}. "
        "Rule: its lead at the end has an interval above 0, and it is the last to come so close.",
        lead.low > 0 and slowest == Q_LEARNING.name,
    )


def _averages_fluctuate_at_first(found: Found) -> Statement:
    early = int(np.searchsorted(found.points, EARLY))
    spread = {
        agent.title: (_spread(found.usual[agent.name], early), _spread(found.usual[agent.name], -1))
        for agent in REFERENCES
    }
    return Statement(
        "At first the average rewards of all four agents fluctuate a lot.",
        f"Standard deviation over runs after {found.points[early]} interactions and at the end: "
        + ", ".join(f"{name} {first:.3f} and {last:.3f}" for name, (first, last) in spread.items())
        + ". Rule: for each agent it is at least ten times as large at first.",
        all(first >= 10 * last for first, last in spread.values()),
    )


def _what_the_clause_does(found: Found) -> Statement:
    usual, *others = found.averages
    changes = {
        cycle: [f"{agent.title} {said(_change(found, agent.name, cycle))}" for agent in REFERENCES]
        for cycle in others
    }
    return Statement(
        "How often Good and Evil change places can be read in several ways: up to cells to the "
        "power of actions between two swaps, up to their product, or never.",
        f"Ours is the {usual}. Compared with it, average rewards change as follows. "
        + " ".join(f"With {cycle}: {', '.join(each)}." for cycle, each in changes.items()),
        None,
    )


def _change(found: Found, agent: str, cycle: str) -> Estimate:
    ends, usual = found.averages[cycle][agent][:, -1], found.usual[agent][:, -1]
    return difference(ends, usual, support=REWARDS)


def _spread(runs: FloatArray, point: int) -> float:
    return float(np.std(runs[:, point]))


def _chance() -> np.random.Generator:
    return stream(0, "lambda-simple", "crossing").generator()
