"""Decides whether exercises run compiled, many in one call, or step by step: the same traces."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from time import perf_counter_ns, thread_time_ns
from typing import Any, NamedTuple

import numpy as np

from omnimeter.caching import announce
from omnimeter.contract import Agent, ClockKind, Ending, EnvironmentClass, Exercise, Fault, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.exercise import nanoseconds
from omnimeter.contract.kernels import State
from omnimeter.interaction import handles, kernels, loop, templates
from omnimeter.interaction.compilation import runner, yardsticks
from omnimeter.interaction.handles import AgentFault, AgentHandle
from omnimeter.interaction.kernels import KernelEnvironment, integers, starts
from omnimeter.interaction.loop import own_exercises, run_stepwise

AgentSource = Agent | AgentHandle | Callable[[], Agent | AgentHandle]
"""An agent or its handle, which begins anew in every exercise, or what makes a new one for each."""

LARGEST = 2**18
"""Interactions that one call may record: memory stays flat, and warm, as work grows."""

LARGEST_STATES = 2**25
"""Bytes of the agents' states in one call, if there are several exercises."""

FIRST_GUESS = 1024
"""Interactions provided for at first when only a time is given."""

TIMED_PER_CALL = 32
"""Exercises in one call when only a time is given: each may turn out to be long."""

uncompilable: set[Callable[..., Any]] = set()
"""The runners that do not compile: each is reported once, and not tried again."""


def run(
    environment_class: EnvironmentClass,
    agents: Sequence[AgentSource],
    exercises: Iterable[Exercise],
    *,
    record: bool = False,
    compiled: bool = True,
    refused: Collection[str] = (),
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
        refused: The views that an agent must not have; one that would have it gets a fault.

    Raises:
        OmnimeterError: The class does not accept these agents, for example so many.
    """
    made = _make(agents)
    kernel_class = _kernel_class(environment_class, made) if compiled else None
    if kernel_class is None:
        for number, exercise in enumerate(exercises):
            fresh = _make(agents) if number else made
            yield run_stepwise(environment_class, fresh, exercise, record=record, refused=refused)
        return
    group: list[_Prepared] = []
    capacity = size = 0
    for exercise in exercises:
        need = min(exercise.budget.max_interactions, LARGEST)
        if exercise.budget.seconds is not None:
            need = LARGEST // TIMED_PER_CALL
        full = capacity + need > LARGEST or size > LARGEST_STATES
        if group and (len(agents) > 1 or full):
            yield from _run_group(environment_class, kernel_class, made, group, record, refused)
            group, capacity, size = [], 0, 0
        group.append(_prepare(kernel_class, made, exercise, refused))
        capacity += need
        size += sum(field.nbytes for state in group[-1].states for field in state)
    yield from _run_group(environment_class, kernel_class, made, group, record, refused)


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
    own = environment_class.kernels
    joint = len(agents) > 1
    return (
        own is not None
        and not (joint and (own.step_joint is None or own.observe_from is None))
        and all(isinstance(agent, Agent) and behaves_by_kernels(agent) for agent in agents)
        and (exercise is None or _needs_no_real_time(exercise))
    )


def behaves_by_kernels(agent: Agent) -> bool:
    """Whether an agent has kernels, and no subclass overrides in Python what they do."""
    if agent.kernels is None or "kernels" in vars(agent):
        return agent.kernels is not None
    for cls in type(agent).__mro__:
        if "kernels" in vars(cls):
            return True
        if not {"begin", "act", "finish"}.isdisjoint(vars(cls)):
            return False
    return True


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
        views = [handles.view_of(agent) if environment_class.views else None for agent in agents]
        kernel_class = loop.seated(environment_class, views)
    except AgentFault:  # the stepwise loop records it
        return None
    return kernel_class if can_run_compiled(kernel_class, agents) else None


def _prepare(
    kernel_class: EnvironmentClass,
    agents: Sequence[Any],
    exercise: Exercise,
    refused: Collection[str],
) -> _Prepared:
    if not _needs_no_real_time(exercise):
        return _Prepared(exercise)
    try:
        environment: Any = loop.build(kernel_class, exercise, len(agents))
        if loop.refused_seats(environment, refused, exercise.seated):
            return _Prepared(exercise)
        kernels.seed_state(environment.state, exercise.stream("environment").seed)
        briefings = loop.briefings_of(environment, len(agents))
        cpu, wall = thread_time_ns(), perf_counter_ns()
        states = [agent.initial_state(briefings[seat]) for seat, agent in enumerate(agents)]
        ready = perf_counter_ns() - wall, thread_time_ns() - cpu
        for state, own in zip(states, own_exercises(exercise), strict=True):
            kernels.seed_state(state, own.stream("agent").seed)
    except Exception:  # the stepwise loop finds out whose fault it is, and records it
        return _Prepared(exercise)
    return _Prepared(exercise, environment, states, ready)


def _run_group(
    environment_class: EnvironmentClass,
    kernel_class: EnvironmentClass,
    agents: Sequence[Any],
    group: Sequence[_Prepared],
    record: bool,
    refused: Collection[str],
) -> Iterator[list[Trace]]:
    ready = [each for each in group if each.environment is not None]
    traces = _run_compiled(kernel_class, agents, ready, record) if ready else None
    for each in group:
        if traces is None or each.environment is None:
            yield run_stepwise(
                environment_class, agents, each.exercise, record=record, refused=refused
            )
        else:
            yield next(traces)


def _run_compiled(
    kernel_class: EnvironmentClass, agents: Sequence[Any], ready: Sequence[_Prepared], record: bool
) -> Iterator[list[Trace]] | None:
    """The traces of the compiled loop; ``None`` if it does not compile, or a kernel raises."""
    assert kernel_class.kernels is not None  # see _kernel_class
    measured = len(agents) == 1 and any(each.exercise.measured for each in ready)
    own = [agent.kernels for agent in agents]
    entry = runner(kernel_class.kernels, *own, measured=measured)
    if entry in uncompilable:
        return None
    try:
        whole = _Batch(ready, [getattr(agent, "pace", 0.0) for agent in agents], record, measured)
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
                f" which takes much longer. {type(error).__name__}: {handles.shown(error, str)}",
                warn=True,
            )
        return None
    return whole.traces()


@cache
def clock_cost() -> tuple[int, int]:
    """The nanoseconds that reading the clocks adds to a measured decision: wall and processor."""
    wall, cpu = np.empty((2, 1000), dtype=np.int64)
    for _ in range(2):  # the second time warm
        yardsticks().empty_decisions(wall, cpu)
    return int(np.median(wall)), int(np.median(cpu))


class _Prepared(NamedTuple):
    """An exercise, with its environment and its agents' states if it can run compiled.

    ``ready`` is the wall and the processor time of making the states, in nanoseconds.
    """

    exercise: Exercise
    environment: KernelEnvironment | None = None
    states: Sequence[State] = ()
    ready: tuple[int, int] = (0, 0)


class _Batch:
    """Several exercises of one agent, or one of several: a row for each exercise and agent."""

    def __init__(
        self, prepared: Sequence[_Prepared], paces: Sequence[float], record: bool, measured: bool
    ) -> None:
        environments = [each.environment for each in prepared if each.environment is not None]
        states = [state for each in prepared for state in each.states]
        self.seats = len(paces)
        if self.seats == 1:
            self.exercises = [each.exercise for each in prepared]
            self.parts = (
                *kernels.end_to_end([each.state for each in environments]),
                *kernels.end_to_end(states),
            )
            spaces = [environment.space for environment in environments]
        else:
            (environment,) = environments
            self.exercises = own_exercises(prepared[0].exercise)
            chosen, given = np.zeros(self.seats, dtype=np.int64), np.zeros(self.seats)
            self.parts = (*map(kernels.contiguous, (environment.state, *states)), chosen, given)
            spaces = list(environment.spaces)
        self.record, self.measured = record, measured
        self.ready = np.array([each.ready for each in prepared], dtype=np.int64)
        self.lowest = [each.rewards[0] for each in environments for _ in range(self.seats)]
        self.widths = integers(len(space.sizes) for space in spaces)
        self.places = starts(self.widths)
        self.seen = np.empty(self.places[-1], dtype=np.int64)
        self.actions = integers(each.actions for each in environments for _ in range(self.seats))
        self.max_interactions = integers(each.budget.max_interactions for each in self.exercises)
        self.end = integers(each.budget.end_ns for each in self.exercises)
        self.tick = integers(nanoseconds(each.clock.tick) for each in self.exercises)
        self.pace = integers([nanoseconds(pace) for pace in paces] * len(environments))
        self.progress = np.zeros((len(self.exercises), 5), dtype=np.int64)
        self.current_rewards = np.zeros((len(self.exercises), 2))
        self.pieces: list[list[tuple[Any, ...]]] = [[] for _ in self.exercises]

    def run(self, run: Callable[..., None]) -> None:
        """Run to the end of every exercise, with more capacity while there are unfinished ones."""
        timed = [each.budget.seconds is not None for each in self.exercises]
        capacity = np.minimum(self.max_interactions, np.where(timed, FIRST_GUESS, LARGEST))
        running = np.ones(len(timed), dtype=np.bool_)
        while running.any():
            self._call(run, capacity, np.flatnonzero(running).tolist())
            running = self.progress[:, templates.STATUS] == templates.RUNNING
            left = np.minimum(self.max_interactions - self.progress[:, templates.COUNT], LARGEST)
            capacity = np.where(running, np.minimum(left, capacity * 4), 0)

    def _call(self, run: Callable[..., None], capacity: IntArray, running: Sequence[int]) -> None:
        slots = starts(capacity)
        seen_at = starts(np.where(self.record, (capacity + 1) * self.widths, 0))
        rewards = np.empty(slots[-1])
        times = np.empty(slots[-1], dtype=np.int64)
        actions = np.empty(slots[-1] if self.record else 0, dtype=np.int64)
        observations = np.empty(seen_at[-1], dtype=np.int64)
        durations = [np.empty(slots[-1], dtype=np.int64) for _ in range(2 * self.measured)]
        given = [*durations, self.ready] if self.measured else []
        before = self.progress[:, templates.COUNT].copy()
        run(
            *self.parts, self.places, self.seen, self.actions, self.max_interactions, self.end,
            self.tick, self.pace, self.progress, self.current_rewards, slots, rewards, times,
            self.record, actions, observations, seen_at, *given,
        )  # fmt: skip
        firsts = slots.tolist()
        lasts = (slots[:-1] + self.progress[:, templates.COUNT] - before).tolist()
        for number in running:
            done = slice(firsts[number], lasts[number])
            piece: tuple[Any, ...] = (rewards[done], times[done])
            if self.measured:
                pairs = zip(durations, clock_cost(), strict=True)
                piece += tuple(each[done] - cost for each, cost in pairs)
            if self.record:
                seen = observations[seen_at[number] : seen_at[number + 1]]
                rows = seen.reshape(-1, self.widths[number])
                first = 1 if self.pieces[number] else 0  # it begins where the last piece ended
                last = lasts[number] - firsts[number] + self.progress[number, templates.STARTED]
                piece += (actions[done], rows[first:last])
            self.pieces[number].append(piece)

    def traces(self) -> Iterator[list[Trace]]:
        """What happened in each exercise, for each of its agents."""
        rows = zip(self.progress.tolist(), self.current_rewards.tolist(), strict=True)
        traces = [self._trace(number, *row) for number, row in enumerate(rows)]
        return (traces[k : k + self.seats] for k in range(0, len(traces), self.seats))

    def _trace(self, number: int, progress: Sequence[int], rewards: Sequence[float]) -> Trace:
        (status, _, now, given, _), (first, last) = progress, rewards
        fault: Fault | None = None  # what the stepwise loop says of the same
        match status:
            case templates.NO_ACTION:
                fault = handles.invalid_action(given, int(self.actions[number])).fault
            case templates.NO_DELAY:
                fault = handles.invalid_delay(given / 1e9).fault
            case templates.NO_REWARD:
                fault = loop.invalid_reward(last).fault
        ending = Ending.STOPPED if status == templates.STOPPED else Ending.BUDGET
        budget = self.exercises[number].budget
        out_of_time = status in (templates.BY_TIME, templates.STOPPED)
        pieces = self.pieces[number]
        columns = pieces[0]
        if len(pieces) > 1:
            columns = tuple(map(np.concatenate, zip(*pieces, strict=True)))
        wall, cpu = columns[2:4] if self.measured else (None, None)
        if wall is not None and cpu is not None:
            wall[:1] += self.ready[number, 0]
            cpu[:1] += self.ready[number, 1]
        actions, observations = columns[-2:] if self.record else (None, None)
        return Trace(
            rewards=columns[0],
            times=columns[1],
            end_ns=budget.end_ns if out_of_time and budget.seconds is not None else now,
            ending=ending if fault is None else Ending.FAULT,
            first_reward=first,
            fault=fault,
            actions=actions,
            observations=observations,
            planned=budget.interactions,
            timed=budget.seconds is not None,
            lowest=self.lowest[number],
            wall_ns=wall,
            cpu_ns=cpu,
        )
