"""Fails with half a surrogate pair in its message, and prints another."""

import sys

from omnimeter import Agent


class Hostile(Agent):
    """Fails with half a surrogate pair in its message, and prints another."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        print("\udcff", file=sys.stderr)
        raise RuntimeError("half \ud800 of a pair")
