"""A learner with a table of values, made of kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import Briefing, InvalidInputError
from omnimeter.kernels import AgentKernels, KernelAgent, below, generator_state, kernel, uniform

LARGEST_TABLE = 2**20
ROW, ACTION = 0, 1


class TableState(NamedTuple):
    """What the learner knows; ``last`` holds the row and the action before, or -1."""

    values: Any
    sizes: Any
    last: Any
    rates: Any
    rng: Any


@kernel
def row_of(state, observation):
    """Where the values of the actions begin that can be taken on seeing this."""
    row = 0
    for component in range(len(observation)):
        row = row * state.sizes[component] + observation[component]
    return row * state.sizes[len(observation)]


@kernel
def best(state, row):
    """The first of the actions with the highest value."""
    chosen = 0
    for action in range(1, state.sizes[-1]):
        if state.values[row + action] > state.values[row + chosen]:
            chosen = action
    return chosen


@kernel
def learn(state, reward, row):
    """Move the value of the last action towards what it brought."""
    if state.last[ACTION] >= 0:
        cell = state.last[ROW] + state.last[ACTION]
        ahead = state.values[row + best(state, row)]
        state.values[cell] += state.rates[0] * (
            reward + state.rates[1] * ahead - state.values[cell]
        )


@kernel
def begin(state):
    """Know nothing."""
    state.values[:] = 0.0
    state.last[:] = -1


@kernel
def act(state, reward, observation):
    """Learn from the reward, then mostly do what seems best."""
    row = row_of(state, observation)
    learn(state, reward, row)
    explores = uniform(state.rng) < state.rates[2]
    action = below(state.rng, state.sizes[-1]) if explores else best(state, row)
    state.last[ROW] = row
    state.last[ACTION] = action
    return action


@kernel
def finish(state, reward, observation):
    """Learn from the last reward."""
    learn(state, reward, row_of(state, observation))


class TableLearner(KernelAgent):
    """A Q-learner with one value for each observation and action.

    Args:
        rate: How far a value moves towards what an action brought, in (0, 1].
        discount: How much the next value counts, in [0, 1).
        exploration: How often an action is drawn at random, in [0, 1].
    """

    kernels = AgentKernels(TableState, begin=begin, act=act, finish=finish)

    def __init__(self, rate: float = 0.2, discount: float = 0.8, exploration: float = 0.1) -> None:
        if not (0 < rate <= 1 and 0 <= discount < 1 and 0 <= exploration <= 1):
            raise ValueError("rate, discount and exploration lie between 0 and 1")
        self.rates = np.array([rate, discount, exploration])

    def initial_state(self, briefing: Briefing) -> TableState:
        if briefing.space.count * briefing.actions > LARGEST_TABLE:
            raise InvalidInputError("There are too many observations for a table.")
        return TableState(
            values=np.zeros(briefing.space.count * briefing.actions),
            sizes=np.array([*briefing.space.sizes, briefing.actions], dtype=np.int64),
            last=np.full(2, -1, dtype=np.int64),
            rates=self.rates.copy(),
            rng=generator_state(),
        )
