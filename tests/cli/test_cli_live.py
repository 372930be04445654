"""The live display of a test: its numbers, its curve, and that it fits into a terminal."""

import io
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from fcntl import ioctl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.live import Live

from omnimeter.cli.display import bars
from omnimeter.cli.session import (
    LONGEST_LABEL,
    SCALE,
    ZERO,
    AgentProgress,
    Display,
    display,
    plot,
    render,
)
from omnimeter.contract import Ending, Fault, FaultKind, Outcome, Spec
from omnimeter.protocols.anytime import AnytimeTimed, AnytimeUntimed
from omnimeter.protocols.sample import Sample
from omnimeter.protocols.universal import UniversalRewards
from omnimeter.reports.text import MINUS, interval

AGENT = Spec("random-v1")
LONG = Spec("random-v1", {"rate": 10.123456789, "another": "a rather long text that goes on"})


@given(
    st.lists(st.floats(-1, 1), max_size=60),
    st.integers(SCALE + 1, 120),
    st.integers(3, 10),
)
def test_a_plot_has_its_size_and_a_line_at_zero(values, width, height):
    lines = plot(values, width, height)
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}
    assert sum(line[:SCALE].strip() == "0 ┼" for line in lines) == 1


@pytest.mark.parametrize(
    ("values", "row"), [([0.5], 0), ([-0.5], -1), ([0.0], 2), ([0.5, 0.5, 0.5], 0)]
)
def test_a_constant_is_a_level_line_at_its_place(values, row):
    lines = [line[SCALE:] for line in plot(values, 40, 5)]
    drawn = lines.pop(row)
    assert " " not in drawn
    assert ZERO not in drawn
    assert all(set(line) <= {" ", ZERO} for line in lines)


def test_a_rising_curve_rises():
    first, *_, last = plot([0.0, 0.5, 1.0], 40, 5)
    assert first[SCALE:].strip()
    assert first.index(first[SCALE:].strip()) > 20
    assert last[SCALE] not in (" ", ZERO)


def test_a_scale_has_proper_signs():
    lines = plot([-0.5, 0.5], 40, 6)
    assert lines[0].startswith("+0.58 ┤")
    assert lines[-1].startswith(f"{MINUS}0.58 ┤")
    assert "-" not in "".join(lines)


def outcomes(protocol, rounds, payoff=0.25, fault=None):
    """What came of the first rounds of an agent that always gets the same."""
    done = []
    for _ in range(rounds):
        done += [
            Outcome(
                exercise=exercise,
                payoff=payoff,
                interactions=min(exercise.budget.max_interactions, 10**6),
                total=payoff or 0.0,
                last_time=1000,
                end_ns=1000,
                ending=Ending.FAULT if fault else Ending.BUDGET,
                fault=fault,
            )
            for exercise in protocol.propose(AGENT, done)
        ]
    return done


def untimed():
    return AnytimeUntimed("cups-v1", interactions=1000, repetitions=5)


def timed():
    return AnytimeTimed("cups-v1", time=60.0, repetitions=5)


def shown(agents, width=80, height=24):
    out = Console(
        file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None
    )
    out.print(render(("What it is", "and where"), agents, out))
    return out.file.getvalue()


@pytest.mark.parametrize(
    ("protocol", "progress_text"),
    [(untimed(), "95 of 1 000 ·"), (timed(), "of 60 s ·")],
)
def test_the_progress_of_an_agent(protocol, progress_text):
    progress = AgentProgress(AGENT, protocol)
    progress.add(outcomes(protocol, 5))
    assert progress.curve == [0.25] * 5
    assert progress.share[0] > 0
    text = shown([progress])
    assert "random-v1   +0.250  95 % interval" in text
    assert "25 exercises" in text
    assert "level" in text
    assert progress_text in text


def test_the_curve_of_a_parametric_test_goes_from_exercise_to_exercise():
    protocol = UniversalRewards("cups-v1", exercises=3, interactions=10)
    progress = AgentProgress(AGENT, protocol, outcomes(protocol, 1, payoff=2.0))
    assert progress.curve == [2.0, 2.0, 2.0]
    assert "3 of 3 exercises" in shown([progress])


@pytest.mark.parametrize("agents", [1, 2, 5])
def test_it_fits_into_a_terminal(agents):
    protocol = untimed()
    done = outcomes(protocol, 6)
    text = shown([AgentProgress(LONG, protocol, done) for _ in range(agents)])
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert (ZERO in text) == (agents < 3)


@pytest.mark.parametrize("width", [60, 80, 81, 200])
@pytest.mark.parametrize("wide", ["x", "漢"])
def test_a_long_name_leaves_space_for_the_interval(width, wide):
    protocol = untimed()
    done = outcomes(protocol, 6)
    payoffs = [-0.5 - each.exercise.number % 5 / 10 for each in done]
    done = [replace(each, payoff=payoff) for each, payoff in zip(done, payoffs, strict=True)]
    agent = Spec("random-v1", {"name": wide * 200})
    _, _, _, line, *_ = shown([AgentProgress(agent, protocol, done)], width=width).split("\n")
    name, numbers = line.split("…   ")
    assert name.startswith("random-v1")
    assert numbers.startswith(f"{MINUS}0.700  95 % interval ")
    assert re.fullmatch(
        rf"{MINUS}\d\.\d{{3}} to [{MINUS}+]\d\.\d{{3}}", numbers.split("interval ")[1]
    )
    assert cell_len(line) <= width
    assert cell_len(name) < LONGEST_LABEL


def test_faults_are_shown_next_to_a_long_name_too():
    fault = Fault(FaultKind.AGENT_ERROR, "no idea")
    protocol = untimed()
    *done, last = outcomes(protocol, 6)
    done.append(replace(last, payoff=None, ending=Ending.FAULT, fault=fault))
    _, _, _, line, *_ = shown([AgentProgress(LONG, protocol, done)]).split("\n")
    assert "95 % interval" in line
    assert line.rstrip().endswith("  1 fault")
    assert len(line) <= 80


def test_nothing_yet_and_faults():
    protocol = untimed()
    assert "no score yet" in shown([AgentProgress(AGENT, protocol)])
    fault = Fault(FaultKind.AGENT_ERROR, "no idea")
    text = shown([AgentProgress(AGENT, protocol, outcomes(protocol, 2, None, fault))])
    assert "5 faults" in text  # an agent that only fails is not asked again


def test_it_is_not_drawn_too_often():
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    with Live(console=out, auto_refresh=False) as live:
        seen = Display(untimed(), ("it",), live, pause=1000)
        seen.started([AGENT], None)
        before = out.file.tell()
        seen.finished(AGENT, outcomes(untimed(), 1))
        assert out.file.tell() == before
        seen.draw()
        assert out.file.tell() > before


def test_there_is_no_display_without_a_terminal(capsys):
    with display(untimed(), ("it",)) as observer:
        observer.started([AGENT], None)
        observer.finished(AGENT, [])
    assert capsys.readouterr() == ("", "")


def test_the_display_moves_by_itself_unless_real_time_counts(monkeypatch):
    out = Console(file=io.StringIO(), force_terminal=True, width=80, _environ={"TERM": "xterm"})
    monkeypatch.setattr("omnimeter.cli.session.console", lambda errors: out)
    virtual = AnytimeTimed("cups-v1", time=1.0, clock="virtual")
    for protocol, moves in ((timed(), False), (untimed(), True), (virtual, True)):
        with display(protocol, ("it",)) as observer:
            assert observer._live.auto_refresh is moves


def test_ctrl_c_leaves_the_terminal_clean(tmp_path):
    """In a terminal of 80 columns: a curve is drawn, and the cursor is there again at the end."""
    command = [sys.executable, "-m", "omnimeter", "test", "-a", "random", "-c", "cups", "-t", "60"]
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=theirs, stderr=theirs, stdin=theirs, env=environment
    )
    os.close(theirs)
    text, interrupted, deadline = b"", False, time.monotonic() + 60
    try:
        while chunk := _read(ours, deadline):
            text += chunk
            if not interrupted and b"slot" in text and b"level" in text:
                process.send_signal(signal.SIGINT)
                interrupted = True
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"Traceback" not in text
    assert "┼".encode() in text
    assert b"Not all exercises are done" in text
    assert text.rindex(b"\x1b[?25h") > text.rindex(b"\x1b[?25l")


def _read(terminal, deadline):
    """What comes next from a terminal; nothing when it is closed."""
    ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
    assert ready, "it takes too long"
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other end is closed
        return b""


def test_a_display_shows_the_interval_that_holds_at_any_time():
    test = UniversalRewards("cups-v1", exercises=20, interactions=10)
    progress = AgentProgress(AGENT, test, outcomes(test, 1))
    out = Console(file=io.StringIO(), width=100, height=30)
    out.print(render(["A test"], [progress], out))
    low, high = progress.score.parts["watched"]
    assert (low, high) != progress.score.interval[:2]
    assert interval(low, high, 3, signed=True) in out.file.getvalue()


def test_the_bars_of_a_run_do_so_too(capsys):
    test = Sample("cups-v1", exercises=20, interactions=10)
    done = outcomes(test, 1)
    with bars(test) as observer:
        observer.started([AGENT], 20)
        observer.finished(AGENT, done)
    shown = interval(*test.score(done).parts["watched"], 3, signed=True)
    assert f"mean +0.250 (any time {shown})" in capsys.readouterr().err
