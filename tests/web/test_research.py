"""Research mode over HTTP: any class, drawn, edited, stepped and rewound, watched and saved."""

import asyncio
import json
import random

import pytest

import omnimeter as om
from omnimeter.catalogue import Kind, listing, make, making
from omnimeter.contract import Exercise, Instance, Spec
from omnimeter.interaction import run_single
from omnimeter.results import Record

pytest.importorskip("fastapi", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from omnimeter.web import research  # noqa: E402 - only where the extra is
from omnimeter.web.experiments import offered  # noqa: E402
from omnimeter.web.security import DATA  # noqa: E402
from omnimeter.web.server import application  # noqa: E402

CLASSES = [each.id for each in listing(Kind.ENVIRONMENT) if each.package == "omnimeter"]

NEEDED = {
    "mdp-v1": {
        "theta": [[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]],
        "rewards": [[[0.0, 1.0], [0.0, 1.0]], [[0.0, 0.0], [1.0, 0.0]]],
    }
}
"""Parameters of classes that cannot be drawn without any."""


class Browser:
    """Asks as a page does."""

    def __init__(self, app):
        self._app = app
        self.page = self.post("open")["page"]

    def _ask(self, method, path, body=None):
        async def ask():
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1"
            ) as client:
                return await client.request(method, f"/research{path}", json=body)

        return asyncio.run(ask())

    def post(self, path, status=200, **body):
        answer = self._ask("POST", f"/{path}", body)
        assert answer.status_code == status, answer.text
        told = answer.json()
        self.at = told.get("step", 0)
        return told

    def get(self, path, status=200):
        answer = self._ask("GET", path)
        assert answer.status_code == status, answer.text
        return answer

    def begin(self, name="lambda-v1", parameters=None, **given):
        part = {"id": name, "parameters": parameters or NEEDED.get(name, {})}
        return self.post(f"{self.page}/begin", environment=part, **given)

    def act(self, action, **given):
        return self.post(f"{self.page}/step", action=action, **given)

    def run(self, name, steps, parameters=None, **given):
        agent, done = {"id": name, "parameters": parameters or {}}, self.at
        while True:
            left = steps - (self.at - done)
            shown = self.post(f"{self.page}/step", agent=agent, steps=left, **given)
            self.at = shown["step"]
            if shown["ended"] not in ("time", "catching-up"):  # as on a slow machine
                return shown

    def go(self, step):
        return self.post(f"{self.page}/go", step=step)

    def save(self, what):
        return self.get(f"/{self.page}/{what}").json()


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    made = application(tmp_path_factory.mktemp("studies"))
    yield made
    made.state.research.close()


@pytest.fixture(scope="module")
def browser(app):
    return Browser(app)  # each test begins another experiment


# Every class


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_is_drawn_stepped_rewound_and_saved(browser, name):
    begun = browser.begin(name, seed=3)
    assert begun["scene"]["parts"]
    assert begun["state"]
    for action in (0, 1, 0):
        last = browser.act(action % begun["actions"], views=True)
    assert last["step"] == 3
    assert all(view["observation"] for view in last["views"])
    first = browser.go(0)
    assert {**begun, "moves": first["moves"], "who": [""]} == first
    assert len(first["moves"]) == 3
    again = browser.go(3)
    assert again["state"] == last["state"]
    assert again["scene"] == last["scene"]
    saved = browser.save("exercise.json")
    exercise = Exercise.from_json(json.dumps(saved))
    assert exercise.instance == Instance(begun["instance"])


@pytest.mark.parametrize("name", CLASSES)
def test_what_was_drawn_is_what_a_test_of_this_seed_has(browser, name):
    begun = browser.begin(name, seed=11)
    spec = Spec(name, NEEDED.get(name, {}))
    protocol = make(
        Kind.PROTOCOL,
        Spec("sample-v1", {"environment_class": spec.to_json(), "interactions": 5, "seed": 11}),
    )
    (exercise,) = protocol.propose(Spec("random-v1"), [])[:1]
    assert dict(exercise.instance.data) == begun["instance"]
    assert exercise.complexity == begun["complexity"]


@pytest.mark.parametrize("name", CLASSES)
def test_given_instances_are_built_and_broken_ones_are_told(browser, name):
    begun = browser.begin(name, seed=1)
    part = {"id": name, "parameters": NEEDED.get(name, {})}
    check = f"{browser.page}/check"
    good = browser.post(check, environment=part, instance=begun["instance"])
    assert good == {"complexity": begun["complexity"]}
    rng = random.Random(0)
    for lacking in begun["instance"]:
        broken = {key: value for key, value in begun["instance"].items() if key != lacking}
        answer = browser._ask("POST", f"/{check}", {"environment": part, "instance": broken})
        assert answer.status_code in (200, 400)
        assert "detail" in answer.json() or "complexity" in answer.json()
    empty = browser.post(check, 400, environment=part, instance={str(rng.random()): 0})
    assert empty["detail"]


# Stepping


@pytest.mark.parametrize("agent", ["q-learning-v1", "random-v1", "follower-v1", "oracle-v1"])
def test_an_agent_does_what_it_does_in_an_evaluation(browser, agent):
    begun = browser.begin(seed=5, parameters={"cells": 4, "actions": 3})
    shown = browser.run(agent, 60)
    assert shown["step"] == 60
    assert shown["ended"] == ""
    exercise = Exercise.from_json(json.dumps(browser.save("exercise.json")))
    assert exercise.agent == Spec(agent)
    environment_class = make(Kind.ENVIRONMENT, exercise.environment_class)
    own = make(Kind.AGENT, exercise.agent)
    (trace,) = run_single(environment_class, own, [exercise], record=True)
    assert trace.actions.tolist() == [move[1] for move in shown["moves"]]
    assert trace.rewards.tolist() == [move[2] for move in shown["moves"]]
    assert trace.first_reward == begun["first_reward"]


def test_rewinding_is_exact_and_another_course_replaces_what_followed(browser):
    browser.begin(seed=2, parameters={"cells": 5})
    browser.run("q-learning-v1", 40)
    browser.act(1)
    browser.act(0)
    whole = browser.run("q-learning-v1", 20, {"epsilon": 0.2})
    assert whole["who"] == ["q-learning-v1", "", "q-learning-v1(epsilon=0.2)"]
    there = browser.go(30)
    assert len(there["moves"]) == 62
    again = browser.run("q-learning-v1", 10)
    assert again["moves"] == whole["moves"][:40]
    assert again["agent"]["fields"]
    other = browser.act(0)
    assert other["step"] == 41
    assert len(other["moves"]) == 41


def test_a_learner_goes_on_with_its_own_past_alone(browser):
    browser.begin(seed=4, parameters={"cells": 3, "actions": 2})
    learnt = browser.run("q-learning-v1", 30)
    before = next(each for each in learnt["agent"]["fields"] if each["name"] == "table")
    browser.act(0)
    after = browser.act(1)
    table = next(each for each in after["agent"]["fields"] if each["name"] == "table")
    assert table == before
    last = learnt["moves"][-1][2]
    browser.run("q-learning-v1", 1)
    replayed = browser.go(32)
    assert replayed["agent"]["fields"] == after["agent"]["fields"]
    assert learnt["moves"][-1][2] == last


def test_agents_that_stop_and_those_with_a_prior(browser):
    browser.begin("cups-v1")
    stopped = browser.run("scripted-v1", 10, {"actions": [0, 1], "repeat": False})
    assert (stopped["ended"], stopped["step"]) == ("stopped", 2)
    assert browser.run("scripted-v1", 1, {"actions": [0, 1], "repeat": False})["step"] == 2
    refused = browser.post(
        f"{browser.page}/step", 400, agent={"id": "boss-v1", "parameters": {}}, steps=1
    )
    assert "prior" in refused["detail"]
    browser.begin("gc-v1")
    assert browser.run("e-greedy-v1", 5)["step"] == 5


def test_only_new_moves_are_told(browser):
    browser.begin("cups-v1", seed=1)
    browser.act(0)
    shown = browser.act(1, known=1)
    assert shown["known"] == 1
    assert [move[1] for move in shown["moves"]] == [1]


# What is hidden


def test_rewards_in_cells_and_intended_moves_are_shown(browser):
    space = "1+2-|1+2-|1+2-|1+2-"
    parameters = {"space": space, "pattern": "12", "cycle": "never"}
    shown = browser.begin(parameters=parameters, seed=6)
    for step in range(6):
        hidden = shown["hidden"]
        steps = 1 if step % 2 == 0 else -1
        for name, paid in (("Good", 1.0), ("Evil", -1.0)):
            place = hidden["places"][name]
            assert hidden["intended"][name] == (place + steps) % 4
            assert hidden["cells"][place] == paid
        good, evil = hidden["places"]["Good"], hidden["places"]["Evil"]
        shown = browser.act(0, views=True)
        after = shown["hidden"]["places"]
        assert after["Good"] in (good, hidden["intended"]["Good"])
        assert after["Evil"] in (evil, hidden["intended"]["Evil"])
    assert {view["view"] for view in shown["views"]} == set(
        make(Kind.ENVIRONMENT, Spec("lambda-v1")).views
    )


def test_values_of_the_actions_of_a_learner_are_shown(browser):
    browser.begin(parameters={"cells": 3, "actions": 3}, seed=1)
    shown = browser.run("q-learning-v1", 200)
    assert len(shown["agent"]["values"]) == 3
    assert any(value != 2.0 for value in shown["agent"]["values"])


def test_worlds_without_kernels_show_their_numbers(browser):
    names = {each["name"] for each in browser.begin("pworld-v1")["state"]}
    assert "world.codes" in names


@pytest.mark.parametrize(
    ("name", "text"), [("torus-v1", "next move of Good"), ("gc-v1", "may lead to")]
)
def test_other_classes_tell_what_comes(browser, name, text):
    shown = browser.begin(name)
    assert any(text in fact for fact in shown["hidden"]["facts"])


# Lambda's spaces


def edit(browser, description="1+2-|1+2-|1+2-", **changes):
    return browser.post("space", description=description, **changes)


def test_a_connection_is_changed_and_the_rest_stays_as_it_is_written(browser):
    shown = edit(browser, "1+++2-|1+2-|1+2-|1+2-", cell=1, action=2, target=3)
    assert shown["description"] == "1+++2-|1+2++|1+2-|1+2-"
    assert shown["targets"] == [[0, 3, 3], [1, 2, 3], [2, 3, 1], [3, 0, 2]]
    removed = edit(browser, shown["description"], cell=1, action=2, target=1)
    assert removed["description"] == "1+++2-|1+2|1+2-|1+2-"


def test_cells_and_actions_are_added_and_taken_out(browser):
    larger = edit(browser, cells=5)
    assert len(larger["targets"]) == 5
    assert larger["errors"] == []
    assert [len(row) for row in edit(browser, actions=4)["targets"]] == [4, 4, 4]
    assert edit(browser, cells=2)["errors"] == []
    assert edit(browser, "ring-6")["description"].count("|") == 5


@pytest.mark.parametrize(
    ("description", "changes", "expected"),
    [
        ("1+2-|1+x2-|1+2-", {}, ("space", 7, 1)),
        ("1+|1-|1", {}, ("space", 6, 2)),
        ("1+|1-", {"pattern": "0120"}, ("pattern", 2, None)),
        ("hexagon-3", {}, ("space", None, None)),
    ],
)
def test_errors_are_told_at_their_places(browser, description, changes, expected):
    (error,) = edit(browser, description, **changes)["errors"]
    assert (error["field"], error["character"], error["cell"]) == expected
    assert error["message"]


# What is saved


def test_batteries_of_edited_environments_run_and_are_stored(browser, tmp_path):
    browser.begin(parameters={"complexity_measure": "pattern"}, seed=1)
    drawn = browser.begin(instance=browser.begin()["instance"] | {"pattern": "0101"}, seed=1)
    browser.post(f"{browser.page}/battery", title="Mine", interactions=30)
    browser.begin("torus-v1", seed=2)
    browser.post(f"{browser.page}/battery", interactions=20)
    browser.post(f"{browser.page}/battery", interactions=10)
    listed = browser.post(f"{browser.page}/battery", remove=2)
    assert [each["interactions"] for each in listed["exercises"]] == [30, 20]
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(browser.save("battery.json")))
    result = om.evaluate(["random", "q-learning"], battery=path, seed=0, out=tmp_path / "stored")
    assert result.complete
    stored = Record(tmp_path / "stored").outcomes()
    taken = {each.exercise.number: each.exercise.instance.data for each in stored}
    assert taken[0] == drawn["instance"]
    assert drawn["instance"]["pattern"] == "0101"


def test_instances_are_saved(app):
    browser = Browser(app)
    begun = browser.begin("automata-v1", seed=9)
    saved = browser.save("instance.json")
    assert saved == {
        "environment_class": {"id": "automata-v1"},
        "instance": {"data": begun["instance"]},
    }
    assert browser.get(f"/{browser.page}/secrets.json", 404)
    assert "empty" in browser.get(f"/{browser.page}/battery.json", 400).json()["detail"]


def test_what_was_done_by_hand_is_saved_as_a_script(browser):
    browser.begin("cups-v1", seed=1)
    rewards = [browser.act(action)["reward"] for action in (0, 2, 1)]
    exercise = Exercise.from_json(json.dumps(browser.save("exercise.json")))
    environment_class = make(Kind.ENVIRONMENT, exercise.environment_class)
    own = make(Kind.AGENT, exercise.agent)
    (trace,) = run_single(environment_class, own, [exercise])
    assert trace.rewards.tolist() == rewards


# Limits


@pytest.mark.parametrize(
    "agent",
    [
        {"id": "my_agent.py:MyAgent"},
        {"id": "os:system"},
        {"id": "person-v1"},
        {"id": "random"},
        {"id": "slowed-v1", "parameters": {"agent": "my_agent.py:MyAgent", "seconds": 1}},
        {
            "id": "slowed-v1",
            "parameters": {"agent": "slowed(agent=a.b:C, seconds=1)", "seconds": 1},
        },
        {"id": "slowed-v1", "parameters": {"agent": {"id": "os:system"}, "seconds": 1}},
        {"id": "slowed-v1", "parameters": {"agent": "spec.json", "seconds": 1}},
        {"id": "random-v1", "digest": "0"},
    ],
)
def test_no_code_is_loaded_for_a_page(browser, agent, monkeypatch):
    load = making.load_object
    browser.begin("cups-v1")

    def ours(location):
        assert location.source.startswith("omnimeter.")
        return load(location)

    monkeypatch.setattr(making, "load_object", ours)
    status = 422 if "digest" in agent else 400
    assert browser.post(f"{browser.page}/step", status, agent=agent, steps=1)["detail"]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mdp-v1", {"file": "/etc/passwd"}),
        ("pworld-v1", {"journal": "sqlite:///there.db"}),
        ("pworld-v1", {"elements": ["my_element.py:Thing"]}),
        ("switch-v1", {"first": "module.of:Mine"}),
        ("switch-v1", {"first": {"id": "mdp-v1", "parameters": {"file": "a.json"}}}),
    ],
)
def test_no_file_of_the_server_is_read_for_a_page(browser, name, parameters):
    part = {"id": name, "parameters": parameters}
    detail = browser.post(f"{browser.page}/begin", 400, environment=part)["detail"]
    assert "may name a file" in detail


def test_forms_hide_what_pages_cannot_choose(browser):
    known = browser.get("/catalogue").json()
    assert [each["id"] for each in known["environments"]] == CLASSES
    assert "person-v1" not in [each["id"] for each in known["agents"]]
    fields = {each["id"]: each["fields"] for each in known["environments"]}
    assert all(field["name"] not in DATA for each in fields.values() for field in each)
    by_name = {field["name"]: field for field in fields["lambda-v1"]}
    assert by_name["variant"]["choices"] == ["implemented", "conceptual"]
    assert by_name["cells"]["kind"] == "number"
    assert by_name["vanish"]["kind"] == "truth"
    assert by_name["space"]["kind"] == "text"
    assert by_name["objects"]["kind"] == "json"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("step", {"action": 99}),
        ("step", {"agent": {"id": "random-v1"}, "steps": 100_000}),
        ("step", {"action": -1}),
        ("go", {"step": 1}),
        ("begin", {"environment": {"id": "lambda-v1", "parameters": {"cels": 3}}}),
        ("begin", {"environment": {"id": "cups-v1"}, "complexity": 2.5}),
        ("begin", {}),
        ("battery", {"interactions": 0}),
    ],
)
def test_wrong_requests_are_told(browser, path, body):
    browser.begin("cups-v1")
    answer = browser._ask("POST", f"/{browser.page}/{path}", body)
    assert answer.status_code in (400, 422)
    assert answer.json()["detail"]


def test_pages_that_are_not_used_are_forgotten(app, monkeypatch):
    first = Browser(app)
    monkeypatch.setattr(research, "PAGES", 2)
    others = [Browser(app) for _ in range(2)]
    assert first.post(f"{first.page}/go", 404, step=0)["detail"]
    assert others[1].begin("cups-v1")["step"] == 0
    monkeypatch.setattr(research, "IDLE_SECONDS", -1.0)
    Browser(app)
    assert others[1].post(f"{others[1].page}/go", 404, step=0)


def test_what_takes_too_long_is_ended_and_the_experiment_is_as_it_was(app, monkeypatch):
    browser = Browser(app)
    before = browser.begin("gc-v1", seed=3)
    browser.act(1)
    browser.run("e-greedy-v1", 2)
    monkeypatch.setattr(research, "PATIENCE_SECONDS", 0.5)
    slow = {"id": "bamcp-v1", "parameters": {"k": 10_000_000}}
    said = browser.post(f"{browser.page}/step", 503, agent=slow, steps=1)
    assert "longer" in said["detail"]
    monkeypatch.setattr(research, "PATIENCE_SECONDS", 60.0)
    again = browser.go(3)
    assert again["moves"][0][1] == 1
    assert again["instance"] == before["instance"]
    assert browser.run("e-greedy-v1", 2)["step"] == 5


def test_few_pages_have_processes_and_all_keep_what_they_did(app, monkeypatch):
    monkeypatch.setattr(research, "PROCESSES", 1)
    first, second = Browser(app), Browser(app)
    for each in (first, second):
        each.begin("cups-v1")
        each.act(1)
    for each in (first, second):
        assert each.act(2)["step"] == 2


def test_parts_that_need_a_file_or_a_command_are_not_offered():
    assert not {"command-v1", "sb3-v1"} & offered(Kind.AGENT).keys()
    assert {"q-learning-v1", "scripted-v1"} <= offered(Kind.AGENT).keys()
