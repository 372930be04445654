"""What is run to see what speed is worth: agents, how much slower their copies are, and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnimeter.contract import Spec

SLOWNESS = tuple(2**power for power in range(10))
"""How many times slower than the first the copies are."""

PACE = 0.001
"""Seconds per action of the first."""

ACTIONS = 256
"""How many it has time for in each environment of Definition 17."""

SITTING = 10.0
"""The seconds of a sitting of Definition 18."""

INTERACTIONS = 1000
"""Those of a sitting of Definition 19."""

ENVIRONMENTS = {"id": "automata-v1"}


@dataclass(frozen=True)
class Sizes:
    """How much is done.

    Attributes:
        environments: How many there are in the tests of Definitions 15 and 17.
        sittings: How many there are in those of Definitions 18 and 19.
        slowness: How many times slower than the first the copies are, from 1 on, rising.
    """

    environments: int
    sittings: int
    slowness: tuple[int, ...] = SLOWNESS


@dataclass(frozen=True)
class Definition:
    """One of the tests.

    Attributes:
        number: That of its definition.
        title: For a reader.
        timed: Whether it takes time into account.
        colour: Of its line; told apart by colour-blind people.
        marker: The shape of its points.
    """

    number: int
    title: str
    timed: bool
    colour: str
    marker: str

    def spec(self, sizes: Sizes) -> Spec:
        """The test of this size."""
        many = {"environments": ENVIRONMENTS, "exercises": sizes.environments}
        side_by_side = {"environments": ENVIRONMENTS, "sittings": sizes.sittings}
        tests: dict[int, tuple[str, dict[str, Any]]] = {
            15: ("universal-adjusted-v1", many | {"interactions": ACTIONS}),
            17: ("universal-timed-v1", many | {"seconds": ACTIONS * PACE, "clock": "virtual"}),
            18: (
                "anytime-timed-v1",
                side_by_side | {"time": SITTING * sizes.sittings, "clock": "virtual"},
            ),
            19: (
                "anytime-untimed-v1",
                side_by_side | {"interactions": INTERACTIONS * sizes.sittings},
            ),
        }
        return Spec(*tests[self.number])


DEFINITIONS = (
    Definition(15, "Definition 15, without time", False, "#d55e00", "s"),
    Definition(17, "Definition 17, with time", True, "#0072b2", "o"),
    Definition(18, "Definition 18, anytime, with time", True, "#009e73", "^"),
    Definition(19, "Definition 19, anytime, without time", False, "#b5559a", "D"),
)


@dataclass(frozen=True)
class Examined:
    """One of the agents.

    Attributes:
        name: In rows of programs.
        title: For a reader.
        learns: Whether it improves with experience.
    """

    name: str
    title: str
    learns: bool

    @property
    def spec(self) -> Spec:
        """Itself, as it is in the catalogue."""
        return Spec(f"{self.name}-v1")

    def slowed(self, slowness: int) -> Spec:
        """A copy that takes so many times longer for each action."""
        return Spec("slowed-v1", {"agent": self.spec.id, "seconds": PACE * slowness})


MODEL_LEARNER = Examined("model-learner", "Model learner", True)
Q_LEARNING = Examined("q-learning", "Q-learning", True)
RANDOM = Examined("random", "Random", False)
AGENTS = (MODEL_LEARNER, Q_LEARNING, RANDOM)
