"""The anytime tests (anytime test, Definitions 18 and 19): courses, scores, times."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil

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
    Trace,
    stream,
)
from omnimeter.estimation import mean, mean_sequence, paired_difference, stability
from omnimeter.execution.workers import ExerciseRunner
from omnimeter.protocols.anytime import AnytimeTimed, AnytimeUntimed, choose
from omnimeter.protocols.evaluation import judge
from omnimeter.protocols.repetitions import Repetitions
from omnimeter.testing import ProtocolSuite

AGENT = Spec("random-v1")
CLASSES = ["cups-v1", "automata-v1", "torus-v1"]


def outcome(exercise, payoff, fault=None, elapsed=None):
    remarks = {} if elapsed is None else {"elapsed": elapsed}
    ending = Ending.FAULT if fault else Ending.BUDGET
    done = min(exercise.budget.max_interactions, 10**6)
    return Outcome(exercise, payoff, done, 0.0, 1, 1, ending, fault=fault, remarks=remarks)


def course(test, payoff_of, agent=AGENT, rounds=100, **details):
    """All exercises of a test, and what came of them when a function says what each is worth."""
    done = []
    for _ in range(rounds):
        proposed = test.propose(agent, done)
        if not proposed:
            break
        done += [outcome(each, payoff_of(each), **details) for each in proposed]
    return sorted(done, key=lambda each: each.exercise.number)


def literally(label, payoffs, seed, repetition):
    """The instances of Definition 19 as it stands, for the rewards that are given."""
    environment_class = make(Kind.ENVIRONMENT, Spec(label))
    xi, n, used, chosen = environment_class.complexity_range()[0], 1, set(), []  # lines 5 to 8
    for number, reward in enumerate(payoffs):
        rng = stream(seed, "choose", repetition, number).generator()
        mu, xi = choose(environment_class, xi, used, rng)  # lines 10 to 17
        chosen.append((mu.key, n))
        xi = xi + xi * reward / 2  # line 20
        n = ceil(n + n / 2)  # line 21, in interaction steps
        used.add(mu.key)  # line 22
    return chosen


@pytest.mark.parametrize("label", CLASSES)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_repetition_is_the_algorithm_of_the_text(label, seed):
    test = AnytimeUntimed(label, interactions=3 * 100, repetitions=3, seed=seed)
    rewards = np.random.default_rng(seed).uniform(-1, 1, size=1000)
    done = course(test, lambda each: float(rewards[each.number]))
    for repetition in range(3):
        taken = [each for each in done if each.exercise.number % 3 == repetition]
        payoffs = [each.payoff for each in taken]
        expected = literally(label, payoffs, seed, repetition)
        proposed = [
            (each.exercise.instance.key, each.exercise.budget.max_interactions) for each in taken
        ]
        assert proposed[:-1] == expected[:-1]
        assert proposed[-1][0] == expected[-1][0]  # only its length is cut off at the end
        assert sum(length for _, length in proposed) == 100


def test_slots_grow_by_one_half_rounded_up():
    assert AnytimeUntimed("cups-v1", 135, repetitions=1).slots == [
        1,
        2,
        3,
        5,
        8,
        12,
        18,
        27,
        41,
        18,
    ]


def test_time_slots_grow_by_one_half_and_end_with_the_time():
    test = AnytimeTimed("cups-v1", time=20e-6, repetitions=2, clock="virtual")
    done = course(test, lambda each: 0.0)
    seconds = [each.exercise.budget.seconds for each in done[::2]]
    assert seconds == pytest.approx([1e-6, 1.5e-6, 2.25e-6, 3.375e-6, 1.875e-6])
    assert test.expected() == len(done) == 10


@pytest.mark.parametrize("label", CLASSES)
def test_no_environment_comes_twice_in_a_repetition(label):
    test = AnytimeUntimed(label, interactions=4000, repetitions=2)
    done = course(test, lambda each: 0.0)
    for repetition in range(2):
        keys = [e.exercise.instance.key for e in done if e.exercise.number % 2 == repetition]
        assert len(set(keys)) == len(keys) > 10


@pytest.mark.parametrize("label", CLASSES)
def test_success_leads_up_and_failure_down(label):
    test = AnytimeUntimed(label, interactions=200, repetitions=1)
    up = [each.exercise.complexity for each in course(test, lambda each: 0.5)]
    stays = [each.exercise.complexity for each in course(test, lambda each: 0.0)]
    down = [each.exercise.complexity for each in course(test, lambda each: -0.5)]
    lowest = make(Kind.ENVIRONMENT, Spec(label)).complexity_range()[0]
    assert up[-1] > 2 * up[0]
    assert max(down) <= max(stays) + 1  # one step up at a time, when a band is used up
    assert down[0] == pytest.approx(lowest, abs=1)


def test_agents_at_the_same_level_get_the_same_environments():
    test = AnytimeUntimed("automata-v1", interactions=1000, repetitions=2)
    ours = course(test, lambda each: 0.25)
    theirs = course(test, lambda each: 0.25, agent=Spec("q-learning-v1"))
    assert [e.exercise.instance for e in ours] == [e.exercise.instance for e in theirs]
    apart = course(test, lambda each: 0.25 if each.number else -1.0)
    same = [a.exercise.instance == b.exercise.instance for a, b in zip(ours, apart, strict=True)]
    assert all(same[1::2])  # the second repetition went the same way
    assert not all(same[0::2])


def test_of_an_interrupted_test_agents_are_compared_by_what_both_have_had():
    test = AnytimeUntimed("automata-v1", interactions=1000, repetitions=3)
    other = Spec("q-learning-v1")
    ours = course(test, lambda each: 0.01 * each.number)
    theirs = course(test, lambda each: 0.01 * each.number, agent=other)
    interrupted = judge(test, {AGENT: ours[:15], other: theirs[:12]}, complete=False)
    assert interrupted.values[AGENT] == interrupted.values[other]
    assert interrupted.scores[AGENT].value != interrupted.scores[other].value
    finished = judge(test, {AGENT: ours[:15], other: theirs[:12]}, complete=True)
    assert finished.values[AGENT] != finished.values[other]


@pytest.mark.parametrize("done", [4, 20, 60])
def test_a_watched_test_has_an_interval_that_holds_for_all_rounds_at_once(done):
    test = AnytimeUntimed("automata-v1", interactions=1000, repetitions=4)
    outcomes = course(test, lambda each: (each.number % 7) / 7)[:done]
    score = test.score(outcomes)
    values = list(test.values(outcomes).values())
    wide = mean(values, 1 - 0.05 / test.max_rounds, support=(-1, 1))
    assert score.parts["watched"] == (wide.low, wide.high)
    assert wide.low < score.interval.low <= score.interval.high < wide.high


def test_a_watched_single_repetition_has_no_interval():
    test = AnytimeUntimed("automata-v1", interactions=1000, repetitions=1)
    assert "watched" not in test.score(course(test, lambda each: 0.5)).parts


@given(
    time=st.floats(2e-3, 1e3),
    slot=st.sampled_from([1e-6, 1e-3, 1e-4 / 3]),
    growth=st.floats(0.05, 2.0),
    used=st.floats(0.0, 1.0),
)
def test_there_are_not_more_rounds_than_are_known_beforehand(time, slot, growth, used):
    test = AnytimeTimed("cups-v1", time=time, slot=slot, repetitions=2, growth=growth)
    (first, second) = test.propose(AGENT, [])
    rounds = []
    while budget := test.budget(rounds):
        elapsed = used * budget.seconds  # an agent may stop early
        exercises = [replace(each, budget=budget) for each in (first, second)]
        done = [outcome(each, 0.0, elapsed=elapsed) for each in exercises]
        rounds.append(dict(enumerate(done)))
    assert len(rounds) <= test.max_rounds


@pytest.mark.parametrize(("time", "slot"), [(3.5, 0.1), (2.0, 0.1), (0.475, 0.01)])
def test_the_last_slot_is_not_lost_by_rounding(time, slot):
    test = AnytimeTimed("cups-v1", time=time, slot=slot, clock="virtual")
    done = course(test, lambda each: 0.0)
    assert len(done) == test.expected() <= test.max_rounds * 10


def test_repetitions_have_environments_of_their_own():
    test = AnytimeUntimed("automata-v1", interactions=2000, repetitions=4)
    done = course(test, lambda each: 0.3)
    late = [e.exercise.instance.key for e in done if e.exercise.number // 4 == 5]
    assert len(set(late)) == 4


def test_the_score_is_the_mean_of_all_rewards_and_its_interval_that_of_the_repetitions():
    test = AnytimeUntimed("cups-v1", interactions=12, repetitions=2)
    done = course(test, lambda each: [0.5, -0.5, 1.0, 0.0, 0.0, 0.2][each.number])
    score = test.score(done)
    assert score.value == pytest.approx((0.5 - 0.5 + 1.0 + 0.0 + 0.0 + 0.2) / 6)
    assert test.values(done) == pytest.approx({0: 0.5, 1: -0.1})
    assert score.count == 6
    expected = mean([0.5, -0.1], support=(-1, 1))
    assert score.interval == (expected.low, expected.high, 0.95, True)
    assert score.parts["rounds"] == 3


def test_only_complete_rounds_count():
    test = AnytimeUntimed("cups-v1", interactions=300, repetitions=3)
    done = course(test, lambda each: 0.1 * (each.number % 3))
    whole = test.score(done[:9])
    assert test.score(done[:11]) == replace(whole, faults={})
    assert test.score(done[:2]).value is None
    assert test.score([]).value is None


def test_an_agent_that_stops_early_gets_0_for_the_rest():
    test = AnytimeUntimed("cups-v1", interactions=10, repetitions=1)

    def once(exercise):
        """One reward of 1, and then nothing."""
        planned = exercise.budget.interactions
        lucky = Trace(np.ones(1), np.ones(1, dtype=np.int64), 1, planned=planned, timed=False)
        return test.payoff()(lucky)

    done = course(test, once)
    lengths = [each.exercise.budget.max_interactions for each in done]
    assert lengths == [1, 2, 3, 4]  # the last has 4 of 5
    assert test.score(done).value == pytest.approx((1 + 1 / 2 + 1 / 3 + 4 / 5 * 1 / 4) / 3.8)


@pytest.mark.parametrize(
    "protocol",
    [
        Spec("anytime-untimed-v1", {"environment_class": "automata-v1", "interactions": 20_000}),
        Spec(
            "anytime-timed-v1",
            {"environment_class": "automata-v1", "time": 0.02, "clock": "virtual"},
        ),
        Spec("universal-adjusted-v1", {"environment_class": "automata-v1", "exercises": 100}),
        Spec(
            "universal-timed-v1",
            {
                "environment_class": "automata-v1",
                "exercises": 100,
                "clock": "virtual",
                "seconds": 100,
            },
        ),
    ],
)
def test_stopping_when_lucky_does_not_pay(protocol):
    test, agent, done = make(Kind.PROTOCOL, protocol), Spec("stopper-v1"), []
    while proposed := test.propose(agent, done):
        done += [each for each, _ in ExerciseRunner().outcomes(proposed, test.payoff())]
    assert any(each.ending is Ending.STOPPED for each in done)
    assert test.score(done).interval.low <= 0


@pytest.mark.parametrize(
    ("name", "shorter", "longer"),
    [
        ("untimed", {"interactions": 622}, {"interactions": 623}),
        ("untimed", {"interactions": 937}, {"interactions": 938}),
        ("timed", {"time": 582e-6}, {"time": 583e-6}),  # 14 slots of 1.5^k last 581.9
    ],
)
def test_one_interaction_more_hardly_moves_the_score(name, shorter, longer):
    clock, values, rounds = {"clock": "virtual"} if name == "timed" else {}, [], []
    for length in (shorter, longer):
        total = {key: 100 * value for key, value in length.items()}
        given = {"environment_class": "automata-v1", "repetitions": 100, **total, **clock}
        test, done = make(Kind.PROTOCOL, Spec(f"anytime-{name}-v1", given)), []
        while proposed := test.propose(Spec("q-learning-v1"), done):
            done += [each for each, _ in ExerciseRunner().outcomes(proposed, test.payoff())]
        scores = test.values(done)
        assert test.score(done).value == pytest.approx(test.course(done)[-1].value)
        values.append([scores[repetition] for repetition in range(100)])
        rounds.append(len(test.course(done)))
    assert rounds[1] == rounds[0] + 1
    step = paired_difference(values[1], values[0])
    assert (
        max(abs(step.low), abs(step.high)) < 0.002
    )  # it was 0.03 when all exercises counted alike


def test_a_last_exercise_counts_by_its_share_wherever_rewards_are_averaged():
    test = AnytimeUntimed("cups-v1", interactions=2 * 7, repetitions=2)
    done = [
        replace(each, total=each.payoff * each.interactions)
        for each in course(
            test, lambda each: [0.5, 0.5, 0.1, 0.5, 0.3, 0.3, -0.7, -0.5][each.number]
        )
    ]
    share = 1 / 5  # the slots are 1, 2, 3 and 1 of 5
    first, second = (0.9 - 0.7 * share) / (3 + share), (1.3 - 0.5 * share) / (3 + share)
    score = test.score(done)
    assert test.values(done) == pytest.approx({0: first, 1: second})
    assert test.course(done)[-1].value == score.value == pytest.approx((first + second) / 2)
    assert score.parts["potential"] == pytest.approx(score.value)
    running = [moment.value for moment in test.course(done)]
    assert score.parts["stability"] == pytest.approx(stability(np.array(running)))
    assert (test.values(done, 3), running[2]) == ({0: 0.3, 1: 1.3 / 3}, pytest.approx(2.2 / 6))


def test_each_repetition_is_the_first_in_turn():
    test = AnytimeUntimed("cups-v1", interactions=300, repetitions=3)
    done = course(test, lambda each: 0.0)
    orders = [[e.number % 3 for e in test.propose(AGENT, done[: 3 * place])] for place in range(3)]
    assert orders == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


def test_long_tests_can_be_gone_on_with():
    settings = {"time": 1.3, "repetitions": 1, "slot": 0.001, "growth": 1e-9, "clock": "virtual"}
    done = course(AnytimeTimed("cups-v1", **settings), lambda each: 0.0, rounds=1200)
    assert len(done) == 1200
    assert AnytimeTimed("cups-v1", **settings).propose(AGENT, done)[0].number == 1200


def test_one_repetition_has_a_score_but_no_interval():
    test = AnytimeUntimed("cups-v1", interactions=100, repetitions=1)
    score = test.score(course(test, lambda each: 0.5))
    assert score.value == 0.5
    assert score.interval is None


def test_the_course_says_what_the_score_would_have_been():
    test = AnytimeUntimed("cups-v1", interactions=300, repetitions=3)
    rewards = np.random.default_rng(0).uniform(-1, 1, size=99)
    done = course(test, lambda each: float(rewards[each.number]))
    moments = test.course(done)
    for place, moment in enumerate(moments, start=1):
        until = test.score(done[: 3 * place])
        assert (moment.value, moment.interval) == (until.value, until.interval)
    assert [moment.length for moment in moments] == np.cumsum(test.slots).tolist()


def test_faults_of_the_agent_move_nothing_and_widen_the_interval():
    test = AnytimeUntimed("cups-v1", interactions=40, repetitions=4)
    fault = Fault(FaultKind.AGENT_ERROR, "broken")
    sound = course(test, lambda each: 0.01 * each.number)
    broken = [outcome(e.exercise, None, fault) if i == 5 else e for i, e in enumerate(sound)]
    with_fault, without = test.score(broken), test.score(sound)
    assert with_fault.faults == {"agent-error": 1}
    assert with_fault.count == without.count - 1
    assert with_fault.interval.low < without.interval.low
    assert with_fault.interval.high > without.interval.high
    ours = Fault(FaultKind.INFRASTRUCTURE, "our own")
    lost = [outcome(e.exercise, None, ours) if i == 5 else e for i, e in enumerate(sound)]
    assert test.score(lost).interval.low > with_fault.interval.low


def test_a_round_of_nothing_but_own_faults_ends_the_test():
    test = AnytimeUntimed("cups-v1", interactions=400, repetitions=4)
    fault = Fault(FaultKind.TIME_OUT, "no answer")
    first = [outcome(each, None, fault) for each in test.propose(AGENT, [])]
    assert test.propose(AGENT, first) == []
    assert test.score(first).value is None
    repaired = [*first[:3], outcome(first[3].exercise, 0.0)]
    assert len(test.propose(AGENT, repaired)) == 4


def test_real_time_counts_and_the_last_round_is_cut_off():
    test = AnytimeTimed("cups-v1", time=1.0, repetitions=2, slot=0.1)
    first = test.propose(AGENT, [])
    assert first[0].clock.kind is ClockKind.WALL
    assert (first[0].budget.seconds, first[0].budget.wall_limit) == (0.1, 0.5)
    done = [outcome(each, 0.0, elapsed=0.2) for each in first]  # as long again for the environment
    second = test.propose(AGENT, done)
    assert second[0].budget.seconds == pytest.approx(0.15)
    assert second[0].budget.wall_limit == pytest.approx(0.3)
    done += [outcome(each, 0.0, elapsed=0.19) for each in second]
    third = test.propose(AGENT, done)
    assert third[0].budget.seconds == pytest.approx(0.11)  # instead of 0.225
    done += [outcome(each, 0.0, elapsed=0.05) for each in third]
    assert test.propose(AGENT, done) == []


def test_by_its_own_clock_only_the_slots_of_an_agent_count():
    test = AnytimeTimed("cups-v1", time=1.0, repetitions=2, slot=0.1, clock="own")
    done = []
    for seconds in (0.1, 0.15, 0.225):
        exercises = test.propose(AGENT, done)
        assert exercises[0].clock.kind is ClockKind.WALL
        assert [each.budget.seconds for each in exercises] == [pytest.approx(seconds)] * 2
        assert exercises[0].budget.wall_limit is None
        done += [outcome(each, 0.0) for each in exercises]
    assert test.propose(AGENT, done) == []
    assert test.expected() == len(done)
    assert not test.describe().real_time
    assert AnytimeTimed("cups-v1", time=1.0, repetitions=2).describe().real_time


def test_a_round_that_takes_too_long_ends_the_test_without_it():
    test = AnytimeTimed("cups-v1", time=1.0, repetitions=3, slot=0.01)
    first = test.propose(AGENT, [])
    done = [outcome(each, 0.0, elapsed=0.1) for each in first]
    begun = [outcome(each, 0.0, elapsed=0.4) for each in test.propose(AGENT, done)]
    assert len(test.propose(AGENT, done + begun[:1])) == 2
    assert test.propose(AGENT, done + begun[:2]) == []
    assert test.score(done + begun[:2]).parts["rounds"] == 1


def test_an_exhausted_class_ends_the_test():
    test = AnytimeUntimed("buttons-v1", interactions=1000, repetitions=2)
    done = course(test, lambda each: 0.0)
    assert len(done) == 2  # there is one environment for each repetition
    assert test.is_exhausted(done)
    assert not test.is_exhausted([])


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"interactions": 5}, "too few"),
        ({"interactions": -5}, "cannot be -5"),
        ({"interactions": 100, "repetitions": 0}, "repetitions"),
        ({"interactions": 100, "start_complexity": -1}, "start_complexity"),
        ({"interactions": 100, "start_complexity": float("nan")}, "start_complexity"),
        ({"interactions": 100, "slot": 0}, "slot"),
        ({"interactions": 100, "growth": 0}, "growth"),
        ({"interactions": 100, "step": 2}, "step"),
        ({"interactions": 100, "payoff": "total"}, "between -1 and 1"),
        ({"time": 1, "payoff": "per-second"}, "between -1 and 1"),
        ({"time": 0}, "too little"),
        ({"time": -1}, "too little"),
        ({"time": float("inf")}, "too little"),
        ({"time": 1e12}, "would last"),
        ({"time": 1, "slot": 0}, "slot"),
        ({}, "no length"),
        ({"interactions": 100, "length": 101}, "longer than the whole"),
        ({"interactions": 100, "length": 10, "repetitions": 10}, "cannot all be given"),
        ({"interactions": 100, "precision": 0.1}, "needs the length"),
        ({"length": 100, "precision": 0.0}, "precision"),
        ({"length": 100, "precision": float("nan")}, "precision"),
        ({"length": 0}, "length of a repetition is 0"),
        ({"length": 5, "slot": 10}, "too few"),
        ({"time": 10, "length": 1, "precision": 0.1}, "wall clock"),
        ({"time": 1, "length": 1e-9, "clock": "virtual"}, "so many|repetitions"),
    ],
)
def test_bad_parameters_are_errors(parameters, word):
    kind = AnytimeTimed if "time" in parameters else AnytimeUntimed
    with pytest.raises(InvalidInputError, match=word):
        kind("cups-v1", **parameters)


def test_impossible_complexities_are_errors():
    test = AnytimeUntimed("cups-v1", interactions=100, start_complexity=2)
    with pytest.raises(InvalidInputError, match="at or below the complexity 2"):
        test.propose(AGENT, [])
    with pytest.raises(InvalidInputError, match="complexity 1001"):
        AnytimeUntimed("cups-v1", interactions=100, start_complexity=1001).propose(AGENT, [])


def test_unbalanced_classes_are_errors_or_recorded():
    unbalanced = {"id": "buttons-v1", "parameters": {"example": "bananas"}}
    with pytest.raises(InvalidInputError, match="not balanced"):
        AnytimeUntimed(unbalanced, interactions=100).propose(AGENT, [])
    test = AnytimeUntimed(unbalanced, interactions=100, unbalanced=True)
    done = course(test, lambda each: 0.0)
    assert test.score(done).parts["unbalanced"] is True
    assert "unbalanced" not in AnytimeUntimed("cups-v1", 100).score([]).parts


@settings(max_examples=50)
@given(st.integers(1, 10**6), st.integers(1, 9), st.floats(0.01, 3))
def test_slots_always_add_up(total, first, growth):
    first = min(first, total)
    slots = AnytimeUntimed("cups-v1", total, repetitions=1, slot=first, growth=growth).slots
    assert sum(slots) == total
    assert all(a < b for a, b in pairwise(slots[:-1]))


@settings(max_examples=30)
@given(st.integers(1, 5), st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_repetitions_do_not_care_about_the_order_of_outcomes(count, payoffs):
    test = AnytimeUntimed("cups-v1", interactions=100 * count, repetitions=count)
    done = course(test, lambda each: payoffs[each.number % len(payoffs)])
    shuffled = [done[k] for k in np.random.default_rng(0).permutation(len(done))]
    assert Repetitions(count, done).values() == Repetitions(count, shuffled).values()


@pytest.mark.parametrize(
    ("total", "repetitions", "length"),
    [(20, 20, 1), (1000, 20, 50), (44_099, 20, 2204), (44_100, 21, 2100), (10**7, 316, 31_645)],
)
def test_longer_tests_have_longer_repetitions_and_more_of_them(total, repetitions, length):
    test = AnytimeUntimed("cups-v1", interactions=total)
    assert (test.repetitions, test.length) == (repetitions, length)


@pytest.mark.parametrize(
    ("parameters", "repetitions", "length"),
    [
        ({"interactions": 1000, "length": 50}, 20, 50),
        ({"length": 50, "repetitions": 7}, 7, 50),
        ({"length": 50}, 20, 50),
        ({"time": 10}, 20, 0.5),
        ({"time": 1000}, 100, 10.0),
        ({"time": 3600, "slot": 1.0}, 20, 180.0),  # slow agents get fewer repetitions
        ({"time": 3, "length": 0.1}, 30, 0.1),
    ],
)
def test_two_of_total_length_and_number_give_the_third(parameters, repetitions, length):
    kind = AnytimeTimed if "time" in parameters else AnytimeUntimed
    test = kind("cups-v1", **parameters)
    assert (test.repetitions, test.length) == (repetitions, pytest.approx(length))


class TestPrecise(ProtocolSuite):
    def make(self):
        return AnytimeUntimed("cups-v1", length=8, precision=0.4, repetitions=3)


PRECISE = [
    (AnytimeUntimed, {"length": 100}),
    (AnytimeTimed, {"length": 100e-6, "clock": "virtual"}),
]


def noise(each):
    """A payoff that is random, and always the same for the same exercise."""
    return float(stream(0, "noise", each.number).generator().uniform(-1, 1))


@pytest.mark.parametrize(("kind", "length"), PRECISE)
def test_blocks_of_repetitions_follow_until_the_interval_is_short_enough(kind, length):
    test = kind("cups-v1", precision=0.12, **length)
    done, blocks = [], []
    while proposed := test.propose(AGENT, done):
        members = sorted({each.number % test.repetitions for each in proposed})
        if [*members] not in blocks:  # a block begins when the one before is over
            blocks.append(members)
            if done:
                before = test.score(done)
                assert before.interval.high - before.interval.low > 0.24
                assert not before.parts["precise"]
                assert len(test.values(done)) == members[0]
        done += [outcome(each, noise(each)) for each in proposed]
    ends = [0, *(block[-1] + 1 for block in blocks)]
    assert blocks == [[*range(*each)] for each in pairwise(ends)]
    assert ends[1] == 20
    assert len(blocks) > 2
    assert all(new == ceil(1.5 * old) for old, new in pairwise(ends[1:]))
    score, values = test.score(done), test.values(done)
    assert list(values) == list(range(ends[-1]))
    always = mean_sequence(list(values.values()), support=(-1, 1))
    assert (score.value, score.interval) == (always.value, (always.low, always.high, 0.95, False))
    assert (always.high - always.low) / 2 <= 0.12
    assert score.parts["precise"]
    assert score.parts["watched"] == (always.low, always.high)
    assert test.course(done)[-1].value == score.value
    assert test.course(done)[-1].length == pytest.approx(length["length"])
    judged = judge(test, {AGENT: done}, complete=True)
    assert (judged.design.precision, judged.design.units) == (0.12, 10_000)


def test_what_is_left_of_a_block_does_not_count_and_is_gone_on_with():
    test = AnytimeUntimed("cups-v1", length=100, precision=0.1)
    done = []
    while len(done) < 260:
        done += [outcome(each, noise(each)) for each in test.propose(AGENT, done)]
    first = [each for each in done if each.exercise.number % test.repetitions < 20]
    assert len(first) < len(done)
    assert test.score(done) == test.score(first)
    again = AnytimeUntimed("cups-v1", length=100, precision=0.1)
    shuffled = [done[k] for k in np.random.default_rng(0).permutation(len(done))]
    assert again.propose(AGENT, shuffled) == test.propose(AGENT, done)
    *some, _ = done
    assert [each.key for each in again.propose(AGENT, some)][:1] == [done[-1].exercise.key]


def test_stopping_inside_the_first_block_has_the_interval_of_a_watched_test():
    plain = AnytimeUntimed("cups-v1", length=100, repetitions=10)
    precise = AnytimeUntimed("cups-v1", length=100, precision=0.01, interactions=1000)
    done = course(plain, noise, rounds=4)
    assert [each.exercise.key for each in course(precise, noise, rounds=4)] == [
        each.exercise.key for each in done
    ]
    ends = precise.score(done).interval
    assert (ends.low, ends.high) == plain.score(done).parts["watched"]


def test_the_budget_ends_a_test_that_is_not_precise_enough():
    test = AnytimeUntimed("cups-v1", interactions=2599, length=100, precision=0.01, repetitions=4)
    done = course(test, noise)
    assert len(test.values(done)) == 25
    assert not test.score(done).parts["precise"]
    assert sum(each.exercise.budget.interactions for each in done) == 2500


def test_an_agent_that_fails_everywhere_gets_no_further_block():
    test = AnytimeUntimed("cups-v1", length=100, precision=0.01)
    fault = Fault(FaultKind.AGENT_ERROR, "broken")
    first = [outcome(each, None, fault) for each in test.propose(AGENT, [])]
    assert test.propose(AGENT, first) == []


def test_a_class_with_few_environments_is_given_again_in_further_blocks():
    test = AnytimeUntimed("buttons-v1", length=100, precision=0.2)
    done = course(test, noise)
    assert test.is_exhausted(done)
    assert len(test.values(done)) == len(done) > 10
    assert test.score(done).parts["precise"]


@pytest.mark.slow
def test_intervals_of_some_precision_hold_at_every_number_of_repetitions_at_once():
    protocol = {"environment_class": "automata-v1", "length": 60, "repetitions": 2000}
    test, done = make(Kind.PROTOCOL, Spec("anytime-untimed-v1", protocol)), []
    while proposed := test.propose(Spec("q-learning-v1"), done):
        done += [each for each, _ in ExerciseRunner().outcomes(proposed, test.payoff())]
    values = np.array([*test.values(done).values()])
    rng, missed, ends = np.random.default_rng(0), 0, [10, 15, 23, 35, 53, 80, 120, 180]
    for _ in range(500):
        taken = values[rng.integers(len(values), size=ends[-1])]
        estimates = [mean_sequence(taken[:end], support=(-1, 1)) for end in ends]
        missed += not all(each.low <= values.mean() <= each.high for each in estimates)
    print(f"missed at some block: {missed / 500:.3f}")
    assert missed <= 25
