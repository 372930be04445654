"""Serving: an application on a socket of this machine, in this thread or beside it."""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen

import uvicorn
from fastapi import FastAPI

from omnimeter.catalogue import Kind, make
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.interaction.kernels import seed_for
from omnimeter.web.security import LARGEST_MESSAGE
from omnimeter.web.server import CONNECTIONS, application
from omnimeter.web.studies import studies_in

PORT = 8000
"""The port that is tried first."""

TRIED = 100
"""Ports that are tried one after the other."""

ENDING = 10
"""Seconds within which requests are answered when the server ends."""


def listening(host: str, port: int | None = None) -> socket.socket:
    """A socket that listens at a port; at the first free one from ``PORT`` on, if none is given.

    Raises:
        InvalidInputError: There is no such address on this machine.
        StoreError: The port is taken, or may not be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        message = f"There is no address {host!r} on this machine."
        raise InvalidInputError(message, "Give 127.0.0.1, or 0.0.0.0 for all.") from error
    ports = range(PORT, PORT + TRIED) if port is None else [port]
    for each in ports:
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind((address[0], each))
            opened.listen(2048)
        except OSError as error:
            opened.close()
            if each == ports[-1]:
                message = f"{host}:{each} cannot be used: {error.strerror}."
                raise StoreError(message, "Give another --port.") from error
        else:
            return opened
    raise AssertionError("there is a last port")


def check_proxy(proxy: str) -> None:
    """Check that the address of a proxy is one, and not that of everyone.

    Raises:
        InvalidInputError: It is none.
    """
    try:
        ipaddress.ip_address(proxy)
    except ValueError as error:
        message = f"{proxy!r} is not the address of a proxy."
        raise InvalidInputError(message, "Give its number, such as 127.0.0.1.") from error


def server(app: FastAPI, proxy: str | None = None) -> uvicorn.Server:
    """What serves an application: nothing of visitors is written down, and all is bounded.

    Args:
        app: The application.
        proxy: The address of the proxy before it, which says where requests come from.
    """
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,  # anyone could write them
        forwarded_allow_ips=proxy,
        ws_max_size=LARGEST_MESSAGE,
        ws_max_queue=4,
        ws_per_message_deflate=False,  # costs more than it saves
        timeout_keep_alive=30,
        timeout_graceful_shutdown=ENDING,
        limit_concurrency=2 * CONNECTIONS,
        lifespan="on",
    )
    return uvicorn.Server(config)


@contextmanager
def preparing(root: Path) -> Iterator[None]:
    """Compile what the studies of a folder need, in a process of its own: no participant waits."""
    command = "import sys; from omnimeter.web.serving import prepare; prepare(sys.argv[1])"
    process = Popen([sys.executable, "-P", "-c", command, str(root)], stdin=DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def prepare(root: str) -> None:
    """Take one step in an environment of each class of the studies of a folder."""
    for study in studies_in(Path(root))[0].values():
        evaluation = study.design.evaluation(Spec("random-v1"), study.seed, 0)
        proposed = evaluation.make_protocol().propose(evaluation.agents[0], [])
        for exercise in {each.environment_class: each for each in proposed}.values():
            with suppress(OmnimeterError):  # its participants are told
                environment = make(Kind.ENVIRONMENT, exercise.environment_class).build(
                    exercise.instance
                )
                environment.start(seed_for(environment, exercise.stream("environment").seed))
                environment.step(0)


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a folder of studies on loopback in another thread; yields the address.

    Raises:
        StoreError: A study is damaged.
    """
    opened = listening("127.0.0.1", 0)
    running = server(application(root))
    thread = threading.Thread(target=running.run, args=([opened],), daemon=True)
    thread.start()
    try:
        while not running.started and thread.is_alive():
            time.sleep(0.01)
        yield "http://{}:{}".format(*opened.getsockname()[:2])
    finally:
        running.should_exit = True
        thread.join()
