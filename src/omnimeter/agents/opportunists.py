"""Random agents that use their time to look better than they are (fixed-time payoffs)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.simple import delay_of, duration_of, finish
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state

ACTIONS, FAST, SLOW, NEXT, DONE, ELAPSED = range(6)
THRESHOLD, TOTAL, GROWTH = range(3)


class OpportunistState(NamedTuple):
    """The chance, and how lucky it was so far.

    Attributes:
        rng: The state of the generator.
        numbers: The number of actions; the nanoseconds of a fast and of a slow action and of the
            next one; how many actions were done; the nanoseconds that they took.
        sums: The threshold; the sum of the rewards that the actions brought; the share of the
            time so far that a slow action takes at least.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray
    sums: FloatArray


@kernel
def begin(state: Any) -> None:
    """Nothing done, nothing earned."""
    state.numbers[NEXT] = state.numbers[FAST]
    state.numbers[DONE] = 0
    state.numbers[ELAPSED] = 0
    state.sums[TOTAL] = 0.0


@kernel
def lucky_so_far(state: Any, reward: Any) -> Any:
    """Count the last action's reward in; say whether the average is above the threshold.

    The reward given before the first action is nobody's and does not count.
    """
    done = state.numbers[DONE]
    if done == 0:
        return False
    state.sums[TOTAL] += reward
    return state.sums[TOTAL] / done > state.sums[THRESHOLD]


@kernel
def lucky_just_now(state: Any, reward: Any) -> Any:
    """Whether the last action, if there was one, brought more than the threshold."""
    return state.numbers[DONE] > 0 and reward > state.sums[THRESHOLD]


@kernel
def do_anything(state: Any, slow: Any) -> Any:
    """One more action by chance, fast or slow."""
    time = state.numbers[FAST]
    if slow:
        time = max(state.numbers[SLOW], int(state.sums[GROWTH] * state.numbers[ELAPSED]))
    state.numbers[NEXT] = time
    state.numbers[ELAPSED] += time
    state.numbers[DONE] += 1
    return below(state.rng, state.numbers[ACTIONS])


@kernel
def act_or_stop(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Any action, until lucky."""
    return -1 if lucky_so_far(state, reward) else do_anything(state, False)


@kernel
def act_or_rest(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Any action, slowly as long as lucky."""
    return do_anything(state, lucky_so_far(state, reward))


@kernel
def act_or_wait(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Any action, slowly after a good one."""
    return do_anything(state, lucky_just_now(state, reward))


@kernel
def delay(state: Any) -> Any:
    """Fast or slow, as was decided together with the action."""
    return state.numbers[NEXT]


class _Opportunist(KernelAgent):
    """What the three have in common."""

    def __init__(self, threshold: float, fast: int, slow: int, growth: float = 0.0) -> None:
        self.threshold = threshold
        self.fast = fast
        self.slow = slow
        self.growth = growth

    def prepare(self, briefing: Briefing) -> OpportunistState:
        """Nothing done, nothing earned."""
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

    kernels = AgentKernels(OpportunistState, begin, act_or_stop, finish, delay)

    def __init__(self, threshold: float = 0.0, rate: float | None = None) -> None:
        delay = delay_of(rate)
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

    kernels = AgentKernels(OpportunistState, begin, act_or_rest, finish, delay)

    def __init__(
        self,
        threshold: float = 0.0,
        rate: float | None = 10.0,
        rest: float = 10.0,
        growth: float = 0.0,
    ) -> None:
        if not 0 <= growth <= 1:
            raise InvalidInputError(f"The growth is {growth}.", "Give a number from 0 to 1.")
        super().__init__(threshold, delay_of(rate), duration_of(rest), growth)


class Waiter(_Opportunist):
    """Acts at random, fast, and waits before the next action after a good reward.

    Args:
        threshold: The reward that the last action must exceed to be good.
        rate: Actions per second under a virtual clock while it is fast; ``None`` is the clock's
            own tick.
        wait: Seconds that the action after a good reward takes.
    """

    kernels = AgentKernels(OpportunistState, begin, act_or_wait, finish, delay)

    def __init__(
        self, threshold: float = 0.0, rate: float | None = 10.0, wait: float = 10.0
    ) -> None:
        super().__init__(threshold, delay_of(rate), duration_of(wait))
