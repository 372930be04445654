"""Where batteries come from: names, files and data, and the command line."""

import json
import re
import sys
from pathlib import Path

import pytest

from battery_parts import MIXED
from omnimeter.catalogue import Kind, describe
from omnimeter.cli import main
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec, UnknownNameError
from omnimeter.contract.spec import fingerprint
from omnimeter.protocols.battery import Battery, battery_names, find_battery, snapshot

AGENT = Spec("random-v1")
PRESSER = Spec("cup-presser-v1")

PUBLISHED = {"thesis-table-6-1": "9ce267ddf289684c"}
"""What the batteries of the package are. A changed battery needs another name."""


# Names, files and data


def test_batteries_of_the_package_are_what_they_were():
    assert {name: fingerprint(find_battery(name).to_json()) for name in battery_names()} == (
        PUBLISHED
    )


def test_the_battery_of_the_thesis():
    plan = find_battery("thesis-table-6-1")
    cells = range(3, 10)
    assert [item.interactions for item in plan.exercises] == [20, 30, 40, 50, 60, 70, 80]
    assert sum(item.interactions for item in plan.exercises) == 350
    assert [item.environment_class for item in plan.exercises] == [
        Spec("lambda-v1", {"cells": count, "stop": 1 / count, "complexity_measure": "pattern"})
        for count in cells
    ]
    exercises = Battery("thesis-table-6-1").propose(AGENT, [])
    assert len({each.instance.key for each in exercises}) == len(cells)


def test_the_description_names_the_batteries_of_the_package():
    parameter = describe(Kind.PROTOCOL, "battery").parameters[0]
    named = re.findall(r"``([^`]+)``", parameter.doc)
    assert named == battery_names()


def test_a_file_is_written_down_with_its_content(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(MIXED))
    kept = snapshot(str(path))
    ours, theirs = (Battery(each, tests=2).propose(AGENT, []) for each in (str(path), kept))
    assert [each.key for each in ours] == [each.key for each in theirs]
    assert find_battery(kept) == find_battery(str(path))
    assert snapshot(kept) == kept
    assert snapshot("thesis-table-6-1") == "thesis-table-6-1"


def test_a_class_from_a_file_is_kept_with_its_digest(tmp_path):
    file = tmp_path / "theirs.py"
    file.write_text("from omnimeter.environments.cups import Cups as Theirs\n")
    wanted = {"id": f"{file}:Theirs", "parameters": {"rule": "rest"}}
    data = {"title": "theirs", "exercises": [{"environment_class": wanted, "interactions": 5}]}
    [item] = find_battery(snapshot(data)).exercises
    assert item.environment_class.digest
    assert item.environment_class.parameters == {"rule": "rest"}
    file.write_text("from omnimeter.environments.buttons import Buttons as Theirs\n")
    with pytest.raises(InvalidInputError, match=r"\[0\]\.environment_class: .*has changed"):
        find_battery({**data, "exercises": [item.to_json()]})


def changed(number, **fields):
    """A battery in which one exercise is another."""
    exercises = [dict(each) for each in MIXED["exercises"]]
    exercises[number - 1] |= fields
    kept = [{k: v for k, v in each.items() if v != "gone"} for each in exercises]
    return {**MIXED, "exercises": kept}


WRONG = {
    "a list": ([], "input should be an object"),
    "no title": ({"exercises": MIXED["exercises"]}, ": title: "),
    "an odd title": ({**MIXED, "title": 7}, ": title: input should be a valid string"),
    "no exercises": ({"title": "nothing"}, ": exercises: "),
    "empty": ({"title": "nothing", "exercises": []}, ": exercises: "),
    "a misspelt field": ({**MIXED, "excercises": []}, "'exercises'"),
    "an exercise that is none": ({"title": "x", "exercises": ["cups"]}, ": exercises[0]: "),
    "a misspelt field of one": (changed(2, interaction=5), ": exercises[1].interaction: "),
    "no class": (changed(1, environment_class="gone"), ": exercises[0].environment_class: "),
    "a misspelt class": (
        changed(3, environment_class="cuqs"),
        ": exercises[2].environment_class: ",
    ),
    "an odd class": (changed(3, environment_class=5), ": exercises[2].environment_class: "),
    "a class without id": (
        changed(3, environment_class={}),
        ": exercises[2].environment_class.id: ",
    ),
    "an odd id": (changed(3, environment_class={"id": 5}), ": exercises[2].environment_class.id: "),
    "a wrong parameter": (
        changed(2, environment_class="cups(rul=1)"),
        ": exercises[1].environment_class: ",
    ),
    "a wrong value": (
        changed(2, environment_class="cups(most=1)"),
        ": exercises[1].environment_class: ",
    ),
    "no length": (changed(4, interactions="gone"), ": exercises[3].interactions: "),
    "a length of 0": (changed(4, interactions=0), ": exercises[3].interactions: "),
    "half an interaction": (changed(4, interactions=0.5), ": exercises[3].interactions: "),
    "true interactions": (changed(4, interactions=True), ": exercises[3].interactions: "),
    "odd complexity": (changed(1, complexity="hard"), ": exercises[0].complexity: "),
    "impossible complexity": (changed(1, complexity=2), ": exercises[0].complexity: "),
    "an odd instance": (changed(1, instance=[]), ": exercises[0].instance: "),
    "an instance that cannot be built": (
        changed(2, instance={"data": {"scenes": []}}),
        ": exercises[1].instance: ",
    ),
    "an instance and a complexity": (
        changed(3, instance={"data": {"colours": "bw", "rule": "rest"}}),
        ": exercises[2].instance: ",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_an_error_with_the_place_of_the_fault(tmp_path, case):
    data, hint = WRONG[case]
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(data))
    with pytest.raises(OmnimeterError) as caught:
        Battery(str(path))
    assert str(path) in caught.value.message
    assert hint in str(caught.value)
    assert caught.value.advice


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b'{"title": "x",\n oh}', "line 2, column 2"),
        (b'{"title": NaN}', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(tmp_path, content, hint):
    path = tmp_path / "wrong.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=hint):
        Battery(str(path))


def test_a_misspelt_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="thesis-table-6-1"):
        Battery("thesis-table-61")
    with pytest.raises(UnknownNameError, match=r"Known: .*thesis-table-6-1"):
        Battery("zzz")


def test_there_is_at_least_one_test():
    with pytest.raises(InvalidInputError, match="0 tests"):
        Battery(MIXED, tests=0)


# The command line


@pytest.fixture
def omnimeter(monkeypatch, capsys, tmp_path):
    """Run ``omnimeter run`` next to ``mine.json``; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("mine.json").write_text(json.dumps(MIXED))

    def type_in(*arguments):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return type_in


def test_a_battery_is_taken_and_reported(omnimeter):
    arguments = ("run", "--battery", "mine.json", "--tests", "3", "--seed", "0", "-a", "random",
                 "-a", "constant")  # fmt: skip
    code, out, _ = omnimeter(*arguments, "--traces", "--json")
    data = json.loads(out)
    assert code == 0
    assert [score["count"] for score in data["scores"]] == [12, 12]
    assert data["directory"].startswith("evaluations/cups-and-buttons-")
    page = Path(data["report"]).read_text(encoding="utf-8")
    assert "<h1>Cups and buttons: 2 agents</h1>" in page
    assert "Cups and buttons, 3 tests" in page
    code, out, _ = omnimeter("report", data["directory"], "--payoff", "total")
    assert code == 0
    assert "random-v1" in out


def test_a_battery_is_taken_again_elsewhere_without_its_file(omnimeter):
    arguments = ("--json", "--out")
    _, first, _ = omnimeter(
        "run", "-b", "mine.json", "-a", "random", "--seed", "0", *arguments, "here"
    )
    Path("mine.json").unlink()
    _, again, _ = omnimeter("run", "--spec", "here/spec.json", *arguments, "there")
    assert json.loads(first)["scores"] == json.loads(again)["scores"]


def test_a_spec_that_names_a_file_is_written_down_with_its_content(omnimeter):
    spec = {
        "protocol": {"id": "battery-v1", "parameters": {"battery": "mine.json"}},
        "agents": [{"id": "random-v1"}],
        "traces": False,
    }
    Path("it.json").write_text(json.dumps(spec))
    code, _, _ = omnimeter("run", "--spec", "it.json", "--out", "here")
    stored = json.loads(Path("here/spec.json").read_text())["spec"]
    assert code == 0
    assert stored["protocol"]["parameters"]["battery"] == snapshot("mine.json")


ERRORS = {
    "class": (("-b", "mine.json", "-a", "random", "-c", "cups"), "--class"),
    "parameter": (("-b", "mine.json", "-a", "random", "--set", "rule=rest"), "--set"),
    "number": (("-b", "mine.json", "-a", "random", "-n", "20"), "--exercises"),
    "length": (("-b", "mine.json", "-a", "random", "-i", "5"), "--interactions"),
    "seconds": (("-b", "mine.json", "-a", "random", "-s", "5"), "--seconds"),
    "level": (("-b", "mine.json", "-a", "random", "--complexity", "5"), "--complexity"),
    "clock": (("-b", "mine.json", "-a", "random", "--clock", "wall"), "--clock"),
    "tick": (("-b", "mine.json", "-a", "random", "--tick", "2"), "--tick"),
    "time-out": (("-b", "mine.json", "-a", "random", "--timeout", "2"), "--timeout"),
    "spec": (("-b", "mine.json", "--spec", "it.json"), "--spec"),
    "tests of a class": (("-c", "cups", "-a", "random", "--tests", "2"), "--tests"),
    "no agent": (("-b", "mine.json"), "--agent"),
    "no tests": (("-b", "mine.json", "-a", "random", "--tests", "0"), "0 tests"),
    "no such file": (("-b", "his.json", "-a", "random"), "his.json"),
    "no such name": (("-b", "thesis-tabl", "-a", "random"), "thesis-table-6-1"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_bad_options_get_one_clear_message(omnimeter, case):
    arguments, hint = ERRORS[case]
    code, out, err = omnimeter("run", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert hint in err
    assert not Path("evaluations").exists()
