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
from threading import Lock
from typing import Any

from omnimeter.contract import OmnimeterError
from omnimeter.protocols.battery import find_battery
from omnimeter.results.journal import Journals, Log, read_log
from omnimeter.scenes import Picture, Style, picture, sign_of
from omnimeter.web.session import Phase, Session, View
from omnimeter.web.studies import Design, Participant, Study

ONCE = frozenset(("consented", "instructed", "tested", "answered"))
"""Events that happen once."""

SILENT = 35.0
"""Seconds without a sign of life after which a browser counts as gone."""

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
        self._browsers: dict[Send, float] = {}  # with the time of the last sign of life
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
            if self._log is not None and not again:
                self._log.add(event)
                self._events.append(event)

    async def join(self, send: Send) -> None:
        """A browser of the participant is there."""
        first = not self._browsers
        self._browsers[send], self.seen = time.monotonic(), round(time.time(), 1)
        async with self._joining:
            if first:
                await self._after_absence()
                await self.note("joined")
            if self.stage == "test":
                self._start()
        await send(self.message())

    async def leave(self, send: Send, why: str = "left") -> None:
        """A browser is gone."""
        if self._browsers.pop(send, None) is not None and not self._browsers:
            self._left = time.monotonic()
            await self.note(why)

    async def _after_absence(self) -> None:
        """What the study says of those who were away in the middle of an exercise."""
        design, journals = self.study.design, self._journals
        under_way = await asyncio.to_thread(self._under_way)
        if self.stage != "test" or under_way is None or not self._events:
            return
        seen = max(float(self._events[-1]["time"]), journals.path(under_way).stat().st_mtime)
        away = time.time() - seen
        policy = design.after_interruption
        late = away > 60 * design.minutes_away and policy != "resume"
        if late and policy == "restart":
            await self._stop()
            journals.remove([under_way])
            await self.note("restarted", away=round(away, 3))
        elif late:
            await self._stop()
            await self.note("blocked", away=round(away, 3))
        else:
            await self.note("resumed", away=round(away, 3))

    def _under_way(self) -> str | None:
        """The key of the exercise that was begun and is not over, if there is one.

        Journals of exercises that are over stay until the whole sequence is stored.
        """
        journals = self._journals
        known = sorted(journals.keys(), key=lambda key: journals.path(key).stat().st_mtime)
        if not known:
            return None
        evaluation = self.study.evaluation(self.participant)
        proposed = evaluation.make_protocol().propose(evaluation.agents[0], [])
        lengths = {each.key: each.budget.max_interactions for each in proposed}
        answers = len(read_log(journals.path(known[-1])))
        return known[-1] if answers < lengths.get(known[-1], answers + 1) else None

    @property
    def _journals(self) -> Journals:
        folder = self.study.folder(self.participant) / "evaluation" / "journal"
        return Journals(str(folder))

    def _start(self) -> None:
        if self._session is None and self._log is not None:  # else it was closed, or deleted
            where = self.study.folder(self.participant) / "evaluation"
            evaluation = self.study.evaluation(self.participant)
            restarts = sum(event["kind"] == "restarted" for event in self._events)
            self._session = Session(
                self.participant.name, evaluation, where, self._changed, self._answered, restarts
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
        session = self._session
        if stage != "test" or session is None:
            return message
        view, design = session.desk.view, self.study.design
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
        self._browsers[send], self.seen = time.monotonic(), round(time.time(), 1)
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
            self._start()
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

    async def look(self) -> None:
        """Note browsers that give no sign of life."""
        for send, seen in list(self._browsers.items()):
            if time.monotonic() - seen > SILENT:
                await self.leave(send, "lost")


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
        studies: The studies, by their names.
    """

    def __init__(self, studies: Mapping[str, Study]) -> None:
        self.studies = dict(studies)
        self._there: dict[str, Attendance] = {}
        self._opening = asyncio.Lock()

    def find(self, token: str) -> tuple[Study, Participant] | None:
        """Whose link it is."""
        for study in list(self.studies.values()):  # others may be added meanwhile
            if participant := study.find(token):
                return study, participant
        return None

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

    async def forget(self, token: str) -> None:
        """Let go of a participant."""
        if (attendance := self._there.pop(token, None)) is not None:
            await attendance.close()

    async def withdraw(self, token: str) -> None:
        """Delete everything of a participant, and tell their browsers.

        Raises:
            OmnimeterError: It cannot be deleted.
        """
        if (known := self.find(token)) is None:
            return
        attendance = self._there.get(token)
        await self.forget(token)
        study, participant = known
        await asyncio.to_thread(study.withdraw, participant)
        if attendance is not None:
            await attendance.tell({"type": "state", "stage": "withdrawn"})

    async def watch(self) -> None:
        """Look after those who are there, until this is cancelled."""
        while True:
            await asyncio.sleep(5)
            for token, each in list(self._there.items()):
                try:
                    await each.look()
                    if each.is_idle:
                        await self.forget(token)
                except OmnimeterError:  # the others are looked after all the same
                    logging.getLogger(__name__).exception("A participant cannot be watched.")

    async def close(self) -> None:
        """Interrupt all tests."""
        await asyncio.gather(*(self.forget(token) for token in list(self._there)))
