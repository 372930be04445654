"""Takes 20 milliseconds for each action, and claims that it took none."""

import time

from omnimeter import Agent
from omnimeter.interaction import handles, wire

time.perf_counter_ns = handles.perf_counter_ns = lambda: 0
_honest = wire.line
wire.line = lambda turn, reply: _honest(turn, {**reply, "ns": 0, "time": 0, "own": 0})


class Hostile(Agent):
    """Takes 20 milliseconds for each action, and claims that it took none."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        time.sleep(0.02)
        return int(self.rng.integers(self.actions))
