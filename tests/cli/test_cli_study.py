"""``omnimeter study compare``: what it prints, writes, and leaves with."""

from __future__ import annotations

import json
import sys

import pytest

from omnimeter.cli import main
from omnimeter.web.studies import Study
from played import a_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return a_study(tmp_path_factory.mktemp("cli") / "study", 2)[0]


@pytest.fixture
def omnimeter(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            main()
        except SystemExit as leaving:
            return leaving.code or 0, *capsys.readouterr()
        return 0, *capsys.readouterr()

    return call


def test_it_prints_and_writes_the_comparison(study, omnimeter, tmp_path):
    page = tmp_path / "page.html"
    code, out, _ = omnimeter("study", "compare", study.path, "--agent", "random", "--out", page)
    assert code == 0
    assert "2 of 2 participants took the whole test." in out
    assert "Repeated-measures analysis of variance" in out
    assert "‡ This interval rests on nothing but" in out  # of two participants
    assert page.exists()
    assert (tmp_path / "page-data" / "comparison.json").exists()


def test_it_prints_json_alone(study, omnimeter):
    code, out, errors = omnimeter("study", "compare", study.path, "-a", "random", "--json")
    told = json.loads(out)
    assert (code, errors, told["participants"]) == (0, "", ["p0001", "p0002"])
    assert told["damaged"] == []


def test_wrong_input(study, omnimeter, tmp_path):
    assert omnimeter("study", "compare", tmp_path, "--agent", "random")[0] == 4
    code, _, errors = omnimeter("study", "compare", study.path)
    assert code == 2
    assert "--agent is missing" in errors
    assert omnimeter("study", "compare", study.path, "--agent", "rendom")[0] == 2
    empty = Study.create(tmp_path / "empty", study.design)
    code, _, errors = omnimeter("study", "compare", empty.path, "--agent", "random")
    assert code == 2
    assert "No participant" in errors


def test_damaged_tests_are_named(omnimeter, tmp_path):
    study, (one, _) = a_study(tmp_path / "study", 2)
    shard = next((study.folder(one) / "evaluation/outcomes").iterdir())
    shard.write_bytes(b"nothing")
    code, out, errors = omnimeter("study", "compare", study.path, "--agent", "random")
    assert code == 4
    assert "1 of 2 participants took the whole test; left out: 1 with damaged files" in out
    assert "1 damaged file" in errors


def test_an_agent_with_faults_is_told(study, omnimeter, tmp_path):
    file = tmp_path / "bad.py"
    file.write_text("class Bad:\n    def act(self, reward, observation):\n        return 99\n")
    code, out, _ = omnimeter("study", "compare", study.path, "--agent", f"{file}:Bad")
    assert code == 3
    assert "had faults in the place of 2 participants" in out
