"""Several agents in one environment at once: all choose, then everything happens.

Step by step, or for sides with kernels in one compiled loop; the traces are the same. The section
"Several agents at once" of ``docs/standard.md`` is the normative text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from omnimeter.contract import (
    Agent,
    Ending,
    Environment,
    EnvironmentClass,
    Exercise,
    Percept,
    Spec,
    Trace,
)
from omnimeter.contract.exercise import nanoseconds
from omnimeter.interaction.batch import Batch, can_run_compiled
from omnimeter.interaction.compilation import joint_runner
from omnimeter.interaction.handles import AgentFault, AgentHandle, view_of
from omnimeter.interaction.kernels import (
    KernelAgent,
    KernelEnvironment,
    KernelEnvironmentClass,
    contiguous,
    seed_state,
    start_joint,
)
from omnimeter.interaction.loop import Member, environment_error, read_reward, seated


def take_joint(
    environment_class: EnvironmentClass,
    agents: Sequence[Agent | AgentHandle],
    exercise: Exercise,
    *,
    record: bool = False,
) -> list[Trace]:
    """Build the environment of an exercise and let its whole company take it, step by step.

    Args:
        environment_class: Where the instance comes from; as many seats as needed are asked for.
        agents: Who, in the order of the exercise's company.
        exercise: Of any member of the company.
        record: Whether to keep actions and observations too.

    Returns:
        One trace for each agent, all of one joint run. Never raises for a fault of theirs.

    Raises:
        InvalidInputError: The class has not so many seats.
    """
    members = [Member(agent, record) for agent in agents]
    views = [member.view() if environment_class.views else None for member in members]
    try:
        seating = seated(environment_class, views)
        environment = _built(seating, exercise, len(members))
        _start(environment, members, exercise)
        _go_on(environment, members, exercise)
    except AgentFault as trouble:  # the environment's; those of members stay with them
        for member in _here(members):
            member.fail(trouble.fault)
    return [member.trace for member in members if member.trace is not None]


def _here(members: Sequence[Member]) -> list[Member]:
    """Those who have not dropped out."""
    return [member for member in members if member.trace is None]


def _joint_agents(exercise: Exercise) -> tuple[Spec, ...]:
    return exercise.joint or (exercise.agent,)


def _built(seating: EnvironmentClass, exercise: Exercise, seats: int) -> Environment:
    try:
        environment = seating.build(exercise.instance)
        if not environment.seats == seats == len(_joint_agents(exercise)):
            raise ValueError(
                f"there are {environment.seats} seats and {seats} agents "
                f"for a company of {len(_joint_agents(exercise))}"
            )
    except BaseException as error:
        raise environment_error(error) from error
    return environment


def _start(environment: Environment, members: Sequence[Member], exercise: Exercise) -> None:
    try:
        percepts = start_joint(environment, exercise.stream("environment").seed)
        for seat, percept in _read(members, percepts):
            members[seat].see(percept, environment.space_of(seat))
        briefings = [environment.briefing(seat) for seat in range(len(members))]
    except BaseException as error:
        raise environment_error(error) from error
    for member, spec, briefing in zip(members, _joint_agents(exercise), briefings, strict=True):
        if member.trace is None:
            member.begin(briefing, exercise.for_agent(spec).stream("agent").seed)


def _go_on(environment: Environment, members: Sequence[Member], exercise: Exercise) -> None:
    budget, tick = exercise.budget, nanoseconds(exercise.clock.tick)
    timed = None if budget.seconds is None else budget.end_ns
    now, over = 0, None
    for _ in range(budget.max_interactions):
        for member in _here(members):
            member.choose(environment.actions, tick, timed)
        here = _here(members)
        if not here:
            return
        delay = max(member.delay for member in here)
        if delay > budget.end_ns - now:
            over = timed
            break
        now += delay
        for member in here:
            member.wait(delay)
        _step(environment, members)
    for member in _here(members):
        member.leave(Ending.BUDGET, over)


def _step(environment: Environment, members: Sequence[Member]) -> None:
    try:
        percepts = environment.step_joint([member.action for member in members])
        for seat, percept in _read(members, percepts):
            members[seat].receive(percept)
    except BaseException as error:
        raise environment_error(error) from error


def _read(members: Sequence[Member], percepts: Sequence[Percept]) -> list[tuple[int, Percept]]:
    """What is given to those who are still there, with the seat of each."""
    given = enumerate(zip(members, percepts, strict=True))
    return [
        (seat, Percept(read_reward(reward), observation))
        for seat, (member, (reward, observation)) in given
        if member.trace is None
    ]


def run_joint(
    environment_class: EnvironmentClass,
    agents: Sequence[KernelAgent],
    exercises: Iterable[Exercise],
    *,
    record: bool = False,
) -> Iterator[list[Trace]]:
    """The traces of each exercise, in order: what ``take_joint`` gives, compiled if possible.

    One exercise after the other, so that there is never more than one table of each agent.

    Args:
        environment_class: The class of all the exercises' instances.
        agents: Who takes them together, each prepared anew for every exercise. Only agents of
            kernels can be: others are made anew, for ``take_joint``.
        exercises: All of the same company.
        record: Whether to keep actions and observations too.
    """
    for exercise in exercises:
        traces = _compiled(environment_class, agents, exercise, record)
        yield traces or take_joint(environment_class, agents, exercise, record=record)


def has_joint_kernels(
    environment_class: EnvironmentClass, agents: Sequence[Agent | AgentHandle]
) -> bool:
    """Whether a class and some agents have all the kernels for a compiled joint run."""
    kernels = environment_class.kernels
    return (
        isinstance(environment_class, KernelEnvironmentClass)
        and kernels is not None
        and kernels.step_joint is not None
        and kernels.observe_from is not None
        and len(agents) > 1
        and all(isinstance(agent, KernelAgent) for agent in agents)
    )


def _compiled(
    environment_class: EnvironmentClass,
    agents: Sequence[KernelAgent],
    exercise: Exercise,
    record: bool,
) -> list[Trace] | None:
    """Traces of the compiled loop; none if it does not compile, or something raises.

    The ordinary loop then finds out whose fault it is.
    """
    if not has_joint_kernels(environment_class, agents) or not can_run_compiled(exercise):
        return None
    try:
        asked = [view_of(agent) if environment_class.views else None for agent in agents]
        seating = seated(environment_class, asked)
    except AgentFault:
        return None
    if not has_joint_kernels(seating, agents):
        return None
    run = joint_runner(seating.kernels, tuple(agent.kernels for agent in agents))
    try:
        batch = _batch(seating, agents, exercise, record)
        batch.run(run)
    except Exception:
        return None
    return list(batch.traces())


def _batch(
    seating: EnvironmentClass,
    members: Sequence[KernelAgent],
    exercise: Exercise,
    record: bool,
) -> Batch:
    environment = _built(seating, exercise, len(members))
    assert isinstance(environment, KernelEnvironment)  # the same class, with more seats
    seed_state(environment.state, exercise.stream("environment").seed)
    states = [member.prepare(environment.briefing(seat)) for seat, member in enumerate(members)]
    taken = [exercise.for_agent(member) for member in exercise.joint]
    for state, own in zip(states, taken, strict=True):
        seed_state(state, own.stream("agent").seed)
    seats = len(members)
    parts = (
        *map(contiguous, (environment.state, *states)),
        np.zeros(seats, dtype=np.int64),
        np.zeros(seats),
    )
    return Batch(
        taken,
        parts,
        environment.spaces,
        [environment.actions] * seats,
        record,
        scratch=sum(len(space.sizes) for space in environment.spaces),  # all at once
        paces=[member.pace for member in members],
    )
