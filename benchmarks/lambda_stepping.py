"""Stepping Lambda environments from Python, against FrozenLake and MiniGrid."""

from __future__ import annotations

from importlib.util import find_spec

import gymnasium
from measuring import fastest, verdict
from stepping import (
    LAKE,
    STEPS,
    TOGETHER,
    Rival,
    Subject,
    direct,
    many_at_once,
    report,
    through_gymnasium,
)

GRID = "MiniGrid-Empty-8x8-v0"
BARS = {LAKE: 5.0, GRID: 50.0}
TOGETHER_BAR = 10e6
"""Steps of environments per second of processor time, for many at once."""

LONG = 200 * TOGETHER

SPACE = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|12+3++++++|1-----23-------|"
    "1++++++2-------3++|1----2+++3+"
)
THESIS = Subject("lambda-v1", parameters={"space": SPACE, "pattern": "203210200"})
"""The eight cells of the Lambda thesis, section 5.1, with the full structure as observation."""

STEP, MADE = "lambda-v1: step", "lambda-v1: gymnasium.make"


def examine() -> bool:
    """One environment at a time against others' environments, and many at once."""
    verdicts = [_one_at_a_time(yardstick) for yardstick in _yardsticks()]
    return _many_at_once() and all(verdicts)


def _yardsticks() -> list[str]:
    """Those that are installed."""
    if find_spec("minigrid") is None:
        print("minigrid is not installed, so nothing is compared with it: pip install '.[bench]'.")
        return [LAKE]
    import minigrid  # noqa: F401 - registers its environments

    return [LAKE, GRID]


def _one_at_a_time(yardstick: str) -> bool:
    rivals: dict[str, Rival] = {
        yardstick: through_gymnasium(gymnasium.make(yardstick)),
        STEP: direct(THESIS),
        MADE: through_gymnasium(gymnasium.make("omnimeter/lambda-v1", **THESIS.settings)),
    }
    taken = {name: best / STEPS for name, best in fastest(rivals).items()}
    report(taken, yardstick)
    verdicts = [
        verdict(f"  {way}", taken[yardstick] / taken[way], at_least=BARS[yardstick])
        for way in (STEP, MADE)
    ]
    return all(verdicts)


def _many_at_once() -> bool:
    taken = fastest({"vector": many_at_once(THESIS, LONG)})["vector"]
    rate = LONG / (taken / 1e9)
    print(f"{TOGETHER} at once by gymnasium.make_vec: {rate / 1e6:.1f} million steps per second")
    return verdict("  of 10 million", rate / TOGETHER_BAR, at_least=1)
