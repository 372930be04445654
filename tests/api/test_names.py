"""How agents are named: factories, instances, names that are given, and files without folders."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import omnimeter as om
from omnimeter.api import campaign
from omnimeter.api.evaluation import agent_specs
from omnimeter.catalogue import Kind, parse
from omnimeter.catalogue.specs import parse_agents
from omnimeter.cli import main
from omnimeter.contract import Briefing, InvalidInputError, Spec, single
from omnimeter.contract.spec import is_spec
from omnimeter.interaction.adapters import adapt
from omnimeter.reports.text import readable_names, without_folders

SOURCE = """
from omnimeter import Agent


class Counting(Agent):
    \"\"\"Stops after so many actions in all its life.\"\"\"

    def __init__(self, action=0, life=20):
        self.action, self.life = action, life

    def act(self, reward, observation):
        self.life -= 1
        return self.action if self.life > 0 else -1


AGENT = Counting(1)


def load(action: int = 0):
    return Counting(action)


def choose():
    return Counting


def broken():
    raise ValueError("there are no weights")


def policy(observation=0):
    return 0
"""
HOW: dict[str, Any] = {"exercises": 3, "interactions": 10, "seed": 1}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path


def test_factories_and_instances_are_agents() -> None:
    names = [
        "Counting",
        "choose",
        "load",
        "policy",
        "Counting(action=1)",
        "load(action=1)",
        "AGENT",
    ]
    result = om.evaluate([f"mine.py:{name}" for name in names], "cups", **HOW)
    zero, *ones = [score.value for score in result.scores.values()]
    assert [value == zero for value in ones] == [True, True, True, False, False, False]
    assert len(set(ones[3:])) == 1
    assert all(not score.faults for score in result.scores.values())


def test_every_exercise_has_a_copy_of_an_instance_of_its_own() -> None:
    result = om.evaluate("mine.py:AGENT", "cups", exercises=5, interactions=19, seed=1)
    [done] = result.outcomes.values()
    assert done.interactions.tolist() == [19] * 5  # one life would be over in the second


def test_a_factory_that_fails_is_a_fault_of_the_agent() -> None:
    result = om.evaluate("mine.py:broken", "cups", **HOW)
    [done] = result.outcomes.values()
    assert done[0].fault is not None
    assert done[0].fault.kind == "agent-error"
    assert "broken makes no agent: ValueError: there are no weights" in done[0].fault.message


def test_only_functions_that_need_nothing_make_agents() -> None:
    made = []

    def factory(depth: int = 3) -> Any:
        made.append(depth)
        return lambda observation: 0

    assert adapt(factory).act(0.0, 0) == 0
    assert made == [3]
    for function in (lambda observation: 1, lambda observation=0: 1, lambda *seen: 1, max):
        adapt(function)
    agent = adapt(lambda reward=0, observation=0: 1)
    agent.begin(Briefing(2, single(2)), None)  # type: ignore[arg-type]
    assert agent.act(0.0, 0) == 1
    with pytest.raises(InvalidInputError, match="An agent cannot be made of"):
        adapt(lambda: 7)


def test_a_name_is_shown_and_changes_nothing_else() -> None:
    plain = om.evaluate(["random", "mine.py:load"], "cups", **HOW)
    named = om.evaluate(["random(rate=null) as chance", "mine.py:load as mine"], "cups", **HOW)
    assert named.agents == ["chance", "mine"]
    values = [[score.value for score in each.scores.values()] for each in (plain, named)]
    assert values[0][1] == values[1][1]
    again = om.evaluate("random as other", "cups", **HOW)
    assert [s.value for s in again.scores.values()] == [plain.scores["random-v1"].value]


@pytest.mark.parametrize(
    ("text", "name", "call"),
    [
        ("random as a", "a", "random-v1"),
        ("random(rate=10) as fast one", "fast one", "random-v1(rate=10)"),
        ("  random   as  x-1.5+  ", "x-1.5+", "random-v1"),
        ("random", "", "random-v1"),
    ],
)
def test_names_in_texts(text: str, name: str, call: str) -> None:
    [agent] = parse_agents(text)
    assert (agent.name, agent.call, agent.label) == (name, call, name or call)
    assert Spec.from_json(agent.to_json()) == agent
    assert is_spec(agent.to_json())
    assert agent.stream_key == parse(Kind.AGENT, call).stream_key
    assert (agent == parse(Kind.AGENT, call)) is (not name)


def test_files_with_the_word_in_their_names(folder: Path) -> None:
    (folder / "act as agent.py").write_text(SOURCE)
    Path("known as x.json").write_text(json.dumps({"id": "random", "name": "by file"}))
    assert parse_agents("act as agent.py:load")[0].name == ""
    assert parse_agents("act as agent.py:load as it")[0].label == "it"
    assert parse_agents("known as x.json")[0].label == "by file"


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        (["random as a", "q-learning as a"], "The agent a is given twice"),
        (["q-learning", "random as q-learning-v1"], "cannot be called 'q-learning-v1'"),
        ("random as q-learning", "which is the agent q-learning-v1"),
        ("random(rate=1|2) as two", "stands for several"),
        (Spec("random-v1", name="a/b"), "cannot be called 'a/b'"),
        ({"a\n": "random"}, r"cannot be called 'a\\n'\. A name has 1 to 40 letters"),
        ({"": "random"}, "cannot be called ''"),
        ({"x": "random", "x ": "random"}, "cannot be called 'x '.* ends with one"),
        ({"a" * 5000: "random"}, r"cannot be called 'a{60}'\.\.\. \(5,000 characters\)"),
        ({"a\x1b[31mb": "random"}, r"cannot be called 'a\\x1b\[31mb'"),
        ("random as ''", "cannot be called \"''\""),
        ("random as ", "cannot be called ''"),
        ("random as", "cannot be called ''"),
        ("random as " + "a" * 300, r"cannot be called 'a{60}'\.\.\. \(300 characters\)"),
        ("random as a as b)", r"cannot be called 'a as b\)'"),
        ({"a b": lambda *_: 0, "a_b": lambda *_: 1}, "differs from another one in its signs"),
        ({"a": ["random"]}, "is no agent with a name"),
        ({7: "random"}, "is no agent with a name"),
        ({"a": "random(rate=1|2)"}, "stands for several"),
    ],
)
def test_names_that_cannot_be_given(agents: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        om.evaluate(agents, "cups", **HOW)


@pytest.mark.parametrize("function", [om.evaluate, om.prepare, om.test])
def test_wherever_agents_are_given_they_may_be_a_dictionary(function: Any) -> None:
    annotation = inspect.signature(function).parameters["agents"].annotation
    assert annotation == "AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike]"


def test_a_dictionary_names_objects_too() -> None:
    class Same:
        def __init__(self, action: int) -> None:
            self.action = action

        def act(self, reward: float, observation: Any) -> int:
            return self.action

    result = om.evaluate({"zero": Same(0), "one": Same(1), "any": "random"}, "cups", **HOW)
    assert result.agents == ["zero", "one", "any"]
    assert result.scores["zero"].value != result.scores["one"].value
    specs, things = agent_specs({"zero": Same(0)})
    assert specs[0].id in things


def test_one_agent_may_be_in_an_environment_twice_under_two_names() -> None:
    result = om.evaluate(
        ["random as a", "random as b"], "lambda", joint=True, exercises=2, interactions=50, seed=1,
        traces=True,
    )  # fmt: skip
    assert result.agents == ["a", "b"]
    actions = [
        om.evaluate(["random as a", "random as b"], "lambda", joint=True, **HOW).scores[name].value
        for name in ("a", "b")
    ]
    assert actions[0] != actions[1]  # each draws for itself


def test_names_are_stored_and_in_tables() -> None:
    result = om.evaluate(["random as first", "q-learning as second"], "cups", out="there", **HOW)
    assert om.load("there").agents == ["first", "second"]
    [compared] = om.load("there").compare("first")
    assert (compared.agent.label, compared.reference.label) == ("second", "first")
    assert "first" in result.report("page.html").read_text()
    table = om.results.open("there").to_arrow().read_all()
    assert set(table["agent"].to_pylist()) == {"first", "second"}
    Path("plan.toml").write_text(
        '[[agents]]\nagent = "random as first"\n[[agents]]\nagent = "q-learning as second"\n'
        '[[tests]]\nclass = "cups"\nexercises = 2\ninteractions = 10\n'
    )
    planned = campaign("plan.toml")
    assert [agent.label for agent in planned.entries[0].evaluation.agents] == ["first", "second"]


def test_a_grid_has_no_single_name() -> None:
    Path("plan.toml").write_text(
        '[[agents]]\nagent = "q-learning as ql"\ngrid = { alpha = [0.1, 0.2] }\n'
        '[[tests]]\nclass = "cups"\nexercises = 2\ninteractions = 10\n'
    )
    with pytest.raises(InvalidInputError, match="ql is there twice"):
        campaign("plan.toml")


def test_folders_are_shown_where_they_tell_agents_apart() -> None:
    labels = [
        "/home/me/a/x/mine.py:M",
        "/home/me/b/x/mine.py:M",
        "/home/me/b/x/other.py:M(depth=3)",
        'command-v1(run="/a/b.py:c")',
        "here.py:M",
        "random-v1",
    ]
    short = without_folders(labels)
    assert short == {
        labels[0]: "a/x/mine.py:M",
        labels[1]: "b/x/mine.py:M",
        labels[2]: "other.py:M(depth=3)",
        labels[3]: 'command-v1(run="b.py:c")',
    }
    assert without_folders(["far/here.py:M", "here.py:M"]) == {}
    assert without_folders(["/far/here.py:M", "here.py:M"]) == {"/far/here.py:M": "far/here.py:M"}
    told = readable_names(labels)
    assert told(f"{labels[2]} beats {labels[0]}") == "other.py:M(depth=3) beats a/x/mine.py:M"


def test_files_in_parameters_are_shown_without_folders() -> None:
    labels = [
        'command-v1(run="node /home/me/a/agent.js --depth 3")',
        'command-v1(run="node /home/me/b/agent.js --depth 3")',
        "sb3-v1(algorithm=ppo, file=runs/one/model.v2.zip)",
        'slowed-v1(agent="command(run=\\"python3 deep/x.py\\")", seconds=1)',
        'command-v1(files=["weights/","lib/*.py"], run="python3 ./far/x.py")',
    ]
    as_they_are = [
        'mine-v1(url="https://host/v1/model.json")',
        'command-v1(run="./agent --rate 1/2")',
        'mine-v1(id="ALE/Pong-v5", folder="a/b.d/c")',
    ]
    assert list(without_folders([*labels, *as_they_are]).values()) == [
        'command-v1(run="node a/agent.js --depth 3")',
        'command-v1(run="node b/agent.js --depth 3")',
        "sb3-v1(algorithm=ppo, file=model.v2.zip)",
        'slowed-v1(agent="command(run=\\"python3 x.py\\")", seconds=1)',
        'command-v1(files=["weights/","*.py"], run="python3 x.py")',
    ]


def test_tables_have_no_folders(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [
        "run",
        "--agent",
        f"{folder}/mine.py:Counting",
        "--class",
        "cups",
        "-n",
        "2",
        "-i",
        "9",
    ]
    monkeypatch.setattr("sys.argv", ["omnimeter", *words, "--out", "out"])
    with pytest.raises(SystemExit):
        main()
    told = capsys.readouterr()
    assert "mine.py:Counting" in told.out
    assert str(folder) not in told.out
    page = Path("out/report.html").read_text()
    assert f"{folder}/mine.py:Counting" not in page.split("</table>")[0]
