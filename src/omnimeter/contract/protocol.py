"""What a test is: a pure rule that proposes exercises and scores outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from typing import Protocol as StructuralType

from omnimeter.contract.exercise import ClockKind, Exercise, Outcome, Trace
from omnimeter.contract.spec import Spec

Memory = Literal["fresh", "carried"]  # what an agent keeps: nothing, or all that it learnt


class Interval(NamedTuple):
    """Where a true value lies, at a stated confidence.

    ``bounded``: It only rests on the lowest and the highest possible value, because too few values
    carry the spread.
    """

    low: float
    high: float
    confidence: float = 0.95
    bounded: bool = False


class Payoff(StructuralType):
    """A pure function of a trace to a number.

    One that an agent can raise without any skill says how in an attribute ``exploitable``, a
    clause; scores then carry it as a warning. One with a method ``remarks(trace)`` adds JSON-able
    facts to the remarks of the outcome, for a protocol's secondary metrics.
    """

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
        value: The estimate; ``None`` when no outcome has a payoff.
        interval: Where the true value lies; ``None`` when that cannot be said.
        count: From how many outcomes.
        faults: How many outcomes of each kind of fault were left out of the value.
        parts: Further named numbers, such as secondary metrics.
    """

    value: float | None
    interval: Interval | None
    count: int
    faults: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """The state of an adaptive test at a moment at which it could have been stopped.

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


@dataclass(frozen=True, slots=True)
class Metric:
    """A secondary metric: a named number that is shown next to the score.

    Attributes:
        name: Its key in ``Score.parts``.
        heading: The heading of its column.
        explanation: What it says, in a sentence or two.
        kind: How it is written: three decimals, a percentage, three digits, or a time in seconds.
    """

    name: str
    heading: str
    explanation: str
    kind: Literal["decimal", "percent", "amount", "seconds"] = "decimal"


@dataclass(frozen=True)
class Design:
    """What a test says of itself before it is taken, for displays and reports.

    Attributes:
        title: What the test is called.
        unit: What is independent, and so counted and compared: the exercise or, where exercises
            depend on those before, the repetition; exercise k is then in repetition ``k % units``.
        units: How many units each agent takes, or at most where a precision decides; ``None`` where
            that is not known beforehand.
        length: How long each unit is; ``None`` where units differ or that is not known.
        length_unit: In what the length is measured.
        clock: Which time counts.
        real_time: Whether a length in seconds is of real time: what others take counts too.
        environments: The label of the class of all environments; empty where there are several.
        metrics: The secondary metrics, in the order of their columns.
        parts: Of how many parts, fixed beforehand and of the same weight, each exercise in turn
            belongs to one: exercise k is in part ``k % parts``.
        moments: How many moments a test of repetitions can have at most, if that is known: at each
            it could be stopped because of what it shows.
        precision: Half the length of the interval at which an agent's test ends, where that was
            asked for. All intervals then hold at every number of units at once.
        extended: The numbers of exercises that the test had before it was extended, when its
            results could be seen. All intervals then hold at every number of units, too.
        payoff: The payoff, where it is a part of the catalogue.
        warning: How a score can be had without skill, where a chosen payoff allows that.
        seated: Who is seated beside each agent and not evaluated, seat by seat.
        battery: The title of the fixed list of exercises, of which each part is one; empty without.
    """

    title: str = ""
    unit: Literal["exercise", "repetition"] = "exercise"
    units: int | None = None
    length: float | None = None
    length_unit: Literal["interactions", "seconds"] = "interactions"
    clock: ClockKind = ClockKind.VIRTUAL
    real_time: bool = False
    environments: str = ""
    metrics: tuple[Metric, ...] = ()
    parts: int = 1
    moments: int | None = None
    precision: float | None = None
    extended: tuple[int, ...] = ()
    payoff: Spec | None = None
    warning: str = ""
    battery: str = ""
    seated: tuple[str, ...] = ()

    @property
    def sequential(self) -> bool:
        """Whether what was seen may have decided how many units there are."""
        return self.precision is not None or bool(self.extended)


class Protocol(ABC):
    """A test, rebuilt exactly from its id and keyword arguments. It never runs anything itself.

    Attributes:
        memory: ``fresh``: every exercise is taken by a new agent, possibly in several processes.
            ``carried``: one agent takes all exercises in order, with ``begin`` before each.
        fixed: Whether an agent without outcomes is proposed all exercises there are, the one of
            number k in place k. Any slice of them can then be taken by another process.
        grows: The parameter, and attribute, that says nothing but how many exercises there are: a
            smaller number gives the first of them. Evaluations that differ in no other one can be
            merged; empty where there is no such parameter.
        indivisible: Why evaluations of different sizes cannot be merged, where users might expect
            it; a clause.
        extended: The sizes that a test with ``grows`` had before, when its results could be seen;
            set by the evaluation. Intervals must then hold at every size.
        seated: The agents that may be seated beside the one that takes an exercise (section 14 of
            the standard): they act, and are not evaluated.
    """

    memory: Memory = "fresh"
    fixed: bool = False
    grows: str = ""
    indivisible: str = ""
    extended: tuple[int, ...] = ()
    seated: tuple[Spec, ...] = ()

    @abstractmethod
    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""

    @abstractmethod
    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Sequence[Exercise]:
        """Which exercises the agent takes next, given the outcomes so far; none at the end.

        Must be a pure function: the same outcomes, in whatever order, give the same exercises.
        Exercises that have an outcome may be proposed again; they are not run again. The sequence
        may make each exercise only when it is indexed or iterated over, and again each time.
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

        Agents are compared unit by unit. Empty where every exercise is a unit of its own. Only the
        first ``moments`` of the course count; all by default.
        """
        return {}

    def course(self, outcomes: Sequence[Outcome]) -> Sequence[Moment]:  # noqa: ARG002
        """How an adaptive test went: each moment at which it could have been stopped."""
        return ()

    def bounds(self) -> tuple[float, float] | None:
        """Between which numbers every payoff lies, where that is known."""
        return None

    def expected(self) -> int | None:
        """How many exercises one agent will take, where that is known beforehand."""
        return None

    def describe(self) -> Design:
        """What displays and reports need to know of the test.

        An adaptive test names the repetition as its unit, and implements ``course`` and ``values``.
        """
        title = (type(self).__doc__ or "").strip().partition("\n")[0].rstrip(".")
        return Design(title, units=self.expected())

    def settings(self) -> Mapping[str, str]:
        """What else decides about the test, by name, for the list of settings in a report."""
        return {}

    def is_exhausted(self, outcomes: Sequence[Outcome]) -> bool:  # noqa: ARG002
        """Whether an agent's test is over early because no environment is left for it."""
        return False
