"""A protocol and a payoff that keep every rule, and others that break one each."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from omnimeter.contract import (
    Budget,
    EnvironmentClass,
    Exercise,
    Interval,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    Trace,
    stream,
)
from omnimeter.environments.cups import Cups
from omnimeter.payoffs import Average, Total

CUPS: EnvironmentClass = Cups()


class Ladder(Protocol):
    """Keeps every rule: one exercise after the other, harder when things went well."""

    steps = 6

    def payoff(self) -> Payoff:
        return Average()

    def expected(self) -> int | None:
        return self.steps

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Sequence[Exercise]:
        number = len(outcomes)
        if number >= self.steps:
            return []
        good = sum(outcome.payoff is not None and outcome.payoff > 0 for outcome in outcomes)
        return [self.exercise(agent, number, 3 + good)]

    def exercise(self, agent: Spec, number: int, complexity: int) -> Exercise:
        instance = CUPS.draw(stream(0, "instance", number).generator(), complexity)
        return Exercise(agent, Spec("cups-v1"), instance, Budget(10), seed=0, number=number)

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        payoffs = [outcome.payoff for outcome in outcomes if outcome.payoff is not None]
        if not payoffs:
            return Score(None, None, 0)
        value = sum(payoffs) / len(payoffs)
        return Score(value, Interval(min(payoffs), max(payoffs)), len(payoffs))


class Idle(Ladder):
    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Sequence[Exercise]:
        return []


class Endless(Ladder):
    steps = 10**9


class Impressionable(Ladder):
    """Only the last outcome counts."""

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Sequence[Exercise]:
        last = round(1000 * (outcomes[-1].payoff or 0)) if outcomes else 0
        return [
            self.exercise(agent, each.number, 3 + last % 7)
            for each in super().propose(agent, outcomes)
        ]


class Mindful(Ladder):
    """Remembers having been asked."""

    asked = 0

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Sequence[Exercise]:
        type(self).asked += 1
        return [
            self.exercise(agent, each.number, 3 + self.asked)
            for each in super().propose(agent, outcomes)
        ]


class Numberless(Ladder):
    def exercise(self, agent: Spec, number: int, complexity: int) -> Exercise:
        instance = CUPS.draw(stream(0, "instance", number).generator(), complexity)
        return Exercise(agent, Spec("cups-v1"), instance, Budget(10 + number), seed=0, number=0)


class Confused(Ladder):
    def exercise(self, agent: Spec, number: int, complexity: int) -> Exercise:
        return super().exercise(Spec("another-v1"), number, complexity)


class Overstated(Ladder):
    def expected(self) -> int | None:
        return self.steps + 1


class Generous(Ladder):
    def score(self, outcomes: Sequence[Outcome]) -> Score:
        return super().score(outcomes) if outcomes else Score(0.0, None, 0)


class Brittle(Ladder):
    def score(self, outcomes: Sequence[Outcome]) -> Score:
        if not outcomes:
            return Score(None, None, 0)
        mean = sum(outcome.payoff for outcome in outcomes) / len(outcomes)  # type: ignore[misc]
        return Score(mean, None, len(outcomes))


class FirstImpression(Ladder):
    def score(self, outcomes: Sequence[Outcome]) -> Score:
        return Score(outcomes[0].payoff, None, 1) if outcomes else Score(None, None, 0)


BROKEN_PROTOCOLS: dict[str, tuple[type[Protocol], set[str]]] = {
    # The rule, the protocol that breaks it, and the rules that it cannot but break too.
    "test_comes_to_an_end": (Idle, {"test_expected_number_is_right", "test_score_survives_faults"}),
    "test_proposals_are_pure": (Impressionable, set()),
    "test_exercises_are_distinct": (Numberless, set()),
    "test_exercises_are_the_agents_own": (Confused, set()),
    "test_expected_number_is_right": (Overstated, set()),
    "test_score_at_any_moment": (Generous, set()),
    "test_score_survives_faults": (Brittle, set()),
    "test_score_does_not_depend_on_the_order": (FirstImpression, set()),
}


class Undefined(Total):
    def __call__(self, trace: Trace) -> float:
        return super().__call__(trace) if len(trace) else nan


class Rounded(Total):
    def __call__(self, trace: Trace) -> float:
        return round(super().__call__(trace))


class Hoarding(Total):
    seen = 0

    def __call__(self, trace: Trace) -> float:
        type(self).seen += 1
        return super().__call__(trace) + 1e-12 * self.seen


class Presumptuous(Total):
    def bounds(self, rewards: tuple[float, float]) -> tuple[float, float]:
        return rewards


class Meddling(Total):
    def __call__(self, trace: Trace) -> float:
        trace.times[:] += 1
        return super().__call__(trace)


BROKEN_PAYOFFS: dict[str, tuple[type, set[str]]] = {
    "test_empty_trace_has_a_payoff": (Undefined, set()),
    "test_payoff_is_a_finite_number": (Rounded, set()),
    "test_payoff_depends_on_the_trace_only": (Hoarding, set()),
    "test_payoff_lies_within_the_bounds": (Presumptuous, set()),
    "test_traces_are_not_modified": (Meddling, set()),
}
