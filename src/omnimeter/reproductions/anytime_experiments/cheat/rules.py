"""How a test moves its level, and what that is worth to a cheat who never leaves the easy levels.

A pure model of the argument in section 5.2 of the anytime test: an environment is easy up to some
level. There the cheat gets 1. Everywhere else it fails, as badly as it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, log, log1p

import numpy as np

from omnimeter.contract import FloatArray

Rule = Callable[[float, float], float]
"""The next level, from the level and the reward."""

LOWEST, EASY = 17.0, 45.0
"""The level of the first environment, and the highest at which environments are easy: those of the
class of automata, and about where its automata begin to have more than four states."""

STEP = 8.0
"""How far the level moves where the size of the reward does not matter."""


def published(level: float, reward: float) -> float:
    """Line 20 of Definition 18: in proportion to the reward."""
    return level + level * reward / 2


def same_step(level: float, reward: float) -> float:
    """Every success leads up and every failure down, by the same step: what the text warns of."""
    return level + copysign(STEP, reward) if reward else level


def even(level: float, reward: float) -> float:
    """Rewards that add up to nothing lead back to where they began, whatever their sizes."""
    return float(level * 1.5**reward)


RULES: dict[str, Rule] = {"same step": same_step, "line 20": published, "even steps": even}


def play(rule: Rule, failing: float, exercises: int) -> FloatArray:
    """The rewards of a cheat in the model.

    Args:
        rule: How the level moves.
        failing: How badly it fails: its reward where it is not easy is the opposite of this.
        exercises: How many there are.
    """
    level, rewards = LOWEST, np.empty(exercises)
    for place in range(exercises):
        rewards[place] = 1.0 if level <= EASY else -failing
        level = max(LOWEST, rule(level, rewards[place]))
    return rewards


def long_run(failing: float) -> float:
    """What a cheat who fails so badly tends to under line 20.

    A share p of easy environments, where the level grows by one half, keeps the level where it is
    if ``p log 1.5 + (1 - p) log(1 - failing / 2) = 0``.
    """
    up, down = log(1.5), -log1p(-failing / 2)
    share = down / (up + down)
    return share - (1 - share) * failing


MOST = long_run(1.0)
"""What anybody can tend to under line 20 whose level does not grow without end: 0.262.

The logarithm of ``1 + r / 2`` is concave, so for rewards of -1 to 1 it is at least what the chord
between its ends says: ``(log 0.75 + r log 3) / 2``. The mean of these logarithms is the growth of
the level per exercise. So the mean reward is at most ``(2 growth - log 0.75) / log 3``.
"""


def most(exercises: FloatArray, risen: FloatArray) -> FloatArray:
    """The highest score after some exercises in which the level has grown to so many times."""
    bound: FloatArray = MOST + 2 * np.log(risen) / exercises / log(3)
    return bound
