"""What is read is what was written, bit for bit; and people can open the files themselves."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Instance,
    Outcome,
    Spec,
    Timeout,
    TimeoutRule,
    Trace,
)
from omnimeter.results import Record, open_writer
from results_samples import (
    SPEC,
    exact_outcome,
    exact_trace,
    make_outcome,
    make_trace,
)

# Agents may say anything, even what UTF-8 cannot carry.
texts = st.text(st.characters(), max_size=20)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
int64 = st.integers(-(2**63), 2**63 - 1)
times = st.integers(0, 2**63 - 1)
faults = st.none() | st.builds(Fault, st.sampled_from(FaultKind), texts, texts)
specs = st.builds(Spec, texts, json_objects, st.sampled_from(["", "0123abcd"]))
exercises = st.builds(
    Exercise,
    agent=specs,
    environment_class=specs,
    instance=st.builds(Instance, json_objects),
    budget=st.builds(Budget, st.integers(0, 10**12), st.none() | st.floats(0, 1e9)),
    seed=st.integers(),
    number=int64,
    clock=st.builds(Clock, st.sampled_from(ClockKind), st.floats(1e-6, 1e6)),
    timeout=st.none() | st.builds(Timeout, st.floats(1e-6, 1e6), st.sampled_from(TimeoutRule)),
    complexity=st.floats(allow_nan=False, allow_infinity=False),
)
outcomes = st.builds(
    Outcome,
    exercise=exercises,
    payoff=st.none() | st.floats(),
    interactions=times,
    total=st.floats(),
    last_time=times,
    end_ns=times,
    ending=st.sampled_from(Ending),
    first_reward=st.floats(),
    fault=faults,
    remarks=json_objects,
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    count = draw(st.integers(0, 6))
    width = draw(st.integers(1, 3))
    seen = st.integers(count, count + 1)  # nothing at all is seen where a world never began
    return Trace(
        rewards=draw(arrays.arrays(np.float64, count)),
        times=draw(arrays.arrays(np.int64, count)),
        end_ns=draw(times),
        ending=draw(st.sampled_from(Ending)),
        first_reward=draw(st.floats(allow_nan=False)),
        fault=draw(faults),
        actions=draw(st.none() | arrays.arrays(np.int64, count)),
        observations=draw(
            st.none() | seen.flatmap(lambda rows: arrays.arrays(np.int64, (rows, width)))
        ),
        planned=draw(st.none() | times),
        timed=draw(st.booleans()),
        lowest=draw(st.floats(allow_nan=False)),
        wall_ns=draw(st.none() | arrays.arrays(np.int64, count)),
        cpu_ns=draw(st.none() | arrays.arrays(np.int64, count)),
    )


@pytest.fixture(autouse=True, scope="module")
def no_waiting() -> Iterator[None]:
    """Asking git and waiting for the disk in every example would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        patch.setattr("omnimeter.results.provenance.git_output", lambda *_: None)
        yield


@settings(max_examples=50)
@given(st.lists(outcomes, min_size=1, max_size=4, unique_by=lambda one: one.exercise.key))
def test_outcomes_come_back_exactly(given_outcomes: list[Outcome]) -> None:
    with TemporaryDirectory() as directory:
        with open_writer(directory, SPEC) as writer:
            writer.append(given_outcomes)
        stored = {one.exercise.key: exact_outcome(one) for one in Record(directory).outcomes()}
    assert stored == {one.exercise.key: exact_outcome(one) for one in given_outcomes}


@settings(max_examples=50)
@given(st.lists(traces(), min_size=1, max_size=4))
def test_traces_come_back_exactly(given_traces: list[Trace]) -> None:
    given_outcomes = [make_outcome(number) for number in range(len(given_traces))]
    kept = {
        one.exercise.key: trace for one, trace in zip(given_outcomes, given_traces, strict=True)
    }
    with TemporaryDirectory() as directory:
        with open_writer(directory, SPEC) as writer:
            writer.append(given_outcomes, kept)
        record = Record(directory)
        one_by_one = {key: record.trace(key) for key in kept}
        all_together = dict(record.traces())
    expected = {key: exact_trace(trace) for key, trace in kept.items()}
    assert {key: exact_trace(trace) for key, trace in all_together.items()} == expected
    assert {key: exact_trace(trace) for key, trace in one_by_one.items() if trace is not None} == (
        expected
    )


def test_arrays_of_a_trace_may_be_narrower_and_come_back_writable(tmp_path: Path) -> None:
    outcome = make_outcome(1)
    narrow = Trace(
        rewards=np.array([0.5, -0.5], dtype=np.float32),
        times=np.array([1, 2], dtype=np.int32),
        end_ns=3,
        actions=np.array([1, 0], dtype=np.int8),
        observations=np.asfortranarray([[1, 2], [3, 4], [5, 6]], dtype=np.int16),
    )
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([outcome], {outcome.exercise.key: narrow})
    read = Record(tmp_path).trace(outcome.exercise.key)
    assert read is not None
    assert read.same_as(narrow)
    assert read.rewards.dtype == np.float64
    read.rewards[0] = 1.0


def test_a_trace_that_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    outcome = make_outcome(1)
    torn = Trace(np.zeros(3), np.zeros(3, np.int64), 3, observations=np.zeros((2, 1), np.int64))
    with open_writer(tmp_path, SPEC) as writer:
        with pytest.raises(ValueError, match="2 observations for 3 actions"):
            writer.append([outcome], {outcome.exercise.key: torn})
        assert writer.outcomes() == []


def test_order_is_by_agent_then_number(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        for number in (10, 2, 9):
            writer.append([make_outcome(number, "b-v1"), make_outcome(number, "a-v1")])
    stored = [(one.exercise.agent.id, one.exercise.number) for one in Record(tmp_path).outcomes()]
    assert stored == [(agent, number) for agent in ("a-v1", "b-v1") for number in (2, 9, 10)]


def test_an_outcome_without_a_trace_has_none(tmp_path: Path) -> None:
    with_trace, without = make_outcome(1), make_outcome(2)
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([with_trace, without], {with_trace.exercise.key: make_trace(1)})
        writer.append([make_outcome(3)])
    record = Record(tmp_path)
    assert record.trace(with_trace.exercise.key) is not None
    assert record.trace(without.exercise.key) is None
    assert record.trace(make_outcome(3).exercise.key) is None
    assert record.trace("unheard of") is None
    assert [key for key, _ in record.traces()] == [with_trace.exercise.key]


def test_people_can_open_the_shards(tmp_path: Path) -> None:
    failed = Outcome(
        exercise=make_outcome(4).exercise,
        payoff=math.nan,
        interactions=3,
        total=math.inf,
        last_time=3,
        end_ns=4,
        ending=Ending.FAULT,
        fault=Fault(FaultKind.AGENT_ERROR, "It broke: \udcff", "Traceback"),
    )
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([failed], {failed.exercise.key: make_trace(4)})
    (outcome_shard,) = (tmp_path / "outcomes").iterdir()
    (row,) = pq.read_table(outcome_shard).to_pylist()
    assert row["agent"] == "random-v1(rate=2)"
    assert (row["agent_id"], row["class_id"], row["number"]) == ("random-v1", "cups-v1", 4)
    assert (row["complexity"], row["interactions"], row["ending"]) == (6.0, 3, "fault")
    assert (row["fault_kind"], row["fault_message"]) == ("agent-error", "It broke: \ufffd")
    assert math.isnan(row["payoff"])
    assert row["total"] == math.inf
    footer = json.loads(pq.read_metadata(outcome_shard).metadata[b"omnimeter"])
    assert footer["version"] == 3
    assert footer["name"] == outcome_shard.stem
    assert row["key"] == failed.exercise.key

    (trace_shard,) = (tmp_path / "traces").iterdir()
    assert trace_shard.name == outcome_shard.name
    (row,) = pq.read_table(trace_shard).to_pylist()
    trace = make_trace(4)
    assert (row["key"], row["end_ns"], row["ending"]) == (failed.exercise.key, 30, "budget")
    assert row["rewards"] == trace.rewards.tolist()
    assert row["times"] == trace.times.tolist()
    assert trace.actions is not None
    assert trace.observations is not None
    assert row["actions"] == trace.actions.tolist()
    assert np.array_equal(np.reshape(row["observations"], row["shape"]), trace.observations)


def test_traces_of_earlier_versions_get_their_plan_from_the_exercise() -> None:
    record = Record(Path(__file__).with_name("format2-unplanned"))
    plans = []
    for outcome in record.outcomes():
        trace = record.trace(outcome.exercise.key)
        assert trace is not None
        plans.append((trace.planned, trace.timed, trace.lowest))
    assert plans == [(7, False, -1.0), (None, True, -1.0), (7, True, -1.0)]
