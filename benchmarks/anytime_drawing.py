"""How long it takes to draw an environment of a wanted complexity, and to choose one in a band."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time_ns

import numpy as np
from measuring import verdict

from omnimeter.contract import EnvironmentClass
from omnimeter.environments.automata import Automata
from omnimeter.environments.torus import Torus
from omnimeter.protocols.anytime import choose

BAR = 1e6
"""Nanoseconds that the median draw may take."""

DRAWS = 301
LEVELS = 7
"""Levels of a class, from its lowest to its highest: near each other where bands are small."""

USED = 40
"""Environments that a repetition has had: more than one of 100 million interactions has."""

TRIES = 3_000
"""Draws after which a band with fewer members has been seen nearly whole."""


def examine() -> bool:
    """Draws at several levels of both classes."""
    print(f"median of {DRAWS} draws in microseconds (a complexity, a band, a band much used)")
    verdicts = [_examine(each) for each in (Automata(), Torus())]
    return all(verdicts)


def _examine(environment_class: EnvironmentClass) -> bool:
    lowest, highest = environment_class.complexity_range()
    slowest = 0.0
    for part in np.linspace(0, 1, LEVELS) ** 3:
        taken = _at(environment_class, float(lowest + part * (highest - lowest)))
        slowest = max(slowest, *taken)
    return verdict(f"  {type(environment_class).__name__}, slowest", slowest / BAR, at_most=1)


def _at(environment_class: EnvironmentClass, level: float) -> tuple[float, ...]:
    """The times of a draw of a wanted complexity and of choices near a level."""
    rng = np.random.default_rng(1)
    first = choose(environment_class, level, frozenset(), rng)
    assert first is not None
    wanted, level = environment_class.complexity(first.instance), first.level
    used = _used(environment_class, level, rng)
    taken = (
        _taken(lambda: environment_class.draw(rng, wanted)),
        _taken(lambda: choose(environment_class, level, frozenset(), rng)),
        _taken(lambda: choose(environment_class, level, used, rng)),
    )
    figures = "".join(f"{each / 1e3:8.0f}" for each in taken)
    print(f"  {type(environment_class).__name__:10}{wanted:8.2f}{figures}  ({len(used)} used)")
    return taken


def _used(
    environment_class: EnvironmentClass, level: float, rng: np.random.Generator
) -> frozenset[str]:
    """Environments of a band: as many as a repetition has had, at most all but one."""
    used: set[str] = set()
    for _ in range(TRIES):
        drawn = environment_class.draw_between(rng, level - 1, level)
        assert drawn is not None
        used.add(drawn.key)
        if len(used) == USED:
            return frozenset(used)
    used.pop()
    return frozenset(used)


def _taken(draw: Callable[[], object]) -> float:
    times = []
    for _ in range(DRAWS):
        before = process_time_ns()
        draw()
        times.append(process_time_ns() - before)
    return median(times)
