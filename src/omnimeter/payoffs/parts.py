"""Payoffs and adjustments as parts of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, log2
from typing import ClassVar
from typing import Protocol as StructuralType

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.contract import InvalidInputError, Trace
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.prior import require_discount
from omnimeter.payoffs import functions
from omnimeter.payoffs.discounts import DiscountFunction, named_discount

Range = tuple[float, float]

_KEPT = "an agent that stops for ever, or rests, as soon as it was lucky keeps that"


class _Sum:
    """A payoff that is a sum of rewards."""

    def bounds(self, rewards: Range) -> Range:
        """Unbounded, except that rewards of one sign have sums of that sign."""
        return (-inf if rewards[0] < 0 else 0.0), (inf if rewards[1] > 0 else 0.0)


class _Average:
    """A payoff that is an average of rewards."""

    def bounds(self, rewards: Range) -> Range:
        """The range of the rewards, and 0, the payoff without any cycle."""
        return min(rewards[0], 0.0), max(rewards[1], 0.0)


@dataclass(frozen=True)
class Total(_Sum):
    """The total reward sum: more is better, so faster is better.

    Definition "total reward sum" (fixed-time payoffs); Definition 8 (anytime test).
    """

    exploitable: ClassVar[str] = (
        "an agent that stops after a bad reward keeps the sum of a good time, where rewards depend "
        "on the past"
    )

    def __call__(self, trace: Trace) -> float:
        """The sum of all rewards of the trace."""
        return functions.total(trace.rewards)

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        return functions.total_along(trace.rewards, trace.times, ends)


@dataclass(frozen=True)
class Average(_Average):
    """The average reward per cycle: how good, however fast.

    Definition "average reward per cycle" (fixed-time payoffs); Definition 14 (anytime test). Only
    completed cycles are divided by, so stopping as soon as the average is good pays (Theorem 1 of
    fixed-time payoffs).
    """

    exploitable: ClassVar[str] = f"{_KEPT} average"

    def __call__(self, trace: Trace) -> float:
        """The average of all rewards of the trace; 0 when there is none."""
        return functions.average(trace.rewards)

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        return functions.average_along(trace.rewards, trace.times, ends)


@dataclass(frozen=True)
class PlannedAverage(_Average):
    """The average reward over all planned interactions: those not completed bring nothing.

    Definitions 14 and 15 (anytime test). The sum of the rewards is divided by the number N of the
    budget. An agent that stops keeps its sum but not its average: where single rewards are
    balanced whatever happened before, stopping gains nothing. Where they depend on the past, it
    gains at most what such a dependence lasts, divided by N.
    """

    def __call__(self, trace: Trace) -> float:
        """The sum of all rewards of the trace, divided by the planned number."""
        return functions.planned_average(trace.rewards, _planned(trace))

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        return functions.planned_average_along(trace.rewards, trace.times, ends, _planned(trace))


def _planned(trace: Trace, what: str = "The planned average") -> int:
    if trace.planned is None:
        raise InvalidInputError(
            f"{what} is over a number of interactions, and only a time is given.",
            "Give a number of interactions, or the payoff diminishing.",
        )
    return trace.planned


@dataclass(frozen=True)
class PerSecond(_Sum):
    """The average reward per second: the total divided by the time.

    Mentioned with the definition "average reward per cycle" (fixed-time payoffs).
    """

    exploitable: ClassVar[str] = f"{_KEPT} rate where no time is given"

    def __call__(self, trace: Trace) -> float:
        """The total divided by the end of the trace in seconds; 0 when no time has passed."""
        return functions.per_second(trace.rewards, trace.end_ns)

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        return functions.per_second_along(trace.rewards, trace.times, ends)


@dataclass(frozen=True)
class Discounted(_Average):
    """The discounted reward: an average in which early cycles weigh more.

    Definition "discounted reward" (fixed-time payoffs).

    Attributes:
        sequence: The name of the weights: ``geometric`` (ratio^k), ``finite`` (1 as far as a
            horizon), ``quadratic`` (1 / (k (k + 1))), ``power`` (k^-(1 + excess)) or ``harmonic``
            (1 / (k ln²(k + 1))).
        parameter: The ratio of ``geometric`` (0.99 when not given), the horizon of ``finite``
            (must be given), the excess of ``power`` (1 when not given); the others have none.

    Raises:
        UnknownNameError: There is no such sequence.
        InvalidInputError: The parameter does not fit the sequence.
    """

    exploitable: ClassVar[str] = f"{_KEPT} discounted average"

    sequence: str = "geometric"
    parameter: float | None = None

    def __post_init__(self) -> None:
        self.weights()  # so that a wrong parameter is reported before any exercise runs

    def weights(self) -> DiscountFunction:
        """The sequence as a function of the cycles k = 1, 2, 3, ..."""
        return named_discount(self.sequence, self.parameter)

    def __call__(self, trace: Trace) -> float:
        """The weighted average of all rewards of the trace; 0 when there is none."""
        return functions.discounted(trace.rewards, self.weights())

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        return functions.discounted_along(trace.rewards, trace.times, ends, self.weights())


@dataclass(frozen=True)
class DiscountedSum:
    """The discounted return: the sum of gamma^t r_t over exactly the planned steps.

    Section 3.2 of the Bayesian RL benchmark. A step that was not made, because the agent stopped,
    counts as the lowest possible reward, so that stopping gains nothing.

    Attributes:
        gamma: The discount factor.

    Raises:
        InvalidInputError: The discount factor does not lie between 0 and 1.
    """

    gamma: float = 0.95

    def __post_init__(self) -> None:
        require_discount(self.gamma)

    def __call__(self, trace: Trace) -> float:
        """The discounted return of the trace."""
        planned = _planned(trace, "The discounted return")
        return functions.discounted_sum(trace.rewards, self.gamma, planned, trace.lowest)

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        planned = _planned(trace, "The discounted return")
        return functions.discounted_sum_along(
            trace.rewards, trace.times, ends, self.gamma, planned, trace.lowest
        )

    def bounds(self, rewards: Range) -> Range:
        """Those of an infinite return, and 0."""
        whole = 1 - self.gamma
        return min(rewards[0], 0.0) / whole, max(rewards[1], 0.0) / whole


@dataclass(frozen=True)
class LaterAverage:
    """The average reward over the planned interactions after the first ones, which do not count.

    An interaction that was not performed, because the agent stopped, counts as the lowest possible
    reward, or as 0 where there is none, so that stopping gains nothing.

    Attributes:
        after: How many interactions at the beginning do not count.

    Raises:
        InvalidInputError: Their number is negative.
    """

    after: int = 0

    def __post_init__(self) -> None:
        if self.after < 0:
            message = f"There cannot be {self.after} interactions that do not count."
            raise InvalidInputError(message, "Give a number from 0 up.")

    def rewards(self, trace: Trace) -> FloatArray:
        """The rewards of all planned interactions."""
        planned = _planned(trace, "The average of later rewards")
        if planned <= self.after:
            message = f"None of {planned} interactions comes after the first {self.after}."
            raise InvalidInputError(message, "Give more interactions.")
        lowest = trace.lowest if isfinite(trace.lowest) else 0.0
        return np.concatenate([trace.rewards, np.full(max(planned - len(trace), 0), lowest)])

    def __call__(self, trace: Trace) -> float:
        """The average of the planned rewards that count."""
        return functions.average(self.rewards(trace)[self.after :])

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        instants = np.asarray(ends, dtype=np.int64).tolist()
        return np.array([self(trace.until(end)) for end in instants])

    def bounds(self, rewards: Range) -> Range:
        """The range of the rewards, and 0 where there is no lowest one."""
        return rewards if isfinite(rewards[0]) else (rewards[0], max(rewards[1], 0.0))


@dataclass(frozen=True)
class Diminishing(_Average):
    """The average reward with diminishing history: an agent that stops loses its last cycles.

    Definition "average reward per cycle with diminishing history" (fixed-time payoffs);
    Definition 16 (anytime test). Where the budget is N interactions, the share of them that was
    completed takes the place of the share of the time.
    """

    def __call__(self, trace: Trace) -> float:
        """The average of the first n* rewards of the trace; 0 when none counts."""
        return functions.diminishing(
            trace.rewards, trace.times, trace.end_ns, trace.planned, trace.timed
        )

    def along(self, trace: Trace, ends: ArrayLike) -> FloatArray:
        """The payoff of ``trace.until(end)`` for every end, in nanoseconds, bit for bit."""
        timed = trace.timed | (np.asarray(ends) < trace.end_ns)  # as ``until`` has it
        return functions.diminishing_along(trace.rewards, trace.times, ends, trace.planned, timed)


class Adjustment(StructuralType):
    """A positive, pure function that never rises with the length nor falls with the complexity."""

    def __call__(self, length: float, complexity: float) -> float:
        """The weight of a result in an exercise of so many interactions or seconds."""
        ...

    def bounds(self) -> Range:
        """The lowest and the highest value."""
        ...


@dataclass(frozen=True)
class Flat:
    """No adjustment: Φ = 1 for every length and every complexity."""

    def __call__(self, length: float, complexity: float) -> float:  # noqa: ARG002 - on purpose
        """Always 1."""
        return 1.0

    def bounds(self) -> Range:
        """Always 1."""
        return 1.0, 1.0


@dataclass(frozen=True)
class _Scaled:
    """An adjustment that weighs length against complexity."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.scale) and self.scale > 0):
            raise InvalidInputError(
                f"The scale of an adjustment is {self.scale}.", "Give a positive, finite number."
            )

    def bounds(self) -> Range:
        """From 0, the limit in very long exercises, to 1."""
        return 0.0, 1.0


@dataclass(frozen=True)
class Share(_Scaled):
    """The share of the complexity in complexity and length: Φ = (1 + y) / (1 + y + x / scale).

    A result in an exercise of no length counts in full. One in an exercise of length
    scale (1 + y) counts half.

    Attributes:
        scale: The length that weighs as much as one bit of complexity, in interactions or seconds.

    Raises:
        InvalidInputError: The scale is not a positive, finite number.
    """

    def __call__(self, length: float, complexity: float) -> float:
        """Φ, above 0 and at most 1."""
        return (1 + complexity) / (1 + complexity + length / self.scale)


@dataclass(frozen=True)
class Logarithmic(_Scaled):
    """A share of logarithms: Φ = log2(2 + y) / log2(2 + y + x / scale).

    It falls slowly: in a long exercise, twice the length adds no more than 1 to the denominator.

    Attributes:
        scale: The length that weighs as much as one bit of complexity, in interactions or seconds.

    Raises:
        InvalidInputError: The scale is not a positive, finite number.
    """

    def __call__(self, length: float, complexity: float) -> float:
        """Φ, above 0 and at most 1."""
        return log2(2 + complexity) / log2(2 + complexity + length / self.scale)
