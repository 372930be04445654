"""The source text of the compiled loops, for one agent and for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from omnimeter.contract.agent import LONGEST_DELAY
from omnimeter.contract.exercise import nanoseconds

RUNNING, BY_COUNT, BY_TIME, STOPPED, NO_ACTION, NO_DELAY, NO_REWARD = range(7)
"""How an exercise stands after a call of a runner; the last three are faults."""

STATUS, COUNT, NOW, GIVEN, STARTED = range(5)
"""The columns of a runner's progress. GIVEN is the action or the delay of a fault; STARTED is 1
from the first reward on."""

BATCH = """
import numpy as np
from numba import njit
from omnimeter.interaction.borrowing import borrow
from omnimeter.interaction.templates import (
    BY_COUNT, BY_TIME, COUNT, GIVEN, NO_ACTION, NO_DELAY, NO_REWARD, NOW, RUNNING, STARTED, STATUS,
    STOPPED,
)

compiled = njit(cache=True, nogil=True, error_model="numpy")

"""

_RUNNER = """
@compiled
def run(
    environments, environment_at, agents, agent_at, widths, scratch, actions_of, most, end, tick,
    pace, progress, rewards_at_hand, slots, rewards, times, record, actions, observations, seen_at,
):
    for b in range(progress.shape[0]):
        if progress[b, STATUS] != RUNNING:
            continue
        environment = EnvironmentState({environment_fields})
        agent = AgentState({agent_fields})
        number_of_actions = actions_of[b]
        width = widths[b]
        observation = borrow(scratch, 0, width)
        count = progress[b, COUNT]
        now = progress[b, NOW]
        seen = seen_at[b]
        slot = slots[b]
        last = slots[b + 1]
        ending = end[b]
        longest = most[b]
        undeclared = pace[b] if pace[b] > 0 else tick[b]
        status = RUNNING
        if progress[b, STARTED] == 0:
            reward = float(environment_reset(environment))
            if not np.isfinite(reward):
                progress[b, STATUS] = NO_REWARD
                rewards_at_hand[b, 1] = reward
                continue
            progress[b, STARTED] = 1
            rewards_at_hand[b, 0] = reward
            agent_begin(agent)
        else:
            reward = rewards_at_hand[b, 1]
        environment_observe(environment, observation)
        if record:
            for k in range(width):
                observations[seen + k] = observation[k]
        while True:
            if count >= longest:
                status = BY_COUNT
                break
            if slot == last:
                break
            action = agent_act(agent, reward, observation)
            if action < 0 or action >= number_of_actions:
                status = STOPPED if action == -1 else NO_ACTION
                progress[b, GIVEN] = action
                break
            delay = {delay}
            if delay > ending - now:
                status = BY_TIME
                break
            now += delay
            reward = float(environment_step(environment, action))
            if not np.isfinite(reward):
                status = NO_REWARD
                break
            rewards[slot] = reward
            times[slot] = now
            environment_observe(environment, observation)
            if record:
                actions[slot] = action
                seen += width
                for k in range(width):
                    observations[seen + k] = observation[k]
            slot += 1
            count += 1
        if status == BY_COUNT or status == BY_TIME or status == STOPPED:
            agent_finish(agent, reward, observation)
        progress[b, STATUS] = status
        progress[b, COUNT] = count
        progress[b, NOW] = now
        rewards_at_hand[b, 1] = reward
"""

_DELAY = f"""int(agent_delay(agent)) + pace[b]
            if delay <= 0:
                delay = tick[b]
            elif delay > {nanoseconds(LONGEST_DELAY)}:
                status = NO_DELAY
                progress[b, GIVEN] = delay
                break"""

_ENVIRONMENTS = """
@compiled
def start_many(states, at, chosen, rewards, seen, seen_at):
    for b in range(len(rewards)):
        if chosen[b]:
            state = EnvironmentState({fields})
            rewards[b] = float(environment_reset(state))
            environment_observe(state, borrow(seen, seen_at[b], seen_at[b + 1]))


@compiled
def advance_many(states, at, actions, rewards, seen, seen_at):
    for b in range(len(rewards)):
        state = EnvironmentState({fields})
        rewards[b] = float(environment_step(state, actions[b]))
        environment_observe(state, borrow(seen, seen_at[b], seen_at[b + 1]))
"""

_STEPWISE = """
import numpy as np
from numba import float64, int64, njit
from omnimeter.interaction.borrowing import lent

loan = int64[::1]


def compiled(*types):
    # With its types given it is ready as soon as it is defined: nobody waits at the first call.
    return njit(types, cache=True, error_model="numpy")

"""

_ENVIRONMENT = """
@compiled(loan)
def start(arrays):
    state = EnvironmentState({fields})
    reward = float(environment_reset(state))
    environment_observe(state, {seen})
    return reward


@compiled(loan, int64)
def advance(arrays, action):
    state = EnvironmentState({fields})
    reward = float(environment_step(state, action))
    environment_observe(state, {seen})
    return reward
"""

_JOINT_ENVIRONMENT = """
from omnimeter.interaction.borrowing import borrow


@compiled(loan)
def start_joint(arrays):
    state = EnvironmentState({fields})
    seen, at, rewards = {seen}, {at}, {rewards}
    reward = float(environment_reset(state))
    for seat in range(len(rewards)):
        rewards[seat] = reward
        environment_observe_from(state, seat, borrow(seen, at[seat], at[seat + 1]))


@compiled(loan)
def advance_joint(arrays):
    state = EnvironmentState({fields})
    seen, at, rewards = {seen}, {at}, {rewards}
    environment_step_joint(state, {actions}, rewards)
    for seat in range(len(rewards)):
        environment_observe_from(state, seat, borrow(seen, at[seat], at[seat + 1]))
"""

_AGENT = """
@compiled(loan)
def begin(arrays):
    agent_begin(AgentState({fields}))


@compiled(loan, float64)
def act(arrays, reward):
    state = AgentState({fields})
    action = agent_act(state, reward, {seen})
    return action, {delay}


@compiled(loan, float64)
def finish(arrays, reward):
    agent_finish(AgentState({fields}), reward, {seen})
"""


def _borrowed(batch: str, at: str, fields: Sequence[str]) -> str:
    """One exercise's state, as views into the arrays of all."""
    return ", ".join(
        f"borrow({batch}.{field}, {at}[{k}, b], {at}[{k}, b + 1])" for k, field in enumerate(fields)
    )


def _lent(types: Sequence[str], *others: str) -> dict[str, str]:
    """The fields of a state, and after them other arrays, by their names."""
    arrays = [f"lent(arrays, {k}, np.{name})" for k, name in enumerate(types)]
    fields = len(types) - len(others)
    return {"fields": ", ".join(arrays[:fields]), **dict(zip(others, arrays[fields:], strict=True))}


def runner(environment: Sequence[str], agent: Sequence[str], *, delays: bool) -> str:
    """The loop of whole exercises, for states with the given fields."""
    return BATCH + _RUNNER.format(
        environment_fields=_borrowed("environments", "environment_at", environment),
        agent_fields=_borrowed("agents", "agent_at", agent),
        delay=_DELAY if delays else "undeclared",
    )


def environments(fields: Sequence[str]) -> str:
    """What Python calls of many environments at once, for states with the given fields."""
    return BATCH + _ENVIRONMENTS.format(fields=_borrowed("states", "at", fields))


def environment(types: Sequence[str]) -> str:
    """What Python calls of one environment, for arrays of the given types."""
    return _STEPWISE + _ENVIRONMENT.format(**_lent(types, "seen"))


def joint_environment(types: Sequence[str]) -> str:
    """What Python calls of one environment with several seats, for arrays of the given types."""
    lent = _lent(types, "seen", "at", "actions", "rewards")
    return _STEPWISE + _JOINT_ENVIRONMENT.format(**lent)


def agent(types: Sequence[str], *, delays: bool) -> str:
    """What Python calls of one agent, for arrays of the given types."""
    delay = "int(agent_delay(state)) if action >= 0 else 0" if delays else "0"
    return _STEPWISE + _AGENT.format(delay=delay, **_lent(types, "seen"))


_JOINT_RUNNER = """
@compiled
def run(
    environments, {agents}, chosen, paid, widths, scratch, actions_of, most, end, tick,
    pace, progress, rewards_at_hand, slots, rewards, times, record, actions, observations, seen_at,
):
    environment = EnvironmentState({environment_fields})
    at = 0
{sit_down}
    seats = len(paid)
    number_of_actions = actions_of[0]
    if progress[0, STARTED] == 0:
        reward = float(environment_reset(environment))
        for k in range(seats):
            rewards_at_hand[k, int(not np.isfinite(reward))] = reward
        if not np.isfinite(reward):
            progress[:, STATUS] = NO_REWARD
            return
        for k in range(seats):
            progress[k, STARTED] = 1
            paid[k] = reward
{begin}
    first = 0
    while progress[first, STATUS] != RUNNING:
        first += 1
    count = progress[first, COUNT]
    now = progress[first, NOW]
    room = slots[first + 1] - slots[first]
    done = 0
    status = RUNNING
    while True:
        at = 0
        for k in range(seats):
            environment_observe_from(environment, k, borrow(scratch, at, at + widths[k]))
            if record and progress[k, STATUS] == RUNNING:
                seen = seen_at[k] + done * widths[k]
                for j in range(widths[k]):
                    observations[seen + j] = scratch[at + j]
            at += widths[k]
        if count >= most[0]:
            status = BY_COUNT
            break
        if done == room:
            break
        here = 0
        delay = 0
{act}
        if here == 0:
            break
        if delay > end[0] - now:
            status = BY_TIME
            break
        now += delay
        environment_step_joint(environment, chosen, paid)
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, NOW] = now
                if status == RUNNING and not np.isfinite(paid[k]):
                    status = NO_REWARD
                    rewards_at_hand[:, 1] = paid[k]
        if status == NO_REWARD:
            break
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, COUNT] = count + 1
                rewards[slots[k] + done] = paid[k]
                times[slots[k] + done] = now
                if record:
                    actions[slots[k] + done] = chosen[k]
        count += 1
        done += 1
{leave}
"""

_SIT_DOWN = """
    agent{seat} = Agent{seat}State({fields})
    seen{seat} = borrow(scratch, at, at + widths[{seat}])
    at += widths[{seat}]
"""

_BEGIN = """
        agent{seat}_begin(agent{seat})
"""

# Only integers have the operator |: whoever gives something else cannot be compiled.
_ACT = """
        if progress[{seat}, STATUS] == RUNNING:
            action = agent{seat}_act(agent{seat}, paid[{seat}], seen{seat}) | 0
            standing = RUNNING
            given = action
            if action < 0 or action >= number_of_actions:
                standing = STOPPED if action == -1 else NO_ACTION
            else:
                given = {delay}
                if given <= 0:
                    given = tick[0]
                elif given > {longest}:
                    standing = NO_DELAY
            if standing == RUNNING:
                chosen[{seat}] = action
                delay = max(delay, given)
                here += 1
            else:
                chosen[{seat}] = 0
                progress[{seat}, STATUS] = standing
                progress[{seat}, GIVEN] = given
                if standing == STOPPED:
                    agent{seat}_finish(agent{seat}, paid[{seat}], seen{seat})
"""

_LEAVE = """
    if progress[{seat}, STATUS] == RUNNING:
        progress[{seat}, STATUS] = status
        if status == BY_COUNT or status == BY_TIME:
            agent{seat}_finish(agent{seat}, paid[{seat}], seen{seat})
"""


class Seat(NamedTuple):
    """What the loop must know of the agent in a seat: the fields of its state, and its time."""

    fields: Sequence[str]
    delays: bool


def joint_runner(environment: Sequence[str], seats: Sequence[Seat]) -> str:
    """The loop of one joint exercise, for an environment's state with the given fields."""

    def each(text: str) -> str:
        parts = [_written(text, number, seat) for number, seat in enumerate(seats)]
        return "".join(part.removeprefix("\n") for part in parts).rstrip("\n")

    return BATCH + _JOINT_RUNNER.format(
        agents=", ".join(f"agents{number}" for number in range(len(seats))),
        environment_fields=_whole("environments", environment),
        sit_down=each(_SIT_DOWN),
        begin=each(_BEGIN),
        act=each(_ACT),
        leave=each(_LEAVE),
    )


def _written(text: str, number: int, seat: Seat) -> str:
    return text.format(
        seat=number,
        fields=_whole(f"agents{number}", seat.fields),
        delay=f"int(agent{number}_delay(agent{number})) + pace[{number}]"
        if seat.delays
        else f"pace[{number}]",
        longest=nanoseconds(LONGEST_DELAY),
    )


def _whole(state: str, fields: Sequence[str]) -> str:
    """A state, as views that nobody counts the users of."""
    return ", ".join(f"borrow({state}.{field}, 0, len({state}.{field}))" for field in fields)
