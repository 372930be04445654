"""Memory between exercises: a new agent for each, or one agent that takes all of them in order."""

import json
import subprocess
import sys

import pytest

import counting
import omnimeter as om
from counting import Counter
from omnimeter.catalogue import Kind, make
from omnimeter.execution import evaluate
from omnimeter.protocols import Evaluation
from omnimeter.results import Record

SMALL = {"exercises": 6, "interactions": 12, "seed": 0}
BATTERY = {
    "title": "Two classes in turn",
    "exercises": [
        {"environment_class": "cups", "interactions": 12},
        {"environment_class": "buttons", "interactions": 12},
        {"environment_class": "cups", "interactions": 12},
    ],
}
PLACE = f"{counting.__file__}:Counter"


def counted(result):
    """The interactions of each exercise of the only agent, in order."""
    (outcomes,) = result.judged.outcomes.values()
    return [each.interactions for each in outcomes]


@pytest.mark.parametrize(("agent", "workers"), [(Counter, 1), (Counter(), 1), (Counter(), 2)])
def test_an_agent_that_counts_exercises_shows_its_memory(agent, workers):
    fresh = om.evaluate(agent, "cups", **SMALL, workers=workers)
    carried = om.evaluate(agent, "cups", **SMALL, workers=workers, memory="carried")
    assert counted(fresh) == [1] * 6
    assert counted(carried) == [1, 2, 3, 4, 5, 6]
    assert fresh.memory == "fresh"
    assert carried.memory == "carried"


@pytest.mark.parametrize("isolation", ["auto", "none"])
def test_an_agent_from_a_file_keeps_its_memory_in_its_process(isolation):
    settings = {**SMALL, "isolation": isolation}
    assert counted(om.evaluate(PLACE, "cups", **settings)) == [1] * 6
    assert counted(om.evaluate(PLACE, "cups", **settings, memory="carried")) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_sequence_of_a_battery_goes_through_its_classes(workers):
    carried = om.evaluate(
        Counter, battery=BATTERY, tests=2, memory="carried", workers=workers, seed=0
    )
    assert counted(carried) == [1, 2, 3, 4, 5, 6]
    assert (
        counted(om.evaluate(Counter, battery=BATTERY, tests=2, workers=workers, seed=0)) == [1] * 6
    )


def test_every_agent_has_its_own_memory():
    class Other(Counter):
        pass

    result = om.evaluate([Counter, Other, "random"], "cups", **SMALL, memory="carried", workers=2)
    one, other, _ = result.judged.outcomes.values()
    assert [each.interactions for each in one] == [each.interactions for each in other]
    assert one[-1].interactions == 6


def test_agents_in_a_joint_run_carry_their_memory():
    result = om.evaluate([Counter, "random"], "lambda", **SMALL, joint=True, memory="carried")
    first, _ = result.judged.outcomes.values()
    assert [each.interactions for each in first] == [1, 2, 3, 4, 5, 6]


def test_agents_without_memory_score_the_same_either_way():
    def scores(**how):
        result = om.evaluate(["random", "q-learning"], "cups", **SMALL, **how)
        return {label: score.value for label, score in result.scores.items()}

    assert scores(memory="carried") == scores()


def test_an_interrupted_sequence_is_taken_again_from_its_start(tmp_path):
    class Interrupted(Counter):
        stop = True

        def act(self, reward, observation):
            if self.begun == 4 and Interrupted.stop:
                raise KeyboardInterrupt
            return super().act(reward, observation)

    def run():
        return om.evaluate(
            ["random", Interrupted], "cups", **SMALL, memory="carried", out=tmp_path / "e"
        )

    stopped = run()
    assert not stopped.complete
    assert stopped.scores["python:Interrupted"].count == 0
    assert stopped.scores["random-v1"].count == 6
    assert len(Record(tmp_path / "e").keys()) == 6
    Interrupted.stop = False
    result = run()
    assert result.complete
    _, outcomes = result.judged.outcomes.values()
    assert [each.interactions for each in outcomes] == [1, 2, 3, 4, 5, 6]
    assert om.load(tmp_path / "e").complete


def test_it_is_recorded_and_shown(tmp_path):
    result = om.evaluate(Counter, "cups", **SMALL, memory="carried", out=tmp_path / "e")
    assert Record(tmp_path / "e").spec["protocol"]["parameters"]["memory"] == "carried"
    assert "Memory is carried" in repr(result)
    assert "Memory is carried" in result._repr_html_()
    assert "one agent took all exercises in order" in result.report().read_text()
    fresh = om.evaluate(Counter, "cups", **SMALL)
    assert "memory" not in fresh.evaluation.protocol.parameters
    assert "carried" not in repr(fresh)


def command(tmp_path, *arguments):
    arguments = [sys.executable, "-m", "omnimeter", "run", "--seed", "0", *arguments]
    return subprocess.run(
        arguments, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout


def test_the_command_line_carries_memory(tmp_path):
    arguments = ("-a", PLACE, "-c", "cups", "-n", "3", "-i", "9", "--carry-memory")
    assert "Memory is carried" in command(tmp_path, *arguments, "--out", "e")
    assert json.loads(command(tmp_path, *arguments, "--out", "e", "--json"))["memory"] == "carried"
    assert counted(om.load(tmp_path / "e")) == [1, 2, 3]


class OneByOne(om.Protocol):
    """Proposes one exercise after the other, with carried memory."""

    memory = "carried"

    def __init__(self) -> None:
        self.sample = make(
            Kind.PROTOCOL, om.Spec("sample-v1", {"environment_class": "cups", "interactions": 9})
        )

    def payoff(self):
        return self.sample.payoff()

    def propose(self, agent, outcomes):
        return self.sample.propose(agent, outcomes)[:1]

    def score(self, outcomes):
        return self.sample.score(outcomes)


def test_a_protocol_that_carries_memory_proposes_all_at_once():
    protocol = om.Spec(f"{__file__}:OneByOne")
    with pytest.raises(om.InvalidInputError, match="second round"):
        evaluate(Evaluation(protocol, (om.Spec("random-v1"),)))


def test_an_agent_that_loses_its_process_loses_the_rest_of_its_sequence(tmp_path):
    file = tmp_path / "dies.py"
    file.write_text(
        "import os\n\nclass Dies:\n    begun = 0\n"
        "    def begin(self, briefing, rng):\n        self.begun += 1\n"
        "    def act(self, reward, observation):\n"
        "        if self.begun == 3:\n            os._exit(1)\n        return 0\n"
    )
    result = om.evaluate(f"{file}:Dies", "cups", **SMALL, memory="carried")
    (outcomes,) = result.judged.outcomes.values()
    assert [each.fault is None for each in outcomes] == [True, True, False, False, False, False]
    assert "carried" in outcomes[-1].fault.message
