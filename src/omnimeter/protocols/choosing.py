"""Choosing the next environment of an adaptive test: lines 10 to 17 of Definition 18."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import count
from math import ceil, log
from typing import NamedTuple

import numpy as np

from omnimeter.contract import EnvironmentClass, Instance, InvalidInputError, OmnimeterError

DRAWS = 8
"""Draws in a band that were all used already, before the band is listed.

A sitting uses a few dozen environments. So this many in a row are used ones only where a band has
few members, which are listed sooner than more of them are drawn.
"""

PATIENCE = 7.0
"""How sure it must be that a band which cannot be listed is used up.

Of d equally likely members, after d (ln d + c) draws one was not drawn yet with a probability of
about exp(-c).
"""

LISTED = 20_000
"""Instances of a band that are listed at most."""

EMPTY_BANDS = 1000
"""Bands without anything, one after the other, before a class counts as used up."""


class Choice(NamedTuple):
    """An environment that was chosen.

    Attributes:
        instance: The environment.
        level: The level xi at which it was found, which may be higher than the one asked for.
    """

    instance: Instance
    level: float


def choose(
    environment_class: EnvironmentClass,
    level: float,
    used: AbstractSet[str],
    rng: np.random.Generator,
) -> Choice | None:
    """Choose(U, xi, H, used): an environment with xi - 1 <= H <= xi that was not used yet.

    Inside the band the probability is proportional to 2^-H, as far as the class can weigh its
    instances (``EnvironmentClass.draw_between``). When the band has nothing (left), xi grows by 1
    (line 13). A class that has an end is taken at its word: no xi is higher than its
    highest complexity.

    Args:
        environment_class: The machine U with its complexity function H.
        level: The level xi.
        used: The keys of the instances that were used.
        rng: All chance. Equal chance at equal levels gives equal environments.

    Returns:
        What was chosen; ``None`` when nothing is left at this level and above.
    """
    lowest, highest = environment_class.complexity_range()
    level = min(level, highest)
    if level < lowest:  # all the bands up to there are empty
        level = min(level + ceil(lowest - level), highest)
    for _ in range(EMPTY_BANDS):
        instance = _unused(environment_class, level, used, rng)
        if instance is not None:
            return Choice(instance, level)
        if level >= highest:
            return None
        level = min(level + 1, highest)
    return None


def warm_up(environment_class: EnvironmentClass) -> None:
    """Choose once at each of the levels that a test begins with.

    What is counted and listed there for the first time is then done before somebody's time runs.
    """
    lowest, _ = environment_class.complexity_range()
    rng = np.random.default_rng(0)
    for level in range(ceil(lowest), 2 * ceil(lowest)):
        choose(environment_class, level, frozenset(), rng)
        environment_class.members(level - 1, level, LISTED)


def _unused(
    environment_class: EnvironmentClass,
    level: float,
    used: AbstractSet[str],
    rng: np.random.Generator,
) -> Instance | None:
    """One of the instances of a band that were not used, by 2^-H.

    Drawing again what was used is exact, and quick as long as much is left. Where little is, the
    band is listed; where that cannot be done, it is drawn from until nothing new can be expected.
    """
    low, high = level - 1, level
    seen: set[str] = set()
    for draws in count(1):
        instance = _drawn(environment_class, low, high, rng)
        if instance is None:
            return None
        if instance.key not in used:
            return instance
        seen.add(instance.key)
        if draws > DRAWS and draws > len(seen) * (log(len(seen)) + PATIENCE):
            return None
        if draws == DRAWS:
            members = environment_class.members(low, high, LISTED)
            if members is not None:
                left = [each for each in members if each.key not in used]
                return _by_weight(environment_class, left, rng)
    raise AssertionError("there is always an end")


def _drawn(
    environment_class: EnvironmentClass, low: float, high: float, rng: np.random.Generator
) -> Instance | None:
    try:
        return environment_class.draw_between(rng, low, high)
    except OmnimeterError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{type(environment_class).__name__} raised {type(error).__name__} when it was asked "
            f"for complexities from {low:g} to {high:g}: {error}",
            "A class raises InvalidInputError for complexities that it does not have. "
            "omnimeter audit examines it.",
        ) from error


def _by_weight(
    environment_class: EnvironmentClass, instances: list[Instance], rng: np.random.Generator
) -> Instance | None:
    if not instances:
        return None
    grades = np.array([environment_class.complexity(each) for each in instances])
    weights = 2.0 ** (grades.min() - grades)
    return instances[int(rng.choice(len(instances), p=weights / weights.sum()))]
