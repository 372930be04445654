"""Whole exercises in one compiled loop, many at once, without the interpreter.

States of all exercises lie end to end in one array per field, so that a batch crosses the border
to compiled code once, whatever the sizes of its members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import (
    Ending,
    Exercise,
    Fault,
    IntArray,
    Trace,
    nanoseconds,
)
from omnimeter.contract.budget import ClockKind
from omnimeter.contract.kernels import State
from omnimeter.interaction import templates
from omnimeter.interaction.compilation import runner
from omnimeter.interaction.kernel_parts import (
    KernelAgent,
    KernelEnvironment,
    KernelEnvironmentClass,
    seed_state,
)
from omnimeter.interaction.layout import end_to_end, integers, starts
from omnimeter.interaction.loop import interact
from omnimeter.interaction.seats import invalid_action

LARGEST = 2**18
"""Interactions that one call may record: memory stays flat, and warm, as work grows."""

FIRST_GUESS = 1024
"""Interactions provided for at first when only a time is given."""

TIMED_TOGETHER = 32
"""Exercises in one call when only a time is given: each may turn out to be long."""


def can_run_compiled(exercise: Exercise) -> bool:
    """Whether an exercise needs nothing that only the ordinary loop can do."""
    return exercise.clock.kind is ClockKind.VIRTUAL and exercise.timeout is None


def run_batch(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent | Callable[[], KernelAgent],
    exercises: Sequence[Exercise],
    *,
    record: bool = False,
) -> Iterator[Trace]:
    """The trace of each exercise, in order: exactly what ``interact`` gives, at compiled speed.

    Args:
        environment_class: The class of all the exercises' instances.
        agent: Who takes them, prepared anew for each.
        exercises: With a virtual clock and without time-outs.
        record: Whether to keep actions and observations too.
    """
    agent = agent if isinstance(agent, KernelAgent) else agent()
    group: list[_Seated | Trace] = []
    room = 0
    for exercise in exercises:
        timed = exercise.budget.seconds is not None
        need = LARGEST // TIMED_TOGETHER if timed else min(exercise.budget.most, LARGEST)
        if group and room + need > LARGEST:
            yield from _run_group(environment_class, agent, group, record)
            group, room = [], 0
        group.append(_seat(environment_class, agent, exercise, record))
        room += need
    yield from _run_group(environment_class, agent, group, record)


class _Seated(NamedTuple):
    """An exercise with both sides ready to begin."""

    exercise: Exercise
    environment: KernelEnvironment
    state: State


def _seat(
    environment_class: KernelEnvironmentClass, agent: KernelAgent, exercise: Exercise, record: bool
) -> _Seated | Trace:
    """Get both sides ready. The ordinary loop records why they could not."""
    environment = environment_class.build(exercise.instance)
    try:
        state = agent.prepare(environment.briefing())
    except Exception:
        return interact(environment, agent, exercise.budget, exercise.stream, record=record)
    seed_state(environment.state, exercise.stream("environment").generator())
    seed_state(state, exercise.stream("agent").generator())
    return _Seated(exercise, environment, state)


def _run_group(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    group: Sequence[_Seated | Trace],
    record: bool,
) -> Iterator[Trace]:
    ready = [each for each in group if isinstance(each, _Seated)]
    run = runner(environment_class.kernels, agent.kernels)
    done = _Batch(run, ready, record).traces() if ready else iter(())
    return (next(done) if isinstance(each, _Seated) else each for each in group)


class _Batch:
    """Some exercises under way together."""

    def __init__(self, run: Callable[..., None], seated: Sequence[_Seated], record: bool) -> None:
        self.run = run
        self.record = record
        self.exercises = exercises = [each.exercise for each in seated]
        environments = [each.environment for each in seated]
        self.parts = (
            *end_to_end([environment.state for environment in environments]),
            *end_to_end([each.state for each in seated]),
        )
        self.widths = integers(len(each.space.sizes) for each in environments)
        self.scratch = np.empty(self.widths.max(), dtype=np.int64)
        self.actions = integers(each.actions for each in environments)
        self.most = integers(each.budget.most for each in exercises)
        self.end = integers(each.budget.end for each in exercises)
        self.tick = integers(nanoseconds(each.clock.tick) for each in exercises)
        self.progress = np.zeros((len(exercises), 5), dtype=np.int64)
        self.rewards_at_hand = np.zeros((len(exercises), 2))
        self.pieces: list[list[tuple[Any, ...]]] = [[] for _ in exercises]

    def traces(self) -> Iterator[Trace]:
        """Run to the end of every exercise, providing more room while there are unfinished ones."""
        timed = [each.budget.seconds is not None for each in self.exercises]
        room = np.where(timed, np.minimum(self.most, FIRST_GUESS), np.minimum(self.most, LARGEST))
        while True:
            self._call(room)
            unfinished = self.progress[:, templates.STATUS] == templates.RUNNING
            if not unfinished.any():
                break
            left = np.minimum(self.most - self.progress[:, templates.COUNT], LARGEST)
            room = np.where(unfinished, np.minimum(left, room * 4), 0)
        for number in range(len(self.exercises)):
            yield self._trace(number)

    def _call(self, room: IntArray) -> None:
        slots = starts(room)
        seen_at = starts(np.where(self.record, (room + 1) * self.widths, 0))
        rewards = np.empty(slots[-1])
        times = np.empty(slots[-1], dtype=np.int64)
        actions = np.empty(slots[-1] if self.record else 0, dtype=np.int64)
        observations = np.empty(seen_at[-1], dtype=np.int64)
        before = self.progress[:, templates.COUNT].copy()
        self.run(
            *self.parts, self.widths, self.scratch, self.actions, self.most, self.end, self.tick,
            self.progress, self.rewards_at_hand, slots, rewards, times,
            self.record, actions, observations, seen_at,
        )  # fmt: skip
        done = self.progress[:, templates.COUNT] - before
        for number, count in enumerate(done):
            if room[number] == 0 and self.pieces[number]:
                continue  # finished in an earlier call
            first, width = slots[number], self.widths[number]
            piece: tuple[Any, ...] = (rewards[first : first + count], times[first : first + count])
            if self.record:
                seen = observations[seen_at[number] : seen_at[number] + (count + 1) * width]
                piece += (actions[first : first + count], seen.reshape(-1, width))
            self.pieces[number].append(piece)

    def _trace(self, number: int) -> Trace:
        status, _, now, action, _ = (int(x) for x in self.progress[number])
        columns = [_joined(column) for column in zip(*self.pieces[number], strict=True)]
        fault: Fault | None = None
        ending = Ending.BUDGET
        if status == templates.STOPPED:
            ending = Ending.STOPPED
        elif status == templates.INVALID:
            ending = Ending.FAULT
            fault = invalid_action(action, int(self.actions[number])).fault
        timed = self.exercises[number].budget.seconds is not None
        out_of_time = timed and status in (templates.BY_TIME, templates.STOPPED)
        observations = None
        if self.record:  # each piece begins with what the one before ended with
            seen = [piece[3][:-1] for piece in self.pieces[number][:-1]]
            observations = np.concatenate([*seen, self.pieces[number][-1][3]])
        return Trace(
            rewards=columns[0],
            times=columns[1],
            end=int(self.end[number]) if out_of_time else now,
            ending=ending,
            first_reward=float(self.rewards_at_hand[number, 0]),
            fault=fault,
            actions=columns[2] if self.record else None,
            observations=observations,
        )


def _joined(pieces: Sequence[Any]) -> Any:
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
