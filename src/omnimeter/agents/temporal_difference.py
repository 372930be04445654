"""Tabular temporal-difference learners: Q-learning, Sarsa and Expected Sarsa."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

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
from omnimeter.contract.agent import EXPLORATION, LEARNING_RATE, FloatArray, IntArray
from omnimeter.kernels import (
    AgentKernels,
    KernelAgent,
    below,
    forward,
    generator_state,
    kernel,
    uniform,
)

ACTIONS, FIRST, PAIR = range(3)
ALPHA, GAMMA, LOWEST, EPSILON, SHARE, FIRST_ALPHA, FIRST_EPSILON, INITIAL_VALUE = range(8)


class TableState(NamedTuple):
    """The value table and how it is learnt.

    Attributes:
        table: The value of each action after each observation, the actions of one side by side.
        numbers: The number of actions; whether ties go to the first action; the place in the table
            of the last observation and action, -1 before there is one.
        rates: Learning rate; discount factor; the lowest possible reward; the probability of
            exploring (epsilon), and the share of each action in it; learning rate, epsilon and
            every value as they were at first.
    """

    rng: NDArray[np.uint64]
    table: FloatArray
    sizes: IntArray
    numbers: IntArray
    rates: FloatArray


@kernel
def begin(state: Any) -> None:
    """No action performed yet."""
    state.numbers[PAIR] = -1


@kernel
def row_and_best(state: Any, observation: Any) -> Any:
    """Where the values of an observation's actions begin, and the ``best_action`` among them."""
    row = observation_index(observation, state.sizes) * state.numbers[ACTIONS]
    return row, best_action(state.table, row, state.numbers[ACTIONS])


@kernel
def update(state: Any, reward: Any, value: Any) -> None:
    """Correct the value of the last action, if there was one, by the value of what is observed."""
    pair = state.numbers[PAIR]
    if pair >= 0:
        old = state.table[forward(pair)]
        target = reward - state.rates[LOWEST] + state.rates[GAMMA] * value
        state.table[forward(pair)] = old + state.rates[ALPHA] * (target - old)


@kernel
def epsilon_greedy(state: Any, row: Any, best: Any) -> Any:
    """One of the best actions of a row or, when exploring, any action."""
    epsilon = state.rates[EPSILON]
    if epsilon > 0.0 and uniform(state.rng) < epsilon:
        return below(state.rng, state.numbers[ACTIONS])
    if state.numbers[FIRST] == 1:
        return best[1]
    return break_ties(state.rng, state.table, row, best)


@kernel
def update_and_act(state: Any, reward: Any, row: Any, best: Any, value: Any) -> Any:
    """Correct the last action's value, then choose by the corrected table."""
    update(state, reward, value)
    if row <= state.numbers[PAIR] < row + state.numbers[ACTIONS]:
        # The same observation again: its own row has changed.
        best = best_action(state.table, row, state.numbers[ACTIONS])
    action = epsilon_greedy(state, row, best)
    state.numbers[PAIR] = row + action
    return action


@kernel
def expected_value(state: Any, row: Any, greatest: Any) -> Any:
    """The expected value of an epsilon-greedy action."""
    total = 0.0
    for action in range(state.numbers[ACTIONS]):
        total += state.table[row + action]
    return (1.0 - state.rates[EPSILON]) * greatest + state.rates[SHARE] * total


@kernel
def q_learning_act(state: Any, reward: Any, observation: Any) -> Any:
    """Learn from the greatest value of what is observed now, then choose."""
    row, best = row_and_best(state, observation)
    return update_and_act(state, reward, row, best, best[0])


@kernel
def q_learning_finish(state: Any, reward: Any, observation: Any) -> None:
    """Learn from the last reward."""
    update(state, reward, row_and_best(state, observation)[1][0])


@kernel
def sarsa_act(state: Any, reward: Any, observation: Any) -> Any:
    """Choose, then learn from the value of the chosen action."""
    row, best = row_and_best(state, observation)
    action = epsilon_greedy(state, row, best)
    update(state, reward, state.table[row + action])
    state.numbers[PAIR] = row + action
    return action


@kernel
def sarsa_finish(state: Any, reward: Any, observation: Any) -> None:
    """Learn from the last reward and the action that would come next."""
    sarsa_act(state, reward, observation)


@kernel
def expected_sarsa_act(state: Any, reward: Any, observation: Any) -> Any:
    """Learn from the expected value of the next action, then choose."""
    row, best = row_and_best(state, observation)
    return update_and_act(state, reward, row, best, expected_value(state, row, best[0]))


@kernel
def expected_sarsa_finish(state: Any, reward: Any, observation: Any) -> None:
    """Learn from the last reward."""
    row, best = row_and_best(state, observation)
    update(state, reward, expected_value(state, row, best[0]))


@kernel
def adjust(state: Any, what: Any, amount: Any) -> None:
    """Change epsilon or the learning rate, or set each value back with a probability."""
    if what == EXPLORATION:
        state.rates[EPSILON] = state.rates[FIRST_EPSILON] if amount < 0.0 else amount
        state.rates[SHARE] = state.rates[EPSILON] / state.numbers[ACTIONS]
    elif what == LEARNING_RATE:
        state.rates[ALPHA] = state.rates[FIRST_ALPHA] if amount < 0.0 else amount
    else:
        for entry in range(len(state.table)):
            if amount >= 1.0 or uniform(state.rng) < amount:
                state.table[entry] = state.rates[INITIAL_VALUE]


class TemporalDifferenceAgent(KernelAgent):
    """An agent that learns a value table. Subclasses set ``kernels``."""

    view = "state"

    def __init__(
        self,
        alpha: float = 0.05,
        gamma: float = 0.35,
        initial_value: float = 2.0,
        epsilon: float = 0.1,
        ties: Literal["random", "first"] = "random",
        shift: bool = True,
    ) -> None:
        """Set the parameters of learning and choosing.

        Args:
            alpha: The learning rate, above 0 and at most 1.
            gamma: The discount factor, at least 0 and below 1.
            initial_value: The value of every action at first.
            epsilon: The probability of any action instead of the best (epsilon).
            ties: Which of equally good actions: a ``random`` one with uniform probability, or the
                ``first``.
            shift: Whether rewards count from the lowest possible one, or as they are.
        """
        problem = f"The learning rate alpha is {alpha}."
        require(0 < alpha <= 1, problem, "Give a number above 0, at most 1.")
        require_gamma(gamma)
        problem = f"The initial value is {initial_value}."
        require(math.isfinite(initial_value), problem, "Give a finite number.")
        problem = f"Epsilon is {epsilon}."
        require(0 <= epsilon <= 1, problem, "Give a probability, from 0 to 1.")
        self.alpha, self.gamma, self.initial_value = alpha, gamma, initial_value
        self.epsilon, self.ties, self.shift = epsilon, ties, shift

    def initial_state(self, briefing: Briefing) -> TableState:
        """A table of initial values."""
        actions, lowest = briefing.actions, briefing.rewards[0] if self.shift else 0.0
        require(
            math.isfinite(lowest),
            "Rewards count from the lowest possible one, which is missing here.",
            "Use shift=false or another agent, or declare the lowest reward in rewards.",
        )
        rates = (self.alpha, self.gamma, lowest, self.epsilon, self.epsilon / actions)
        initial = (self.alpha, self.epsilon, self.initial_value)
        return TableState(
            generator_state(),
            np.full(table_size(briefing.space, actions), self.initial_value, dtype=np.float64),
            np.array(briefing.space.sizes),
            np.array([actions, int(self.ties == "first"), -1]),
            np.array([*rates, *initial], dtype=np.float64),
        )


class QLearning(TemporalDifferenceAgent):
    """Learns the value of each action after each observation, and performs the best so far.

    The values lie in a table, so the environment must have few different observations. Rewards
    count from the lowest possible one, so that none is negative: the usual -1 to 1 become 0 to 2.
    Without exploration only the optimistic initial value makes it try things. The update is that
    of the Lambda thesis, section 2.1.3, the numbers are those of section 5.2. How ties are broken,
    the text does not say.

    Args:
        alpha: The learning rate, above 0 and at most 1.
        gamma: The discount factor, at least 0 and below 1.
        initial_value: The value of every action at first.
        epsilon: The probability of any action instead of the best; none in the text.
        ties: Which of equally good actions: a ``random`` one with uniform probability, or the
            ``first``.
        shift: Whether rewards count from the lowest possible one, or as they are.
    """

    kernels = AgentKernels(
        TableState, begin=begin, act=q_learning_act, finish=q_learning_finish, adjust=adjust
    )

    def __init__(
        self,
        alpha: float = 0.05,
        gamma: float = 0.35,
        initial_value: float = 2.0,
        epsilon: float = 0.0,
        ties: Literal["random", "first"] = "random",
        shift: bool = True,
    ) -> None:
        super().__init__(alpha, gamma, initial_value, epsilon, ties, shift)


class Sarsa(TemporalDifferenceAgent):
    """Learns like Q-learning, but from the value of the action that it performs next.

    So that action is chosen before the last one's value is corrected. It differs from Q-learning
    even without exploration where the same is observed twice in a row. Rewards count from the
    lowest possible one.
    """

    kernels = AgentKernels(
        TableState, begin=begin, act=sarsa_act, finish=sarsa_finish, adjust=adjust
    )


class ExpectedSarsa(TemporalDifferenceAgent):
    """Learns like Q-learning, but from the expected value of its next action.

    The best action has what is left of the probability after exploring, which is shared equally by
    all actions. Without exploration it is Q-learning. Rewards count from the lowest possible one.
    """

    kernels = AgentKernels(
        TableState, begin=begin, act=expected_sarsa_act, finish=expected_sarsa_finish, adjust=adjust
    )
