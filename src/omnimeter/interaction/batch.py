"""Whole exercises in one compiled loop, many in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import Ending, Exercise, Fault, Space, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.exercise import ClockKind, nanoseconds
from omnimeter.contract.kernels import State
from omnimeter.interaction import templates
from omnimeter.interaction.compilation import runner
from omnimeter.interaction.handles import AgentFault, invalid_action, invalid_delay
from omnimeter.interaction.kernels import (
    KernelAgent,
    KernelEnvironment,
    KernelEnvironmentClass,
    end_to_end,
    integers,
    seed_state,
    starts,
)
from omnimeter.interaction.loop import as_seen_by, invalid_reward, take

LARGEST = 2**18
"""Interactions that one call may record: memory stays flat, and warm, as work grows."""

FIRST_GUESS = 1024
"""Interactions provided for at first when only a time is given."""

TIMED_PER_CALL = 32
"""Exercises in one call when only a time is given: each may turn out to be long."""


def can_run_compiled(exercise: Exercise) -> bool:
    """Whether an exercise needs nothing that only the ordinary loop can do."""
    return exercise.clock.kind is ClockKind.VIRTUAL and exercise.timeout is None


def run_batch(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    exercises: Sequence[Exercise],
    *,
    record: bool = False,
) -> Iterator[Trace]:
    """The trace of each exercise, in order: exactly what ``interact`` gives, at compiled speed.

    Args:
        environment_class: The class of all the exercises' instances.
        agent: Who takes them, prepared anew for each.
        exercises: Those for which ``can_run_compiled`` says no take the ordinary loop.
        record: Whether to keep actions and observations too.
    """
    try:
        seen = as_seen_by(environment_class, agent)
    except AgentFault:
        seen = None
    if not isinstance(
        seen, KernelEnvironmentClass
    ):  # the ordinary loop finds out whose fault it is
        yield from (take(environment_class, agent, each, record=record) for each in exercises)
        return
    group: list[_Seated | Exercise] = []
    room = 0
    for exercise in exercises:
        timed = exercise.budget.seconds is not None
        need = (
            LARGEST // TIMED_PER_CALL if timed else min(exercise.budget.max_interactions, LARGEST)
        )
        if group and room + need > LARGEST:
            yield from _run_group(seen, agent, group, record)
            group, room = [], 0
        group.append(_seat(seen, agent, exercise))
        room += need
    yield from _run_group(seen, agent, group, record)


class _Seated(NamedTuple):
    """An exercise with both sides ready to begin."""

    exercise: Exercise
    environment: KernelEnvironment
    state: State


def _seat(
    environment_class: KernelEnvironmentClass, agent: KernelAgent, exercise: Exercise
) -> _Seated | Exercise:
    """An exercise with both sides ready; or without, if only the ordinary loop can say why not."""
    if not can_run_compiled(exercise):
        return exercise
    try:
        environment = environment_class.build(exercise.instance)
        state = agent.prepare(environment.briefing())
        seed_state(environment.state, exercise.stream("environment").seed)
        seed_state(state, exercise.stream("agent").seed)
    except Exception:
        return exercise
    return _Seated(exercise, environment, state)


def _run_group(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    group: Sequence[_Seated | Exercise],
    record: bool,
) -> Iterator[Trace]:
    seated = [each for each in group if isinstance(each, _Seated)]
    traces = _compiled(environment_class, agent, seated, record)
    for each in group:
        trace = next(traces) if isinstance(each, _Seated) else None
        if trace is None:
            exercise = each.exercise if isinstance(each, _Seated) else each
            trace = take(environment_class, agent, exercise, record=record)
        yield trace


def _compiled(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    seated: Sequence[_Seated],
    record: bool,
) -> Iterator[Trace | None]:
    """Traces of the compiled loop; none for anybody if it does not compile, or a kernel raises.

    The ordinary loop then finds out whose fault it is.
    """
    if not seated:
        return iter(())
    run = runner(environment_class.kernels, agent.kernels)
    try:
        batch = _batch(seated, record, agent.pace)
        batch.run(run)
    except Exception:
        return repeat(None)
    return batch.traces()


def _batch(seated: Sequence[_Seated], record: bool, pace: float) -> Batch:
    environments = [each.environment for each in seated]
    spaces = [environment.space for environment in environments]
    parts = (
        *end_to_end([environment.state for environment in environments]),
        *end_to_end([each.state for each in seated]),
    )
    return Batch(
        [each.exercise for each in seated],
        parts,
        spaces,
        [environment.actions for environment in environments],
        record,
        scratch=max(len(space.sizes) for space in spaces),  # one after the other
        paces=[pace] * len(seated),
    )


class Batch:
    """Compiled loops under way: exercises beside each other, or the members of a company.

    Args:
        exercises: One for each of them.
        parts: What the loop is given first, its states.
        spaces: The observations there can be for each of them.
        actions: The number of actions of each.
        record: Whether to keep actions and observations too.
        scratch: How many integers the loop needs for what is seen at one moment.
        paces: The seconds that each agent declares for its actions beyond what its kernels do.
    """

    def __init__(
        self,
        exercises: Sequence[Exercise],
        parts: tuple[Any, ...],
        spaces: Sequence[Space],
        actions: Sequence[int],
        record: bool,
        *,
        scratch: int,
        paces: Sequence[float],
    ) -> None:
        self.record = record
        self.exercises = exercises
        self.parts = parts
        self.widths = integers(len(space.sizes) for space in spaces)
        self.scratch = np.empty(scratch, dtype=np.int64)
        self.actions = integers(actions)
        self.most = integers(each.budget.max_interactions for each in exercises)
        self.end = integers(each.budget.end_ns for each in exercises)
        self.tick = integers(nanoseconds(each.clock.tick) for each in exercises)
        self.pace = integers(map(nanoseconds, paces))
        self.progress = np.zeros((len(exercises), 5), dtype=np.int64)
        self.rewards_at_hand = np.zeros((len(exercises), 2))
        self.pieces: list[list[tuple[Any, ...]]] = [[] for _ in exercises]

    def run(self, run: Callable[..., None]) -> None:
        """Run to the end of every exercise, providing more room while there are unfinished ones."""
        timed = [each.budget.seconds is not None for each in self.exercises]
        room = np.where(timed, np.minimum(self.most, FIRST_GUESS), np.minimum(self.most, LARGEST))
        running = np.ones(len(timed), dtype=np.bool_)
        while running.any():
            self._call(run, room, np.flatnonzero(running).tolist())
            running = self.progress[:, templates.STATUS] == templates.RUNNING
            left = np.minimum(self.most - self.progress[:, templates.COUNT], LARGEST)
            room = np.where(running, np.minimum(left, room * 4), 0)

    def _call(self, run: Callable[..., None], room: IntArray, running: Sequence[int]) -> None:
        slots = starts(room)
        seen_at = starts(np.where(self.record, (room + 1) * self.widths, 0))
        rewards = np.empty(slots[-1])
        times = np.empty(slots[-1], dtype=np.int64)
        actions = np.empty(slots[-1] if self.record else 0, dtype=np.int64)
        observations = np.empty(seen_at[-1], dtype=np.int64)
        before = self.progress[:, templates.COUNT].copy()
        run(
            *self.parts, self.widths, self.scratch, self.actions, self.most, self.end, self.tick,
            self.pace, self.progress, self.rewards_at_hand, slots, rewards, times,
            self.record, actions, observations, seen_at,
        )  # fmt: skip
        firsts = slots.tolist()
        lasts = (slots[:-1] + self.progress[:, templates.COUNT] - before).tolist()
        for number in running:
            done = slice(firsts[number], lasts[number])
            piece: tuple[Any, ...] = (rewards[done], times[done])
            if self.record:
                seen = observations[seen_at[number] : seen_at[number + 1]]
                rows = seen.reshape(-1, self.widths[number])
                piece += (
                    actions[done],
                    rows[self._new_rows(number, lasts[number] - firsts[number])],
                )
            self.pieces[number].append(piece)

    def _new_rows(self, number: int, count: int) -> slice:
        """Which of the observations written down for some interactions are new."""
        first = 1 if self.pieces[number] else 0  # a further piece begins where the last one ended
        return slice(first, count + int(self.progress[number, templates.STARTED]))

    def traces(self) -> Iterator[Trace]:
        """What happened in each exercise."""
        at_hand = self.rewards_at_hand.tolist()
        for number, progress in enumerate(self.progress.tolist()):
            yield self._trace(number, progress, *at_hand[number])

    def _trace(self, number: int, progress: Sequence[int], first: float, last: float) -> Trace:
        status, _, now, given, _ = progress
        fault = _fault(status, given, int(self.actions[number]), last)
        ending = Ending.STOPPED if status == templates.STOPPED else Ending.BUDGET
        budget = self.exercises[number].budget
        out_of_time = status in (templates.BY_TIME, templates.STOPPED)
        pieces = self.pieces[number]
        columns = (
            pieces[0] if len(pieces) == 1 else list(map(np.concatenate, zip(*pieces, strict=True)))
        )
        return Trace(
            rewards=columns[0],
            times=columns[1],
            end_ns=budget.end_ns if out_of_time and budget.seconds is not None else now,
            ending=ending if fault is None else Ending.FAULT,
            first_reward=first,
            fault=fault,
            actions=columns[2] if self.record else None,
            observations=columns[3] if self.record else None,
        )


def _fault(status: int, given: int, actions: int, reward: float) -> Fault | None:
    """What the ordinary loop says of the same."""
    match status:
        case templates.NO_ACTION:
            return invalid_action(given, actions).fault
        case templates.NO_DELAY:
            return invalid_delay(given / 1e9).fault
        case templates.NO_REWARD:
            return invalid_reward(reward).fault
    return None
