"""An experimenter and participants, for tests of the pages."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from omnimeter.web.server import application

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # which client it would rather use
    from starlette.testclient import TestClient

OWN = {"host": "127.0.0.1"}
"""The test client's sockets name another host otherwise."""

BATTERY = {
    "title": "two",
    "exercises": [
        {"environment_class": "lambda-v1(cells=3)", "interactions": 3},
        {"environment_class": "cups-v1", "interactions": 2},
    ],
}


def client_of(root: Path, host: str = "127.0.0.1", **options: Any) -> TestClient:
    """A client of the application that serves a folder, at an address of this machine."""
    app = application(root, host, **options)
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def play(socket: Any, until: int = 1_000, answers: dict[str, Any] | None = None) -> dict[str, Any]:
    """Take part by the protocol of the pages, up to a number of actions; the last state."""
    actions = 0
    while True:
        state = socket.receive_json()
        match state["stage"], state.get("phase"):
            case "consent", _:
                socket.send_json({"type": "consent", "given": True})
            case "instructions", _:
                socket.send_json({"type": "instructed"})
            case "test", "ready":
                socket.send_json({"type": "ready", "seq": state["seq"]})
            case "test", "asked" if actions == until:
                return state
            case "test", "asked":
                times = {"reaction": 5, "shown": 7}
                socket.send_json({"type": "act", "seq": state["seq"], "action": 0, **times})
                actions += 1
            case "questionnaire", _:
                socket.send_json({"type": "answers", "answers": answers or {}})
            case "thanks", _:
                return state


@contextmanager
def serving(root: Path, **options: Any) -> Iterator[str]:
    """A server of a folder on a free port of this machine; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = application(root, **options)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.started
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def changes_until(socket: Any, such: Any, most: int = 20) -> dict[str, Any]:
    """What a page is shown, brought up to date until something holds of it."""
    shown: dict[str, Any] = {}
    for _ in range(most):
        told = socket.receive_json()
        shown |= told["changed"]
        for name in told["gone"]:
            shown.pop(name, None)
        if such(shown):
            return shown
    raise AssertionError(f"it never came: {shown}")
