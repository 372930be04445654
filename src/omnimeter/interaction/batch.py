"""Whole exercises in one compiled loop, many in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import Ending, Exercise, Fault, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.exercise import nanoseconds
from omnimeter.contract.kernels import State
from omnimeter.interaction import templates
from omnimeter.interaction.handles import invalid_action, invalid_delay
from omnimeter.interaction.kernels import (
    KernelEnvironment,
    contiguous,
    end_to_end,
    integers,
    starts,
)
from omnimeter.interaction.loop import invalid_reward, own_exercises

LARGEST = 2**18
"""Interactions that one call may record: memory stays flat, and warm, as work grows."""

FIRST_GUESS = 1024
"""Interactions provided for at first when only a time is given."""

TIMED_PER_CALL = 32
"""Exercises in one call when only a time is given: each may turn out to be long."""


class Prepared(NamedTuple):
    """An exercise, with its environment and its agents' states if it can run compiled."""

    exercise: Exercise
    environment: KernelEnvironment | None = None
    states: Sequence[State] = ()


class Batch:
    """Several exercises of one agent, or one of several: a row for each exercise and agent.

    Args:
        prepared: The exercises; only one if it has several agents.
        paces: The seconds that each agent declares beyond what its kernels do.
        record: Whether to keep actions and observations too.
    """

    def __init__(self, prepared: Sequence[Prepared], paces: Sequence[float], record: bool) -> None:
        environments = [each.environment for each in prepared if each.environment is not None]
        states = [state for each in prepared for state in each.states]
        self.seats = len(paces)
        if self.seats == 1:
            self.exercises = [each.exercise for each in prepared]
            self.parts = (*end_to_end([each.state for each in environments]), *end_to_end(states))
            spaces = [environment.space for environment in environments]
        else:
            (environment,) = environments
            self.exercises = own_exercises(prepared[0].exercise)
            chosen, given = np.zeros(self.seats, dtype=np.int64), np.zeros(self.seats)
            self.parts = (*map(contiguous, (environment.state, *states)), chosen, given)
            spaces = list(environment.spaces)
        self.record = record
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
        before = self.progress[:, templates.COUNT].copy()
        run(
            *self.parts, self.places, self.seen, self.actions, self.max_interactions, self.end,
            self.tick, self.pace, self.progress, self.current_rewards, slots, rewards, times,
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
                fault = invalid_action(given, int(self.actions[number])).fault
            case templates.NO_DELAY:
                fault = invalid_delay(given / 1e9).fault
            case templates.NO_REWARD:
                fault = invalid_reward(last).fault
        ending = Ending.STOPPED if status == templates.STOPPED else Ending.BUDGET
        budget = self.exercises[number].budget
        out_of_time = status in (templates.BY_TIME, templates.STOPPED)
        pieces = self.pieces[number]
        columns = pieces[0]
        if len(pieces) > 1:
            columns = tuple(map(np.concatenate, zip(*pieces, strict=True)))
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
