"""An adaptive test as a third party writes it, with nothing but the contract."""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.contract import (
    Budget,
    Exercise,
    Interval,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    stream,
)
from omnimeter.contract.protocol import Design, Metric, Moment
from omnimeter.environments.cups import Cups
from omnimeter.payoffs import Average

CUPS = Cups()


class Staircase(Protocol):
    """A staircase: one cup more after a success, one fewer after a failure.

    Args:
        repetitions: How many staircases are climbed side by side.
        steps: How many exercises each of them has.
    """

    def __init__(self, repetitions: int = 3, steps: int = 4) -> None:
        self.repetitions = repetitions
        self.steps = steps

    def describe(self) -> Design:
        return Design(
            title="Staircase",
            unit="repetition",
            units=self.repetitions,
            length=10.0 * self.steps,
            environments="cups-v1",
            metrics=(Metric("successes", "Successes", "The share of successes.", "percent"),),
        )

    def settings(self) -> dict[str, str]:
        return {"Staircase": "one cup more or fewer after each exercise"}

    def payoff(self) -> Payoff:
        return Average()

    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def expected(self) -> int:
        return self.repetitions * self.steps

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        place = len(self._rounds(outcomes))
        if place == self.steps:
            return []
        done = {each.exercise.number for each in outcomes}
        numbers = range(place * self.repetitions, (place + 1) * self.repetitions)
        return [self._exercise(agent, n, outcomes) for n in numbers if n not in done]

    def _exercise(self, agent: Spec, number: int, outcomes: Sequence[Outcome]) -> Exercise:
        mine = [
            each
            for each in outcomes
            if each.exercise.number % self.repetitions == number % self.repetitions
        ]
        cups = max(3, 5 + sum(1 if (each.payoff or 0.0) > 0 else -1 for each in mine))
        instance = CUPS.draw(stream(0, "instance", number).generator(), cups)
        complexity = CUPS.complexity(instance)
        spec = Spec("cups-v1")
        return Exercise(agent, spec, instance, Budget(10), 0, number, complexity=complexity)

    def _rounds(self, outcomes: Sequence[Outcome]) -> list[list[Outcome]]:
        """The complete rounds."""
        by_number = {each.exercise.number: each for each in outcomes}
        rounds: list[list[Outcome]] = []
        for place in range(self.steps):
            numbers = range(place * self.repetitions, (place + 1) * self.repetitions)
            if not all(number in by_number for number in numbers):
                break
            rounds.append([by_number[number] for number in numbers])
        return rounds

    def values(self, outcomes: Sequence[Outcome], moments: int | None = None) -> dict[int, float]:
        rounds = self._rounds(outcomes)[:moments]
        if not rounds:
            return {}
        return {
            repetition: sum(done[repetition].payoff or 0.0 for done in rounds) / len(rounds)
            for repetition in range(self.repetitions)
        }

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        values = list(self.values(outcomes).values())
        if not values:
            return Score(None, None, 0)
        payoffs = [each.payoff or 0.0 for done in self._rounds(outcomes) for each in done]
        successes = sum(payoff > 0 for payoff in payoffs) / len(payoffs)
        mean = sum(values) / len(values)
        interval = Interval(min(values), max(values)) if len(values) > 1 else None
        return Score(mean, interval, len(payoffs), parts={"successes": successes})

    def course(self, outcomes: Sequence[Outcome]) -> list[Moment]:
        rounds, moments = self._rounds(outcomes), []
        for place, done in enumerate(rounds, start=1):
            score = self.score([each for one in rounds[:place] for each in one])
            level = sum(each.exercise.complexity for each in done) / len(done)
            moments.append(Moment(10.0 * place, 10.0, level, score.value or 0.0, score.interval))
        return moments
