"""Studies and clients for the tests of the web application."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

from omnimeter import results
from omnimeter.api.result import opened
from omnimeter.contract import Spec, Trace
from omnimeter.execution import Options, evaluate
from omnimeter.web.session import ParticipantDesk, Phase, Session, View
from omnimeter.web.studies import Design, Participant, Study

with warnings.catch_warnings():  # it is going to use another library for requests
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", UserWarning)
    from starlette.testclient import TestClient

__all__ = ["TestClient"]

BATTERY = {
    "title": "two",
    "exercises": [
        {"environment_class": "lambda-v1(cells=3)", "interactions": 6},
        {"environment_class": "cups-v1", "interactions": 5},
    ],
}
LENGTHS = (6, 5)
TOTAL = sum(LENGTHS)


def design(**given: Any) -> Design:
    return Design(**{"title": "Test", "battery": BATTERY, **given})


def study_in(path: Path, participants: int = 1, **given: Any) -> tuple[Study, list[Participant]]:
    study = Study.create(path, design(**given))
    return study, study.invite(participants)


class Views:
    """What a desk shows, one view after the other, for a test in another thread."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self._queue = queue.Queue[View]()

    def changed(self, view: View) -> None:
        self._queue.put(view)

    def record(self, told: Any) -> None:
        self.told.append(dict(told))

    def wait(self, *phases: Phase) -> View:
        while (view := self._queue.get(timeout=60)).phase not in phases:
            pass
        return view


def session_of(study: Study, participant: Participant) -> tuple[Session, Views]:
    views = Views()
    where = study.folder(participant) / "evaluation"
    evaluation = study.evaluation(participant)
    session = Session(participant.name, evaluation, where, views.changed, views.record)
    return session, views


def answer(desk: ParticipantDesk, view: View, action: int) -> bool:
    if view.phase is Phase.READY:
        return desk.answer(view.seq, None)
    return desk.answer(view.seq, action % view.actions, {"reaction": 5})


def traces_of(study: Study, participant: Participant) -> list[Trace]:
    """The traces of a test that is over, in the order of its exercises."""
    record = results.Record(study.folder(participant) / "evaluation")
    traces = dict(record.traces())
    numbers = {each.exercise.key: each.exercise.number for each in record.outcomes()}
    return [traces[key] for key in sorted(traces, key=lambda key: numbers[key])]


def scripted_traces(
    study: Study, participant: Participant, actions: list[int], directory: Path
) -> list[Trace]:
    """The same test taken by the agent that does these actions whatever it is shown."""
    agent = Spec("scripted-v1", {"actions": actions})
    evaluation = study.design.evaluation(agent, study.seed, participant.number)
    with opened(evaluation, directory) as writer:
        assert evaluate(evaluation, writer, Options()).complete
    record = results.Record(directory)
    numbers = {each.exercise.key: each.exercise.number for each in record.outcomes()}
    traces = dict(record.traces())
    return [traces[key] for key in sorted(traces, key=lambda key: numbers[key])]


def is_same(one: Trace, other: Trace) -> bool:
    """Whether the same happened; measured times aside."""
    names = ("rewards", "actions", "observations", "times")
    return one.first_reward == other.first_reward and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start_server(root: Path, port: int) -> subprocess.Popen[str]:
    """`omnimeter serve` in a process of its own, which answers."""
    command = [sys.executable, "-m", "omnimeter", "serve", str(root), "--port", str(port)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ.copy()
    )
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process.poll() is None, process.stdout and process.stdout.read()
        try:
            urlopen(f"http://127.0.0.1:{port}/static/locales/en.json").close()
        except (URLError, OSError):
            time.sleep(0.05)
        else:
            return process
    raise AssertionError("the server does not answer")


@contextmanager
def server_process(root: Path) -> Iterator[str]:
    port = free_port()
    process = start_server(root, port)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
