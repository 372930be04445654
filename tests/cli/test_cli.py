"""The command line as a user types it: results, bad input, exit codes, no tracebacks."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from omnimeter.cli import display, main


@pytest.fixture
def omnimeter(monkeypatch, capsys, tmp_path):
    """Types a command in an empty directory; gives the exit code, the output and the errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def type_in(*arguments):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return type_in


SMALL = ("--class", "cups", "--exercises", "4", "--interactions", "30", "--seed", "0")


def write(name, body):
    Path(name).write_text(body)


def agent(act, begin="pass"):
    return (
        "import os, time\nfrom omnimeter import Agent\n"
        "class Mine(Agent):\n"
        f"    def begin(self, briefing, rng):\n        {begin}\n"
        f"    def act(self, reward, observation):\n        {act}\n"
    )


def test_list_and_show(omnimeter):
    code, out, _ = omnimeter("list")
    assert code == 0
    assert "cups-v1" in out
    assert "random-v1" in out
    code, out, _ = omnimeter("list", "agents", "--json")
    entries = {entry["id"]: entry for entry in json.loads(out)}
    assert {entry["kind"] for entry in entries.values()} == {"agent"}
    assert entries["random-v1"]["location"] == "omnimeter.agents.simple:RandomAgent"
    assert entries["random-v1"]["summary"].startswith("Acts at random")
    assert entries["random-v1"]["problem"] == ""
    code, out, _ = omnimeter("show", "cups")
    assert code == 0
    assert "rule" in out
    assert "published" in out


def test_run_prints_scores_and_a_report(omnimeter):
    code, out, _ = omnimeter("run", "-a", "random", "-a", "cup-presser", *SMALL)
    assert code == 0
    assert "cup-presser-v1" in out
    page = Path(out.rsplit("report: ", 1)[1].strip())
    assert "<html" in page.read_text()


def test_run_for_programs(omnimeter):
    code, out, err = omnimeter("run", "-a", "random", *SMALL, "--json")
    data = json.loads(out)
    assert code == 0
    assert data["complete"] is True
    assert data["scores"][0]["label"] == "random-v1"
    assert data["scores"][0]["count"] == 4
    assert Path(data["report"]).exists()
    assert err == ""


def test_the_same_command_goes_on_in_the_same_place(omnimeter):
    _, first, _ = omnimeter("run", "-a", "random", *SMALL, "--json")
    _, second, _ = omnimeter("run", "-a", "random", *SMALL, "--json")
    assert json.loads(first) == json.loads(second)
    directory = Path(json.loads(first)["directory"])
    assert len(list((directory / "provenance").iterdir())) == 2
    assert len(list((directory / "outcomes").iterdir())) == 1


def test_a_spec_is_run_again_elsewhere(omnimeter):
    _, first, _ = omnimeter("run", "-a", "random", *SMALL, "--json", "--out", "one")
    _, second, _ = omnimeter("run", "--spec", "one/spec.json", "--json", "--out", "two")
    assert json.loads(first)["scores"] == json.loads(second)["scores"]


def test_ten_lines_are_an_agent(omnimeter):
    write("my_agent.py", agent("return int(observation.argmin())"))
    code, out, _ = omnimeter("run", "-a", "my_agent.py:Mine", *SMALL)
    assert code == 0
    assert "my_agent.py:Mine" in out


def test_a_stored_evaluation_is_reported_and_judged_anew(omnimeter):
    omnimeter("run", "-a", "random", *SMALL, "--traces", "--out", "e")
    code, out, _ = omnimeter("report", "e", "--payoff", "total", "--json")
    assert code == 0
    total = json.loads(out)["scores"][0]["value"]
    _, out, _ = omnimeter("run", "-a", "random", *SMALL, "--payoff", "total", "--json")
    assert json.loads(out)["scores"][0]["value"] == total
    code, out, _ = omnimeter("report", "e", "--latex")
    assert code == 0
    assert "tabular" in out


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_a_payoff_that_can_be_exploited_is_warned_of(omnimeter, json):
    warning = "keeps that average"
    _, out, err = omnimeter("run", "-a", "random", *SMALL, "--traces", "--out", "safe", *json)
    assert warning not in out + err
    for command in (
        ("run", "-a", "random", *SMALL, "--payoff", "average"),
        ("report", "safe", "--payoff", "average"),
        ("test", "-a", "random", "--class", "cups", "-i", "100", "--payoff", "average"),
    ):
        code, out, err = omnimeter(*command, *json)
        assert code == 0
        assert warning in " ".join(err.split())
        assert (warning in out) == bool(json)  # a program finds it in the data


def test_audit(omnimeter):
    code, out, _ = omnimeter("audit", "buttons")
    assert code == 0
    assert "fit for testing" in out
    code, out, _ = omnimeter("audit", "cups", "--set", "rule=published", "--json")
    data = json.loads(out)
    sensitivity = next(f for f in data["findings"] if f["check"] == "sensitivity")
    assert code == 0
    assert not sensitivity["claimed"]
    assert not sensitivity["passed"]
    assert sensitivity["witness"]


def test_an_audit_tells_its_progress_where_there_is_no_terminal(omnimeter, monkeypatch):
    _, out, err = omnimeter("audit", "buttons", "--instances", "2")
    assert " after " not in out + err
    monkeypatch.setattr(display, "LINES", 0.0)
    for option in ((), ("--json",)):
        _, out, err = omnimeter("audit", "buttons", "--instances", "2", *option)
        assert "Auditing buttons-v1: 0% after 0 s. range\n" in err
        assert " after " not in out


def test_an_audit_that_fails_says_so(omnimeter):
    write(
        "unfair.py",
        "from omnimeter.contract import Claims\n"
        "from omnimeter.environments.buttons import Buttons\n"
        "class Unfair(Buttons):\n"
        "    def __init__(self):\n        super().__init__('bananas')\n"
        "    def claims(self):\n        return Claims(balanced=True, sensitive=1)\n",
    )
    code, out, _ = omnimeter("audit", "unfair.py:Unfair")
    assert code == 1
    assert "FAILS" in out


def test_students_reproduction(omnimeter):
    code, out, _ = omnimeter("reproduce", "students", "--json")
    data = json.loads(out)
    assert code == 0
    assert set(data) >= {"name", "agrees", "figures", "rows"}
    assert data["figures"]["s1.total"] == 10
    assert all(isinstance(value, int | float) for value in data["figures"].values())


BAD_INPUT = {
    "misspelt agent": (("-a", "randm", *SMALL), 2, "random"),
    "misspelt class": (("-a", "random", "--class", "cuqs"), 2, "cups"),
    "misspelt parameter": (("-a", "random(rat=3)", *SMALL), 2, "rate"),
    "wrong type": (("-a", "random(rate=fast)", *SMALL), 2, "rate"),
    "wrong value": (("-a", "random(rate=-1)", *SMALL), 2, "rate"),
    "unclosed": (("-a", "random(rate=1", *SMALL), 2, ")"),
    "wrong class parameter": (("-a", "random", *SMALL, "--set", "rule=odd"), 2, "published"),
    "no assignment": (("-a", "random", *SMALL, "--set", "rule"), 2, "="),
    "impossible complexity": (("-a", "random", *SMALL, "--complexity", "2"), 2, "from 3 up"),
    "misspelt payoff": (("-a", "random", *SMALL, "--payoff", "averge"), 2, "average"),
    "misspelt clock": (("-a", "random", *SMALL, "--clock", "wal"), 2, "clock"),
    "misspelt isolation": (("-a", "random", *SMALL, "--isolation", "proces"), 2, "process"),
    "no exercises": (("-a", "random", "--class", "cups", "-n", "0"), 2, "exercises"),
    "no agent": (SMALL, 2, "--agent"),
    "no class": (("-a", "random"), 2, "--class"),
    "agent twice": (("-a", "random", "-a", "random", *SMALL), 2, "twice"),
    "no such file": (("-a", "missing.py:Mine", *SMALL), 2, "missing.py"),
    "not a number": (("-a", "random", *SMALL, "--complexity", "nan"), 2, "complexity"),
    "for ever": (("-a", "random", "--class", "cups", "--seconds", "inf"), 2, "seconds"),
    "too many cups": (("-a", "random", *SMALL, "--complexity", "1e9"), 2, "1000"),
    "spec and agent": (("-a", "random", "--spec", "missing.json"), 2, "--spec"),
    "no such spec": (("--spec", "missing.json"), 2, "missing.json"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_gets_one_clear_message(omnimeter, case):
    arguments, expected, hint = BAD_INPUT[case]
    code, out, err = omnimeter("run", *arguments)
    assert code == expected
    assert out == ""
    assert err.startswith("Error: ")
    assert hint in err
    assert not list(Path().iterdir())  # nothing was written


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("class Mime:\n    def act(self, r, o): return 0\n", "Mime"),
        ("Mine = 7\n", "Mine"),
    ],
)
def test_an_invalid_agent_file_says_where(omnimeter, body, hint):
    write("bad.py", body)
    code, _, err = omnimeter("run", "-a", "bad.py:Mine", *SMALL)
    assert code == 2
    assert hint in err


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("class Mine(:\n", "bad.py, line 1: SyntaxError"),
        ("import nothing_of_that_name\n", "nothing_of_that_name"),
    ],
)
def test_an_agent_whose_own_code_fails_when_it_is_loaded_has_faults(omnimeter, body, hint):
    write("bad.py", body)
    code, out, _ = omnimeter("run", "-a", "bad.py:Mine", "-a", "random", *SMALL)
    assert code == 3
    assert "agent-error" in out
    assert hint in out


@pytest.mark.parametrize(
    ("act", "kind", "hint"),
    [
        ("raise ValueError('no idea')", "agent-error", "no idea"),
        ("return 7", "agent-error", "returned 7"),
        ("return None", "agent-error", "returned None"),
        ("return 'left'", "agent-error", "left"),
        ("time.sleep(1000)", "time-out", "longer than"),
        ("self.hoard = bytearray(10**10); return 0", "agent-error", "memory"),
        ("os._exit(3)", "agent-error", "process"),
    ],
)
def test_a_faulty_agent_is_recorded_and_the_rest_goes_on(omnimeter, act, kind, hint):
    write("bad.py", agent(act))
    code, out, _ = omnimeter(
        "run", "-a", "bad.py:Mine", "-a", "random", "--class", "cups", "--complexity", "3",
        "-n", "2", "-i", "20", "--action-timeout", "0.5", "--memory-limit", "1024", "--out", "e",
    )  # fmt: skip
    assert code == 3
    assert {"agent-error": "2 agent errors", "time-out": "2 time-outs"}[kind] in out
    assert hint in out
    _, out, _ = omnimeter("report", "e", "--json")
    by_label = {score["label"]: score for score in json.loads(out)["scores"]}
    assert by_label["bad.py:Mine"]["value"] is None
    assert by_label["bad.py:Mine"]["faults"] == {kind: 2}
    assert by_label["random-v1"]["count"] == 2


@pytest.mark.parametrize("command", ["run", "prepare"])
def test_the_end_of_what_a_program_printed_is_shown_with_its_fault(omnimeter, command):
    said = "[f'line {k}' for k in range(20)] + ['\\x1b[2J[red]no \\u202e' + 'x' * 5000]"
    write(
        "bad.py",
        f"import sys\nfor each in {said}:\n    print(each, file=sys.stderr)\nsys.exit(7)\n",
    )
    agent = "command(run='python3 bad.py')"
    more = ["-c", "cups", "-n", "2"] if command == "run" else ["--prior", "gc"]
    code, out, _ = omnimeter(command, "--agent", agent, *more)
    assert code == 3
    assert "exit code 7" in out
    last = out[out.index("exit code 7") :].splitlines()
    assert last[1:5] == [f"  line {k}" for k in range(16, 20)]
    assert last[5].startswith("  [red]no xxx")
    assert len(last[5]) < 210
    assert "line 15" not in out


def test_another_evaluation_in_the_same_place_is_refused(omnimeter):
    omnimeter("run", "-a", "random", *SMALL, "--out", "e")
    code, _, err = omnimeter("run", "-a", "random", *SMALL, "--seed", "1", "--out", "e")
    assert code == 4
    assert "seed" in err
    assert "--out" in err


def test_a_place_that_is_a_file_is_refused(omnimeter):
    write("e", "something else")
    code, _, err = omnimeter("run", "-a", "random", *SMALL, "--out", "e")
    assert code == 4
    assert "e" in err
    assert Path("e").read_text() == "something else"


def test_a_full_disk_keeps_what_is_stored(omnimeter, monkeypatch):
    """The first shard fits, the second does not."""
    from omnimeter.results import files

    monkeypatch.setattr("omnimeter.execution.evaluation.SHARD", 2)
    write_file = files.write
    shards = []

    def full(path, content, mode=0o666):
        if path.parent.name == "outcomes":
            shards.append(path)
            if len(shards) > 1:
                with files.write_errors(path):
                    raise OSError(28, os.strerror(28))
        write_file(path, content, mode)

    monkeypatch.setattr(files, "write", full)
    code, _, err = omnimeter("run", "-a", "random", *SMALL, "--out", "e")
    assert code == 4
    assert "space" in err.lower() or "full" in err.lower()
    monkeypatch.setattr(files, "write", write_file)
    _, out, _ = omnimeter("report", "e", "--json")
    assert json.loads(out)["scores"][0]["count"] == 2
    code, out, _ = omnimeter("run", "-a", "random", *SMALL, "--out", "e", "--json")
    assert code == 0
    assert json.loads(out)["scores"][0]["count"] == 4


def test_no_evaluation_where_a_report_is_wanted(omnimeter):
    code, _, err = omnimeter("report", "nowhere")
    assert code == 4
    assert "nowhere" in err


@pytest.mark.parametrize(
    "command", ["list", "show", "run", "test", "compare", "audit", "measure", "reproduce", "report"]
)
def test_help_shows_names_for_values_and_none_for_flags(omnimeter, command):
    code, out, _ = omnimeter(command, "--help")
    assert code == 0
    assert "--json" in out
    assert "<" not in out


def test_debug_shows_the_traceback(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["omnimeter", "--debug", "show", "missing"])
    with pytest.raises(SystemExit):
        main()
    assert "Traceback" in capsys.readouterr().err


SLOW_AGENT = agent("time.sleep(0.01); return 0")
SLOW_RUN = ("-a", "slow.py:Mine", "--class", "cups", "-n", "300", "-i", "20", "--out", "e")


@pytest.fixture
def slow_run(tmp_path):
    """A run of a minute, in a process of its own, that has stored something."""
    (tmp_path / "slow.py").write_text(SLOW_AGENT)
    command = [sys.executable, "-m", "omnimeter", "run", *SLOW_RUN]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    shards = tmp_path / "e" / "outcomes"
    deadline = time.monotonic() + 60
    while not (shards.exists() and list(shards.glob("*.parquet"))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    process.kill()
    process.communicate()


def test_ctrl_c_prints_the_result_so_far_and_leaves_a_valid_store(slow_run, tmp_path, omnimeter):
    slow_run.send_signal(signal.SIGINT)
    out, err = slow_run.communicate(timeout=30)
    assert slow_run.returncode == 130
    assert "Traceback" not in err
    assert "slow.py:Mine" in out
    assert "report: " in out
    code, text, _ = omnimeter("report", str(tmp_path / "e"), "--json")
    data = json.loads(text)
    assert code == 0
    assert data["complete"] is False
    assert data["scores"][0]["count"] > 0


def test_a_second_writer_is_refused(slow_run, tmp_path, omnimeter):
    code, _, err = omnimeter("run", *SLOW_RUN)
    assert code == 4
    assert str(slow_run.pid) in err or "another process" in err
