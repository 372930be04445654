"""What the standard demands of a class that says more about its complexities (§3.9)."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from numbers import Real
from typing import Any

from omnimeter.contract import Instance, stream
from omnimeter.testing.drawing import DrawingRules

HALF = 0.5
"""Bands reach so far to both sides of a complexity that there is."""

MOST = 2000
"""Instances of a band that are listed at most."""


class BandRules(DrawingRules):
    """How instances are drawn from a band of complexities, and listed."""

    def bands(self) -> Iterator[tuple[Instance, float, float]]:
        """Some instances, and the ends of a band in which each lies."""
        for instance in self.drawn_instances():
            grade: Any = self.make().complexity(instance)
            if isinstance(grade, Real):  # what is no number is found by another rule
                yield instance, float(grade) - HALF, float(grade) + HALF

    def test_complexity_range(self) -> None:
        """There is a lowest complexity, and none above the highest."""
        low, high = self.make().complexity_range()
        assert isfinite(low), f"The lowest complexity is {low}: give a finite number."
        assert low <= high, f"Complexities go from {low} to {high}: give the lowest first."

    def test_draws_between_stay_between(self) -> None:
        """What is drawn from a band lies in it, and a band that has something gives something."""
        for number, (_, low, high) in enumerate(self.bands()):
            least, most = self.make().complexity_range()
            rng = stream(self.seed, "suite", "band", number).generator()
            drawn = self.make().draw_between(rng, low, high)
            if drawn is None:
                outside = high < least or low > most
                assert outside, (
                    f"Nothing is drawn between {low} and {high}, but there is something."
                )
                continue
            found = self.make().complexity(drawn)
            assert low <= found <= high, (
                f"Between {low} and {high} an instance of {found} is drawn."
            )

    def test_lists_are_complete(self) -> None:
        """A band that can be listed has every instance once, always in the same order."""
        for instance, low, high in self.bands():
            listed = self.make().members(low, high, MOST)
            if listed is None:
                continue
            keys = [each.key for each in listed]
            least, most = self.make().complexity_range()
            assert len(keys) <= MOST, f"{len(keys)} instances are listed where {MOST} may be."
            assert len(set(keys)) == len(keys), "An instance is listed twice."
            known = instance.key in keys or not least <= self.make().complexity(instance) <= most
            assert known, f"{instance.data} is drawn, but not listed between {low} and {high}."
            again = [each.key for each in self.make().members(low, high, MOST) or ()]
            assert again == keys, "The same band is listed in another order, or has other members."
