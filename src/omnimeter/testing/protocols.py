"""The conformance suite for protocols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose, isfinite

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    Trace,
    stream,
)
from omnimeter.contract.exercise import nanoseconds


def synthetic_outcome(exercise: Exercise, payoff: Payoff) -> Outcome:
    """A possible outcome of an exercise; always the same for the same one."""
    rng = stream(0, "made up", exercise.key).generator()
    environment_class = make(Kind.ENVIRONMENT, exercise.environment_class)
    low, high = environment_class.build(exercise.instance).rewards
    budget, limit = exercise.budget, 20
    rewards = rng.uniform(low, high, size=min(budget.max_interactions, limit))
    timed = budget.seconds is not None
    tick = max(1, budget.end_ns // (limit + 1)) if timed else nanoseconds(exercise.clock.tick)
    last = tick * len(rewards)
    times = tick * np.arange(1, len(rewards) + 1)
    end = budget.end_ns if timed else last
    value, total = payoff(Trace(rewards, times, end)), float(rewards.sum())
    return Outcome(exercise, value, len(rewards), total, last, end, Ending.BUDGET)


class ProtocolSuite:
    """The rules for protocols, as tests.

    Set ``protocol``, or override ``make``. The exercises that it proposes are not run: their
    outcomes are synthetic. Their environment classes must be in the catalogue.

    Attributes:
        agent: The agent of the exercises.
        rounds: The number of proposals by which it must have ended.
    """

    protocol: Protocol
    agent: Spec = Spec("random-v1")
    rounds: int = 1000

    def make(self) -> Protocol:
        """The protocol to be tested."""
        return self.protocol

    def course(self) -> Iterator[tuple[list[Outcome], Sequence[Exercise]]]:
        """The outcomes so far and the exercises that are proposed then, until the test ends."""
        protocol = self.make()
        outcomes: dict[str, Outcome] = {}
        for _ in range(self.rounds):
            so_far = list(outcomes.values())
            proposed = protocol.propose(self.agent, so_far)
            yield so_far, proposed
            new = [exercise for exercise in proposed if exercise.key not in outcomes]
            if not new:
                return
            for exercise in new:
                outcomes[exercise.key] = synthetic_outcome(exercise, protocol.payoff())
        raise AssertionError(
            f"After {self.rounds} proposals there are still new exercises. A test must end: "
            "propose nothing new when it is over."
        )

    def test_comes_to_an_end(self) -> None:
        """There are exercises at first, and no new ones after some rounds."""
        (_, first), *_ = self.course()
        assert first, "Nothing is proposed to an agent without outcomes."

    def test_proposals_are_pure(self) -> None:
        """The same outcomes, in whatever order, give the same exercises."""
        for number, (outcomes, proposed) in enumerate(self.course()):
            keys = [exercise.key for exercise in proposed]
            for order in (outcomes, self._shuffled(outcomes, number)):
                again = [each.key for each in self.make().propose(self.agent, order)]
                assert again == keys, (
                    f"After {len(outcomes)} outcomes a second call of propose differed, or their "
                    "order made a difference. propose is a pure function of the outcomes."
                )

    def test_exercises_are_distinct(self) -> None:
        """Every exercise has a number of its own and is proposed once at a time."""
        numbers: dict[int, str] = {}
        for _, proposed in self.course():
            keys = [exercise.key for exercise in proposed]
            assert len(set(keys)) == len(keys), "One exercise is proposed twice at a time."
            for exercise in proposed:
                known = numbers.setdefault(exercise.number, exercise.key)
                assert known == exercise.key, (
                    f"Two exercises have the number {exercise.number}: they would share their "
                    "random stream. Number the exercises of an agent one by one."
                )

    def test_exercises_are_the_agents_own(self) -> None:
        """What is proposed to an agent is for that agent."""
        for _, proposed in self.course():
            wrong = [exercise for exercise in proposed if exercise.agent != self.agent]
            assert not wrong, f"An exercise for {wrong[0].agent} was proposed to {self.agent}."

    def test_expected_number_is_right(self) -> None:
        """Where the number of exercises is known beforehand, it is right."""
        expected = self.make().expected()
        if expected is not None:
            *_, (outcomes, _) = self.course()
            assert len(outcomes) == expected, (
                f"expected() says {expected} exercises, and {len(outcomes)} were taken. "
                "Return None if it cannot be known."
            )

    def test_score_at_any_moment(self) -> None:
        """There is a score for no outcomes, for some and for all."""
        for outcomes, _ in self.course():
            for count in {0, len(outcomes) // 2, len(outcomes)}:
                _check_score(self._score(outcomes[:count]), count)

    def test_score_survives_faults(self) -> None:
        """An exercise without a payoff does not remove the others from the score."""
        *_, (outcomes, _) = self.course()
        fault = Fault(FaultKind.INFRASTRUCTURE, "synthetic")
        failed = Outcome(outcomes[0].exercise, None, 0, 0.0, 0, 0, Ending.FAULT, fault=fault)
        for some in ([failed], [failed, *outcomes[1:]]):
            _check_score(self._score(some), len(some))

    def test_score_does_not_depend_on_the_order(self) -> None:
        """The same outcomes in another order have the same score, up to rounding."""
        for number, (outcomes, _) in enumerate(self.course()):
            one = self._score(outcomes).value
            other = self._score(self._shuffled(outcomes, number)).value
            text = f"The score is {one} in one order of the outcomes and {other} in another."
            same = None not in (one, other) and isclose(one, other, abs_tol=1e-9)  # type: ignore[arg-type]
            assert same or one == other, text

    def _score(self, outcomes: Sequence[Outcome]) -> Score:
        try:
            return self.make().score(outcomes)
        except Exception as error:
            faults = sum(outcome.payoff is None for outcome in outcomes)
            raise AssertionError(
                f"score raised {type(error).__name__} for {len(outcomes)} outcomes, of which "
                f"{faults} have no payoff: {error}. There is a score at any moment."
            ) from error

    def _shuffled(self, outcomes: Sequence[Outcome], number: int) -> list[Outcome]:
        order = stream(0, "suite", "shuffle", number).generator().permutation(len(outcomes))
        return [outcomes[number] for number in order]


def _check_score(score: Score, outcomes: int) -> None:
    assert isinstance(score, Score), f"score returned {score!r}, not a Score."
    assert 0 <= score.count <= outcomes, f"{score.count} of {outcomes} outcomes are counted."
    if score.value is None:
        return
    assert outcomes > 0, f"No outcomes have the score {score.value}. Return None instead."
    assert isfinite(score.value), f"The score of {outcomes} outcomes is {score.value}."
    if score.interval is not None:
        low, high, confidence, _ = score.interval
        text = f"The interval {low} to {high} does not contain the score {score.value}."
        assert low <= score.value <= high, text
        assert 0 < confidence < 1, f"The confidence of the interval is {confidence}."
