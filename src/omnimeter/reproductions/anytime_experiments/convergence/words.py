"""What the anytime test promises of longer tests, and what our runs say, with their law."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from omnimeter.reproductions.anytime_experiments.convergence.found import Found, Series
from omnimeter.reproductions.anytime_experiments.convergence.law import (
    FIRST,
    by_sittings,
    exponent,
    power_of_sittings,
    variance_per_exercise,
)
from omnimeter.reproductions.estimates import said
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Estimate, proportion

COVERED = 0.95
"""How many of the intervals should hold what they are about."""


def rows(found: Found) -> list[dict[str, Any]]:
    """Some of the lengths; with as many digits as mean something, so that a table stays narrow."""
    return [
        {
            "agent": tests.subject.name,
            "length": int(tests.lengths[stop - 1]),
            "exercises": stop,
            "score": round(tests.score(stop).value, 4),
            "width": round(float(tests.widths[:, stop - 1].mean()), 4),
            "spread": round(float(tests.spread[stop - 1]), 4),
            "stability": round(float(tests.stabilities[:, stop - 1].mean()), 4),
            "holding-0": float(tests.hold_0[:, stop - 1].mean()),
        }
        for tests in found.values()
        for stop in tests.stops
    ]


def zero_rows(found: Found) -> list[dict[str, Any]]:
    """At each length the share of intervals that hold 0, with its own interval."""
    records = []
    for tests in found.values():
        for place, held in enumerate(tests.hold_0.T):
            share = proportion(int(held.sum()), len(held))
            records.append(
                {
                    "agent": tests.subject.name,
                    "length": int(tests.lengths[place]),
                    "holding-0": share.value,
                    "low": share.low,
                    "high": share.high,
                }
            )
    return records


def law_rows(found: Found) -> list[dict[str, Any]]:
    """The law of each agent: how its scores come together."""
    return [
        {
            "agent": tests.subject.name,
            **_fields("power-of-exercises", exponent(tests)),
            **_fields("variance-per-exercise", variance_per_exercise(tests)),
            "power-of-sittings": power_of_sittings(tests),
            **{f"spread-of-{size}": spread for size, spread in by_sittings(tests).items()},
        }
        for tests in found.values()
    ]


def _fields(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}-low": estimate.low, f"{name}-high": estimate.high}


def curve_rows(found: Found) -> list[dict[str, Any]]:
    """All lengths of all tests."""
    return [
        {
            "agent": tests.subject.name,
            "seed": seed,
            "length": int(length),
            "exercises": place + 1,
            "score": float(tests.scores[seed, place].mean()),
            "width": float(tests.widths[seed, place]),
            "stability": float(tests.stabilities[seed, place]),
        }
        for tests in found.values()
        for seed in range(len(tests.rewards))
        for place, length in enumerate(tests.lengths)
    ]


def statements(found: Found) -> list[Statement]:
    """What the text says, each with the rule by which it was decided, and what it does not say."""
    return [
        _more_time_is_better(found),
        _random_stays_at_0(found),
        _the_law(found),
        _more_sittings(found),
        _the_score_moves(found),
    ]


def _more_time_is_better(found: Found) -> Statement:
    shrinking, told = [], []
    for tests in found.values():
        widths = tests.widths.mean(axis=0)[np.array(tests.stops) - 1]
        spreads = tests.spread[np.array(tests.stops) - 1]
        shrinking.append(bool(np.all(np.diff(widths) < 0) and spreads[-1] < spreads[0]))
        told.append(
            f"{tests.subject.title} {', '.join(f'{width:.3f}' for width in widths)} "
            f"(tests spread by {spreads[0]:.3f} at first and {spreads[-1]:.3f} in the end)"
        )
    first = next(iter(found.values()))
    lengths = ", ".join(f"{first.lengths[stop - 1]:,.0f}" for stop in first.stops)
    return Statement(
        "A test that is stopped soon gives a rough approximation, one that is given more time a "
        "better one.",
        f"Mean width of the 95 % intervals of {len(first.rewards)} tests of "
        f"{first.rewards.shape[2]} sittings, after {lengths} interactions in each: "
        f"{'; '.join(told)}. Rule: the width falls from each of these lengths to the next, and "
        "the spread between tests is smaller in the end.",
        all(shrinking),
    )


def _random_stays_at_0(found: Found) -> Statement:
    fine, told = [], []
    for tests in found.values():
        if not tests.subject.is_random:
            continue
        count, looks = tests.hold_0.shape
        holding = tests.hold_0.sum(axis=0)
        joint = 1 - (1 - COVERED) / looks
        shares = [proportion(int(each), count, joint) for each in holding]
        pooled = [tests.score(stop) for stop in range(1, looks + 1)]
        fine.append(
            all(each.high >= COVERED for each in shares) and pooled[-1].low <= 0 <= pooled[-1].high
        )
        last = proportion(int(holding[-1]), count)
        with_0 = sum(each.low <= 0 <= each.high for each in pooled)
        told.append(
            f"{tests.subject.title}: between {holding.min()} and {holding.max()} of {count} "
            f"intervals hold 0, in the end {said(last, 2)}; the mean of all {pooled[-1].count} "
            f"sittings is {said(pooled[-1], 4)} in the end, and its interval holds 0 at {with_0} "
            f"of {looks} lengths"
        )
    return Statement(
        "The expectation of a random agent is 0, however long the test.",
        f"{'; '.join(told)}. Rule: at all lengths together the share that holds 0 is not below "
        f"{COVERED:.0%} (binomial intervals with the error shared among the lengths), and the "
        "last mean's interval holds 0.",
        all(fine),
    )


def tenth(tests: Series) -> int:
    """Which length is about a tenth of the last one."""
    return int(np.argmin(np.abs(np.log(tests.lengths * 10 / tests.lengths[-1]))))


def _the_law(found: Found) -> Statement:
    powers, added, narrower = [], [], []
    for tests in found.values():
        before, widths = tenth(tests), tests.widths.mean(axis=0)
        title = tests.subject.title
        powers.append(f"{title} {said(exponent(tests), 2)}")
        added.append(f"{title} {said(variance_per_exercise(tests), 3)}")
        narrower.append(f"{1 - widths[-1] / widths[before]:.0%}")
    times = tests.lengths[-1] / tests.lengths[before]
    return Statement(
        "The text does not say how fast. A sitting of n interactions has about k = log(1 + n/2) / "
        "log 1.5 exercises, since slots grow by one half.",
        f"From exercise {FIRST} on the spread of a sitting's score falls with this power of k: "
        f"{'; '.join(powers)}. Each further exercise adds to the variance of the sum of rewards: "
        f"{'; '.join(added)}. Sittings {times:.0f} times as long make the interval narrower by "
        f"{', '.join(narrower)}. So the approximation gets better with the logarithm of the "
        "length only. What is left of the random agent's score is the luck of the first short "
        "slots, divided by k: a power of -1. Where long slots differ too, because an agent is good "
        "in some environments only, each adds its share, and the power tends to -1/2.",
        None,
    )


def _more_sittings(found: Found) -> Statement:
    powers = {tests.subject.title: power_of_sittings(tests) for tests in found.values()}
    spreads = [
        f"{tests.subject.title} {', '.join(f'{each:.4f}' for each in by_sittings(tests).values())}"
        for tests in found.values()
    ]
    sizes = ", ".join(map(str, by_sittings(next(iter(found.values())))))
    return Statement(
        "The text does not speak of several sittings. Scores of tests with m of them should "
        "spread like 1/sqrt(m).",
        f"With {sizes} sittings the final scores spread by: {'; '.join(spreads)}. The powers of "
        f"m are {', '.join(f'{power:.2f}' for power in powers.values())}. Ten times as many "
        f"sittings make the spread {sqrt(10):.1f} times smaller, ten times longer ones far less. "
        "But what they measure is the score at their own length.",
        None,
    )


def _the_score_moves(found: Found) -> Statement:
    told = []
    for tests in found.values():
        before = tenth(tests)
        told.append(
            f"{tests.subject.title} from {tests.score(before + 1).value:.3f} to "
            f"{tests.score(len(tests.lengths)).value:.3f}, with a stability of "
            f"{tests.stabilities[:, before].mean():.3f} and then "
            f"{tests.stabilities[:, -1].mean():.3f}"
        )
    return Statement(
        "The text speaks of an approximation of the agent's intelligence. Is it there when the "
        "interval is narrow?",
        f"In the last tenfold of the length the mean score went: {'; '.join(told)}. Learners' "
        "scores still grow, as short slots in which nothing could be learnt count as much as long "
        "ones, and their weight goes with 1/k. The interval is about the expected score at that "
        "length, and does not tell where an endless test would lead. The stability shows it: it "
        "is lower for scores that move than for those of random agents.",
        None,
    )
