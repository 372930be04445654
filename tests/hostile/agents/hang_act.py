"""Never comes back from act, and ignores polite signals."""

import signal

from omnimeter import Agent


class Hostile(Agent):
    """Never comes back from act, and ignores polite signals."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            pass
