"""Frames of scenes, and environments of Gymnasium as an environment class, against plain stepping.

Run ``python benchmarks/gymnasium_adapter.py``. It ends with 1 if a ratio is worse than its bar.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import gymnasium
import numpy as np
from measuring import fastest, verdict
from stepping import LAKE, STEPS, random_actions, through_gymnasium

import omnimeter.gymnasium_adapter  # noqa: F401 - registers the environments
from omnimeter.catalogue import Kind, listing, make
from omnimeter.contract import EnvironmentClass, Spec

OVERHEADS = {LAKE: 1.5, "CartPole-v1": 2.5}
"""Environments with an integer and with four numbers as observation, and what a step may cost."""

FRAMES = 20
STEPS_PER_FRAME = 5_000.0
"""Steps of the lake that a frame may take, for the class that takes longest."""


def frames(name: str) -> Callable[[], object]:
    """Frames of one environment, with a step before each."""
    env = gymnasium.make(name, render_mode="rgb_array")
    env.reset(seed=0)
    actions = random_actions(int(env.action_space.n))[:FRAMES]  # type: ignore[attr-defined]

    def run() -> None:
        for action in actions:
            env.step(action)
            env.render()

    return run


def as_a_class(name: str) -> Callable[[], object]:
    """The steps of an environment of ``gymnasium-v1``; after an end, one of them resets."""
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, Spec("gymnasium-v1", {"id": name}))
    rng = np.random.default_rng(1)
    environment = environment_class.build(environment_class.draw(rng))
    environment.start(rng)
    actions = random_actions(environment.actions)

    def run() -> None:
        step = environment.step
        for action in actions:
            step(action)

    return run


def compare_steps() -> bool:
    """Steps of the class with those of Gymnasium, resets included."""
    holds = True
    for name, bar in OVERHEADS.items():
        plain = gymnasium.make(name, disable_env_checker=True)
        taken = fastest({"plain": through_gymnasium(plain), "class": as_a_class(name)})
        holds &= verdict(f"{name} as a class", taken["class"] / taken["plain"], at_most=bar)
    return holds


def compare_frames() -> bool:
    """Frames of all classes with steps of the lake."""
    names = [f"omnimeter/{entry.id}" for entry in listing(Kind.ENVIRONMENT)]
    taken = fastest({LAKE: through_gymnasium(gymnasium.make(LAKE))} | {n: frames(n) for n in names})
    step = taken[LAKE] / STEPS
    print(f"{'':28}{'frames per second':>18}{'steps of the lake':>19}")
    for name in names:
        frame = taken[name] / FRAMES
        print(f"{name:28}{1e9 / frame:18.0f}{frame / step:19.0f}")
    slowest = max(taken[name] / FRAMES / step for name in names)
    return verdict("a frame of the slowest class", slowest, at_most=STEPS_PER_FRAME)


def main() -> int:
    holds = [compare_steps(), compare_frames()]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
