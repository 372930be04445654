"""The loop in which an agent and an environment meet, one interaction after the other.

``docs/standard.md`` is its normative text. The compiled loop of ``batch.py`` gives the same trace.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from omnimeter.contract import (
    FOREVER,
    Agent,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Environment,
    EnvironmentClass,
    Exercise,
    Observation,
    OmnimeterError,
    Percept,
    Stream,
    Timeout,
    TimeoutRule,
    Trace,
    nanoseconds,
)
from omnimeter.interaction.events import Events
from omnimeter.interaction.kernel_parts import start
from omnimeter.interaction.seats import (
    AgentFault,
    InProcess,
    Seat,
    infrastructure_error,
    read_move,
    shown,
    view_of,
)

Streams = Callable[[str], Stream]
"""Gives each side of an exercise its chance: ``Exercise.stream`` is one."""


def take(
    environment_class: EnvironmentClass,
    agent: Agent | Seat,
    exercise: Exercise,
    *,
    record: bool = False,
) -> Trace:
    """Build the environment of an exercise and let an agent take it, step by step."""
    try:
        seen = as_seen_by(environment_class, agent)
    except AgentFault as trouble:
        return Events(record).trace(0, Ending.FAULT, trouble.fault)
    try:
        environment = seen.build(exercise.instance)
    except BaseException as error:
        return Events(record).trace(0, Ending.FAULT, environment_error(error).fault)
    return interact(
        environment,
        agent,
        exercise.budget,
        exercise.stream,
        clock=exercise.clock,
        timeout=exercise.timeout,
        record=record,
    )


def as_seen_by(environment_class: EnvironmentClass, agent: Agent | Seat) -> EnvironmentClass:
    """The class with the form of observation that an agent asks for, where there are several.

    Raises:
        AgentFault: The agent cannot say what it asks for, or the class fails.
        OmnimeterError: The class refuses.
    """
    if not environment_class.views:
        return environment_class
    return seated(environment_class, [view_of(agent)])


def seated(environment_class: EnvironmentClass, views: Sequence[str | None]) -> EnvironmentClass:
    """The class for one agent per view.

    Raises:
        AgentFault: The class failed, which is our failure, not the agents'.
        OmnimeterError: It refuses so many.
    """
    try:
        found = environment_class.seating(views)
        if not isinstance(found, EnvironmentClass):
            raise TypeError(f"seating gave {shown(found)} instead of an environment class")
    except OmnimeterError:
        raise
    except BaseException as error:
        raise environment_error(error) from error
    return found


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
    events = Events(record)
    terms = _Terms.of(budget, clock, timeout, streams)
    try:
        percept, briefing = _start(environment, streams("environment").seed, events)
        seat.begin(briefing, streams("agent").seed)
        return _converse(environment, seat, percept, terms, events)
    except AgentFault as trouble:
        return events.trace(events.now, Ending.FAULT, trouble.fault)


def _start(environment: Environment, seed: int, events: Events) -> tuple[Percept, Briefing]:
    try:
        events.space = environment.space
        reward, observation = start(environment, seed)
        percept = Percept(read_reward(reward), observation)
        events.begin(percept)
        return percept, environment.briefing()
    except BaseException as error:
        raise environment_error(error) from error


def _converse(
    environment: Environment, seat: Seat, percept: Percept, terms: _Terms, events: Events
) -> Trace:
    (reward, observation), actions = percept, environment.actions
    most, end, wall, tick, latest = terms.most, terms.end, terms.wall, terms.tick, terms.latest
    ending, over, busy = Ending.BUDGET, False, False
    chosen = spent = 0  # the agent's own action, and the time since the present slot began
    while len(events.rewards) < most:
        if spent <= latest and chosen >= 0 and not busy:  # it is free, and has not stopped
            left = terms.left(events, spent) if wall else FOREVER
            answer, elapsed = terms.ask(seat, reward, observation, left)
            if answer is None:  # everything was over before there was an answer
                busy = True
                spent += left + 1
            else:
                chosen, declared = read_move(answer, actions)
                spent += _waited(elapsed, declared, left) if wall else declared or tick
        if spent > latest:
            action, delay, spent = terms.instead(actions), latest, spent - latest
        elif busy:
            over = True
            break
        elif chosen < 0:
            ending, over = Ending.STOPPED, True
            break
        else:
            action, delay, spent = chosen, spent, 0
        if delay > end - events.now:
            over = True
            break
        events.now += delay
        try:
            if action < 0:
                reward = 0.0
            else:
                given, observation = environment.step(action)
                reward = given if type(given) is float and isfinite(given) else read_reward(given)
            events.add(action, reward, observation)
        except BaseException as error:
            raise environment_error(error) from error
    seat.finish(reward, observation)
    return events.trace(terms.over_at(events.now, spent) if over else events.now, ending)


def _waited(elapsed: int, declared: int, left: int) -> int:
    """What an action took: a declared delay is really waited for, as far as the budget goes."""
    if declared:
        time.sleep(max(0, min(declared, left - elapsed)) / 1e9)
    return elapsed + declared


@dataclass(frozen=True, slots=True)
class _Terms:
    """How long an exercise lasts, in interactions and nanoseconds.

    Attributes:
        most: After how many interactions it is over.
        end: When it is over.
        timed: Whether it lasts for a time at all.
        wall: Whether the agent's own time counts.
        tick: What an action takes otherwise.
        latest: How long a slot is: an action that takes longer is replaced, once for every slot.
        chance: Draws an action in place of a late one; without it nothing takes its place.
        stop: When the real time is over, by the clock that ``perf_counter_ns`` reads.
    """

    most: int
    end: int
    timed: bool
    wall: bool
    tick: int
    latest: int = FOREVER
    chance: np.random.Generator | None = None
    stop: int = FOREVER

    @staticmethod
    def of(budget: Budget, clock: Clock, timeout: Timeout | None, streams: Streams) -> _Terms:
        timed, wall = budget.seconds is not None, clock.kind is ClockKind.WALL
        terms = _Terms(budget.most, budget.end, timed, wall, nanoseconds(clock.tick))
        if budget.limit is not None:
            terms = replace(terms, stop=time.perf_counter_ns() + nanoseconds(budget.limit))
        if timeout is None:
            return terms
        drawn = timeout.rule is TimeoutRule.RANDOM_ACTION
        chance = streams("harness").generator() if drawn else None
        latest = max(1, nanoseconds(timeout.seconds))  # time must pass
        return replace(terms, latest=latest, chance=chance)

    def left(self, events: Events, spent: int) -> int:
        """How long a busy agent can be waited for until its exercise is over without it."""
        left = self.end - events.now - spent
        if self.latest != FOREVER:
            left = min(left, (self.most - len(events.rewards)) * self.latest - spent)
        if self.stop != FOREVER:
            real = self.stop - time.perf_counter_ns()
            left = real if real < left else left  # calls of min and max would take longer
        return left if left > 0 else 0

    def ask(
        self, seat: Seat, reward: float, observation: Observation, left: int
    ) -> tuple[object, int]:
        """The agent's answer, as a seat gives it; none when the real time is over."""
        if self.stop == FOREVER:
            return seat.ask(reward, observation, left)
        if left == 0:
            return None, 0
        answer, elapsed = seat.ask(reward, observation, left)
        return (answer if elapsed <= left else None), elapsed

    def over_at(self, now: int, spent: int) -> int:
        """When an exercise that is over ends: at its end, or when the real time was over."""
        if self.stop <= time.perf_counter_ns():
            return min(now + spent, self.end)
        return self.end if self.timed else now

    def instead(self, actions: int) -> int:
        """The action in place of one that came too late, or -1 when the world stands still."""
        return -1 if self.chance is None else int(self.chance.integers(actions))


def read_reward(given: object) -> float:
    """What an environment gave as a reward."""
    if not isinstance(given, str | bytes):  # float would read them
        try:
            number = float(given)  # type: ignore[arg-type]
        except Exception:  # a stranger's __float__ may raise anything
            number = float("nan")
        if isfinite(number):
            return number
    raise invalid_reward(given)


def invalid_reward(given: object) -> AgentFault:
    """The fault of an environment whose reward is not one."""
    return infrastructure_error(
        f"The environment gave the reward {shown(given)}; a reward is a finite number."
    )


def environment_error(error: BaseException) -> AgentFault:
    """The fault of an environment that raised an exception: our failure, not the agent's."""
    if isinstance(error, AgentFault | KeyboardInterrupt):
        raise error
    detail = "".join(traceback.format_exception(error))
    return infrastructure_error(
        f"The environment raised {type(error).__name__}: {shown(error, str)}", detail
    )
