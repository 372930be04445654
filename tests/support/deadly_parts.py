"""An environment class that ends the process which carries out its unit."""

from __future__ import annotations

import os
import signal
import sys

from omnimeter import Environment, EnvironmentClass, Instance, Percept, single


class Still(Environment):
    """Two actions, and nothing ever happens."""

    actions, space = 2, single(1)

    def start(self, rng):
        return Percept(0.0, 0)

    def step(self, action):
        return Percept(0.0, 0)


class Deadly(EnvironmentClass):
    """Ends the parent of its process whenever it builds an environment, so many times.

    Args:
        counter: A file that counts how often, after "at:", so that it is no part of the class.
        times: How often.
    """

    def __init__(self, counter: str, times: int = 1) -> None:
        self.counter, self.times = counter.removeprefix("at:"), times

    def draw(self, rng, complexity=None):
        return Instance({"number": int(rng.integers(1000))})

    def complexity(self, instance):
        return 1.0

    def build(self, instance):
        with open(self.counter, "a+", encoding="ascii") as file:
            file.seek(0)
            if len(file.read()) < self.times:
                file.write("x")
                file.flush()
                print("The end is near.", file=sys.stderr, flush=True)
                os.kill(os.getppid(), signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)
        return Still()
