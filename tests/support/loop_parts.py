"""An environment and an agent for tests of the loop, which do what they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from omnimeter.contract import (
    Agent,
    Briefing,
    Budget,
    Environment,
    Observation,
    Percept,
    Trace,
    single,
    stream,
)
from omnimeter.contract.spec import Stream
from omnimeter.interaction import interact

SECOND = 1_000_000_000


def streams(side: str) -> Stream:
    return stream(1, side)


class Ladder(Environment):
    """Pays 0.5 at first and then the action over ten; shows how many actions there were."""

    actions = 3
    space = single(1000)

    def __init__(self) -> None:
        self.performed: list[int] = []

    def start(self, rng: np.random.Generator) -> Percept:
        return Percept(0.5, 0)

    def step(self, action: int) -> Percept:
        self.performed.append(action)
        return Percept(action / 10, len(self.performed))


class Player(Agent):
    """Gives the answers of a list, one after the other; what is callable is called."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self.answers = list(answers)
        self.heard: list[tuple[float, Any]] = []
        self.last: tuple[float, Any] | None = None

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.briefing, self.rng = briefing, rng

    def act(self, reward: float, observation: Observation) -> Any:
        self.heard.append((reward, observation))
        answer = self.answers[len(self.heard) - 1]
        return answer() if callable(answer) else answer

    def finish(self, reward: float, observation: Observation) -> None:
        self.last = (reward, observation)


def play(answers: Sequence[Any], budget: Budget, **conditions: Any) -> tuple[Trace, Player, Ladder]:
    player, ladder = Player(answers), Ladder()
    return interact(ladder, player, budget, streams, **conditions), player, ladder


def raising(error: BaseException) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer
