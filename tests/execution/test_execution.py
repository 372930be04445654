"""Running evaluations: the same result however it is run, and nothing finished is lost."""

import signal
from dataclasses import replace

import pytest

from omnimeter.catalogue import Kind, parse
from omnimeter.contract import FaultKind, InvalidInputError, Spec
from omnimeter.execution import Isolation, Observer, Options, Sandboxing, evaluate
from omnimeter.execution.workers import ExerciseRunner, is_isolated
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.interaction.sandbox import contains
from omnimeter.protocols import Evaluation, summarise
from omnimeter.results import Record, open_writer

RANDOM = Spec("random-v1")
OPTIONS = Options()
PRESSER = Spec("cup-presser-v1", {"choice": "first"})


def evaluation(*agents, traces=False, **parameters):
    given = {"environment_class": "cups-v1", "exercises": 12, "interactions": 40, **parameters}
    return Evaluation(Spec("sample-v1", given), agents or (RANDOM, PRESSER), traces)


def run(directory, what, options=OPTIONS, observer=None):
    with open_writer(directory, what.to_json()) as writer:
        return evaluate(what, writer, options, observer)


def agent_file(tmp_path, body):
    path = tmp_path / "their_agent.py"
    path.write_text(body)
    return Spec(f"{path}:Theirs")


def test_outcomes_are_on_disk_and_can_be_scored_again(tmp_path):
    what = evaluation()
    result = run(tmp_path / "e", what)
    assert result.complete
    again = summarise(what, Record(tmp_path / "e").outcomes())
    assert again.scores == result.scores
    assert [len(done) for done in again.outcomes.values()] == [12, 12]


def test_several_processes_give_the_same(tmp_path):
    what = evaluation(traces=True)
    alone = run(tmp_path / "one", what)
    spread = run(tmp_path / "two", what, Options(workers=2))
    assert alone.scores == spread.scores
    assert alone.outcomes == spread.outcomes
    ours, theirs = (dict(Record(tmp_path / name).traces()) for name in ("one", "two"))
    assert ours.keys() == theirs.keys()
    assert all(ours[key].same_as(theirs[key]) for key in ours)


class Interrupt(Observer):
    """Presses Ctrl-C after some outcomes."""

    def __init__(self, after):
        self.left = after

    def finished(self, agent, outcomes):
        self.left -= len(outcomes)
        if self.left == 0:
            raise KeyboardInterrupt


def test_an_interrupted_run_has_an_answer_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("omnimeter.execution.evaluation.SHARD", 1)
    what = evaluation()
    half = run(tmp_path / "e", what, observer=Interrupt(after=15))
    assert not half.complete
    assert sum(len(done) for done in half.outcomes.values()) >= 15
    stored = Record(tmp_path / "e").keys()
    assert len(stored) >= 15
    whole = run(tmp_path / "e", what)
    clean = run(tmp_path / "clean", what)
    assert whole.complete
    assert whole.scores == clean.scores
    assert stored <= Record(tmp_path / "e").keys()


ZERO = """
from omnimeter import Agent
class Theirs(Agent):
    def begin(self, briefing, rng):
        self.action = int(rng.integers(briefing.actions))
    def act(self, reward, observation):
        return self.action
"""


class Ahead(Observer):
    """Notes how many exercises an agent has ever been ahead of another."""

    def __init__(self):
        self.most = 0

    def started(self, agents, expected):
        self.done = dict.fromkeys(agents, 0)

    def finished(self, agent, outcomes):
        self.done[agent] += len(outcomes)
        self.most = max(self.most, max(self.done.values()) - min(self.done.values()))


@pytest.mark.parametrize(("kind", "batch"), [("isolated", 1), ("compiled", 10), ("one of each", 3)])
def test_agents_take_turns(tmp_path, monkeypatch, kind, batch):
    """Whenever it is interrupted, no agent is more than a batch ahead, and it goes on as ever."""
    monkeypatch.setattr("omnimeter.execution.evaluation.SHARD", 1)
    theirs = agent_file(tmp_path, RAISES.replace("5 +", "100 +"))
    agents = {
        "isolated": (theirs, replace(theirs, name="again")),
        "compiled": (RANDOM, PRESSER),
        "one of each": (RANDOM, theirs),
    }[kind]
    what = evaluation(*agents, exercises=40)
    half = run(tmp_path / "e", what, observer=Interrupt(after=18))
    first, second = (len(half.outcomes[agent]) for agent in agents)
    assert first + second >= 18
    assert not half.complete
    assert abs(first - second) <= batch
    ahead = Ahead()
    clean = run(tmp_path / "clean", what, observer=ahead)
    assert ahead.most <= batch
    assert run(tmp_path / "e", what).outcomes == clean.outcomes


def test_an_agent_that_is_ahead_waits_for_the_others(tmp_path, monkeypatch):
    """As one is that was alone before."""
    monkeypatch.setattr("omnimeter.execution.evaluation.SHARD", 1)
    other = agent_file(tmp_path, RAISES.replace("5 +", "100 +"))
    what, order = evaluation(RANDOM, other, exercises=40), []

    class Order(Observer):
        def finished(self, agent, outcomes):
            order.extend([agent] * len(outcomes))

    with open_writer(tmp_path / "e", what.to_json()) as writer:
        alone = replace(what, agents=(RANDOM,))
        evaluate(alone, writer, OPTIONS, Interrupt(after=20))
        count = len(writer.keys())
        assert 20 <= count < 40
        assert evaluate(what, writer, OPTIONS, Order()).complete
    assert order[:count] == [RANDOM] * count  # known already
    assert order[count : count + 18] == [other] * 18


def test_agents_that_take_turns_keep_their_processes(tmp_path, monkeypatch):
    """Where that is safe, one is not started anew for each turn."""
    if not contains(Sandboxing.AUTO):
        pytest.skip("There is no sandbox: agents do not share a process's children.")
    begin, started = AgentProcess.__init__, []

    def count(self, agent, *given, **options):
        started.append(agent)
        begin(self, agent, *given, **options)

    monkeypatch.setattr(AgentProcess, "__init__", count)
    theirs = agent_file(tmp_path, RAISES.replace("5 +", "100 +"))
    agents = theirs, replace(theirs, name="again")
    run(tmp_path / "e", evaluation(*agents, exercises=20))
    # One for all exercises, and one for the first of them once more.
    assert sorted(map(str, started)) == sorted(map(str, agents * 2))
    started.clear()
    timed = evaluation(*agents, exercises=20, clock="wall")
    run(tmp_path / "timed", timed)  # no other agent may use the time that is measured
    assert len(started) >= 20


def test_a_finished_evaluation_runs_nothing_again(tmp_path, monkeypatch):
    what = evaluation()
    first = run(tmp_path / "e", what)

    def fail(*_, **__):
        raise AssertionError("an exercise was run again")

    monkeypatch.setattr(ExerciseRunner, "traces", fail)
    assert run(tmp_path / "e", what).scores == first.scores


RAISES = """
from omnimeter import Agent
class Theirs(Agent):
    def begin(self, briefing, rng):
        self.turns = 0
        self.limit = 5 + int(rng.integers(60))
    def act(self, reward, observation):
        self.turns += 1
        if self.turns > self.limit:
            raise RuntimeError("enough")
        return 0
"""


def test_an_agent_has_the_same_random_numbers_in_any_folder(tmp_path):
    scores = []
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        agent = parse(Kind.AGENT, agent_file(folder, RAISES).id)
        slow = parse(Kind.AGENT, f"slowed(agent={agent.id}, seconds=0.1)")
        result = run(folder / "e", evaluation(agent, slow), Options(isolation=Isolation.NONE))
        scores.append(list(result.scores.values()))
    assert scores[0] == scores[1]


@pytest.mark.parametrize("isolation", [Isolation.AUTO, Isolation.NONE])
def test_an_agent_that_raises_costs_only_its_exercise(tmp_path, isolation):
    what = evaluation(agent_file(tmp_path, RAISES), RANDOM)
    result = run(tmp_path / "e", what, Options(isolation=isolation))
    theirs, ours = result.outcomes.values()
    kinds = {outcome.fault.kind for outcome in theirs if outcome.fault}
    assert result.complete
    assert kinds == {FaultKind.AGENT_ERROR}
    assert all(o.interactions >= 5 for o in theirs)  # what was measured is kept
    assert all(o.payoff is None for o in theirs if o.fault)
    assert all(o.fault is None for o in ours)
    score = result.scores[what.agents[0]]
    assert score.count + score.faults["agent-error"] == 12


SLEEPS = """
import time
from omnimeter import Agent
class Theirs(Agent):
    def act(self, reward, observation):
        time.sleep(1000)
"""


def test_an_agent_that_sleeps_for_ever_is_ended(tmp_path):
    what = evaluation(agent_file(tmp_path, SLEEPS), exercises=2)
    result = run(tmp_path / "e", what, Options(limits=Limits(seconds_per_action=0.3)))
    assert result.scores[what.agents[0]].faults == {"time-out": 2}


KILLS = """
import os, signal
from omnimeter import Agent
class Theirs(Agent):
    def act(self, reward, observation):
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_that_an_agent_ends_is_the_fault_of_that_agent(tmp_path):
    """Without isolation an agent can take its worker down; the others' work is still done."""
    what = evaluation(agent_file(tmp_path, KILLS), RANDOM, exercises=2)
    result = run(tmp_path / "e", what, Options(workers=2, isolation=Isolation.NONE))
    assert result.scores[what.agents[0]].faults == {"agent-error": 2}
    assert {done.attempts for done in result.outcomes[what.agents[0]]} == {1}
    assert result.scores[RANDOM].count == 2
    assert result.complete


def test_an_edited_agent_is_another_agent(tmp_path):
    place = f"{tmp_path}/their_agent.py:Theirs"
    agent_file(tmp_path, RAISES)
    before = parse(Kind.AGENT, place)
    agent_file(tmp_path, SLEEPS)
    after = parse(Kind.AGENT, place)
    assert before != after
    with pytest.raises(InvalidInputError):  # the file is no longer what the spec says
        run(tmp_path / "e", evaluation(before), Options(isolation=Isolation.NONE))


def test_files_get_a_process_and_installed_agents_do_not():
    place = Spec("my_agent.py:Mine")
    assert is_isolated(place, Isolation.AUTO)
    assert not is_isolated(RANDOM, Isolation.AUTO)
    assert is_isolated(RANDOM, Isolation.PROCESS)
    assert not is_isolated(place, Isolation.NONE)


def test_isolated_and_in_process_agents_do_the_same(tmp_path):
    what = evaluation(RANDOM, exercises=3, traces=True)
    run(tmp_path / "in", what)
    run(tmp_path / "out", what, Options(isolation=Isolation.PROCESS))
    ours, theirs = (dict(Record(tmp_path / name).traces()) for name in ("in", "out"))
    assert all(ours[key].same_as(theirs[key]) for key in ours)


@pytest.mark.slow
def test_memory_stays_flat_as_work_grows(tmp_path):
    """Ten times the interactions, the same peak of memory, up to a tenth."""
    import subprocess
    import sys

    script = (
        "import resource, sys\n"
        "from omnimeter.reproductions.shared import simulate\n"
        "from omnimeter.environments.cups import Cups\n"
        "from omnimeter.agents.simple import RandomAgent\n"
        "for trace in simulate(Cups(), RandomAgent(), 20000.0, int(sys.argv[1])): pass\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    peaks = [
        int(
            subprocess.run(
                [sys.executable, "-c", script, str(runs)], capture_output=True, check=True
            ).stdout
        )
        for runs in (100, 1000)
    ]
    assert peaks[1] < 1.1 * peaks[0]


def test_this_process_is_not_left_with_a_changed_signal_handler(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    run(tmp_path / "e", evaluation(exercises=2), Options(workers=2))
    assert signal.getsignal(signal.SIGINT) is before


BROKEN_CLASS = """
from omnimeter.environments.cups import Cups
class Broken(Cups):
    def {method}(self, *given):
        raise ZeroDivisionError("no table")
"""


@pytest.mark.parametrize("isolation", [Isolation.NONE, Isolation.PROCESS])
def test_a_class_that_cannot_build_is_an_infrastructure_failure(tmp_path, isolation):
    (tmp_path / "broken.py").write_text(BROKEN_CLASS.format(method="build"))
    what = evaluation(RANDOM, environment_class=f"{tmp_path}/broken.py:Broken", exercises=2)
    options = Options(isolation=isolation)
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        result = evaluate(what, writer, options)
    assert result.scores[RANDOM].faults == {"infrastructure": 2}


def test_a_class_that_cannot_draw_is_an_error(tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN_CLASS.format(method="draw"))
    what = evaluation(RANDOM, environment_class=f"{tmp_path}/broken.py:Broken", exercises=2)
    with pytest.raises(InvalidInputError, match="no table"):
        run(tmp_path / "e", what)


def test_ctrl_c_while_storing_loses_nothing(tmp_path, monkeypatch):
    what = evaluation(RANDOM)
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        store, presses = writer.append, [KeyboardInterrupt]

        def append(*given):
            if presses:
                raise presses.pop()
            store(*given)

        monkeypatch.setattr(writer, "append", append)
        result = evaluate(what, writer)
    assert not presses
    assert sum(map(len, result.outcomes.values())) == len(Record(tmp_path / "e").keys()) > 0


def test_jobs_are_small_enough_to_show_progress_and_lose_little():
    from omnimeter.execution.workers import batch_size

    def first(agent, **parameters):
        return evaluation(agent, **parameters).make_protocol().propose(agent, [])[0]

    assert batch_size(first(RANDOM), Options(isolation=Isolation.AUTO)) == 64
    assert batch_size(first(RANDOM, interactions=10**9), Options(isolation=Isolation.AUTO)) == 1
    assert batch_size(first(RANDOM), Options(isolation=Isolation.PROCESS)) == 1
    assert batch_size(first(RANDOM, clock="wall"), Options(isolation=Isolation.AUTO)) == 1


def test_errors_reach_the_main_process_whole():
    import pickle

    from omnimeter.contract import UnknownNameError

    error = UnknownNameError("agent", "randm", ["random"])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is UnknownNameError
    assert (again.message, again.advice) == (error.message, error.advice)


NAPS = """
import time
from pathlib import Path
from omnimeter import Agent
class Theirs(Agent):
    def say(self, word):
        with Path({log!r}).open("a") as file:
            print(word, file=file)
    def begin(self, briefing, rng):
        self.say("begin")
    def act(self, reward, observation):
        self.say("act")
        time.sleep(0.45)
        return 0
    def finish(self, reward, observation):
        self.say("finish")
"""


def test_a_busy_agent_is_not_asked_again_and_still_finishes(tmp_path):
    """It wakes up just after the end: every time-out was filled, and its process goes on."""
    log = tmp_path / "log"
    what = evaluation(
        agent_file(tmp_path, NAPS.format(log=str(log))), exercises=2,
        interactions=None, seconds=0.4, timeout=0.1,
    )  # fmt: skip
    result = run(tmp_path / "e", what, Options(sandboxing=Sandboxing.NONE))  # for its log
    assert [o.interactions for o in result.outcomes[what.agents[0]]] == [4, 4]
    assert log.read_text().split() == ["begin", "act", "finish"] * 2
