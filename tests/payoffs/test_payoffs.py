"""What must hold of the payoffs for every trace."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.contract import InvalidInputError, Payoff, Trace, UnknownNameError
from omnimeter.contract.exercise import FOREVER, NANOSECONDS
from omnimeter.payoffs import (
    Average,
    Diminishing,
    Discounted,
    PerSecond,
    PlannedAverage,
    Total,
    average,
    diminishing,
    discounted,
    per_second,
    planned_average,
    total,
)
from omnimeter.payoffs.functions import diminished, running_totals

DISCOUNTED = [
    Discounted(),
    Discounted(sequence="geometric", parameter=0.5),
    Discounted(sequence="finite", parameter=3),
    Discounted(sequence="quadratic"),
    Discounted(sequence="power", parameter=0.1),
    Discounted(sequence="harmonic"),
]
AVERAGES = [Average(), Diminishing(), *DISCOUNTED]
PAYOFFS: list[Payoff] = [Total(), PerSecond(), *AVERAGES]

all_payoffs = pytest.mark.parametrize("payoff", PAYOFFS, ids=repr)
all_averages = pytest.mark.parametrize("payoff", AVERAGES, ids=repr)
rewards_of_one = st.floats(-1, 1)
delays = st.one_of(st.integers(0, 3), st.integers(0, 10 * NANOSECONDS))


@st.composite
def traces(draw):
    gaps = draw(st.lists(delays, max_size=30))
    rewards = draw(st.lists(rewards_of_one, min_size=len(gaps), max_size=len(gaps)))
    times = np.cumsum(np.array(gaps, dtype=np.int64))
    end = int(times[-1]) if gaps else 0
    return Trace(np.array(rewards, dtype=float), times, end + draw(delays))


@st.composite
def planned_traces(draw):
    """Exercises of N interactions, and of a time as well or not."""
    trace = draw(traces())
    planned, timed = len(trace) + draw(st.integers(0, 30)), draw(st.booleans())
    end = trace.end_ns if timed else int(trace.times[-1]) if len(trace) else 0
    return replace(trace, planned=planned, timed=timed, end_ns=end)


PLANNED = [*PAYOFFS, PlannedAverage()]
CASES = [(payoff, traces()) for payoff in PAYOFFS] + [(each, planned_traces()) for each in PLANNED]
all_cases = pytest.mark.parametrize(("payoff", "drawn"), CASES, ids=repr)


def empty(end, planned=None, timed=True):
    return Trace(np.empty(0), np.empty(0, dtype=np.int64), end, planned=planned, timed=timed)


@all_payoffs
@pytest.mark.parametrize("end", [0, 5 * NANOSECONDS])
def test_payoff_without_a_cycle_is_0(payoff, end):
    assert payoff(empty(end)) == 0
    assert payoff.along(empty(end), [0, end]).tolist() == [0, 0]


@all_payoffs
def test_cycles_without_time(payoff):
    trace = Trace(np.array([1.0, 1.0]), np.zeros(2, dtype=np.int64), 0)
    timeless = isinstance(payoff, (PerSecond, Diminishing))
    assert payoff(trace) == (0 if timeless else 2 if isinstance(payoff, Total) else 1)


@all_cases
@given(data=st.data(), ends=st.lists(delays, max_size=10))
def test_along_is_the_payoff_of_each_shorter_trace(payoff, drawn, data, ends):
    trace = data.draw(drawn)
    ends = [*ends, 0, trace.end_ns, *trace.times.tolist(), *(trace.times - 1).tolist()]
    assert payoff.along(trace, ends).tolist() == [payoff(trace.until(end)) for end in ends]


@all_payoffs
def test_along_is_the_payoff_of_each_shorter_trace_when_it_is_long(payoff):
    rng = np.random.default_rng(1)
    times = np.cumsum(rng.integers(0, 10**7, 100_000))
    trace = Trace(rng.uniform(-1, 1, 100_000), times, int(times[-1]))
    ends = rng.integers(0, trace.end_ns, 20)
    assert payoff.along(trace, ends).tolist() == [payoff(trace.until(int(end))) for end in ends]


@all_cases
@given(data=st.data())
def test_payoffs_keep_within_their_bounds(payoff, drawn, data):
    trace = data.draw(drawn)
    rewards = [*trace.rewards.tolist(), 0.0]
    low, high = payoff.bounds((min(rewards), max(rewards)))
    assert low <= payoff(trace) <= high


@all_averages
def test_bounds_of_averages_contain_the_payoff_without_a_cycle(payoff):
    assert payoff.bounds((-1.0, 1.0)) == (-1.0, 1.0)
    assert payoff.bounds((0.2, 0.8)) == (0.0, 0.8)


@pytest.mark.parametrize("payoff", [Total(), PerSecond()], ids=repr)
def test_bounds_of_sums(payoff):
    assert payoff.bounds((-1.0, 1.0)) == (-math.inf, math.inf)
    assert payoff.bounds((0.0, 1.0)) == (0.0, math.inf)
    assert payoff.bounds((-1.0, 0.0)) == (-math.inf, 0.0)


@given(values=st.lists(st.floats(-1e6, 1e6), max_size=200))
def test_running_totals_are_as_good_as_exact_sums(values):
    running = running_totals(np.array(values, dtype=float))
    exact = [math.fsum(values[:n]) for n in range(len(values) + 1)]
    # Exact to the last digit, but for what cancellation leaves in the second double.
    tolerance = 1e-25 * sum(map(abs, values))
    assert all(
        abs(ours - theirs) <= max(math.ulp(theirs), tolerance)
        for ours, theirs in zip(running.tolist(), exact, strict=True)
    )


def test_a_million_small_rewards_add_up_exactly():
    assert total(np.full(1_000_000, 0.1)) == 100_000
    assert average(np.full(1_000_000, 0.1)) == 0.1


@given(first=st.lists(rewards_of_one), second=st.lists(rewards_of_one))
def test_totals_of_parts_add_up(first, second):
    parts = total(np.array(first, dtype=float)) + total(np.array(second, dtype=float))
    assert total(np.array(first + second, dtype=float)) == pytest.approx(parts, abs=1e-13)


@given(trace=traces())
def test_diminishing_is_the_average_of_an_agent_that_acts_to_the_end(trace):
    if len(trace) and trace.times[-1] > 0:
        acting = trace.until(int(trace.times[-1]))
        assert Diminishing()(acting) == Average()(acting)


@given(trace=traces())
def test_diminishing_goes_to_0_for_an_agent_that_stops(trace):
    last = int(trace.times[-1]) if len(trace) else 0
    assert Diminishing()(trace.until(len(trace) * last + 1)) == 0


def test_diminishing_forgets_the_last_cycles_first():
    rewards, times = np.array([-1.0, 0.0, 0.0, 1.0]), np.arange(1, 5)
    assert diminishing(rewards, times, 4) == 0
    assert diminishing(rewards, times, 5) == -1 / 3
    assert diminishing(rewards, times, 8) == -1 / 2
    assert diminishing(rewards, times, 16) == -1
    assert diminishing(rewards, times, 17) == 0


def test_stopping_gains_nothing_where_interactions_are_planned():
    """One reward of 1 and then nothing: the average is 1, and the planned one is not."""
    lucky = Trace(np.array([1.0]), np.array([1]), 1, planned=20, timed=False)
    assert Average()(lucky) == 1
    assert PlannedAverage()(lucky) == 1 / 20
    assert Diminishing()(lucky) == 0


@given(trace=planned_traces())
def test_the_planned_average_is_the_sum_divided_by_the_plan(trace):
    planned = PlannedAverage()(trace)
    if len(trace) == trace.planned:
        assert planned == Average()(trace)
    else:
        assert (
            planned
            == Total()(trace) / trace.planned
            == planned_average(trace.rewards, trace.planned)
        )


@pytest.mark.parametrize("trace", [empty(0), Trace(np.ones(2), np.arange(2), 5)])
def test_the_planned_average_needs_a_plan(trace):
    with pytest.raises(InvalidInputError, match="diminishing"):
        PlannedAverage()(trace)


@given(
    rewards=st.lists(rewards_of_one, max_size=30),
    left=st.integers(0, 40),
    tick=st.integers(1, 10 * NANOSECONDS),
)
def test_diminishing_interactions_are_diminishing_ticks(rewards, left, tick):
    """Where each action takes one tick, N interactions and N ticks are the same budget."""
    count = len(rewards)
    times = np.arange(1, count + 1) * tick
    by_time = Trace(np.array(rewards, dtype=float), times, (count + left) * tick)
    end = count * tick
    by_count = replace(by_time, end_ns=end, planned=count + left, timed=False)
    both = replace(by_time, planned=count + left)
    assert Diminishing()(by_time) == Diminishing()(by_count) == Diminishing()(both)


def test_an_agent_that_used_up_the_time_or_the_interactions_loses_nothing():
    rewards, times = np.array([1.0, -0.5, 0.2, 0.2]), np.arange(1, 5)
    slow = Trace(rewards, times, 4, planned=100)  # its time was over first
    done = Trace(rewards, times, 4, planned=4)
    assert Diminishing()(slow) == Diminishing()(done) == average(rewards)
    stopped = Trace(rewards, times, 8, planned=5)  # half the time, four of five interactions
    assert Diminishing()(stopped) == average(rewards[: 4 * 4 // 5])


@given(trace=planned_traces())
def test_the_end_of_a_trace_leaves_it_as_it_is(trace):
    assert trace.until(trace.end_ns).same_as(trace)


@pytest.mark.parametrize("payoff", PLANNED, ids=repr)
def test_payoffs_that_pay_for_stopping_say_so(payoff):
    """Fair coins, and an agent that stops for ever when it is ahead."""
    values = []
    for coins in np.random.default_rng(4).choice([-1.0, 1.0], size=(2000, 200)):
        ahead = np.flatnonzero(np.cumsum(coins) > 0)
        count = int(ahead[0]) + 1 if len(ahead) else 200
        times = np.arange(1, count + 1) * NANOSECONDS
        values.append(payoff(Trace(coins[:count], times, int(times[-1]), planned=200, timed=False)))
    gain = np.mean(values) / (np.std(values) / np.sqrt(len(values)))
    if isinstance(payoff, Total):  # coins do not depend on the past; see the findings
        assert abs(gain) < 3.3
    else:
        assert (gain > 3.3) == bool(getattr(payoff, "exploitable", ""))


def test_the_diminished_count_is_exact():
    assert math.floor(49 * (1 / 49)) == 0  # what a rounded quotient would make of it
    assert diminished(np.ones(49, dtype=np.int64), np.array([49])).tolist() == [1]


def test_the_diminished_count_does_not_overflow():
    times = np.full(1_000, FOREVER - 1, dtype=np.int64)
    assert diminished(times, np.array([FOREVER - 1, FOREVER])).tolist() == [1_000, 999]


@all_payoffs
@given(trace=traces(), factor=st.integers(2, 1_000))
def test_other_units_of_time_change_only_the_reward_per_second(payoff, trace, factor):
    """Feature 12 of the comparison of payoffs."""
    slow = Trace(trace.rewards, trace.times * factor, trace.end_ns * factor)
    if isinstance(payoff, PerSecond):
        assert payoff(slow) * factor == pytest.approx(payoff(trace), rel=1e-12)
    else:
        assert payoff(slow) == payoff(trace)


@given(trace=traces())
def test_a_distant_horizon_is_the_average(trace):
    assert Discounted(sequence="finite", parameter=len(trace) + 1)(trace) == Average()(trace)


@given(rewards=st.lists(rewards_of_one, min_size=1))
def test_discounting_by_an_array_is_its_definition(rewards):
    gamma = 0.9 ** np.arange(1, len(rewards) + 1)
    expected = np.dot(gamma, rewards) / gamma.sum()
    assert discounted(np.array(rewards), gamma) == pytest.approx(expected, abs=1e-12)
    assert Discounted(parameter=0.9)(
        Trace(np.array(rewards), np.arange(len(rewards)), 10**6)
    ) == pytest.approx(expected, abs=1e-12)


def test_a_reward_per_second_counts_the_whole_time():
    assert per_second(np.array([1.0, 1.0]), 4 * NANOSECONDS) == 0.5


@all_payoffs
def test_payoffs_are_values(payoff):
    assert pickle.loads(pickle.dumps(payoff)) == payoff


@pytest.mark.parametrize(
    ("sequence", "parameter", "message"),
    [
        ("geometric", 0, "ratio"),
        ("geometric", 1.0, "ratio"),
        ("geometric", math.nan, "ratio"),
        ("geometric", "0.5", "ratio"),
        ("finite", None, "horizon"),
        ("finite", 0, "horizon"),
        ("finite", 2.5, "horizon"),
        ("finite", math.inf, "horizon"),
        ("power", 0, "exponent"),
        ("quadratic", 0.99, "Leave the parameter out"),
        ("harmonic", 1, "Leave the parameter out"),
    ],
)
def test_a_wrong_parameter_is_named(sequence, parameter, message):
    with pytest.raises(InvalidInputError, match=f"{sequence}.*parameter=.*{message}"):
        Discounted(sequence=sequence, parameter=parameter)


def test_a_misspelt_sequence_gets_a_hint():
    with pytest.raises(UnknownNameError, match="Did you mean 'geometric'"):
        Discounted(sequence="geometrical")


@pytest.mark.parametrize(
    "weights", [[1.0], [0.0, 1.0], [1.0, -1.0], [1.0, math.inf], [1.0, math.nan]]
)
def test_invalid_weights_are_rejected(weights):
    with pytest.raises(InvalidInputError, match="weight"):
        discounted(np.array([1.0, 1.0]), np.array(weights))
