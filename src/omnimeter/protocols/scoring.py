"""The mean payoff over the parts of a test, with an interval that faults can only widen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite

from omnimeter.contract import Interval, Outcome, Score, is_own_fault
from omnimeter.statistics import Estimate, stratified_mean

Paid = tuple[int, float]
"""The part of the test that an exercise belongs to, and what the exercise was worth."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the outcomes of a test with fixed parts become a score.

    Exercise k belongs to part ``k % parts``. All parts have the same weight.

    Attributes:
        parts: How many parts there are, such as levels of complexity.
        bounds: Between which numbers every payoff lies.
    """

    parts: int
    bounds: tuple[float, float]

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff with its 95 % interval.

        Parts are strata: how far they lie apart is no uncertainty. A fault of the agent's own may
        well hide a bad payoff, or a good one. So its exercise has no payoff, and the interval
        reaches from where it lies if all of these had been worth the least, to where it lies if
        they had been worth the most: an agent gains nothing by failing.
        """
        faults = Counter(str(each.fault.kind) for each in outcomes if each.fault is not None)
        paid = [(self._part(each), each.payoff) for each in outcomes if each.payoff is not None]
        if not paid:
            return Score(None, None, 0, faults)
        hidden = [self._part(each) for each in outcomes if is_own_fault(each)]
        lowest, highest = self.bounds
        support = (  # a class that breaks its own range is for the audit to find
            min(lowest, *(payoff for _, payoff in paid)),
            max(highest, *(payoff for _, payoff in paid)),
        )
        found = self._estimate(paid, support)
        low, high = found.low, found.high
        if hidden:
            worst, best = ([(part, end) for part in hidden] for end in support)
            least = self._estimate(paid + worst, support).low if isfinite(lowest) else -inf
            most = self._estimate(paid + best, support).high if isfinite(highest) else inf
            low, high = min(low, least), max(high, most)
        return Score(found.value, Interval(low, high, found.level), found.count, faults)

    def _part(self, outcome: Outcome) -> int:
        return outcome.exercise.number % self.parts

    def _estimate(self, paid: Sequence[Paid], support: tuple[float, float]) -> Estimate:
        """The mean over the parts. A part without any payoff may be worth anything.

        As long as no part has two payoffs, the spread inside parts is not known, and all are taken
        as one sample. How far the parts lie apart then counts as uncertainty too: the interval is
        rather too long than too short.
        """
        present: dict[int, list[float]] = {}
        for part, payoff in paid:
            present.setdefault(part, []).append(payoff)
        groups = [present[part] for part in sorted(present)]
        if all(len(group) == 1 for group in groups):
            groups = [[payoff for group in groups for payoff in group]]
        found = stratified_mean(groups, support=support)
        unknown = self.parts - len(present)
        if not unknown:
            return found
        low, high = (
            (end * len(present) + edge * unknown) / self.parts
            for end, edge in zip((found.low, found.high), support, strict=True)
        )
        return replace(found, low=min(low, found.low), high=max(high, found.high))
