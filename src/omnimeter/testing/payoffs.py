"""The conformance suites for payoffs and adjustments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import isfinite

import numpy as np

from omnimeter.contract import Ending, Payoff, Trace, stream
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.payoffs.parts import Adjustment

RANGES = ((-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0))
"""Ranges of rewards that are tried."""


class PayoffSuite:
    """The rules for payoffs, as tests.

    Set ``payoff``, or override ``make``.

    Attributes:
        payoff: The payoff to be tested.
        seed: The root of all chance.
    """

    payoff: Payoff
    seed: int = 0

    def make(self) -> Payoff:
        """The payoff to be tested."""
        return self.payoff

    def traces(self, rewards: tuple[float, float] = (-1.0, 1.0)) -> Iterator[Trace]:
        """Exercises of several lengths and endings, with rewards in a range."""
        for length in (1, 2, 7, 100):
            rng = stream(self.seed, "suite", "trace", length).generator()
            times = np.cumsum(rng.integers(1, NANOSECONDS, size=length))
            last = int(times[-1])
            trace = Trace(rng.uniform(*rewards, size=length), times, last)
            yield trace
            yield replace(trace, end_ns=3 * last, ending=Ending.STOPPED)
            yield replace(trace, rewards=np.full(length, rewards[1]))
            yield replace(trace, rewards=np.full(length, rewards[0]), end_ns=last + 1)

    def test_nothing_done_has_a_worth(self) -> None:
        """An exercise without any interaction has a finite payoff."""
        nothing = np.zeros(0), np.zeros(0, dtype=np.int64)
        for end in (0, NANOSECONDS):
            for ending in Ending:
                worth = self.make()(Trace(*nothing, end, ending))
                assert isfinite(worth), (
                    f"The payoff of an empty trace that ends at {end} ns is {worth}. "
                    "Somebody who did nothing has a payoff too."
                )

    def test_worth_is_a_finite_number(self) -> None:
        """Every trace has a payoff."""
        for trace in self.traces():
            worth = self.make()(trace)
            assert isinstance(worth, float), f"The payoff {worth!r} is not a float."
            assert isfinite(worth), f"The payoff of {len(trace)} interactions is {worth}."

    def test_worth_depends_on_the_trace_alone(self) -> None:
        """The same trace has the same payoff, whatever was judged before."""
        payoff = self.make()
        traces = list(self.traces())
        first = [payoff(trace) for trace in traces]
        second = [payoff(trace) for trace in reversed(traces)][::-1]
        assert first == second, "A payoff is a pure function: it may remember nothing."

    def test_worth_lies_within_the_bounds(self) -> None:
        """No payoff is outside what ``bounds`` says for the range of rewards."""
        payoff = self.make()
        for rewards in RANGES:
            low, high = payoff.bounds(rewards)
            assert low <= high, f"bounds({rewards}) is {(low, high)}."
            slack = 1e-9
            for trace in self.traces(rewards):
                worth = payoff(trace)
                assert low - slack <= worth <= high + slack, (
                    f"With rewards in {rewards} a payoff was {worth}, "
                    f"which bounds says to lie in {(low, high)}."
                )

    def test_traces_are_left_alone(self) -> None:
        """A payoff does not write into the trace."""
        for trace in self.traces():
            rewards, times = trace.rewards.copy(), trace.times.copy()
            self.make()(trace)
            same = np.array_equal(rewards, trace.rewards) and np.array_equal(times, trace.times)
            assert same, "The payoff changed the arrays of the trace. Work on a copy."


LENGTHS = (0.0, 1e-6, 1e-3, 0.5, 1.0, 2.0, 7.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9)
"""Lengths that are tried: numbers of interactions and times in seconds."""

COMPLEXITIES = (0.0, 0.5, 1.0, 2.5, 3.0, 8.0, 8.01, 20.0, 64.0, 150.0, 1e3, 1e5)
"""Complexities that are tried."""

ROUNDING = 1e-12
"""Differences that may be rounding, as a share of the value."""


class AdjustmentSuite:
    """The rules for adjustments, as tests.

    Set ``adjustment``, or override ``make``.

    Attributes:
        adjustment: The adjustment to be tested.
    """

    adjustment: Adjustment

    def make(self) -> Adjustment:
        """The adjustment to be tested."""
        return self.adjustment

    def cases(self) -> Iterator[tuple[float, float]]:
        """Lengths and complexities."""
        for length in LENGTHS:
            for complexity in COMPLEXITIES:
                yield length, complexity

    def test_value_is_a_positive_finite_number(self) -> None:
        """Whatever the length and the complexity, a result counts for something."""
        adjustment = self.make()
        for case in self.cases():
            value = adjustment(*case)
            assert isinstance(value, float), f"The adjustment {value!r} {_at(*case)} is no float."
            assert isfinite(value), f"The adjustment {_at(*case)} is {value}."
            assert value > 0, f"The adjustment {_at(*case)} is {value}: good would count as bad."

    def test_value_lies_within_the_bounds(self) -> None:
        """No value is outside what ``bounds`` says; intervals of scores are made of it."""
        adjustment = self.make()
        low, high = adjustment.bounds()
        assert 0 <= low <= high, f"bounds() is {(low, high)}."
        for case in self.cases():
            value = adjustment(*case)
            slack = ROUNDING * abs(value)
            assert low - slack <= value <= high + slack, (
                f"The adjustment {_at(*case)} is {value}, outside of bounds() {(low, high)}."
            )

    def test_value_never_rises_with_the_length(self) -> None:
        """Definition 11: Φ(x, y) is decreasing in x; one that stays the same is let pass."""
        adjustment = self.make()
        for complexity in COMPLEXITIES:
            for shorter, longer in pairwise(LENGTHS):
                before, after = (adjustment(length, complexity) for length in (shorter, longer))
                assert after <= before + ROUNDING * abs(before), (
                    f"The adjustment {_at(shorter, complexity)} is {before}, and {after} at "
                    f"length {longer}. More time must not make a result count more."
                )

    def test_value_never_falls_with_the_complexity(self) -> None:
        """Definition 11: Φ(x, y) is increasing in y; one that stays the same is let pass."""
        adjustment = self.make()
        for length in LENGTHS:
            for simpler, harder in pairwise(COMPLEXITIES):
                before, after = (adjustment(length, grade) for grade in (simpler, harder))
                assert after >= before - ROUNDING * abs(before), (
                    f"The adjustment {_at(length, simpler)} is {before}, and {after} at "
                    f"complexity {harder}. A harder environment must not make a result count less."
                )

    def test_value_depends_on_its_arguments_alone(self) -> None:
        """The same length and complexity have the same value, whatever was asked before."""
        adjustment = self.make()
        cases = list(self.cases())
        first = [adjustment(*case) for case in cases]
        second = [adjustment(*case) for case in reversed(cases)][::-1]
        assert first == second, "An adjustment is a pure function: it may remember nothing."


def _at(length: float, complexity: float) -> str:
    return f"at length {length} and complexity {complexity}"
