"""The loop in which an agent and an environment meet, one interaction after the other.

``docs/standard.md`` is its normative text. The compiled loop of ``batch.py`` gives the same trace.
"""

from __future__ import annotations

import time
import traceback
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from omnimeter.contract import (
    FOREVER,
    Agent,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Environment,
    Fault,
    FaultKind,
    Observation,
    Percept,
    Space,
    Stream,
    Timeout,
    TimeoutRule,
    Trace,
    nanoseconds,
)
from omnimeter.interaction.seats import AgentFault, InProcess, Seat, read_move

Streams = Callable[[str], Stream]
"""Gives each side of an exercise its chance: ``Exercise.stream`` is one."""


def interact(
    environment: Environment,
    agent: Agent | Seat,
    budget: Budget,
    streams: Streams,
    *,
    clock: Clock = Clock(),  # noqa: B008 - a frozen value
    timeout: Timeout | None = None,
    record: bool = False,
) -> Trace:
    """Let an agent take one exercise, and say what happened. Never raises for a fault of theirs.

    Args:
        environment: Where.
        agent: Who, or the seat in which it sits.
        budget: For how long.
        streams: The chance of the sides ``"environment"``, ``"agent"`` and ``"harness"``.
        clock: Which time counts.
        timeout: The longest that one action may take.
        record: Whether to keep actions and observations too.
    """
    seat = InProcess(agent) if isinstance(agent, Agent) else agent
    events = Events(environment.space, record)
    try:
        percept = environment.start(streams("environment").generator())
    except Exception as error:
        return events.trace(0, Ending.FAULT, environment_fault(error))
    events.begin(percept)
    try:
        seat.begin(environment.briefing(), streams("agent"))
        return _converse(environment, seat, percept, budget, streams, clock, timeout, events)
    except AgentFault as trouble:
        return events.trace(events.now, Ending.FAULT, trouble.fault)


def environment_fault(error: Exception) -> Fault:
    """An environment that raises is our failure, not the agent's."""
    return Fault(
        FaultKind.INFRASTRUCTURE,
        f"The environment raised {type(error).__name__}: {error}",
        "".join(traceback.format_exception(error)),
    )


def _converse(
    environment: Environment,
    seat: Seat,
    percept: Percept,
    budget: Budget,
    streams: Streams,
    clock: Clock,
    timeout: Timeout | None,
    events: Events,
) -> Trace:
    reward, observation = percept
    end, most, actions = budget.end, budget.most, environment.actions
    tick = nanoseconds(clock.tick)
    wall = clock.kind is ClockKind.WALL
    latest = FOREVER if timeout is None else nanoseconds(timeout.seconds)
    chance = streams("harness").generator() if timeout is not None else None
    ending, over = Ending.BUDGET, False
    while len(events.rewards) < most:
        answer, elapsed = seat.ask(reward, observation, end - events.now if wall else FOREVER)
        if answer is None:  # the time was over before there was an answer
            over = True
            break
        action, declared = read_move(answer, actions)
        if action < 0:
            ending, over = Ending.STOPPED, True
            break
        delay = _delay(elapsed, declared, end - events.now) if wall else declared or tick
        if events.now + delay > end:
            over = True
            break
        events.now += delay
        if delay <= latest:
            pass
        elif timeout is not None and timeout.rule is TimeoutRule.RANDOM_ACTION:
            assert chance is not None  # made whenever there is a time-out
            action = int(chance.integers(actions))
        else:
            action = -1
        if action < 0:
            reward = 0.0
        else:
            try:
                reward, observation = environment.step(action)
            except Exception as error:
                return events.trace(events.now, Ending.FAULT, environment_fault(error))
        events.add(action, reward, observation)
    seat.finish(reward, observation)
    timed_end = over and budget.seconds is not None
    return events.trace(end if timed_end else events.now, ending)


def _delay(elapsed: int, declared: int, left: int) -> int:
    """Under a wall clock a declared delay is really waited for, as far as the budget goes."""
    if declared:
        time.sleep(max(0, min(declared, left - elapsed)) / 1e9)
    return elapsed + declared


@dataclass
class Events:
    """A trace in the making."""

    space: Space
    record: bool
    now: int = 0
    first_reward: float = 0.0
    rewards: array[float] = field(default_factory=lambda: array("d"))
    times: array[int] = field(default_factory=lambda: array("q"))
    actions: array[int] = field(default_factory=lambda: array("q"))
    observations: array[int] = field(default_factory=lambda: array("q"))

    def begin(self, percept: Percept) -> None:
        """Write down the first reward and observation."""
        self.first_reward = float(percept.reward)
        if self.record:
            self.observations.extend(self.space.vector(percept.observation).tolist())

    def add(self, action: int, reward: float, observation: Observation) -> None:
        """Write down a completed interaction."""
        self.rewards.append(reward)
        self.times.append(self.now)
        if self.record:
            self.actions.append(action)
            self.observations.extend(self.space.vector(observation).tolist())

    def trace(self, end: int, ending: Ending, fault: Fault | None = None) -> Trace:
        """What happened, as arrays."""
        width = len(self.space.sizes)
        return Trace(
            rewards=np.array(self.rewards, dtype=np.float64),
            times=np.array(self.times, dtype=np.int64),
            end=end,
            ending=ending,
            first_reward=self.first_reward,
            fault=fault,
            actions=np.array(self.actions, dtype=np.int64) if self.record else None,
            observations=np.array(self.observations, dtype=np.int64).reshape(-1, width)
            if self.record
            else None,
        )
