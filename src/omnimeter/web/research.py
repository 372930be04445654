"""Research mode: the page on which the experimenter edits, steps and watches any environment.

It tells what participants have to find out, and so it is not for them.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe
from subprocess import DEVNULL, Popen
from threading import Lock
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field

from omnimeter.catalogue import Kind
from omnimeter.contract import Exercise, InvalidInputError, OmnimeterError
from omnimeter.environments.lambda_class import space
from omnimeter.environments.lambda_class.patterns import parse_pattern
from omnimeter.protocols.battery import Item, Plan
from omnimeter.web.experiments import Course, Drawing, Place, Steps, offered

PAGES, IDLE_SECONDS = 32, 3600.0
"""Pages that are kept at once, and how long one that is not used."""

PROCESSES = 4
"""Pages that have a process at once; others get theirs again when they are used."""

PATIENCE_SECONDS = 60.0
"""A request that takes longer is ended, and the experiment is as it was before. The first ones may
compile kernels."""

DRAWN_CELLS = 60
"""A space of more cells is edited as a text; as a graph nothing could be seen."""

ITEMS = 100
"""Exercises of a battery."""


class SpaceEdit(BaseModel):
    """A space of Lambda, and what is changed in it.

    Attributes:
        cell, action, target: This action of this cell is to lead there.
        cells, actions: There are to be so many.
        pattern: The pattern of Good and Evil, which must fit.
    """

    model_config = ConfigDict(extra="forbid")

    description: Annotated[str, Field(max_length=20_000)]
    cell: Annotated[int, Field(ge=0)] | None = None
    action: Annotated[int, Field(ge=1)] = 1
    target: Annotated[int, Field(ge=0)] = 0
    cells: Annotated[int, Field(ge=2, le=100)] | None = None
    actions: Annotated[int, Field(ge=2, le=20)] | None = None
    pattern: Annotated[str, Field(max_length=20_000)] | None = None


class Adding(BaseModel):
    """What is done with the page's battery: the environment is added, or one is taken out."""

    model_config = ConfigDict(extra="forbid")

    interactions: Annotated[int, Field(ge=1, le=10**6)] = 50
    remove: Annotated[int, Field(ge=0)] | None = None
    title: Annotated[str, Field(pattern=r"\S", max_length=200)] | None = None


# Lambda's spaces


def edited(edit: SpaceEdit) -> dict[str, Any]:
    """A space after a change, with what is wrong in it and where."""
    answer: dict[str, Any] = {"description": edit.description, "targets": [], "errors": []}
    try:
        text = space.SEPARATOR.join(part.strip() for part in edit.description.split("|"))
        is_name = space.NAME.fullmatch(text)
        made = space.named_space(text) if is_name else space.parse_space(text)
    except OmnimeterError as error:
        return {**answer, "errors": [located("space", error)]}
    if edit.cell is not None:
        made = redirected(made, edit.cell, edit.action, edit.target)
    made = resized(made, edit.cells or made.cells, edit.actions or made.actions)
    errors = []
    try:
        space.check_space(made)
    except OmnimeterError as error:
        errors.append(located("space", error))
    if edit.pattern is not None:
        try:
            parse_pattern(edit.pattern, made.actions)
        except OmnimeterError as error:
            errors.append(located("pattern", error))
    targets = made.successors().tolist() if made.cells <= DRAWN_CELLS else []
    return {"description": str(made), "targets": targets, "errors": errors}


def redirected(made: space.CellSpace, cell: int, action: int, target: int) -> space.CellSpace:
    """The space in which an action of a cell leads elsewhere; the rest stays as it is written."""
    if cell >= made.cells or target >= made.cells or action >= made.actions:
        message = f"There is no action {action} from cell {cell + 1} to cell {target + 1}."
        raise InvalidInputError(message, "Choose cells and an action that there are.")
    step = (target - cell) % made.cells
    step = step if 2 * step <= made.cells else step - made.cells
    rows = [list(row) for row in made.displacements]
    rows[cell][action - 1] = step
    return space.CellSpace(tuple(map(tuple, rows)))


def resized(made: space.CellSpace, cells: int, actions: int) -> space.CellSpace:
    """The space with other numbers of cells and actions.

    New cells are entered from the last one and lead back to the first by action 1; what led to a
    cell that is gone, and new actions, stay.
    """
    if (cells, actions) == (made.cells, made.actions):
        return made
    old = made.successors().tolist()
    rows = []
    for cell in range(cells):
        row = (old[cell] if cell < made.cells else [cell] * made.actions)[:actions]
        row = [target if target < cells else cell for target in row]
        row += [cell] * (actions - len(row))
        rows.append([target - cell for target in row[1:]])
    for cell in range(made.cells, cells):
        rows[cell - 1][0] = 1
        rows[cell][0] = -cell
    return space.CellSpace(tuple(map(tuple, rows))).canonical()


def located(field: str, error: OmnimeterError) -> dict[str, Any]:
    """An error with the character and the cell that its message names, counted from 0."""
    character = re.search(r"character (\d+)", error.message)
    cell = re.search(r"[Cc]ell (\d+)", error.message)
    return {
        "field": field,
        "message": error.message,
        "advice": error.advice,
        "character": int(character[1]) - 1 if character else None,
        "cell": int(cell[1]) - 1 if cell else None,
    }


# Pages


_CHILD = """
import sys
from multiprocessing.connection import Connection
from omnimeter.web.experiments import answer
answer(Connection(int(sys.argv[1])))
"""
"""What a process runs: unlike those of ``multiprocessing`` it does not import the main script."""


class Page:
    """What a page does: one experiment at a time, and a battery that it collects."""

    def __init__(self) -> None:
        self.course: Course | None = None
        self.title, self.items = "My battery", list[Item]()
        self.lock, self.used = Lock(), time.monotonic()
        self._process: Popen[bytes] | None = None
        self._pipe: Any = None

    @property
    def has_process(self) -> bool:
        """Whether there is a process that computes for it."""
        return self._process is not None

    def close(self) -> None:
        """End its process; what it has done is kept."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._pipe.close()
        self._process = self._pipe = None

    def ask(self, wanted: str, given: object) -> Any:
        """Let something be computed.

        Raises:
            HTTPException: It takes too long.
            OmnimeterError: It cannot be done.
        """
        if self._process is not None and self._process.poll() is not None:
            self.close()
        course = None
        if self._process is None:
            self._pipe, theirs = Pipe()
            number = theirs.fileno()
            command = [sys.executable, "-P", "-c", _CHILD, str(number)]
            self._process = Popen(command, stdin=DEVNULL, pass_fds=[number])
            theirs.close()
            course = self.course
        try:
            self._pipe.send((course, wanted, given))
            if not self._pipe.poll(PATIENCE_SECONDS):
                message = f"This takes longer than {PATIENCE_SECONDS:g} seconds, and was ended."
                raise HTTPException(503, message)
            reply = self._pipe.recv()
        except HTTPException:
            self.close()
            raise
        except (EOFError, OSError) as error:
            self.close()
            message = "The process of this experiment has died."
            raise InvalidInputError(message, "It is as it was before.") from error
        if isinstance(reply, OmnimeterError):
            raise reply
        told, self.course = reply
        return told

    def change_battery(self, adding: Adding) -> dict[str, Any]:
        """Add the environment to the battery, or take an exercise out."""
        self.title = adding.title or self.title
        if adding.remove is not None:
            del self.items[adding.remove : adding.remove + 1]
        elif len(self.items) >= ITEMS:
            message = f"A battery has at most {ITEMS} exercises here."
            raise InvalidInputError(message, "Save this one, and begin another.")
        else:
            exercise: Exercise = self.ask("saved", adding.interactions)
            spec, instance = exercise.environment_class, exercise.instance
            self.items.append(Item(spec, adding.interactions, instance=instance))
        items = [
            {"label": each.environment_class.label, "interactions": each.interactions}
            for each in self.items
        ]
        return {"title": self.title, "exercises": items}

    def save(self, what: str, interactions: int | None) -> dict[str, Any]:
        """An instance, an exercise or a battery as JSON.

        Raises:
            InvalidInputError: The battery is empty.
        """
        if what == "battery":
            if not self.items:
                raise InvalidInputError("The battery is empty.", "Add an environment first.")
            return Plan(self.title, tuple(self.items)).to_json()
        exercise: Exercise = self.ask("saved", interactions)
        if what == "exercise":
            return exercise.to_json()
        return {
            "environment_class": exercise.environment_class.to_json(),
            "instance": exercise.instance.to_json(),
        }


class Pages:
    """The pages that are open; idle ones are forgotten."""

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}
        self._threads = ThreadPoolExecutor(PROCESSES, "research")

    def _idlest(self) -> list[str]:
        return sorted(self._pages, key=lambda each: self._pages[each].used)

    def open(self) -> str:
        """A new page; the one that was not used for longest gives way when there are too many."""
        now = time.monotonic()
        for key in self._idlest():
            idle = now - self._pages[key].used > IDLE_SECONDS
            if idle or len(self._pages) >= PAGES:
                self._pages.pop(key).close()
        key = secrets.token_urlsafe(12)
        self._pages[key] = Page()
        return key

    async def compute(self, key: str, name: str, *given: Any) -> Any:
        """Call a method of a page in a thread, within limits.

        Raises:
            HTTPException: There is no such page, or it takes too long.
            OmnimeterError: The work cannot be done.
        """
        page = self._pages.get(key)
        if page is None:
            raise HTTPException(404, "This page was not used for long: load it again.")
        if not page.lock.acquire(blocking=False):
            raise HTTPException(409, "The last request is still being computed.")
        page.used = time.monotonic()

        def work() -> Any:
            try:
                return getattr(page, name)(*given)
            finally:
                page.lock.release()

        for each in map(self._pages.__getitem__, self._idlest()):
            busy = sum(other.has_process for other in self._pages.values())
            if busy + (not page.has_process) <= PROCESSES:
                break
            if each is not page and each.has_process and each.lock.acquire(blocking=False):
                each.close()
                each.lock.release()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        """End all processes."""
        for page in self._pages.values():
            page.close()
        self._threads.shutdown(wait=False)


def add_research(app: FastAPI) -> None:
    """The page of research mode and what it asks for."""
    from omnimeter.web.server import page

    pages = app.state.research = Pages()

    @app.get("/research")
    async def research() -> Response:
        return page("research")

    @app.get("/research/catalogue")
    async def catalogue() -> dict[str, Any]:
        kinds = {"environments": Kind.ENVIRONMENT, "agents": Kind.AGENT}
        known = {name: await asyncio.to_thread(offered, kind) for name, kind in kinds.items()}
        return {name: list(parts.values()) for name, parts in known.items()}

    @app.post("/research/space")
    async def change_space(edit: SpaceEdit) -> dict[str, Any]:
        return await asyncio.to_thread(edited, edit)

    @app.post("/research/open")
    async def open_page() -> dict[str, str]:
        return {"page": pages.open()}

    @app.post("/research/{key}/begin")
    async def begin(key: str, drawing: Drawing) -> Any:
        return await pages.compute(key, "ask", "begin", drawing)

    @app.post("/research/{key}/check")
    async def check(key: str, drawing: Drawing) -> Any:
        return await pages.compute(key, "ask", "check", drawing)

    @app.post("/research/{key}/step")
    async def step(key: str, steps: Steps) -> Any:
        return await pages.compute(key, "ask", "step", steps)

    @app.post("/research/{key}/go")
    async def go(key: str, place: Place) -> Any:
        return await pages.compute(key, "ask", "go", place)

    @app.post("/research/{key}/battery")
    async def battery(key: str, adding: Adding) -> Any:
        return await pages.compute(key, "change_battery", adding)

    @app.get("/research/{key}/{what}.json")
    async def save(key: str, what: str, interactions: int | None = None) -> Response:
        if what not in ("instance", "exercise", "battery"):
            raise HTTPException(404, "There is no such file.")
        if interactions is not None and not 1 <= interactions <= 10**6:
            raise HTTPException(400, "Give a number of interactions from 1 to 1,000,000.")
        data = await pages.compute(key, "save", what, interactions)
        named = {"Content-Disposition": f'attachment; filename="{what}.json"'}
        content = json.dumps(data, indent=1) + "\n"
        return Response(content, media_type="application/json", headers=named)
