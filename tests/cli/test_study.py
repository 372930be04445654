"""The commands ``study`` and ``serve`` as a user types them."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pyarrow.parquet
import pytest

from omnimeter.cli import main, serve
from omnimeter.web.studies import Study, read_design
from participants import free_port, start_server, study_in

TEXT = """
title = "=Small"
rewards = "number"
[battery]
title = "one"
exercises = [{ environment_class = "cups(max_cups=3)", interactions = 4 }]
[[questionnaire]]
name = "mood"
text = "How are you?"
kind = "choice"
options = ["=1+1", "fine"]
required = true
"""


@pytest.fixture
def omnimeter(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("small.toml").write_text(TEXT)

    def type_in(*arguments):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        return code, *capsys.readouterr()

    return type_in


def test_the_example_can_be_used_as_it_is(omnimeter):
    assert omnimeter("study", "new")[0] == 0
    assert read_design("people.toml").title
    code, _, err = omnimeter("study", "new")
    assert code == 2
    assert "is there already" in err
    text = Path("people.toml").read_text()
    keys = [line[2:] for line in text.splitlines() if line.startswith("# ") and " = " in line]
    settings = "\n".join(line for line in keys if line.split(" = ")[0] in SETTINGS)
    assert len(settings.splitlines()) == len(SETTINGS)
    Path("all.toml").write_text(f"{settings}\n{text}")
    design = read_design("all.toml")
    assert design.breaks == (2,)
    assert design.consent


SETTINGS = (
    "environments", "order", "rewards", "colours", "breaks", "language", "after_interruption",
    "minutes_away", "consent", "instructions",
)  # fmt: skip


def test_invitations_of_a_file_and_of_a_directory(omnimeter):
    code, out, _ = omnimeter("study", "invite", "small.toml", "--count", "2", "--json")
    assert code == 0
    told = json.loads(out)
    study = Study(Path("small"))
    assert told["study"] == "small"
    assert list(told["links"].values()) == [
        f"http://127.0.0.1:8000/p/{each.token}" for each in study.participants
    ]
    assert study.participants[0].expires == pytest.approx(time.time() + 30 * 86_400, abs=60)
    address = "https://lab.example/"
    code, out, _ = omnimeter("study", "invite", "small", "--days", "0", "--address", address)
    assert code == 0
    assert "p0003  https://lab.example/p/" in out
    assert Study(Path("small")).participants[2].expires == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["invite", "missing.toml"], "cannot be read"),
        (["invite", "french.toml"], "no language 'fr'.\n       Known: en, es."),
        (["simulate", "french.toml"], "no language 'fr'"),
        (["invite", "."], "no file study.json"),
        (["invite", "small", "--out", "x"], "has no effect"),
        (["status", "."], "no file study.json"),
        (["export", "small"], "--out"),
        (["export", "small", "--out", "a.xlsx"], "no format 'xlsx'"),
        (["simulate", "small", "--agent", "q-learning"], "Known: random, learner"),
    ],
)
def test_mistakes_are_told(omnimeter, words, told):
    assert omnimeter("study", "invite", "small.toml")[0] == 0
    Path("french.toml").write_text(f'language = "fr"\n{TEXT}')
    code, _, err = omnimeter("study", *words)
    assert code in (2, 4)
    assert told in err
    assert not Path("french").exists()


def test_a_simulated_study_from_the_file_to_the_table(omnimeter):
    code, out, _ = omnimeter("study", "simulate", "small.toml", "--participants", "2")
    assert code == 0
    assert "2 simulated by learner: thanks 2" in out
    assert omnimeter("study", "simulate", "small", "--agent", "random", "--json")[0] == 0
    assert omnimeter("study", "invite", "small")[0] == 0
    code, out, _ = omnimeter("study", "status", "small", "--json")
    rows = json.loads(out)["participants"]
    assert [(row["stage"], row["exercises"]) for row in rows] == [("thanks", 1)] * 3 + [
        ("invited", 0)
    ]
    code, out, _ = omnimeter("study", "status", "small")
    assert "thanks 3, invited 1" in out
    assert "p0004" in out

    code, out, _ = omnimeter("study", "export", "small", "--out", "all.csv")
    assert code == 0
    assert "12 rows: all.csv" in out
    with Path("all.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [(row["participant"], row["step"]) for row in table] == [
        (f"p000{n}", str(step)) for n in (1, 2, 3) for step in (1, 2, 3, 4)
    ]
    assert {row["environment_class"] for row in table} == {"cups-v1(max_cups=3)"}
    assert all(row["reward"] and row["reaction_ms"] and row["received"] for row in table)
    with Path("all-answers.csv").open() as file:
        answers = list(csv.DictReader(file))
    assert {row["mood"] for row in answers} <= {"'=1+1", "fine"}
    assert len(answers) == 3

    assert omnimeter("study", "export", "small", "--out", "all.parquet")[0] == 0
    stored = pyarrow.parquet.read_table("all.parquet").to_pylist()
    assert [row["action"] for row in stored] == [int(row["action"]) for row in table]


def test_one_damaged_log_does_not_stop_the_others(omnimeter):
    assert omnimeter("study", "simulate", "small.toml", "--participants", "3")[0] == 0
    Path("small/participants/p0003/events.log").write_text("garbage\n")
    code, out, err = omnimeter("study", "status", "small")
    assert code == 4
    assert "thanks 2, damaged 1" in out
    assert "p0003" in err
    code, out, err = omnimeter("study", "status", "small", "--json")
    told = json.loads(out)
    assert code == 4
    assert [row["stage"] for row in told["participants"]] == ["thanks", "thanks", "damaged"]
    assert [Path(each["file"]).name for each in told["damaged"]] == ["p0003"]
    code, out, err = omnimeter("study", "export", "small", "--out", "all.csv")
    assert code == 4
    assert "8 rows: all.csv" in out
    assert "2 rows: all-answers.csv" in out
    assert "p0003" in err
    code, out, err = omnimeter("study", "compare", "small", "--agent", "random", "--out", "a.html")
    assert code == 4
    assert "2 of 3 participants took the whole test; left out: 1 with damaged files" in out
    assert "p0003" in err
    assert "p0003" in Path("a.html").read_text()


def test_participants_are_revoked_and_withdrawn(omnimeter, monkeypatch):
    assert omnimeter("study", "simulate", "small.toml", "--participants", "2")[0] == 0
    study = Study(Path("small"))
    one, other = study.participants
    code, out, _ = omnimeter("study", "revoke", "small", "p0001")
    assert (code, out) == (0, "The link of p0001 has expired.\n")
    assert study.find(one.token).is_revoked
    assert omnimeter("study", "export", "small", "--out", "all.csv")[1].startswith("8 rows")

    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    code, _, err = omnimeter("study", "withdraw", "small", "p0002")
    assert code == 1
    assert "Delete everything of p0002 in small?" in err
    assert study.folder(other).exists()
    with study.open_events(other):  # as a server has it
        code, _, err = omnimeter("study", "withdraw", "small", "p0002", "--yes")
    assert code == 4
    assert "taking part now" in err
    (study.folder(other) / "events.log").write_bytes(b"no log\n")  # which keeps no data alive
    code, out, _ = omnimeter("study", "withdraw", "small", "p0002", "--yes")
    assert (code, out) == (0, "Everything of p0002 is deleted.\n")
    assert not study.folder(other).exists()
    assert study.withdrawn == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert omnimeter("study", "withdraw", "small", "p0001")[0] == 0
    assert study.participants == []
    for command in ("revoke", "withdraw"):
        code, _, err = omnimeter("study", command, "small", "p0001")
        assert code == 2
        assert "There is no participant 'p0001'" in err


def test_what_is_missing_is_told_with_the_way_to_get_it(omnimeter, monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else name)
    for words in (["serve"], ["study", "invite", "small.toml"], ["study", "status", "small"]):
        code, _, err = omnimeter(*words)
        assert code == 2
        assert "needs uvicorn, not installed here" in err
        assert "pip install 'omnimeter[web]'" in err


def test_a_folder_that_is_none_and_a_port_that_is_taken(omnimeter, tmp_path):
    code, _, err = omnimeter("serve", "nowhere")
    assert code == 2
    assert "nowhere is no folder" in err
    study_in(tmp_path / "s")
    port = free_port()
    process = start_server(tmp_path / "s", port)
    try:
        code, _, err = omnimeter("serve", "s", "--port", str(port))
        assert code == 4
        assert "Give another --port" in err
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_it_is_and_ends_cleanly(tmp_path, number):
    _, (one,) = study_in(tmp_path / "s")
    process = subprocess.Popen(
        [sys.executable, "-m", "omnimeter", "serve", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ},
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        address = line.split(" at ")[1].strip().rstrip("/")
        assert address.startswith("http://127.0.0.1:")
        with urlopen(f"{address}/p/{one.token}") as answer:
            assert answer.status == 200
            assert "server" not in answer.headers
    finally:
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "Ended. What participants did is stored" in out
    assert not err
