"""Loops written by hand in C++ (``cpp/``), compiled where there is a compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Exercise

FLAGS = ("-O3", "-shared", "-fPIC")

NO_COMPILER = "No C++ compiler works here, so nothing was compared with C++. Name one in CXX."

Loop = Callable[..., int]


def build(name: str) -> Loop | None:
    """Compile the loop ``cpp/<name>.cpp`` and load it; nothing where no compiler can."""
    names = (os.environ.get("CXX"), "c++", "g++", "clang++")
    compiler = next((result for each in names if each and (result := shutil.which(each))), None)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        source = Path(__file__).parent / "cpp" / f"{name}.cpp"
        library = Path(directory) / f"{name}.so"
        command = [compiler, *FLAGS, str(source), "-o", str(library)]
        if subprocess.run(command, check=False).returncode != 0:
            return None
        run = ctypes.CDLL(str(library)).run  # it stays in memory after its file is gone
    run.restype = ctypes.c_int64
    entry: Loop = run
    return entry


class HandWritten:
    """The same exercises for a hand-written loop, all of the same length.

    Args:
        run: The loop. It writes down rewards and times, and returns the number of interactions.
        exercises: The exercises.
        arguments: What the loop is given before the places for rewards and times: arrays,
            structures and whole numbers. Arrays are given by their addresses.
        kept: What else must stay alive, because structures hold its addresses.

    Attributes:
        rewards: The rewards of all exercises, one after the other.
        times: Likewise the times.
    """

    def __init__(
        self, run: Loop, exercises: Sequence[Exercise], *arguments: Any, kept: Any = None
    ) -> None:
        total = exercises[0].budget.max_interactions * len(exercises)
        self.rewards, self.times = np.empty(total), np.empty(total, dtype=np.int64)
        self._run = run
        self._kept = arguments, kept  # alive: the loop is given bare addresses
        given = (*arguments, self.rewards, self.times)
        self._arguments = [_argument(each) for each in given]

    def __call__(self) -> int:
        """Run them all, and say how many interactions that were."""
        return self._run(*self._arguments)


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return address(value)
    return ctypes.c_int64(value) if isinstance(value, int) else value


def address(array: NDArray[Any]) -> ctypes.c_void_p:
    """Where an array lies."""
    return ctypes.c_void_p(array.ctypes.data)
