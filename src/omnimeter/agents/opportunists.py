"""Random agents that use time to get a higher payoff than they deserve (fixed-time payoffs)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.shared import delay_from_rate, delay_from_seconds, require
from omnimeter.contract import Briefing
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import AgentKernels, KernelAgent, below, generator_state, kernel

ACTIONS, FAST, SLOW, NEXT, STEPS, ELAPSED = range(6)
THRESHOLD, TOTAL, GROWTH = range(3)


class OpportunistState(NamedTuple):
    """The rewards and times so far.

    Attributes:
        numbers: The number of actions; the nanoseconds of a fast and of a slow action and of the
            next one; how many actions were performed; the nanoseconds that they took.
        sums: The threshold; the sum of the rewards of the actions; the share of the time so far
            that a slow action takes at least.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray
    sums: FloatArray


@kernel
def begin(state: Any) -> None:
    """No action performed, no reward counted."""
    state.numbers[NEXT] = state.numbers[FAST]
    state.numbers[STEPS] = state.numbers[ELAPSED] = 0
    state.sums[TOTAL] = 0.0


@kernel
def above_threshold(state: Any, reward: Any) -> Any:
    """Count the last action's reward; return whether the average is above the threshold."""
    steps = state.numbers[STEPS]
    if steps == 0:  # the reward before the first action is not attributed to any action
        return False
    state.sums[TOTAL] += reward
    return state.sums[TOTAL] / steps > state.sums[THRESHOLD]


@kernel
def random_action(state: Any, slow: Any) -> Any:
    """A random action, fast or slow."""
    time = state.numbers[FAST]
    if slow:
        time = max(state.numbers[SLOW], int(state.sums[GROWTH] * state.numbers[ELAPSED]))
    state.numbers[NEXT] = time
    state.numbers[ELAPSED] += time
    state.numbers[STEPS] += 1
    return below(state.rng, state.numbers[ACTIONS])


@kernel
def stopper_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """A random action, until the average is above the threshold."""
    return -1 if above_threshold(state, reward) else random_action(state, False)


@kernel
def rester_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """A random action, slow as long as the average is above the threshold."""
    return random_action(state, above_threshold(state, reward))


@kernel
def waiter_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """A random action, slow when the last one brought more than the threshold."""
    return random_action(state, state.numbers[STEPS] > 0 and reward > state.sums[THRESHOLD])


@kernel
def quitter_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """A random action, until one brings less than the threshold."""
    quits = state.numbers[STEPS] > 0 and reward < state.sums[THRESHOLD]
    return -1 if quits else random_action(state, False)


@kernel
def delay(state: Any) -> Any:
    """Fast or slow, as was decided with the action."""
    return state.numbers[NEXT]


class _Opportunist(KernelAgent):
    """A random agent with a threshold and two speeds. Subclasses set ``kernels``."""

    def __init__(self, threshold: float, fast: int, slow: int, growth: float = 0.0) -> None:
        self.threshold, self.fast, self.slow, self.growth = threshold, fast, slow, growth

    def initial_state(self, briefing: Briefing) -> OpportunistState:
        """No action performed, no reward counted."""
        return OpportunistState(
            generator_state(),
            np.array([briefing.actions, self.fast, self.slow, self.fast, 0, 0]),
            np.array([self.threshold, 0.0, self.growth]),
        )


class Stopper(_Opportunist):
    """Acts at random and stops for ever when its average reward is above a threshold.

    Args:
        threshold: The average over all actions so far that it must exceed, after one at least.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(OpportunistState, begin=begin, act=stopper_act, delay=delay)

    def __init__(self, threshold: float = 0.0, rate: float | None = None) -> None:
        delay = delay_from_rate(rate)
        super().__init__(threshold, delay, delay)


class Quitter(_Opportunist):
    """Acts at random and stops for ever when an action brought less than a threshold.

    Where a bad reward announces more of them, it leaves before they come.

    Args:
        threshold: The reward that the last action must bring at least.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(OpportunistState, begin=begin, act=quitter_act, delay=delay)

    def __init__(self, threshold: float = 0.0, rate: float | None = None) -> None:
        delay = delay_from_rate(rate)
        super().__init__(threshold, delay, delay)


class Rester(_Opportunist):
    """Acts at random, fast until its average reward is above a threshold, then slowly.

    An average that falls back makes it fast again.

    Args:
        threshold: The average over all actions so far that lets it rest, after one at least.
        rate: Actions per second under a virtual clock while it is fast; ``None`` is the clock's
            own tick.
        rest: Seconds that each action takes while it rests.
        growth: The share of its time so far that an action takes at least while it rests, so that
            rests grow longer and longer.
    """

    kernels = AgentKernels(OpportunistState, begin=begin, act=rester_act, delay=delay)

    def __init__(
        self,
        threshold: float = 0.0,
        rate: float | None = 10.0,
        rest: float = 10.0,
        growth: float = 0.0,
    ) -> None:
        require(0 <= growth <= 1, f"The growth is {growth}.", "Give a number from 0 to 1.")
        super().__init__(threshold, delay_from_rate(rate), delay_from_seconds(rest), growth)


class Waiter(_Opportunist):
    """Acts at random, fast, and waits before the next action after a good reward.

    Args:
        threshold: The reward that the last action must exceed to be good.
        rate: Actions per second under a virtual clock while it is fast; ``None`` is the clock's
            own tick.
        wait: Seconds that the action after a good reward takes.
    """

    kernels = AgentKernels(OpportunistState, begin=begin, act=waiter_act, delay=delay)

    def __init__(
        self, threshold: float = 0.0, rate: float | None = 10.0, wait: float = 10.0
    ) -> None:
        super().__init__(threshold, delay_from_rate(rate), delay_from_seconds(wait))
