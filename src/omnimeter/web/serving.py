"""Serving: an application on a socket of this machine, in this thread or beside it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from omnimeter.contract import InvalidInputError
from omnimeter.contract.errors import StoreError
from omnimeter.web.security import LARGEST_MESSAGE
from omnimeter.web.server import CONNECTIONS, application

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


def server(app: FastAPI) -> uvicorn.Server:
    """What serves an application: nothing of visitors is written down, and all is bounded."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anyone could write them
        ws_max_size=LARGEST_MESSAGE,
        ws_max_queue=16,
        ws_per_message_deflate=False,  # costs more than it saves
        timeout_keep_alive=30,
        timeout_graceful_shutdown=ENDING,
        limit_concurrency=2 * CONNECTIONS,
        lifespan="on",
    )
    return uvicorn.Server(config)


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
