"""The commands ``campaign`` as a user types them: output, exit codes, Ctrl-C, mistakes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet
import pytest
import typer

from omnimeter.api.campaign import Campaign
from omnimeter.api.campaign_file import read_plan
from omnimeter.cli import main
from omnimeter.cli.app import app, commands_in
from omnimeter.cli.campaign import span
from omnimeter.results import Record

TEXT = """
title = "Small"
seeds = [0, 1]
[[agents]]
agent = "random"
[[agents]]
agent = "q-learning(alpha=0.1|0.3)"
[[tests]]
class = "cups"
exercises = 4
interactions = 20
[run]
executor = "this-process"
"""

Typed = tuple[int, str, str]


@pytest.fixture
def omnimeter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Typed]:
    """Types a command in a directory with a small campaign."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("study.toml").write_text(TEXT)

    def type_in(*arguments: str) -> Typed:
        monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments])
        code: int | str = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return int(code), out, err

    return type_in


def test_the_example_is_a_plan_and_is_not_overwritten(omnimeter: Callable[..., Typed]) -> None:
    code, out, _ = omnimeter("campaign", "new", "mine.toml")
    assert code == 0
    assert "omnimeter campaign run mine.toml" in out
    plan, _ = read_plan("mine.toml")
    assert {entry.test for entry in plan.entries} == {"small", "rules", "anytime"}
    assert plan.limits["learners"] == {"action_timeout": 30.0}
    before = Path("mine.toml").read_text()
    code, _, err = omnimeter("campaign", "new", "mine.toml")
    assert code == 2
    assert "mine.toml is there already" in err
    assert Path("mine.toml").read_text() == before
    code, _, err = omnimeter("campaign", "new", "no/mine.toml")
    assert code == 4


@pytest.mark.slow
def test_the_example_runs_in_under_a_minute(omnimeter: Callable[..., Typed]) -> None:
    omnimeter("campaign", "new", "mine.toml")
    begun = time.monotonic()
    code, out, _ = omnimeter("campaign", "run", "mine.toml")
    assert code == 0
    assert "Complete: 14 evaluations" in out
    assert time.monotonic() - begun < 60


def test_run_status_results_and_export(omnimeter: Callable[..., Typed]) -> None:
    code, out, _ = omnimeter("campaign", "run", "study.toml")
    assert code == 0
    assert "Complete: 2 evaluations, 24 exercises finished.\nresults: study\n" in out
    code, out, _ = omnimeter("campaign", "status", "study")
    assert out.startswith("Small: complete\n\ncups-seed-0\n")
    assert out.count("4 of 4    none") == 6
    state = json.loads(omnimeter("campaign", "status", "study", "--json")[1])
    assert (state["state"], state["complete"], state["running"]) == ("complete", True, False)
    assert {each["finished"] for each in state["agents"]} == {4}
    code, out, _ = omnimeter("campaign", "results", "study")
    assert code == 0
    assert "cups · cups-v1\nagent " in out
    rows = json.loads(omnimeter("campaign", "results", "study", "--json")[1])
    assert [row["evaluations"] for row in rows] == [2, 2, 2]
    same = list(csv.DictReader(io.StringIO(omnimeter("campaign", "results", "study", "--csv")[1])))
    assert [float(row["value"]) for row in same] == [row["value"] for row in rows]
    assert f"{rows[0]['low']:.3f}".replace("-", "\N{MINUS SIGN}") in out
    code, out, _ = omnimeter("campaign", "export", "study", "--out", "o.parquet")
    assert (code, out) == (0, "24 rows: o.parquet\n")
    assert pyarrow.parquet.read_table("o.parquet").num_rows == 24
    assert omnimeter("campaign", "results", "study", "--csv", "--json")[0] == 2
    assert omnimeter("campaign", "export", "study")[0] == 2
    assert omnimeter("campaign", "export", "study", "--out", "o.x")[0] == 2
    assert omnimeter("campaign", "status", "elsewhere")[0] == 4


MARKED = """
title = "Marked"
seeds = [0, 1]
[[agents]]
agent = "random"
[[agents]]
agent = "oracle"
[[agents]]
agent = "agents.py:Failing"
[[tests]]
class = "lambda"
exercises = 3
interactions = 20
privileged = true
[run]
executor = "this-process"
"""


def test_results_tell_faults_and_privileged_views(omnimeter: Callable[..., Typed]) -> None:
    Path("marked.toml").write_text(MARKED)
    Path("agents.py").write_text(
        "from omnimeter.contract import Agent\n\n\n"
        "class Failing(Agent):\n    def act(self, reward, observation):\n        raise ValueError\n"
    )
    assert omnimeter("campaign", "run", "marked.toml")[0] == 3
    _, out, _ = omnimeter("campaign", "results", "marked")
    names = [line.split()[0] for line in out.splitlines() if line]
    assert names[2:4] == ["random-v1", "oracle-v1*"]
    assert out.count("†") == 2
    assert "* agents that were told what others have to find out" in out
    rows = json.loads(omnimeter("campaign", "results", "marked", "--json")[1])
    assert [row["own_faults"] for row in rows] == [0, 0, 6]
    assert [row["privileged"] for row in rows] == ["", "foresight", ""]
    same = list(csv.DictReader(io.StringIO(omnimeter("campaign", "results", "marked", "--csv")[1])))
    assert [row["own_faults"] for row in same] == ["0", "0", "6"]
    assert [row["privileged"] for row in same] == ["", "foresight", ""]
    assert {row["bounded"] for row in same} == {str(row["bounded"]) for row in rows}


def test_results_name_bounded_intervals(omnimeter: Callable[..., Typed]) -> None:
    Path("few.toml").write_text(
        '[[agents]]\nagent = "random"\n[[tests]]\nclass = "cups"\nexercises = 3\n'
        'interactions = 20\n[run]\nexecutor = "this-process"\n'
    )
    omnimeter("campaign", "run", "few.toml")
    _, out, _ = omnimeter("campaign", "results", "few")
    assert "The interval of random-v1 rests on nothing but" in " ".join(out.split())
    (row,) = json.loads(omnimeter("campaign", "results", "few", "--json")[1])
    assert row["bounded"] is True


def test_a_campaign_among_several_evaluations_is_named(omnimeter: Callable[..., Typed]) -> None:
    omnimeter("campaign", "run", "study.toml")
    code, out, error = omnimeter("report", "study", "study", "--out", "x.html")
    assert code != 0
    assert "study is a campaign, and not an evaluation." in out + error


def test_running_again_does_nothing(omnimeter: Callable[..., Typed]) -> None:
    omnimeter("campaign", "run", "study.toml")
    shards = sorted(Path("study").rglob("*.parquet"))
    code, out, _ = omnimeter("campaign", "run", "study", "--json")
    assert code == 0
    assert json.loads(out)["complete"]
    assert sorted(Path("study").rglob("*.parquet")) == shards
    assert omnimeter("campaign", "run", "study", "--out", "x")[0] == 2


def test_processes_give_the_same_results(omnimeter: Callable[..., Typed]) -> None:
    omnimeter("campaign", "run", "study.toml", "--out", "one")
    options = ["--executor", "processes", "--workers", "2"]
    assert omnimeter("campaign", "run", "study.toml", "--out", "two", *options)[0] == 0
    one, two = (omnimeter("campaign", "results", each, "--json")[1] for each in ("one", "two"))
    assert one == two


def test_a_dry_run_stores_nothing(omnimeter: Callable[..., Typed]) -> None:
    code, out, _ = omnimeter("campaign", "run", "study.toml", "--dry-run")
    assert code == 0
    text = " ".join(out.split())
    assert "Small: 2 evaluations in 6 units, 24 exercises with 480 interactions." in text
    assert "with 1 worker. This is an estimate from short exercises of 3 of 3 pairs" in text
    counted = json.loads(omnimeter("campaign", "run", "study.toml", "--dry-run", "--json")[1])
    assert (counted["interactions"], counted["tried"]) == (480, 3)
    assert not Path("study").exists()


def test_mistakes_have_their_line(omnimeter: Callable[..., Typed]) -> None:
    Path("study.toml").write_text(TEXT.replace("interactions = 20", "seconds = 'x'\ntrace = true"))
    code, _, err = omnimeter("campaign", "run", "study.toml")
    assert code == 2
    assert "study.toml has 2 mistakes:" in err
    assert "study.toml, line 11, tests[0].seconds: seconds = 'x' cannot be used." in err
    assert "study.toml, line 12, tests[0].trace: there is no such key. Did you mean 'traces'" in err
    assert omnimeter("campaign", "run", "no.toml")[0] == 2
    assert omnimeter("campaign", "run", "study.toml", "--workers", "0")[0] == 2
    Path("study.toml").write_text(TEXT)
    assert omnimeter("campaign", "run", "study.toml", "--executor", "x")[0] == 2


def test_faults_and_quarantine_leave_with_3(omnimeter: Callable[..., Typed]) -> None:
    Path("bad.py").write_text("def act(observation):\n    raise ValueError\n")
    Path("study.toml").write_text(TEXT.replace('agent = "random"', 'agent = "bad.py:act"'))
    code, out, err = omnimeter("campaign", "run", "study.toml")
    assert code == 3
    assert "8 exercises ended in faults." in out
    assert "The seed is fixed" in err
    quarantine = Path("study/quarantine")
    quarantine.mkdir()
    content = {"evaluation": "cups-seed-0", "agents": ["x"], "part": 0, "reason": "killed"}
    (quarantine / "0123.json").write_text(json.dumps(content))
    code, out, _ = omnimeter("campaign", "run", "study.toml")
    assert code == 3
    assert "Complete with 1 quarantined: 2 evaluations" in out
    assert "quarantined: cups-seed-0, x: study/quarantine/0123.json" in out


def test_damaged_files_are_named_and_the_rest_goes_on(omnimeter: Callable[..., Typed]) -> None:
    Path("mine.py").write_text("def act(observation):\n    raise ValueError\n")
    agents = "agents = [{ agent = 'random' }, { agent = 'mine.py:act' }]"
    tests = "tests = [{ class = 'cups', exercises = 5, interactions = 20, traces = true }]"
    Path("study.toml").write_text(f"""
        seeds = [0, 1, 2, 3]
        {agents}
        {tests}
        run = {{ executor = "this-process" }}
        limits = {{ fault_limit = 2 }}
    """)
    assert omnimeter("campaign", "run", "study.toml")[0] == 3
    whole = json.loads(omnimeter("campaign", "results", "study", "--json")[1])
    assert whole[0]["exercises"] == 20
    one, two, three, four = (Path(f"study/evaluations/cups-seed-{n}") for n in range(4))
    shards = [  # with the exercises of the random agent
        path
        for each in (one, two)
        for path in (each / "outcomes").iterdir()
        if len(Record(each, [path.stem]).outcomes()) == 5
    ]
    content = bytearray(shards[0].read_bytes())
    content[len(content) // 3] ^= 16
    shards[0].write_bytes(content)
    shards[1].write_bytes(shards[1].read_bytes()[:-100])
    spec = (three / "spec.json").read_bytes()
    (three / "spec.json").write_text("{")
    trace = max((four / "traces").iterdir(), key=lambda path: path.stat().st_size)
    trace.write_bytes(trace.read_bytes()[:-100])
    before = {path: path.read_bytes() for path in Path("study/evaluations").rglob("*.*")}

    named = [*map(str, shards), str(three / "spec.json")]
    for arguments in (
        ("campaign", "status", "study"),
        ("campaign", "results", "study"),
        ("campaign", "export", "study", "--out", "o.csv"),
        ("campaign", "run", "study"),
        ("compare", "study"),
        ("report", "study"),
    ):
        code, _, err = omnimeter(*arguments)
        damaged = [*named, str(trace)] if arguments[0] == "report" else named
        assert code == 4, err
        assert f"Left out of all this: {len(damaged)} damaged files." in err
        assert all(any(path in line for line in err.splitlines()) for path in damaged), err
        assert "Remove that file and run the evaluation, or its campaign, again" in err
        assert "Restore the original file" in err
    assert {path: path.read_bytes() for path in before} == before
    rest = json.loads(omnimeter("campaign", "results", "study", "--json")[1])
    assert (rest[0]["exercises"], rest[0]["evaluations"], rest[0]["complete"]) == (5, 1, False)
    status = json.loads(omnimeter("campaign", "status", "study", "--json")[1])
    assert [each["file"] for each in status["damaged"]] == [*named[:2], str(three)]
    assert not status["complete"]
    page = Path("study/report.html").read_text()
    assert "4 damaged files." in page
    assert f"<li>evaluations/cups-seed-0/outcomes/{shards[0].name} is damaged (" in page
    assert "What was in 4 damaged files is left out." in Path("study/latex/report.tex").read_text()
    code, out, err = omnimeter("campaign", "run", "study")
    assert "not complete: cups-seed-0, random-v1: 0 of 5" in out
    assert "cups-seed-3" not in out

    for command in ("report", "compare"):
        code, out, err = omnimeter(command, str(two), "--json")
        assert (code, err.count("is damaged (")) == (4, 1)
        assert [each["file"] for each in json.loads(out)["damaged"]] == [str(shards[1])]
    assert "1 damaged file." in (two / "report.html").read_text()

    for path in shards:  # as it says
        path.unlink()
    (three / "spec.json").write_bytes(spec)
    code, out, err = omnimeter("campaign", "run", "study")
    assert (code, out.split(":")[0]) == (3, "Complete")
    assert json.loads(omnimeter("campaign", "results", "study", "--json")[1]) == whole


def test_another_plan_and_a_second_run_leave_with_4(omnimeter: Callable[..., Typed]) -> None:
    omnimeter("campaign", "run", "study.toml")
    Path("study.toml").write_text(TEXT.replace("exercises = 4", "exercises = 3"))
    code, _, err = omnimeter("campaign", "run", "study.toml")
    assert code == 4
    assert "in the evaluation cups-seed-0 the file has other exercises" in err
    with Campaign.open("study")._locked():
        code, _, err = omnimeter("campaign", "run", "study")
    assert code == 4
    assert f"pid {os.getpid()}" in err


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT")
@pytest.mark.parametrize("executor", ["this-process", "processes"])
def test_ctrl_c_leaves_with_130_and_the_same_command_goes_on(
    omnimeter: Callable[..., Typed], executor: str
) -> None:
    Path("slow.py").write_text(
        "import time\n\ndef act(observation):\n    time.sleep(0.01)\n    return 0\n"
    )
    text = TEXT.replace('agent = "random"', 'agent = "slow.py:act"').replace("= 4", "= 60")
    Path("study.toml").write_text(text)
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "omnimeter",
            "campaign",
            "run",
            "study.toml",
            "--executor",
            executor,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    give_up = time.monotonic() + 90
    while time.monotonic() < give_up:
        if list(Path("study").glob("evaluations/*/outcomes/*.parquet")):
            break
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "Interrupted: 2 evaluations" in out
    assert f"go on: omnimeter campaign run study --executor {executor}\n" in out
    assert "not complete: cups-seed-0" in out
    state = Campaign.open("study").status()
    assert not state.running
    assert not state.complete
    assert any(each.finished for each in state.agents)


def test_commands_of_groups_are_found() -> None:
    commands = commands_in(typer.main.get_command(app))
    assert {"run", "campaign new", "campaign run", "campaign status"} <= commands.keys()
    assert "campaign" not in commands


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "less than a second"), (45, "about 45 s"), (119, "about 119 s"),
        (600, "about 10 min"), (9000, "about 2 h"), (400_000, "about 5 days"),
    ],
)  # fmt: skip
def test_spans_of_time(seconds: float, said: str) -> None:
    assert span(seconds) == said


def test_grids_of_agents(omnimeter: Callable[..., Typed]) -> None:
    small = ("--class", "cups", "--exercises", "3", "--interactions", "10", "--seed", "0")
    code, out, _ = omnimeter("run", "-a", "q-learning(alpha=0.1|0.2, epsilon=0|0.1)", *small)
    assert code == 0
    for alpha in (0.1, 0.2):
        for epsilon in (0, 0.1):
            assert f"q-learning-v1(alpha={alpha}, epsilon={epsilon})" in out
    code, out, _ = omnimeter(
        "test", "-a", "random(rate=1|2)", "-c", "automata", "-i", "400", "--seed", "0", "--json"
    )
    assert code == 0
    assert {each["label"] for each in json.loads(out)["scores"]} == {
        "random-v1(rate=1)", "random-v1(rate=2)",
    }  # fmt: skip
    code, out, _ = omnimeter("prepare", "-a", "e-greedy(epsilon=0|0.5)", "--prior", "gc")
    assert code == 0
    assert out.count("e-greedy-v1(epsilon=") == 2
    code, _, err = omnimeter("run", "-a", "q-learning(alpha=0.1|0.1)", *small)
    assert code == 2
    assert "given twice" in err
    code, _, err = omnimeter("run", "-a", "q-learning(alpha=0.1|)", *small)
    assert code == 2
    assert "a value is missing beside '|'" in err
