"""Hides what is printed after its fault by control sequences, and fakes a score."""

from omnimeter import Agent


class Hostile(Agent):
    """Hides what is printed after its fault by control sequences, and fakes a score."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        raise RuntimeError(
            "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e[red]bad[/red]<script>\\input{x} 0.999"
        )
