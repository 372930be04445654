"""Learners of a model of the environment, and the cheat that uses one to fail on purpose."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.simple import begin, finish
from omnimeter.agents.tables import any_alike, best_of, key_of
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import generator_state

ACTIONS, EFFORT, PAIR, KNOWN, PLACE, CALM = range(6)
GAMMA, PRECISION = range(2)

LARGEST_MODEL = 2**20
"""Pairs of an observation and an action that a model may have: some forty megabytes."""


class ModelState(NamedTuple):
    """What was learnt of each pair of an observation and an action, and how it is used.

    Attributes:
        rng: The state of the generator.
        sizes: How many values each component of an observation can take.
        table: The value of each pair, the actions of one observation side by side.
        tries: How often each was tried.
        rewards: The average reward after each.
        following: The key of the observation that came after each the last time.
        known: The pairs that were tried, in the order in which they first were.
        numbers: The number of actions; how many values are worked out per action at most; the last
            pair, -1 before there is one; how many are known; which of them was worked out last; how
            many in a row then stayed what they were.
        rates: The discount factor; the change of a value that is none.
    """

    rng: NDArray[np.uint64]
    sizes: IntArray
    table: FloatArray
    tries: IntArray
    rewards: FloatArray
    following: IntArray
    known: IntArray
    numbers: IntArray
    rates: FloatArray


@kernel
def work_out(state: Any, pair: Any) -> Any:
    """Find the value of a pair by the model, and whether it changed."""
    actions = state.numbers[ACTIONS]
    worth = best_of(state.table, state.following[pair] * actions, actions)[0]
    value = state.rewards[pair] + state.rates[GAMMA] * worth
    changed = abs(value - state.table[pair]) > state.rates[PRECISION]
    state.table[pair] = value
    return changed


@kernel
def learn(state: Any, reward: Any, seen: Any) -> None:
    """Put into the model what the last action led to, if there was one."""
    pair = state.numbers[PAIR]
    if pair < 0:
        return
    state.tries[pair] += 1
    state.rewards[pair] += (reward - state.rewards[pair]) / state.tries[pair]
    state.following[pair] = seen
    if state.tries[pair] == 1:
        state.known[state.numbers[KNOWN]] = pair
        state.numbers[KNOWN] += 1
    if work_out(state, pair):
        state.numbers[CALM] = 0


@kernel
def plan(state: Any) -> None:
    """Value iteration, a part of it at a time, until all values are what the model says.

    It goes through the pairs from the last known to the first, as rewards are found after the way
    to them.
    """
    for _ in range(state.numbers[EFFORT]):
        if state.numbers[CALM] >= state.numbers[KNOWN]:
            break
        place = (state.numbers[PLACE] if state.numbers[PLACE] > 0 else state.numbers[KNOWN]) - 1
        state.numbers[PLACE] = place
        changed = work_out(state, state.known[place])
        state.numbers[CALM] = 0 if changed else state.numbers[CALM] + 1


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """Learn, plan, and do what is best by the plan."""
    seen = key_of(observation, state.sizes)
    learn(state, reward, seen)
    plan(state)
    row = seen * state.numbers[ACTIONS]
    best = best_of(state.table, row, state.numbers[ACTIONS])
    action = any_alike(state.rng, state.table, row, best)
    state.numbers[PAIR] = row + action
    return action


class ModelLearner(KernelAgent):
    """Learns what each action leads to after each observation, and plans by value iteration.

    It hopes for much from what it has not tried. So it first tries all that may be worth the way,
    and then does what is best for ever. Of an action that leads now here, now there, it remembers
    the last observation and the average reward.

    Args:
        gamma: The discount factor, at least 0 and below 1.
        hope: What an untried action is hoped to bring for ever, from 0 for the lowest possible
            reward to 1 for the highest. With 1 it never settles for less before all was tried.
        effort: The values that are worked out for one action at most; the rest waits for the next.
    """

    kernels = AgentKernels(ModelState, begin, act, finish)
    view = "state"

    def __init__(self, gamma: float = 0.9, hope: float = 0.9, effort: int = 1000) -> None:
        if not 0 <= gamma < 1:
            raise InvalidInputError(
                f"The discount factor gamma is {gamma}.", "Give a number from 0 on, below 1."
            )
        if not 0 <= hope <= 1:
            raise InvalidInputError(f"The hope is {hope}.", "Give a number from 0 to 1.")
        if not 1 <= effort < 2**31:
            raise InvalidInputError(
                f"The effort is {effort}.", "Give a whole number from 1 on, below 2**31."
            )
        self.gamma = gamma
        self.hope = hope
        self.effort = effort

    def prepare(self, briefing: Briefing) -> ModelState:
        """Nothing known yet, and all the more hoped for."""
        lowest, highest = briefing.rewards
        if not math.isfinite(highest - lowest):
            raise InvalidInputError(
                "Hope lies between the lowest and the highest reward, and here one is missing.",
                "Use another agent, or declare the lowest and the highest reward in rewards.",
            )
        pairs = _number_of_pairs(briefing)
        hoped = lowest + self.hope * (highest - lowest)
        return ModelState(
            generator_state(),
            np.array(briefing.space.sizes),
            np.full(pairs, hoped / (1 - self.gamma)),
            np.zeros(pairs, dtype=np.int64),
            np.zeros(pairs),
            np.zeros(pairs, dtype=np.int64),
            np.zeros(pairs, dtype=np.int64),
            np.array([briefing.actions, self.effort, -1, 0, 0, 0]),
            np.array([self.gamma, 1e-6 * (highest - lowest)]),
        )


def _number_of_pairs(briefing: Briefing) -> int:
    pairs = briefing.space.count * briefing.actions
    if pairs > LARGEST_MODEL:
        raise InvalidInputError(
            f"A model cannot know each of {briefing.actions} actions after each of "
            f"{briefing.space.count} observations.",
            f"Use another agent, or an environment with at most {LARGEST_MODEL} such pairs.",
        )
    return pairs


SIGN = 2
"""Where a cheat's rates say whether it wants rewards, 1, or their opposite, -1."""


@kernel
def cheat_act(state: Any, reward: Any, observation: Any) -> Any:
    """What a learner does that is paid as the cheat feels about it."""
    return act(state, state.rates[SIGN] * reward, observation)


class Cheat(ModelLearner):
    """Does well in easy environments and as badly as it can in all others.

    So a test that adapts to it sends it back to easy environments again and again, and the question
    is whether that pays (anytime test, section 5.2). It learns like the model learner; where it
    wants to fail, rewards are the opposite of what they are. It knows an easy environment by the
    number of different observations that it is told of.

    Args:
        easy: The most observations that an easy environment has.
    """

    kernels = AgentKernels(ModelState, begin, cheat_act, finish)

    def __init__(self, easy: int = 3) -> None:
        super().__init__()
        if easy < 0:
            raise InvalidInputError(
                f"An easy environment cannot have {easy} observations.",
                "Give a whole number of 0 or more.",
            )
        self.easy = easy

    def prepare(self, briefing: Briefing) -> ModelState:
        """A learner of rewards or of their opposite, and which of the two."""
        sign = 1 if briefing.space.count <= self.easy else -1
        lowest, highest = sorted(sign * reward for reward in briefing.rewards)
        state = super().prepare(replace(briefing, rewards=(lowest, highest)))
        return state._replace(rates=np.append(state.rates, sign))
