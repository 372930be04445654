"""What a test is: a pure rule that proposes exercises and scores outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from typing import Protocol as StructuralType

from omnimeter.contract.exercise import Exercise, Outcome, Trace
from omnimeter.contract.spec import Spec

Memory = Literal["fresh", "carried"]
"""What an agent keeps from one exercise to the next: nothing, or all that it learnt."""


class Interval(NamedTuple):
    """Where a true value lies, at a stated confidence."""

    low: float
    high: float
    confidence: float = 0.95


class Payoff(StructuralType):
    """A pure function of a trace to a number."""

    def __call__(self, trace: Trace) -> float:
        """What the trace is worth."""
        ...

    def bounds(self, rewards: tuple[float, float]) -> tuple[float, float]:
        """Between which numbers it lies when single rewards lie in the given range."""
        ...


@dataclass(frozen=True)
class Score:
    """A value with its interval and what it is made of.

    Attributes:
        value: The estimate; ``None`` when there is nothing to estimate from.
        interval: Where the true value lies; ``None`` when that cannot be said.
        count: From how many outcomes.
        faults: How many outcomes of each kind of fault were left out of the value.
        parts: Further named numbers.
    """

    value: float | None
    interval: Interval | None
    count: int
    faults: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """Where an adaptive test stood at a moment at which it could have been stopped.

    Attributes:
        length: How long each repetition was by then, in interactions or in seconds.
        slot: How long its last exercise was, in the same unit.
        level: The mean complexity of the last exercises.
        value: The score at that moment.
        interval: Where the true value lies for a test of that length.
    """

    length: float
    slot: float
    level: float
    value: float
    interval: Interval | None


class Protocol(ABC):
    """A test. It never runs anything itself.

    The constructor's keyword arguments are its parameters; with them and its id it is rebuilt
    exactly.

    Attributes:
        memory: ``fresh``: every exercise is taken by a new agent, so that exercises can be spread
            over processes. ``carried``: one agent takes the whole sequence of exercises in order,
            with ``begin`` before each.
    """

    memory: Memory = "fresh"

    @abstractmethod
    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""

    @abstractmethod
    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Sequence[Exercise]:
        """Which exercises the agent takes next, given what came of those so far; none at the end.

        Must be a pure function: the same outcomes, in whatever order, give the same exercises.
        Exercises whose outcome is already there may be proposed again; they are not run again.
        """

    @abstractmethod
    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """What the outcomes of one agent say of it, at any moment."""

    def values(
        self,
        outcomes: Sequence[Outcome],  # noqa: ARG002 - for tests with units of their own
        moments: int | None = None,  # noqa: ARG002
    ) -> Mapping[int, float]:
        """The independent values whose mean the score is, by the number of their unit.

        Agents are compared unit by unit. Empty where every exercise is a unit of its own.

        Args:
            outcomes: What came of one agent's exercises.
            moments: Only so many moments of the course count; all by default.
        """
        return {}

    def course(self, outcomes: Sequence[Outcome]) -> Sequence[Moment]:  # noqa: ARG002
        """How an adaptive test went: each moment at which it could have been stopped."""
        return ()

    def bounds(self) -> tuple[float, float] | None:
        """Between which numbers every payoff lies, where that is known."""
        return None

    def stratum(self, exercise: Exercise) -> int:  # noqa: ARG002 - for those who have several
        """Which part of the test an exercise belongs to, where parts were fixed beforehand."""
        return 0

    def expected(self) -> int | None:
        """How many exercises one agent will take, where that is known beforehand."""
        return None
