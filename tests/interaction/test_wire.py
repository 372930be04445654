"""The wire format: what is carried by it, and programs that keep to it or do not."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from isolation_parts import (
    RASCAL,
    SHORT,
    Corridor,
    documented_program,
    streams,
    take,
    take_timed,
    works,
)
from omnimeter.contract import (
    STOP,
    Briefing,
    Budget,
    FaultKind,
    InvalidInputError,
    Move,
    Percept,
    Space,
    Spec,
    single,
)
from omnimeter.interaction import interact
from omnimeter.interaction.handles import AgentFault, read_move, view_of
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.interaction.wire import (
    answer_from_json,
    briefing_from_json,
    briefing_to_json,
    line,
    move_to_json,
    observation_from_json,
    percept_to_json,
    read,
)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("/no/such/python",), "cannot be started"),
        ((sys.executable, "-c", "raise SystemExit(5)"), "exit code 5"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "longer than 1 s"),
        ((sys.executable, "-c", "print('hello'); input(); input()"), "wire format"),
    ],
)
def test_a_process_that_does_not_start_is_not_the_agents_fault(
    command: tuple[str, ...], message: str
) -> None:
    with AgentProcess(RASCAL, Limits(seconds_to_begin=1), command) as seat:
        trace = take(seat)
        assert seat.pid is None
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert message in trace.fault.message


def test_an_impossible_reward_is_not_the_agents_fault() -> None:
    class Odd(Corridor):
        def step(self, action: int) -> Percept:
            return Percept(math.nan, 0)

    with AgentProcess(RASCAL) as seat:
        trace = interact(Odd(), seat, Budget(interactions=10), streams)
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.INFRASTRUCTURE
        assert "gave the reward nan" in trace.fault.message
        assert works(seat)


@pytest.mark.parametrize(
    ("reward", "observation"),
    [("much", 0), (None, 0), (math.inf, 0), (0.0, 0.5), (0.0, np.array([0.5]))],
)
def test_what_cannot_be_sent(reward: object, observation: object) -> None:
    with pytest.raises(AgentFault, match="cannot be sent") as trouble:
        percept_to_json("act", reward, observation)  # type: ignore[arg-type]
    assert trouble.value.fault.kind is FaultKind.INFRASTRUCTURE


def test_the_documented_program_is_an_agent() -> None:
    command = (sys.executable, "-c", documented_program())
    with AgentProcess(Spec("presser"), command=command) as seat:
        for _ in range(2):
            trace = take(seat, budget=4)
            assert trace.fault is None
            assert trace.actions is not None
            assert trace.actions.tolist() == [0, 1, 2, 0]
        trace, _ = take_timed(seat, "", 0.2)
        assert trace.fault is None
        assert len(trace) > 10  # without its own word, the round trip counts


ASKED = """"wire": 1, "view": True}
        case "view":
            reply |= {"type": "view", "view": WANTED}"""


@pytest.mark.parametrize(
    ("program", "view"),
    [
        (documented_program(), None),  # it is never asked: it would say nothing
        (documented_program().replace('"wire": 1}', ASKED.replace("WANTED", "None")), None),
        (documented_program().replace('"wire": 1}', ASKED.replace("WANTED", "'few'")), "few"),
        (documented_program().replace('"wire": 1}', ASKED.replace("WANTED", "[7]")), "[7]"),
    ],
)
def test_only_programs_that_know_of_views_are_asked_for_theirs(
    program: str, view: str | None
) -> None:
    with AgentProcess(Spec("presser"), SHORT, (sys.executable, "-c", program)) as seat:
        if view == "[7]":
            with pytest.raises(AgentFault, match=r"asks for the view \[7\]"):
                view_of(seat)
        else:
            assert view_of(seat) == view
        assert works(seat)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("print(json", "print('[1, 2]') if 'move' in str(reply) else print(json", "JSON object"),
        ("print(json", "print('[' * 90000) if 'move' in str(reply) else print(json", "JSON"),
        ("print(json", "print('NaN') if 'move' in str(reply) else print(json", "JSON"),
        ('"move"', '"dance"', "'dance' is no answer here"),
        ('"action": pressed', '"turn": 99, "action": pressed', "turn 99 has not come yet"),
        ('"action": pressed % actions', '"action": {"left": [1]}', "returned {'left': [1]}"),
        ('"action": pressed % actions', '"act": 1', "returned None"),
        ('"action": pressed', '"ns": -5, "action": pressed', ""),
        ('"action": pressed', '"turn": 1, "action": pressed', "took longer than 0.5 s"),
    ],
)
def test_programs_that_break_the_format(old: str, new: str, message: str) -> None:
    program = documented_program().replace(old, new)
    with AgentProcess(Spec("presser"), SHORT, (sys.executable, "-c", program)) as seat:
        trace = take(seat, budget=4)
    assert (trace.fault is None) == (message == "")
    assert trace.fault is None or message in trace.fault.message


@pytest.mark.parametrize(
    "wrong", [{"seconds_per_action": 0}, {"seconds_to_begin": math.inf}, {"memory_mb": 0}]
)
def test_impossible_limits(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Limits(**wrong)  # type: ignore[arg-type]


answers = some.one_of(
    some.integers(-3, 9),
    some.booleans(),
    some.floats(),
    some.text(),
    some.none(),
    some.integers(-3, 9).map(np.int64),
    some.integers(0, 9).map(np.uint8),
    some.binary(),
)


def judged(answer: object) -> tuple[int, int] | str:
    try:
        return read_move(answer, 4)
    except AgentFault as trouble:
        return trouble.fault.message


@given(answers | some.builds(Move, answers, answers) | some.just(STOP))
def test_answers_are_judged_the_same_after_the_trip(answer: object) -> None:
    sent = answer_from_json(read(line(3, move_to_json(answer, 4))))
    assert judged(sent) == judged(answer)


@given(
    some.floats(allow_nan=False, allow_infinity=False),
    some.integers(0, 2**40) | some.lists(some.integers(0, 2**40), min_size=1).map(np.array),
)
def test_percepts_arrive_exactly(reward: float, observation: int | np.ndarray) -> None:
    message = read(line(1, percept_to_json("act", reward, observation)))
    assert math.copysign(1, message["reward"]) == math.copysign(1, reward)
    assert message["reward"] == reward
    seen = observation_from_json(message["observation"])
    assert type(seen) is type(observation)
    assert np.array_equal(seen, observation)


def test_briefings_arrive_exactly() -> None:
    for briefing in (
        Briefing(3, single(5), (-1.0, 1.0), {"a": [1, None]}),
        Briefing(2, Space((2, 3)), (-math.inf, math.inf)),
        Briefing(2, Space((4,)), (0.1, 0.30000000000000004)),
        Briefing(2, Space((4, 4)), view="structure"),
    ):
        message = read(line(1, {"type": "begin", "briefing": briefing_to_json(briefing)}))
        assert briefing_from_json(message["briefing"]) == briefing
        assert ("view" in message["briefing"]) == (briefing.view is not None)
