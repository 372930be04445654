"""What the standard demands of a payoff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isfinite

import numpy as np

from omnimeter.contract import NANOSECONDS, Ending, Payoff, Trace, stream

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
            yield replace(trace, end=3 * last, ending=Ending.STOPPED)
            yield replace(trace, rewards=np.full(length, rewards[1]))
            yield replace(trace, rewards=np.full(length, rewards[0]), end=last + 1)

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
