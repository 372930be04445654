"""SARSA and Expected SARSA: what comes after an action is worth what is really done there."""

from __future__ import annotations

from typing import Any

from omnimeter.agents.temporal_difference import (
    ACTIONS,
    EXPLORATION,
    SHARE,
    TableState,
    TemporalDifferenceAgent,
    begin,
    best_in,
    choose,
    learn,
    learn_then_act,
    perform,
    row_of,
)
from omnimeter.contract import AgentKernels, kernel


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
