"""An agent whose memory can be seen from outside."""

from omnimeter import STOP, Agent


class Counter(Agent):
    """Acts as often as it has begun, so that interactions tell how much it remembers."""

    def __init__(self):
        self.begun = 0

    def begin(self, briefing, rng):
        self.begun += 1
        self.left = self.begun

    def act(self, reward, observation):
        self.left -= 1
        return 0 if self.left >= 0 else STOP
