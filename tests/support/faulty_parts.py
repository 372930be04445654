"""Environment classes that end their process, hang, or fail only at first; and a payoff."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from omnimeter.contract import Environment, Instance
from omnimeter.environments.cups import Cups


class _Faulty(Cups):
    """Cups without kernels, so that it runs step by step, which does something at the start."""

    kernels = None  # type: ignore[assignment]

    def __init__(self, log: str = "") -> None:
        super().__init__()
        self.log = log

    def build(self, instance: Instance) -> Any:
        environment: Environment = super().build(instance)
        start = environment.start

        def faulty(rng: Any) -> Any:
            self.do()
            return start(rng)

        environment.start = faulty  # type: ignore[method-assign]
        return environment

    def do(self) -> None:
        raise NotImplementedError

    def starts(self) -> int:
        """How often an environment was started so far, in any process."""
        with Path(self.log).open("a") as file:
            file.write("x")
        return Path(self.log).stat().st_size


class Exiting(_Faulty):
    def do(self) -> None:
        os._exit(0)


class Leaving(_Faulty):
    def do(self) -> None:
        sys.exit("I am off")


class Hanging(_Faulty):
    def do(self) -> None:
        while True:
            time.sleep(0.1)


class Deaf(_Faulty):
    """Hangs, and lets nothing disturb it."""

    def do(self) -> None:
        while True:
            try:
                time.sleep(10)
            except BaseException:
                continue


class ExitingOnce(_Faulty):
    def do(self) -> None:
        if self.starts() == 1:
            os._exit(3)


class FailingOnce(_Faulty):
    def do(self) -> None:
        if self.starts() == 1:
            raise OSError("no space left on device")


class Half:
    """A payoff of one half, whatever happened."""

    def __call__(self, trace: Any) -> float:
        return 0.5

    def bounds(self, rewards: tuple[float, float]) -> tuple[float, float]:
        return 0.0, 1.0
