"""Tabular temporal-difference learners: Q-learning, Sarsa and Expected Sarsa."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.tables import LARGEST_TABLE, any_alike, best_of, key_of, number_of_keys
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, forward, generator_state, uniform

ACTIONS, FIRST, PAIR = range(3)
ALPHA, GAMMA, LOWEST, EXPLORATION, SHARE = range(5)


class TableState(NamedTuple):
    """What was learnt and how more is learnt.

    Attributes:
        rng: The state of the generator.
        table: The value of each action for each observation, the actions of one side by side.
        sizes: How many values each component of an observation can take.
        numbers: The number of actions; whether the first of equally good ones is chosen; the place
            in the table of the last observation and action, -1 before there is one.
        rates: Learning rate; discount factor; the lowest possible reward; the probability of
            exploring, and of each action when it is shared out among them.
    """

    rng: NDArray[np.uint64]
    table: FloatArray
    sizes: IntArray
    numbers: IntArray
    rates: FloatArray


@kernel
def begin(state: Any) -> None:
    """No action done yet."""
    state.numbers[PAIR] = -1


@kernel
def row_of(state: Any, observation: Any) -> Any:
    """Where the values of an observation's actions begin."""
    return key_of(observation, state.sizes) * state.numbers[ACTIONS]


@kernel
def best_in(state: Any, row: Any) -> Any:
    """The best value of a row, the first action that has it, and how many have it."""
    return best_of(state.table, row, state.numbers[ACTIONS])


@kernel
def learn(state: Any, reward: Any, worth: Any) -> None:
    """Correct the value of the last action, if there was one.

    Args:
        state: The agent's state.
        reward: What the action brought.
        worth: What is expected from now on.
    """
    pair = state.numbers[PAIR]
    if pair >= 0:
        value = state.table[forward(pair)]
        learnt = reward - state.rates[LOWEST] + state.rates[GAMMA] * worth
        state.table[forward(pair)] = value + state.rates[ALPHA] * (learnt - value)


@kernel
def choose(state: Any, row: Any, best: Any) -> Any:
    """One of the best actions of a row or, when exploring, any action."""
    exploration = state.rates[EXPLORATION]
    if exploration > 0.0 and uniform(state.rng) < exploration:
        return below(state.rng, state.numbers[ACTIONS])
    if state.numbers[FIRST] == 1:
        return best[1]
    return any_alike(state.rng, state.table, row, best)


@kernel
def perform(state: Any, row: Any, action: Any) -> Any:
    """The action, kept in mind until its reward is known."""
    state.numbers[PAIR] = row + action
    return action


@kernel
def learn_then_act(state: Any, reward: Any, row: Any, best: Any, worth: Any) -> Any:
    """Correct the last action's value, then choose by the corrected table.

    Args:
        state: The agent's state.
        reward: What the last action brought.
        row: Where the values of what is seen now begin.
        best: What is best among them so far.
        worth: What is expected from now on.
    """
    learn(state, reward, worth)
    if row <= state.numbers[PAIR] < row + state.numbers[ACTIONS]:
        best = best_in(state, row)  # the same is seen again, so the value was in this very row
    return perform(state, row, choose(state, row, best))


class TemporalDifferenceAgent(KernelAgent):
    """An agent that learns values in a table. Subclasses set ``kernels``."""

    view = "state"

    def __init__(
        self,
        alpha: float = 0.05,
        gamma: float = 0.35,
        initial: float = 2.0,
        exploration: float = 0.1,
        ties: Literal["random", "first"] = "random",
    ) -> None:
        """Say how it learns and how it chooses.

        Args:
            alpha: The learning rate, above 0 and at most 1.
            gamma: The discount factor, at least 0 and below 1.
            initial: The value of every action at first.
            exploration: The probability of any action instead of the best.
            ties: Which of equally good actions: a ``random`` one with uniform probability, or the
                ``first``.
        """
        if not 0 < alpha <= 1:
            raise InvalidInputError(
                f"The learning rate alpha is {alpha}.", "Give a number above 0, at most 1."
            )
        if not 0 <= gamma < 1:
            raise InvalidInputError(
                f"The discount factor gamma is {gamma}.", "Give a number from 0 on, below 1."
            )
        if not math.isfinite(initial):
            raise InvalidInputError(f"The initial value is {initial}.", "Give a finite number.")
        if not 0 <= exploration <= 1:
            raise InvalidInputError(
                f"The exploration is {exploration}.", "Give a probability, from 0 to 1."
            )
        self.alpha = alpha
        self.gamma = gamma
        self.initial = initial
        self.exploration = exploration
        self.ties = ties

    def prepare(self, briefing: Briefing) -> TableState:
        """Nothing learnt yet."""
        actions, lowest = briefing.actions, briefing.rewards[0]
        if not math.isfinite(lowest):
            raise InvalidInputError(
                "Rewards count from the lowest possible one, and here there is none.",
                "Use another agent, or declare the lowest reward in rewards.",
            )
        shared = self.exploration / actions
        return TableState(
            generator_state(),
            np.full(_number_of_values(briefing), self.initial, dtype=np.float64),
            np.array(briefing.space.sizes),
            np.array([actions, int(self.ties == "first"), -1]),
            np.array([self.alpha, self.gamma, lowest, self.exploration, shared], dtype=np.float64),
        )


def _number_of_values(briefing: Briefing) -> int:
    observations = number_of_keys(briefing.space)
    if observations * briefing.actions > LARGEST_TABLE:
        raise InvalidInputError(
            f"A table cannot have a value for each of {briefing.actions} actions after each of "
            f"{observations} observations.",
            f"Use an agent without a table, or an environment with at most {LARGEST_TABLE} values.",
        )
    return observations * briefing.actions


@kernel
def q_learning_act(state: Any, reward: Any, observation: Any) -> Any:
    """Learn by the best value of what is seen now, then choose."""
    row = row_of(state, observation)
    best = best_in(state, row)
    return learn_then_act(state, reward, row, best, best[0])


@kernel
def q_learning_finish(state: Any, reward: Any, observation: Any) -> None:
    """Learn from the last reward."""
    learn(state, reward, best_in(state, row_of(state, observation))[0])


class QLearning(TemporalDifferenceAgent):
    """Learns how good each action is after each observation, and does what is best so far.

    The values lie in a table, so the environment must have few different observations. Rewards
    count from the lowest possible one, so that none is negative: the usual -1 to 1 become 0 to 2.
    Without exploration it is only the hopeful initial value that makes it try things. The update
    is that of the Lambda thesis, section 2.1.3, the numbers are those of section 5.2. Which of
    equally good actions is done, the text does not say.

    Args:
        alpha: The learning rate, above 0 and at most 1.
        gamma: The discount factor, at least 0 and below 1.
        initial: The value of every action at first.
        exploration: The probability of any action instead of the best; none in the text.
        ties: Which of equally good actions: a ``random`` one with uniform probability, or the
            ``first``.
    """

    kernels = AgentKernels(TableState, begin, q_learning_act, q_learning_finish)

    def __init__(
        self,
        alpha: float = 0.05,
        gamma: float = 0.35,
        initial: float = 2.0,
        exploration: float = 0.0,
        ties: Literal["random", "first"] = "random",
    ) -> None:
        super().__init__(alpha, gamma, initial, exploration, ties)


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """Choose, then learn by the value of what was chosen."""
    row = row_of(state, observation)
    action = choose(state, row, best_in(state, row))
    learn(state, reward, state.table[row + action])
    return perform(state, row, action)


@kernel
def finish(state: Any, reward: Any, observation: Any) -> None:
    """Learn from the last reward, by what would be done now."""
    row = row_of(state, observation)
    learn(state, reward, state.table[row + choose(state, row, best_in(state, row))])


@kernel
def expected(state: Any, row: Any, greatest: Any) -> Any:
    """The average value of what may be done: mostly the best, sometimes any action."""
    total = 0.0
    for action in range(state.numbers[ACTIONS]):
        total += state.table[row + action]
    return (1.0 - state.rates[EXPLORATION]) * greatest + state.rates[SHARE] * total


@kernel
def act_expecting(state: Any, reward: Any, observation: Any) -> Any:
    """Learn by the average value of what may be done now, then choose."""
    row = row_of(state, observation)
    best = best_in(state, row)
    return learn_then_act(state, reward, row, best, expected(state, row, best[0]))


@kernel
def finish_expecting(state: Any, reward: Any, observation: Any) -> None:
    """Learn from the last reward."""
    row = row_of(state, observation)
    learn(state, reward, expected(state, row, best_in(state, row)[0]))


class Sarsa(TemporalDifferenceAgent):
    """Learns like Q-learning, but counts on the action that it does next instead of the best.

    So that action is chosen before the last one's value is corrected. It differs from Q-learning
    even without exploration where the same is seen twice running. Rewards count from the lowest
    possible one.
    """

    kernels = AgentKernels(TableState, begin, act, finish)


class ExpectedSarsa(TemporalDifferenceAgent):
    """Learns like Q-learning, but counts on the average of what it may do next.

    The best action has what is left of the probability after exploring, which is shared alike by
    all actions. Without exploration it is Q-learning. Rewards count from the lowest possible one.
    """

    kernels = AgentKernels(TableState, begin, act_expecting, finish_expecting)
