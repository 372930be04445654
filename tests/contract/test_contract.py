"""The contract: streams, budgets, clocks, instances, specs, exercises and traces."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import omnimeter
from omnimeter import contract
from omnimeter.catalogue import Kind, listing, parse
from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Instance,
    InvalidInputError,
    Spec,
    Timeout,
    TimeoutRule,
    Trace,
    stream,
)
from omnimeter.contract.exercise import FOREVER, NANOSECONDS, nanoseconds

PATHS = st.lists(st.integers() | st.text(max_size=5), max_size=4)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(), inside, max_size=3),
    max_leaves=6,
)
NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
PARAMETERS = st.dictionaries(NAMES, JSON, max_size=4)


def test_the_contract_is_small() -> None:
    assert len(contract.__all__) <= 41
    assert all(getattr(omnimeter, name) is getattr(contract, name) for name in contract.__all__)


# Streams


@given(st.integers(), PATHS)
def test_same_name_same_draws(root: int, path: list[Any]) -> None:
    drawn = stream(root, *path).generator().integers(2**62, size=3)
    assert np.array_equal(stream(root, *path).generator().integers(2**62, size=3), drawn)
    assert stream(root).child(*path) == stream(root, *path)


@given(PATHS, PATHS)
def test_other_name_other_seed(one: list[Any], other: list[Any]) -> None:
    assert (stream(1, *one).seed == stream(1, *other).seed) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [((1,), ("1",)), (("ab", "c"), ("a", "bc")), ((), ("",)), ((12, 3), (1, 23)), ((-1,), (1,))],
)
def test_names_are_not_mixed_up(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    assert stream(0, *one).seed != stream(0, *other).seed


def test_order_of_work_changes_no_draw() -> None:
    names = [("exercise", number, side) for number in range(5) for side in ("agent", "environment")]
    forwards = {name: stream(3, *name).generator().random() for name in names}
    backwards = {name: stream(3, *name).generator().random() for name in reversed(names)}
    assert forwards == backwards
    assert len(set(forwards.values())) == len(names)


def test_seed_is_the_same_for_ever() -> None:
    """Stored results depend on it."""
    assert stream(1, "exercise", 7, "environment").seed == 16554822596021400604
    assert 0 <= stream(1).seed < 2**64


# Time


@given(st.integers(1, 10**15))
def test_whole_nanoseconds_survive_as_seconds(whole: int) -> None:
    assert nanoseconds(whole / NANOSECONDS) == whole


@given(st.floats(1e-3, 1e5), st.integers(1, 10_000))
@example(76.31379999999999, 7631380)  # a turn of 1e-6 seconds less a rounding error
@example(10_000 * (1e-6 - 9e-13), 10_000)  # a turn of 999.9991 ns is one of 999
def test_so_many_turns_fit_into_the_time(tau: float, turns: int) -> None:
    assert nanoseconds(tau / turns) * turns <= nanoseconds(tau)


@given(st.floats(0, 1e6))
def test_seconds_are_rounded_down(seconds: float) -> None:
    assert seconds * NANOSECONDS - 1 < nanoseconds(seconds) <= seconds * NANOSECONDS + 0.5


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_later_is_never_earlier(one: float, other: float) -> None:
    assert (one <= other) <= (nanoseconds(one) <= nanoseconds(other))


def test_budgets() -> None:
    assert (Budget(interactions=3).max_interactions, Budget(interactions=3).end_ns) == (3, FOREVER)
    assert (Budget(seconds=1.5).max_interactions, Budget(seconds=1.5).end_ns) == (
        FOREVER,
        1_500_000_000,
    )
    assert (Budget(3, 0).max_interactions, Budget(3, 0).end_ns) == (3, 0)


@pytest.mark.parametrize(
    "wrong",
    [{}, {"interactions": -1}, {"interactions": 2**63}, {"seconds": -0.1}, {"seconds": math.nan},
     {"seconds": math.inf}, {"seconds": 1e10}, {"interactions": 3, "seconds": -1}],
)  # fmt: skip
def test_budgets_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="budget") as error:
        Budget(**wrong)
    assert error.value.advice.startswith("Give")


@pytest.mark.parametrize("tick", [0, -1, math.nan, math.inf, 1e-12, 1e10])
def test_ticks_that_cannot_be(tick: float) -> None:
    with pytest.raises(InvalidInputError, match="tick"):
        Clock(tick=tick)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf])
def test_timeouts_that_cannot_be(seconds: float) -> None:
    with pytest.raises(InvalidInputError, match="time-out"):
        Timeout(seconds)


# Descriptions


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_key_of_an_instance_depends_on_its_content(data: dict[str, Any]) -> None:
    shuffled = dict(reversed(data.items()))
    again = json.loads(json.dumps(data))
    assert Instance(data).key == Instance(shuffled).key == Instance(again).key
    assert Instance({**data, "more": [1, data]}).key != Instance(data).key


@given(NAMES, PARAMETERS, st.sampled_from(["", "0123abcd"]))
def test_spec_survives_as_json(name: str, parameters: dict[str, Any], digest: str) -> None:
    spec = Spec(f"{name}-v1", parameters, digest)
    again = Spec.from_json(json.loads(json.dumps(spec.to_json())))
    assert again == spec
    assert (again.key, hash(again)) == (spec.key, hash(spec))
    assert Spec(spec.id, {**parameters, "one_more": 1}, digest).key != spec.key


AGENTS = [entry.id for entry in listing(Kind.AGENT) if entry.id != "command-v1"]
"""Without programs, whose parameters are checked when they are read."""


@given(st.sampled_from(AGENTS), PARAMETERS)
def test_label_is_read_as_the_same_spec(name: str, parameters: dict[str, Any]) -> None:
    spec = Spec(name, parameters)
    assert parse(Kind.AGENT, spec.label) == spec


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("first", "first"),
        ("my_file.py:Name", "my_file.py:Name"),
        ("10", '"10"'),
        ("1e3", '"1e3"'),
        ("true", '"true"'),
        ("NaN", '"NaN"'),
        ("a,b", '"a,b"'),
        ("[1]", '"[1]"'),
        ("(", '"("'),
        ("", '""'),
        (" x", '" x"'),
        ("'x'", "\"'x'\""),
        (10, "10"),
        ([1, "x"], '[1,"x"]'),
        (None, "null"),
    ],
)
def test_values_in_a_label(value: Any, written: str) -> None:
    assert Spec("random-v1", {"rate": value}).label == f"random-v1(rate={written})"


def test_label_of_a_spec_without_parameters() -> None:
    assert Spec("random-v1").label == "random-v1"
    assert Spec("x-v1", {"b": 1, "a": 2}).label == "x-v1(a=2, b=1)"


def an_exercise(**changes: Any) -> Exercise:
    given = {
        "agent": Spec("random-v1", {"rate": 10}),
        "environment_class": Spec("cups-v1"),
        "instance": Instance({"colours": "BWB", "rule": "rest"}),
        "budget": Budget(interactions=7),
        "seed": 3,
        "number": 4,
    }
    return Exercise(**{**given, **changes})


OTHERS = [
    {"agent": Spec("random-v1")},
    {"environment_class": Spec("cups-v1", {"max_cups": 9})},
    {"instance": Instance({"colours": "BWW", "rule": "rest"})},
    {"budget": Budget(seconds=7.5)},
    {"budget": Budget(7, 7.5)},
    {"seed": 4},
    {"number": 5},
    {"clock": Clock(ClockKind.WALL)},
    {"clock": Clock(tick=0.25)},
    {"timeout": Timeout(1.5)},
    {"timeout": Timeout(1.5, TimeoutRule.RANDOM_ACTION)},
    {"complexity": 3.0},
]


@pytest.mark.parametrize("changes", [{}, *OTHERS], ids=str)
def test_exercise_survives_as_json(changes: dict[str, Any]) -> None:
    exercise = an_exercise(**changes)
    again = Exercise.from_json(json.loads(json.dumps(exercise.to_json())))
    assert again == exercise
    assert again.key == exercise.key
    assert type(again.clock.kind) is ClockKind


def test_defaults_are_not_written() -> None:
    """A new field with a default changes no stored key."""
    data = an_exercise().to_json()
    assert data.keys() == {"agent", "environment_class", "instance", "budget", "seed", "number"}
    assert data["budget"] == {"interactions": 7}
    assert an_exercise(complexity=-0.0).to_json()["complexity"] == 0  # not the default, 0.0


def test_equal_exercises_have_equal_keys() -> None:
    assert an_exercise(complexity=3).key == an_exercise(complexity=3.0).key


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "spec.json: id: field required. Fix the file."),
        (
            {"id": "cups-v1", "parameter": {}},
            "parameter: unknown field. Did you mean 'parameters'?",
        ),
        ({"id": ["cups-v1"]}, "spec.json: id: input should be a valid string"),
        ([], "spec.json: input should be"),
        ('{"id": 3}', "spec.json: id: input should be a valid string"),
    ],
)
def test_data_that_is_no_spec(data: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        Spec.from_json(data, "spec.json")
    assert message in str(error.value)


def test_nested_fields_are_named_by_their_path() -> None:
    data = an_exercise(joint=(Spec("a-v1"), Spec("random-v1", {"rate": 10}))).to_json()
    data["joint"][1]["id"] = 3
    with pytest.raises(InvalidInputError, match=r"Exercise: joint\[1\]\.id: input should be"):
        Exercise.from_json(data)


def test_key_of_an_exercise_depends_on_everything() -> None:
    assert len({an_exercise(**changes).key for changes in [{}, *OTHERS]}) == len(OTHERS) + 1


def test_agents_meet_the_same_randomness() -> None:
    one, other = an_exercise(), an_exercise(agent=Spec("random-v1"))
    assert one.stream("environment") == other.stream("environment")
    assert one.stream("harness") == other.stream("harness")
    assert one.stream("agent") != other.stream("agent")
    assert one.stream("environment") != an_exercise(number=5).stream("environment")


# Traces


def a_trace(ending: Ending = Ending.BUDGET, end: int = 10, fault: Fault | None = None) -> Trace:
    return Trace(
        rewards=np.array([0.1, 0.2, 0.3]),
        times=np.array([2, 4, 4]),
        end_ns=end,
        ending=ending,
        first_reward=0.5,
        fault=fault,
        actions=np.array([0, 1, 2]),
        observations=np.array([[0], [1], [2], [3]]),
    )


@pytest.mark.parametrize(
    ("end", "count"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 3), (5, 3), (10, 3)]
)
def test_beginning_of_a_trace(end: int, count: int) -> None:
    trace = a_trace().until(end)
    assert (len(trace), trace.end_ns, trace.first_reward) == (count, end, 0.5)
    assert trace.rewards.tolist() == [0.1, 0.2, 0.3][:count]
    assert trace.actions is not None
    assert trace.observations is not None
    assert trace.actions.tolist() == [0, 1, 2][:count]
    assert trace.observations.ravel().tolist() == [0, 1, 2, 3][: count + 1]


@pytest.mark.parametrize(
    ("end", "ending"), [(3, Ending.BUDGET), (4, Ending.STOPPED), (10, Ending.STOPPED)]
)
def test_beginning_of_a_stopped_trace(end: int, ending: Ending) -> None:
    assert a_trace(Ending.STOPPED).until(end).ending is ending


@pytest.mark.parametrize(("end", "kept"), [(3, False), (4, False), (6, False), (7, True)])
def test_beginning_of_a_faulty_trace(end: int, kept: bool) -> None:
    """The environment failed at 7, after the last action; a trace that ends before has no fault."""
    fault = Fault(FaultKind.INFRASTRUCTURE, "It broke.")
    trace = a_trace(Ending.FAULT, end=7, fault=fault).until(end)
    assert trace.fault == (fault if kept else None)
    assert trace.ending is (Ending.FAULT if kept else Ending.BUDGET)


def test_traces_are_the_same_bit_for_bit() -> None:
    trace = a_trace()
    assert trace.same_as(a_trace())
    assert not trace.same_as(a_trace(end=11))
    assert not trace.same_as(a_trace(Ending.STOPPED))
    assert not trace.same_as(trace.until(3))
    changed = a_trace()
    changed.rewards[1] = np.nextafter(0.2, 1)
    assert not trace.same_as(changed)
