"""What is run for Table 3: three kinds of agents, in which classes, and when a test is stopped.

The tests are those of Definition 18 under the virtual clock, with the paper's parameters. They are
stopped after a number of rounds, so that no slot is cut off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from omnimeter.contract import Spec
from omnimeter.execution.conduct import environment_class

FIRST_SLOT, GROWTH = 1e-6, 0.5
"""The first slot in seconds, and by which part each is longer than the one before."""

FAST, SLOW = 1e-5, 1.0
"""Seconds per action. A still faster agent could not be followed for minutes."""

LISTED = 20_000
"""How many environments are counted at most."""

STAGES = ("early", "later", "late")
EARLY, LATER, LATE = 15, 45, 60
"""After how many rounds a test is stopped: about a millisecond, three minutes, twenty hours."""


@dataclass(frozen=True)
class Kind:
    """A row of the table.

    Attributes:
        name: In rows of programs.
        title: For a reader.
        learns: Whether it is intelligent.
        pace: Seconds that an action takes.
        colour: Of its lines; told apart by colour-blind people.
    """

    name: str
    title: str
    learns: bool
    pace: float
    colour: str


RANDOM = Kind("random", "Random very fast agent", False, FAST, "#6f7683")
SLOW_LEARNER = Kind("slow", "Relatively slow intelligent agent", True, SLOW, "#d55e00")
FAST_LEARNER = Kind("fast", "Very fast intelligent agent", True, FAST, "#0072b2")
KINDS = (RANDOM, SLOW_LEARNER, FAST_LEARNER)


@dataclass(frozen=True)
class World:
    """A class of environments, and who is intelligent there.

    Attributes:
        name: Of the class.
        learner: The agent that learns.
        longest: After how many rounds the test of a fast agent is stopped later, and late: as long
            as its actions can be followed.
        most_states: That of the class, where it is not the usual one.
    """

    name: str
    learner: str
    longest: tuple[int, int]
    most_states: int | None = None

    @property
    def environments(self) -> Spec:
        """The class."""
        states = {} if self.most_states is None else {"most_states": self.most_states}
        return Spec(f"{self.name}-v1", states)

    def agent(self, kind: Kind) -> Spec:
        """Who stands for a row here."""
        inside = self.learner if kind.learns else "random-v1"
        return Spec("slowed-v1", {"agent": inside, "seconds": kind.pace})

    def rounds(self, kind: Kind, stage: str) -> int:
        """After how many rounds the test of such an agent is stopped."""
        later, late = self.longest if kind.pace == FAST else (LATER, LATE)
        return {"early": EARLY, "later": later, "late": late}[stage]

    @cached_property
    def levels(self) -> tuple[float, float]:
        """The lowest and the highest complexity there."""
        return environment_class(self.environments).complexity_range()

    def count(self, level: float) -> int | None:
        """How many environments there are at or below a level; none where they are too many."""
        members = environment_class(self.environments).members(0, level, LISTED)
        return None if members is None else len(members)


AUTOMATA = World("automata", "model-learner-v1", longest=(LATER, 47))
TORUS = World("torus", "q-learning-v1", longest=(40, 42))

STATES = (10, 20, 30)
"""Of the largest automata, in classes that go to different levels."""


def wider(automata: World) -> list[World]:
    """Classes of automata that end at different levels."""
    return [replace(automata, most_states=states) for states in STATES]


def length(rounds: int) -> float:
    """The seconds of so many rounds."""
    return float(FIRST_SLOT * ((1 + GROWTH) ** rounds - 1) / GROWTH)


def spoken(seconds: float) -> str:
    """A length of time for a reader."""
    for unit, name in ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.8 * unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{seconds / 1e-6:.2g} µs"
