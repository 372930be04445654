"""Changes what the harness is made of, in its own process."""

import builtins

import omnimeter.contract.exercise
import omnimeter.interaction.handles
from omnimeter import Agent

omnimeter.contract.exercise.is_own_fault = lambda outcome: False
omnimeter.contract.Fault.__init__ = lambda *_, **__: None
omnimeter.interaction.handles.read_action = lambda given, actions: 0
builtins.max = min


class Hostile(Agent):
    """Changes what the harness is made of, in its own process."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
