"""A session: one participant takes one test, at a desk that browsers reach.

The test is an ordinary stored evaluation, and the participant an ordinary agent (``person-v1``)
whose answers are journaled before what they brought is shown. So whatever happens to the browser,
the network or the server, the test goes on at the exact step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from pathlib import Path
from threading import TIMEOUT_MAX, Condition, Thread
from typing import Any

from omnimeter import results
from omnimeter.agents.people import Desk, Scene, seat
from omnimeter.api.result import opened
from omnimeter.contract import OmnimeterError
from omnimeter.contract.errors import StoreError
from omnimeter.execution import Options, evaluate
from omnimeter.protocols import Evaluation
from omnimeter.results.files import Layout
from omnimeter.results.journal import Journals

Record = Callable[[Mapping[str, Any]], None]

STEPS = 10**7
"""Steps of an exercise at the most, as ``View.seq`` counts them."""

EXERCISES = 10**6
"""Exercises of a test at the most, likewise."""


class Phase(StrEnum):
    """What a desk waits for."""

    BUSY = "busy"
    READY = "ready"
    """That the participant wants the next exercise."""
    ASKED = "asked"
    """An action."""
    OVER = "over"
    """Nothing: the test is over."""
    CLOSED = "closed"
    """Nothing: the server ends, or the evaluation cannot go on (``trouble``)."""


@dataclass(frozen=True)
class View:
    """What a participant sees at a moment.

    Attributes:
        seq: Counts what the desk has waited for; an answer names it, so that none counts twice.
            It follows from exercise and step, so that it is the same after an interruption.
        phase: What it waits for.
        exercise: The number of the exercise, from 1 on.
        step: How many actions have been done in it.
        actions: How many there are to choose from.
        scene: What is shown, if anything.
        reward: The last reward; that of the exercise before while it waits for the next one.
        trouble: Why it is closed, if it could not go on.
    """

    seq: int = 0
    phase: Phase = Phase.BUSY
    exercise: int = 0
    step: int = 0
    actions: int = 0
    scene: Scene | None = None
    reward: float = 0.0
    trouble: str = ""


class ParticipantDesk(Desk):
    """The desk of a participant, between the thread of the test and those who serve browsers.

    Args:
        done: How many exercises are stored; they are not taken again.
        under_way: How many exercises had been begun when the test was interrupted.
        changed: Told of every new view, in the thread of the test.
        record: Told of every answer with what the browser says of it, in the same thread.
        restarts: How often an exercise was begun anew; answers from before are stale.
    """

    def __init__(
        self,
        done: int = 0,
        under_way: int = 0,
        changed: Callable[[View], None] = lambda view: None,  # noqa: ARG005
        record: Record = lambda told: None,  # noqa: ARG005
        restarts: int = 0,
    ) -> None:
        self._first = restarts * EXERCISES * STEPS
        self._condition, self._changed, self._record = Condition(), changed, record
        self._view = View(exercise=done)
        self._answer: int | None = None
        self._told: Mapping[str, Any] | None = None
        self._resumed = done + under_way
        self._closed = False

    @property
    def view(self) -> View:
        """What the participant sees now."""
        with self._condition:
            return self._view

    def answer(self, seq: int, action: int | None, told: Mapping[str, Any] | None = None) -> bool:
        """Take an answer; whether it counts: a second one, or one that is stale, does not.

        It is durable once the next view is shown.

        Args:
            seq: What it answers.
            action: The action; ``None`` for the wish to go on.
            told: What the browser says of it, such as the reaction time, which is recorded.

        Raises:
            ValueError: There is no such action.
        """
        with self._condition:
            wanted = Phase.READY if action is None else Phase.ASKED
            if self._closed or seq != self._view.seq or self._view.phase is not wanted:
                return False
            if action is not None and not 0 <= action < self._view.actions:
                raise ValueError(f"there is no action {action}")
            self._answer, self._told = action, told
            self._view = replace(self._view, phase=Phase.BUSY)
            self._condition.notify_all()
            return True

    def close(self, trouble: str = "") -> None:
        """Interrupt the test, which can go on later."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._show(phase=Phase.CLOSED, trouble=trouble)

    def end(self) -> None:
        """The test is over."""
        self._show(phase=Phase.OVER)

    def begin(self, actions: int) -> None:
        """Wait until the participant wants the next exercise, unless it had been begun."""
        exercise = self._view.exercise + 1
        seq = self._first + exercise * STEPS
        if exercise > self._resumed:
            self._show(phase=Phase.READY, exercise=exercise, step=0, actions=actions, seq=seq)
            self._wait(Phase.READY)
        self._show(
            phase=Phase.BUSY, exercise=exercise, step=0, actions=actions, seq=seq + 1,
            scene=None, reward=0.0,
        )  # fmt: skip

    def ask(self, scene: Scene, reward: float, seconds: float) -> int | None:
        """Show a scene, and wait for an action; no longer than the exercise lasts."""
        self._show(phase=Phase.ASKED, scene=scene, reward=reward)
        action = self._wait(Phase.ASKED, seconds)
        if action is not None:
            self._count()
        return action

    def recall(self, reward: float, action: int) -> None:  # noqa: ARG002
        """Count an action from before an interruption."""
        self._count()

    def finish(self, scene: Scene, reward: float) -> None:
        """Show what the last action brought."""
        self._show(phase=Phase.BUSY, scene=scene, reward=reward)

    def _count(self) -> None:
        with self._condition:
            self._view = replace(self._view, seq=self._view.seq + 1, step=self._view.step + 1)

    def _show(self, **changes: Any) -> None:
        with self._condition:
            self._view = view = replace(self._view, **changes)
        self._changed(view)

    def _wait(self, phase: Phase, seconds: float = inf) -> int | None:
        """Wait for the answer to what is shown, which may be there already, while there is time."""
        with self._condition:
            self._condition.wait_for(
                lambda: self._closed or self._view.phase is not phase,
                None if seconds == inf else min(seconds, TIMEOUT_MAX),
            )
            if self._closed:
                raise KeyboardInterrupt
            if self._view.phase is phase:  # answers are too late from now on
                self._view = replace(self._view, phase=Phase.BUSY)
                return None
            answer, told, view = self._answer, self._told, self._view
        if told is not None:
            place = {"seq": view.seq, "exercise": view.exercise, "step": view.step}
            try:
                self._record({**place, **told})
            except StoreError as error:  # no fault of the participant's
                logging.getLogger(__name__).error("An answer cannot be stored: %s", error)
                self.close(str(error))
                raise KeyboardInterrupt from error
        return answer


class Session:
    """A participant's test under way, in a thread of its own.

    Args:
        participant: The name of the participant.
        evaluation: The test, whose only agent is this person.
        directory: Where it is stored; it goes on there.
        changed: Told of every new view, in the thread of the test.
        record: As for ``ParticipantDesk``.
        restarts: Likewise.
    """

    def __init__(
        self,
        participant: str,
        evaluation: Evaluation,
        directory: Path,
        changed: Callable[[View], None] = lambda view: None,  # noqa: ARG005
        record: Record = lambda told: None,  # noqa: ARG005
        restarts: int = 0,
    ) -> None:
        self.participant = participant
        self._evaluation, self._directory = evaluation, directory
        layout = Layout(directory)
        done = under_way = 0
        if layout.spec.exists():
            keys = {f"{key:016x}" for key in results.Record(directory).outcomes().keys.tolist()}
            done = len(keys)
            under_way = len(Journals(str(layout.journal)).keys() - keys)
        self.desk = ParticipantDesk(done, under_way, changed, record, restarts)
        self._thread = Thread(target=self._run, name=f"session {participant}", daemon=True)

    def start(self) -> None:
        """Begin, or go on."""
        self._thread.start()

    def stop(self, timeout: float = 10.0) -> bool:
        """Interrupt the test; whether its thread has ended by then."""
        self.desk.close()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        seat(self.desk)
        try:
            with opened(self._evaluation, self._directory) as writer:
                result = evaluate(self._evaluation, writer, Options())
            if result.complete:
                self.desk.end()
            elif self.desk.view.phase is not Phase.CLOSED:  # which may say why
                self.desk.close()
        except OmnimeterError as error:
            logging.getLogger(__name__).error("The test of %s ended: %s", self.participant, error)
            self.desk.close(str(error))
        except Exception as error:  # else the participant would wait for ever
            logging.getLogger(__name__).exception("The test of %s ended.", self.participant)
            self.desk.close(f"{type(error).__name__}: {error}")
