"""The commands ``test`` and ``compare`` as a user types them: scores, bad input, Ctrl-C."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import test_cli
import test_start

from omnimeter.results import Record

omnimeter = test_cli.omnimeter
write, agent = test_cli.write, test_cli.agent

UNTIMED = ("--class", "cups", "--interactions", "400", "--repetitions", "4", "--seed", "0")
TIMED = ("--class", "cups", "--time", "0.002", "--repetitions", "4", "--seed", "0")
VIRTUAL = (*TIMED, "--clock", "virtual")


def elapsed(directory):
    """The real seconds of all exercises, harness included."""
    return sum(outcome.remarks["elapsed"] for outcome in Record(Path(directory)).outcomes())


@pytest.mark.parametrize(
    ("options", "definition", "interpretation"),
    [
        (UNTIMED, "Definition 19", "a repetition of 100 interactions in cups-v1"),
        (VIRTUAL, "Definition 18", "a repetition of 500 µs in cups-v1"),
    ],
)
def test_a_test_prints_what_its_score_is_and_means(omnimeter, options, definition, interpretation):
    code, out, err = omnimeter("test", "-a", "cup-presser", *options)
    assert code == 0
    for text in (definition, "cup-presser-v1", "stability", "spread", "level", "potential"):
        assert text in out
    assert interpretation in " ".join(out.split())
    assert ("actions/s" in out) == (options is VIRTUAL)
    assert "\x1b" not in err  # no live display where there is no terminal
    page = Path(out.rsplit("report: ", 1)[1].strip())
    assert "<html" in page.read_text()


def test_programs_get_everything(omnimeter):
    code, out, err = omnimeter("test", "-a", "random", *UNTIMED, "--json")
    data = json.loads(out)
    (score,) = data["scores"]
    assert code == 0
    assert err == ""
    assert data["definition"] == 19
    assert data["test"]["id"] == "anytime-untimed-v1"
    assert data["balance"]["passed"] is True
    assert data["harness"] == []
    assert len(score["values"]) == 4
    assert len(score["course"]) == score["parts"]["rounds"]
    assert score["course"][-1]["value"] == pytest.approx(score["value"])
    assert score["interval"][0] < score["value"] < score["interval"][1]


def test_the_same_command_says_the_same_again(omnimeter):
    _, first, _ = omnimeter("test", "-a", "random", *UNTIMED, "--json")
    _, second, _ = omnimeter("test", "-a", "random", *UNTIMED, "--json")
    _, third, _ = omnimeter("test", "-a", "random", *UNTIMED, "--json", "--workers", "2", "-a",
                            "cup-presser")  # fmt: skip
    assert json.loads(first) == json.loads(second)
    assert json.loads(first)["scores"][0] in json.loads(third)["scores"]


def test_a_test_by_the_wall_clock_lasts_as_long_as_it_says(omnimeter):
    code, out, _ = omnimeter(
        "test", "-a", "random", "--class", "cups", "--time", "1", "--repetitions", "4",
        "--seed", "0", "--out", "e", "--json",
    )  # fmt: skip
    data = json.loads(out)
    (cost,) = data["harness"]
    assert code == 0
    assert 0.9 < elapsed("e") < 1.3
    assert 0 < cost["charged"] < 1e5
    assert 0 < cost["uncharged"] < 1e6
    assert not cost["isolated"]


def test_a_precision_is_reached_on_all_cores_and_the_same_command_goes_on(omnimeter):
    wanted = ("test", "-a", "random", *CUPS, "--length", "50", "--precision", "0.12")
    code, out, _ = omnimeter(*wanted, "--out", "e", "--workers", "2")
    said = " ".join(out.split())
    assert code == 0
    assert "at most 500 000 interactions in 10 000 repetitions, for a precision of 0.12" in said
    assert "a repetition of 50 interactions" in said
    assert "The precision of 0.12 was reached by random-v1 after" in said
    assert "at most 10 000 repetitions" in Path("e/report.html").read_text()
    _, text, _ = omnimeter(*wanted, "--out", "e", "--json")
    (score,) = json.loads(text)["scores"]
    low, high = score["interval"]
    assert (high - low) / 2 <= 0.12
    assert score["parts"]["precise"] is True
    assert score["parts"]["watched"] == score["interval"]
    assert f"random-v1 after {len(score['values'])} repetitions" in said
    # Part of it, as an interruption leaves it, goes on with the same blocks.
    shards = sorted(Path("e/outcomes").glob("*.parquet"))
    for shard in shards[len(shards) // 2 :]:
        shard.unlink()
    _, resumed, _ = omnimeter(*wanted, "--out", "e", "--json", "--workers", "1")
    assert json.loads(resumed)["scores"] == json.loads(text)["scores"]


def test_a_precision_that_the_budget_does_not_allow_is_reported(omnimeter):
    wanted = ("--length", "20", "--precision", "0.01", "--interactions", "250")
    code, out, _ = omnimeter("test", "-a", "random", *CUPS, *wanted, "--workers", "1")
    assert code == 0
    assert "was not reached by random-v1 after 12 repetitions" in " ".join(out.split())


def test_one_repetition_has_no_interval_and_says_so(omnimeter):
    arguments = (
        "test",
        "-a",
        "random",
        "--class",
        "cups",
        "--interactions",
        "50",
        "--repetitions",
        "1",
    )
    _, out, _ = omnimeter(*arguments)
    assert "--repetitions 20" in out
    _, out, _ = omnimeter(*arguments, "--json")
    assert json.loads(out)["scores"][0]["interval"] is None


def test_an_agent_without_time_gets_nothing_and_a_hint(omnimeter):
    arguments = ("-a", "slowed(agent=random,seconds=0.001)", *VIRTUAL)
    code, out, _ = omnimeter("test", *arguments)
    assert code == 0
    assert "had no time to act in" in out
    assert "--slot" in out
    _, out, _ = omnimeter("test", *arguments, "--json")
    assert json.loads(out)["scores"][0]["value"] == 0


def test_both_tests_tell_slowness_from_dullness(omnimeter):
    arguments = (
        "test", "-a", "cup-presser", "-a", "slowed(agent=cup-presser,seconds=0.001)",
        "-a", "random", "--class", "cups", "--clock", "virtual", "--time", "0.02",
        "--timed-and-untimed",
        "--interactions", "4000", "--seed", "0",
    )  # fmt: skip
    code, out, _ = omnimeter(*arguments, "--out", "e")
    assert code == 0
    assert "Definition 18" in out
    assert "Definition 19" in out
    assert "slow but intelligent" in out
    _, out, _ = omnimeter(*arguments, "--out", "e", "--json")
    data = json.loads(out)
    verdicts = {each["agent"]: each["verdict"] for each in data["verdicts"]}
    assert verdicts["cup-presser-v1"] == "fast and intelligent"
    assert verdicts["random-v1"] == "fast but dull"
    assert data["timed"]["directory"] == "e/timed"
    assert data["untimed"]["directory"] == "e/untimed"


@pytest.mark.parametrize(
    ("number", "length"),
    [
        ("10", ("--interactions", "30")),
        ("15", ("--interactions", "30", "--adjustment", "logarithmic")),
        ("17", ("--time", "0.01", "--clock", "virtual", "--tick", "0.001")),
    ],
)
def test_parametric_tests(omnimeter, number, length):
    arguments = (
        "test",
        "-a",
        "cup-presser",
        "-c",
        "cups",
        "--definition",
        number,
        "-n",
        "5",
        *length,
    )
    code, out, _ = omnimeter(*arguments)
    assert code == 0
    assert f"Definition {number}" in out
    assert "5 environments of cups-v1" in " ".join(out.split())
    _, out, _ = omnimeter(*arguments, "--json")
    assert json.loads(out)["scores"][0]["count"] == 5


def test_several_agents_are_compared(omnimeter):
    arguments = ("test", "-a", "random", "-a", "cup-presser", *CUPS, "-i", "8000")
    code, out, _ = omnimeter(*arguments)
    assert code == 0
    assert "Against cup-presser-v1:" in out
    assert "verdict" in out
    assert "worse" in out
    assert "Reliability of the comparison" in out
    _, out, _ = omnimeter(*arguments, "--reference", "random", "--json")
    data = json.loads(out)
    (difference,) = data["comparisons"]
    assert difference["reference"] == "random-v1"
    assert difference["verdict"] == "better"
    assert difference["count"] == 20
    assert 0 < data["reliability"]["value"] <= 1


def stored(omnimeter, directory, *arguments):
    code, _, err = omnimeter("test", *CUPS, "-i", "8000", "--out", directory, *arguments)
    assert code == 0, err


def test_compare_prints_stored_evaluations_in_one_table(omnimeter):
    stored(omnimeter, "one", "-a", "random")
    stored(omnimeter, "two", "-a", "cup-presser")
    stored(omnimeter, "both", "-a", "random", "-a", "cup-presser")
    code, out, _ = omnimeter("compare", "one", "two")
    assert code == 0
    assert "reference" in out
    assert "verdict" in out
    assert "worse" in out
    assert "Reliability of the comparison" in out
    _, apart, _ = omnimeter("compare", "one", "two", "--reference", "random", "--json")
    _, joint, _ = omnimeter("compare", "both", "--reference", "random", "--json")
    assert json.loads(apart) == json.loads(joint)
    (difference,) = json.loads(apart)["comparisons"]
    assert difference["verdict"] == "better"
    assert difference["count"] == 20


def test_compare_refuses_what_cannot_be_compared(omnimeter):
    stored(omnimeter, "one", "-a", "random")
    stored(omnimeter, "seed", "-a", "cup-presser", "--seed", "1")
    omnimeter("run", "-a", "cup-presser", *CUPS, "-n", "2", "-i", "20", "--out", "run")
    for arguments, hint in [
        (("one",), "at least two agents"),
        (("one", "one"), "at least two agents"),
        (("one", "seed"), "they differ in seed"),
        (("one", "run"), "they differ in protocol"),
        (("one", "nowhere"), "nowhere"),
        ((), "Missing argument"),
    ]:
        code, out, err = omnimeter("compare", *arguments)
        assert code == (4 if "nowhere" in arguments else 2)
        assert out == ""
        assert hint in err
    stored(omnimeter, "two", "-a", "cup-presser")
    code, _, err = omnimeter("compare", "one", "two", "--reference", "q-learning")
    assert code == 2
    assert "takes no part" in err


UNFAIR = (
    "from omnimeter.contract import Claims\n"
    "from omnimeter.environments.buttons import Buttons\n"
    "class Unfair(Buttons):\n"
    "    def __init__(self):\n        super().__init__('bananas')\n"
    "    def claims(self):\n        return Claims(balanced={balanced}, sensitive=1)\n"
)


@pytest.mark.parametrize("claimed", [True, False])
def test_a_class_that_is_not_balanced_is_refused_unless_one_insists(omnimeter, claimed):
    write("unfair.py", UNFAIR.format(balanced=claimed))
    arguments = ("test", "-a", "random", "-c", "unfair.py:Unfair", "-i", "20", "--repetitions", "2")
    code, _, err = omnimeter(*arguments)
    assert code == 2
    assert "is not balanced" in err
    assert "which does not contain 0" in err
    assert "--unbalanced" in err
    assert not Path("evaluations").exists()
    code, out, _ = omnimeter(*arguments, "--unbalanced", "--json")
    data = json.loads(out)
    assert code == 0
    assert data["balance"] is None
    assert data["scores"][0]["parts"]["unbalanced"] is True


RANDOM = ("-a", "random")
CUPS = ("-c", "cups", "--seed", "0")
BAD_INPUT = {
    "no time": ((*RANDOM, *CUPS, "--time", "0"), "--time 0"),
    "negative time": ((*RANDOM, *CUPS, "--time", "-1"), "--time -1"),
    "endless time": ((*RANDOM, *CUPS, "--time", "inf"), "finite"),
    "time that is not a number": ((*RANDOM, *CUPS, "--time", "nan"), "finite"),
    "no interactions": ((*RANDOM, *CUPS, "--interactions", "0"), "--interactions 0"),
    "negative slot": ((*RANDOM, *TIMED, "--slot", "-1"), "--slot -1"),
    "half a slot": ((*RANDOM, *UNTIMED, "--slot", "1.5"), "whole number"),
    "negative tick": ((*RANDOM, *TIMED, "--tick", "-1"), "--tick -1"),
    "negative complexity": (
        (*RANDOM, *UNTIMED, "--start-complexity", "-3"),
        "--start-complexity -3",
    ),
    "no repetitions": ((*RANDOM, *CUPS, "-i", "9", "--repetitions", "0"), "--repetitions 0"),
    "too low": ((*RANDOM, *UNTIMED, "--start-complexity", "1"), "from 3"),
    "too high": ((*RANDOM, *UNTIMED, "--start-complexity", "1e9"), "from 3 to"),
    "more repetitions than interactions": (
        (*RANDOM, *CUPS, "-i", "3"),
        "3 interactions are too few",
    ),
    "both lengths": ((*RANDOM, *UNTIMED, "--time", "1"), "--timed-and-untimed"),
    "no length": ((*RANDOM, *CUPS), "--time SECONDS"),
    "both without time": ((*RANDOM, *UNTIMED, "--timed-and-untimed"), "--time"),
    "both and a definition": (
        (*RANDOM, *TIMED, "--timed-and-untimed", "--definition", "18"),
        "--timed-and-untimed",
    ),
    "no such definition": ((*RANDOM, *UNTIMED, "--definition", "11"), "10, 15, 17, 18, 19"),
    "wrong length": ((*RANDOM, *UNTIMED, "--definition", "18"), "takes --time"),
    "a clock where time does not count": ((*RANDOM, *UNTIMED, "--clock", "wall"), "--clock"),
    "repetitions where there are none": (
        (*RANDOM, *CUPS, "-i", "9", "--definition", "10", "--repetitions", "3"),
        "--repetitions",
    ),
    "exercises of a test that chooses": ((*RANDOM, *TIMED, "--exercises", "3"), "--exercises"),
    "workers by the wall clock": ((*RANDOM, *TIMED, "--workers", "2"), "--workers"),
    "misspelt clock": ((*RANDOM, *TIMED, "--clock", "wal"), "clock"),
    "misspelt adjustment": (
        (*RANDOM, *CUPS, "-i", "9", "--definition", "15", "--adjustment", "flatt"),
        "flat",
    ),
    "a length longer than the whole": ((*RANDOM, *CUPS, "-i", "9", "--length", "10"), "longer"),
    "all of total, length and number": ((*RANDOM, *UNTIMED, "--length", "9"), "two of the three"),
    "half a length": ((*RANDOM, *CUPS, "--length", "1.5"), "whole number"),
    "a precision without a length": ((*RANDOM, *CUPS, "-i", "999", "--precision", "1"), "length"),
    "no precision": ((*RANDOM, *CUPS, "--length", "9", "--precision", "0"), "--precision 0"),
    "a precision by the wall clock": (
        (*RANDOM, *CUPS, "--time", "9", "--length", "1", "--precision", "0.1"),
        "wall clock",
    ),
    "a length of both tests": (
        (*RANDOM, *CUPS, "--time", "1", "--timed-and-untimed", "--length", "9"),
        "--timed-and-untimed",
    ),
    "a length where there are no repetitions": (
        (*RANDOM, *CUPS, "-i", "9", "--definition", "15", "--length", "9"),
        "--length",
    ),
    "no agent": (UNTIMED, "--agent"),
    "no class": ((*RANDOM, "--time", "1"), "--class"),
    "a reference from elsewhere": ((*RANDOM, *UNTIMED, "--reference", "cup-presser"), "no part"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_gets_one_clear_message(omnimeter, case):
    arguments, hint = BAD_INPUT[case]
    code, out, err = omnimeter("test", *arguments)
    assert code == 2
    assert out == ""
    assert "Error: " in err
    assert hint in err
    assert not list(Path().iterdir())  # nothing was written


def test_an_agent_that_never_answers_does_not_hold_up_the_test(omnimeter):
    write("hang.py", agent("time.sleep(1000)"))
    arguments = ("test", "-a", "hang.py:Mine", *CUPS, "--repetitions", "2", "--action-timeout", "1")
    code, out, _ = omnimeter(*arguments, "--time", "1", "--out", "e", "--json")
    assert code == 0
    assert json.loads(out)["scores"][0]["value"] == 0  # it had no time to act
    assert elapsed("e") < 1 + 2  # and at most one action, until it times out
    code, out, _ = omnimeter(*arguments, "--interactions", "2")
    assert code == 3
    assert "2 time-outs" in out


def test_an_agent_that_answers_after_the_end_is_not_waited_for(omnimeter):
    write("late.py", agent("time.sleep(0.2); return 0"))
    code, out, _ = omnimeter(
        "test", "-a", "late.py:Mine", *CUPS, "--repetitions", "2", "--time", "1", "--slot", "0.05",
        "--out", "e", "--json",
    )  # fmt: skip
    (score,) = json.loads(out)["scores"]
    assert code == 0
    assert score["value"] == 0
    assert score["parts"]["idle"] == 1
    assert elapsed("e") < 1 + 1


SOMETIMES_SLOW = agent("time.sleep(0.01 * os.path.exists('slow')); return int(observation.sum())%3")
INTERRUPTED = (
    "test", "-a", "agent.py:Mine", "--class", "cups", "--interactions", "2000", "--repetitions",
    "2",
    "--isolation", "none", "--seed", "0",
)  # fmt: skip


def test_ctrl_c_leaves_a_score_and_the_same_command_goes_on(tmp_path, omnimeter):
    write("agent.py", SOMETIMES_SLOW)
    write("slow", "")
    process = subprocess.Popen(
        [sys.executable, "-m", "omnimeter", *INTERRUPTED, "--out", "e"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 60
        while len(list(Path("e/outcomes").glob("*.parquet"))) < 4:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "agent.py:Mine" in out
    assert "the same command goes on" in out
    assert "If it was, this 95 % interval does: agent.py:Mine" in " ".join(out.split())
    _, said, _ = omnimeter("report", "e")
    assert "Not all exercises are done." in said
    _, text, _ = omnimeter("report", "e", "--json")
    stopped = json.loads(text)
    assert stopped["complete"] is False
    assert stopped["scores"][0]["value"] is not None
    Path("slow").unlink()
    code, resumed, _ = omnimeter(*INTERRUPTED, "--out", "e", "--json")
    assert code == 0
    _, whole, _ = omnimeter(*INTERRUPTED, "--out", "another", "--json")
    (again,) = json.loads(resumed)["scores"]
    again.pop("attempted_again", None)  # the exercise that was under way
    assert [again] == json.loads(whole)["scores"]


@pytest.mark.parametrize("command", ["test", "compare"])
def test_help_loads_nothing_heavy(command):
    assert not test_start.loaded(test_start.COMMAND, command, "--help") & test_start.HEAVY
