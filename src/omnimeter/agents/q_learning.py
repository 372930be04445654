"""Q-learning: what comes after an action is worth as much as the best that can be done there."""

from __future__ import annotations

from typing import Any, Literal

from omnimeter.agents.temporal_difference import (
    TableState,
    TemporalDifferenceAgent,
    begin,
    best_in,
    learn,
    learn_then_act,
    row_of,
)
from omnimeter.contract import AgentKernels, kernel


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """Learn by the best value of what is seen now, then choose."""
    row = row_of(state, observation)
    best = best_in(state, row)
    return learn_then_act(state, reward, row, best, best[0])


@kernel
def finish(state: Any, reward: Any, observation: Any) -> None:
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

    kernels = AgentKernels(TableState, begin, act, finish)

    def __init__(
        self,
        alpha: float = 0.05,
        gamma: float = 0.35,
        initial: float = 2.0,
        exploration: float = 0.0,
        ties: Literal["random", "first"] = "random",
    ) -> None:
        super().__init__(alpha, gamma, initial, exploration, ties)
