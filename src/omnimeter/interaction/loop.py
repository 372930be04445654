"""The stepwise loop in which agents and an environment meet."""

from __future__ import annotations

import time
import traceback
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from omnimeter.contract import (
    Agent,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Environment,
    EnvironmentClass,
    Exercise,
    Fault,
    Observation,
    OmnimeterError,
    Percept,
    Space,
    Timeout,
    TimeoutRule,
    Trace,
    single,
)
from omnimeter.contract.exercise import FOREVER, nanoseconds
from omnimeter.contract.spec import Stream
from omnimeter.interaction.handles import (
    AgentFault,
    AgentHandle,
    LocalAgent,
    infrastructure_error,
    read_move,
    shown,
    view_of,
)
from omnimeter.interaction.kernels import start


@dataclass(slots=True)
class Events:
    """What has happened so far.

    Attributes:
        record: Whether actions and observations are kept too.
        space: The observations there can be.
        now: The nanosecond that it is.
        first_reward: The reward given before the first action.
        rewards: The reward of each completed interaction.
        times: When each was completed.
        actions: The actions, if they are kept.
        observations: What was seen, component after component, if it is kept.
    """

    record: bool
    space: Space = single(1)
    now: int = 0
    first_reward: float = 0.0
    rewards: array[float] = field(default_factory=lambda: array("d"))
    times: array[int] = field(default_factory=lambda: array("q"))
    actions: array[int] = field(default_factory=lambda: array("q"))
    observations: array[int] = field(default_factory=lambda: array("q"))

    def begin(self, percept: Percept) -> None:
        """Write down the first reward and observation."""
        if self.record:
            self._see(percept.observation)
        self.first_reward = percept.reward

    def add(self, action: int, reward: float, observation: Observation) -> None:
        """Write down a completed interaction."""
        if self.record:
            self._see(observation)
            self.actions.append(action)
        self.rewards.append(reward)
        self.times.append(self.now)

    def _see(self, observation: Observation) -> None:
        vector = self.space.to_vector(observation)
        if vector.shape != (len(self.space.sizes),):
            raise ValueError(f"the observation {shown(observation)} does not fit {self.space}")
        self.observations.extend(vector.tolist())

    def trace(self, end: int, ending: Ending, fault: Fault | None = None) -> Trace:
        """What happened, as arrays."""
        width = len(self.space.sizes)
        return Trace(
            rewards=np.array(self.rewards, dtype=np.float64),
            times=np.array(self.times, dtype=np.int64),
            end_ns=end,
            ending=ending,
            first_reward=self.first_reward,
            fault=fault,
            actions=np.array(self.actions, dtype=np.int64) if self.record else None,
            observations=np.array(self.observations, dtype=np.int64).reshape(-1, width)
            if self.record
            else None,
        )


Streams = Callable[[str], Stream]
"""Gives each side of an exercise its chance: ``Exercise.stream`` is one."""


def take(
    environment_class: EnvironmentClass,
    agent: Agent | AgentHandle,
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


def as_seen_by(environment_class: EnvironmentClass, agent: Agent | AgentHandle) -> EnvironmentClass:
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
        found = environment_class.with_views(views)
        if not isinstance(found, EnvironmentClass):
            raise TypeError(f"with_views returned {shown(found)} instead of an environment class")
    except OmnimeterError:
        raise
    except BaseException as error:
        raise environment_error(error) from error
    return found


def interact(
    environment: Environment,
    agent: Agent | AgentHandle,
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
    seat = LocalAgent(agent) if isinstance(agent, Agent) else agent
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
    environment: Environment, seat: AgentHandle, percept: Percept, terms: _Terms, events: Events
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
        terms = _Terms(budget.max_interactions, budget.end_ns, timed, wall, nanoseconds(clock.tick))
        if budget.wall_limit is not None:
            terms = replace(terms, stop=time.perf_counter_ns() + nanoseconds(budget.wall_limit))
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
        self, seat: AgentHandle, reward: float, observation: Observation, left: int
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


class Member:
    """One of those who take an exercise together.

    Args:
        agent: Who, or the seat in which it sits.
        record: Whether to keep actions and observations too.

    Attributes:
        action: What it does next: 0, to be done in its place, once it has dropped out.
        delay: The nanoseconds that this takes.
        trace: What happened to it, once that is over; ``None`` as long as it is there.
    """

    def __init__(self, agent: Agent | AgentHandle, record: bool) -> None:
        self._seat = LocalAgent(agent) if isinstance(agent, Agent) else agent
        self._events = Events(record)
        self._percept = Percept(0.0, 0)
        self.action = 0
        self.delay = 0
        self.trace: Trace | None = None

    def view(self) -> str | None:
        """The form of observation that it asks for."""
        try:
            return self._seat.view
        except AgentFault as trouble:
            self.fail(trouble.fault)
            return None

    def see(self, percept: Percept, space: Space) -> None:
        """Take its first reward and observation."""
        self._events.space = space
        self._events.begin(percept)
        self._percept = percept

    def begin(self, briefing: Briefing, seed: int) -> None:
        """Get ready."""
        try:
            self._seat.begin(briefing, seed)
        except AgentFault as trouble:
            self.fail(trouble.fault)

    def choose(self, actions: int, tick: int, end: int | None) -> None:
        """Choose an action, or drop out.

        Args:
            actions: How many there are.
            tick: What an action takes when it declares nothing.
            end: When its time is over if it stops, where there is such a time.
        """
        try:
            answer, _ = self._seat.ask(*self._percept, FOREVER)
            action, declared = read_move(answer, actions)
        except AgentFault as trouble:
            self.fail(trouble.fault)
            return
        self.action, self.delay = action, declared or tick
        if action < 0:
            self.leave(Ending.STOPPED, end)

    def wait(self, delay: int) -> None:
        """Let some nanoseconds pass."""
        self._events.now += delay

    def receive(self, percept: Percept) -> None:
        """Take what its action brought."""
        self._events.add(self.action, percept.reward, percept.observation)
        self._percept = percept

    def leave(self, ending: Ending, end: int | None) -> None:
        """Finish, at a given time or now."""
        try:
            self._seat.finish(*self._percept)
        except AgentFault as trouble:
            self.fail(trouble.fault)
            return
        self.action = 0
        self.trace = self._events.trace(self._events.now if end is None else end, ending)

    def fail(self, fault: Fault) -> None:
        """Drop out for a fault, its own or not."""
        self.action = 0
        self.trace = self._events.trace(self._events.now, Ending.FAULT, fault)
