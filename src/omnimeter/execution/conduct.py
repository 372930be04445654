"""Carrying out exercises in this process: compiled where both sides can, otherwise step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import groupby

from omnimeter.catalogue import Kind, inner_part, make
from omnimeter.contract import Agent, EnvironmentClass, Exercise, Outcome, Payoff, Spec, Trace
from omnimeter.interaction import KernelAgent, KernelEnvironmentClass, take
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.batch import can_run_compiled, run_batch
from omnimeter.interaction.limits import Limits
from omnimeter.interaction.remote import AgentProcess
from omnimeter.interaction.seats import Seat
from omnimeter.interaction.together import has_joint_kernels, run_together, take_together

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
        inner = inner_part(Kind.AGENT, agent)
        inside = inner is not None and is_isolated(inner, isolation)
        return inside or ":" in agent.id  # a place in a file or a module, not an id
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
    """How many runs like that of this exercise make a job of about a tenth of a second.

    Only compiled ones are quick enough for more than one.
    """
    members = takers(exercise)
    if any(is_isolated(member, isolation) for member in members):
        return 1
    surroundings = environment_class(exercise.environment_class)
    agents = [make_agent(member) for member in members]
    if exercise.company:
        compiled = has_joint_kernels(surroundings, agents)
    else:
        compiled = runs_compiled(surroundings, agents[0], exercise)
    if not compiled:
        return 1
    return max(1, min(64, QUICK // max(1, exercise.budget.most * len(members))))


def takers(exercise: Exercise) -> tuple[Spec, ...]:
    """Who is in the environment: a company, or one agent alone."""
    return exercise.company or (exercise.agent,)


def run_of(exercise: Exercise) -> str:
    """A name for the run of an exercise, which the members of a company have in common."""
    return exercise.of(exercise.company[0]).key if exercise.company else exercise.key


class Conductor:
    """Carries out exercises, one agent or one company at a time, and keeps their processes.

    Args:
        isolation: Where agents sit.
        limits: What an agent in its own process may use.
    """

    def __init__(self, isolation: Isolation = Isolation.AUTO, limits: Limits | None = None) -> None:
        self.isolation = isolation
        self.limits = limits or Limits()
        self._processes: dict[Spec, AgentProcess] = {}

    def close(self) -> None:
        """End the agents' processes, if there are any."""
        self._keep(())

    def traces(self, exercises: Sequence[Exercise], *, record: bool = False) -> Iterator[Trace]:
        """The traces of some exercises, in order.

        Args:
            exercises: All in one class, and of one agent alone or of one company. Those of its
                members in the same joint run stand next to each other: it is run once.
            record: Whether to keep actions and observations too.
        """
        first = exercises[0]
        if first.company:
            for _, run in groupby(exercises, run_of):
                yield from self._joint_run(list(run), record)
            return
        if first.budget.limit is None:  # where real time counts, a new process would take of it
            self._keep([first.agent])
        surroundings = environment_class(first.environment_class)
        agent = self._seated(first.agent)
        if isinstance(surroundings, KernelEnvironmentClass) and isinstance(agent, KernelAgent):
            yield from run_batch(surroundings, agent, exercises, record=record)
            return
        for number, exercise in enumerate(exercises):
            fresh = self._seated(first.agent) if number else agent
            yield take(surroundings, fresh, exercise, record=record)

    def _joint_run(self, run: Sequence[Exercise], record: bool) -> list[Trace]:
        """The traces of those members of a company whose exercises are given, all of one run."""
        first = run[0]
        self._keep(first.company)
        surroundings = environment_class(first.environment_class)
        agents = [self._seated(member) for member in first.company]
        kernels = [agent for agent in agents if isinstance(agent, KernelAgent)]
        if len(kernels) == len(agents):
            (traces,) = run_together(surroundings, kernels, [first], record=record)
        else:
            traces = take_together(surroundings, agents, first, record=record)
        return [traces[first.company.index(exercise.agent)] for exercise in run]

    def outcomes(
        self, exercises: Sequence[Exercise], payoff: Payoff, *, record: bool = False
    ) -> Iterator[tuple[Outcome, Trace]]:
        """What came of some exercises, which are such as ``traces`` takes, in order."""
        for exercise, trace in zip(exercises, self.traces(exercises, record=record), strict=True):
            yield outcome_of(exercise, trace, payoff), trace

    def _seated(self, agent: Spec) -> Agent | Seat:
        """A new agent in this process, or the seat of one in a process of its own."""
        if not is_isolated(agent, self.isolation):
            return make_agent(agent)
        if agent not in self._processes:
            self._processes[agent] = AgentProcess(agent, self.limits)
        return self._processes[agent]

    def _keep(self, agents: Sequence[Spec]) -> None:
        """End the processes of all other agents."""
        for agent in [each for each in self._processes if each not in agents]:
            self._processes.pop(agent).close()


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
