"""The fixed sample: what it proposes, and whether its interval covers what it estimates."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    ClockKind,
    Ending,
    Fault,
    FaultKind,
    InvalidInputError,
    Outcome,
    Spec,
    UnknownNameError,
)
from omnimeter.protocols.evaluation import Evaluation, summarise
from omnimeter.protocols.sample import Sample

AGENT = Spec("random-v1")


def outcome(exercise, payoff, fault=None):
    ending = Ending.FAULT if fault else Ending.BUDGET
    return Outcome(exercise, payoff, 10, 0.0, 10, 10, ending, fault=fault)


def test_every_agent_meets_the_same_instances():
    sample = Sample("cups-v1", exercises=5, interactions=10, seed=3)
    ours = sample.propose(AGENT, [])
    theirs = sample.propose(Spec("constant-v1"), [])
    assert [e.instance for e in ours] == [e.instance for e in theirs]
    assert [e.number for e in ours] == list(range(5))
    assert all(
        a.stream("environment") == b.stream("environment")
        for a, b in zip(ours, theirs, strict=True)
    )
    assert all(a.stream("agent") != b.stream("agent") for a, b in zip(ours, theirs, strict=True))


def test_levels_are_taken_in_turn():
    sample = Sample("cups-v1", exercises=5, interactions=10, complexity=[3, 6])
    assert [e.complexity for e in sample.propose(AGENT, [])] == [3, 6, 3, 6, 3]


def test_finished_exercises_are_not_proposed_again():
    sample = Sample("cups-v1", exercises=4, interactions=10)
    exercises = sample.propose(AGENT, [])
    done = [outcome(exercises[2], 0.5)]
    assert [e.number for e in sample.propose(AGENT, done)] == [0, 1, 3]


@pytest.mark.parametrize(
    ("parameters", "kind"),
    [
        ({"interactions": 10}, ClockKind.VIRTUAL),
        ({"seconds": 1.0}, ClockKind.WALL),
        ({"seconds": 1.0, "clock": "virtual"}, ClockKind.VIRTUAL),
    ],
)
def test_the_clock_follows_the_budget(parameters, kind):
    assert Sample("cups-v1", **parameters).clock.kind is kind


def test_a_fault_is_counted_separately_and_is_not_a_zero():
    sample = Sample("cups-v1", exercises=4, interactions=10)
    exercises = sample.propose(AGENT, [])
    fault = Fault(FaultKind.TIME_OUT, "slept")
    done = [
        outcome(exercises[0], 1.0),
        outcome(exercises[1], 0.5),
        outcome(exercises[2], None, fault),
    ]
    score = sample.score(done)
    assert score.value == 0.75
    assert score.count == 2
    assert score.faults == {"time-out": 1}


def test_there_is_a_score_at_any_moment():
    sample = Sample("cups-v1", exercises=4, interactions=10)
    nothing = sample.score([])
    assert (nothing.value, nothing.interval, nothing.count) == (None, None, 0)
    one = sample.score([outcome(sample.propose(AGENT, [])[0], 0.25)])
    assert one.value == 0.25
    low, high, _, bounded = one.interval  # one outcome says nothing about the spread
    assert bounded
    assert low < -0.95
    assert high > 0.95


def test_identical_outcomes_do_not_pretend_to_certainty():
    sample = Sample("cups-v1", exercises=10, interactions=10)
    done = [outcome(exercise, 0.0) for exercise in sample.propose(AGENT, [])]
    low, high = sample.score(done).interval[:2]
    assert low < -0.1
    assert high > 0.1


@pytest.mark.parametrize(
    "wrong",
    [
        {"exercises": 0, "interactions": 1},
        {},
        {"interactions": -1},
        {"seconds": float("inf")},
        {"interactions": 1, "tick": 0.0},
        {"interactions": 1, "timeout": -1.0},
    ],
)
def test_wrong_parameters_are_errors_with_advice(wrong):
    with pytest.raises(InvalidInputError) as caught:
        Sample("cups-v1", **wrong)
    assert caught.value.advice


def test_a_misspelt_class_gets_a_hint():
    with pytest.raises(UnknownNameError, match="cups"):
        Sample("cupz", interactions=1)


def test_made_from_its_spec():
    parameters = {"environment_class": {"id": "cups-v1"}, "interactions": 5, "payoff": "total"}
    made = make(Kind.PROTOCOL, Spec("sample", parameters))
    assert made.exercises == 20
    assert made.payoff().bounds((-1.0, 1.0)) == (-np.inf, np.inf)


def test_the_order_of_outcomes_does_not_matter():
    evaluation = Evaluation(
        Spec("sample-v1", {"environment_class": "cups-v1", "interactions": 5, "exercises": 7}),
        (AGENT,),
    )
    sample = evaluation.make_protocol()
    rng = np.random.default_rng(1)
    done = [outcome(exercise, float(rng.uniform(-1, 1))) for exercise in sample.propose(AGENT, [])]
    forwards, backwards = summarise(evaluation, done), summarise(evaluation, done[::-1])
    assert forwards.scores == backwards.scores
    assert forwards.complete
    assert not summarise(evaluation, done[:-1]).complete


def test_an_evaluation_survives_json():
    spec = Spec("sample-v1", {"environment_class": "cups-v1", "interactions": 5})
    evaluation = Evaluation(spec, (AGENT, Spec("constant-v1", {"action": 1})), traces=True)
    assert Evaluation.from_json(evaluation.to_json()) == evaluation


def test_an_agent_is_given_once_and_at_least_one():
    spec = Spec("sample-v1", {"environment_class": "cups-v1", "interactions": 5})
    with pytest.raises(InvalidInputError, match="twice"):
        Evaluation(spec, (AGENT, replace(AGENT)))
    with pytest.raises(InvalidInputError, match="no agent"):
        Evaluation(spec, ())


@pytest.mark.slow
def test_the_interval_covers_the_expected_payoff():
    """Of many whole evaluations, 93 to 97 % of the 95 % intervals hold the true value.

    The truth is known by the symmetry of the class: a random agent in cups gets 0 on average.
    """
    from omnimeter.agents.simple import RandomAgent
    from omnimeter.environments.cups import Cups
    from omnimeter.execution.workers import outcome_of
    from omnimeter.interaction import run_single

    covered = 0
    evaluations = 1500
    for seed in range(evaluations):
        sample = Sample("cups-v1(min_cups=3,max_cups=4)", exercises=20, interactions=50, seed=seed)
        exercises = sample.propose(AGENT, [])
        traces = run_single(Cups(3, 4), RandomAgent(), exercises)
        outcomes = [
            outcome_of(exercise, trace, sample.payoff())
            for exercise, trace in zip(exercises, traces, strict=True)
        ]
        low, high, _ = sample.score(outcomes).interval
        covered += low <= 0 <= high
    assert 0.93 <= covered / evaluations <= 0.97


def test_an_agent_gains_nothing_by_failing_when_it_does_badly():
    """The best third is finished, the rest hidden behind faults: the interval tells nothing."""
    sample = Sample("cups-v1", exercises=30, interactions=10)
    fault = Fault(FaultKind.AGENT_ERROR, "gave up")
    payoffs = [0.5 + 0.01 * number for number in range(10)]
    exercises = sample.propose(AGENT, [])
    done = [outcome(exercises[number], payoff) for number, payoff in enumerate(payoffs)]
    honest = sample.score(done)
    done += [outcome(exercise, None, fault) for exercise in exercises[10:]]
    score = sample.score(done)
    assert score.value == honest.value
    assert score.count == 10
    assert score.interval.low < (sum(payoffs) - 20) / 30
    assert score.interval.high > (sum(payoffs) + 20) / 30 - 0.2


def test_infrastructure_failures_do_not_widen_the_interval():
    sample = Sample("cups-v1", exercises=12, interactions=10)
    exercises = sample.propose(AGENT, [])
    done = [outcome(exercises[number], 0.1 * number) for number in range(10)]
    fault = Fault(FaultKind.INFRASTRUCTURE, "power cut")
    assert sample.score([*done, outcome(exercises[10], None, fault)]).interval == (
        sample.score(done).interval
    )


def test_levels_are_strata():
    """Two levels far apart, each known well: the mean of both is known well."""
    sample = Sample("cups-v1", exercises=40, interactions=10, complexity=[3, 6])
    rng = np.random.default_rng(5)
    done = [
        outcome(exercise, (0.8 if exercise.complexity == 3 else -0.6) + rng.uniform(-0.01, 0.01))
        for exercise in sample.propose(AGENT, [])
    ]
    low, high = sample.score(done).interval[:2]
    assert low < 0.1 < high
    assert high - low < 0.01


def test_a_payoff_outside_the_declared_range_can_still_be_scored():
    sample = Sample("cups-v1", exercises=3, interactions=10)
    done = [outcome(exercise, 1.5) for exercise in sample.propose(AGENT, [])]
    assert sample.score(done).value == 1.5


@given(
    payoffs=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=12),
    faults=st.integers(1, 8),
    levels=st.sampled_from([[3.0], [3.0, 5.0], [3.0, 4.0, 5.0]]),
)
@settings(max_examples=60)
def test_faults_only_ever_widen_the_interval(payoffs, faults, levels):
    sample = Sample("cups-v1", exercises=20, interactions=10, complexity=levels)
    exercises = sample.propose(AGENT, [])
    done = [outcome(*each) for each in zip(exercises, payoffs, strict=False)]
    fault = Fault(FaultKind.AGENT_ERROR, "gave up")
    failed = [outcome(each, None, fault) for each in exercises[len(done) : len(done) + faults]]
    without, wider = sample.score(done).interval, sample.score(done + failed).interval
    assert wider.low <= without.low <= without.high <= wider.high


def test_a_level_without_any_payoff_may_be_worth_anything():
    sample = Sample("cups-v1", exercises=20, interactions=10, complexity=[3, 8])
    easy = [e for e in sample.propose(AGENT, []) if e.complexity == 3]
    done = [outcome(exercise, 0.9 + 0.01 * (exercise.number % 3)) for exercise in easy]
    low, high = sample.score(done).interval[:2]
    assert low < 0.0
    assert high > 0.9


def test_a_class_that_breaks_its_range_is_still_reported():
    from omnimeter.reports import comparisons, score_rows

    spec = Spec("sample-v1", {"environment_class": "cups-v1", "interactions": 5, "exercises": 6})
    evaluation = Evaluation(spec, (AGENT, Spec("constant-v1")))
    sample = evaluation.make_protocol()
    done = [
        outcome(exercise, 1.5 + 0.1 * exercise.number)
        for agent in evaluation.agents
        for exercise in sample.propose(agent, [])
    ]
    result = summarise(evaluation, done)
    assert result.support == (-1.0, 2.0)
    assert len(score_rows(result)) == 2
    assert len(comparisons(result)) == 1
