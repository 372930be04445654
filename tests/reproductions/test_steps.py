"""What an interrupted reproduction keeps: it goes on to exactly the same result."""

import os
import tempfile
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

import omnimeter as om
from omnimeter import caching
from omnimeter.catalogue import forget
from omnimeter.cli.app import app
from omnimeter.reproductions import payoff_table, stopping
from omnimeter.reproductions.anytime import cheat, convergence, speed, table3
from omnimeter.reproductions.lambda_thesis import battery, social, tuning
from omnimeter.reproductions.perturbation import curves, tolerance
from omnimeter.reproductions.shared import Steps, processes

SETUPS = (
    replace(table3.AUTOMATA, fast_rounds=(24, 26)), replace(table3.TORUS, fast_rounds=(20, 22))
)  # fmt: skip
SMALL = {
    "stopping": stopping.reproduce,
    "payoff-table": payoff_table.reproduce,
    "anytime-cheat": partial(cheat.reproduce, repetitions=3, rounds=5),
    "anytime-convergence": partial(convergence.reproduce, seeds=5, repetitions=3, rounds=18),
    "anytime-speed": partial(speed.reproduce, sizes=speed.Sizes(4, 2, (1, 2))),
    "anytime-table3": partial(table3.reproduce, early=6, long=3, setups=SETUPS),
    "lambda-battery": partial(battery.reproduce, few=3, many=6, workers=1),
    "lambda-social": partial(social.reproduce, environments=5, interactions=50),
    "lambda-tuning": tuning.reproduce,
    "perturbation-tolerance": partial(tolerance.reproduce, quick=True),
    "tolerance-curves": partial(curves.reproduce, quick=True, workers=2),
}
"""Small versions of all that take longer than some seconds."""

FAST = ("stopping", "anytime-cheat", "anytime-speed")


@pytest.fixture(autouse=True)
def less(monkeypatch):
    """Makes what has no parameters small."""
    monkeypatch.setattr(stopping, "RUNS", 20)
    monkeypatch.setattr(payoff_table, "POLICY_RUNS", 20)
    monkeypatch.setattr(payoff_table, "FEATURES", payoff_table.FEATURES[:6])
    monkeypatch.setattr(tuning, "SESSIONS", 2)
    monkeypatch.setattr(tuning.thesis, "INTERACTIONS", 60)
    monkeypatch.setattr(curves, "QUICK", 2)
    monkeypatch.setattr(tolerance, "QUICK_RUNS", 3)
    monkeypatch.setattr(tolerance, "QUICK_SEARCH_RUNS", 2)
    monkeypatch.setattr(tolerance, "MONITORS", tolerance.MONITORS[:1])
    monkeypatch.setattr(tolerance, "all_cases", lambda every=tolerance.all_cases: every()[:8])


def interrupted(doing, done):
    """Interrupts an experiment when half of it is done."""
    if done >= 0.5:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in FAST else pytest.mark.slow, id=each) for each in SMALL],
)
def test_an_interrupted_reproduction_goes_on_to_the_same_result(name, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        SMALL[name](tmp_path / "once", interrupted)
    steps = Steps(tmp_path / "once")
    kept = {each: each.stat().st_mtime_ns for each in steps.folder.iterdir()}
    assert kept
    resumed, whole = (SMALL[name](tmp_path / each) for each in ("once", "whole"))
    assert {each: each.stat().st_mtime_ns for each in kept} == kept  # not made again
    assert steps.count == Steps(tmp_path / "whole").count
    assert repr(resumed.to_json()).replace("/once/", "/whole/") == repr(whole.to_json())
    for what, path in resumed.files.items():
        assert path.read_bytes() == whole.files[what].read_bytes()


def test_a_step_is_carried_out_once_for_its_arguments(tmp_path):
    steps, calls = Steps(tmp_path), []
    for number in (3, 4, 3):
        assert steps(count, number, calls=calls).tolist() == list(range(number))
    assert calls == [3, 4]
    assert steps.count == 2
    assert Steps()(count, 3, calls=calls).tolist() == [0, 1, 2]
    assert calls == [3, 4, 3]
    steps.remove()
    assert not steps.folder.exists()


def test_an_interruption_does_not_wait_for_the_steps_under_way(tmp_path):
    def interrupt():
        with processes(2) as apply:
            assert next(apply(partial(lasting, tmp_path), (0, 60, 60, 60))) == 0
            while len(list(tmp_path.iterdir())) < 3:  # both processes are at work
                time.sleep(0.01)
            raise KeyboardInterrupt

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert time.monotonic() - begun < 50
    assert len(list(tmp_path.iterdir())) == 3


def lasting(directory, seconds):
    """A step that takes so long, and leaves a file when it begins."""
    handle, _ = tempfile.mkstemp(dir=directory)
    os.close(handle)
    time.sleep(seconds)
    return seconds


def count(number, calls):
    """A step that notes that it is carried out."""
    calls.append(number)
    return np.arange(number)


def test_what_this_user_did_not_write_is_not_taken_up(tmp_path, monkeypatch):
    steps, calls, told = Steps(tmp_path), [], []
    monkeypatch.setattr(caching, "announcements", [told.append])
    steps(count, 3, calls=calls)
    (file,) = steps.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert steps(count, 3, calls=calls).tolist() == [0, 1, 2]
    assert calls == [3, 3]
    assert "is damaged or not from this cache" in told[0]


EXPERIMENT = """
from omnimeter.reproductions.shared import Reproduced, Steps

def first():
    print("carried out")
    return 0.5

def experiment(out, tell):
    value = Steps(out)(first)
    {body}
    return Reproduced("mine", "Mine", [], {{"value": value}})
"""


def test_the_command_says_what_is_kept_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def carry_out(body):
        # The file stays the same: what a step gives depends on it.
        (tmp_path / "mine.py").write_text(EXPERIMENT.format(body=body))
        forget()
        return CliRunner().invoke(app, ["reproduce", "mine.py:experiment"])

    body = "import os\n    if os.environ.get('BROKEN'): raise KeyboardInterrupt"
    monkeypatch.setenv("BROKEN", "1")
    done = carry_out(body)
    assert done.exit_code == 130
    assert "carried out" in done.stdout
    kept = "Interrupted. Kept in reproductions/mine: 1 finished step. The same command goes on"
    assert kept in done.stderr
    monkeypatch.delenv("BROKEN")
    done = carry_out(body)
    assert done.exit_code == 0, done.output
    assert "carried out" not in done.stdout
    assert not (tmp_path / "reproductions/mine/steps").exists()
    assert "carried out" in carry_out(body).stdout  # a finished one begins anew


def test_python_goes_on_too(tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        om.reproduce("stopping", out=tmp_path, progress=interrupted)
    assert Steps(tmp_path).count == 2
    om.reproduce("stopping", out=tmp_path)
    assert not Steps(tmp_path).folder.exists()
