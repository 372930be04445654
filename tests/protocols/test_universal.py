"""The parametric universal tests (anytime test, Definitions 10, 15 and 17)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata import FAIR, MATCH, Automata
from omnimeter.contract import (
    Claims,
    ClockKind,
    Ending,
    EnvironmentClass,
    Exercise,
    Fault,
    FaultKind,
    Instance,
    InvalidInputError,
    Outcome,
    Protocol,
    Score,
    Spec,
    Trace,
)
from omnimeter.estimation import mean
from omnimeter.execution import evaluate
from omnimeter.payoffs.parts import Share
from omnimeter.protocols import Evaluation
from omnimeter.protocols.evaluation import judge
from omnimeter.protocols.sample import Sample, balance_setting, check_balanced
from omnimeter.protocols.universal import (
    UniversalAdjusted,
    UniversalRewards,
    UniversalTimed,
    distinct_instances,
)
from omnimeter.reports import comparisons
from omnimeter.results import open_writer

AGENT, OTHER = Spec("random-v1"), Spec("constant-v1")
EIGHT = "cups-v1(min_cups=3, max_cups=3)"  # three cups, black or white
UNBALANCED = "buttons-v1(example=bananas)"
ALL = [
    UniversalRewards("cups-v1", 12, 10),
    UniversalAdjusted("cups-v1", 12, 10),
    UniversalTimed("cups-v1", 12, 10.0),
]


def done(exercise: Exercise, payoff: float | None, fault: FaultKind | None = None) -> Outcome:
    failed = None if fault is None else Fault(fault, "made up")
    ending = Ending.BUDGET if fault is None else Ending.FAULT
    return Outcome(exercise, payoff, 10, 0.0, 10, 10, ending, fault=failed)


def paid(protocol: Protocol, payoffs: Sequence[float], agent: Spec = AGENT) -> list[Outcome]:
    exercises = protocol.propose(agent, [])
    return [done(each, payoff) for each, payoff in zip(exercises, payoffs, strict=True)]


def ends(score: Score) -> tuple[float, float]:
    assert score.interval is not None
    return score.interval[:2]


# The set of environments


@pytest.mark.parametrize("protocol", ALL)
def test_the_environments_are_different_and_the_same_for_everybody(protocol):
    ours, theirs = protocol.propose(AGENT, []), protocol.propose(OTHER, [])
    assert len({each.instance.key for each in ours}) == len(ours) == protocol.expected() == 12
    assert [each.instance for each in ours] == [each.instance for each in theirs]
    assert [each.stream("environment") for each in ours] == [
        each.stream("environment") for each in theirs
    ]


@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=20)
def test_no_set_has_an_environment_twice(seed, count):
    drawn = UniversalRewards(EIGHT, exercises=count, seed=seed).instances
    assert len({instance.key for instance in drawn}) == count


@pytest.mark.parametrize(("environments", "number"), [(EIGHT, 8), ("buttons-v1", 1)])
def test_a_class_that_has_not_so_many_says_how_many(environments, number):
    test = UniversalRewards(environments, exercises=number + 1)
    with pytest.raises(InvalidInputError, match=f"after {number} there was no new one") as caught:
        list(test.propose(AGENT, []))
    assert f"Ask for {number} exercises" in caught.value.advice


class Urn(EnvironmentClass):
    """Four environments of unequal probability, graded by it."""

    probabilities = (0.5, 0.25, 0.15, 0.1)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"ball": int(rng.choice(len(self.probabilities), p=self.probabilities))})

    def complexity(self, instance: Instance) -> float:
        return float(-np.log2(self.probabilities[instance.data["ball"]]))

    def build(self, instance: Instance):
        raise NotImplementedError


def balls(urn: Urn, seed: int, count: int) -> list[int]:
    drawn = distinct_instances(urn, Spec("urn-v1"), seed, count)
    return [instance.data["ball"] for instance in drawn]


def test_sets_are_extracted_with_the_probabilities_of_the_class():
    repetitions = 4000
    pairs = [balls(Urn(), seed, 2) for seed in range(repetitions)]
    counts = Counter(frozenset(pair) for pair in pairs)
    probabilities = Urn.probabilities
    for pair, count in counts.items():
        one, other = (probabilities[ball] for ball in pair)
        expected = one * other * (1 / (1 - one) + 1 / (1 - other))
        error = (expected * (1 - expected) / repetitions) ** 0.5
        assert abs(count / repetitions - expected) < 4 * error
    assert len(counts) == 6


def test_an_unfinished_test_has_met_a_fair_part_of_the_set():
    """Frequent environments are drawn early, but not met early."""
    repetitions = 2000
    places = [balls(Urn(), seed, 4).index(0) for seed in range(repetitions)]
    assert np.bincount(places, minlength=4) / repetitions == pytest.approx([0.25] * 4, abs=0.04)


# Definition 10: the mean of accumulated rewards


def test_definition_10_is_the_mean_accumulated_reward():
    test = UniversalRewards("cups-v1", exercises=4, interactions=10)
    score = test.score(paid(test, [10.0, -2.0, 0.0, 4.0]))
    assert score.value == 3.0
    assert test.payoff()(Trace(np.array([0.5, 1.0, -0.25]), np.arange(1, 4), 3)) == 1.25


def test_definition_10_knows_what_so_many_rewards_can_make():
    test = UniversalRewards("cups-v1", exercises=4, interactions=10)
    assert test.bounds() == (-10.0, 10.0)
    one = test.score(paid(test, [1.0] * 4)[:1])
    assert ends(one) == pytest.approx((1 - 11 * 39 / 40, 1 + 9 * 39 / 40))
    assert UniversalRewards(UNBALANCED, 1, interactions=7).bounds() == (0.0, 7.0)


# Definition 15: the mean of adjusted average rewards


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=6))
def test_definition_15_without_adjustment_is_the_plain_sample(payoffs):
    test = UniversalAdjusted("cups-v1", exercises=6, interactions=10)
    plain = Sample("cups-v1", exercises=6, interactions=10)
    outcomes = paid(test, payoffs)
    assert test.score(outcomes) == plain.score(outcomes)
    assert test.values(outcomes) == {}
    assert test.bounds() == plain.bounds()


def test_definition_15_by_hand():
    test = UniversalAdjusted("cups-v1", 3, interactions=10, adjustment="share(scale=2)")
    outcomes = paid(test, [1.0, -0.5, 0.25])
    graded = [
        replace(outcome, exercise=replace(outcome.exercise, complexity=complexity))
        for outcome, complexity in zip(outcomes, [3.0, 4.0, 7.0], strict=True)
    ]
    # (1 + y) / (1 + y + 10 / 2) is 4/9, 5/10 and 8/13
    values = [4 / 9, -1 / 4, 2 / 13]
    assert test.score(graded).value == pytest.approx(sum(values) / 3)
    assert list(test.values(graded).values()) == pytest.approx(values)
    assert [outcome.payoff for outcome in graded] == [1.0, -0.5, 0.25]
    assert ends(test.score(graded)) == pytest.approx(ends_of_mean(values))


def ends_of_mean(values: Sequence[float]) -> tuple[float, float]:
    estimate = mean(values, support=(-1.0, 1.0))
    return estimate.low, estimate.high


def test_stopping_after_a_good_reward_does_not_pay():
    trace = Trace(np.array([1.0]), np.array([1]), 1, Ending.STOPPED, planned=20, timed=False)
    test = UniversalAdjusted("cups-v1", 1, interactions=20)
    assert test.payoff()(trace) == 1 / 20
    nothing = Trace(np.zeros(0), np.zeros(0, dtype=np.int64), 0, planned=20, timed=False)
    assert test.payoff()(nothing) == 0.0


def test_comparisons_are_made_of_adjusted_values():
    test = UniversalAdjusted("cups-v1", 8, interactions=10, adjustment="share-v1")
    rng = np.random.default_rng(3)
    ours = paid(test, rng.uniform(0, 1, size=8).tolist())
    theirs = paid(test, rng.uniform(-1, 0, size=8).tolist(), OTHER)
    result = judge(test, {AGENT: ours, OTHER: theirs}, complete=True)
    (compared,) = comparisons(result)
    expected = [
        Share()(10, one.exercise.complexity) * (two.payoff - one.payoff)
        for one, two in zip(ours, theirs, strict=True)
    ]
    assert compared.difference == pytest.approx(np.mean(expected))
    assert compared.count == 8


# Definition 17: time


def test_definition_17_adjusts_by_the_time():
    test = UniversalTimed("cups-v1", 2, seconds=0.5, adjustment="logarithmic-v1")
    outcomes = paid(test, [1.0, 0.5])
    factors = [np.log2(2 + y) / np.log2(2.5 + y) for y in complexities(outcomes)]
    assert list(test.values(outcomes).values()) == pytest.approx([factors[0], 0.5 * factors[1]])
    assert test.score(outcomes).value == pytest.approx((factors[0] + 0.5 * factors[1]) / 2)


def complexities(outcomes: Sequence[Outcome]) -> list[float]:
    return [outcome.exercise.complexity for outcome in outcomes]


def test_definition_17_counts_with_diminishing_history_by_default():
    rewards, times = np.array([1.0, 0.5]), np.array([1, 2])
    rested = Trace(rewards, times, 4)  # half the time since the last action: one cycle counts
    assert UniversalTimed("cups-v1").payoff()(rested) == 1.0
    assert UniversalTimed("cups-v1", payoff="average-v1").payoff()(rested) == 0.75


def test_time_is_the_agents_own_unless_it_is_declared():
    (real, *_) = UniversalTimed("cups-v1", 2, seconds=0.25).propose(AGENT, [])
    declared = UniversalTimed("cups-v1", 2, seconds=0.25, clock="virtual", tick=0.01)
    (virtual, *_) = declared.propose(AGENT, [])
    assert (real.clock.kind, real.budget.seconds) == (ClockKind.WALL, 0.25)
    assert (virtual.clock.kind, virtual.clock.tick) == (ClockKind.VIRTUAL, 0.01)


def test_payoffs_without_bounds_stay_without_bounds():
    test = UniversalTimed("cups-v1", 4, payoff="total-v1", adjustment="share-v1")
    assert test.bounds() == (-inf, inf)
    assert ends(test.score(paid(test, [5.0, 7.0, 1.0, 2.0])[:1])) == (-inf, inf)


# Faults, refusals


@pytest.mark.parametrize("protocol", ALL)
def test_the_agents_own_faults_widen_the_interval(protocol):
    first, second, *rest = paid(protocol, [0.1, 0.2] * 6)
    plain = protocol.score([second, *rest])
    failed = protocol.score([done(first.exercise, None, FaultKind.AGENT_ERROR), second, *rest])
    unlucky = protocol.score([done(first.exercise, None, FaultKind.INFRASTRUCTURE), second, *rest])
    assert failed.value == unlucky.value == plain.value
    assert ends(unlucky) == ends(plain)
    assert ends(failed)[0] < ends(plain)[0] < ends(plain)[1] < ends(failed)[1]
    assert failed.faults == {"agent-error": 1}


@pytest.mark.parametrize("test", [UniversalAdjusted, UniversalTimed])
def test_an_unbalanced_class_is_an_error_and_can_be_insisted_on(test):
    unbalanced = test(UNBALANCED, 1)
    for _ in range(2):  # asking again does not help
        with pytest.raises(InvalidInputError, match="not balanced") as caught:
            unbalanced.propose(AGENT, [])
    assert "omnimeter audit" in caught.value.advice
    insisted = test(UNBALANCED, 1, unbalanced=True)
    assert insisted.score(paid(insisted, [0.5])).parts["unbalanced"] is True


def test_balance_is_recorded_only_where_it_was_waived_and_not_needed_for_definition_10():
    balanced = UniversalAdjusted("cups-v1", 1)
    assert "unbalanced" not in balanced.score(paid(balanced, [0.5])).parts
    assert UniversalRewards(UNBALANCED, 1).score([]).parts == {}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: UniversalRewards("cups-v1", exercises=0),
        lambda: UniversalRewards("cups-v1", interactions=0),
        lambda: UniversalAdjusted("cups-v1", interactions=-1),
        lambda: UniversalAdjusted("cups-v1", adjustment="share(scale=0)"),
        lambda: UniversalTimed("cups-v1", seconds=0.0),
        lambda: UniversalTimed("cups-v1", seconds=float("nan")),
        lambda: UniversalTimed("cups-v1", tick=0.0),
    ],
)
def test_wrong_parameters_are_errors_with_advice(wrong):
    with pytest.raises(InvalidInputError) as caught:
        wrong()
    assert caught.value.advice


@pytest.mark.parametrize("body", ["-1.0", "0.0", "float('nan')"])
def test_a_wrong_adjustment_raises_before_an_agent_acts(tmp_path, body):
    file = tmp_path / "phi.py"
    file.write_text(
        "class Phi:\n"
        f"    def __call__(self, length, complexity):\n        return {body}\n"
        "    def bounds(self):\n        return 0.0, 1.0\n"
    )
    test = UniversalAdjusted("cups-v1", adjustment=f"{file}:Phi")
    with pytest.raises(InvalidInputError, match="adjustment is"):
        next(iter(test.propose(AGENT, [])))


def test_an_adjustment_above_one_keeps_its_values_within_the_bounds(tmp_path):
    file = tmp_path / "phi.py"
    file.write_text(
        "class Phi:\n    def __call__(self, length, complexity):\n        return 3.0\n"
        "    def bounds(self):\n        return 3.0, 3.0\n"
    )
    test = UniversalAdjusted("cups-v1", 2, adjustment=f"{file}:Phi")
    assert test.bounds() == (-3.0, 3.0)
    assert list(test.values(paid(test, [0.5, 1.0])).values()) == [1.5, 3.0]


# The whole way


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("universal-rewards-v1", {"interactions": 20}),
        ("universal-adjusted-v1", {"interactions": 20, "adjustment": "share(scale=10)"}),
        ("universal-timed-v1", {"seconds": 5.0, "clock": "virtual", "tick": 0.25}),
    ],
)
def test_they_run(tmp_path, name, parameters):
    test = Spec(name, {"environment_class": "cups-v1", "exercises": 6, **parameters})
    evaluation = Evaluation(test, (AGENT, Spec("cup-presser-v1", {"choice": "first"})))
    with open_writer(tmp_path / "e", evaluation.to_json()) as writer:
        result = evaluate(evaluation, writer)
    assert result.complete
    for agent, score in result.scores.items():
        assert all(each.interactions == 20 for each in result.outcomes[agent])
        values = result.values.get(agent) or [each.payoff for each in result.outcomes[agent]]
        numbers = list(values.values()) if isinstance(values, dict) else values
        assert score.value == pytest.approx(np.mean(numbers))
        assert score.count == 6


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 12])
def test_the_interval_covers_the_expected_score(count):
    """Sets without repetition differ less than independent draws: it is rather too long."""

    class Bag(Urn):
        probabilities = tuple(np.arange(1.0, 41.0) ** -2 / np.sum(np.arange(1.0, 41.0) ** -2))

    worth = np.random.default_rng(0).uniform(-1, 1, size=40)
    rng = np.random.default_rng(1)
    sets = [balls(Bag(), seed, count) for seed in range(4000)]
    expected = np.mean([np.mean(worth[drawn]) for drawn in sets])
    hits = 0
    for drawn in sets:
        estimate = mean(np.clip(worth[drawn] + rng.normal(0, 0.3, size=count), -2, 2))
        hits += estimate.low <= expected <= estimate.high
    assert hits / len(sets) >= 0.95


@pytest.mark.parametrize(
    ("claimed", "said"),
    [(True, "the class claims it"), ("limit", "the class claims it in the long run only")],
)
def test_both_senses_of_balance_are_accepted_and_told(claimed: Any, said: str) -> None:
    turns = Automata(MATCH, FAIR, Claims(balanced=claimed))
    check_balanced(turns, Spec("turns-v1"))
    assert balance_setting(turns) == {"Balance": said}


def test_what_claims_no_balance_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="is not balanced"):
        check_balanced(Automata(MATCH, FAIR, Claims(balanced=False)), Spec("turns-v1"))
