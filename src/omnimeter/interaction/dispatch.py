"""The one place that decides whether exercises run compiled or step by step: the same traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from omnimeter.contract import Agent, ClockKind, EnvironmentClass, Exercise, Trace
from omnimeter.interaction import batch
from omnimeter.interaction.batch import Prepared
from omnimeter.interaction.compilation import announce, runner
from omnimeter.interaction.handles import AgentFault, AgentHandle, shown, view_of
from omnimeter.interaction.kernels import seed_state
from omnimeter.interaction.loop import briefings_of, build, own_exercises, run_stepwise, seated

AgentSource = Agent | AgentHandle | Callable[[], Agent | AgentHandle]
"""An agent or its handle, which begins anew in every exercise, or what makes a new one for each."""

uncompilable: set[Callable[..., Any]] = set()
"""The runners that do not compile: each is reported once, and not tried again."""


def run(
    environment_class: EnvironmentClass,
    agents: Sequence[AgentSource],
    exercises: Iterable[Exercise],
    *,
    record: bool = False,
    compiled: bool = True,
) -> Iterator[list[Trace]]:
    """The traces of each exercise, in order: one for each agent.

    Args:
        environment_class: The class of all the exercises' instances.
        agents: One agent, or all agents of a joint run in the order of ``Exercise.joint``. What
            makes agents is called for every exercise; an agent with kernels is made only once,
            because its state is prepared anew.
        exercises: All of the same agents.
        record: Whether to keep actions and observations too.
        compiled: Whether exercises may run compiled. Their traces are the same in both ways.

    Raises:
        OmnimeterError: The class does not accept these agents, for example so many.
    """
    made = _make(agents)
    kernel_class = _kernel_class(environment_class, made) if compiled else None
    if kernel_class is None:
        for number, exercise in enumerate(exercises):
            fresh = _make(agents) if number else made
            yield run_stepwise(environment_class, fresh, exercise, record=record)
        return
    group: list[Prepared] = []
    capacity = 0
    for exercise in exercises:
        need = min(exercise.budget.max_interactions, batch.LARGEST)
        if exercise.budget.seconds is not None:
            need = batch.LARGEST // batch.TIMED_PER_CALL
        if group and (len(agents) > 1 or capacity + need > batch.LARGEST):
            yield from _run_group(environment_class, kernel_class, made, group, record)
            group, capacity = [], 0
        group.append(_prepare(kernel_class, made, exercise))
        capacity += need
    yield from _run_group(environment_class, kernel_class, made, group, record)


def run_single(
    environment_class: EnvironmentClass,
    agent: AgentSource,
    exercises: Iterable[Exercise],
    *,
    record: bool = False,
    compiled: bool = True,
) -> Iterator[Trace]:
    """What ``run`` gives for one agent: one trace for each exercise."""
    runs = run(environment_class, [agent], exercises, record=record, compiled=compiled)
    return (trace for (trace,) in runs)


def can_run_compiled(
    environment_class: EnvironmentClass,
    agents: Sequence[Agent | AgentHandle],
    exercise: Exercise | None = None,
) -> bool:
    """Whether both sides have the kernels, and an exercise needs no real time."""
    kernels = environment_class.kernels
    joint = len(agents) > 1
    return (
        kernels is not None
        and not (joint and (kernels.step_joint is None or kernels.observe_from is None))
        and all(isinstance(agent, Agent) and agent.kernels is not None for agent in agents)
        and (exercise is None or _needs_no_real_time(exercise))
    )


def _needs_no_real_time(exercise: Exercise) -> bool:
    virtual = exercise.clock.kind is ClockKind.VIRTUAL
    return virtual and exercise.timeout is None and exercise.budget.wall_limit is None


def _make(agents: Sequence[AgentSource]) -> list[Agent | AgentHandle]:
    return [each if isinstance(each, Agent | AgentHandle) else each() for each in agents]


def _kernel_class(
    environment_class: EnvironmentClass, agents: Sequence[Agent | AgentHandle]
) -> EnvironmentClass | None:
    """The class as the agents see it, if it and they have kernels."""
    if not can_run_compiled(environment_class, agents):
        return None
    try:
        views = [view_of(agent) if environment_class.views else None for agent in agents]
        kernel_class = seated(environment_class, views)
    except AgentFault:  # the stepwise loop records it
        return None
    return kernel_class if can_run_compiled(kernel_class, agents) else None


def _prepare(kernel_class: EnvironmentClass, agents: Sequence[Any], exercise: Exercise) -> Prepared:
    if not _needs_no_real_time(exercise):
        return Prepared(exercise)
    try:
        environment: Any = build(kernel_class, exercise, len(agents))
        seed_state(environment.state, exercise.stream("environment").seed)
        briefings = briefings_of(environment, len(agents))
        states = [agent.prepare(briefings[seat]) for seat, agent in enumerate(agents)]
        for state, own in zip(states, own_exercises(exercise), strict=True):
            seed_state(state, own.stream("agent").seed)
    except Exception:  # the stepwise loop finds out whose fault it is, and records it
        return Prepared(exercise)
    return Prepared(exercise, environment, states)


def _run_group(
    environment_class: EnvironmentClass,
    kernel_class: EnvironmentClass,
    agents: Sequence[Any],
    group: Sequence[Prepared],
    record: bool,
) -> Iterator[list[Trace]]:
    ready = [each for each in group if each.environment is not None]
    traces = _run_compiled(kernel_class, agents, ready, record) if ready else None
    for each in group:
        if traces is None or each.environment is None:
            yield run_stepwise(environment_class, agents, each.exercise, record=record)
        else:
            yield next(traces)


def _run_compiled(
    kernel_class: EnvironmentClass, agents: Sequence[Any], ready: Sequence[Prepared], record: bool
) -> Iterator[list[Trace]] | None:
    """The traces of the compiled loop; ``None`` if it does not compile, or a kernel raises."""
    assert kernel_class.kernels is not None  # see _kernel_class
    entry = runner(kernel_class.kernels, *(agent.kernels for agent in agents))
    if entry in uncompilable:
        return None
    try:
        whole = batch.Batch(ready, [getattr(agent, "pace", 0.0) for agent in agents], record)
    except Exception:  # states that compiled code cannot work on
        return None
    try:
        whole.run(entry)
    except Exception as error:
        from numba.core.errors import NumbaError

        if isinstance(error, NumbaError) or not getattr(entry, "signatures", True):
            uncompilable.add(entry)
            types = [type(part) for part in (kernel_class, *agents)]
            names = ", ".join(f"{each.__module__}.{each.__name__}" for each in types)
            announce(
                f"The kernels of {names} do not compile together. Their exercises run step by step,"
                f" which takes much longer. {type(error).__name__}: {shown(error, str)}",
                warn=True,
            )
        return None
    return whole.traces()
