"""One agent in one instance under one budget, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from omnimeter.contract.budget import Budget, Clock, ClockKind, Timeout, TimeoutRule
from omnimeter.contract.environment import Instance, fingerprint
from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.spec import Spec
from omnimeter.contract.streams import Stream, stream
from omnimeter.contract.trace import Ending, Fault, FaultKind


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
        company: Who is in the environment together, in the order of their seats, the agent among
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
    company: tuple[Spec, ...] = ()

    def __post_init__(self) -> None:
        if self.company:
            check_company(self.company, self.clock, self.timeout)
            if self.agent not in self.company:
                raise InvalidInputError(
                    f"The agent {self.agent.label} does not belong to the company.",
                    "Members: " + ", ".join(member.label for member in self.company) + ".",
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
        if self.company:
            data["company"] = [member.to_json() for member in self.company]
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
            company=tuple(Spec.from_json(member) for member in data.get("company", ())),
        )


def check_company(company: Sequence[Spec], clock: Clock, timeout: Timeout | None) -> None:
    """Make sure that some agents can take an exercise together under a clock.

    Raises:
        InvalidInputError: There are too few, one of them is there twice, or their time would be
            measured: none of them may lose time because another one thinks.
    """
    if len(company) < 2:
        raise InvalidInputError(
            f"A company of {len(company)} is none.", "Give at least two agents, or no company."
        )
    for number, member in enumerate(company):
        if member in company[:number]:
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
        end: The nanosecond at which the exercise was over.
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
    end: int
    ending: Ending
    first_reward: float = 0.0
    fault: Fault | None = None
    remarks: Mapping[str, Any] = field(default_factory=dict)


def is_own_fault(outcome: Outcome) -> bool:
    """Whether the agent itself is to blame for an exercise that could not go on."""
    return outcome.fault is not None and outcome.fault.kind is not FaultKind.INFRASTRUCTURE
