"""Who may reach what: login, the guard before every request, and what studies must not name.

On the loopback interface the experimenter's side is open to the users of this machine, as other
local tools are. On any other it needs a login. Participants need nothing but their secret link.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
import secrets
import socket
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from omnimeter.web import STATIC

LARGEST_MESSAGE = 512 * 1024
"""Bytes of a message of a participant's browser: the answers to the longest questionnaire fit."""

LARGEST_BODY = 1024 * 1024
"""Bytes of a request of an experimenter, such as a study with a long battery."""

SLOWEST_BODY = 20.0
"""Seconds within which the body of a request must be there."""

REQUESTS, SECONDS = 3_000, 10.0
"""Requests of one address in so many seconds: a class room is often behind one address."""

AT_ONCE = 500
"""Requests that are answered at once, sockets aside."""

BODIES = 100
"""Requests of one address of which the bodies are awaited at once."""

ATTEMPTS, MINUTE = 10, 60.0
"""Logins that one address may try in so many seconds."""

MOST_ADDRESSES = 10_000
"""Addresses that are remembered for their rates."""

OPEN = ("/p/", "/kiosk", "/static/", "/login")
"""Where no login is needed: what is secret there is the link."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""What pages may load: nothing from elsewhere."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",  # links of participants are secret
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via")
"""Headers of requests that do not come from this machine itself."""


class Rate:
    """How often something may happen in a span of time, for each of many.

    Args:
        count: How often.
        seconds: The span, which begins anew when it is over.
    """

    def __init__(self, count: int, seconds: float) -> None:
        self.count, self.seconds = count, seconds
        self._spans: dict[str, tuple[float, int]] = {}

    def allows(self, key: str) -> bool:
        """Whether it may happen once more now; if so, it counts."""
        now = time.monotonic()
        begun, count = self._spans.get(key, (now, 0))
        if now - begun >= self.seconds:
            begun, count = now, 0
        if count >= self.count:
            return False
        if key not in self._spans and len(self._spans) >= MOST_ADDRESSES:
            known = self._spans.items()
            self._spans = {each: span for each, span in known if now - span[0] < self.seconds}
            if len(self._spans) >= MOST_ADDRESSES:  # all of them are busy: they begin anew
                self._spans.clear()
        self._spans[key] = begun, count + 1
        return True


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def address(host: str, port: int) -> str:
    """The address of a server, as others see it."""
    if host in ("0.0.0.0", "::", ""):
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Access:
    """Access to the experimenter's side.

    Args:
        host: Where the server listens.
        login: Whether a login is needed on loopback too, as behind a proxy.

    Attributes:
        token: What proves at a login who one is; made anew at every start.
        needs_login: Whether a login is needed.
    """

    def __init__(self, host: str, *, login: bool = False) -> None:
        self.host = host
        self.needs_login = login or not is_loopback(host)
        self.token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        self._attempts = Rate(ATTEMPTS, MINUTE)

    def address(self, port: int) -> str:
        """What the experimenter opens; with the token, if one is needed.

        It is in the fragment, which browsers do not send, so that it gets into no log.
        """
        start = address(self.host, port)
        return f"{start}/login#{self.token}" if self.needs_login else f"{start}/"

    def session(self, token: object, client: str) -> str | None:
        """The secret of the cookie for a token, if it is the right one.

        Raises:
            HTTPException: There were too many attempts from this address.
        """
        if not self._attempts.allows(client):
            raise HTTPException(429, "Too many attempts. Wait a minute.")
        given = token.encode() if isinstance(token, str) else b""
        return self._session if secrets.compare_digest(given, self.token.encode()) else None

    @staticmethod
    def cookie(scope: Mapping[str, Any]) -> str:
        """The name of the cookie: servers on other ports of this machine have their own."""
        return f"omnimeter_{(scope.get('server') or ('', 0))[1]}"

    def is_logged_in(self, scope: Mapping[str, Any], headers: Headers) -> bool:
        """Whether a request has the cookie."""
        cookies: SimpleCookie = SimpleCookie()
        with suppress(CookieError):
            cookies.load(headers.get("cookie", ""))
        given = cookies.get(self.cookie(scope))
        value = given.value.encode() if given else b""
        return secrets.compare_digest(value, self._session.encode())

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is not answered, if it is not: its status and what is wrong."""
        path, headers = scope["path"], Headers(scope=scope)
        changes = scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if (changes or scope["type"] == "websocket") and not is_same_origin(headers):
            return 403, "This was asked for by a page of another site."
        if changes and not path.startswith("/p/"):  # whose link no other site knows
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return 415, "Send JSON, as application/json."
        if path.startswith(OPEN):
            return None
        if self.needs_login or any(name in headers for name in FORWARDED):
            if not self.is_logged_in(scope, headers):
                return 401, "Log in first, at the address that `omnimeter serve` printed."
        elif not self._is_own_name(headers.get("host", "")):
            return 421, "This server is for this machine only: open it as 127.0.0.1 or localhost."
        return None

    def _is_own_name(self, host: str) -> bool:
        """Whether a request names this machine, and no name that another site leads here."""
        name = re.sub(r":\d+$", "", host)
        return name.strip("[]") in ("127.0.0.1", "localhost", "::1", self.host.strip("[]"))


def is_same_origin(headers: Headers) -> bool:
    """Whether a request comes from a page of this server, or from no page, as browsers tell."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    own = origin is None or origin.partition("://")[2] == headers.get("host")
    return own and site in (None, "same-origin", "none")


class Guard:
    """Lets a request in only if it may come in, and gives every answer its headers.

    Args:
        app: What answers.
        access: Who may reach what.
    """

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access
        self._rate, self._now = Rate(REQUESTS, SECONDS), 0
        self._awaited = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._access.refusal(scope)
        client = (scope.get("client") or ("", 0))[0]
        if not self._rate.allows(client):
            refusal = 429, "That is too often. Wait some seconds."
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send, refused=refusal is not None)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        content = b""
        if refusal is None:  # bodies that never come take no places of others
            given = await self._body(client, scope, receive)
            refusal, content = (given, b"") if isinstance(given, tuple) else (None, given)
        if refusal is None and self._now >= AT_ONCE:
            refusal = 503, "The server is busy. Try again in some seconds."
        if refusal is not None:
            await _refused(scope, refusal)(scope, receive, answer)
            return
        self._now += 1
        try:
            await self._app(scope, _again(content, receive), answer)
        finally:
            self._now -= 1

    async def _body(self, client: str, scope: Scope, receive: Receive) -> bytes | tuple[int, str]:
        """The body of a request, or why it is refused."""
        if self._awaited[client] >= BODIES:
            return 429, "Too many requests of this address are not at their end."
        limit = LARGEST_MESSAGE if scope["path"].startswith("/p/") else LARGEST_BODY
        self._awaited[client] += 1
        try:
            return await _content(receive, limit, Headers(scope=scope))
        finally:
            self._awaited[client] -= 1
            if not self._awaited[client]:
                del self._awaited[client]

    async def _socket(self, scope: Scope, receive: Receive, send: Send, *, refused: bool) -> None:
        if refused:
            await receive()
            await send({"type": "websocket.close", "code": 1008})  # before it is accepted: a 403
            return

        async def bounded() -> Message:
            message = await receive()
            content = message.get("text") or message.get("bytes") or ""
            if len(content) > LARGEST_MESSAGE:
                await send({"type": "websocket.close", "code": 1009})
                return {"type": "websocket.disconnect", "code": 1009}
            return message

        await self._app(scope, bounded, send)


def _refused(scope: Scope, refusal: tuple[int, str]) -> Response:
    """The answer to a request that is not let in."""
    status, why = refusal
    page = "text/html" in Headers(scope=scope).get("accept", "")
    if status == 401 and page and scope["method"] == "GET":
        return Response(status_code=303, headers={"Location": "/login"})
    return JSONResponse({"detail": why}, status, {"Connection": "close"})


async def _content(receive: Receive, limit: int, headers: Headers) -> bytes | tuple[int, str]:
    """The body of a request, also of one that does not say how long it is; or why it is refused."""
    too_large = 413, f"That is more than {limit // 1024} kB."
    told = headers.get("content-length", "")
    if told.isdecimal() and int(told) > limit:
        return too_large
    content, more = bytearray(), True
    try:
        async with asyncio.timeout(SLOWEST_BODY):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    break
                content += message.get("body", b"")
                more = message.get("more_body", False)
                if len(content) > limit:
                    return too_large
    except TimeoutError:
        return 408, "The request did not come to its end."
    return bytes(content)


def _again(content: bytes, receive: Receive) -> Receive:
    """Receive a body that was read, and then what follows it."""
    given = False

    async def read() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": content, "more_body": False}

    return read


def add_security(app: FastAPI, host: str, *, login: bool = False) -> Access:
    """Guard an application, and give it its login.

    Args:
        app: The application.
        host: Where it listens.
        login: Whether a login is needed on loopback too.

    Returns:
        The access to its experimenter's side, which is ``app.state.access`` too.
    """
    access = app.state.access = Access(host, login=login)
    app.add_middleware(Guard, access=access)

    @app.exception_handler(Exception)
    async def fail(request: Request, error: Exception) -> Response:  # noqa: ARG001
        # It is answered outside of the guard; what went wrong is in the server's log.
        return JSONResponse({"detail": "The server made a mistake."}, 500, HEADERS)

    @app.get("/login", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(STATIC / "login.html", media_type="text/html")

    @app.post("/login")
    async def enter(request: Request) -> Response:
        client = request.client.host if request.client else ""
        session = access.session((await json_of(request)).get("token"), client)
        if session is None:
            raise HTTPException(403, "That is not the token of this server.")
        answer = JSONResponse({"entered": True})
        secure = request.url.scheme == "https"
        name = access.cookie(request.scope)
        answer.set_cookie(name, session, httponly=True, samesite="strict", secure=secure)
        return answer

    return access


async def json_of(request: Request) -> dict[str, Any]:
    """The JSON object in a request.

    Raises:
        HTTPException: There is none.
    """
    try:
        data = json.loads(await request.body())
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise HTTPException(400, "Send a JSON object.")
    return data


_NAMES_CODE = re.compile(
    r"[:/\\]|\.(py|json|so|dll|csv|toml)\b|\b(file|journal)\s*=", re.IGNORECASE
)


DATA = ("file", "files", "journal", "run")
"""Parameters that name files, databases or commands of the server, which pages do not choose."""


def refused_names(data: object) -> list[str]:
    """What of a test or a part names a file, a module, a command or an address, or may do so.

    What a page makes is of parts that are installed, and of nothing else.
    """
    if isinstance(data, Mapping):
        own = [f"{name}=" for name in data if name in DATA or _NAMES_CODE.search(str(name))]
        return own + [each for value in data.values() for each in refused_names(value)]
    if isinstance(data, list | tuple):
        return [each for value in data for each in refused_names(value)]
    return [data[:100]] if isinstance(data, str) and _NAMES_CODE.search(data) else []
