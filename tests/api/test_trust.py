"""Reading a stored evaluation imports nothing that only the store names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import omnimeter as om
from omnimeter.contract import Spec
from omnimeter.contract.errors import InvalidInputError, OmnimeterError
from omnimeter.protocols import Evaluation
from omnimeter.results import Record, open_writer

CANARY = """
import os
from pathlib import Path

Path(os.environ["CANARY"]).write_text("imported")


class Paid:
    def __call__(self, *given):
        return 1.0

    def bounds(self, *given):
        return -1e9, 1e9


class Idle:
    def act(self, reward, observation):
        return 0
"""

SAMPLE = {"environment_class": {"id": "cups-v1"}, "exercises": 2, "interactions": 5, "seed": 0}


def item(name: str) -> dict[str, Any]:
    exercises = [{"environment_class": {"id": name}, "interactions": 5}]
    return {"battery": {"title": "One", "exercises": exercises}, "seed": 0}


# What a record may name, wherever a part is named; {} stands for the location.
PLACES: dict[str, Callable[[str], Spec]] = {
    "protocol": lambda name: Spec(name, SAMPLE),
    "payoff": lambda name: Spec("sample-v1", {**SAMPLE, "payoff": {"id": name}}),
    "payoff as text": lambda name: Spec("sample-v1", {**SAMPLE, "payoff": f"{name}(a=1)"}),
    "class": lambda name: Spec("sample-v1", {**SAMPLE, "environment_class": {"id": name}}),
    "class as text": lambda name: Spec("sample-v1", {**SAMPLE, "environment_class": name}),
    "anytime": lambda name: Spec(
        "anytime-untimed-v1", {"environment_class": {"id": name}, "interactions": 50, "seed": 0}
    ),
    "adjustment": lambda name: Spec(
        "universal-adjusted-v1", {**SAMPLE, "adjustment": {"id": name}}
    ),
    "battery": lambda name: Spec("battery-v1", item(name)),
    "prior": lambda name: Spec(
        "bayesian-rl-v1", {"environment_class": {"id": "gc-v1"}, "prior": {"id": name}}
    ),
    "first of a switch": lambda name: Spec(
        "sample-v1",
        {
            **SAMPLE,
            "environment_class": {
                "id": "switch-v1",
                "parameters": {"first": name, "second": "gc-v1", "at": 2},
            },
        },
    ),
    "then": lambda name: Spec(
        "perturbation-v1",
        {"environment_class": {"id": "gc-v1"}, "then": [{"id": name}], "at": 2, "interactions": 4},
    ),
    "element": lambda name: Spec(
        "sample-v1",
        {
            **SAMPLE,
            "environment_class": {"id": "pworld-v1", "parameters": {"elements": [name]}},
        },
    ),
}


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that leaves a mark when it is imported, and where the mark is then."""
    (tmp_path / "canary.py").write_text(CANARY)
    monkeypatch.setenv("CANARY", str(tmp_path / "mark"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "canary", raising=False)
    return tmp_path / "mark"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("source", ["file", "module"])
def test_no_part_is_imported_without_consent(
    tmp_path: Path, canary: Path, place: str, source: str
) -> None:
    name = f"{tmp_path / 'canary.py'}:Paid" if source == "file" else "canary:Paid"
    evaluation = Evaluation(PLACES[place](name), (Spec("random-v1"),))
    with open_writer(tmp_path / "e", evaluation.to_json()):
        pass
    for read in (om.load, om.compare):
        with pytest.raises(InvalidInputError, match="names code that would have") as caught:
            read(tmp_path / "e")
        assert f"{tmp_path / 'e'} names code" in caught.value.message
        assert name in caught.value.message
        assert "--trust" in caught.value.advice
    assert not canary.exists()
    with suppress(OmnimeterError):  # it is not everywhere a part of the right kind
        om.load(tmp_path / "e", trust=True)
    assert canary.exists()


def test_all_that_is_named_is_told(tmp_path: Path, canary: Path) -> None:
    parameters = {**SAMPLE, "payoff": "b.py:Pay(x=1)", "environment_class": {"id": "a.b:Own"}}
    agents = (Spec("random-v1"), Spec("own.py:Agent"))
    with open_writer(tmp_path / "e", Evaluation(Spec("canary:P", parameters), agents).to_json()):
        pass
    with pytest.raises(InvalidInputError, match=r"imported: a\.b:Own, b\.py:Pay, canary:P\."):
        om.load(tmp_path / "e")
    assert not canary.exists()


def type_in(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Type a command as a user, in a process that has imported nothing yet."""
    return subprocess.run(
        [sys.executable, "-m", "omnimeter", *arguments],
        cwd=directory,
        env={**os.environ, "COLUMNS": "300"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_commands_ask_for_trust(tmp_path: Path, canary: Path) -> None:
    small = ["--class", "cups", "-n", "2", "-i", "5", "--seed", "0", "--traces"]
    payoff = ["--payoff", "canary.py:Paid"]
    ran = type_in(tmp_path, "run", "--agent", "random", *small, *payoff, "--out", "e")
    assert ran.returncode == 0, ran.stderr  # what the user names is consent
    assert canary.exists()
    canary.unlink()
    for command in (["report", "e"], ["compare", "e"]):
        refused = type_in(tmp_path, *command)
        assert refused.returncode == 2
        assert "e names code that would have to be imported: canary.py:Paid." in refused.stderr
    result = om.load(tmp_path / "e", payoff="planned-average")
    result.report()
    assert not canary.exists()
    trusted = type_in(tmp_path, "report", "e", "--trust", "--json")
    assert trusted.returncode == 0, trusted.stderr
    assert json.loads(trusted.stdout)["complete"]
    assert canary.exists()
    canary.unlink()
    again = om.load(tmp_path / "e", payoff=f"{tmp_path / 'canary.py'}:Paid")
    assert again.scores["random-v1"].value == 1.0
    assert canary.exists()


def test_agents_are_never_imported_by_reports(tmp_path: Path, canary: Path) -> None:
    agents = ("--agent", "canary.py:Idle", "--agent", "slowed(agent=canary.py:Idle, seconds=1)")
    small = ["--class", "cups", "-n", "2", "-i", "5", "--seed", "0", "--sandbox", "none"]
    ran = type_in(tmp_path, "run", *agents, *small, "--out", "e")
    assert len(Record(tmp_path / "e").outcomes()) == 4, ran.stderr
    canary.unlink(missing_ok=True)
    assert type_in(tmp_path, "report", "e").returncode == 0
    result = om.load(tmp_path / "e")
    assert len(result.scores) == 2
    assert result.differences
    result.report()
    assert not canary.exists()
