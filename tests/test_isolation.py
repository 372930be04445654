"""Agents in a process of their own: what they do wrong costs only their own exercise."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    STOP,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Environment,
    FaultKind,
    InvalidInputError,
    Move,
    Percept,
    Space,
    Spec,
    Stream,
    Trace,
    single,
    stream,
)
from omnimeter.interaction import interact, remote
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.children import TAIL
from omnimeter.interaction.messages import (
    answer_from_json,
    briefing_from_json,
    briefing_to_json,
    line,
    move_to_json,
    observation_from_json,
    percept_to_json,
    read,
)
from omnimeter.interaction.remote import AgentProcess, Limits
from omnimeter.interaction.seats import AgentFault, read_move

WALL = Clock(ClockKind.WALL)
SHORT = Limits(seconds_per_action=0.5, seconds_to_begin=20)

AGENTS = """
import ctypes
import os
import sys
import time

import numpy as np

from omnimeter import STOP, Agent, Move


class Rascal(Agent):
    '''Presses three buttons in turn; then does what the briefing says.'''

    def begin(self, briefing, rng):
        self.how = briefing.remarks["how"]
        self.rng = rng
        self.pressed = 0
        if self.how == "raise_at_once":
            raise ValueError("not today")
        if self.how == "hang_at_once":
            time.sleep(60)

    def act(self, reward, observation):
        self.pressed += 1
        if self.pressed <= 3 or self.how == "raise_at_last":
            return self.pressed % 3
        return getattr(self, self.how)()

    def finish(self, reward, observation):
        if self.how == "raise_at_last":
            raise ValueError("no goodbye")

    def behave(self):
        return int(self.rng.integers(3))

    def delay(self):
        return Move(self.behave(), float(self.rng.exponential(0.1)) + 1e-6)

    def stop(self):
        return STOP

    def numpy_integer(self):
        return np.int64(2)

    def answer_none(self):
        return None

    def answer_text(self):
        return "left"

    def answer_seven(self):
        return 7

    def answer_numpy_seven(self):
        return np.int64(7)

    def answer_nan(self):
        return float("nan")

    def answer_half(self):
        return 1.5

    def answer_pair(self):
        return (1, 0.5)

    def answer_much(self):
        return "x" * 5_000_000

    def answer_huge(self):
        return 10**5000

    def declare_nan(self):
        return Move(1, float("nan"))

    def declare_text(self):
        return Move(1, "soon")

    def declare_none_of_seven(self):
        return Move(7, None)

    def raise_error(self):
        print("my last words")
        raise KeyError("lost")

    def raise_unprintable(self):
        class Unprintable(Exception):
            def __str__(self):
                raise RuntimeError

        raise Unprintable

    def hang(self):
        print("thinking hard")
        time.sleep(60)

    def spin(self):
        while True:
            pass

    def nap(self):
        time.sleep(0.02)
        return 0

    def doze(self):
        time.sleep(0.35)
        return 0

    def eat_lumps(self):
        hoard = []
        while True:
            hoard.append(bytearray(10_000_000))

    def eat_crumbs(self):
        hoard = sys.hoard = []
        while True:
            hoard.append([None])

    def eat_array(self):
        return np.ones(10**10)

    def talk(self):
        print("one", flush=True)
        os.write(1, b"two")
        print('{"turn": 5, "type": "move", "action": 1}')
        return 1

    def flood(self):
        for _ in range(200):
            os.write(1, b"x" * 100_000)
        return 1

    def flood_forever(self):
        while True:
            print("x" * 1000)

    def flood_channel(self):
        for number in range(3, 20):
            try:
                os.write(number, b"x" * 3_000_000)
            except OSError:
                pass

    def fork(self):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        os._exit(3)

    def fork_and_go_on(self):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        self.how = "behave"
        return 1

    def fork_and_return(self):
        os.fork()  # both come back from here
        return self.behave()

    def leave(self):
        os._exit(3)

    def leave_politely(self):
        sys.exit(4)

    def crash(self):
        ctypes.string_at(0)

    def close_input(self):
        os.close(0)
        self.how = "behave"
        return 1

    def close_everything(self):
        os.closerange(0, 100)
        return 1


def flat(reward, observation):
    return 1
"""


class Corridor(Environment):
    """Each action pays a tenth of its number; the agent is told how to misbehave."""

    actions = 3
    space = single(5)

    def __init__(self, how: str = "behave") -> None:
        self.how = how

    def start(self, rng: np.random.Generator) -> Percept:
        self.place = 0
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        self.place = (self.place + action) % 5
        return Percept(action / 10, self.place)

    def briefing(self) -> Briefing:
        return Briefing(self.actions, self.space, self.rewards, {"how": self.how})


def streams(side: str) -> Stream:
    return stream(11, side)


def take(seat: AgentProcess, how: str = "behave", budget: int = 10) -> Trace:
    return interact(Corridor(how), seat, Budget(interactions=budget), streams, record=True)


def take_timed(seat: AgentProcess, how: str, seconds: float) -> tuple[Trace, float]:
    before = time.monotonic()
    trace = interact(Corridor(how), seat, Budget(seconds=seconds), streams, clock=WALL)
    return trace, time.monotonic() - before


def living(group: int) -> list[int]:
    """The processes of a group that are still running."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after_name[2]) == group and after_name[0] not in "ZX":
                found.append(int(entry.name))
    return found


def gone(group: int, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while living(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def works(seat: AgentProcess) -> bool:
    trace = take(seat)
    return trace.fault is None and len(trace) == 10 and trace.ending is Ending.BUDGET


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("agents") / "agents.py"
    path.write_text(AGENTS)
    return path


@pytest.fixture(scope="module")
def rascal(agents: Path) -> Spec:
    return Spec(f"{agents}:Rascal")


@pytest.fixture(scope="module")
def shared(rascal: Spec) -> Iterator[AgentProcess]:
    """One process for many tests: each of them must leave it in order."""
    with AgentProcess(rascal, Limits(seconds_per_action=20, memory_mb=200)) as seat:
        yield seat


def in_process(rascal: Spec, how: str) -> Trace:
    agent = adapt(make(Kind.AGENT, rascal))
    return interact(Corridor(how), agent, Budget(interactions=10), streams, record=True)


@pytest.mark.parametrize(
    "how",
    [
        "behave",
        "delay",
        "stop",
        "numpy_integer",
        "answer_none",
        "answer_text",
        "answer_seven",
        "answer_numpy_seven",
        "answer_nan",
        "answer_half",
        "answer_pair",
        "answer_much",
        "answer_huge",
        "declare_nan",
        "declare_text",
        "declare_none_of_seven",
        "raise_error",
        "raise_unprintable",
        "raise_at_once",
        "raise_at_last",
    ],
)
def test_same_trace_and_fault_as_in_process(shared: AgentProcess, rascal: Spec, how: str) -> None:
    mine, theirs = in_process(rascal, how), take(shared, how)
    assert theirs.same_as(mine)
    if mine.fault is None:
        assert theirs.fault is None
    else:
        assert theirs.fault is not None
        assert theirs.fault.kind is mine.fault.kind is FaultKind.AGENT_ERROR
        assert theirs.fault.message == mine.fault.message
        assert len(theirs.fault.message) < 1000
    pid = shared.pid
    assert works(shared)
    assert shared.pid == pid  # an agent that only errs does not cost its process


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("eat_lumps", "The agent used more than 200 MB of memory."),
        ("eat_crumbs", "The agent used more than 200 MB of memory."),
        ("eat_array", "The agent used more than 200 MB of memory."),
        ("leave", "The agent ended its process (exit code 3)."),
        ("leave_politely", "The agent ended its process (exit code 4)."),
        ("crash", "The agent ended its process (signal SIGSEGV)."),
        ("fork", "The agent ended its process (exit code 3)."),
        ("flood_channel", "The agent sent a line of more than 1000000 bytes."),
        ("close_everything", "The agent ended its process (exit code "),
    ],
)
def test_what_ends_the_process_costs_one_exercise(
    shared: AgentProcess, how: str, message: str
) -> None:
    assert works(shared)
    group = shared.pid
    assert group is not None
    trace = take(shared, how)
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert trace.fault.message.startswith(message)
    assert trace.rewards.tolist() == [0.1, 0.2, 0.0]  # what was measured before is kept
    assert gone(group)
    assert works(shared)


def test_last_words_are_kept(shared: AgentProcess) -> None:
    raised = take(shared, "raise_error").fault
    assert raised is not None
    assert "my last words" in raised.detail
    assert "KeyError" in raised.detail
    crashed = take(shared, "crash").fault
    assert crashed is not None
    assert "my last words" not in crashed.detail  # those belong to an earlier exercise
    assert "Segmentation fault" in crashed.detail
    assert "in crash" in crashed.detail


@pytest.mark.parametrize(
    "how", ["talk", "flood", "close_input", "fork_and_go_on", "fork_and_return"]
)
def test_bad_manners_without_harm(shared: AgentProcess, how: str) -> None:
    trace = take(shared, how)
    assert trace.fault is None
    assert len(trace) == 10
    assert works(shared)


@pytest.mark.parametrize("how", ["hang", "spin", "flood_forever"])
def test_patience_ends(rascal: Spec, how: str) -> None:
    with AgentProcess(rascal, SHORT) as seat:
        assert works(seat)
        group = seat.pid
        assert group is not None
        before = time.monotonic()
        trace = take(seat, how)
        assert 0.5 <= time.monotonic() - before < 3
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.TIME_OUT
        assert trace.fault.message == "The agent took longer than 0.5 s for one action."
        assert len(trace.fault.detail) < TAIL + 100
        assert how != "hang" or "thinking hard" in trace.fault.detail
        assert len(trace) == 3
        assert gone(group)
        assert works(seat)


def test_patience_with_the_beginning(rascal: Spec) -> None:
    with AgentProcess(rascal) as seat:
        assert works(seat)
        seat.limits = Limits(seconds_to_begin=0.5)
        trace = take(seat, "hang_at_once")
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.TIME_OUT
        assert trace.fault.message == "The agent took longer than 0.5 s to begin."
        seat.limits = Limits()
        assert works(seat)


def test_hang_at_import(tmp_path: Path) -> None:
    path = tmp_path / "sleeper.py"
    path.write_text("def choose(observation):\n    return 0\n")
    with AgentProcess(Spec(f"{path}:choose")) as seat:
        assert works(seat)
        awake = path.read_text()
        path.write_text(f"import time\ntime.sleep(60)\n{awake}")
        seat.limits = Limits(seconds_to_begin=0.5)
        trace = take(seat)
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.TIME_OUT
        path.write_text(awake)
        seat.limits = Limits()
        assert works(seat)


def test_only_the_agents_own_time_counts(rascal: Spec) -> None:
    with AgentProcess(rascal) as seat:
        take(seat)  # starting the process is not the agent's time
        trace, _ = take_timed(seat, "nap", 0.5)
    assert trace.fault is None
    assert trace.end == 500_000_000
    waits = np.diff(trace.times[2:]) / 1e6
    assert 5 <= len(waits) <= 25
    assert np.all(waits >= 20)
    assert np.median(waits) < 35


def test_an_action_after_the_end_does_not_count(rascal: Spec) -> None:
    with AgentProcess(rascal) as seat:
        assert works(seat)
        pid = seat.pid
        trace, took = take_timed(seat, "hang", 0.3)
        assert trace.fault is None
        assert trace.ending is Ending.BUDGET
        assert len(trace) == 3
        assert trace.end == 300_000_000
        assert 0.3 <= took < 3  # about the budget, not our patience
        assert works(seat)
        assert seat.pid != pid


def test_an_agent_that_is_free_in_time_keeps_its_process(
    rascal: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "GRACE", 5_000_000_000)  # a busy machine is no reason to fail
    with AgentProcess(rascal) as seat:
        assert works(seat)
        pid = seat.pid
        trace, _ = take_timed(seat, "doze", 0.25)
        assert trace.fault is None
        assert len(trace) == 3
        assert works(seat)
        assert seat.pid == pid


@pytest.mark.parametrize("how", ["raise_error", "leave", "eat_lumps"])
def test_faults_in_time_are_faults_under_a_wall_clock_too(shared: AgentProcess, how: str) -> None:
    take(shared)
    trace, _ = take_timed(shared, how, 15)
    assert trace.fault is not None
    assert len(trace) == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{path}:Rascal(wit=3)", "wit"),
        ("{path}:Rascl", "Rascl"),
        ("{path}x:Rascal", "no file"),
        ("{path}:np", "cannot be used as an agent"),
        ("random-v0", "random-v0"),
    ],
)
def test_an_agent_that_cannot_be_loaded(agents: Path, spec: str, message: str) -> None:
    name, _, inside = spec.format(path=agents).partition("(")
    wanted = Spec(name, {"wit": 3} if inside else {})
    with pytest.raises(InvalidInputError, match=message) as told, AgentProcess(wanted) as seat:
        take(seat)
    with pytest.raises(Exception, match=message) as here:
        adapt(make(Kind.AGENT, wanted))
    assert str(told.value) == str(here.value)


def test_syntax_error_and_repair(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def choose(observation)\n    return 0\n")
    with AgentProcess(Spec(f"{path}:choose")) as seat:
        with pytest.raises(InvalidInputError, match=r"broken\.py, line 1: SyntaxError"):
            take(seat)
        path.write_text("def choose(observation):\n    return 0\n")
        assert works(seat)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("/no/such/python",), "cannot be started"),
        ((sys.executable, "-c", "raise SystemExit(5)"), "exit code 5"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "longer than 1 s"),
        ((sys.executable, "-c", "print('hello'); input(); input()"), "wire format"),
    ],
)
def test_a_process_that_does_not_start_is_nobodys_fault(
    rascal: Spec, command: tuple[str, ...], message: str
) -> None:
    with AgentProcess(rascal, Limits(seconds_to_begin=1), command) as seat:
        trace = take(seat)
        assert seat.pid is None
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert message in trace.fault.message


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_an_impossible_reward_is_not_the_agents_fault(shared: AgentProcess, reward: float) -> None:
    class Odd(Corridor):
        def step(self, action: int) -> Percept:
            return Percept(reward, 0)

    trace = interact(Odd(), shared, Budget(interactions=10), streams)
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert trace.fault.message == f"The reward {reward} cannot be sent to an agent."
    assert works(shared)


@pytest.mark.parametrize(
    ("reward", "observation"), [("much", 0), (None, 0), (0.0, 0.5), (0.0, np.array([0.5]))]
)
def test_what_cannot_be_sent(reward: object, observation: object) -> None:
    with pytest.raises(AgentFault, match="cannot be sent") as trouble:
        percept_to_json("act", reward, observation)  # type: ignore[arg-type]
    assert trouble.value.fault.kind is FaultKind.INFRASTRUCTURE


def test_random_agent_is_the_same_in_both_places() -> None:
    cups = make(Kind.ENVIRONMENT, Spec("cups-v1"))
    environment = cups.build(cups.draw(streams("draw").generator()))
    for parameters in ({}, {"rate": 3.0}):
        spec = Spec("random-v1", parameters)
        budget = Budget(interactions=200)
        here = interact(environment, make(Kind.AGENT, spec), budget, streams, record=True)
        with AgentProcess(spec) as seat:
            there = interact(environment, seat, budget, streams, record=True)
        assert there.fault is None
        assert len(there) == 200
        assert there.same_as(here)


def test_python_agent_is_the_same_in_both_places(shared: AgentProcess, rascal: Spec) -> None:
    class Cups(Corridor):
        """Real cups, with our briefing."""

        def __init__(self) -> None:
            cups = make(Kind.ENVIRONMENT, Spec("cups-v1"))
            self.cups = cups.build(cups.draw(streams("draw").generator(), 4))
            self.actions, self.space = self.cups.actions, self.cups.space
            self.start, self.step = self.cups.start, self.cups.step
            self.how = "delay"

    budget = Budget(interactions=200)
    here = interact(Cups(), make(Kind.AGENT, rascal), budget, streams, record=True)
    there = interact(Cups(), shared, budget, streams, record=True)
    assert there.fault is None
    assert len(set(np.diff(there.times).tolist())) > 100  # the declared delays, exactly
    assert there.same_as(here)


def test_close_leaves_nothing_behind(rascal: Spec) -> None:
    files = len(os.listdir("/proc/self/fd"))
    seat = AgentProcess(rascal)
    take(seat, "fork_and_go_on")
    group = seat.pid
    assert group is not None
    assert len(living(group)) == 2
    seat.close()
    seat.close()
    assert gone(group)
    assert len(os.listdir("/proc/self/fd")) == files
    assert works(seat)  # it can be used again
    seat.close()


def test_a_process_that_died_between_exercises_costs_none(shared: AgentProcess) -> None:
    assert works(shared)
    assert shared.pid is not None
    os.kill(shared.pid, signal.SIGKILL)
    time.sleep(0.05)
    assert works(shared)


@pytest.mark.parametrize("how", ["idle", "spin"])
def test_a_child_does_not_outlive_its_parent(rascal: Spec, how: str) -> None:
    script = dedent(f"""
        import threading
        import time
        from omnimeter.contract import Spec, stream, Briefing, single
        from omnimeter.interaction.remote import AgentProcess
        seat = AgentProcess(Spec({rascal.id!r}))
        seat.begin(Briefing(3, single(5), remarks={{"how": {how!r}}}), stream(1))
        print(seat.pid, flush=True)
        if {how!r} == "idle":
            time.sleep(60)
        for _ in range(4):
            seat.ask(0.0, 0, 2**62)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        time.sleep(0.2)
        assert living(group) == [group]
        parent.kill()
    assert gone(group)


def documented_program() -> str:
    text = (Path(__file__).parents[1] / "docs" / "wire.md").read_text()
    found = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


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
    sent = answer_from_json(read(line(3, move_to_json(answer, 4, 17))))
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
    ):
        message = read(line(1, {"type": "begin", "briefing": briefing_to_json(briefing)}))
        assert briefing_from_json(message["briefing"]) == briefing
