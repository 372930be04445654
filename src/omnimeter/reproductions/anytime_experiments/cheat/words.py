"""What section 5.2 of the anytime test says of the cheat, and what our runs say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from omnimeter.reproductions.anytime_experiments.cheat.found import Play, Played, gain
from omnimeter.reproductions.anytime_experiments.cheat.rules import (
    MOST,
    long_run,
    play,
    published,
    same_step,
)
from omnimeter.reproductions.estimates import REWARDS, said
from omnimeter.reproductions.reproduction import Statement
from omnimeter.statistics import Estimate, mean, paired_difference

A_LITTLE = 0.01
"""How badly the cheat of the text fails."""

MANY = 1_000
"""Exercises of the model: enough for the first ones not to matter."""

AROUND, NOTHING = 0.05, 0.01
"""What is this near to 0.5 is around it; what is this near to 0 is nothing."""


def rows(found: Sequence[Played]) -> list[dict[str, Any]]:
    """The cheats beside honest play, each time that a test is looked at."""
    return [
        _row(played, stop, easy, "honest", played.honest)
        for played in found
        for stop in played.stops
        for easy in played.cheats
    ]


def limited_rows(found: Sequence[Played]) -> list[dict[str, Any]]:
    """The cheats beside those who are as able in easy environments, and try elsewhere in vain."""
    return [
        _row(played, stop, easy, "limited", played.limited[easy])
        for played in found
        for stop in played.stops
        for easy in played.cheats
    ]


def _row(played: Played, stop: int, easy: int, name: str, other: Play) -> dict[str, Any]:
    """One comparison; with as many digits as mean something, so that a table stays narrow."""
    cheat = played.cheats[easy]
    difference = gain(cheat, other, stop)
    return {
        "test": played.trial.name,
        "length": round(float(cheat.lengths[stop - 1])),
        "easy": easy,
        "cheat": round(float(cheat.scores(stop).mean()), 4),
        name: round(float(other.scores(stop).mean()), 4),
        "gain": round(difference.value, 4),
        "low": round(difference.low, 4),
        "high": round(difference.high, 4),
        "level": round(cheat.level(stop).value, 1),
        f"{name}-level": round(other.level(stop).value, 1),
    }


def statements(found: Sequence[Played]) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    return [
        _does_not_gain(found),
        _stays_low(found),
        _pays_for_going_back(found),
        _what_the_same_step_would_do(),
        _what_line_20_does(),
        _who_gains(found),
    ]


def _cheats(found: Sequence[Played]) -> Iterator[tuple[Played, int, Play]]:
    for played in found:
        for easy, cheat in played.cheats.items():
            yield played, easy, cheat


def _does_not_gain(found: Sequence[Played]) -> Statement:
    everywhere = [
        gain(cheat, played.honest, stop)
        for played, _, cheat in _cheats(found)
        for stop in played.stops
    ]
    at_the_end = [gain(cheat, played.honest, cheat.rounds) for played, _, cheat in _cheats(found)]
    above = sum(each.low > 0 for each in everywhere)
    below = sum(each.high < 0 for each in everywhere)
    nearest, farthest = (choose(at_the_end, key=lambda e: e.value) for choose in (max, min))
    return Statement(
        "The cheat, who fails on purpose to be given easy environments again, does not gain over "
        "honest play.",
        f"Of {len(everywhere)} comparisons at {len(found[0].stops)} lengths its gain has an "
        f"interval above 0 in {above} and below 0 in {below}. At the end it lies between "
        f"{said(farthest)} and {said(nearest)}, over {nearest.count} sittings. "
        "Rule: no interval is above 0, and at the end all are below.",
        above == 0 and all(each.high < 0 for each in at_the_end),
    )


def returns(play: Play, easy: int) -> float:
    """How often a sitting came back from a hard environment to an easy one, on average."""
    hard = play.states > easy
    return float((hard[:-1] & ~hard[1:]).sum(axis=0).mean())


def _stays_low(found: Sequence[Played]) -> Statement:
    low, told = [], []
    for played, easy, cheat in _cheats(found):
        late = cheat.late()
        cheats, honest = cheat.levels[late].mean(axis=0), played.honest.levels[late].mean(axis=0)
        below = paired_difference(honest, cheats)
        low.append(below.low > 0 and returns(cheat, easy) >= 1)
        told.append(
            f"Definition {played.trial.definition}, {easy} states: {cheats.mean():.0f} against "
            f"{honest.mean():.0f}, back {returns(cheat, easy):.1f} times"
        )
    return Statement(
        "The cheat never leaves the simple levels for good.",
        f"Mean complexity in the second half of the exercises, and how often a sitting came back "
        f"to easy environments. {'; '.join(told)}. "
        "Rule: the honest level is higher by an interval above 0, and there is at least one way "
        "back in a sitting.",
        all(low),
    )


def cost(play: Play, easy: int) -> Estimate | None:
    """The mean reward in hard environments, late in the sittings that had any; else nothing."""
    hard, rewards = play.states[play.late()] > easy, play.rewards[play.late()]
    some = hard.any(axis=0)
    if not some.any():
        return None
    sums = np.where(hard, rewards, 0.0).sum(axis=0)
    return mean(sums[some] / hard.sum(axis=0)[some], support=REWARDS)


def _pays_for_going_back(found: Sequence[Played]) -> Statement:
    costs, told = [], []
    for played, easy, cheat in _cheats(found):
        costs.append(paid := cost(cheat, easy))
        if paid is not None:
            share = (cheat.states[cheat.late()] > easy).mean()
            told.append(
                f"Definition {played.trial.definition}, {easy} states: {said(paid, 2)} in "
                f"{share:.0%} of them"
            )
    return Statement(
        "Going back to easy complexities implies important negative rewards.",
        f"What hard environments brought the cheat in the second half of the exercises. "
        f"{'; '.join(told)}. Rule: all intervals are below 0.",
        all(paid is not None and paid.high < 0 for paid in costs),
    )


def _what_the_same_step_would_do() -> Statement:
    score = float(play(same_step, A_LITTLE, MANY).mean())
    return Statement(
        "If the level did not depend on the size of the reward, a cheat who gets 1 in easy "
        f"environments and -{A_LITTLE} elsewhere would have a score around 0.5.",
        f"In a model with the same step up and down it gets {score:.3f} in {MANY:,} exercises. "
        f"Rule: within {AROUND} of 0.5.",
        abs(score - 0.5) <= AROUND,
    )


def _what_line_20_does() -> Statement:
    score = float(play(published, A_LITTLE, MANY).mean())
    return Statement(
        "With line 20, where the level moves in proportion to the reward, this does not work.",
        f"In the model this cheat gets {score:.4f} in {MANY:,} exercises, and tends to "
        f"{long_run(A_LITTLE):.4f}: a reward of 1 must be paid with 81 of -{A_LITTLE}. "
        f"Rule: within {NOTHING} of 0.",
        abs(score) <= NOTHING,
    )


def _who_gains(found: Sequence[Played]) -> Statement:
    gains = [
        gain(cheat, played.limited[easy], cheat.rounds) for played, easy, cheat in _cheats(found)
    ]
    least, highest = (choose(gains, key=lambda e: e.value) for choose in (min, max))
    utter = float(play(published, 1.0, MANY).mean())
    pays = any(each.low > 0 for each in gains)
    return Statement(
        "Line 20 is there to avoid cheating: nobody gains by failing on purpose.",
        f"Against one who is as able in easy environments, and acts at random in all others, the "
        f"cheat gains between {said(least)} and {said(highest)} at the end. In the model a cheat "
        f"who fails utterly gets {utter:.3f} in {MANY:,} exercises, and one who can do nothing "
        f"in hard environments tends to 0. Rule: no interval of the gains is above 0.",
        not pays,
        "a reward of 1 takes the level times 1.5, one of -1 times 0.5, and 1.5 x 0.5 is 0.75: a "
        f"failure leads further down than it costs. With {(1 + MOST) / 2:.1%} rewards of 1 and "
        f"the rest of -1 the level stays where it is, and the score is {MOST:.3f}; nobody whose "
        "level stays low can tend to more, as log(1 + r/2) is concave. Who scores more than that "
        "honestly only loses. Who would be led up to where nothing succeeds gains. With a level "
        "that is multiplied by 1.5 to the power of the reward no cheat would tend to more than 0."
        if pays
        else "",
    )
