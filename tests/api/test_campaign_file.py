"""Campaign files: what they mean, and what is said of each mistake."""

from __future__ import annotations

import json
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.api.campaign_file import MOST_MISTAKES, _directory_name, parse_plan, read_plan
from omnimeter.api.campaign_plan import Plan
from omnimeter.api.cluster import array_jobs, settings_in
from omnimeter.api.evaluation import plan as plan_of
from omnimeter.api.toml_lines import key_lines
from omnimeter.api.universal import test as universal_test
from omnimeter.contract import InvalidInputError
from omnimeter.execution.slurm import Resources, Settings
from omnimeter.execution.units import Unit

SMALLEST = """\
[[agents]]
agent = "random"

[[tests]]
class = "cups"
exercises = 2
"""


def read(text: str, folder: Path = Path()) -> Plan:
    return parse_plan(text.encode(), folder / "study.toml")


def mistakes(text: str, folder: Path = Path()) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read(text, folder)
    return f"{caught.value.message} {caught.value.advice}"


def test_six_lines_are_enough() -> None:
    plan = read(SMALLEST)
    (entry,) = plan.entries
    assert (plan.title, entry.name, entry.test, entry.repetition) == ("study", "cups-1", "cups", 1)
    assert (entry.environment_class, entry.expected) == ("cups-v1", 2)
    assert entry.evaluation.needs_seed  # which is drawn when it begins
    assert [agent.label for agent in plan.agents] == ["random-v1"]


def test_a_test_is_what_the_python_functions_make_of_the_same_values() -> None:
    plan = read("""
seeds = [3]
[[agents]]
agent = "random"
[[tests]]
name = "plain"
class = "cups(rule=rest)"
exercises = 2
complexity = [3, 4]
[[tests]]
name = "prior"
class = "gc"
prior = "gc"
gamma = 0.9
[[tests]]
name = "change"
class = "gc"
then = ["gc", "gc"]
at = 10
[[tests]]
name = "battery"
battery = "thesis-table-6-1"
tests = 2
[[tests]]
name = "universal"
definition = 19
class = "automata"
interactions = 500
[[tests]]
name = "any"
protocol = "sample"
set.environment_class = "cups"
set.exercises = 4
set.interactions = 10
""")
    protocols = {entry.test: entry.evaluation.protocol for entry in plan.entries}
    defaults: dict[str, Any] = {"tick": 1.0, "timeout_rule": "no-reward", "memory": "fresh"}
    given = {**defaults, "exercises": 2, "complexity": [3, 4], "seed": 3, "tests": 1}
    same, _ = plan_of("random", "cups(rule=rest)", None, given)
    assert protocols["plain"].key == same.protocol.key
    test = universal_test("random", "automata", interactions=500, definition=19, seed=3)
    assert protocols["universal"].key == test.evaluation.protocol.key
    assert [protocols[name].id for name in ("prior", "change", "battery", "any")] == [
        "bayesian-rl-v1", "perturbation-v1", "battery-v1", "sample-v1",
    ]  # fmt: skip
    assert {each.parameters["seed"] for each in protocols.values()} == {3}
    assert protocols["prior"].parameters["gamma"] == 0.9
    assert len(protocols["change"].parameters["then"]) == 2


GRIDS = """
seeds = [0, 5]
[[agents]]
agent = "q-learning(gamma=0.5)"
group = "learners"
grid = {alpha = [0.1, 0.2], epsilon = [0.0, 0.1]}
[[agents]]
agent = "sarsa(alpha=0.1|0.3)"
group = "others"
[[tests]]
name = "both"
class = ["cups", "buttons"]
agents = ["learners", "others"]
[[tests]]
name = "rules"
class = "cups"
grid.set.rule = ["published", "rest"]
grid.interactions = [10, 20]
agents = ["others"]
[limits]
memory_limit = 100
action_timeout = 3
[limits.learners]
action_timeout = 5
[run]
workers = 2
executor = "this-process"
"""


def test_grids_groups_and_limits() -> None:
    plan = read(GRIDS)
    assert [agent.label for agent in plan.agents] == [
        "q-learning-v1(alpha=0.1, epsilon=0.0, gamma=0.5)",
        "q-learning-v1(alpha=0.1, epsilon=0.1, gamma=0.5)",
        "q-learning-v1(alpha=0.2, epsilon=0.0, gamma=0.5)",
        "q-learning-v1(alpha=0.2, epsilon=0.1, gamma=0.5)",
        "sarsa-v1(alpha=0.1)", "sarsa-v1(alpha=0.3)",
    ]  # fmt: skip
    assert [entry.name for entry in plan.entries][:5] == [
        "both-cups-v1-seed-0", "both-cups-v1-seed-5",
        "both-buttons-v1-seed-0", "both-buttons-v1-seed-5",
        "rules-rule-published-interactions-10-seed-0",
    ]  # fmt: skip
    assert len(plan.entries) == 2 * 2 + 4 * 2
    assert plan.entries[-1].setting == "rules (rule=rest, interactions=20)"
    last = plan.entries[-1].evaluation.protocol.parameters
    assert last["environment_class"] == {"id": "cups-v1", "parameters": {"rule": "rest"}}
    assert (last["interactions"], last["seed"]) == (20, 5)
    learner, other = (plan.options([plan.agents[place]]).limits for place in (0, -1))
    assert (learner.seconds_per_action, learner.memory_mb) == (5, 100)
    assert (other.seconds_per_action, other.memory_mb) == (3, 100)
    assert (plan.workers, plan.executor) == (2, "this-process")


def test_array_jobs_are_those_of_groups_with_limits(tmp_path: Path) -> None:
    plan = read("""
seeds = [0]
[[agents]]
agent = "random"
[[agents]]
agent = "constant"
group = "no limits"
[[agents]]
agent = "q-learning"
group = "my learners/all"
[[agents]]
agent = "sarsa"
group = "slow"
[[tests]]
class = "cups"
exercises = 2
[run]
executor = "slurm"
[limits."my learners/all"]
action_timeout = 3
[slurm]
tasks = 7
running = 3
warning = 60
memory = 900
minutes = 30
options = ["--partition=long"]
[slurm.slow]
minutes = 600
offline_memory = 5000
""")
    assert settings_in(plan) == Settings(7, 3, 60, ("--partition=long",))
    units = [Unit("/study/evaluations/a", (agent,)) for agent in plan.agents]
    groups = {group.name: group for group in array_jobs(plan, units)}
    assert groups.keys() == {"all", "my-learners-all", "slow"}
    assert list(groups["all"].units) == units[:2]
    assert groups["my-learners-all"].online == Resources(900, 30)
    assert groups["my-learners-all"].offline is None
    assert groups["slow"].online == Resources(900, 600)
    assert groups["slow"].offline == Resources(5000, 600)
    same = Plan.from_json(json.dumps(plan.to_json()))
    assert same == plan
    other = read(SMALLEST + "[slurm]\ntasks = 3\n[run]\nexecutor = 'ray'\naddress = 'head:1'\n")
    assert other.fingerprint == read(SMALLEST).fingerprint
    assert (other.executor, other.address) == ("ray", "head:1")


def test_a_plan_is_the_same_again_as_json() -> None:
    plan = read(GRIDS)
    again = Plan.from_json(json.dumps(plan.to_json()))
    assert again == plan
    assert again.fingerprint == plan.fingerprint
    slower = read(GRIDS.replace("action_timeout = 5", "action_timeout = 6"))
    assert slower.fingerprint == plan.fingerprint  # how it runs is no part of what is evaluated
    other = read(GRIDS.replace("seeds = [0, 5]", "seeds = [0, 6]"))
    assert other.fingerprint != plan.fingerprint
    assert other.difference(plan).startswith("the file has the evaluation both-buttons-v1-seed-6")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("exercises = 2", "exercises = 3", "cups-1 the file has other exercises"),
        ('"random"', '"random(rate=2)"', "cups-1 the file has other agents (random-v1)"),
        ("exercises = 2", "traces = true\nexercises = 2", "traces or privileges"),
        ('"cups"', '"buttons"', "the file has the evaluation buttons-1"),
    ],
)  # fmt: skip
def test_how_plans_differ(old: str, new: str, said: str) -> None:
    changed = read(SMALLEST.replace(old, new))
    assert said in f"{changed.entries[0].name} {changed.difference(read(SMALLEST))}"
    assert changed.difference(changed) == ""


def test_what_a_file_has_more_and_less_is_told() -> None:
    one, two = read(SMALLEST), read("repetitions = 2\n" + SMALLEST)
    assert two.difference(one) == "the file has the evaluation cups-2"
    assert one.difference(two) == "the file has not the evaluation cups-2"


@pytest.mark.parametrize(
    ("key", "value"),
    [("name", "../../elsewhere"), ("name", "a/b"), ("name", ""), ("test", "\x1b[2J")],
)
def test_names_that_somebody_else_wrote_are_checked(key: str, value: str) -> None:
    content = read(SMALLEST).to_json()
    content["entries"][0][key] = value
    with pytest.raises(InvalidInputError, match="cannot be"):
        Plan.from_json(json.dumps(content))


def test_titles_and_names_can_be_shown() -> None:
    file = SMALLEST.replace("[[tests]]", '[[tests]]\nname = "a\\u001b[2J"')
    with pytest.raises(InvalidInputError) as caught:
        read('title = "a\\nb"\n' + file)
    assert caught.value.message.count("cannot be shown") == 2
    assert "line 1, title" in caught.value.message


def test_repetitions_have_secret_seeds_of_their_own() -> None:
    plan = read("repetitions = 3\n" + SMALLEST)
    assert [(each.name, each.repetition) for each in plan.entries] == [
        ("cups-1", 1), ("cups-2", 2), ("cups-3", 3),
    ]  # fmt: skip
    assert all(each.evaluation.needs_seed for each in plan.entries)


def test_files_are_relative_to_the_campaign(tmp_path: Path) -> None:
    folder = tmp_path / "some where"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from omnimeter.environments.cups import Cups\n"
        "from omnimeter.protocols.sample import Sample\n"
        "class Mine:\n    def act(self, reward, observation):\n        return 0\n"
    )
    text = """
[[agents]]
agent = "mine.py:Mine"
[[agents]]
agent = "slowed(agent=mine.py:Mine, seconds=1)"
[[tests]]
class = "mine.py:Cups"
interactions = 5
[[tests]]
name = "own protocol"
protocol = "mine.py:Sample"
set.environment_class = "mine.py:Cups"
set.interactions = 5
"""
    plan = read(text, folder)
    mine, slowed = plan.agents
    assert mine.id == "mine.py:Mine"
    assert mine.digest
    assert plan.folders == (str(folder),)
    assert slowed.parameters["agent"]["id"] == mine.id
    first, second = (entry.evaluation.protocol for entry in plan.entries)
    assert first.parameters["environment_class"]["id"] == "mine.py:Cups"
    assert second.id == "mine.py:Sample"
    assert plan.entries[0].name == "mine.py-cups-1"


def test_data_files_are_relative_to_the_campaign(tmp_path: Path) -> None:
    battery = {"title": "B", "exercises": [{"environment_class": "cups", "interactions": 3}]}
    (tmp_path / "b.json").write_text(json.dumps(battery))
    plan = read('[[agents]]\nagent = "random"\n[[tests]]\nbattery = "b.json"\n', tmp_path)
    assert plan.entries[0].evaluation.protocol.parameters["battery"]["title"] == "B"


WRONG = [
    ("titel = 1\n", "line 1, titel: there is no such key. Did you mean 'title'?"),
    ("title = 1\n", "line 1, title: this is no text."),
    ("seeds = 3\n", "line 1, seeds: these are no seeds."),
    ("seeds = []\n", "line 1, seeds: these are no seeds."),
    ("seeds = [0, 0]\n", "line 1, seeds: these are no seeds."),
    ("seeds = [-1]\n", "line 1, seeds: these are no seeds."),
    ("seeds = [true]\n", "line 1, seeds: these are no seeds."),
    ("repetitions = 0\n", "line 1, repetitions: there cannot be 0."),
    ("repetitions = true\n", "line 1, repetitions: this is no whole number."),
    ("seeds = [1]\nrepetitions = 2\n", "line 2, repetitions: this cannot be given together"),
    ("run = 3\n", "line 1, run: 3 is no table."),
    ("run.workers = 0\n", "line 1, run.workers: There cannot be 0 workers."),
    ("run.executor = 'x'\n", "line 1, run.executor: there is no executor 'x'. Known: processes"),
    ("run.address = 3\n", "line 1, run.address: address = 3 cannot be used."),
    ("slurm.taks = 3\n", "line 1, slurm.taks: there is no such key. Did you mean 'tasks'?"),
    ("slurm.tasks = 0\n", "line 1, slurm.tasks: tasks = 0 cannot be used."),
    ("slurm.running = 'x'\n", "line 1, slurm.running: running = 'x' cannot be used."),
    ("slurm.memory = true\n", "line 1, slurm.memory: memory = True cannot be used."),
    ("slurm.warning = 70000\n", "line 1, slurm.warning: warning = 70000 cannot be used."),
    ("[slurm]\nminutes = 5\n", "line 2, slurm.minutes: minutes = 5 is no more than the warning"),
    ("slurm.offline_minutes = 5\n", "line 1, slurm.offline_minutes: offline_minutes = 5 is no"),
    ("slurm.options = '--a'\n", "line 1, slurm.options: options = '--a' cannot be used."),
    ("slurm.options = ['-p x']\n", "line 1, slurm.options: The options cannot have '-p x'."),
    ("slurm.options = ['--array=0']\n", "The options cannot have --array: Omnimeter gives it"),
    ("slurm.options = ['--mem=1G']\n", "cannot have --mem. Give memory in this table instead."),
    ("slurm.learners.memory = 3\n", "slurm.learners: there is no such key."),
    ("limits.memroy_limit = 3\n", "limits.memroy_limit: there is no such key. Did you mean"),
    ("limits.memory_limit = -3\n", "limits.memory_limit"),
    ("limits.sandbox = 'x'\n", "line 1, limits.sandbox: There is no sandbox 'x'."),
    ("limits.learners = {}\n", "limits.learners: there is no such key."),
    ("title = 1979-05-27\n", "line 1, title: a date or a time cannot be used."),
    ("title = [{a = [inf]}]\n", "line 1, title[0].a[0]: this number is not finite."),
    ("title = 99999999999999999999\n", "line 1, title: this number is too large."),
]  # fmt: skip
"""What stands above the smallest file, and what is said of it."""

WRONG_TESTS = [
    ("class = 3", "line 4, tests[0].class: this is no text."),
    ("class = []", "line 4, tests[0].class: this is no text. Write class = \"cups\", or a list"),
    ("environment_class = 'cups'", "environment_class: there is no such key. Did you mean 'class'"),
    ("class = 'cusp'", "line 4, tests[0].class: There is no environment 'cusp'. Did you"),
    ("class = 'cups(rul=1)'", "line 4, tests[0].class: cups-v1 has no parameter 'rul'."),
    ("class = 'cups'\nset.rul = 1", "line 5, tests[0].set.rul: cups-v1 has no parameter 'rul'."),
    ("class = 'cups'\ngrid = {set.rul = [1]}", "line 5, tests[0].grid.set.rul: cups-v1 has no"),
    ("class = 'cups'\nset = 3", "line 5, tests[0].set: this is no table."),
    ("class = 'cups'\ngrid = 3", "line 5, tests[0].grid: 3 is no table."),
    ("class = 'cups'\ngrid.exercises = 3", "tests[0].grid.exercises: this is no list of values."),
    ("class = 'cups'\ngrid.exercises = []", "tests[0].grid.exercises: this is no list of values."),
    ("class = 'cups'\ngrid.exercises = [1, 1]", "tests[0].grid.exercises: a value is there twice."),
    ("class = 'cups'\ngrid.exercies = [1]", "grid.exercies: there is no such key. Did you mean"),
    ("class = 'cups'\ngrid.class = ['a']", "line 5, tests[0].grid.class: there is no such key."),
    ("class = 'cups'\ngrid.exercises = [0]", "line 5, tests[0].grid.exercises: sample-v1: There"),
    ("class = 'cups'\nexercises = 'many'", "line 5, tests[0].exercises: exercises = 'many' cannot"),
    ("class = 'cups'\nexercises = 0", "line 5, tests[0].exercises: sample-v1: There cannot be"),
    ("class = 'cups'\nseed = 3", "line 5, tests[0].seed: there is no such key. Seeds are at the"),
    ("class = 'cups'\nmemory_limit = 3", "memory_limit: there is no such key. Limits are in"),
    ("class = 'cups'\nname = ''", "line 5, tests[0].name: this is no text."),
    ("class = 'cups'\nagents = 'a'", "line 5, tests[0].agents: this is no list of groups."),
    ("class = 'cups'\nagents = ['a']", "tests[0].agents: no agent is in a group 'a'."),
    ("class = 'cups'\ntraces = 1", "line 5, tests[0].traces: this is neither true nor false."),
    ("class = 'cups'\njoint = 'yes'", "line 5, tests[0].joint: this is neither true nor false."),
    ("class = 'cups'\npayoff = 3", "line 5, tests[0].payoff: this is no text."),
    ("class = 'cups'\npayoff = 'averge'", "There is no payoff 'averge'. Did you mean 'average'"),
    ("class = 'cups'\ngamma = 0.9", "line 5, tests[0].gamma: gamma has no effect without prior."),
    ("class = 'cups'\nslot = 3", "line 5, tests[0].slot: this is of a universal test."),
    ("class = 'cups'\nthen = [3]", "line 5, tests[0].then: this is no text."),
    ("class = 'cups'\nbattery = 'thesis-table-6-1'", "line 5, tests[0].battery: Exercises come"),
    ("battery = 'thesis'", "There is no battery 'thesis'."),
    ("battery = 3", "line 4, tests[0].battery: this is no text."),
    ("battery = 'thesis-table-6-1'\nset.a = 3", "line 5, tests[0].set: these are parameters of a"),
    ("definition = 19", "line 3, tests[0]: the class is missing."),
    ("definition = 30\nclass = 'cups'\ntime = 1", "line 4, tests[0].definition: There is no test"),
    ("definition = 19\nclass = 'cups'\ntime = 1", "Definition 19 takes interactions and not time."),
    ("definition = 19\nclass = 'cups'", "line 3, tests[0]: The test has no length."),
    ("definition = 19\nclass = 'cups'\nat = 3", "line 6, tests[0].at: a definition does not take"),
    ("protocol = 'sampel'", "line 4, tests[0].protocol: There is no protocol 'sampel'."),
    ("protocol = 'sample'\nexercises = 3", "line 5, tests[0].exercises: this cannot be given with"),
    ("protocol = 'sample'\nclass = 'cups'", "line 5, tests[0].class: this cannot be given with a"),
    ("protocol = 'sample'\nset.exercise = 3", "tests[0].set.exercise: sample-v1 has no parameter"),
]  # fmt: skip

WRONG_AGENTS = [
    ("", "line 1, agents[0].agent: the agent is missing."),
    ("agent = 3", "line 2, agents[0].agent: the agent is missing."),
    ("agent = 'rando'", "line 2, agents[0].agent: There is no agent 'rando'."),
    ("agent = 'random(rat=1)'", "line 2, agents[0].agent: random-v1 has no parameter 'rat'."),
    ("agent = 'random('", "agents[0].agent: In 'random(', character 7: the '(' is never closed."),
    ("agent = 'no.py:A'", "There is no file"),
    ("agent = 'random'\ngroup = 3", "line 3, agents[0].group: this is no text."),
    ("agent = 'random'\ngroup = 'sandbox'", "no group can be called 'sandbox'."),
    ("agent = 'random'\ngrid.rat = [1]", "line 3, agents[0].grid.rat: random-v1 has no parameter"),
    ("agent = 'random'\ngrid.rate = ['x']", "line 3, agents[0].grid.rate: The parameter 'rate'"),
    ("agent = 'random'\n[[agents]]\nagent = 'random'", "line 3, agents[1]: random-v1 is there twi"),
    ("agent = 'random'\nname = 'x'", "line 3, agents[0].name: there is no such key. Known: agent"),
]


@pytest.mark.parametrize(("above", "said"), WRONG)
def test_mistakes_at_the_top(above: str, said: str) -> None:
    told = mistakes(above + SMALLEST)
    assert told.startswith("study.toml, line ")
    assert said in told


@pytest.mark.parametrize(("test", "said"), WRONG_TESTS)
def test_mistakes_in_a_test(test: str, said: str) -> None:
    told = mistakes(f"[[agents]]\nagent = 'random'\n[[tests]]\n{test}\n")
    assert told.startswith("study.toml, line ")
    assert said in told


@pytest.mark.parametrize(("agent", "said"), WRONG_AGENTS)
def test_mistakes_in_an_agent(agent: str, said: str) -> None:
    told = mistakes(f"[[agents]]\n{agent}\n[[tests]]\nclass = 'cups'\n")
    assert told.startswith("study.toml, line ")
    assert said in told


def test_what_is_missing() -> None:
    assert "there is no [[agents]]" in mistakes("[[tests]]\nclass = 'cups'\n")
    assert "there is no [[tests]]" in mistakes("[[agents]]\nagent = 'random'\n")
    assert "line 1, agents: this is no list" in mistakes("agents = 3\n[[tests]]\nclass = 'cups'\n")
    assert "line 3, tests[1]" in mistakes(
        "agents = [{agent = 'random'}]\ntests = [{class = 'cups'},\n{name = 'b'}]\n"
    )


def test_all_mistakes_are_told_in_the_order_of_lines() -> None:
    text = "titel = 1\n" + SMALLEST.replace("random", "rando").replace("= 2", "= 'x'")
    told = mistakes(text)
    assert told.startswith("study.toml has 3 mistakes:\n")
    places = [told.index(f"study.toml, line {line}, ") for line in (1, 3, 7)]
    assert places == sorted(places)
    many = "".join(f"key{number} = 1\n" for number in range(15)) + SMALLEST
    told = mistakes(many)
    assert told.count("study.toml, line") == MOST_MISTAKES
    assert "... and 5 more." in told


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = \n", "study.toml, line 1: this is not TOML"),
        (b"a = 1\na = 2\n", "study.toml, line 2: this is not TOML: Cannot overwrite a value"),
        (b"a = 'x\n", "study.toml, line 2: this is not TOML"),
        (b'a = """\nx\n', "study.toml, line 3: this is not TOML"),
        (b"a = 1\n\xff", "study.toml, line 2: this is not UTF-8"),
        (b"a = " + b"[" * 5000, "study.toml is not TOML: it is nested too deeply"),
        (b"a." * 2000 + b"b = 1", "study.toml is not TOML: it is nested too deeply"),
        (b"a = " + b"9" * 5000, "study.toml is not TOML"),
        (b"#" * (2 << 20), "study.toml is larger than 1 MB"),
    ],
)
def test_what_is_no_toml(content: bytes, said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_plan(content, Path("study.toml"))
    assert said in str(caught.value)


def test_what_cannot_be_drawn_is_told_with_its_place_and_class() -> None:
    said = mistakes(SMALLEST.replace('"cups"', '["cups", "buttons"]') + "complexity = [3, 4]\n")
    assert "study.toml, line 7, tests[0].complexity: buttons-v1: " in said
    assert "complexity 4, not 3" in said
    said = mistakes(SMALLEST.replace('"cups"', '"buttons"') + "grid = { complexity = [4, 3] }\n")
    assert "study.toml, line 7, tests[0].grid.complexity: buttons-v1: " in said


def test_agents_that_take_no_test_are_told() -> None:
    text = '[[agents]]\nagent = "q-learning"\ngroup = "learners"\n' + SMALLEST
    assert len(read(text).agents) == 2
    said = mistakes(text + 'agents = ["learners"]\n')
    assert "study.toml, line 4, agents[1]: no test takes agents without a group." in said
    more = '[[agents]]\nagent = "oracle"\ngroup = "ideal"\n'
    assert "line 1, agents[0]: no test takes the group 'ideal'." in mistakes(
        more + text + 'agents = ["learners"]\n'
    )


def test_tests_in_any_script_have_directories_that_can_be_told_apart() -> None:
    other = '[[tests]]\nname = "Δοκιμή"\nclass = "gc"\n'
    names = [entry.name for entry in read(f'{SMALLEST}name = "проба"\n{other}').entries]
    assert len(set(names)) == 2
    assert all(name.startswith("test-1-") for name in names)


def test_mistakes_name_the_path_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    assert f"{path}, line 2, agents[0].agent: " in mistakes(
        SMALLEST.replace("random", "x"), tmp_path
    )


def test_too_many_evaluations_and_agents() -> None:
    grid = "grid.set = {" + ", ".join(f"p{k} = [1, 2, 3]" for k in range(9)) + "}"
    assert "too many combinations" in mistakes(SMALLEST + grid)
    hundreds = f"{list(range(101))}"
    grid = f"grid = {{exercises = {hundreds[:-1]}, 200], interactions = [1, 2]}}\n"
    assert "too many evaluations" in mistakes("repetitions = 60\n" + SMALLEST[:-14] + grid)
    rates = "|".join(map(str, range(1, 1002)))
    text = SMALLEST.replace('"random"', f'"random(rate={rates})"')
    assert "stands for more than 1,000 parts" in mistakes(text)


def test_what_is_there_twice_is_told() -> None:
    said = mistakes(SMALLEST.replace('"cups"', '["cups", "buttons", "cups-v1"]'))
    assert said.startswith("study.toml, line 5, tests[0].class[2]: cups-v1 is there twice.")
    said = mistakes(SMALLEST + "grid.interactions = [100, 100.0]\n")
    assert "line 7, tests[0].grid.interactions: a value is there twice." in said
    said = mistakes(SMALLEST + 'grid.payoff = ["total", "total-v1"]\n')
    assert "line 7, tests[0].grid: payoff = total-v1 is there twice." in said
    learner = '"q-learning"\ngrid.alpha = [1, 1.0]'
    assert "agents[0].grid.alpha: a value is there" in mistakes(
        SMALLEST.replace('"random"', learner)
    )
    learners = '"q-learning(alpha=1)"\n[[agents]]\nagent = "q-learning(alpha=1.0)"'
    assert "agents[1]: q-learning-v1(alpha=1.0) is there twice." in mistakes(
        SMALLEST.replace('"random"', learners)
    )


def test_directories_are_told_apart_whatever_they_are_called() -> None:
    taken: set[str] = set()
    for _ in range(4):
        name = _directory_name(["cups", "seed 1"], taken)
        assert name not in taken
        taken.add(name)


def test_many_values_are_read_at_once() -> None:
    begun = time.process_time()
    text = f"seeds = {list(range(100_000))}\n".replace(" ", "") + SMALLEST
    assert "too many evaluations" in mistakes(text)
    assert time.process_time() - begun < 5


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="omnimeter campaign new"):
        read_plan(tmp_path / "no.toml")


def test_lines_of_keys() -> None:
    text = '''\
"a b" = {c = [1, # no
  {d.e = """
x = 1""", f = ',]}'}], g = "\\"]"}
[t.'u']
v = [
  1,
  [2, 3],
]
[[t.w]]
x = 1
[[t.w]]
[t.w.y]
z = 1979-05-27 07:32:00
'''
    assert tomllib.loads(text)["a b"]["c"][1]["f"] == ",]}"
    lines = key_lines(text)
    expected = {
        ("a b",): 1, ("a b", "c", 1, "d", "e"): 2, ("a b", "c", 1, "f"): 3, ("a b", "g"): 3,
        ("t", "u"): 4, ("t", "u", "v"): 5, ("t", "u", "v", 1, 1): 7, ("t", "w", 0, "x"): 10,
        ("t", "w", 1): 11, ("t", "w", 1, "y"): 12, ("t", "w", 1, "y", "z"): 13,
    }  # fmt: skip
    assert {path: lines[path] for path in expected} == expected


KEYS = (
    *("title", "seeds", "repetitions", "agent", "group", "grid", "class", "set", "name", "agents"),
    *("exercises", "joint", "at", "interactions", "seconds", "definition", "time", "protocol"),
    *("battery", "prior", "then", "payoff", "traces", "workers", "executor", "memory_limit"),
    *("sandbox", "complexity", "precision", "memory"),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from(["cups", "random", "random(rate=1|2)", "sample", "learners", "wall"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["set", "rate", "exercises", "a b"]), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip


def toml(value: Any) -> str:
    """A value as TOML; ``None`` as a date."""
    if value is None:
        return "1979-05-27"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {toml(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return str(value) if "." in str(value) or "n" in str(value) else f"{value:.1f}"
    return json.dumps(value)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "agents", "tests", "run", "limits", "slurm"]),
            st.sampled_from(KEYS),
            VALUES,
        ),
        max_size=6,
    )
)
def test_any_values_give_a_plan_or_one_error(pairs: list[tuple[str, str, Any]]) -> None:
    tables: dict[str, dict[str, Any]] = {
        "": {},
        "agents": {"agent": "random"},
        "tests": {"class": "cups"},
        "run": {},
        "limits": {},
        "slurm": {},
    }
    for table, key, value in pairs:
        tables[table][key] = value
    text = "".join(f"{key} = {toml(value)}\n" for key, value in tables.pop("").items())
    for table, values in tables.items():
        text += f"[[{table}]]\n" if table in ("agents", "tests") else f"[{table}]\n"
        text += "".join(f"{key} = {toml(value)}\n" for key, value in values.items())
    check(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=150)
@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 20))
def test_any_content_gives_a_plan_or_one_error(noise: bytes, place: int, cut: int) -> None:
    content = GRIDS.encode()
    check(noise)
    check(content[:place] + noise + content[place + cut :])


def check(content: bytes) -> None:
    try:
        plan = parse_plan(content, Path("study.toml"))
    except InvalidInputError as error:
        assert error.message.startswith("study.toml")  # noqa: PT017 - either is right
    else:
        assert plan.entries
        assert Plan.from_json(json.dumps(plan.to_json())) == plan
