"""Writes answers to all turns to come into every pipe that it finds."""

import json
import os
from contextlib import suppress

from omnimeter import Agent


class Hostile(Agent):
    """Writes answers to all turns to come into every pipe that it finds."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        for each in range(3, 64):
            for turn in range(200):
                with suppress(OSError):
                    reply = {
                        "turn": turn,
                        "type": "move",
                        "action": 0,
                        "reward": 1.0,
                        "payoff": 1.0,
                    }
                    os.write(each, (json.dumps(reply) + "\n").encode())
        return int(self.rng.integers(self.actions))
