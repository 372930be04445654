"""An agent that keeps every rule, and others that break one each."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Agent, Briefing, InvalidInputError, Move, Observation


class Careful(Agent):
    """Keeps every rule: repeats what was good, or else draws anew."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.actions = briefing.actions
        self.rng = rng
        self.last = 0

    def act(self, reward: float, observation: Observation) -> int | Move:
        if reward <= 0:
            self.last = int(self.rng.integers(self.actions))
        return self.last


ONLY_ONE = Careful()


def always_the_same_object() -> Agent:
    return ONLY_ONE


class Overreaching(Careful):
    def act(self, reward: float, observation: Observation) -> int | Move:
        return self.actions


class Unprepared(Careful):
    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        super().begin(briefing, rng)
        del self.last

    def finish(self, reward: float, observation: Observation) -> None:
        self.last += 1

    def act(self, reward: float, observation: Observation) -> int | Move:
        self.last = int(self.rng.integers(self.actions))
        return self.last


class Capricious(Careful):
    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        super().begin(briefing, rng)
        self.rng = np.random.default_rng()


class Gambling(Careful):
    def act(self, reward: float, observation: Observation) -> int | Move:
        random.random()
        return super().act(reward, observation)


class Scribbling(Careful):
    def act(self, reward: float, observation: Observation) -> int | Move:
        if isinstance(observation, np.ndarray):
            observation[:] = 1 - observation
        return super().act(reward, observation)


class Gossiping(Careful):
    """Every agent goes on from where the last one of its class left off."""

    common: ClassVar[list[int]] = []

    def act(self, reward: float, observation: Observation) -> int | Move:
        self.common.append(1)
        return len(self.common) // 7 % self.actions


class Inconsistent(RandomAgent):
    """Claims kernels of its own, and does something else in Python."""

    kernels = RandomAgent.kernels

    def act(self, reward: float, observation: Observation) -> int | Move:
        return 0


class Fussy(Careful):
    """No environment is good enough."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        raise InvalidInputError("Not here.")


ACTING = {
    "test_same_seed_same_actions",
    "test_randomness_comes_from_the_generator",
    "test_agents_share_nothing",
}

BROKEN: dict[str, tuple[Callable[[], Agent], set[str]]] = {
    # The rule, the agent that breaks it, and the rules that it necessarily breaks too.
    "test_agents_are_agents": (always_the_same_object, set()),
    "test_actions_are_valid": (Overreaching, ACTING | {"test_observations_are_not_modified"}),
    "test_may_finish_at_any_time": (Unprepared, set()),
    "test_same_seed_same_actions": (Capricious, ACTING),
    "test_randomness_comes_from_the_generator": (Gambling, set()),
    "test_observations_are_not_modified": (Scribbling, set()),
    "test_agents_share_nothing": (Gossiping, ACTING),
    "test_compiled_and_stepwise_agree": (Inconsistent, set()),
}
