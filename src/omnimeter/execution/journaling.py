"""Costly agents: what each answers is journaled before it counts, and not asked for again."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from hashlib import blake2b
from time import perf_counter_ns

import numpy as np

from omnimeter.contract import Agent, Briefing, Move, Observation, Space
from omnimeter.interaction.handles import (
    AgentHandle,
    LocalAgent,
    infrastructure_error,
    read_move,
    shown,
)
from omnimeter.results.journal import Entry, Journal


class Journaling(StrEnum):
    """Whose exercises are journaled; ``AUTO``: those of agents that say that they are costly."""

    AUTO = "auto"
    ALL = "all"
    NONE = "none"


class JournaledAgent(AgentHandle):
    """An agent whose answers are journaled; those that are in its journal are taken from there.

    Costs about 10 microseconds of processor time for each answer beside flushing it to the disk
    (``benchmarks/journal.py``).

    Args:
        inner: The agent.
        open_journal: Opens the journal of the exercise, when the agent is first asked.

    Attributes:
        past_ns: The nanoseconds of the answers that were taken from the journal.
    """

    def __init__(self, inner: Agent | AgentHandle, open_journal: Callable[[], Journal]) -> None:
        self._inner = LocalAgent(inner) if isinstance(inner, Agent) else inner
        self._open = open_journal
        self.sees_scenes = self._inner.sees_scenes
        self._journal: Journal | None = None
        self._past = deque[Entry]()
        self._count = self._actions = self.past_ns = 0

    @property
    def view(self) -> str | None:  # noqa: D102 - see AgentHandle
        return self._inner.view

    @property
    def costly(self) -> bool:  # noqa: D102 - see AgentHandle
        return self._inner.costly

    def calibrate(self, space: Space) -> None:  # noqa: D102 - see AgentHandle
        self._inner.calibrate(space)
        self.transport = self._inner.transport

    def begin(self, briefing: Briefing, seed: int) -> None:  # noqa: D102 - see AgentHandle
        self._inner.begin(briefing, seed)
        self.warm, self._actions = self._inner.warm, briefing.actions

    def ask(self, reward: float, observation: Observation, left: int | None) -> tuple[object, int]:  # noqa: D102
        if self._journal is None:
            self._journal = self._open()
            self._past.extend(self._journal.past)
        given = digest(reward, observation)
        self._count += 1
        self.replayed = bool(self._past)
        if self.replayed:
            return self._recorded(reward, observation, given)
        before = perf_counter_ns()
        answer, elapsed = self._inner.ask(reward, observation, left)
        took = perf_counter_ns() - before if left is None else elapsed
        action = seconds = None
        if answer is not None:
            action, _ = read_move(answer, self._actions)  # what is no answer is not kept
            seconds = answer.seconds if isinstance(answer, Move) and action >= 0 else None
        self._journal.append(Entry(reward, given, action, seconds, took))
        return answer, elapsed

    def recall(self, reward: float, observation: Observation, action: int) -> None:  # noqa: D102
        self._inner.recall(reward, observation, action)

    def wait(self, delay: int) -> None:
        """Let the nanoseconds pass that the agent declared, unless that was done before."""
        if self.replayed:
            self.past_ns += delay
        else:
            self._inner.wait(delay)

    def finish(self, reward: float, observation: Observation) -> None:  # noqa: D102 - see AgentHandle
        if self._past:
            raise self._misfit(f"its exercise is over before its interaction {self._count + 1}")
        self._inner.finish(reward, observation)

    def close(self) -> None:
        """Let go of the journal."""
        if self._journal is not None:
            self._journal.close()

    def _recorded(self, reward: float, observation: Observation, given: str) -> tuple[object, int]:
        """The recorded answer to the same, of which the agent is told."""
        entry = self._past.popleft()
        if entry.shown != given:
            what = "another observation"
            if entry.reward != reward:
                what = f"the reward {reward} instead of {entry.reward}"
            raise self._misfit(f"the environment gives {what} before interaction {self._count}")
        self.past_ns += entry.elapsed
        if entry.action is None:  # it did not answer in time
            return None, entry.elapsed
        self._inner.recall(reward, observation, entry.action)
        if entry.seconds is None:
            return entry.action, entry.elapsed
        return Move(entry.action, entry.seconds), entry.elapsed

    def _misfit(self, why: str) -> Exception:
        assert self._journal is not None  # something was taken from it
        name = self._journal.path.name
        advice = "Another version of a part may have made it; remove it to begin the exercise anew."
        return infrastructure_error(f"The journal {name} does not fit: {why}. {advice}")


def digest(reward: float, observation: Observation) -> str:
    """What stands in a journal for all that an agent is given at once.

    Raises:
        AgentFault: It is no observation.
    """
    try:
        content = np.asarray(observation, dtype=np.int64).tobytes()
    except (TypeError, ValueError, OverflowError) as error:
        raise infrastructure_error(f"{shown(observation)} cannot be journaled.") from error
    return blake2b(struct.pack("<d", reward) + content, digest_size=16).hexdigest()
