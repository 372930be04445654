from omnimeter import Agent


class MyAgent(Agent):
    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        black = [cup for cup in range(self.actions) if observation[cup] == 0]
        return black[-1] if black else self.rng.integers(self.actions)
