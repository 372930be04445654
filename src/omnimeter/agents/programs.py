"""An agent that is a program in any language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omnimeter.catalogue import with_digest
from omnimeter.catalogue.programs import ID
from omnimeter.contract import (
    Agent,
    Briefing,
    InvalidInputError,
    Move,
    Observation,
    Prior,
    Spec,
)
from omnimeter.interaction.process import AgentProcess
from omnimeter.interaction.sandbox import is_agents_process


class Command(Agent):
    """A program in any language that speaks the wire format, in a process of its own.

    It is contained and limited as agents from files are. The files that the command names, and
    those of ``files``, are its files: it can read them, and a change of one makes it another agent.

    Args:
        run: The command, as in a terminal: ``node agent.js``, ``./agent --depth 3``.
        files: What it reads besides: names of files, folders or patterns, such as ``lib/*.js``.
    """

    def __init__(self, run: str, files: str | Sequence[str] = ()) -> None:
        # The harness speaks with a program itself: here it is a part of another agent.
        if not is_agents_process():
            raise InvalidInputError(
                "A program cannot run in the process of the harness.",
                "Give isolation=auto, so that the agent that it is a part of has its own process.",
            )
        parameters = {"run": run, **({"files": files} if files else {})}
        self._spec = with_digest(Spec(ID, parameters))
        self._process = AgentProcess(self._spec)

    def __del__(self) -> None:
        if process := getattr(self, "_process", None):
            process.close()

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        """Let the program carry out its offline phase."""
        return self._process.prepare(prior, _seed(rng))

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        """Tell a new process of it."""
        self._process.close()
        self._process = AgentProcess(self._spec, prior=prior, prepared=prepared)

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Brief the program."""
        self._process.begin(briefing, _seed(rng))

    def act(self, reward: float, observation: Observation) -> int | Move:
        """Its answer."""
        return self._process.ask(reward, observation, None)[0]  # type: ignore[return-value] # the loop checks it

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        """Tell it what happened before an interruption."""
        self._process.recall(reward, observation, action)

    def finish(self, reward: float, observation: Observation) -> None:
        """Tell it the last reward and observation."""
        self._process.finish(reward, observation)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**64, dtype=np.uint64))
