"""The source text of the compiled loops; what depends on their target is in its preamble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnimeter.contract import AgentKernels, EnvironmentKernels
from omnimeter.contract.agent import LONGEST_DELAY
from omnimeter.contract.exercise import nanoseconds

RUNNING, BY_COUNT, BY_TIME, STOPPED, NO_ACTION, NO_DELAY, NO_REWARD = range(7)
"""The status of an exercise after a call of a runner; the last three are faults."""

STATUS, COUNT, NOW, GIVEN, STARTED = range(5)
"""The columns of a runner's progress. GIVEN is the action or the delay of a fault; STARTED is 1
from the first reward on."""

_PREAMBLES = {
    "cpu": """
import numpy as np
from numba import float64, int64
from omnimeter import caching
from omnimeter.interaction.intrinsics import CPU_CLOCK, WALL_CLOCK, borrow, lent, read_clock

exercises = range  # which exercises of so many one call runs: all of them


def compiled(function):
    return caching.compiled(function, nogil=True, error_model="numpy")


def compiled_for(*types):
    # With its types given it is ready as soon as it is defined, not after the first call.
    return lambda function: caching.compiled(function, *types, error_model="numpy")
"""
}
"""By target: ``compiled``, ``compiled_for`` and ``exercises``."""

_CODES = """
from omnimeter.interaction.templates import (
    BY_COUNT, BY_TIME, COUNT, GIVEN, NO_ACTION, NO_DELAY, NO_REWARD, NOW, RUNNING, STARTED, STATUS,
    STOPPED,
)
"""

_RUNNER = """
@compiled
def run(
    environments, environment_at, agents, agent_at, places, seen, actions_of, max_interactions,
    end, tick, pace, progress, current_rewards, slots, rewards, times, record, actions,
    observations, observations_at{durations},
):
    {pair}
    for b in exercises(progress.shape[0]):
        if progress[b, STATUS] != RUNNING:
            continue
        environment = EnvironmentState({environment_fields})
        agent = AgentState({agent_fields})
        number_of_actions = actions_of[b]
        observation = borrow(seen, places[b], places[b + 1])
        width = places[b + 1] - places[b]
        count = progress[b, COUNT]
        now = progress[b, NOW]
        written = observations_at[b]
        slot = slots[b]
        last = slots[b + 1]
        ending = end[b]
        longest = max_interactions[b]
        undeclared = pace[b] if pace[b] > 0 else tick[b]
        status = RUNNING
        if progress[b, STARTED] == 0:
            reward = float(environment_reset(environment))
            if not np.isfinite(reward):
                progress[b, STATUS] = NO_REWARD
                current_rewards[b, 1] = reward
                continue
            progress[b, STARTED] = 1
            current_rewards[b, 0] = reward
            {begin}
        else:
            reward = current_rewards[b, 1]
        environment_observe(environment, observation)
        if record:
            for k in range(width):
                observations[written + k] = observation[k]
        while True:
            if count >= longest:
                status = BY_COUNT
                break
            if slot == last:
                break
            {act}
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
            times[slot] = now{measured}
            environment_observe(environment, observation)
            if record:
                actions[slot] = action
                written += width
                for k in range(width):
                    observations[written + k] = observation[k]
            slot += 1
            count += 1
        if status == BY_COUNT or status == BY_TIME or status == STOPPED:
            {finish}
        progress[b, STATUS] = status
        progress[b, COUNT] = count
        progress[b, NOW] = now
        current_rewards[b, 1] = reward
"""

_DELAY = f"""int(agent_delay(agent)) + pace[b]
            if delay <= 0:
                delay = tick[b]
            elif delay > {nanoseconds(LONGEST_DELAY)}:
                status = NO_DELAY
                progress[b, GIVEN] = delay
                break"""

_ACT = "action = agent_act(agent, reward, observation)"

_TIMED_ACT = f"""cpu = read_clock(CPU_CLOCK, pair)
            wall = read_clock(WALL_CLOCK, pair)
            {_ACT}
            wall = read_clock(WALL_CLOCK, pair) - wall
            cpu = read_clock(CPU_CLOCK, pair) - cpu"""

_TIMED_BEGIN = """cpu = read_clock(CPU_CLOCK, pair)
            wall = read_clock(WALL_CLOCK, pair)
            agent_begin(agent)
            ready[b, 0] += read_clock(WALL_CLOCK, pair) - wall
            ready[b, 1] += read_clock(CPU_CLOCK, pair) - cpu"""

_MEASURED = """
            wall_ns[slot] = wall
            cpu_ns[slot] = cpu"""

_YARDSTICKS = """
@compiled
def empty_decisions(wall_ns, cpu_ns):
    # What reading the clocks costs: the loop's own lines, with nothing between them.
    pair = np.zeros(2, dtype=np.int64)
    for slot in range(len(wall_ns)):
        cpu = read_clock(CPU_CLOCK, pair)
        wall = read_clock(WALL_CLOCK, pair)
        wall_ns[slot] = read_clock(WALL_CLOCK, pair) - wall
        cpu_ns[slot] = read_clock(CPU_CLOCK, pair) - cpu


@compiled
def calibrate(rewards, transitions, values, sweeps):
    # A fixed computation, by which machines are compared: value iteration.
    pair = np.zeros(2, dtype=np.int64)
    states, actions = len(values), len(rewards) // len(values)
    begun = read_clock(CPU_CLOCK, pair)
    for _ in range(sweeps):
        for x in range(states):
            best = -np.inf
            for u in range(actions):
                row = x * actions + u
                value = rewards[row]
                for y in range(states):
                    value += transitions[row * states + y] * values[y]
                best = max(best, value)
            values[x] = best
    return read_clock(CPU_CLOCK, pair) - begun
"""

_ENVIRONMENTS = """
@compiled
def start_many(states, at, chosen, rewards, seen, seen_at):
    for b in exercises(len(rewards)):
        if chosen[b]:
            state = EnvironmentState({fields})
            rewards[b] = float(environment_reset(state))
            environment_observe(state, borrow(seen, seen_at[b], seen_at[b + 1]))


@compiled
def advance_many(states, at, actions, rewards, seen, seen_at):
    for b in exercises(len(rewards)):
        state = EnvironmentState({fields})
        rewards[b] = float(environment_step(state, actions[b]))
        environment_observe(state, borrow(seen, seen_at[b], seen_at[b + 1]))
"""

_ENVIRONMENT = """
@compiled_for(int64[::1])
def start(arrays):
    state = EnvironmentState({fields})
    reward = float(environment_reset(state))
    environment_observe(state, {seen})
    return reward


@compiled_for(int64[::1], int64)
def advance(arrays, action):
    state = EnvironmentState({fields})
    reward = float(environment_step(state, action))
    environment_observe(state, {seen})
    return reward
"""

_JOINT_ENVIRONMENT = """
@compiled_for(int64[::1])
def start_joint(arrays):
    state = EnvironmentState({fields})
    seen, at, rewards = {seen}, {at}, {rewards}
    reward = float(environment_reset(state))
    for seat in range(len(rewards)):
        rewards[seat] = reward
        environment_observe_from(state, seat, borrow(seen, at[seat], at[seat + 1]))


@compiled_for(int64[::1])
def advance_joint(arrays):
    state = EnvironmentState({fields})
    seen, at, rewards = {seen}, {at}, {rewards}
    environment_step_joint(state, {actions}, rewards)
    for seat in range(len(rewards)):
        environment_observe_from(state, seat, borrow(seen, at[seat], at[seat + 1]))
"""

_AGENT_BEGIN = """
@compiled_for(int64[::1])
def begin(arrays):
    agent_begin(AgentState({fields}))
"""

_AGENT_ACT = """
@compiled_for(int64[::1], float64)
def act(arrays, reward):
    state = AgentState({fields})
    action = agent_act(state, reward, {seen})
    return action, {delay}
"""

_AGENT_FINISH = """
@compiled_for(int64[::1], float64)
def finish(arrays, reward):
    agent_finish(AgentState({fields}), reward, {seen})
"""

_AGENT_ADJUST = """
@compiled_for(int64[::1], int64, float64)
def adjust(arrays, what, amount):
    agent_adjust(AgentState({fields}), what, amount)
"""

_JOINT_RUNNER = """
@compiled
def run(
    environments, {agents}, chosen, received, places, seen, actions_of, max_interactions, end, tick,
    pace, progress, current_rewards, slots, rewards, times, record, actions, observations,
    observations_at,
):
    environment = EnvironmentState({environment_fields})
{states}
    seats = len(received)
    number_of_actions = actions_of[0]
    if progress[0, STARTED] == 0:
        reward = float(environment_reset(environment))
        for k in range(seats):
            current_rewards[k, int(not np.isfinite(reward))] = reward
        if not np.isfinite(reward):
            progress[:, STATUS] = NO_REWARD
            return
        for k in range(seats):
            progress[k, STARTED] = 1
            received[k] = reward
{begin}
    first = 0
    while progress[first, STATUS] != RUNNING:
        first += 1
    count = progress[first, COUNT]
    now = progress[first, NOW]
    capacity = slots[first + 1] - slots[first]
    done = 0
    status = RUNNING
    while True:
        for k in range(seats):
            environment_observe_from(environment, k, borrow(seen, places[k], places[k + 1]))
            if record and progress[k, STATUS] == RUNNING:
                width = places[k + 1] - places[k]
                written = observations_at[k] + done * width
                for j in range(width):
                    observations[written + j] = seen[places[k] + j]
        if count >= max_interactions[0]:
            status = BY_COUNT
            break
        if done == capacity:
            break
        present = 0
        delay = 0
{act}
        if present == 0:
            break
        if delay > end[0] - now:
            status = BY_TIME
            break
        now += delay
        environment_step_joint(environment, chosen, received)
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, NOW] = now
                if status == RUNNING and not np.isfinite(received[k]):
                    status = NO_REWARD
                    current_rewards[:, 1] = received[k]
        if status == NO_REWARD:
            break
        for k in range(seats):
            if progress[k, STATUS] == RUNNING:
                progress[k, COUNT] = count + 1
                rewards[slots[k] + done] = received[k]
                times[slots[k] + done] = now
                if record:
                    actions[slots[k] + done] = chosen[k]
        count += 1
        done += 1
{leave}
"""

# Only integers have the operator |: an act that gives something else is not compiled.
_JOINT_PARTS = {
    "states": """\
    agent{seat} = Agent{seat}State({fields})
    seen{seat} = borrow(seen, places[{seat}], places[{seat} + 1])
""",
    "begin": """\
        {begin}
""",
    "act": """\
        if progress[{seat}, STATUS] == RUNNING:
            action = agent{seat}_act(agent{seat}, received[{seat}], seen{seat}) | 0
            own_status = RUNNING
            given = action
            if action < 0 or action >= number_of_actions:
                own_status = STOPPED if action == -1 else NO_ACTION
            else:
                given = {delay}
                if given <= 0:
                    given = tick[0]
                elif given > {longest}:
                    own_status = NO_DELAY
            if own_status == RUNNING:
                chosen[{seat}] = action
                delay = max(delay, given)
                present += 1
            else:
                chosen[{seat}] = 0
                progress[{seat}, STATUS] = own_status
                progress[{seat}, GIVEN] = given
                if own_status == STOPPED:
                    {finish}
""",
    "leave": """\
    if progress[{seat}, STATUS] == RUNNING:
        progress[{seat}, STATUS] = status
        if status == BY_COUNT or status == BY_TIME:
            {finish}
""",
}
"""What the loop of several agents has once for each of them."""


def runner(
    environment: EnvironmentKernels,
    agents: Sequence[AgentKernels],
    *,
    measured: bool = False,
    target: str = "cpu",
) -> str:
    """The loop of whole exercises: many of one agent, or one joint run of several.

    If ``measured``, the time of each decision of one agent is recorded.
    """
    begun = preamble(target) + _CODES
    if len(agents) > 1:
        return begun + _joint_runner(environment, agents)
    (agent,) = agents
    return begun + _RUNNER.format(
        environment_fields=_borrowed("environments", "environment_at", environment),
        agent_fields=_borrowed("agents", "agent_at", agent),
        begin=(_TIMED_BEGIN if measured else "agent_begin(agent)") if agent.begin else "pass",
        act=_TIMED_ACT if measured else _ACT,
        measured=_MEASURED if measured else "",
        durations=", wall_ns, cpu_ns, ready" if measured else "",
        pair="pair = np.zeros(2, dtype=np.int64)" if measured else "",
        delay=_DELAY if agent.delay else "undeclared",
        finish="agent_finish(agent, reward, observation)" if agent.finish else "pass",
    )


def yardsticks() -> str:
    """What measures the cost of the clocks, and the speed of the machine."""
    return preamble() + _YARDSTICKS


def environments(kernels: EnvironmentKernels, target: str = "cpu") -> str:
    """What Python calls of many environments at once."""
    return preamble(target) + _ENVIRONMENTS.format(fields=_borrowed("states", "at", kernels))


def environment(types: Sequence[str]) -> str:
    """What Python calls of one environment, for arrays of the given types."""
    return preamble() + _ENVIRONMENT.format(**lent_fields(types, "seen"))


def joint_environment(types: Sequence[str]) -> str:
    """What Python calls of one environment with several seats, for arrays of the given types."""
    arrays = lent_fields(types, "seen", "at", "actions", "rewards")
    return preamble() + _JOINT_ENVIRONMENT.format(**arrays)


def agent(kernels: AgentKernels, types: Sequence[str]) -> str:
    """What Python calls of one agent, for arrays of the given types."""
    delay = "int(agent_delay(state)) if action >= 0 else 0" if kernels.delay else "0"
    begin, finish = kernels.begin and _AGENT_BEGIN, kernels.finish and _AGENT_FINISH
    body = (begin or "") + _AGENT_ACT + (finish or "")
    return preamble() + body.format(delay=delay, **lent_fields(types, "seen"))


def adjusting(types: Sequence[str]) -> str:
    """What Python calls to adjust one agent, for arrays of the given types."""
    return preamble() + _AGENT_ADJUST.format(**lent_fields(types, "seen"))


def preamble(target: str = "cpu") -> str:
    """What every generated module of entry points begins with."""
    return _PREAMBLES[target]


def _joint_runner(environment: EnvironmentKernels, agents: Sequence[AgentKernels]) -> str:
    parts = dict.fromkeys(_JOINT_PARTS, "")
    for seat, agent in enumerate(agents):
        delay = f"int(agent{seat}_delay(agent{seat})) + " if agent.delay else ""
        finish = f"agent{seat}_finish(agent{seat}, received[{seat}], seen{seat})"
        for name, text in _JOINT_PARTS.items():
            parts[name] += text.format(
                seat=seat,
                fields=_whole(f"agents{seat}", agent),
                begin=f"agent{seat}_begin(agent{seat})" if agent.begin else "pass",
                delay=f"{delay}pace[{seat}]",
                longest=nanoseconds(LONGEST_DELAY),
                finish=finish if agent.finish else "pass",
            )
    return _JOINT_RUNNER.format(
        agents=", ".join(f"agents{seat}" for seat in range(len(agents))),
        environment_fields=_whole("environments", environment),
        **{name: text.rstrip("\n") for name, text in parts.items()},
    )


def _borrowed(batch: str, at: str, kernels: EnvironmentKernels | AgentKernels) -> str:
    """One exercise's state, as views into the arrays of all."""
    state: Any = kernels.state
    return ", ".join(
        f"borrow({batch}.{field}, {at}[{k}, b], {at}[{k}, b + 1])"
        for k, field in enumerate(state._fields)
    )


def _whole(name: str, kernels: EnvironmentKernels | AgentKernels) -> str:
    """A state, as views without reference counts."""
    state: Any = kernels.state
    fields = [f"{name}.{field}" for field in state._fields]
    return ", ".join(f"borrow({field}, 0, len({field}))" for field in fields)


def lent_fields(types: Sequence[str], *others: str) -> dict[str, str]:
    """The fields of a state, and after them other arrays, by their names."""
    arrays = [f"lent(arrays, {k}, np.{name})" for k, name in enumerate(types)]
    fields = len(types) - len(others)
    return {"fields": ", ".join(arrays[:fields]), **dict(zip(others, arrays[fields:], strict=True))}
