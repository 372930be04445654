"""People: agents whose answers are given at a desk, one at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextvars import ContextVar
from math import inf
from typing import Any

import numpy as np

from omnimeter.contract import Agent, Briefing, InvalidInputError, Observation

Scene = Mapping[str, Any]


class Desk(ABC):
    """Where a person takes a test: it shows scenes and waits for answers.

    A method that waits raises ``KeyboardInterrupt`` when the desk is closed: the exercise is then
    interrupted, and goes on later from its journal.
    """

    @abstractmethod
    def begin(self, actions: int) -> None:
        """An exercise begins, with so many actions."""

    @abstractmethod
    def ask(self, scene: Scene, reward: float, seconds: float) -> int | None:
        """Show a scene, and wait so long for an action, if not for ever; -1 to stop."""

    @abstractmethod
    def recall(self, reward: float, action: int) -> None:
        """The person has been asked this before an interruption, and this was the answer."""

    @abstractmethod
    def finish(self, scene: Scene, reward: float) -> None:
        """The exercise is over: what the last action brought."""


_present: ContextVar[Desk | None] = ContextVar("desk", default=None)
"""The desk of this thread: people of several studies may have the same name."""


def seat(desk: Desk | None) -> None:
    """Let a person's answers in this thread come from a desk; from none any more with ``None``."""
    _present.set(desk)


class Person(Agent):
    """A person who takes exercises in a browser, at the desk of a study's server.

    Every answer is journaled before what it brought is shown.

    Args:
        participant: The name of the participant in the study.
    """

    costly = True
    sees_scenes = True

    def __init__(self, participant: str = "participant") -> None:
        self.participant = participant
        self._desk: Desk | None = None
        self._scene: Any = None

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Sit down.

        Raises:
            InvalidInputError: There is no desk in this thread.
        """
        self._desk, self._scene = _present.get(), briefing.scene
        if self._desk is None or self._scene is None:
            message = f"The person {self.participant!r} is not here."
            raise InvalidInputError(message, "People take tests of a study: omnimeter serve.")
        self._desk.begin(briefing.actions)

    def act(self, reward: float, observation: Observation) -> int:
        """Ask the person, who may take any time."""
        action = self.act_in_time(reward, observation, inf)
        assert action is not None  # there is time for ever
        return action

    def act_in_time(self, reward: float, observation: Observation, seconds: float) -> int | None:
        """Ask the person."""
        assert self._desk is not None  # begun
        return self._desk.ask(self._scene(observation, reward), reward, seconds)

    def recall(self, reward: float, observation: Observation, action: int) -> None:  # noqa: ARG002
        """The person knows what happened before an interruption."""
        assert self._desk is not None  # begun
        self._desk.recall(reward, action)

    def finish(self, reward: float, observation: Observation) -> None:
        """Show what the last action brought."""
        if self._desk is not None:
            self._desk.finish(self._scene(observation, reward), reward)
