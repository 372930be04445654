"""Parts made of kernels that do odd things on demand."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import Briefing, Instance, Space, single
from omnimeter.kernels import (
    AgentKernels,
    EnvironmentKernels,
    KernelAgent,
    KernelEnvironment,
    KernelEnvironmentClass,
    below,
    generator_state,
    kernel,
)


class BoxState(NamedTuple):
    """How many actions there were, what each pays, and the first reward; all else is luggage."""

    count: Any
    pays: Any
    first: Any
    rng: Any
    luggage: Any


@kernel
def reset(state):
    state.count[0] = 0
    return state.first[0]


@kernel
def step(state, action):
    state.count[0] += 1
    if state.luggage[0]:
        raise ValueError("the luggage is too heavy")
    return state.pays[action]


@kernel
def observe(state, out):
    out[0] = state.count[0]
    out[1] = below(state.rng, 7)


KERNELS = EnvironmentKernels(BoxState, reset, step, observe)


class Boxes(KernelEnvironmentClass):
    """Boxes that pay what their instance says."""

    kernels = KERNELS

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return box(0.1, 0.2, 0.3)

    def complexity(self, instance: Instance) -> float:
        return 1.0

    def build(self, instance: Instance) -> KernelEnvironment:
        data = instance.data
        state = BoxState(
            np.zeros(1, dtype=np.int32),
            np.array(data["pays"], dtype=np.float64),
            np.array([data["first"]], dtype=np.float64),
            generator_state(),
            np.array([data["heavy"], False]),
        )
        return KernelEnvironment(KERNELS, state, len(data["pays"]), Space((10_000, 7)))


def box(*pays: float, first: float = 0.0, heavy: bool = False) -> Instance:
    return Instance({"pays": pays, "first": first, "heavy": heavy})


class TellerState(NamedTuple):
    """What to do and how long to take, line by line, and what was heard."""

    actions: Any
    delays: Any
    place: Any
    heard: Any


@kernel
def begin(state):
    state.place[0] = 0


@kernel
def act(state, reward, observation):
    place = state.place[0]
    state.place[0] = place + 1
    state.heard[0] += reward
    return state.actions[place % len(state.actions)]


@kernel
def delay(state):
    return state.delays[(state.place[0] - 1) % len(state.delays)]


@kernel
def finish(state, reward, observation):
    state.heard[0] += reward


class Teller(KernelAgent):
    """Does what it is told, for ever."""

    kernels = AgentKernels(TellerState, begin=begin, act=act, finish=finish, delay=delay)

    def __init__(self, actions: list[int], delays: list[int] | None = None) -> None:
        self.actions = actions
        self.delays = delays or [0]

    def initial_state(self, briefing: Briefing) -> TellerState:
        if len(briefing.space.sizes) == 1:
            raise ValueError("there is too little to see")
        return TellerState(
            np.array(self.actions), np.array(self.delays), np.zeros(1, dtype=np.int64), np.zeros(1)
        )


@kernel
def act_by_halves(state, reward, observation):
    return state.actions[0] * 0.5


class HalfTeller(Teller):
    """Its actions are not integers, so no environment can be compiled together with it."""

    kernels = AgentKernels(TellerState, begin=begin, act=act_by_halves, finish=finish, delay=delay)


@kernel
def act_in_turn(state, reward, observation):
    return state.actions[observation[0] % len(state.actions)]


class BriefTeller(Teller):
    """Has nothing to do before its first action and after its last one."""

    kernels = AgentKernels(TellerState, act=act_in_turn)


@kernel
def act_late(state, reward, observation):
    return state.actions[0]


class LateTeller(Teller):
    """Only one test uses it, so that nothing of it is loaded before."""

    kernels = AgentKernels(TellerState, begin=begin, act=act_late, finish=finish)


@kernel
def step_late(state, action):
    return state.pays[action]


LATE = EnvironmentKernels(BoxState, reset, step_late, observe)
NARROW = single(3)
