"""Participants at their browsers: what each is at, what they send, and what they are shown.

The server holds the truth: the stage of a participant follows from the log of events, and their
place in the test from the stored evaluation. Browsers only show it and send answers.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from omnimeter.contract import OmnimeterError
from omnimeter.protocols import Evaluation
from omnimeter.protocols.battery import find_battery
from omnimeter.results.journal import Journals, Log, read_log
from omnimeter.scenes import Picture, Style, picture, sign_of
from omnimeter.web.session import Phase, Session, View
from omnimeter.web.studies import Design, Participant, Study, studies_in

ONCE = frozenset(("consented", "instructed", "tested", "answered"))
"""Events that happen once."""

PASSING = frozenset(("joined", "left", "lost", "hidden", "resumed"))
"""Events of which a browser may bring any number."""

MOST_PASSING = 10_000
"""So many of them are kept of a participant; after that an event ``many`` says so."""

WATCH = 5.0
"""Seconds between two looks after those who are there."""

LOOK = 1.0
"""Seconds between two looks for studies that have been made meanwhile."""

KEPT = 120.0
"""Seconds for which the test of a participant who is gone is kept in memory."""

Send = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Sends a message to one browser."""


class BadMessageError(ValueError):
    """A browser sent what is no message, or what does not fit."""


def stage_of(design: Design, events: Sequence[Mapping[str, Any]]) -> str:
    """What a participant is at, as the log of events says."""
    done = {str(event["kind"]) for event in events}
    if "blocked" in done:
        return "blocked"
    if design.consent and "consented" not in done:
        return "declined" if events and events[-1]["kind"] == "declined" else "consent"
    if "instructed" not in done:
        return "instructions"
    if "tested" not in done:
        return "test"
    if design.questions and "answered" not in done:
        return "questionnaire"
    return "thanks"


class Attendance:
    """A participant who is there, in one browser or several.

    Its methods are called by the event loop; the test itself has a thread of its own.

    Args:
        study: The study.
        participant: Who it is.
        loop: The event loop, which the thread of the test tells of changes.
    """

    def __init__(
        self, study: Study, participant: Participant, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.study, self.participant = study, participant
        self._loop, self._lock, self._joining = loop, Lock(), asyncio.Lock()
        self._log: Log | None = study.open_events(participant)
        self._events = list(self._log.lines)
        self._session: Session | None = None
        self._browsers = set[Send]()
        self._passing = sum(event["kind"] in {*PASSING, "many"} for event in self._events)
        self._left = time.monotonic()
        self.seen = 0.0  # the second of the epoch of the last sign of life
        design = study.design
        self._of = 0 if design.battery is None else len(find_battery(design.battery).exercises)

    @property
    def stage(self) -> str:
        """What the participant is at."""
        return stage_of(self.study.design, self._events)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What happened with them so far."""
        return list(self._events)

    @property
    def place(self) -> tuple[int, int] | None:
        """The exercise that they are at and how many steps of it are done, if a test goes on."""
        view = self._session.desk.view if self._session else None
        return (view.exercise, view.step) if view else None

    @property
    def trouble(self) -> str:
        """Why their test cannot go on, if it cannot."""
        return self._session.desk.view.trouble if self._session else ""

    @property
    def is_idle(self) -> bool:
        """Whether there has been no browser for some time."""
        return not self._browsers and time.monotonic() - self._left > KEPT

    async def note(self, kind: str, **data: Any) -> None:
        """Write an event down; it is durable once this returns."""
        await asyncio.to_thread(self._write, kind, data)

    def _write(self, kind: str, data: Mapping[str, Any]) -> None:
        event = {"kind": kind, "time": round(time.time(), 3), **data}
        with self._lock:
            # Two browsers may have answered at once.
            again = kind in ONCE and any(each["kind"] == kind for each in self._events)
            if kind in PASSING:
                self._passing += 1
                again = self._passing > MOST_PASSING + 1
                event["kind"] = kind if self._passing <= MOST_PASSING else "many"
            if self._log is not None and not again:
                self._log.add(event)
                self._events.append(event)

    async def join(self, send: Send) -> None:
        """A browser of the participant is there."""
        first = not self._browsers
        self._browsers.add(send)
        self.seen = round(time.time(), 1)
        async with self._joining:
            if self._session is not None and self._session.desk.view.trouble:
                await self._stop()  # it may be over, such as a full disk
            if first:
                await self._after_absence()
                await self.note("joined")
            if self.stage == "test":
                await asyncio.to_thread(self._start)
        await send(self.message())

    async def leave(self, send: Send, why: str = "left") -> None:
        """A browser is gone."""
        if send in self._browsers:
            self._browsers.remove(send)
            self._left = time.monotonic()
            if not self._browsers:
                view = self._session.desk.view if self._session else None
                asked = view is not None and view.phase is Phase.ASKED
                await self.note(why, **({"exercise": view.exercise} if view and asked else {}))

    async def _after_absence(self) -> None:
        """What the study says of those who were away in the middle of an exercise."""
        design, journals = self.study.design, self._journals
        under_way = await asyncio.to_thread(self._under_way)
        # In a test with time an exercise may be over meanwhile.
        passing = [each for each in self._events if each["kind"] in ("joined", "left", "lost")]
        left = passing[-1] if passing and "exercise" in passing[-1] else None
        if under_way is None and left is None:
            return
        seen = float((left or self._events[-1])["time"])
        if under_way is not None and left is None:  # the server was killed
            seen = max(seen, journals.path(under_way).stat().st_mtime)
        away = time.time() - seen
        policy = design.after_interruption
        late = away > 60 * design.minutes_away and policy != "resume" and self.stage == "test"
        if late:
            await self._stop()
        if late and policy == "block":
            await self.note("blocked", away=round(away, 3))
        elif late and under_way is not None:
            await self.note("restarted", away=round(away, 3))
            journals.remove([under_way])
        else:
            await self.note("resumed", away=round(away, 3))

    def _under_way(self) -> str | None:
        """The key of the exercise that was begun and is not over, if there is one.

        Journals of exercises that are over stay until the whole sequence is stored.
        """
        journals = self._journals
        known = sorted(journals.keys(), key=lambda key: journals.path(key).stat().st_mtime)
        if not known or self.stage != "test":
            return None
        again = [float(each["time"]) for each in self._events if each["kind"] == "restarted"]
        if again and journals.path(known[-1]).stat().st_mtime < again[-1]:
            journals.remove([known.pop()])  # the server was killed before it did so
            return None
        proposed = self._evaluation.make_protocol().propose(self._evaluation.agents[0], [])
        lengths = {each.key: each.budget.max_interactions for each in proposed}
        answers = len(read_log(journals.path(known[-1])))
        return known[-1] if answers < lengths.get(known[-1], answers + 1) else None

    @cached_property
    def _evaluation(self) -> Evaluation:
        return self.study.evaluation(self.participant)

    @property
    def _journals(self) -> Journals:
        folder = self.study.folder(self.participant) / "evaluation" / "journal"
        return Journals(str(folder))

    def _start(self) -> None:
        if self._session is None and self._log is not None:  # else it was closed, or deleted
            where = self.study.folder(self.participant) / "evaluation"
            restarts = sum(event["kind"] == "restarted" for event in self._events)
            self._session = Session(
                self.participant.name,
                self._evaluation,
                where,
                self._changed,
                self._answered,
                restarts,
            )
            self._session.start()

    async def _stop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await asyncio.to_thread(session.stop)

    async def close(self) -> None:
        """Interrupt the test, and let go of the log; it can go on later."""
        await self._stop()
        with self._lock:
            if self._log is not None:
                self._log.close()
                self._log = None

    def _answered(self, told: Mapping[str, Any]) -> None:
        """An answer with its times, in the thread of the test."""
        self._write("act", told)

    def _changed(self, view: View) -> None:
        """The test shows something new, in its thread."""
        if view.phase is Phase.OVER:
            self._write("tested", {})
        if view.phase is not Phase.BUSY:
            asyncio.run_coroutine_threadsafe(self.show(), self._loop)

    @property
    def browsers(self) -> int:
        """How many browsers there are."""
        return len(self._browsers)

    async def show(self) -> None:
        """Let all browsers of the participant show what is there now."""
        await self.tell(self.message())

    async def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message to all browsers of the participant."""
        for send in list(self._browsers):
            await send(message)

    def message(self) -> dict[str, Any]:
        """What a browser is to show."""
        stage = self.stage
        message: dict[str, Any] = {"type": "state", "stage": stage}
        session, design = self._session, self.study.design
        if session is None:
            return message
        view = session.desk.view
        if stage == ("questionnaire" if design.questions else "thanks") and view.scene is not None:
            message["last"] = {
                "exercise": view.exercise,
                "scene": _drawn(view, design.colours),
                "reward": _reward(view.reward, design.rewards),
            }
        if stage != "test":
            return message
        message |= {
            "seq": view.seq,
            "phase": view.phase.value,
            "exercise": view.exercise,
            "step": view.step,
            "rewards": design.rewards,
        }
        if self._of:
            message["of"] = self._of
        if view.phase is Phase.READY:
            message["break"] = view.exercise - 1 in design.breaks
            before = replace(view, exercise=view.exercise - 1)  # which the scene is still of
            message["scene"] = _drawn(before, design.colours)
        if view.phase is Phase.ASKED:
            message["scene"] = _drawn(view, design.colours)
        if view.scene is not None and (view.step or view.phase is Phase.READY):
            message["reward"] = _reward(view.reward, design.rewards)
        if view.trouble:
            message["trouble"] = True
        return message

    async def receive(self, send: Send, message: Mapping[str, Any]) -> None:
        """Do what a browser asks for.

        Raises:
            BadMessageError: It is no message, or there is no such action or answer.
        """
        self.seen = round(time.time(), 1)
        kind, stage = message.get("type"), self.stage
        if kind in ("act", "ready") and stage == "test":
            if not self._answer(message):  # a second click, or another tab
                await self.show()
        elif kind == "consent" and stage in ("consent", "declined"):
            given = message.get("given") is True
            if given or stage != "declined":
                answer = "consented" if given else "declined"
                await self.note(answer, text=self.study.design.consent)
        elif kind == "instructed" and stage == "instructions":
            await self.note("instructed")
            async with self._joining:
                await asyncio.to_thread(self._start)
        elif kind == "answers" and stage == "questionnaire":
            await self.note("answered", answers=self._checked(message.get("answers")))
        elif kind == "hidden":
            await self.note("hidden", hidden=message.get("hidden") is True)
            return
        elif kind == "alive":
            return
        elif kind not in ("act", "ready", "consent", "instructed", "answers"):
            raise BadMessageError("there is no such message")
        if kind not in ("act", "ready"):
            await self.show()
        elif stage != "test":
            await send(self.message())

    def _answer(self, message: Mapping[str, Any]) -> bool:
        session = self._session
        if session is None:
            return False
        seq = _number(message.get("seq"), 0, 2**53)
        action = None
        if message["type"] == "act":
            action = _number(message.get("action"), 0, 2**31)
        times = {
            name: _number(message.get(name), 0, 2**40)
            for name in ("reaction", "shown")
            if message.get(name) is not None
        }
        told = {"action": action, **times, "received": round(time.time(), 3)}
        try:
            counts = session.desk.answer(seq, action, told if action is not None else None)
        except ValueError as error:
            raise BadMessageError(str(error)) from error
        return counts

    def _checked(self, answers: object) -> dict[str, Any]:
        if not isinstance(answers, Mapping):
            raise BadMessageError("there are no answers")
        known = {each.name: each for each in self.study.design.questions}
        if unknown := answers.keys() - known.keys():
            raise BadMessageError(f"there is no question {min(map(str, unknown))!r}")
        try:
            return {name: each.check(answers.get(name)) for name, each in known.items()}
        except ValueError as error:
            raise BadMessageError(str(error)) from error


def _number(given: object, low: int, high: int) -> int:
    if type(given) is int and low <= given <= high:
        return given
    raise BadMessageError("a number is missing or wrong")


def _reward(reward: float, shown: str) -> dict[str, Any]:
    """No more of a reward than the study shows; never what was got so far."""
    told: dict[str, Any] = {"sign": sign_of(reward)}
    if shown == "steps":
        told["steps"] = max(-3, min(3, round(3 * reward) or (reward > 0) - (reward < 0)))
    if shown == "number":
        told["number"] = round(reward, 2)
    return told


def _drawn(view: View, colours: bool) -> dict[str, Any] | None:
    if view.scene is None:
        return None
    style = Style.of_exercise(view.exercise, colours=colours)
    return picture_json(picture(view.scene, view.actions, style))


def picture_json(drawn: Picture) -> dict[str, Any]:
    """A picture as JSON, without the reward, which is shown by itself."""
    data = asdict(drawn)
    del data["reward"]
    return data


class Attendances:
    """All participants who are there.

    Args:
        root: The folder of the studies, or that of one.

    Attributes:
        studies: The studies, by their names.
        damaged: What is wrong with those that cannot be read.

    Raises:
        StoreError: The folder is that of one study, which is damaged.
    """

    def __init__(self, root: Path) -> None:
        self._root, self.studies = root, dict[str, Study]()
        self._there: dict[str, Attendance] = {}
        self._opening = asyncio.Lock()
        self.look()

    def look(self) -> None:
        """See which studies have been made in the folder meanwhile."""
        self._looked = time.monotonic()
        studies, self.damaged = studies_in(self._root, self.studies)
        for name in studies.keys() - self.studies.keys():
            try:
                studies[name].finish_withdrawals()
                self.studies[name] = studies[name]
            except OmnimeterError as error:
                self.damaged[name] = str(error)

    def find(self, token: str) -> tuple[Study, Participant] | None:
        """Whose link it is, if it is one of a participant."""
        for study in list(self.studies.values()):  # others may be added meanwhile
            if participant := study.find(token):
                return study, participant
        if time.monotonic() - self._looked < LOOK:
            return None
        self.look()
        return self.find(token)

    async def of(self, token: str) -> Attendance | None:
        """The participant of a link who is there, or comes now.

        Raises:
            OmnimeterError: What is stored of them cannot be read.
        """
        async with self._opening:
            if token not in self._there and (known := self.find(token)) is not None:
                loop = asyncio.get_running_loop()
                self._there[token] = await asyncio.to_thread(Attendance, *known, loop)
            return self._there.get(token)

    def now(self) -> Mapping[str, Attendance]:
        """Those who are there, by their tokens."""
        return self._there

    async def forget(self, token: str) -> Attendance | None:
        """Let go of a participant; what was known of them, if they were there."""
        async with self._opening:  # who comes back meanwhile waits until the log is closed
            return await self._let_go(token)

    async def _let_go(self, token: str) -> Attendance | None:
        if (attendance := self._there.get(token)) is not None:
            await attendance.close()
            del self._there[token]
        return attendance

    async def withdraw(self, token: str) -> bool:
        """Delete everything of a participant; whether there is, or was, one of this link.

        Raises:
            StoreError: It cannot be deleted.
        """
        async with self._opening:
            if (known := self.find(token)) is None:
                studies = list(self.studies.values())
                return await asyncio.to_thread(
                    lambda: any(each.has_withdrawn(token) for each in studies)
                )
            attendance = await self._let_go(token)
            await asyncio.to_thread(known[0].withdraw, known[1])
        if attendance is not None:
            await attendance.tell({"type": "state", "stage": "withdrawn"})
        return True

    async def revoke(self, token: str) -> None:
        """Let a link be used no more, from now on.

        Raises:
            StoreError: That cannot be stored.
        """
        async with self._opening:
            if (known := self.find(token)) is None:
                return
            await asyncio.to_thread(known[0].revoke, known[1])
        await self._shut_out(token)

    async def _shut_out(self, token: str) -> None:
        """Interrupt the test of a participant whose link was revoked."""
        if (attendance := await self.forget(token)) is not None:
            await attendance.tell({"type": "state", "stage": "expired"})

    async def watch(self) -> None:
        """Look after those who are there, until this is cancelled."""
        while True:
            await asyncio.sleep(WATCH)
            for token, each in list(self._there.items()):
                try:
                    known = self.find(token)
                    if known is not None and known[1].is_revoked:  # by another process
                        await self._shut_out(token)
                    async with self._opening:
                        if each.is_idle:
                            await self._let_go(token)
                except Exception:  # the others are looked after all the same
                    logging.getLogger(__name__).exception("A participant cannot be watched.")

    async def close(self) -> None:
        """Interrupt all tests."""
        await asyncio.gather(*(self._let_go(token) for token in list(self._there)))
