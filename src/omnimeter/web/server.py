"""The server: pages, and the sockets of participants' browsers.

It serves a folder of studies and results. Participants reach nothing but their own session, by a
link that cannot be guessed; everything else is the experimenter's.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles

from omnimeter.contract import OmnimeterError
from omnimeter.web import STATIC
from omnimeter.web.attendance import Attendances, BadMessageError
from omnimeter.web.experimenter import add_experimenter
from omnimeter.web.live import add_live
from omnimeter.web.research import add_research
from omnimeter.web.security import Rate, add_security
from omnimeter.web.studies import Design, Question

MESSAGES, SECONDS = 300, 10.0  # as fast as keys are repeated, and more
"""A browser may send so many messages in so many seconds."""

BROWSERS = 4
"""Browsers of a participant that may be connected at once."""

CONNECTIONS = 2_000
"""Sockets of all participants that may be open at once."""

SILENT = 35.0
"""Seconds without a message after which a browser counts as gone; pages send one every ten."""

NOT_FOUND, GONE, EXPIRED, TOO_MANY, TROUBLE = 4404, 4408, 4410, 4429, 4500
"""Why a socket is closed: the link is of no participant, nothing came for too long, the link is too
old, it is used too much, or what is stored cannot be used."""

LEFT = (1000, 1001, 1005)
"""How browsers close a socket themselves."""


def languages() -> dict[str, dict[str, str]]:
    """The texts of the pages by language: every file of the folder ``locales`` is one."""
    folder = STATIC / "locales"
    return {
        file.stem: json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.glob("*.json"))
    }


def texts_of(design: Design) -> dict[str, Any]:
    """What the pages of a study's participants say."""
    known = languages()
    texts = {**known["en"], **known.get(design.language, {})}

    def asked(question: Question) -> dict[str, Any]:
        data = question.to_json()
        data["text"] = question.text or texts.get(f"question-{question.name}", question.name)
        return {"kind": question.kind, "steps": question.steps, **data}

    return {
        "language": design.language if design.language in known else "en",
        "title": design.title,
        "timed": design.is_timed,
        "texts": texts,
        "instructions": design.instructions,
        "consent": design.consent,
        "questions": [asked(each) for each in design.questions],
    }


def application(root: Path, host: str = "127.0.0.1", *, login: bool = False) -> FastAPI:
    """The application that serves the studies in a folder.

    What the experimenter opens is ``app.state.access.address(port)``.

    Args:
        root: A folder of studies and results, or that of one study.
        host: Where it listens; anywhere but on loopback the experimenter's side needs a login.
        login: Whether it needs one on loopback too, as behind a proxy.

    Raises:
        StoreError: A study is damaged.
    """
    there = Attendances(root)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(there.watch())
        try:
            yield
        finally:
            watching.cancel()
            app.state.research.close()
            await there.close()

    app = FastAPI(title="Omnimeter", lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.there, app.state.root, app.state.host = there, root, host
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    add_security(app, host, login=login)
    add_errors(app)
    add_participants(app, there)
    add_experimenter(app, there, root)
    add_live(app, root)
    add_research(app)
    return app


def add_errors(app: FastAPI) -> None:
    """Errors that a user can fix are told as JSON."""

    @app.exception_handler(OmnimeterError)
    async def tell(request: Request, error: Exception) -> Response:  # noqa: ARG001
        return JSONResponse({"detail": str(error)}, 400)


def page(name: str) -> FileResponse:
    """One of the pages that come with the package."""
    return FileResponse(STATIC / f"{name}.html", media_type="text/html")


def add_participants(app: FastAPI, there: Attendances) -> None:
    """The page of a participant and its socket."""
    rate = Rate(MESSAGES, SECONDS)

    @app.get("/p/{token}")
    async def participant(token: str) -> Response:
        known = there.find(token)
        answer = page("participant" if known else "unknown")
        answer.status_code = 200 if known else 404
        return answer

    @app.get("/p/{token}/texts")
    async def texts(token: str) -> dict[str, Any]:
        known = there.find(token)
        if known is None:
            raise HTTPException(404, "This link is not of any participant.")
        return texts_of(known[0].design)

    @app.post("/p/{token}/withdraw")
    async def withdraw(token: str) -> dict[str, bool]:
        if not await there.withdraw(token):
            raise HTTPException(404, "This link is not of any participant.")
        return {"withdrawn": True}

    @app.websocket("/p/{token}/ws")
    async def connect(socket: WebSocket, token: str) -> None:
        known = there.find(token)
        await socket.accept()
        if known is None:
            await socket.close(NOT_FOUND)
            return
        if known[1].is_expired:
            await socket.close(EXPIRED)
            return
        try:
            attendance = await there.of(token)
        except OmnimeterError as error:  # `omnimeter study status` tells more
            logging.getLogger(__name__).error("%s cannot take part: %s", known[1].name, error)
            await socket.close(TROUBLE)
            return
        everyone = sum(each.browsers for each in there.now().values())
        if attendance is None or attendance.browsers >= BROWSERS or everyone >= CONNECTIONS:
            await socket.close(TOO_MANY)
            return

        async def send(message: Mapping[str, Any]) -> None:
            with suppress(RuntimeError, WebSocketDisconnect):  # it is gone: the receiver is told
                await socket.send_json(message)

        why = "left"
        try:
            await attendance.join(send)
            why = await _listen(socket, attendance.receive, send, lambda: rate.allows(token))
        except OmnimeterError as error:
            logging.getLogger(__name__).error("%s cannot take part: %s", known[1].name, error)
            await socket.close(TROUBLE)
        finally:
            await asyncio.shield(attendance.leave(send, why))  # written down also at the end


async def _listen(
    socket: WebSocket,
    receive: Callable[[Any, Mapping[str, Any]], Awaitable[None]],
    send: Callable[[Mapping[str, Any]], Awaitable[None]],
    is_allowed: Callable[[], bool],
) -> str:
    """Pass on what a browser sends, until it leaves, is lost or sends too much; which of these."""
    while True:
        try:
            async with asyncio.timeout(SILENT):
                content = await socket.receive_text()
        except TimeoutError:
            await socket.close(GONE)
            return "lost"
        except WebSocketDisconnect as end:
            return "left" if end.code in LEFT else "lost"
        except (KeyError, RuntimeError):  # KeyError: bytes instead of text
            return "left"
        if not is_allowed():
            await socket.close(TOO_MANY)
            return "left"
        try:
            message = json.loads(content)
            if not isinstance(message, dict):
                raise BadMessageError("a message is an object")
            await receive(send, message)
        except (ValueError, RecursionError) as error:
            await send({"type": "refused", "why": str(error)[:200]})
