"""The stepwise loop in which one agent or several act in an environment.

``docs/standard.md`` is the normative text: sections 3 to 6 for one agent, "Several agents at once"
for a joint run. ``omnimeter.interaction.dispatch`` decides which exercises come here.
"""

from __future__ import annotations

import time
import traceback
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

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
    Space,
    Timeout,
    TimeoutRule,
    Trace,
    single,
)
from omnimeter.contract.errors import StoreError
from omnimeter.contract.exercise import FOREVER, nanoseconds
from omnimeter.contract.spec import Stream
from omnimeter.interaction.handles import (
    AgentFault,
    AgentHandle,
    LocalAgent,
    agent_error,
    infrastructure_error,
    read_move,
    shown,
)
from omnimeter.interaction.kernels import seed_for

Streams = Callable[[str], Stream]
"""Gives each side of an exercise its randomness: ``Exercise.stream`` is one."""


def run_stepwise(
    environment_class: EnvironmentClass,
    agents: Sequence[Agent | AgentHandle],
    exercise: Exercise,
    *,
    record: bool = False,
    refused: Collection[str] = (),
) -> list[Trace]:
    """Build the environment of an exercise and let one agent, or all of a joint run, act in it.

    Args:
        environment_class: The class of the instance; as many seats as needed are asked for.
        agents: One agent, or those of a joint run in the order of ``exercise.joint``.
        exercise: The exercise, of any agent of a joint run.
        record: Whether to keep actions and observations too.
        refused: The views that an agent must not have; one that would have it gets a fault.

    Returns:
        One trace for each agent. A fault of an agent or of the environment is in its trace.

    Raises:
        OmnimeterError: The class does not accept these agents, for example so many.
    """
    measured = exercise.measured and exercise.clock.kind is ClockKind.VIRTUAL
    participants = [_Participant(agent, exercise.budget, record, measured) for agent in agents]
    try:
        views = [each.view() if environment_class.views else None for each in participants]
        if all(each.trace is not None for each in participants):
            return _end_all(participants, 0)
        seen = seated(environment_class, views)
        environment = build(seen, exercise, len(agents))
        for seat in refused_seats(environment, refused, exercise.seated):
            if participants[seat].trace is None:
                fault = refused_view(environment.view_of(seat)).fault
                participants[seat].end(0, Ending.FAULT, fault)
        if all(each.trace is not None for each in participants):
            return _end_all(participants, 0)
    except AgentFault as trouble:
        return _end_all(participants, 0, fault=trouble.fault)
    conditions = _Conditions(exercise.budget, exercise.clock, exercise.timeout, exercise.stream)
    seeds = [own.stream("agent").seed for own in own_exercises(exercise)]
    scene = partial(seen.scene, exercise.instance) if len(agents) == 1 else None
    return _interact(environment, participants, exercise.stream, seeds, conditions, scene)


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
    """Let one agent act in an environment. A fault of either is in the trace.

    Args:
        environment: The environment.
        agent: The agent, or a handle of it.
        budget: How long it lasts.
        streams: The randomness of the sides ``"environment"``, ``"agent"`` and ``"harness"``.
        clock: Which time counts.
        timeout: The longest that one action may take.
        record: Whether to keep actions and observations too.
    """
    conditions = _Conditions(budget, clock, timeout, streams)
    participants, seeds = [_Participant(agent, budget, record)], [streams("agent").seed]
    return _interact(environment, participants, streams, seeds, conditions)[0]


def seated(environment_class: EnvironmentClass, views: Sequence[str | None]) -> EnvironmentClass:
    """The class with a seat for each agent, in the view that it asks for.

    Raises:
        AgentFault: The class failed, which is our failure, not the agents'.
        OmnimeterError: It does not accept so many agents.
    """
    if len(views) == 1 and not environment_class.views:
        return environment_class
    try:
        result = environment_class.with_views(views)
        if not isinstance(result, EnvironmentClass):
            raise TypeError(f"with_views gave {shown(result)} instead of an environment class")
    except OmnimeterError:
        raise
    except BaseException as error:
        raise AgentFault(environment_fault(error)) from error
    return result


def own_exercises(exercise: Exercise) -> list[Exercise]:
    """The exercise of each agent of a joint run, in the order of their seats, or of one agent."""
    return [exercise.for_agent(agent) for agent in exercise.joint] or [exercise]


def build(environment_class: EnvironmentClass, exercise: Exercise, agents: int) -> Environment:
    """Build the environment of an exercise; raises ``AgentFault`` if its seats do not fit."""
    expected = len(exercise.joint or (exercise.agent,))
    try:
        environment = environment_class.build(exercise.instance)
        if not environment.seats == agents == expected:
            seats = f"there are {environment.seats} seats and {agents} agents"
            raise ValueError(f"{seats} for an exercise of {expected}")
    except BaseException as error:
        raise AgentFault(environment_fault(error)) from error
    return environment


def refused_seats(environment: Environment, refused: Collection[str], seated: int) -> list[int]:
    """The seats whose view is one of those that agents must not have.

    The last ones are seated beside the evaluated agents, are not compared, and may have any.
    """
    if not refused:
        return []
    try:
        return [s for s in range(environment.seats - seated) if environment.view_of(s) in refused]
    except BaseException as error:
        raise AgentFault(environment_fault(error)) from error


def refused_view(view: str | None) -> AgentFault:
    """The fault of an agent whose view was not granted (``docs/standard.md``, §3.7)."""
    return agent_error(
        f"The view {view} tells what other agents have to find out, and was not granted; "
        "--privileged grants it, and marks the score."
    )


def briefings_of(environment: Environment, agents: int) -> list[Briefing]:
    """What each agent is told; an environment for one agent need not know of seats."""
    if agents == 1:
        return [environment.briefing()]
    return [environment.briefing(seat) for seat in range(agents)]


def _interact(
    environment: Environment,
    participants: Sequence[_Participant],
    streams: Streams,
    seeds: Sequence[int],
    conditions: _Conditions,
    scene: Callable[[Observation, float], Mapping[str, Any]] | None = None,
) -> list[Trace]:
    """An exercise of one agent or several, each with its seed, from its start to its end."""
    try:
        for seat, each in enumerate(participants):
            each.space, each.lowest = environment.space_of(seat), environment.rewards[0]
        seed = seed_for(environment, streams("environment").seed)
        joint = len(participants) > 1
        percepts = environment.start_joint(seed) if joint else [environment.start(seed)]
        for each, reward, observation in _read(participants, percepts):
            each.start(reward, observation)
        briefings = briefings_of(environment, len(participants))
        if scene is not None and participants[0].sees_scenes:
            briefings[0] = replace(briefings[0], scene=scene)
    except BaseException as error:
        return _end_all(participants, 0, fault=environment_fault(error))
    begun = time.perf_counter_ns()
    for each in _present(participants):
        each.calibrate(conditions)
    if conditions.wall_deadline != FOREVER:  # which is not the exercise's time
        conditions.wall_deadline += time.perf_counter_ns() - begun
    for each, briefing, own_seed in zip(participants, briefings, seeds, strict=True):
        if each.trace is None:
            each.begin(briefing, own_seed)
    return _loop(environment, participants, conditions)


def _loop(
    environment: Environment, participants: Sequence[_Participant], conditions: _Conditions
) -> list[Trace]:
    """One round after the other: all choose, then the environment reacts."""
    present, joint = _present(participants), len(participants) > 1
    actions, end, now = environment.actions, conditions.end, 0
    for count in range(conditions.max_interactions):
        delay = GONE
        for each in present:
            own_delay = each.choose(conditions, actions, now, count)
            delay = own_delay if own_delay > delay else delay
        if joint or delay == GONE:
            present = _present(present)
            if not present:
                break
        if delay > end - now:
            return _end_all(participants, now, conditions)
        now += delay
        try:
            if joint:
                percepts = environment.step_joint([each.action for each in participants])
                for each, reward, observation in _read(participants, percepts):
                    each.receive(now, reward, observation)
            elif each.action < 0:  # a late action without a replacement
                each.receive(now, 0.0, each.observation)
            else:
                given, observation = environment.step(each.action)
                reward = given if type(given) is float and isfinite(given) else read_reward(given)
                each.receive(now, reward, observation)
        except BaseException as error:
            return _end_all(participants, now, fault=environment_fault(error))
    return _end_all(participants, now)


def _present(participants: Sequence[_Participant]) -> list[_Participant]:
    return [each for each in participants if each.trace is None]


def _read(
    participants: Sequence[_Participant], percepts: Sequence[tuple[object, Observation]]
) -> list[tuple[_Participant, float, Observation]]:
    """What those present are given: all of it is checked before any of it is recorded."""
    return [
        (each, read_reward(reward), observation)
        for each, (reward, observation) in zip(participants, percepts, strict=True)
        if each.trace is None
    ]


def _end_all(
    participants: Sequence[_Participant],
    now: int,
    conditions: _Conditions | None = None,
    fault: Fault | None = None,
) -> list[Trace]:
    for each in _present(participants):
        if fault is None:
            each.leave(Ending.BUDGET, now, conditions)
        else:
            each.end(now, Ending.FAULT, fault)
    return [each.trace for each in participants if each.trace is not None]


GONE = -1
"""The delay of a participant that has stopped, failed or run out of time."""


class _Participant:
    """One agent of an exercise, what it is given, and what has happened to it so far."""

    def __init__(
        self,
        agent: Agent | AgentHandle,
        budget: Budget,
        record: bool,
        measured: bool = False,
    ) -> None:
        self._handle = LocalAgent(agent) if isinstance(agent, Agent) else agent
        self._ask = self._handle.ask
        self.sees_scenes = self._handle.sees_scenes
        self._budget, self._record, self._measured = budget, record, measured
        self._first_reward = self._reward = 0.0
        self._rewards, self._times = array("d"), array("q")
        self._actions, self._observations = array("q"), array("q")
        self._chosen = self._spent = 0  # its own action, and the time since its slot began
        self._busy = False
        self._durations = array("q"), array("q")  # wall and processor time of each decision
        self._ready = 0, 0  # those of getting ready, which are part of the first one
        self.space: Space = single(1)
        self.lowest = -1.0
        self.observation: Observation = 0
        # its own action, another in place of a late one, -1 for none, and 0 once it is gone
        self.action = 0
        self.trace: Trace | None = None  # as long as it is present

    def view(self) -> str | None:
        try:
            return self._handle.view
        except AgentFault as trouble:
            self.end(0, Ending.FAULT, trouble.fault)
            return None

    def start(self, reward: float, observation: Observation) -> None:
        if self._record:
            self._see(observation)
        self._first_reward = self._reward = reward
        self.observation = observation

    def calibrate(self, conditions: _Conditions) -> None:
        """Measure what messages cost, if time counts."""
        try:
            if conditions.wall or self._measured:
                self._handle.calibrate(self.space)
        except AgentFault as trouble:
            self.end(0, Ending.FAULT, trouble.fault)

    def begin(self, briefing: Briefing, seed: int) -> None:
        cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
        try:
            self._handle.begin(briefing, seed)
            if self._handle.warm:
                elapsed = time.perf_counter_ns() - wall - self._handle.transport
                self._ready = max(0, elapsed), time.thread_time_ns() - cpu
        except AgentFault as trouble:
            self.end(0, Ending.FAULT, trouble.fault)

    def choose(self, conditions: _Conditions, actions: int, now: int, count: int) -> int:
        """Set the next action; give the nanoseconds until it happens, or ``GONE``."""
        spent, timeout_ns = self._spent, conditions.timeout_ns
        if (
            spent <= timeout_ns and self._chosen >= 0 and not self._busy
        ):  # free, and has not stopped
            try:
                if conditions.wall:
                    spent += self._ask_timed(conditions, actions, now, count)
                else:
                    answer = self._answer()
                    if type(answer) is int and 0 <= answer < actions:  # nearly always
                        self._chosen, declared = answer, 0
                    else:
                        self._chosen, declared = read_move(answer, actions)
                    spent += declared or conditions.tick
            except AgentFault as trouble:
                return self.end(now, Ending.FAULT, trouble.fault)
        if spent > timeout_ns:
            rng = conditions.rng
            self.action = -1 if rng is None else int(rng.integers(actions))
            self._spent = spent - timeout_ns
            return timeout_ns
        if self._busy or self._chosen < 0:
            self._spent = spent
            ending = Ending.BUDGET if self._busy else Ending.STOPPED
            return self.leave(ending, now, conditions)
        self.action = self._chosen
        self._spent = 0
        return spent

    def _answer(self) -> object:
        """Its answer where no time counts, though it may be measured."""
        if not self._measured:
            return self._ask(self._reward, self.observation, None)[0]
        cpu = time.thread_time_ns()
        answer, elapsed = self._ask(self._reward, self.observation, FOREVER)
        self._durations[0].append(elapsed)
        self._durations[1].append(time.thread_time_ns() - cpu)
        return answer

    def _ask_timed(self, conditions: _Conditions, actions: int, now: int, count: int) -> int:
        """The nanoseconds of its answer under a wall clock; what it declares is waited for."""
        left = conditions.left(now, self._spent, count)
        answer: object = None
        if left > 0 or conditions.wall_deadline == FOREVER:
            answer, elapsed = self._ask(self._reward, self.observation, left)
            if self._handle.replayed:
                conditions.pass_by(elapsed)
            if elapsed > left and conditions.wall_deadline != FOREVER:
                answer = None
        if answer is None:  # the exercise was over before there was an answer
            self._busy = True
            return left + 1
        self._chosen, declared = read_move(answer, actions)
        if declared:
            waited = max(0, min(declared, left - elapsed))
            self._handle.wait(waited)
            if self._handle.replayed:
                conditions.pass_by(waited)
        return elapsed + declared

    def receive(self, now: int, reward: float, observation: Observation) -> None:
        if self._record:
            self._see(observation)
            self._actions.append(self.action)
        self._rewards.append(reward)
        self._times.append(now)
        self._reward = reward
        self.observation = observation

    def _see(self, observation: Observation) -> None:
        vector = self.space.to_vector(observation)
        if vector.shape != (len(self.space.sizes),):
            raise ValueError(f"the observation {shown(observation)} does not fit {self.space}")
        self._observations.extend(vector.tolist())

    def leave(self, ending: Ending, now: int, conditions: _Conditions | None = None) -> int:
        """Finish: now, or at the end of the time that the conditions give."""
        try:
            self._handle.finish(self._reward, self.observation)
        except AgentFault as trouble:
            return self.end(now, Ending.FAULT, trouble.fault)
        if conditions is not None and conditions.wall_deadline <= time.perf_counter_ns():
            now = min(now + self._spent, conditions.end)
        elif conditions is not None and conditions.timed:
            now = conditions.end
        return self.end(now, ending)

    def end(self, now: int, ending: Ending, fault: Fault | None = None) -> int:
        observations = np.array(self._observations, dtype=np.int64)
        wall = cpu = None
        if self._measured:  # without a decision to stop
            wall, cpu = (np.array(each)[: len(self._rewards)] for each in self._durations)
            wall[:1] += self._ready[0]
            cpu[:1] += self._ready[1]
            if not isinstance(self._handle, LocalAgent):  # it computes in another process
                cpu = None
        self.action = 0
        self.trace = Trace(
            rewards=np.array(self._rewards, dtype=np.float64),
            times=np.array(self._times, dtype=np.int64),
            end_ns=now,
            ending=ending,
            first_reward=self._first_reward,
            fault=fault,
            actions=np.array(self._actions, dtype=np.int64) if self._record else None,
            observations=observations.reshape(-1, len(self.space.sizes)) if self._record else None,
            planned=self._budget.interactions,
            timed=self._budget.seconds is not None,
            lowest=self.lowest,
            wall_ns=wall,
            cpu_ns=cpu,
        )
        return GONE


class _Conditions:
    """How long an exercise lasts, in interactions and nanoseconds."""

    def __init__(
        self, budget: Budget, clock: Clock, timeout: Timeout | None, streams: Streams
    ) -> None:
        drawn = timeout is not None and timeout.rule is TimeoutRule.RANDOM_ACTION
        limit = budget.wall_limit
        self.max_interactions = budget.max_interactions
        self.end = budget.end_ns
        self.timed = budget.seconds is not None
        self.wall = clock.kind is ClockKind.WALL  # whether the agent's own time counts
        self.tick = nanoseconds(clock.tick)
        # The length of a slot; an action that takes longer is replaced, once for every slot, by a
        # drawn one, or else the environment stands still. Time must pass.
        self.timeout_ns = FOREVER if timeout is None else max(1, nanoseconds(timeout.seconds))
        self.rng = streams("harness").generator() if drawn else None
        # when the real time is over, by the clock that perf_counter_ns reads
        self.wall_deadline = (
            FOREVER if limit is None else time.perf_counter_ns() + nanoseconds(limit)
        )

    def pass_by(self, nanoseconds: int) -> None:
        """Count real time that passed before an interruption."""
        if self.wall_deadline != FOREVER:
            self.wall_deadline -= nanoseconds

    def left(self, now: int, spent: int, count: int) -> int:
        """How long a busy agent can be waited for until its exercise is over without it."""
        left = self.end - now - spent
        if self.timeout_ns != FOREVER:
            left = min(left, (self.max_interactions - count) * self.timeout_ns - spent)
        if self.wall_deadline != FOREVER:
            left = min(left, self.wall_deadline - time.perf_counter_ns())
        return max(left, 0)


def read_reward(given: object) -> float:
    """The reward that an environment gave; raises ``AgentFault`` if it is not finite."""
    if not isinstance(given, str | bytes):  # float would read them
        try:
            number = float(given)  # type: ignore[arg-type]
        except Exception:  # a third party's __float__ may raise anything
            number = float("nan")
        if isfinite(number):
            return number
    raise invalid_reward(given)


def invalid_reward(given: object) -> AgentFault:
    """The fault of an environment whose reward is not one."""
    gave = f"The environment gave the reward {shown(given)}"
    return infrastructure_error(f"{gave}; a reward is a finite number.")


def environment_fault(error: BaseException) -> Fault:
    """The fault of an environment that raised an exception: our failure, not the agent's."""
    if isinstance(error, AgentFault):
        return error.fault
    if isinstance(error, KeyboardInterrupt | StoreError):
        raise error  # which ends the evaluation: the exercise can be run again
    message = f"The environment raised {type(error).__name__}: {shown(error, str)}"
    return infrastructure_error(message, "".join(traceback.format_exception(error))).fault
