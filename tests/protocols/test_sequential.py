"""Intervals that hold however a fixed test was stopped, and tests that stop when one is short."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from omnimeter.contract import Ending, Exercise, Fault, FaultKind, InvalidInputError, Outcome, Spec
from omnimeter.estimation import difference_sequence, mean_sequence
from omnimeter.execution import Observer, Options, evaluate
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.protocols.battery import Battery
from omnimeter.protocols.evaluation import judge
from omnimeter.protocols.sample import Sample, cycle_means
from omnimeter.protocols.universal import UniversalAdjusted
from omnimeter.reports import comparisons
from omnimeter.reports.comparisons import Verdict
from omnimeter.reports.summary import precision_sentence, stopped_sentence
from omnimeter.results import Record, open_writer

AGENT, OTHER = Spec("random-v1"), Spec("constant-v1")
OWN, LOST = Fault(FaultKind.AGENT_ERROR, "oh"), Fault(FaultKind.INFRASTRUCTURE, "gone")
BATTERY = {
    "title": "Two unequal ones",
    "exercises": [
        {"environment_class": "cups", "interactions": 10},
        {"environment_class": "cups", "interactions": 20, "complexity": 8},
    ],
}


def outcome(exercise: Exercise, payoff: float | None, fault: Fault | None = None) -> Outcome:
    ending = Ending.FAULT if fault else Ending.BUDGET
    return Outcome(exercise, None if fault else payoff, 10, 0.0, 10, 10, ending, fault=fault)


def paid(test, payoffs, agent=AGENT):
    return [outcome(*each) for each in zip(test.propose(agent, []), payoffs, strict=False)]


def ends(estimate):
    return estimate.low, estimate.high


def uniform(count: int) -> list[float]:
    return np.random.default_rng(4).uniform(-0.5, 0.9, count).tolist()


@pytest.mark.parametrize("test", [Sample, UniversalAdjusted])
def test_a_score_has_the_interval_that_always_holds(test):
    sample = test("cups-v1", exercises=30, interactions=10)
    payoffs = uniform(30)
    watched = sample.score(paid(sample, payoffs)).parts["watched"]
    assert watched == ends(mean_sequence(payoffs, support=(-1, 1)))


def test_the_order_is_that_of_the_numbers_up_to_the_first_that_is_missing():
    sample = Sample("cups-v1", exercises=30, interactions=10)
    payoffs = uniform(30)
    done = paid(sample, payoffs)
    early = [each for each in reversed(done) if each.exercise.number != 20]
    assert sample.score(early).parts["watched"] == ends(
        mean_sequence(payoffs[:20], support=(-1, 1))
    )
    lost = [*done[:7], outcome(done[7].exercise, None, LOST), *done[8:]]
    without = [*payoffs[:7], *payoffs[8:]]
    assert sample.score(lost).parts["watched"] == ends(mean_sequence(without, support=(-1, 1)))


def test_faults_of_its_own_may_be_worth_anything_at_any_time():
    sample = Sample("cups-v1", exercises=30, interactions=10)
    payoffs = uniform(30)
    done = paid(sample, payoffs)
    failed = [*done[:7], outcome(done[7].exercise, None, OWN), *done[8:]]
    low, high = (
        mean_sequence([*payoffs[:7], end, *payoffs[8:]], support=(-1, 1)) for end in (-1, 1)
    )
    assert sample.score(failed).parts["watched"] == (low.low, high.high)


@pytest.mark.parametrize("kind", ["complexities", "battery"])
def test_the_unit_of_a_test_with_parts_is_a_cycle_through_them(kind):
    test = (
        Sample("cups-v1", exercises=40, interactions=10, complexity=[3, 6])
        if kind == "complexities"
        else Battery(BATTERY, tests=20)
    )
    payoffs = [0.1 * (number % 2) for number in range(40)]  # nothing but parts that lie apart
    watched = test.score(paid(test, payoffs)).parts["watched"]
    assert watched == pytest.approx(ends(mean_sequence([0.05] * 20, support=(-1, 1))))


def test_cycles():
    numbers = np.array([7, 5, 4, 3, 2, 1, 0])  # in any order
    payoffs = np.array([1.0, 0.5, 0.0, np.nan, 0.0, 1.0, 0.0])
    assert cycle_means(numbers, payoffs, 2).tolist() == [0.5, 0.25]
    assert cycle_means(numbers, payoffs, 3).tolist() == [pytest.approx(1 / 3)]
    assert cycle_means(numbers, payoffs, 1).tolist() == [0.0, 1.0, 0.0, 0.0, 0.5]
    assert cycle_means(numbers[:0], payoffs[:0], 1).tolist() == []


def test_before_a_cycle_is_complete_all_is_possible():
    sample = Sample("cups-v1", exercises=4, interactions=10, complexity=[3, 6])
    assert sample.score(paid(sample, [0.5])).parts["watched"] == (-1, 1)


def test_unbounded_payoffs_have_no_such_interval():
    unbounded = Sample("cups-v1", exercises=4, interactions=10, payoff="total-v1")
    assert "watched" not in unbounded.score(paid(unbounded, [1.0, 2.0])).parts


def stopped(complete: bool = False) -> tuple[Result, list[float], list[float]]:
    sample = Sample("cups-v1", exercises=60, interactions=10)
    ours, theirs = uniform(50), [each / 2 - 0.3 for each in uniform(40)]
    done = {AGENT: paid(sample, ours), OTHER: paid(sample, theirs, OTHER)}
    return judge(sample, done, complete), ours, theirs


def test_the_differences_of_a_run_that_was_stopped_hold_too():
    result, ours, theirs = stopped()
    (only,) = comparisons(result)
    expected = difference_sequence(theirs, ours[:40], 0.95, (-1, 1))
    assert only.watched == ends(expected)
    sentence = stopped_sentence(result, [only])
    assert "random-v1 (" in sentence
    assert "differences, all at once: constant-v1 minus random-v1 (" in sentence
    finished, *_ = stopped(complete=True)
    (only,) = comparisons(finished)
    assert only.watched is None
    assert stopped_sentence(finished, [only]) == ""


def test_differences_with_parts_go_by_cycles():
    test = Battery(BATTERY, tests=20)
    ours, theirs = uniform(31), [each / 3 for each in uniform(31)]
    done = {AGENT: paid(test, ours), OTHER: paid(test, theirs, OTHER)}
    (only,) = comparisons(judge(test, done, complete=False))
    first, second = (
        [(one + two) / 2 for one, two in zip(each[:30:2], each[1:30:2], strict=True)]
        for each in (ours, theirs)
    )
    sign = 1 if only.agent == AGENT else -1
    expected = difference_sequence(first, second, 0.95, (-1, 1))
    assert sorted(sign * each for each in only.watched) == pytest.approx(ends(expected))


# Precision as a goal.


def take(
    test: Sample, payoffs: list[float], agent: Spec = AGENT
) -> tuple[list[Outcome], list[int]]:
    """All blocks of a test, and how many exercises were done after each."""
    done: list[Outcome] = []
    totals = []
    while proposed := test.propose(agent, done):
        done += [outcome(each, payoffs[each.number]) for each in proposed]
        totals.append(len(done))
    return done, totals


def test_exercises_are_taken_in_growing_blocks_until_the_interval_is_short():
    test = Sample("cups-v1", interactions=10, precision=0.12)
    payoffs = uniform(10_000)
    done, totals = take(test, payoffs)
    assert totals[:5] == [20, 30, 45, 68, 102]
    lengths = [mean_sequence(payoffs[:total], support=(-1, 1)) for total in totals]
    halves = [(each.high - each.low) / 2 for each in lengths]
    assert halves[-2] > 0.12 >= halves[-1]
    score = test.score(done)
    assert score.interval[:2] == ends(lengths[-1])
    assert score.parts["precise"] is True
    assert test.expected() is None


def test_what_is_proposed_depends_on_the_outcomes_only():
    payoffs = uniform(300)
    done, _ = take(Sample("cups-v1", interactions=10, precision=0.12), payoffs)
    other = Sample("cups-v1", interactions=10, precision=0.12)
    early = [each for each in done[:45] if each.exercise.number not in (7, 33)]
    assert [each.number for each in other.propose(AGENT, early[::-1])] == [7, 33]
    assert other.propose(AGENT, done[::-1]) == []
    assert [each.exercise for each in done[:45]] == [
        each.exercise for each in take(Sample("cups-v1", 45, 10, precision=1e-9), payoffs)[0]
    ]


def test_the_number_of_exercises_is_the_most():
    test = Sample("cups-v1", 50, 10, precision=0.001)
    done, totals = take(test, uniform(50))
    assert totals == [20, 30, 45, 50]
    assert test.score(done).parts["precise"] is False


def test_blocks_are_whole_cycles():
    test = Sample("cups-v1", 100, 10, complexity=[3, 5, 6], precision=0.001)
    assert take(test, uniform(100))[1] == [21, 33, 51, 78, 100]


def test_an_agent_that_only_fails_is_not_asked_for_more():
    test = Sample("cups-v1", interactions=10, precision=0.1)
    done = [outcome(each, None, OWN) for each in test.propose(AGENT, [])]
    assert test.propose(AGENT, done) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"precision": 0.0}, "precision is 0"),
        ({"precision": float("nan")}, "precision is nan"),
        ({"precision": 0.1, "memory": "carried"}, "carried"),
        ({"precision": 0.1, "payoff": "total-v1"}, "without bounds"),
    ],
)
def test_what_cannot_be_is_an_error(wrong, words):
    with pytest.raises(InvalidInputError, match=words) as caught:
        Sample("cups-v1", interactions=10, **wrong).propose(AGENT, [])
    assert caught.value.advice


def sequential(*agents: Spec, **given: object) -> Evaluation:
    parameters = {"environment_class": "cups-v1", "interactions": 30, "precision": 0.1, **given}
    return Evaluation(Spec("sample-v1", parameters), agents)


class Interrupt(Observer):
    def __init__(self, after: int) -> None:
        self.left = after

    def finished(self, agent, outcomes):
        self.left -= len(outcomes)
        if self.left < 0:
            raise KeyboardInterrupt


def test_each_agent_stops_for_itself_however_it_is_run(tmp_path, monkeypatch):
    what = sequential(AGENT, Spec("q-learning-v1"), exercises=400, interactions=1000)
    whole = evaluate(what)
    assert evaluate(what, options=Options(workers=2)).scores == whole.scores
    counts = [score.count for score in whole.scores.values()]
    assert len(set(counts)) == 2
    monkeypatch.setattr("omnimeter.execution.evaluation.SHARD", 1)
    with open_writer(tmp_path, what.to_json()) as writer:
        assert not evaluate(what, writer, observer=Interrupt(37)).complete
    with open_writer(tmp_path, what.to_json()) as writer:
        assert evaluate(what, writer).scores == whole.scores
    again = summarise(what, Record(tmp_path).outcomes())
    assert again.complete
    assert again.scores == whole.scores
    sentence = precision_sentence(whole)
    assert "The precision of 0.1 was reached by random-v1 after" in sentence
    (only,) = comparisons(whole)
    assert only.p_value is None
    assert only.count == min(counts)
    assert (only.low, only.high) == only.watched
    assert only.verdict is Verdict.NOT_SHOWN or not only.low <= 0 <= only.high


def test_joint_agents_stop_for_themselves_too():
    joint = [Spec("random-v1"), Spec("follower-v1")]
    what = sequential(
        *joint,
        environment_class="lambda-v1",
        precision=0.25,
        exercises=60,
        joint=[each.to_json() for each in joint],
    )
    result = evaluate(what)
    assert result.complete
    for agent, done in result.outcomes.items():
        assert [each.exercise.number for each in done] == list(range(len(done))), agent


def test_precision_is_not_reached_says_the_sentence():
    test = Sample("cups-v1", 20, 10, precision=0.001)
    result = judge(test, {AGENT: paid(test, uniform(20))}, complete=True)
    assert precision_sentence(result).endswith("was not reached by random-v1 after 20 exercises.")
    assert precision_sentence(replace(result, design=replace(result.design, precision=None))) == ""
