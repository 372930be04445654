"""The conformance suites for payoffs and adjustments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from math import isfinite

import numpy as np

from omnimeter.contract import Ending, InvalidInputError, Payoff, Trace, stream
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.payoffs.parts import Adjustment

_NONE = np.zeros(0), np.zeros(0, dtype=np.int64)


class PayoffSuite:
    """The rules for payoffs, as tests: set ``payoff``, or override ``make``.

    A payoff that needs a number of planned interactions, or none, or a time, raises
    ``InvalidInputError`` for an empty trace of another budget; such traces are left out.
    """

    payoff: Payoff
    seed: int = 0

    def make(self) -> Payoff:
        """The payoff to be tested."""
        return self.payoff

    def accepts(self, planned: int | None, timed: bool) -> bool:
        """Whether the payoff can judge exercises with such a budget."""
        try:
            self.make()(Trace(*_NONE, 0, planned=planned, timed=timed))
        except InvalidInputError:
            return False
        return True

    def traces(self, rewards: tuple[float, float] = (-1.0, 1.0)) -> Iterator[Trace]:
        """Exercises of several lengths, budgets and endings, with rewards in a range."""
        for trace, planned in product(self._timed_traces(rewards), (None, 1, 2)):
            if planned is None and self.accepts(None, timed=True):
                yield trace
            elif planned is not None:
                number = planned * len(trace)  # all were completed, or half of them
                if self.accepts(number, timed=True):
                    yield replace(trace, planned=number)
                if self.accepts(number, timed=False):
                    end = int(trace.times[-1])
                    yield replace(trace, planned=number, timed=False, end_ns=end)

    def _timed_traces(self, rewards: tuple[float, float]) -> Iterator[Trace]:
        for length in (1, 2, 7, 100):
            rng = stream(self.seed, "suite", "trace", length).generator()
            times = np.cumsum(rng.integers(1, NANOSECONDS, size=length))
            last = int(times[-1])
            drawn = rng.uniform(*rewards, size=length)
            trace = Trace(drawn, times, last, lowest=rewards[0])
            yield trace
            yield replace(trace, end_ns=3 * last, ending=Ending.STOPPED)
            yield replace(trace, rewards=np.full(length, rewards[1]))
            yield replace(trace, rewards=np.full(length, rewards[0]), end_ns=last + 1)

    def test_empty_trace_has_a_payoff(self) -> None:
        """An exercise without any interaction has a finite payoff."""
        budgets = [each for each in product((None, 0, 5), (True, False)) if self.accepts(*each)]
        assert budgets, "The payoff judges no exercise, whatever its budget."
        for end, ending, (planned, timed) in product((0, NANOSECONDS), Ending, budgets):
            payoff = self.make()(Trace(*_NONE, end, ending, planned=planned, timed=timed))
            text = f"The payoff of an empty trace that ends at {end} ns is {payoff}."
            assert isfinite(payoff), f"{text} An agent that did nothing has a payoff too."

    def test_payoff_is_a_finite_number(self) -> None:
        """Every trace has a payoff."""
        for trace in self.traces():
            payoff = self.make()(trace)
            assert isinstance(payoff, float), f"The payoff {payoff!r} is not a float."
            assert isfinite(payoff), f"The payoff of {len(trace)} interactions is {payoff}."

    def test_payoff_depends_on_the_trace_only(self) -> None:
        """The same trace has the same payoff, whatever was computed before."""
        payoff, traces = self.make(), list(self.traces())
        first = [payoff(trace) for trace in traces]
        second = [payoff(trace) for trace in reversed(traces)][::-1]
        assert first == second, "A payoff is a pure function: it must not keep state."

    def test_payoff_lies_within_the_bounds(self) -> None:
        """No payoff is outside what ``bounds`` says for the range of rewards."""
        payoff = self.make()
        for rewards in ((-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)):
            low, high = payoff.bounds(rewards)
            assert low <= high, f"bounds({rewards}) is {(low, high)}."
            for value in map(payoff, self.traces(rewards)):
                text = f"With rewards in {rewards} a payoff was {value}, outside of {(low, high)}."
                assert low - 1e-9 <= value <= high + 1e-9, text

    def test_traces_are_not_modified(self) -> None:
        """A payoff does not write into the trace."""
        for trace in self.traces():
            rewards, times = trace.rewards.copy(), trace.times.copy()
            self.make()(trace)
            same = np.array_equal(rewards, trace.rewards) and np.array_equal(times, trace.times)
            assert same, "The payoff changed the arrays of the trace. Work on a copy."


# Lengths that are tried (numbers of interactions and times in seconds), and complexities.
LENGTHS = (0.0, 1e-6, 1e-3, 0.5, 1.0, 2.0, 7.0, 10.0, 100.0, 1e3, 1e4, 1e6, 1e9)
COMPLEXITIES = (0.0, 0.5, 1.0, 2.5, 3.0, 8.0, 8.01, 20.0, 64.0, 150.0, 1e3, 1e5)
CASES = tuple(product(LENGTHS, COMPLEXITIES))
ROUNDING = 1e-12  # differences that may be rounding, as a share of the value


class AdjustmentSuite:
    """The rules for adjustments, as tests: set ``adjustment``, or override ``make``."""

    adjustment: Adjustment

    def make(self) -> Adjustment:
        """The adjustment to be tested."""
        return self.adjustment

    def test_value_is_a_positive_finite_number(self) -> None:
        """Every length and complexity has a weight."""
        adjustment = self.make()
        for case in CASES:
            value = adjustment(*case)
            assert isinstance(value, float), f"The adjustment {value!r} {_at(*case)} is no float."
            assert isfinite(value), f"The adjustment {_at(*case)} is {value}."
            assert value > 0, f"The adjustment {_at(*case)} is {value}: good would count as bad."

    def test_value_lies_within_the_bounds(self) -> None:
        """No value is outside what ``bounds`` says; intervals of scores are made of it."""
        adjustment = self.make()
        low, high = adjustment.bounds()
        assert 0 <= low <= high, f"bounds() is {(low, high)}."
        for case in CASES:
            value = adjustment(*case)
            slack = ROUNDING * abs(value)
            text = f"The adjustment {_at(*case)} is {value}, outside of bounds() {(low, high)}."
            assert low - slack <= value <= high + slack, text

    def test_value_never_rises_with_the_length(self) -> None:
        """Definition 11: Φ(x, y) is decreasing in x; a constant one is accepted."""
        adjustment = self.make()
        for (shorter, longer), complexity in product(pairwise(LENGTHS), COMPLEXITIES):
            before, after = (adjustment(length, complexity) for length in (shorter, longer))
            assert after <= before + ROUNDING * abs(before), (
                f"The adjustment {_at(shorter, complexity)} is {before}, and {after} at "
                f"length {longer}. More time must not make a result count more."
            )

    def test_value_never_falls_with_the_complexity(self) -> None:
        """Definition 11: Φ(x, y) is increasing in y; a constant one is accepted."""
        adjustment = self.make()
        for length, (simpler, harder) in product(LENGTHS, pairwise(COMPLEXITIES)):
            before, after = (adjustment(length, complexity) for complexity in (simpler, harder))
            assert after >= before - ROUNDING * abs(before), (
                f"The adjustment {_at(length, simpler)} is {before}, and {after} at "
                f"complexity {harder}. A harder environment must not make a result count less."
            )

    def test_value_depends_on_its_arguments_only(self) -> None:
        """The same length and complexity have the same value, whatever was computed before."""
        adjustment = self.make()
        first = [adjustment(*case) for case in CASES]
        second = [adjustment(*case) for case in reversed(CASES)][::-1]
        assert first == second, "An adjustment is a pure function: it must not keep state."


def _at(length: float, complexity: float) -> str:
    return f"at length {length} and complexity {complexity}"
