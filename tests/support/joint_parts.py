"""An environment class with seats for several agents, agents for it, and what comes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from agreement import digest
from omnimeter.contract import Briefing, Budget, Exercise, Instance, Space, Spec, single
from omnimeter.interaction import run
from omnimeter.kernels import (
    AgentKernels,
    EnvironmentKernels,
    KernelAgent,
    KernelEnvironment,
    KernelEnvironmentClass,
    below,
    generator_state,
    kernel,
    uniform,
)


class RingState(NamedTuple):
    """Where the prize and every agent are; how wide each view is; what goes wrong, and when."""

    prize: Any
    places: Any
    wide: Any
    count: Any
    sour: Any
    rng: Any


@kernel
def reset(state):
    cells = state.count[1]
    state.count[0] = 0
    state.prize[0] = below(state.rng, cells)
    for seat in range(len(state.places)):
        state.places[seat] = below(state.rng, cells)
    return 0.25


@kernel
def step_joint(state, actions, rewards):
    cells = state.count[1]
    state.count[0] += 1
    state.prize[0] = (state.prize[0] + below(state.rng, 2)) % cells
    winners = 0
    for seat in range(len(state.places)):
        state.places[seat] = (state.places[seat] + actions[seat]) % cells
        winners += state.places[seat] == state.prize[0]
    for seat in range(len(state.places)):
        rewards[seat] = 1.0 / winners if state.places[seat] == state.prize[0] else 0.0
    if state.count[0] == state.sour[0]:
        rewards[state.sour[1]] = np.nan
    if state.count[0] == state.sour[2]:
        raise ValueError("the ring is broken")


@kernel
def step(state, action):
    actions = np.full(1, action)
    rewards = np.zeros(1)
    step_joint(state, actions, rewards)
    return rewards[0]


@kernel
def observe_from(state, seat, out):
    out[0] = state.places[seat]
    if state.wide[seat]:
        out[1] = state.prize[0]
        for other in range(len(state.places)):
            out[2 + other] = state.places[other]


@kernel
def observe(state, out):
    observe_from(state, 0, out)


KERNELS = EnvironmentKernels(RingState, reset, step, observe, step_joint, observe_from)


class Ring(KernelEnvironmentClass):
    """A prize wanders on a ring of cells; those who stand on it share it."""

    kernels = KERNELS
    views = ("narrow", "wide")

    def __init__(self) -> None:
        self.seated: Sequence[str | None] = [None]

    def with_views(self, views: Sequence[str | None]) -> Ring:
        """As many as like."""
        other = type(self)()
        other.seated = tuple(views)
        return other

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return ring(int(rng.integers(3, 9)))

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["cells"])

    def build(self, instance: Instance) -> KernelEnvironment:
        cells, seats = instance.data["cells"], len(self.seated)
        wide = [view != "narrow" for view in self.seated]
        spaces = [Space((cells,) * (2 + seats)) if each else single(cells) for each in wide]
        state = RingState(
            np.zeros(1, dtype=np.int64),
            np.zeros(seats, dtype=np.int64),
            np.array(wide),
            np.array([0, cells]),
            np.array(instance.data["sour"]),
            generator_state(),
        )
        return KernelEnvironment(
            KERNELS, state, 3, spaces[0], rewards=(0.0, 1.0), others=spaces[1:]
        )


def ring(cells: int = 5, nan_at: int = 0, nan_for: int = 0, raises_at: int = 0) -> Instance:
    return Instance({"cells": cells, "sour": [nan_at, nan_for, raises_at]})


class WandererState(NamedTuple):
    """What each action brought so far, how curious it is, and what is done now."""

    brought: Any
    now: Any
    rng: Any


@kernel
def wander_begin(state):
    state.now[0] = -1


@kernel
def wander_learn(state, reward):
    if state.now[0] >= 0:
        state.brought[state.now[0]] += 0.1 * (reward - state.brought[state.now[0]])


@kernel
def wander_act(state, reward, observation):
    wander_learn(state, reward)
    action = 0
    for other in range(len(state.brought)):
        if state.brought[other] > state.brought[action]:
            action = other
    if uniform(state.rng) < 0.3:
        action = (below(state.rng, 3) + observation[0]) % len(state.brought)
    state.now[0] = action
    return action


@kernel
def wander_finish(state, reward, observation):
    wander_learn(state, reward)


class Wanderer(KernelAgent):
    """Does what paid, and sometimes something else; sees where it is."""

    kernels = AgentKernels(WandererState, begin=wander_begin, act=wander_act, finish=wander_finish)

    def __init__(self, view: str | None = None) -> None:
        self.view = view

    def initial_state(self, briefing: Briefing) -> WandererState:
        return WandererState(
            np.zeros(briefing.actions), np.zeros(1, dtype=np.int64), generator_state()
        )


class ReciterState(NamedTuple):
    """What to do, line by line."""

    actions: Any
    place: Any


@kernel
def recite_begin(state):
    state.place[0] = 0


@kernel
def recite_act(state, reward, observation):
    place = state.place[0]
    state.place[0] = place + 1
    return int(state.actions[place % len(state.actions)])


@kernel
def recite_finish(state, reward, observation):
    state.place[0] = len(observation)


class Reciter(KernelAgent):
    """Does what it is told, for ever."""

    kernels = AgentKernels(ReciterState, begin=recite_begin, act=recite_act, finish=recite_finish)

    def __init__(self, actions: list[int], view: str | None = None) -> None:
        self.actions = actions
        self.view = view

    def initial_state(self, briefing: Briefing) -> ReciterState:
        return ReciterState(np.array(self.actions), np.zeros(1, dtype=np.int64))


@kernel
def recite_delay(state):
    return 300_000_000 * (state.place[0] % 5 - 1)


class SlowReciter(Reciter):
    """Takes its time, now and then."""

    kernels = AgentKernels(
        ReciterState, begin=recite_begin, act=recite_act, finish=recite_finish, delay=recite_delay
    )


@kernel
def recite_for_ages(state):
    return 10**17 if state.place[0] == 7 else 2_000_000_000


class EternalReciter(Reciter):
    """Once it declares a delay that cannot be."""

    kernels = AgentKernels(
        ReciterState,
        begin=recite_begin,
        act=recite_act,
        finish=recite_finish,
        delay=recite_for_ages,
    )


@kernel
def recite_halves(state, reward, observation):
    return state.actions[0] * 0.5


class HalfReciter(Reciter):
    """Its actions are not integers, so no joint run with it can be compiled."""

    kernels = AgentKernels(
        ReciterState, begin=recite_begin, act=recite_halves, finish=recite_finish
    )


JOINT_AGENTS = tuple(Spec("agent", {"seat": seat}) for seat in range(3))


def joint(instance: Instance | None = None, members: int = 2, **conditions: Any) -> Exercise:
    """The exercise of the first agent of a joint run."""
    given = {"budget": Budget(interactions=40), "number": 0, "joint": JOINT_AGENTS[:members]}
    return Exercise(
        JOINT_AGENTS[0], Spec("ring"), instance or ring(), seed=5, **{**given, **conditions}
    )


AGENTS: dict[str, list[KernelAgent]] = {
    "two alike": [Wanderer(), Wanderer("narrow")],
    "three": [Wanderer("narrow"), Reciter([1, 0, 2]), Wanderer("wide")],
    "slow": [SlowReciter([1, 0, 2]), EternalReciter([0, 1])],
    "one stops": [Reciter([1, 2, -1], "narrow"), Wanderer()],
    "all stop": [Reciter([1, -1]), Reciter([0, 2, 0, -1])],
    "one fails": [Reciter([2, 1, 1, 7]), Wanderer()],
    "all end": [Reciter([2, 1, 7]), Reciter([-2])],
}

EXERCISES: list[dict[str, Any]] = [
    {},
    {"budget": Budget(interactions=0)},
    {"budget": Budget(interactions=1), "number": 1},
    {"budget": Budget(seconds=12.5), "instance": ring(7)},
    {"budget": Budget(interactions=5, seconds=200), "number": 3},
    {"instance": ring(4, nan_at=9, nan_for=1)},
    {"instance": ring(4, raises_at=9)},
]


def everything() -> dict[str, str]:
    """All agents in all exercises, as far as possible compiled."""
    return {
        f"{label} {number}": digest(traces)
        for label, agents in AGENTS.items()
        for number, traces in enumerate(
            run(
                Ring(),
                agents,
                [joint(members=len(agents), **each) for each in EXERCISES],
                record=True,
            )
        )
    }
