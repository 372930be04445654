"""Who takes the tests, where, and how each of them looks in a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnimeter.contract import Spec
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.reports.look import SERIES


@dataclass(frozen=True)
class Subject:
    """An agent in a class of environments.

    Attributes:
        name: In rows.
        title: For a reader.
        agent: The agent's id.
        environments: The id of the class.
        colour: Of its lines.
        line: Their style.
    """

    name: str
    title: str
    agent: str
    environments: str
    colour: str
    line: str = "-"

    @property
    def is_random(self) -> bool:
        """Whether its expected score is 0."""
        return self.agent == "random-v1"

    def test(self, seed: int, sittings: int, rounds: int) -> Spec:
        """One test of Definition 19.

        Args:
            seed: The root of all chance.
            sittings: How many.
            rounds: How many exercises each of them has, none of them cut off.
        """
        endless = AnytimeUntimed(self.environments, 2**62, sittings=1)
        parameters: dict[str, Any] = {
            "environments": {"id": self.environments},
            "interactions": sittings * sum(endless.slots[:rounds]),
            "sittings": sittings,
            "seed": seed,
        }
        return Spec("anytime-untimed-v1", parameters)


SUBJECTS = (
    Subject("random", "random", "random-v1", "automata-v1", SERIES[4]),
    Subject("q-learning", "Q-learning", "q-learning-v1", "automata-v1", SERIES[1]),
    Subject("model-learner", "model learner", "model-learner-v1", "automata-v1", SERIES[0]),
    Subject("torus-random", "random, torus", "random-v1", "torus-v1", SERIES[4], "--"),
    Subject("torus-agent", "torus agent", "torus-agent-v1", "torus-v1", SERIES[2], "--"),
)
