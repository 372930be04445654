"""Learners of a model of the environment, and the cheat that uses one to fail on purpose."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.shared import (
    best_action,
    break_ties,
    observation_index,
    require,
    require_gamma,
    table_size,
)
from omnimeter.contract import Briefing
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import AgentKernels, KernelAgent, generator_state, kernel

ACTIONS, EFFORT, PAIR, KNOWN, CURSOR, STABLE = range(6)
GAMMA, TOLERANCE, SIGN = range(3)


class ModelState(NamedTuple):
    """What was learnt of each pair of an observation and an action, and how it is used.

    Attributes:
        table: The value of each pair, the actions of one observation side by side.
        visits: How often each pair was tried.
        rewards: The average reward after each pair.
        successors: The index of the observation that came after each pair the last time.
        known: The pairs that were tried, in the order in which they first were.
        numbers: The number of actions; the greatest number of backups per action; the last pair, -1
            before there is one; how many are known; which of them was backed up last; how many
            backups in a row changed nothing.
        rates: The discount factor; the greatest change of a value that does not count; for the
            cheat, whether it wants rewards (1) or their opposite (-1).
    """

    rng: NDArray[np.uint64]
    sizes: IntArray
    table: FloatArray
    visits: IntArray
    rewards: FloatArray
    successors: IntArray
    known: IntArray
    numbers: IntArray
    rates: FloatArray


@kernel
def back_up(state: Any, pair: Any) -> Any:
    """Compute the value of a pair from the model; return whether it changed."""
    actions = state.numbers[ACTIONS]
    greatest = best_action(state.table, state.successors[pair] * actions, actions)[0]
    value = state.rewards[pair] + state.rates[GAMMA] * greatest
    changed = abs(value - state.table[pair]) > state.rates[TOLERANCE]
    state.table[pair] = value
    return changed


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """Update the model, plan, and choose the action with the greatest value."""
    index = observation_index(observation, state.sizes)
    pair = state.numbers[PAIR]
    if pair >= 0:
        state.visits[pair] += 1
        state.rewards[pair] += (reward - state.rewards[pair]) / state.visits[pair]
        state.successors[pair] = index
        if state.visits[pair] == 1:
            state.known[state.numbers[KNOWN]] = pair
            state.numbers[KNOWN] += 1
        if back_up(state, pair):
            state.numbers[STABLE] = 0
    # Value iteration, a part of it at a time, until all values agree with the model: from the last
    # known pair to the first, because values propagate backwards along the way to a reward.
    for _ in range(state.numbers[EFFORT]):
        if state.numbers[STABLE] >= state.numbers[KNOWN]:
            break
        cursor = (state.numbers[CURSOR] if state.numbers[CURSOR] > 0 else state.numbers[KNOWN]) - 1
        state.numbers[CURSOR] = cursor
        changed = back_up(state, state.known[cursor])
        state.numbers[STABLE] = 0 if changed else state.numbers[STABLE] + 1
    row = index * state.numbers[ACTIONS]
    best = best_action(state.table, row, state.numbers[ACTIONS])
    action = break_ties(state.rng, state.table, row, best)
    state.numbers[PAIR] = row + action
    return action


@kernel
def cheat_act(state: Any, reward: Any, observation: Any) -> Any:
    """Act as a learner of rewards, or of their opposite."""
    return act(state, state.rates[SIGN] * reward, observation)


class ModelLearner(KernelAgent):
    """Learns what each action leads to after each observation, and plans by value iteration.

    Its initial values are optimistic. So it first tries all that may be worth the way, and then
    performs what is best for ever. Of an action with several outcomes it remembers the last
    observation and the average reward.

    Args:
        gamma: The discount factor, at least 0 and below 1.
        optimism: The reward that an untried action is assumed to bring for ever, from 0 for the
            lowest possible reward to 1 for the highest. With 1 it tries everything before it
            accepts less.
        max_updates: The greatest number of values that are computed for one action; the rest waits
            for the next.
    """

    kernels = AgentKernels(ModelState, act=act)
    view = "state"

    def __init__(self, gamma: float = 0.9, optimism: float = 0.9, max_updates: int = 1000) -> None:
        require_gamma(gamma)
        require(0 <= optimism <= 1, f"The optimism is {optimism}.", "Give a number from 0 to 1.")
        advice = "Give a whole number from 1 on, below 2**31."
        require(1 <= max_updates < 2**31, f"max_updates is {max_updates}.", advice)
        self.gamma, self.optimism, self.max_updates = gamma, optimism, max_updates

    def initial_state(self, briefing: Briefing) -> ModelState:
        """An empty model with optimistic values."""
        lowest, highest = briefing.rewards
        require(
            math.isfinite(highest - lowest),
            "Hope lies between the lowest and the highest reward, and here one is missing.",
            "Use another agent, or declare the lowest and the highest reward in rewards.",
        )
        pairs = table_size(briefing.space, briefing.actions, 2**20)  # some forty megabytes
        optimistic = lowest + self.optimism * (highest - lowest)
        return ModelState(
            generator_state(),
            np.array(briefing.space.sizes),
            np.full(pairs, optimistic / (1 - self.gamma)),
            np.zeros(pairs, dtype=np.int64),
            np.zeros(pairs),
            np.zeros(pairs, dtype=np.int64),
            np.zeros(pairs, dtype=np.int64),
            np.array([briefing.actions, self.max_updates, -1, 0, 0, 0]),
            np.array([self.gamma, 1e-6 * (highest - lowest)]),
        )


class Cheat(ModelLearner):
    """Does well in easy environments and as badly as it can in all others.

    So a test that adapts to it sends it back to easy environments again and again, and the question
    is whether that pays (anytime test, section 5.2). It learns like the model learner; where it
    wants to fail, it learns from the opposite of the rewards. It recognises an easy environment by
    its number of different observations.

    Args:
        easy: The most observations that an easy environment has.
    """

    kernels = AgentKernels(ModelState, act=cheat_act)

    def __init__(self, easy: int = 3) -> None:
        super().__init__()
        problem = f"An easy environment cannot have {easy} observations."
        require(easy >= 0, problem, "Give a whole number of 0 or more.")
        self.easy = easy

    def initial_state(self, briefing: Briefing) -> ModelState:
        """A learner of rewards or of their opposite."""
        sign = 1 if briefing.space.count <= self.easy else -1
        lowest, highest = sorted(sign * reward for reward in briefing.rewards)
        state = super().initial_state(replace(briefing, rewards=(lowest, highest)))
        return state._replace(rates=np.append(state.rates, sign))
