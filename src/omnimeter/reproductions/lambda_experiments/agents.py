"""The four agents of the Lambda thesis (section 5.2), and how each of them looks in a figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omnimeter.agents.follower import Follower
from omnimeter.agents.oracle import Oracle
from omnimeter.agents.q_learning import QLearning
from omnimeter.agents.random_agent import RandomAgent
from omnimeter.contract import Spec
from omnimeter.interaction import KernelAgent


@dataclass(frozen=True)
class Reference:
    """One of the agents.

    Attributes:
        name: In figures and rows of programs.
        title: For a reader.
        make: A new one, with the parameters of the text.
        colour: Of its lines and points; told apart by colour-blind people.
        line: The style of its lines.
        marker: The shape of its points.
    """

    name: str
    title: str
    make: Callable[[], KernelAgent]
    colour: str
    line: str
    marker: str

    @property
    def spec(self) -> Spec:
        """Its name in the catalogue."""
        return Spec(f"{self.name}-v1")


ORACLE = Reference("oracle", "Oracle", Oracle, "#009e73", "-", "^")
Q_LEARNING = Reference("q-learning", "Q-learning", QLearning, "#d55e00", "-", "o")
FOLLOWER = Reference("follower", "Trivial follower", Follower, "#0072b2", "--", "s")
RANDOM = Reference("random", "Random", RandomAgent, "#6f7683", ":", "D")

REFERENCES = (ORACLE, Q_LEARNING, FOLLOWER, RANDOM)
