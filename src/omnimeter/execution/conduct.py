"""Carrying out exercises in this process: compiled where both sides can, otherwise step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Agent, EnvironmentClass, Exercise, Outcome, Payoff, Spec, Trace
from omnimeter.interaction import KernelAgent, KernelEnvironmentClass, take
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.batch import can_run_compiled, run_batch
from omnimeter.interaction.limits import Limits
from omnimeter.interaction.remote import AgentProcess
from omnimeter.interaction.seats import Seat

QUICK = 5_000_000
"""Interactions that compiled loops do in about a tenth of a second."""


class Isolation(StrEnum):
    """Where agents sit.

    ``AUTO`` trusts what is installed and gives what comes from a file a process of its own.
    """

    AUTO = "auto"
    PROCESS = "process"
    NONE = "none"


def is_isolated(agent: Spec, isolation: Isolation) -> bool:
    """Whether an agent gets a process of its own."""
    if isolation is Isolation.AUTO:
        return ":" in agent.id  # a place in a file or a module, not an id of the catalogue
    return isolation is Isolation.PROCESS


@lru_cache(maxsize=16)
def environment_class(spec: Spec) -> EnvironmentClass:
    """The class of a spec, made once."""
    made: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    return made


def make_agent(spec: Spec) -> Agent:
    """A new agent in this process."""
    return adapt(make(Kind.AGENT, spec))


def runs_compiled(surroundings: EnvironmentClass, agent: Agent, exercise: Exercise) -> bool:
    """Whether both sides have kernels and the exercise needs nothing else."""
    return (
        isinstance(surroundings, KernelEnvironmentClass)
        and isinstance(agent, KernelAgent)
        and can_run_compiled(exercise)
    )


def portion(exercise: Exercise, isolation: Isolation) -> int:
    """How many exercises like this one make a job that takes about a tenth of a second.

    Only compiled exercises are quick enough to be done together.
    """
    if is_isolated(exercise.agent, isolation):
        return 1
    surroundings = environment_class(exercise.environment_class)
    if not runs_compiled(surroundings, make_agent(exercise.agent), exercise):
        return 1
    return max(1, min(64, QUICK // max(1, exercise.budget.most)))


class Conductor:
    """Carries out exercises, one agent at a time, and keeps its process between them.

    Args:
        isolation: Where agents sit.
        limits: What an agent in its own process may use.
    """

    def __init__(self, isolation: Isolation = Isolation.AUTO, limits: Limits | None = None) -> None:
        self.isolation = isolation
        self.limits = limits or Limits()
        self._process: AgentProcess | None = None

    def close(self) -> None:
        """End the agent's process, if there is one."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def traces(self, exercises: Sequence[Exercise], *, record: bool = False) -> Iterator[Trace]:
        """The traces of some exercises of one agent in one class, in order."""
        first = exercises[0]
        surroundings = environment_class(first.environment_class)
        if is_isolated(first.agent, self.isolation):
            for exercise in exercises:
                yield take(surroundings, self._seat(first.agent), exercise, record=record)
            return
        agent = make_agent(first.agent)
        if isinstance(surroundings, KernelEnvironmentClass) and isinstance(agent, KernelAgent):
            yield from run_batch(surroundings, agent, exercises, record=record)
            return
        for number, exercise in enumerate(exercises):
            fresh = make_agent(first.agent) if number else agent
            yield take(surroundings, fresh, exercise, record=record)

    def outcomes(
        self, exercises: Sequence[Exercise], payoff: Payoff, *, record: bool = False
    ) -> Iterator[tuple[Outcome, Trace]]:
        """What came of some exercises of one agent in one class, in order."""
        for exercise, trace in zip(exercises, self.traces(exercises, record=record), strict=True):
            yield outcome_of(exercise, trace, payoff), trace

    def _seat(self, agent: Spec) -> Seat:
        if self._process is None or self._process.spec != agent:
            self.close()
            self._process = AgentProcess(agent, self.limits)
        return self._process


def outcome_of(exercise: Exercise, trace: Trace, payoff: Payoff) -> Outcome:
    """Judge a trace. What a fault cut short is kept, but has no payoff."""
    return Outcome(
        exercise=exercise,
        payoff=payoff(trace) if trace.fault is None else None,
        interactions=len(trace),
        total=float(trace.rewards.sum()),
        last_time=int(trace.times[-1]) if len(trace) else 0,
        end=trace.end,
        ending=trace.ending,
        first_reward=trace.first_reward,
        fault=trace.fault,
    )
