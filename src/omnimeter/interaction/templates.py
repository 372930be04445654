"""The source text of generated modules: the one place where kernels of two sides meet.

At the border to Python a state is spread into its arrays: Numba takes a NamedTuple of them in
twice the time. In a batch, each exercise's state is made of borrowed views into the whole.
"""

from __future__ import annotations

from collections.abc import Sequence

_HEAD = """
import numpy as np
from numba import njit
from omnimeter.interaction.borrowing import borrow

compiled = njit(cache=True, nogil=True, error_model="numpy")

"""

RUNNING, BY_COUNT, BY_TIME, STOPPED, INVALID = range(5)
"""How an exercise stands after a call of a runner; INVALID is an action that does not exist."""

STATUS, COUNT, NOW, ACTION, STARTED = range(5)
"""The columns of a runner's integer progress; STARTED is 0 before the first call."""

_RUNNER = """
@compiled
def run(
    environments, environment_at, agents, agent_at, widths, scratch, actions_of, most, end, tick,
    progress, rewards_at_hand, slots, rewards, times, record, actions, observations, seen_at,
):
    for b in range(progress.shape[0]):
        if progress[b, 0] != 0:
            continue
        environment = EnvironmentState({environment_fields})
        agent = AgentState({agent_fields})
        number_of_actions = actions_of[b]
        width = widths[b]
        observation = borrow(scratch, 0, width)
        count = progress[b, 1]
        now = progress[b, 2]
        seen = seen_at[b]
        slot = slots[b]
        last = slots[b + 1]
        ending = end[b]
        longest = most[b]
        status = 0
        if progress[b, 4] == 0:
            progress[b, 4] = 1
            reward = float(environment_reset(environment))
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
                status = 1
                break
            if slot == last:
                break
            action = agent_act(agent, reward, observation)
            if action < 0 or action >= number_of_actions:
                status = 3 if action == -1 else 4
                progress[b, 3] = action
                break
            delay = {delay}
            if now + delay > ending:
                status = 2
                break
            now += delay
            reward = float(environment_step(environment, action))
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
        if status != 0 and status != 4:
            agent_finish(agent, reward, observation)
        progress[b, 0] = status
        progress[b, 1] = count
        progress[b, 2] = now
        rewards_at_hand[b, 1] = reward
"""

_DELAY = "agent_delay(agent)\n            if delay <= 0:\n                delay = tick[b]"

_ENVIRONMENT = """
@compiled
def start({names}, out):
    state = EnvironmentState({names})
    reward = float(environment_reset(state))
    environment_observe(state, out)
    return reward


@compiled
def advance({names}, action, out):
    state = EnvironmentState({names})
    reward = float(environment_step(state, action))
    environment_observe(state, out)
    return reward


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

_AGENT = """
@compiled
def begin({names}):
    state = AgentState({names})
    agent_begin(state)


@compiled
def act({names}, reward, observation):
    state = AgentState({names})
    action = agent_act(state, reward, observation)
    return action, {delay}


@compiled
def finish({names}, reward, observation):
    state = AgentState({names})
    agent_finish(state, reward, observation)
"""


def _slices(batch: str, at: str, fields: Sequence[str]) -> str:
    """One exercise's state, as views into the arrays of all."""
    return ", ".join(
        f"borrow({batch}.{field}, {at}[{k}, b], {at}[{k}, b + 1])" for k, field in enumerate(fields)
    )


def runner(environment: Sequence[str], agent: Sequence[str], *, delays: bool) -> str:
    """The loop of whole exercises, for states with the given fields."""
    return _HEAD + _RUNNER.format(
        environment_fields=_slices("environments", "environment_at", environment),
        agent_fields=_slices("agents", "agent_at", agent),
        delay=_DELAY if delays else "tick[b]",
    )


def environment(fields: Sequence[str]) -> str:
    """What Python calls of an environment."""
    return _HEAD + _ENVIRONMENT.format(
        names=", ".join(fields), fields=_slices("states", "at", fields)
    )


def agent(fields: Sequence[str], *, delays: bool) -> str:
    """What Python calls of an agent."""
    return _HEAD + _AGENT.format(
        names=", ".join(fields), delay="agent_delay(state)" if delays else "0"
    )
