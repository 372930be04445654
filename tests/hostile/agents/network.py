"""Tells the world what it sees, over the network."""

import socket
from contextlib import suppress

from omnimeter import Agent


class Hostile(Agent):
    """Tells the world what it sees, over the network."""

    def __init__(self, port: int = 9):
        self.port = port

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for address in (("127.0.0.1", self.port), ("192.0.2.1", 53)):
            with suppress(OSError), socket.create_connection(address, timeout=0.3):
                raise RuntimeError(f"{address} can be reached")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
