"""Goes on in threads after its answer."""

import threading

from omnimeter import Agent


class Hostile(Agent):
    """Goes on in threads after its answer."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        self.begun = False

    def act(self, reward, observation):
        def spin():
            while True:
                pass

        if not self.begun:
            self.begun = True
            threading.Thread(target=spin, daemon=True).start()
        return int(self.rng.integers(self.actions))
