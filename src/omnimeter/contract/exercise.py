"""One agent in one instance under one budget: how long it lasts, what happened, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.environment import Instance, fingerprint
from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.spec import Spec, Stream, stream

NANOSECONDS = 1_000_000_000
FOREVER = 2**63 - 1
"""An end that no clock reaches."""

LONGEST = 9e9
"""Seconds that can be counted in nanoseconds: 285 years."""


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, rounded down, so that k turns of tau/k seconds fit into tau.

    Rounding errors are forgiven: what was a whole number before a trip through floating-point
    seconds is the same number after it, up to a million seconds.
    """
    exact = seconds * NANOSECONDS
    return int(exact + min(0.5, exact * 2.0**-50))


class ClockKind(StrEnum):
    """Which time counts.

    ``WALL`` measures the agent's own time; the environment reacts immediately and costs nothing.
    ``VIRTUAL`` believes the delays that agents declare, and is exactly repeatable.
    """

    WALL = "wall"
    VIRTUAL = "virtual"


@dataclass(frozen=True, slots=True)
class Clock:
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
                f"The tick of a clock is {self.tick} s.",
                f"Give a time of at least a nanosecond and at most {LONGEST:g} s.",
            )


@dataclass(frozen=True, slots=True)
class Budget:
    """How long an exercise lasts: a number of interactions, a time in seconds, or the shorter.

    Attributes:
        interactions: At most this many actions count.
        seconds: Actions count until this time: the tau of the papers, never told to the agent.
        wall_limit: Real seconds after which it is over whatever the clock says, for a test that
            must not last longer: those of the environment and of the loop count too.
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
            raise InvalidInputError(
                f"The budget is {self.interactions} interactions.", f"Give 0 to {FOREVER}."
            )
        if self.seconds is not None and not 0 <= self.seconds <= LONGEST:
            raise InvalidInputError(
                f"The budget is {self.seconds} seconds.", f"Give a time of 0 to {LONGEST:g} s."
            )

        if self.wall_limit is not None and not 0 <= self.wall_limit <= LONGEST:
            raise InvalidInputError(
                f"The limit of the budget is {self.wall_limit} seconds.",
                f"Give a time of 0 to {LONGEST:g} s.",
            )

    def to_json(self) -> dict[str, Any]:
        """The budget as plain data; a limit only where there is one."""
        data = asdict(self)
        if self.wall_limit is None:
            del data["wall_limit"]
        return data

    @property
    def max_interactions(self) -> int:
        """The number of interactions after which it is over in any case."""
        return FOREVER if self.interactions is None else self.interactions

    @property
    def end_ns(self) -> int:
        """The nanosecond at which it is over in any case."""
        return FOREVER if self.seconds is None else nanoseconds(self.seconds)


class TimeoutRule(StrEnum):
    """What takes place at each time-out while the agent is busy (anytime test, section 5.1).

    ``NO_REWARD`` gives reward 0 and lets the world stand still.
    ``RANDOM_ACTION`` performs an action that is drawn uniformly.
    """

    NO_REWARD = "no-reward"
    RANDOM_ACTION = "random-action"


@dataclass(frozen=True, slots=True)
class Timeout:
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
        if not (isfinite(self.seconds) and self.seconds > 0):
            raise InvalidInputError(
                f"The time-out is {self.seconds} seconds.", "Give a positive, finite time."
            )


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
        end_ns: The nanosecond at which the exercise was over: tau where the budget is a time.
        ending: How it ended.
        first_reward: The reward given before the first action.
        fault: Why it could not go on, if it could not.
        actions: The actions, when asked for.
        observations: What was seen before each action and after the last, when asked for.
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

    def until(self, end: int) -> Trace:
        """The same exercise as it would have been with an earlier end, in nanoseconds.

        Valid because no agent knows the end: the beginning of a trace does not depend on it.
        """
        count = int(np.searchsorted(self.times, end, side="right"))
        # A fault after the last action has no time of its own but the end.
        over = end < self.end_ns and (count < len(self) or self.fault is not None)
        return replace(
            self,
            rewards=self.rewards[:count],
            times=self.times[:count],
            end_ns=end,
            ending=Ending.BUDGET if over else self.ending,
            fault=None if over else self.fault,
            actions=None if self.actions is None else self.actions[:count],
            observations=None if self.observations is None else self.observations[: count + 1],
        )

    def same_as(self, other: Trace) -> bool:
        """Whether both record exactly the same events, bit for bit."""
        numbers = (self.first_reward, self.end_ns, self.ending)
        arrays = zip(
            (self.rewards, self.times, self.actions, self.observations),
            (other.rewards, other.times, other.actions, other.observations),
            strict=True,
        )
        return numbers == (other.first_reward, other.end_ns, other.ending) and all(
            (mine is None and theirs is None)
            or (mine is not None and theirs is not None and np.array_equal(mine, theirs))
            for mine, theirs in arrays
        )


@dataclass(frozen=True)
class Exercise:
    """Everything that decides what will happen, as far as it can be decided.

    Agents that take the exercise of the same number under the same seed meet the same environment
    with the same chances: comparisons between them are paired.

    Attributes:
        agent: Who takes it.
        environment_class: Where the instance comes from.
        instance: In which environment.
        budget: For how long.
        seed: The root of all chance in the evaluation.
        number: Which exercise of its evaluation it is.
        clock: By which clock.
        timeout: The longest that one action may take, if there is a limit.
        complexity: The grade that the class gave to the instance.
        joint: Who is in the environment together, in the order of their seats, the agent among
            them; empty when it is alone. The exercises of all of them, with the same number and
            under the same seed, are the same joint run; each keeps the trace of its own agent.

    Raises:
        InvalidInputError: A company that cannot be, or without the agent.
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
                    f"The agent {self.agent.label} does not belong to the company.",
                    "Members: " + ", ".join(member.label for member in self.joint) + ".",
                )

    @cached_property
    def key(self) -> str:
        """A short name that depends on everything in the exercise."""
        return fingerprint(self.to_json())

    def stream(self, side: str) -> Stream:
        """The chance of one side: ``"environment"``, ``"agent"`` or ``"harness"``.

        The environment's does not depend on the agent, and the agent's not on the folder that
        its file lies in.
        """
        named = stream(self.seed, "exercise", self.number, side)
        return named.child(self.agent.key_in_any_folder) if side == "agent" else named

    def of(self, member: Spec) -> Exercise:
        """The exercise that another member of the company has in the same joint run."""
        return replace(self, agent=member)

    def to_json(self) -> dict[str, Any]:
        """The exercise as plain data; a company only where there is one."""
        data = {
            "agent": self.agent.to_json(),
            "environment_class": self.environment_class.to_json(),
            "instance": dict(self.instance.data),
            "budget": self.budget.to_json(),
            "seed": self.seed,
            "number": self.number,
            "clock": asdict(self.clock),
            "timeout": None if self.timeout is None else asdict(self.timeout),
            "complexity": self.complexity,
        }
        if self.joint:
            data["joint"] = [member.to_json() for member in self.joint]
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Exercise:
        """The exercise that ``to_json`` wrote."""
        timeout = data["timeout"]
        return Exercise(
            agent=Spec.from_json(data["agent"]),
            environment_class=Spec.from_json(data["environment_class"]),
            instance=Instance(data["instance"]),
            budget=Budget(**data["budget"]),
            seed=data["seed"],
            number=data["number"],
            clock=Clock(ClockKind(data["clock"]["kind"]), data["clock"]["tick"]),
            timeout=timeout and Timeout(timeout["seconds"], TimeoutRule(timeout["rule"])),
            complexity=data["complexity"],
            joint=tuple(Spec.from_json(member) for member in data.get("joint", ())),
        )


def check_joint(joint: Sequence[Spec], clock: Clock, timeout: Timeout | None) -> None:
    """Make sure that some agents can take an exercise together under a clock.

    Raises:
        InvalidInputError: There are too few, one of them is there twice, or their time would be
            measured: none of them may lose time because another one thinks.
    """
    if len(joint) < 2:
        raise InvalidInputError(
            f"A joint run of {len(joint)} agent is not possible.",
            "A joint run needs at least two agents.",
        )
    for number, member in enumerate(joint):
        if member in joint[:number]:
            raise InvalidInputError(
                f"The agent {member.label} is in the company twice.",
                "Give each member once; other parameters make another agent.",
            )
    if clock.kind is not ClockKind.VIRTUAL or timeout is not None:
        what = "a wall clock" if timeout is None else "a time-out"
        raise InvalidInputError(
            f"There cannot be {what} for several agents at once.",
            "Give the clock virtual and no time-out.",
        )


@dataclass(frozen=True)
class Outcome:
    """What came of an exercise.

    Attributes:
        exercise: The exercise.
        payoff: What the trace is worth; ``None`` when a fault left nothing to be judged.
        interactions: How many actions were completed.
        total: The sum of all rewards.
        last_time: The nanosecond of the last action, 0 if there was none.
        end_ns: The nanosecond at which the exercise was over.
        ending: How it ended.
        first_reward: The reward given before the first action.
        fault: Why it could not go on, if it could not.
        remarks: Further JSON-able facts, for example which path ran it.
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
    """Whether the agent itself is to blame for an exercise that could not go on."""
    return outcome.fault is not None and outcome.fault.kind is not FaultKind.INFRASTRUCTURE
