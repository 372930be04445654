"""The experimenter's side: studies are made, people invited, and their sessions seen arriving."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import secrets
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response, WebSocket
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from pydantic import ValidationError

from omnimeter.catalogue import Kind, listing, without_consent
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec, UnknownNameError
from omnimeter.contract.errors import StoreError
from omnimeter.contract.text import no_formula
from omnimeter.execution import check
from omnimeter.protocols.battery import battery_names, find_battery
from omnimeter.results import files
from omnimeter.web import STATIC
from omnimeter.web.attendance import Attendance, Attendances
from omnimeter.web.live import push_changes
from omnimeter.web.records import (
    Attended,
    Damaged,
    answer_columns,
    answers,
    attended,
    happened,
    named,
)
from omnimeter.web.security import Rate, json_of, refused_names
from omnimeter.web.studies import MOST_PARTICIPANTS, STANDARD, Design, Participant, Study

OF_A_TEST = {
    "class", "time", "interactions", "length", "repetitions", "slot", "start_complexity", "payoff",
    "unbalanced", "definition", "exercises", "clock", "tick",
}  # fmt: skip
"""What a page may say of an anytime test."""

MOST_AT_ONCE = 1_000
"""Participants that one request may invite."""

KIOSK, MINUTE = 20, 60.0
"""Participants that a kiosk may invite in so many seconds."""

LINKS = "participant", "link", "expires"
EVENTS = "participant", "time", "event", "data"
"""The columns of tables that can be downloaded."""


class FormError(Exception):
    """What is wrong with a study that a form describes.

    Args:
        errors: What is wrong, by the path of the field: ``questionnaire.0.name``; empty for all.
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = dict(errors)


def checked(data: Mapping[str, Any]) -> Design:
    """The design that a form describes, of installed parts only.

    Raises:
        FormError: Something is wrong, or names code, files or addresses.
    """
    battery, test = data.get("battery"), data.get("test")
    if isinstance(battery, str) and battery not in battery_names():
        raise FormError({"battery": f"There is no battery {battery[:100]!r}."})
    if isinstance(test, Mapping) and (unknown := sorted(test.keys() - OF_A_TEST)):
        raise FormError({f"test.{unknown[0]}"[:100]: "A page cannot set this."})
    own = {k: v for k, v in battery.items() if k != "title"} if isinstance(battery, dict) else {}
    for field, part in (("battery", own), ("test", test)):
        if refused := refused_names(part):
            message = f"{refused[0]!r} may name a file, a module or an address. A study that is "
            raise FormError({field: message + "made here is of installed parts only."})
    try:
        try:
            design = Design.from_json(json.dumps(data), "The study", "Correct the form.")
        except InvalidInputError as error:
            if isinstance(cause := error.__cause__, ValidationError):
                raise FormError(dict(map(_told, cause.errors()))) from error
            raise
        with without_consent("The study", {}):
            check(design.evaluation(Spec("random-v1"), 0, 0))
    except OmnimeterError as error:
        raise FormError({_field(data): str(error)}) from error
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise FormError({_field(data): f"This cannot be used: {error}"[:300]}) from error
    try:
        check_language(design)
    except UnknownNameError as error:
        raise FormError({"language": str(error)}) from error
    return design


def check_language(design: Design) -> None:
    """Make sure that the pages have the language of a study.

    Raises:
        UnknownNameError: They do not.
    """
    from omnimeter.web.server import languages

    if design.language not in (known := languages()):
        raise UnknownNameError("language", design.language, known)


_PATTERNS = {
    "title": "Write a title.",
    "name": "Use small letters, digits, - and _, and begin with a letter.",
    "language": "Write the code of a language, such as en or es.",
}
"""What fields must be that have a pattern."""


def _told(error: Any) -> tuple[str, str]:
    """Where a field is wrong, and how."""
    place, message = ".".join(map(str, error["loc"])), str(error["msg"])
    if error["type"] == "string_pattern_mismatch":
        message = _PATTERNS.get(str(error["loc"][-1]), message)
    return place, message


def _field(data: Mapping[str, Any]) -> str:
    """Where an error of the whole is told: at what the exercises are made of."""
    names = [each.get("name") for each in data.get("questionnaire") or () if isinstance(each, dict)]
    if len(set(map(str, names))) < len(names):
        return "questionnaire"
    return "test" if data.get("test") is not None else "battery"


class Studies:
    """The studies of a folder, for their experimenter.

    Args:
        there: The participants who are there, with the studies.
        root: The folder.
    """

    def __init__(self, there: Attendances, root: Path) -> None:
        self.there, self.root = there, root
        self._rows: dict[Path, tuple[object, dict[str, Any]]] = {}
        self._changing = asyncio.Lock()

    def study(self, name: str) -> Study:
        """The study of a name.

        Raises:
            HTTPException: There is none.
        """
        if name not in self.there.studies:
            raise HTTPException(404, "There is no such study.")
        return self.there.studies[name]

    def participant(self, name: str, participant: str) -> tuple[Study, Participant]:
        """A study and one of its participants, by their names.

        Raises:
            HTTPException: There is no such study or participant.
        """
        study = self.study(name)
        try:
            return study, named(study, participant)
        except UnknownNameError as error:
            raise HTTPException(404, str(error)) from error

    async def create(self, data: Mapping[str, Any]) -> str:
        """Make a study.

        Returns:
            Its name.

        Raises:
            FormError: Something is wrong with it.
            StoreError: It cannot be stored.
        """
        design = await asyncio.to_thread(checked, data)
        if (self.root / "study.json").exists():
            message = f"{self.root} is one study, which holds no others."
            raise StoreError(message, "Serve the folder that it is in.")
        async with self._changing:
            plain = unicodedata.normalize("NFKD", design.title).encode("ascii", "ignore").decode()
            slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40] or "study"
            names = [slug, *(f"{slug}-{number}" for number in range(2, 1_000))]
            name = next(each for each in names if not (self.root / each).exists())
            study = await asyncio.to_thread(Study.create, self.root / name, design)
            self.there.studies[name] = study
        return name

    async def invite(self, study: Study, count: int, days: float) -> list[Participant]:
        """Invite participants, one request after the other."""
        async with self._changing:
            return await asyncio.to_thread(study.invite, count, days)

    def summaries(self) -> dict[str, dict[str, Any]]:
        """What the list of studies shows of each."""
        self.there.look()
        known: dict[str, dict[str, Any]] = {}
        for name, study in list(self.there.studies.items()):
            try:
                rows = list(self.table(study).values())
            except OmnimeterError as error:
                known[name] = {"title": study.design.title, "damaged": str(error)}
                continue
            known[name] = {
                "title": study.design.title,
                "invited": len(rows),
                "begun": sum(each["stage"] != "invited" for each in rows),
                "over": sum(each["stage"] == "thanks" for each in rows),
                "here": sum(each["browsers"] > 0 for each in rows),
            }
        return known | {
            name: {"title": name, "damaged": why} for name, why in self.there.damaged.items()
        }

    def table(self, study: Study) -> dict[str, dict[str, Any]]:
        """How far each participant of a study is, by their names."""
        now = dict(self.there.now())
        rows = {each.name: self._row(study, each, now) for each in study.participants}
        for folder, error in study.damaged.items():
            row = {**asdict(Attended("damaged")), "damaged": str(error), "browsers": 0}
            rows[folder.name] = {**row, "number": MOST_PARTICIPANTS}  # after the others
        return rows

    def _row(self, study: Study, one: Participant, now: Mapping[str, Attendance]) -> dict[str, Any]:
        if (attendance := now.get(one.token)) is None:
            row = {**self._stored(study, one), "browsers": 0}
        else:
            row = asdict(Attended.of(study.design, attendance.events))
            row["browsers"], row["trouble"] = attendance.browsers, attendance.trouble
            row["seen"] = max(row["seen"] or 0.0, attendance.seen) or None
            if row["stage"] == "test" and attendance.place is not None:
                row["exercise"], row["step"] = attendance.place
        if one.is_expired and row["stage"] != "thanks":
            row["expired"] = "revoked" if one.is_revoked else "too old"
        return {**row, "number": one.number}

    def _stored(self, study: Study, one: Participant) -> dict[str, Any]:
        """How far a participant is who is not there; looked at again when the log has changed."""
        file = study.folder(one) / "events.log"
        state: object = None
        if file.exists():
            status = file.stat()
            state = status.st_mtime_ns, status.st_size
        known = self._rows.get(file)
        if known is None or known[0] != state:
            try:
                row = asdict(attended(study, one))
            except OmnimeterError as error:
                row = {**asdict(Attended("damaged")), "damaged": str(error)}
            self._rows[file] = known = state, row
        return known[1]


def _csv(study: Study, what: str, start: str) -> Response:
    """The download of a table; no cell is a formula for spreadsheets.

    Participants with a damaged log are left out: the name of the file says that it is incomplete,
    and the table of participants which they are.

    Args:
        study: The study.
        what: Which table.
        start: How the address of the server begins.

    Raises:
        HTTPException: There is no such table.
    """
    columns: Iterable[str]
    rows: Iterator[Mapping[str, object]]
    damaged: Damaged = {}
    if what == "links":
        columns, rows = LINKS, _links(study, start)
    elif what == "events":
        columns, rows = EVENTS, happened(study, damaged)
    elif what == "answers":
        columns, rows = answer_columns(study), answers(study, damaged)
    else:
        raise HTTPException(404, "There is no such table.")
    file = io.StringIO()
    writer = csv.DictWriter(file, list(columns))
    writer.writeheader()
    writer.writerows({column: no_formula(cell) for column, cell in row.items()} for row in rows)
    name = f"{study.path.name}-{what}{'-incomplete' * bool(damaged)}.csv"
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(file.getvalue(), media_type="text/csv; charset=utf-8", headers=disposition)


def _links(study: Study, start: str) -> Iterator[dict[str, str]]:
    """The links of a study's participants, at a server whose address begins so."""
    for one in study.participants:
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(max(0.0, one.expires)))
        expires = "revoked" if one.is_revoked else until if one.expires else ""
        yield {"participant": one.name, "link": f"{start}p/{one.token}", "expires": expires}


def kiosk_of(study: Study) -> str | None:
    """The secret of the address of a study's kiosk, if it is open.

    Raises:
        StoreError: It cannot be read.
    """
    file = study.path / "kiosk.json"
    try:
        return str(json.loads(file.read_bytes())["token"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{file} cannot be read.", "Remove it, and open the kiosk anew."
        ) from error


def set_kiosk(study: Study, *, is_open: bool) -> str | None:
    """Open the kiosk of a study, at an address that cannot be guessed, or close it for good.

    Raises:
        StoreError: That cannot be stored.
    """
    file = study.path / "kiosk.json"
    if not is_open:
        with files.write_errors(file):
            file.unlink(missing_ok=True)
        return None
    if (token := kiosk_of(study)) is None:
        token = secrets.token_urlsafe(18)
        files.write(file, (json.dumps({"token": token}) + "\n").encode(), mode=0o600)
    return token


def add_experimenter(app: FastAPI, there: Attendances, root: Path) -> None:
    """The experimenter's page, what it asks for, and kiosks.

    Args:
        app: The application.
        there: The participants who are there.
        root: The folder of the studies.
    """
    studies = Studies(there, root)

    @app.get("/", include_in_schema=False)
    async def home() -> Response:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    @app.exception_handler(FormError)
    async def tell(request: Request, error: Exception) -> Response:  # noqa: ARG001
        assert isinstance(error, FormError)  # what it is registered for
        return JSONResponse({"detail": str(error), "errors": error.errors}, 422)

    @app.get("/api/form")
    async def form() -> dict[str, Any]:
        """What a new study can be made of."""
        from omnimeter.web.server import languages

        return {
            "batteries": {each: len(find_battery(each).exercises) for each in battery_names()},
            "classes": [each.id for each in listing(Kind.ENVIRONMENT)],
            "languages": [*languages()],
            "questions": [each.name for each in STANDARD],
        }

    @app.post("/api/studies")
    async def create(request: Request) -> dict[str, str]:
        return {"name": await studies.create(await json_of(request))}

    @app.get("/api/studies/{name}")
    async def show(name: str) -> dict[str, Any]:
        study = studies.study(name)
        plain = json.loads(json.dumps(study.design.to_json()))
        kiosk = await asyncio.to_thread(kiosk_of, study)
        return {"design": plain, "path": str(study.path), "kiosk": kiosk and f"/kiosk/{kiosk}"}

    @app.post("/api/studies/{name}/invite")
    async def invite(name: str, request: Request) -> dict[str, Any]:
        data = await json_of(request)
        count, days = data.get("count", 1), data.get("days", 0)
        if type(count) is not int or not 1 <= count <= MOST_AT_ONCE:
            raise FormError({"count": f"Give a whole number from 1 to {MOST_AT_ONCE}."})
        if type(days) not in (int, float) or not 0 <= days <= 3_650:
            raise FormError({"days": "Give a number of days from 0 to 3650."})
        new = await studies.invite(studies.study(name), count, float(days))
        return {"links": [{"name": one.name, "path": f"/p/{one.token}"} for one in new]}

    @app.get("/api/studies/{name}/links")
    async def links(name: str) -> dict[str, str]:
        return {one.name: f"/p/{one.token}" for one in studies.study(name).participants}

    @app.get("/api/studies/{name}/{what}.csv")
    async def download(name: str, what: str, request: Request) -> Response:
        study, start = studies.study(name), str(request.base_url)
        return await asyncio.to_thread(_csv, study, what, start)

    @app.post("/api/studies/{name}/participants/{participant}/revoke")
    async def revoke(name: str, participant: str) -> dict[str, bool]:
        _, one = studies.participant(name, participant)
        await there.revoke(one.token)
        return {"revoked": True}

    @app.post("/api/studies/{name}/participants/{participant}/withdraw")
    async def withdraw(name: str, participant: str) -> dict[str, bool]:
        _, one = studies.participant(name, participant)
        await there.withdraw(one.token)
        return {"withdrawn": True}

    @app.post("/api/studies/{name}/kiosk")
    async def kiosk(name: str, request: Request) -> dict[str, str | None]:
        is_open = (await json_of(request)).get("open") is True
        token = await asyncio.to_thread(set_kiosk, studies.study(name), is_open=is_open)
        return {"kiosk": token and f"/kiosk/{token}"}

    @app.websocket("/api/studies/ws")
    async def watch(socket: WebSocket) -> None:
        await push_changes(socket, studies.summaries)

    @app.websocket("/api/studies/{name}/ws")
    async def arrive(socket: WebSocket, name: str) -> None:
        study = there.studies.get(name)
        await push_changes(socket, None if study is None else lambda: studies.table(study))

    add_kiosk(app, studies)


def add_kiosk(app: FastAPI, studies: Studies) -> None:
    """Kiosks: a device on which one participant after the other takes part.

    A participant's page that was opened with ``?kiosk=1`` leads back to ``/kiosk`` at the end; a
    cookie knows whose kiosk that is.
    """
    rate = Rate(KIOSK, MINUTE)

    async def find(token: str) -> Study | None:
        for study in list(studies.there.studies.values()):
            try:
                known = await asyncio.to_thread(kiosk_of, study)
            except StoreError:  # its page tells why; other kiosks are open
                continue
            if known and secrets.compare_digest(known.encode(), token.encode()):
                return study
        return None

    async def study_of(token: str) -> Study:
        if (study := await find(token)) is None:
            raise HTTPException(404, "This kiosk is closed.")
        return study

    def page(status: int = 200) -> FileResponse:
        return FileResponse(STATIC / "kiosk.html", status, media_type="text/html")

    @app.get("/kiosk", include_in_schema=False)
    async def again(request: Request) -> Response:
        token = request.cookies.get("kiosk", "")
        if not re.fullmatch(r"[\w-]{1,100}", token):
            return page(404)  # which says that it is closed
        return RedirectResponse(f"/kiosk/{token}", 303)

    @app.get("/kiosk/{token}", include_in_schema=False)
    async def welcome(token: str) -> Response:
        if await find(token) is None:
            return page(404)
        answer = page()
        answer.set_cookie("kiosk", token, httponly=True, samesite="strict", path="/kiosk")
        return answer

    @app.get("/kiosk/{token}/texts")
    async def texts(token: str) -> dict[str, str]:
        design = (await study_of(token)).design
        return {"title": design.title, "language": design.language}

    @app.post("/kiosk/{token}/next")
    async def following(token: str) -> dict[str, str]:
        study = await study_of(token)
        if not rate.allows(token):
            raise HTTPException(429, "There were many participants. Wait a minute.")
        one = (await studies.invite(study, 1, 0.0))[0]
        return {"path": f"/p/{one.token}?kiosk=1"}
