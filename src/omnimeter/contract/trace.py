"""What happened in an exercise: rewards, times, the end, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from omnimeter.contract.spaces import FloatArray, IntArray


class FaultKind(StrEnum):
    """Three different things that can go wrong; none of them is silently a zero."""

    AGENT_ERROR = "agent-error"
    TIME_OUT = "time-out"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an exercise could not go on.

    Attributes:
        kind: Whose fault it was.
        message: What happened, for a person.
        detail: The traceback or the last words of the agent, for whoever mends it.
    """

    kind: FaultKind
    message: str
    detail: str = ""


class Ending(StrEnum):
    """How an exercise ended."""

    BUDGET = "budget"
    STOPPED = "stopped"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The record of one exercise, one entry per completed interaction.

    The reward at place i is the one that action i brought. The reward given before the first
    action is kept apart in ``first_reward``: it is nobody's merit and no payoff counts it.

    Attributes:
        rewards: The reward that each completed action brought.
        times: The nanosecond at which each action was performed; never decreasing.
        end: The nanosecond at which the exercise was over: tau where the budget is a time.
        ending: How it ended.
        first_reward: The reward given before the first action.
        fault: Why it could not go on, if it could not.
        actions: The actions, when asked for.
        observations: What was seen before each action and after the last, when asked for.
    """

    rewards: FloatArray
    times: IntArray
    end: int
    ending: Ending = Ending.BUDGET
    first_reward: float = 0.0
    fault: Fault | None = None
    actions: IntArray | None = None
    observations: IntArray | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    def until(self, end: int) -> Trace:
        """The same exercise as it would have been with an earlier end, in nanoseconds.

        Valid because no agent knows the end: the beginning of a trace does not depend on it.
        """
        count = int(np.searchsorted(self.times, end, side="right"))
        # A fault after the last action has no time of its own but the end.
        over = end < self.end and (count < len(self) or self.fault is not None)
        return replace(
            self,
            rewards=self.rewards[:count],
            times=self.times[:count],
            end=end,
            ending=Ending.BUDGET if over else self.ending,
            fault=None if over else self.fault,
            actions=None if self.actions is None else self.actions[:count],
            observations=None if self.observations is None else self.observations[: count + 1],
        )

    def same_as(self, other: Trace) -> bool:
        """Whether both record exactly the same events, bit for bit."""
        numbers = (self.first_reward, self.end, self.ending)
        arrays = zip(
            (self.rewards, self.times, self.actions, self.observations),
            (other.rewards, other.times, other.actions, other.observations),
            strict=True,
        )
        return numbers == (other.first_reward, other.end, other.ending) and all(
            (mine is None and theirs is None)
            or (mine is not None and theirs is not None and np.array_equal(mine, theirs))
            for mine, theirs in arrays
        )
