"""The live view: evaluations and campaigns below a folder, as they are now, and report pages.

Everything is read only, in one thread, and read again only where files have changed. What is
damaged is shown as such.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import FileResponse

from omnimeter.api import Campaign, Result, load
from omnimeter.contract import OmnimeterError, Outcomes, Score
from omnimeter.contract.text import clean_line
from omnimeter.reports.figures import course_of
from omnimeter.results import Record
from omnimeter.results.files import Layout, is_locked

PAUSE = 1.0
"""Seconds between two looks for a page that is open."""

REST = 10
"""How many times as long as reading took nothing is read again, so that it costs little."""

DEEPEST, MOST_PLACES = 4, 5_000
"""How deep below the folder stored results are looked for, and in how many folders."""

SOCKETS = 64
"""Pages of the experimenter that may be kept up to date at once."""

MOST_OUTCOMES = 20_000
"""Outcomes of an evaluation up to which its scores of the past are computed."""

REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a stored page may do: show its own text and figures, without scripts or other pages."""

Past = dict[Any, Any]
"""What was known before of a place's scores: those of the past do not change any more."""

Items = Mapping[str, Mapping[str, Any]]


@dataclass
class _Known:
    """What was read of a place, from which state of its files, and until when it is used anyhow."""

    state: object
    shown: dict[str, Any]
    until: float
    past: Past


class Stored:
    """What is stored below a folder.

    Its methods may be called in any thread; one of them reads at a time.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._known: dict[str, _Known] = {}
        self._listed: tuple[float, dict[str, dict[str, Any]]] = (0.0, {})
        self._lock = Lock()

    def items(self) -> dict[str, dict[str, Any]]:
        """What there is, by its path below the folder."""
        with self._lock:
            if time.monotonic() > self._listed[0]:
                items = {self._name(path): self._item(kind, path) for kind, path in self._places()}
                self._listed = time.monotonic() + PAUSE, items
            return self._listed[1]

    def page(self, path: str) -> Path | None:
        """The file of a stored page, if it is one of those that are listed."""
        item = self.items().get(path)
        return self.root / path if item and item["kind"] == "page" else None

    def item(self, path: str) -> dict[str, Any]:
        """An evaluation or a campaign with its scores; empty if there is none."""
        place = self._place(path)
        if place is None:
            return {}
        with self._lock:
            known = self._known.get(path)
            if known is not None and time.monotonic() < known.until:
                return known.shown
            begun = time.monotonic()
            state = _state(place)
            if known is None or known.state != state:
                past = known.past if known else {}
                known = _Known(state, self._read(path, place, past), 0.0, past)
                self._known[path] = known
            known.until = time.monotonic() + max(PAUSE, REST * (time.monotonic() - begun))
            return known.shown

    def _place(self, path: str) -> Path | None:
        """The directory of a path, if it is one of results below the folder."""
        parts = path.split("/") if path != "." else []
        if "\0" in path or "\\" in path or any(each in ("", ".", "..") for each in parts):
            return None
        place = self.root.joinpath(*parts)
        with suppress(OSError, RuntimeError):
            inside = place.resolve() == place  # no link leads elsewhere
            named = any((place / name).is_file() for name in ("campaign.json", "spec.json"))
            if inside and named:
                return place
        return None

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _places(self) -> Iterator[tuple[str, Path]]:
        """The kinds and paths of all that is shown."""
        waiting, seen = deque([(self.root, 0)]), 0
        while waiting and seen < MOST_PLACES:
            folder, depth = waiting.popleft()
            seen += 1
            with suppress(OSError):
                entries = sorted(os.scandir(folder), key=lambda each: each.name)
                names = {each.name for each in entries}
                for entry in entries:
                    if entry.name.endswith(".html") and entry.is_file(follow_symlinks=False):
                        yield "page", folder / entry.name
                if "campaign.json" in names:
                    yield "campaign", folder
                elif "spec.json" in names and names & {"outcomes", "provenance", "key.json"}:
                    yield "evaluation", folder
                elif "study.json" not in names and depth < DEEPEST:
                    waiting += [
                        (folder / entry.name, depth + 1)
                        for entry in entries
                        if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")
                    ]

    def _item(self, kind: str, path: Path) -> dict[str, Any]:
        """What the list shows of a place, without reading results."""
        item: dict[str, Any] = {"kind": kind, "name": clean_line(path.name)}
        try:
            if kind == "page":
                item["changed"] = int(path.stat().st_mtime)
                return item
            item["running"] = is_locked(Layout(path))
            item["changed"] = _last_change(path)
            if kind == "campaign":
                item["evaluations"] = _folders(path / "evaluations")
            file = path / ("campaign.json" if kind == "campaign" else "spec.json")
            _check(kind, path, file.stat().st_mtime_ns)
        except Exception as error:  # the others are shown all the same
            item["damaged"] = _why(error)
        return item

    def _read(self, path: str, place: Path, past: Past) -> dict[str, Any]:
        try:
            if (place / "campaign.json").exists():
                shown = _campaign(path, Campaign.open(place), past)
            else:
                shown = _evaluation(load(place, damaged="skip"), past)
            shown["running"] = is_locked(Layout(place))
        except Exception as error:  # the others are shown all the same
            return {"damaged": {path: _why(error)}}
        shown["reports"] = [
            self._name(each) for each in sorted(place.glob("*.html")) if not each.is_symlink()
        ]
        return shown


@lru_cache(MOST_PLACES)
def _check(kind: str, path: Path, changed: int) -> None:  # noqa: ARG001 - checked again only then
    """Check what a place says of itself.

    Raises:
        StoreError: It is damaged.
    """
    if kind == "campaign":
        Campaign.open(path)
    else:
        Record(path)


def _why(error: Exception) -> str:
    """Why something cannot be read, for which no error may be known."""
    if isinstance(error, OmnimeterError):
        return str(error)
    return f"It cannot be read: {type(error).__name__}: {error}"[:500]


def _campaign(path: str, campaign: Campaign, past: Past) -> dict[str, Any]:
    status = campaign.status()
    tests: dict[str, list[dict[str, Any]]] = {}
    for each in campaign.results():
        test = " · ".join(filter(None, (each.test, each.environment_class)))
        points: list[Point] = past.setdefault((test, each.agent), [])
        row = _row(each.agent, each.exercises, each.faults, each.value, (each.low, each.high))
        if row["value"] is not None and (not points or points[-1][0] != each.exercises):
            points.append([each.exercises, row["value"], row["low"], row["high"]])
            del points[:-500]
        tests.setdefault(test, []).append({**row, "points": list(points)})
    expected = [each.expected for each in status.agents]
    return {
        "kind": "campaign",
        "title": status.title,
        "state": status.sentence,
        "complete": status.complete,
        "done": sum(each.finished for each in status.agents),
        "expected": None if None in expected else sum(filter(None, expected)),
        "seconds_left": status.progress.seconds_left if status.running else None,
        "quarantined": len(status.quarantined),
        "tests": [
            {"title": title, "across": "exercises so far", "rows": rows}
            for title, rows in tests.items()
        ],
        "evaluations": [
            f"{path}/evaluations/{each.name}".removeprefix("./") for each in campaign.entries
        ],
        "damaged": {str(where): why for where, why in status.damaged.items()},
    }


def _evaluation(result: Result, past: Past) -> dict[str, Any]:
    judged, protocol = result.judged, result.protocol
    design, expected = judged.design, protocol.expected()
    rows = []
    for agent, done in judged.outcomes.items():
        score = judged.scores[agent]
        row = _row(agent.label, len(done), score.faults, score.value, score.interval)
        if judged.courses.get(agent):
            steps = course_of(judged, agent)
            row["points"] = [[e.length, *_ends(e.value, (e.low, e.high))] for e in steps]
        elif len(done) <= MOST_OUTCOMES:
            row["points"] = list(_course(protocol.score, done, past))
        rows.append(row)
    adaptive = any(judged.courses.values())
    across = f"{design.length_unit} of a repetition" if adaptive else "exercises"
    where = f" · {design.environments}" if design.environments else ""
    return {
        "kind": "evaluation",
        "title": f"{design.title}{where}",
        "state": "complete" if result.complete else "not complete",
        "complete": result.complete,
        "done": sum(map(len, judged.outcomes.values())),
        "expected": None if expected is None else expected * len(rows),
        "tests": [{"title": design.title, "across": across, "rows": rows}],
        "warnings": [*result.warnings, *([design.warning] if design.warning else [])],
        "damaged": {str(path): str(why) for path, why in result.record.damaged.items()},
    }


def _course(
    score: Callable[[Outcomes], Score], done: Outcomes, past: Past
) -> Iterator[list[float | None]]:
    """The score after 1, 2, 5, 10, ... exercises: as it was had the test been stopped there."""
    counts = {len(done)} if len(done) else set()
    counts |= {n * 10**k for k in range(7) for n in (1, 2, 3, 5, 7) if n * 10**k < len(done)}
    for count in sorted(counts):
        first = done.take(np.arange(count))
        key = count, first.keys.tobytes()[-64:], first.payoffs.tobytes()[-64:]
        if (point := past.get(key)) is None:
            now = score(first)
            point = [count, *_ends(now.value, now.interval)]
            if count < len(done):
                past[key] = point
        if point[1] is not None:
            yield point


Point = list[float | None]
"""A place in a curve, the value there, and the ends of its interval, as far as these are known."""


def _row(
    agent: str,
    count: int,
    faults: Mapping[str, int],
    value: float | None,
    interval: Sequence[Any] | None,
) -> dict[str, Any]:
    """What the table shows of an agent."""
    value, low, high = _ends(value, interval)
    shown = {"value": value, "low": low, "high": high}
    return {"agent": agent, "count": count, "faults": sum(faults.values()), **shown}


def _ends(value: float | None, interval: Sequence[Any] | None) -> Point:
    """A value and the ends of its interval, as far as they can be drawn."""
    low, high = interval[:2] if interval else (None, None)
    return [_drawable(value), _drawable(low), _drawable(high)]


def _drawable(number: float | None) -> float | None:
    return float(number) if number is not None and isfinite(number) else None


def _folders(path: Path) -> int:
    with suppress(OSError):
        return sum(each.is_dir() for each in os.scandir(path))
    return 0


def _changes(place: Path) -> Iterator[tuple[str, int]]:
    """When what says something of a place was changed, in nanoseconds."""
    names = ("spec.json", "key.json", "outcomes", "provenance", "campaign.json", "progress.json")
    for path in [*(place / name for name in (*names, "quarantine")), *place.glob("*.html")]:
        with suppress(OSError):
            yield str(path), path.stat().st_mtime_ns
    with suppress(OSError):
        for entry in sorted(os.scandir(place / "evaluations"), key=lambda each: each.name):
            for name in ("spec.json", "outcomes"):
                with suppress(OSError):
                    yield f"{entry.path}/{name}", os.stat(f"{entry.path}/{name}").st_mtime_ns


def _state(place: Path) -> object:
    """The state of the files of a place: what was read holds as long as it is the same."""
    running: object = None
    with suppress(OmnimeterError):
        running = is_locked(Layout(place))
    shards = [(each.name, each.stat().st_size) for each in place.glob("outcomes/*.parquet")]
    return tuple(_changes(place)), tuple(sorted(shards)), running


def _last_change(place: Path) -> int:
    return max((changed for _, changed in _changes(place)), default=0) // 10**9


_open = 0
"""How many sockets of experimenters' pages are open."""


async def push_changes(socket: WebSocket, gather: Callable[[], Items] | None) -> None:
    """Keep a page up to date: what has changed, and what is gone, until it leaves.

    Args:
        socket: The socket of the page.
        gather: All that there is to show, by its name; called in a thread. Without it, there is
            no such thing.
    """
    global _open  # noqa: PLW0603 - of all applications of this process
    await socket.accept()
    if gather is None or _open >= SOCKETS:
        await socket.close(4404 if gather is None else 4429)
        return
    _open += 1
    leaving = asyncio.create_task(_left(socket))
    sent: dict[str, Any] = {}
    first = True
    try:
        while not leaving.done():
            now = {name: dict(each) for name, each in (await asyncio.to_thread(gather)).items()}
            changed = {name: each for name, each in now.items() if sent.get(name) != each}
            gone = sorted(sent.keys() - now.keys())
            if first or changed or gone:
                data = {"time": round(time.time(), 1), "changed": changed, "gone": gone}
                await socket.send_text(json.dumps(data, allow_nan=False))
            sent, first = now, False
            await asyncio.wait([leaving], timeout=PAUSE)
    except (WebSocketDisconnect, RuntimeError):  # it left while it was told something
        pass
    finally:
        _open -= 1
        leaving.cancel()


async def _left(socket: WebSocket) -> None:
    """Wait until a page leaves; nothing that it sends means anything."""
    with suppress(WebSocketDisconnect, RuntimeError, KeyError):
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass


def add_live(app: FastAPI, root: Path) -> None:
    """What the live view shows, and stored pages.

    Args:
        app: The application.
        root: The folder of the results.
    """
    stored = Stored(root)

    @app.get("/api/stored")
    async def listed() -> dict[str, dict[str, Any]]:
        return await asyncio.to_thread(stored.items)

    @app.get("/api/scores")
    async def scores(path: str) -> dict[str, Any]:
        if not (shown := await asyncio.to_thread(stored.item, path)):
            raise HTTPException(404, "There are no such results.")
        return shown

    @app.websocket("/api/stored/ws")
    async def watch(socket: WebSocket) -> None:
        await push_changes(socket, stored.items)

    @app.websocket("/api/scores/ws")
    async def follow(socket: WebSocket, path: str) -> None:
        known = bool(await asyncio.to_thread(stored.item, path))
        await push_changes(socket, (lambda: {path: stored.item(path)}) if known else None)

    @app.get("/stored/{path:path}", include_in_schema=False)
    async def page(path: str) -> Response:
        file = await asyncio.to_thread(stored.page, path)
        if file is None:
            raise HTTPException(404, "There is no such page.")
        headers = {"Content-Security-Policy": REPORT_POLICY}
        return FileResponse(file, media_type="text/html; charset=utf-8", headers=headers)
