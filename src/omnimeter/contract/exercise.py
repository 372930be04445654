"""One agent in one instance under one budget: how long it lasts, what happened, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.environment import Instance
from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.spec import JsonData, Spec, Stream, fingerprint, stream

NANOSECONDS = 1_000_000_000
FOREVER = 2**63 - 1
"""A time or a number of interactions that is never reached."""

LONGEST = 9e9
"""The most seconds that can be counted in nanoseconds: 285 years."""


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, rounded down, so that k turns of tau/k seconds fit into tau.

    A whole number that was converted to floating-point seconds is the same number again, up to a
    million seconds.
    """
    exact = seconds * NANOSECONDS
    return int(exact + min(0.5, exact * 2.0**-50))


class ClockKind(StrEnum):
    """Which time counts.

    ``WALL`` measures the agent's own time; the environment reacts immediately and costs nothing.
    ``VIRTUAL`` counts the delays that agents declare, and is exactly repeatable.
    """

    WALL = "wall"
    VIRTUAL = "virtual"


@dataclass(frozen=True, slots=True)
class Clock(JsonData):
    """The clock of an exercise.

    Attributes:
        kind: Wall or virtual.
        tick: Seconds that an action takes under the virtual clock when its agent declares none.
    """

    kind: ClockKind = ClockKind.VIRTUAL
    tick: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.tick <= LONGEST and nanoseconds(self.tick) > 0):
            raise InvalidInputError(
                f"The tick of a clock is {self.tick} s.", f"Give a time of 1e-9 to {LONGEST:g} s."
            )


@dataclass(frozen=True, slots=True)
class Budget(JsonData):
    """How long an exercise lasts: a number of interactions, a time in seconds, or the shorter.

    Attributes:
        interactions: At most this many actions count.
        seconds: Actions count until this time: the tau of the papers, never told to the agent.
        wall_limit: Real seconds after which it is over whatever the clock says; the time of the
            environment and of the loop counts too.
    """

    interactions: int | None = None
    seconds: float | None = None
    wall_limit: float | None = None

    def __post_init__(self) -> None:
        if self.interactions is None and self.seconds is None:
            raise InvalidInputError(
                "The budget is empty.", "Give a number of interactions or of seconds."
            )
        if self.interactions is not None and not 0 <= self.interactions <= FOREVER:
            raise _wrong_budget(f"{self.interactions} interactions", FOREVER)
        if self.seconds is not None and not 0 <= self.seconds <= LONGEST:
            raise _wrong_budget(f"{self.seconds} seconds", LONGEST)
        if self.wall_limit is not None and not 0 <= self.wall_limit <= LONGEST:
            raise _wrong_budget(f"{self.wall_limit} seconds of wall-clock time", LONGEST)

    @property
    def max_interactions(self) -> int:
        """The number of interactions after which it is over in any case."""
        return FOREVER if self.interactions is None else self.interactions

    @property
    def end_ns(self) -> int:
        """The nanosecond at which it is over in any case."""
        return FOREVER if self.seconds is None else nanoseconds(self.seconds)


def _wrong_budget(text: str, highest: float) -> InvalidInputError:
    return InvalidInputError(f"The budget is {text}.", f"Give a number from 0 to {highest:g}.")


class TimeoutRule(StrEnum):
    """What takes place at each time-out while the agent is busy (anytime test, section 5.1).

    ``NO_REWARD`` gives reward 0 and leaves the environment unchanged.
    ``RANDOM_ACTION`` performs an action that is drawn uniformly.
    """

    NO_REWARD = "no-reward"
    RANDOM_ACTION = "random-action"


@dataclass(frozen=True, slots=True)
class Timeout(JsonData):
    """The longest that one action may take before something else takes its place.

    That happens at the time-out itself, and again after every further one while the agent is still
    busy. Its late answer is discarded (``docs/standard.md``, section 6).

    Attributes:
        seconds: The time-out tau_0 of section 5.1.
        rule: What takes place then.
    """

    seconds: float
    rule: TimeoutRule = TimeoutRule.NO_REWARD

    def __post_init__(self) -> None:
        if not 0 < self.seconds < inf:
            raise InvalidInputError(
                f"The time-out is {self.seconds} seconds.", "Give a positive, finite time."
            )


class FaultKind(StrEnum):
    """What went wrong; an exercise with a fault has no payoff, never a zero."""

    AGENT_ERROR = "agent-error"
    TIME_OUT = "time-out"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True, slots=True)
class Fault(JsonData):
    """Why an exercise could not go on.

    Attributes:
        kind: Whose fault it was.
        message: What happened, for the user.
        detail: The traceback, or the last output of the agent, for the agent's author.
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

    Reward i is the one that action i brought. The reward given before the first action is
    recorded separately in ``first_reward``: it is not attributed to any action, and no payoff
    counts it.

    Attributes:
        rewards: The reward that each completed action brought.
        times: The nanosecond at which each action was performed; never decreasing.
        end_ns: The nanosecond at which the exercise was over: tau where the budget is a time.
        ending: How it ended.
        first_reward: The reward given before the first action.
        fault: Why it could not go on, if it could not.
        actions: The actions, where recorded.
        observations: The observations before each action and after the last, where recorded.
    """

    rewards: FloatArray
    times: IntArray
    end_ns: int
    ending: Ending = Ending.BUDGET
    first_reward: float = 0.0
    fault: Fault | None = None
    actions: IntArray | None = None
    observations: IntArray | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    def until(self, end_ns: int) -> Trace:
        """The same exercise as it would have been with an earlier end, in nanoseconds.

        Valid because no agent knows the end: the beginning of a trace does not depend on it.
        """
        count = int(np.searchsorted(self.times, end_ns, side="right"))
        # A fault after the last action has no time of its own but the end.
        over = end_ns < self.end_ns and (count < len(self) or self.fault is not None)
        return replace(
            self,
            rewards=self.rewards[:count],
            times=self.times[:count],
            end_ns=end_ns,
            ending=Ending.BUDGET if over else self.ending,
            fault=None if over else self.fault,
            actions=None if self.actions is None else self.actions[:count],
            observations=None if self.observations is None else self.observations[: count + 1],
        )

    def same_as(self, other: Trace) -> bool:
        """Whether both record exactly the same events, bit for bit."""
        scalars = ("first_reward", "end_ns", "ending")
        arrays = ("rewards", "times", "actions", "observations")
        return all(getattr(self, each) == getattr(other, each) for each in scalars) and all(
            np.array_equal(getattr(self, each), getattr(other, each)) for each in arrays
        )


@dataclass(frozen=True)
class Exercise(JsonData):
    """One agent in one instance under one budget, with all that determines what happens.

    Agents that take the exercise of the same number under the same seed meet the same environment
    with the same randomness: comparisons between them are paired.

    Attributes:
        agent: The agent that takes it.
        environment_class: The class that the instance was drawn from.
        instance: The environment.
        budget: How long it lasts.
        seed: The root seed of the evaluation.
        number: The number of the exercise in its evaluation.
        clock: The clock that counts.
        timeout: The longest that one action may take, if there is a limit.
        complexity: The complexity of the instance.
        joint: The agents that are in the environment at once, in the order of their seats, this
            agent among them; empty when it is alone. The exercises of all of them, with the same
            number and seed, are one joint run; each has the trace of its own agent.

    Raises:
        InvalidInputError: The agents cannot take a joint exercise, or this agent is not among them.
    """

    agent: Spec
    environment_class: Spec
    instance: Instance
    budget: Budget
    seed: int
    number: int
    clock: Clock = Clock()
    timeout: Timeout | None = None
    complexity: float = 0.0
    joint: tuple[Spec, ...] = ()

    def __post_init__(self) -> None:
        if self.joint:
            check_joint(self.joint, self.clock, self.timeout)
            if self.agent not in self.joint:
                raise InvalidInputError(
                    f"The agent {self.agent.label} is not one of the joint agents.",
                    "Choose one of " + ", ".join(agent.label for agent in self.joint) + ".",
                )

    @cached_property
    def key(self) -> str:
        """A short name that depends on everything in the exercise."""
        return fingerprint(self.to_json())

    def stream(self, side: str) -> Stream:
        """The random stream of one side: ``"environment"``, ``"agent"`` or ``"harness"``.

        The environment's does not depend on the agent, and the agent's not on the folder of its
        file.
        """
        path = stream(self.seed, "exercise", self.number, side)
        return path.child(self.agent.stream_key) if side == "agent" else path

    def for_agent(self, agent: Spec) -> Exercise:
        """The exercise of another agent in the same joint run."""
        return replace(self, agent=agent)


def check_joint(joint: Sequence[Spec], clock: Clock, timeout: Timeout | None) -> None:
    """Check that some agents can take a joint exercise under a clock.

    Raises:
        InvalidInputError: There are too few, one of them is given twice, or their time would be
            measured: no agent may lose time because another one computes.
    """
    if len(joint) < 2:
        raise InvalidInputError(
            f"A joint run of {len(joint)} agent is not possible.",
            "A joint run needs at least two agents.",
        )
    for number, agent in enumerate(joint):
        if agent in joint[:number]:
            raise InvalidInputError(
                f"The agent {agent.label} is in the joint run twice.",
                "Give each agent once; other parameters make another agent.",
            )
    if clock.kind is not ClockKind.VIRTUAL or timeout is not None:
        what = "a wall clock" if timeout is None else "a time-out"
        raise InvalidInputError(
            f"Joint exercises cannot have {what}.", "Give the clock virtual and no time-out."
        )


@dataclass(frozen=True)
class Outcome(JsonData):
    """The result of an exercise.

    Attributes:
        exercise: The exercise.
        payoff: The payoff of the trace; ``None`` after a fault.
        interactions: How many actions were completed.
        total: The sum of all rewards.
        last_time: The nanosecond of the last action, 0 if there was none.
        end_ns: The nanosecond at which the exercise was over.
        ending: How it ended.
        first_reward: The reward given before the first action.
        fault: Why it could not go on, if it could not.
        remarks: Further JSON-able facts, for example whether it ran compiled.
    """

    exercise: Exercise
    payoff: float | None
    interactions: int
    total: float
    last_time: int
    end_ns: int
    ending: Ending
    first_reward: float = 0.0
    fault: Fault | None = None
    remarks: Mapping[str, Any] = field(default_factory=dict)


def is_own_fault(outcome: Outcome) -> bool:
    """Whether an exercise ended in a fault of the agent itself."""
    return outcome.fault is not None and outcome.fault.kind is not FaultKind.INFRASTRUCTURE
