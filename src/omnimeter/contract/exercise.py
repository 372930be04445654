"""One agent in one instance under one budget: how long it lasts, what happened, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from math import inf
from typing import Any

import numpy as np

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.environment import Instance
from omnimeter.contract.errors import MOST_INTERACTIONS, InvalidInputError
from omnimeter.contract.prior import Preparation
from omnimeter.contract.spec import JsonData, Spec, Stream, canonical_json, digest, stream
from omnimeter.contract.text import clean_detail, clean_message

NANOSECONDS = 1_000_000_000
FOREVER = 2**63 - 1  # a time or a number of interactions that is never reached
LONGEST = 9e9  # the most seconds that can be counted in nanoseconds: 285 years


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, rounded down, so that k turns of tau/k seconds fit into tau.

    Whole nanoseconds given in floating-point seconds come back exactly, up to a million seconds.
    """
    exact = seconds * NANOSECONDS
    return int(exact + min(0.5, exact * 2.0**-50))


class ClockKind(StrEnum):
    """Which time counts."""

    WALL = "wall"  # the agent's own time; the environment reacts immediately and costs nothing
    VIRTUAL = "virtual"  # the delays that agents declare, exactly repeatable


@dataclass(frozen=True, slots=True)
class Clock(JsonData):
    """The clock of an exercise; a virtual one counts ``tick`` seconds where none are declared."""

    kind: ClockKind = ClockKind.VIRTUAL
    tick: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.tick <= LONGEST and nanoseconds(self.tick) > 0):
            advice = f"Give a time of 1e-9 to {LONGEST:g} s."
            raise InvalidInputError(f"The tick of a clock is {self.tick} s.", advice)


@dataclass(frozen=True, slots=True)
class Budget(JsonData):
    """How long an exercise lasts: a number of interactions, a time in seconds, or the shorter.

    Attributes:
        interactions: At most this many actions count.
        seconds: Actions count until this time: the tau of the papers, never told to the agent.
        wall_limit: Real seconds, of environment and loop too, after which it is over in any case.
    """

    interactions: int | None = None
    seconds: float | None = None
    wall_limit: float | None = None

    def __post_init__(self) -> None:
        if self.interactions is None and self.seconds is None:
            advice = "Give a number of interactions or of seconds."
            raise InvalidInputError("The budget is empty.", advice)
        for number, unit, highest in (
            (self.interactions, "interactions", MOST_INTERACTIONS),
            (self.seconds, "seconds", LONGEST),
            (self.wall_limit, "seconds of wall-clock time", LONGEST),
        ):
            if number is not None and not 0 <= number <= highest:
                advice = f"Give a number from 0 to {highest:g}."
                raise InvalidInputError(f"The budget is {number} {unit}.", advice)
        for name in ("seconds", "wall_limit"):  # equal budgets have the same text: no -0.0
            if getattr(self, name) == 0:
                object.__setattr__(self, name, 0.0)

    @property
    def max_interactions(self) -> int:
        """The number of interactions after which it is over in any case."""
        return FOREVER if self.interactions is None else self.interactions

    @property
    def end_ns(self) -> int:
        """The nanosecond at which it is over in any case."""
        return FOREVER if self.seconds is None else nanoseconds(self.seconds)


class TimeoutRule(StrEnum):
    """What takes place at each time-out while the agent is busy (anytime test, section 5.1)."""

    NO_REWARD = "no-reward"  # reward 0; the environment stays unchanged
    RANDOM_ACTION = "random-action"  # an action that is drawn uniformly


@dataclass(frozen=True, slots=True)
class Timeout(JsonData):
    """The longest that one action may take, tau_0 (``docs/standard.md``, section 6).

    Its rule applies at every time-out while the agent is busy; its late answer is discarded.
    """

    seconds: float
    rule: TimeoutRule = TimeoutRule.NO_REWARD

    def __post_init__(self) -> None:
        if not 0 < self.seconds < inf:
            message = f"The time-out is {self.seconds} seconds."
            raise InvalidInputError(message, "Give a positive, finite time.")


class FaultKind(StrEnum):
    """What went wrong; an exercise with a fault has no payoff, never a zero."""

    AGENT_ERROR = "agent-error"
    TIME_OUT = "time-out"
    INFRASTRUCTURE = "infrastructure"
    SEATED = "seated-agent"  # of an agent that is seated beside the one that takes the exercise


@dataclass(frozen=True, slots=True)
class Fault(JsonData):
    """Why an exercise could not go on.

    Attributes:
        kind: Whose fault it was.
        message: What happened, for the user.
        detail: The traceback, or the last output of the agent, for the agent's author.

    Both are texts of agents: what could do harm where it is shown is not kept (section 8).
    """

    kind: FaultKind
    message: str
    detail: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", clean_message(self.message))
        object.__setattr__(self, "detail", clean_detail(self.detail))


OWN = (FaultKind.AGENT_ERROR, FaultKind.TIME_OUT)
"""The kinds of faults that are the agent's own."""


class Ending(StrEnum):
    """How an exercise ended."""

    BUDGET = "budget"
    STOPPED = "stopped"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The record of one exercise, one entry per completed interaction.

    Attributes:
        rewards: The reward that each completed action brought.
        times: The nanosecond at which each action was performed; never decreasing.
        end_ns: The nanosecond at which the exercise was over: tau where the budget is a time.
        planned: The number N of interactions of the budget; ``None`` where it has none.
        timed: Whether there was a time to be over, of the budget or of an earlier end.
        first_reward: The reward given before the first action, which no payoff counts.
        fault: Why it could not go on, if it could not.
        actions: The actions, where recorded.
        observations: The observations before each action and after the last, where recorded.
        lowest: The lowest possible reward of the environment.
        wall_ns: The nanoseconds of real time that each decision took, where measured; getting ready
            is part of the first one. What reading the clock costs is subtracted on average.
        cpu_ns: The nanoseconds of processor time that it took, where that is known.
    """

    rewards: FloatArray
    times: IntArray
    end_ns: int
    ending: Ending = Ending.BUDGET
    first_reward: float = 0.0
    fault: Fault | None = None
    actions: IntArray | None = None
    observations: IntArray | None = None
    planned: int | None = None
    timed: bool = True
    lowest: float = -1.0
    wall_ns: IntArray | None = None
    cpu_ns: IntArray | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    def until(self, end_ns: int) -> Trace:
        """The same exercise with an earlier end, in nanoseconds, which agents never know.

        As many interactions stay planned, and time was over before they were.
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
            timed=self.timed or end_ns < self.end_ns,
            wall_ns=None if self.wall_ns is None else self.wall_ns[:count],
            cpu_ns=None if self.cpu_ns is None else self.cpu_ns[:count],
        )

    def same_as(self, other: Trace) -> bool:
        """Whether both record exactly the same events, bit for bit, but for computation times."""
        ignored = {"fault", "wall_ns", "cpu_ns"}
        names = [field.name for field in fields(self) if field.name not in ignored]
        return all(np.array_equal(getattr(self, each), getattr(other, each)) for each in names)


@dataclass(frozen=True)
class Exercise(JsonData):
    """One agent in one instance under one budget, with all that determines what happens.

    Agents meet the same environment and randomness under the same seed and number.

    Attributes:
        agent: The agent that takes it.
        environment_class: The class that the instance was drawn from.
        instance: The environment.
        budget: How long it lasts.
        seed: The root seed of the evaluation.
        number: The number of the exercise in its evaluation.
        timeout: The longest that one action may take, if there is a limit.
        joint: All agents in the environment, in the order of their seats; empty when it is alone.
            Their exercises of the same number and seed are one joint run.
        seated: How many of these, the last, are seated beside the others and are not evaluated.
        preparation: The offline phase that the agent has had, if it has had one.
        measured: Whether the computation time of each decision is measured.

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
    preparation: Preparation | None = None
    measured: bool = False
    seated: int = 0

    def __post_init__(self) -> None:
        if self.seated and not 0 < self.seated < len(self.joint):
            message = f"{self.seated} of {len(self.joint)} joint agents cannot be seated beside it."
            raise InvalidInputError(message, "Leave a seat for the agent that is evaluated.")
        if self.joint:
            check_joint(self.joint, self.clock, self.timeout)
            if self.agent not in self.joint:
                message = f"The agent {self.agent.label} is not one of the joint agents."
                names = ", ".join(agent.label for agent in self.joint)
                raise InvalidInputError(message, f"Choose one of {names}.")

    @cached_property
    def key(self) -> str:
        """A short name that depends on everything in the exercise: that of its JSON text."""
        first, second, third, fourth = self._pieces
        complexity = canonical_json(float(self.complexity))
        parts = (
            first,
            f'"complexity":{complexity}' if complexity != "0.0" else "",
            second,
            f'"instance":{{"data":{self.instance.text}}}',
            third,
            f'"number":{self.number}',
            fourth,
        )
        return digest(f"{{{','.join(filter(None, parts))}}}")

    @cached_property
    def kind(self) -> str:
        """The JSON text of all but instance, complexity and number, which many have in common."""
        return f"{{{','.join(filter(None, self._pieces))}}}"

    @cached_property
    def _pieces(self) -> tuple[str, str, str, str]:
        """The JSON text of the kind, cut where complexity, instance and number belong."""
        return _pieces(
            self.agent,
            self.environment_class,
            self.budget,
            self.seed,
            self.clock,
            self.timeout,
            self.joint,
            self.preparation,
            self.measured,
            self.seated,
        )

    def stream(self, side: str) -> Stream:
        """The random stream of ``"environment"`` or ``"harness"``, or, by its spec, ``"agent"``."""
        path = stream(self.seed, "exercise", self.number, side)
        if side != "agent":
            return path
        key = self.agent.stream_key
        # One agent may be in an environment several times, under different names.
        alike = [each for each in self.joint if each.stream_key == key]
        place = alike.index(self.agent) if len(alike) > 1 else 0
        return path.child(key, place) if place else path.child(key)

    def for_agent(self, agent: Spec) -> Exercise:
        """The exercise of another agent in the same joint run."""
        return replace(self, agent=agent)

    @property
    def beside(self) -> tuple[Spec, ...]:
        """The agents that are seated beside those that are evaluated, in their order."""
        return self.joint[len(self.joint) - self.seated :]


@lru_cache(maxsize=1024)
def _pieces(
    agent: Spec,
    environment_class: Spec,
    budget: Budget,
    seed: int,
    clock: Clock,
    timeout: Timeout | None,
    joint: tuple[Spec, ...],
    preparation: Preparation | None,
    measured: bool,
    seated: int,
) -> tuple[str, str, str, str]:
    """The JSON text of what exercises have in common, cut where the rest of it belongs."""
    none = Instance({})
    kind = Exercise(
        agent, environment_class, none, budget, seed, 0, clock, timeout, 0.0, joint, preparation,
        measured, seated,
    )  # fmt: skip
    data = kind.to_json()

    def piece(*names: str) -> str:
        given = {name: data[name] for name in names if name in data}
        return canonical_json(given)[1:-1]

    return (
        piece("agent", "budget", "clock"),
        piece("environment_class"),
        piece("joint", "measured"),
        piece("preparation", "seated", "seed", "timeout"),
    )


def check_joint(joint: Sequence[Spec], clock: Clock, timeout: Timeout | None) -> None:
    """Check that some agents can take a joint exercise under a clock.

    Raises:
        InvalidInputError: There are too few, one is there twice, or their time would be measured.
    """
    message = ""
    if len(joint) < 2:
        message = f"A joint run of {len(joint)} agent is not possible."
        advice = "A joint run needs at least two agents."
    elif repeated := [agent for number, agent in enumerate(joint) if agent in joint[:number]]:
        message = f"The agent {repeated[0].label} is in the joint run twice."
        advice = "Give each agent once; other parameters make another agent."
    elif clock.kind is not ClockKind.VIRTUAL or timeout is not None:
        # No agent may lose time because another one computes.
        what = "a wall clock" if timeout is None else "a time-out"
        message = f"Joint exercises cannot have {what}."
        advice = "Give the clock virtual and no time-out."
    if message:
        raise InvalidInputError(message, advice)


@dataclass(frozen=True)
class Outcome(JsonData):
    """The result of an exercise.

    Attributes:
        payoff: The payoff of the trace; ``None`` after a fault.
        interactions: How many actions were completed.
        total: The sum of all rewards.
        last_time: The nanosecond of the last action, 0 if there was none.
        end_ns: The nanosecond at which the exercise was over.
        first_reward: The reward given before the first action.
        fault: Why it could not go on, if it could not.
        remarks: Further JSON-able facts, for example whether it ran compiled.
        attempts: How often it was begun, this time included: a fault that is not the agent's is
            run again.
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
    attempts: int = 1


def is_own_fault(outcome: Outcome) -> bool:
    """Whether an exercise ended in a fault of the agent itself."""
    return outcome.fault is not None and outcome.fault.kind in OWN


def hides_payoff(outcome: Outcome) -> bool:
    """Whether an exercise ended in a fault that may depend on how well the agent did.

    That is so of its own faults, and of those of agents that are seated beside it.
    """
    return is_own_fault(outcome) or (
        outcome.fault is not None and outcome.fault.kind is FaultKind.SEATED
    )


def supersedes(later: Outcome, earlier: Outcome) -> bool:
    """Whether an outcome takes the place of another one of the same exercise (standard, §8.5).

    Only a fault of the infrastructure gives way, to one of more attempts.
    """
    fault = earlier.fault
    transient = fault is not None and fault.kind is FaultKind.INFRASTRUCTURE
    return transient and later.attempts > earlier.attempts
