"""The hand-written loop of ``cpp/cups.cpp``, compiled where there is a compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Exercise, nanoseconds
from omnimeter.interaction import KernelAgent, KernelEnvironmentClass
from omnimeter.interaction.kernel_parts import seed_state

SOURCE = Path(__file__).parent / "cpp" / "cups.cpp"
FLAGS = ("-O3", "-shared", "-fPIC")


def build() -> Callable[..., int] | None:
    """Compile the loop and load it; nothing where there is no compiler that can."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next((found for name in names if name and (found := shutil.which(name))), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / "cups.so"
        command = [compiler, *FLAGS, str(SOURCE), "-o", str(library)]
        if subprocess.run(command, check=False).returncode != 0:
            return None
        run = ctypes.CDLL(str(library)).run  # it stays in memory after its file is gone
    run.restype = ctypes.c_int64
    entry: Callable[..., int] = run
    return entry


class HandWritten:
    """The same exercises for the hand-written loop, all of the same length.

    Args:
        run: The loop.
        environment_class: Cups.
        agent: The random agent, at the pace of the clock.
        exercises: The exercises.

    Attributes:
        rewards: The rewards of all exercises, one after the other.
        times: Likewise the times.
    """

    def __init__(
        self,
        run: Callable[..., int],
        environment_class: KernelEnvironmentClass,
        agent: KernelAgent,
        exercises: Sequence[Exercise],
    ) -> None:
        cups = [environment_class.build(exercise.instance) for exercise in exercises]
        agents = [agent.prepare(each.briefing()) for each in cups]
        for state, exercise in zip(agents, exercises, strict=True):
            seed_state(state, exercise.stream("agent").seed)
        first = exercises[0]
        initial = np.concatenate([each.state.initial for each in cups])
        total = first.budget.most * len(exercises)
        self.rewards, self.times = np.empty(total), np.empty(total, dtype=np.int64)
        self._run = run
        self._inputs = (  # kept alive: the loop is given bare addresses
            np.array([each.actions for each in cups]),
            np.array([each.state.turn[1] for each in cups]),
            initial.copy(),
            initial,
            np.concatenate([state.rng for state in agents]),
        )
        self._scratch = np.empty(max(each.actions for each in cups), dtype=np.int64)
        pace, tick = int(agents[0].numbers[1]), nanoseconds(first.clock.tick)
        limits = (pace, tick, first.budget.most, first.budget.end)
        self._arguments = (
            ctypes.c_int64(len(exercises)),
            *map(_address, self._inputs),
            *map(ctypes.c_int64, limits),
            *map(_address, (self._scratch, self.rewards, self.times)),
        )

    def __call__(self) -> int:
        """Run them all, and say how many interactions that were."""
        return self._run(*self._arguments)


def _address(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
