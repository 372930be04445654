"""The battery: what it proposes, and how it is scored."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from battery_parts import EXERCISES, MIXED
from omnimeter.contract import Ending, Fault, FaultKind, Instance, Outcome, Spec
from omnimeter.execution import Isolation, Options, evaluate
from omnimeter.execution.evaluation import jobs
from omnimeter.protocols import Evaluation, summarise
from omnimeter.protocols.battery import Battery, snapshot
from omnimeter.reports import comparisons
from omnimeter.results import Record, open_writer
from omnimeter.testing import ProtocolSuite

AGENT = Spec("random-v1")
PRESSER = Spec("cup-presser-v1")


def outcome(exercise, payoff, fault=None):
    ending = Ending.FAULT if fault else Ending.BUDGET
    return Outcome(exercise, payoff, 10, 0.0, 10, 10, ending, fault=fault)


class TestTaken(ProtocolSuite):
    def make(self):
        return Battery(MIXED, tests=3)


class TestTakenOnce(ProtocolSuite):
    def make(self):
        return Battery(MIXED)


# What is proposed


def test_each_test_takes_the_whole_sequence_in_order():
    exercises = Battery(MIXED, tests=2).propose(AGENT, [])
    assert [each.number for each in exercises] == list(range(2 * EXERCISES))
    assert [each.budget.interactions for each in exercises] == [30, 50, 40, 10] * 2
    rest = Spec("cups-v1", {"rule": "rest"})
    classes = [each.environment_class for each in exercises]
    assert classes == [rest, Spec("buttons-v1"), Spec("cups-v1"), rest] * 2
    assert [each.complexity for each in exercises][2::EXERCISES] == [5, 5]


def test_every_agent_meets_the_same_environments_with_the_same_randomness():
    battery = Battery(MIXED, tests=3, seed=7)
    pairs = zip(battery.propose(AGENT, []), battery.propose(PRESSER, []), strict=True)
    for ours, theirs in pairs:
        assert ours.instance == theirs.instance
        assert ours.stream("environment") == theirs.stream("environment")
        assert ours.stream("agent") != theirs.stream("agent")


def test_each_test_draws_anew_and_more_tests_change_nothing_before():
    few, many = (Battery(MIXED, tests=tests).propose(AGENT, []) for tests in (2, 6))
    assert many[: 2 * EXERCISES] == few
    assert len({each.instance.key for each in many[::EXERCISES]}) > 1


GIVEN = {
    "title": "A given environment and a drawn one",
    "exercises": [
        {
            "environment_class": "lambda",
            "interactions": 25,
            "instance": {
                "data": {
                    "space": "1+2-|1+2-|1+2-", "pattern": "0121", "objects": [],
                    "consumption": "after", "vanish": True, "division": "inf", "beside": True,
                    "sharing": False, "good": [1.0], "evil": [0.5], "cycle": "power", "warm_up": 0,
                }
            },
        },
        {"environment_class": "cups", "interactions": 15},
    ],
}  # fmt: skip


class TestGiven(ProtocolSuite):
    def make(self):
        return Battery(GIVEN, tests=2)


def test_given_environments_are_not_drawn_and_their_complexity_is_computed():
    battery = Battery(GIVEN, tests=3, seed=1)
    ours, theirs = (battery.propose(agent, []) for agent in (AGENT, PRESSER))
    instance = Instance(GIVEN["exercises"][0]["instance"]["data"])
    assert [each.instance for each in ours[::2]] == [instance] * 3
    assert [each.instance for each in ours] == [each.instance for each in theirs]
    assert {each.complexity for each in ours[::2]} == {battery.classes()[0].complexity(instance)}
    assert len({each.stream("environment") for each in ours}) == 6
    assert ours[0].stream("environment") == theirs[0].stream("environment")
    assert snapshot(GIVEN) == snapshot(snapshot(GIVEN))


def test_what_is_finished_is_not_proposed_again():
    battery = Battery(MIXED, tests=2)
    exercises = battery.propose(AGENT, [])
    done = [outcome(exercises[number], 0.5) for number in (1, 6)]
    assert [each.number for each in battery.propose(AGENT, done)] == [0, 2, 3, 4, 5, 7]


# The score


def values(battery, payoffs):
    """Outcomes of the first exercises."""
    return [outcome(*each) for each in zip(battery.propose(AGENT, []), payoffs, strict=False)]


def test_exercises_of_the_sequence_are_strata():
    """Four exercises far apart, each known well: their mean is known well."""
    battery = Battery(MIXED, tests=10)
    spread = np.random.default_rng(5).uniform(-0.01, 0.01, size=10 * EXERCISES)
    done = values(battery, np.tile([0.8, -0.6, 0.1, 0.3], 10) + spread)
    low, high = battery.score(done).interval[:2]
    assert low < 0.15 < high
    assert high - low < 0.01
    assert battery.describe().parts == EXERCISES


def test_one_test_alone_of_few_exercises_says_little_and_a_second_one_more():
    payoffs = [0.8, -0.6, 0.1, 0.3]
    one, two = (Battery(MIXED, tests=tests) for tests in (1, 2))
    first, second = (each.score(values(each, payoffs * 2)) for each in (one, two))
    assert first.value == second.value == pytest.approx(0.15)
    assert first.interval.bounded
    assert 1 > first.interval.high > second.interval.high > 0.15
    assert -1 < first.interval.low < second.interval.low < 0.15


def test_a_test_that_is_broken_off_knows_nothing_of_what_was_to_come():
    battery = Battery(MIXED)
    easy = values(battery, [0.8, 0.79, 0.81])
    low, high = battery.score(easy).interval[:2]
    assert low < (0.8 * 3 - 1) / 4 < 0.8 < high
    assert high >= (0.8 * 3 + 1) / 4


@pytest.mark.slow
@pytest.mark.parametrize(("tests", "lowest", "highest"), [(1, 0.95, 1.0), (8, 0.93, 0.97)])
def test_intervals_cover_the_mean(tests, lowest, highest):
    """Unequal exercises with unequal spreads: one test alone is rather too careful."""
    battery = Battery(MIXED, tests=tests)
    exercises = battery.propose(AGENT, [])
    centres, spreads = np.array([0.5, -0.4, 0.0, 0.2]), np.array([0.1, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        drawn = centres + spreads * rng.uniform(-1, 1, size=(tests, EXERCISES))
        done = [outcome(*each) for each in zip(exercises, drawn.ravel().tolist(), strict=True)]
        low, high = battery.score(done).interval[:2]
        covered += low <= centres.mean() <= high
    assert lowest <= covered / 2000 <= highest


def test_a_fault_is_counted_separately():
    battery = Battery(MIXED)
    exercises = battery.propose(AGENT, [])
    fault = Fault(FaultKind.TIME_OUT, "slept")
    done = values(battery, [0.5, 0.5, 0.2])
    score = battery.score([*done, outcome(exercises[3], None, fault)])
    assert (score.value, score.count, score.faults) == (pytest.approx(0.4), 3, {"time-out": 1})


@given(
    payoffs=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=8),
    faults=st.integers(1, 4),
    tests=st.integers(1, 3),
)
@settings(max_examples=60)
def test_faults_only_ever_widen_the_interval(payoffs, faults, tests):
    battery = Battery(MIXED, tests=tests)
    done = values(battery, payoffs)
    fault = Fault(FaultKind.AGENT_ERROR, "gave up")
    left = battery.propose(AGENT, done)[:faults]
    wider = battery.score(done + [outcome(each, None, fault) for each in left]).interval
    alone = battery.score(done).interval
    assert wider.low <= alone.low <= alone.high <= wider.high


# Running


def evaluation(battery=None, traces=False, **parameters):
    spec = Spec("battery-v1", {"battery": snapshot(battery or MIXED), "tests": 4, **parameters})
    return Evaluation(spec, (AGENT, Spec("constant-v1")), traces)


def run(directory, what, options=None):
    with open_writer(directory, what.to_json()) as writer:
        return evaluate(what, writer, options or Options())


def test_several_processes_give_the_same(tmp_path):
    what = evaluation(traces=True)
    alone, spread = run(tmp_path / "1", what), run(tmp_path / "2", what, Options(workers=2))
    assert alone.scores == spread.scores
    assert alone.outcomes == spread.outcomes
    ours, theirs = (dict(Record(tmp_path / name).traces()) for name in ("1", "2"))
    assert all(ours[key].same_as(theirs[key]) for key in ours.keys() | theirs.keys())


@pytest.mark.parametrize("battery", [MIXED, GIVEN], ids=["drawn", "given"])
def test_it_goes_on_where_it_was_interrupted(tmp_path, battery):
    what = evaluation(battery)
    whole = run(tmp_path / "whole", what)
    with open_writer(tmp_path / "half", what.to_json()) as writer:
        writer.append([each for done in whole.outcomes.values() for each in done[::3]], {})
    before = Record(tmp_path / "half").keys()
    half = summarise(what, Record(tmp_path / "half").outcomes())
    again = run(tmp_path / "half", what)
    assert not half.complete
    assert again.complete
    assert again.scores == whole.scores
    assert before < Record(tmp_path / "half").keys()


def test_a_job_has_one_agent_and_one_class():
    battery = Battery(MIXED, tests=5)
    proposed = {agent: battery.propose(agent, []) for agent in (AGENT, PRESSER)}
    given = list(jobs(proposed, battery.payoff(), False, Options(isolation=Isolation.NONE)))
    for job in given:
        assert len({(each.agent, each.environment_class) for each in job.exercises}) == 1
    taken = [each.key for job in given for each in job.exercises]
    wanted = [each.key for exercises in proposed.values() for each in exercises]
    assert sorted(taken) == sorted(wanted)


@pytest.mark.parametrize("tests", [1, 6])
def test_agents_are_compared_over_the_strata_of_the_score(tests):
    what = evaluation(tests=tests)
    battery = what.make_protocol()
    rng = np.random.default_rng(2)
    done = [
        outcome(exercise, 0.1 * place + 0.1 * (exercise.number % EXERCISES) + rng.uniform(0, 0.01))
        for place, agent in enumerate(what.agents)
        for exercise in battery.propose(agent, [])
    ]
    [compared] = comparisons(summarise(what, done))
    assert compared.difference == pytest.approx(-0.1, abs=0.02)
    if tests == 1:  # four exercises cannot show it
        assert compared.low < -0.1 < 0 < compared.high
    else:
        assert -0.2 < compared.low < compared.high < 0
