"""Metacognitive control: a monitor around a learner that notices when the world has changed.

Its three parts can be read and changed on their own. *Expectations* are learnt from experience:
the reward of an action after an observation, the waiting time between good rewards, the average
reward per turn. The *detector* counts how often they are violated, and raises an alarm when they
are repeatedly. The *responses* change how the learner inside explores and learns, or let it start
its policy afresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from omnimeter.agents.shared import require
from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import Agent, Briefing
from omnimeter.contract.agent import EXPLORATION, LEARNING_RATE, MEMORY, FloatArray, IntArray
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.wrapping import OuterKernels, wrap_agent
from omnimeter.kernels import kernel

SIZE, WAIT, AVERAGE = range(3)
"""What is expected, and may be violated."""

NONE, CONFIRMED, VIOLATED = range(3)
"""What became of an expectation in a turn."""

SLOWEST = 0.05  # of what is learnt, the least weight of the newest experience
FEW_VISITS = 3  # of an action after an observation, before its reward is expected
FEW_SAMPLES = 10  # waiting times, or averages, before the next one is expected
BLOCK = 100  # turns of which the average is one sample
DRIFT = 0.02  # what each confirmed expectation takes from the count of violations
STEPS = 20  # in which exploration decays
MOST_PAIRS = 2**16  # pairs of observation and action; of more, several share their expectation

ACTIONS, ROW, PAIR, TURNS, SINCE, LATE, STAGE, STAGE_TURN, GOODS, AVOIDS, PENDING = range(11)
WAIT_MEAN, WAIT_SPREAD, WAIT_COUNT, MEAN, SPREAD, COUNT, SUM, PER_TURN, BEFORE = range(9)
TOLERANCE, LIMIT, LENGTH, EXPLORE, RATE, SLOWER, MASKED = range(7)
WATCHING, EXPLORING, SETTLING = range(3)
"""The stages: no response; exploring more; starting afresh, until the new policy has settled."""


class MonitorState(NamedTuple):
    """What is expected, how often it was violated, and what is being done about it.

    Attributes:
        sizes: How many values each component of an observation has.
        rewards: The expected reward of each pair of observation and action.
        spreads: How far rewards are from it, on average.
        visits: How often each pair occurred.
        numbers: The number of actions; the row of the observation and the pair of the last action;
            turns since expectations were last cleared; turns since the last good reward, and
            whether they were too many; the stage of the response and its turns, with good rewards
            among them; whether a reward below 0 was met; the adjustments that are to be requested.
        levels: Waiting time with its spread and count; the average of a block with its spread and
            count; the sum of this block; the average per turn; the waiting time before the alarm.
        counts: Violations of each kind, less what is usual, and their usual frequency.
        amounts: Of the adjustments that are to be requested.
        settings: The parameters.
    """

    sizes: IntArray
    rewards: FloatArray
    spreads: FloatArray
    visits: IntArray
    numbers: IntArray
    levels: FloatArray
    counts: FloatArray
    amounts: FloatArray
    settings: FloatArray


# Expectations.


@kernel
def clear(state: Any) -> None:
    """Expect nothing."""
    for pair in range(len(state.visits)):
        state.visits[pair] = 0
    state.numbers[TURNS] = 0
    state.numbers[SINCE] = 0
    state.numbers[LATE] = 0
    state.numbers[AVOIDS] = 0
    for level in range(BEFORE):
        state.levels[level] = 0.0
    for count in range(len(state.counts)):
        state.counts[count] = 0.0


@kernel
def expect_size(state: Any, reward: Any) -> Any:
    """Compare a reward with that expected of the last pair, then learn from it."""
    pair, seen = state.numbers[PAIR], state.visits[state.numbers[PAIR]]
    if seen == 0:
        state.visits[pair] = 1
        state.rewards[pair] = reward
        state.spreads[pair] = 0.0
        return NONE
    mean, spread = state.rewards[pair], state.spreads[pair]
    error = abs(reward - mean)
    state.visits[pair] = seen + 1
    weight = max(1.0 / (seen + 1), SLOWEST)
    state.rewards[pair] = mean + weight * (reward - mean)
    state.spreads[pair] = spread + weight * (error - spread)
    if seen >= FEW_VISITS and error > state.settings[TOLERANCE] * spread + 1e-9:
        return VIOLATED
    return CONFIRMED if reward != 0.0 or mean != 0.0 else NONE


@kernel
def expect_wait(state: Any, good: Any) -> Any:
    """Compare the time since the last good reward with what is expected; learn when one comes."""
    since = state.numbers[SINCE] + 1
    state.numbers[SINCE] = since
    mean, spread = state.levels[WAIT_MEAN], state.levels[WAIT_SPREAD]
    known = state.levels[WAIT_COUNT] >= FEW_SAMPLES
    due = (mean + state.settings[TOLERANCE] * spread) * (state.numbers[LATE] + 1)
    result = NONE
    if known and since > due:
        state.numbers[LATE] += 1
        result = VIOLATED
    if good:
        if result == NONE and state.numbers[LATE] == 0:
            result = CONFIRMED
        state.levels[WAIT_COUNT] += 1.0
        weight = max(1.0 / state.levels[WAIT_COUNT], SLOWEST)
        state.levels[WAIT_SPREAD] = spread + weight * (abs(since - mean) - spread)
        state.levels[WAIT_MEAN] = mean + weight * (since - mean)
        state.numbers[SINCE] = 0
        state.numbers[LATE] = 0
    return result


@kernel
def expect_average(state: Any, reward: Any) -> Any:
    """Compare the average of each block of turns with what is expected, then learn from it."""
    state.levels[SUM] += reward
    if state.numbers[TURNS] % BLOCK != 0:
        return NONE
    average = state.levels[SUM] / BLOCK
    state.levels[SUM] = 0.0
    mean, spread = state.levels[MEAN], state.levels[SPREAD]
    lowest = mean - state.settings[TOLERANCE] * spread
    result = CONFIRMED
    if state.levels[COUNT] >= FEW_SAMPLES and average < lowest:
        result = VIOLATED
    state.levels[COUNT] += 1.0
    weight = max(1.0 / state.levels[COUNT], SLOWEST)
    state.levels[SPREAD] = spread + weight * (abs(average - mean) - spread)
    state.levels[MEAN] = mean + weight * (average - mean)
    return result


# The detector.


@kernel
def detect(state: Any, kind: Any, result: Any) -> Any:
    """Count a violation, less twice what is usual; whether there are too many."""
    if result == NONE:
        return False
    violated = 1.0 if result == VIOLATED else 0.0
    usual = state.counts[kind + 3]
    count = max(0.0, state.counts[kind] + violated - 2.0 * usual - DRIFT)
    state.counts[kind] = count
    state.counts[kind + 3] = usual + 0.01 * (violated - usual)
    return count >= state.settings[LIMIT] - 0.5


# The responses.


@kernel
def ask(state: Any, what: Any, amount: Any) -> None:
    """Have the learner adjusted before its next action."""
    state.numbers[PENDING] |= 1 << what
    state.amounts[what] = amount


@kernel
def go_on(state: Any, good: Any) -> Any:
    """One turn of a response: exploration decays. The next response, or the present one."""
    turn = state.numbers[STAGE_TURN] + 1
    state.numbers[STAGE_TURN] = turn
    length = int(state.settings[LENGTH])
    stage = state.numbers[STAGE]
    if stage == EXPLORING and 2 * turn > length and good:
        state.numbers[GOODS] += 1
    if turn < length:
        if stage == EXPLORING and turn % max(length // STEPS, 1) == 0:
            ask(state, EXPLORATION, state.settings[EXPLORE] * (1.0 - turn / length))
        return stage
    wait = (length - length // 2) / max(state.numbers[GOODS], 0.5)
    usual = state.levels[BEFORE]
    if stage == EXPLORING and usual > 0.0 and wait > state.settings[SLOWER] * usual:
        return SETTLING
    return WATCHING


@kernel
def respond(state: Any, stage: Any) -> None:
    """Begin a response, with new expectations, or end one."""
    exploration, rate = -1.0, -1.0  # what they were at first
    if stage == EXPLORING:
        exploration = state.settings[EXPLORE]
        rate = state.settings[RATE]
    elif stage == SETTLING:
        ask(state, MEMORY, 1.0)
    ask(state, EXPLORATION, exploration)
    ask(state, LEARNING_RATE, rate)
    if stage != WATCHING:
        state.levels[BEFORE] = state.levels[WAIT_MEAN]
        clear(state)
    state.numbers[STAGE] = stage
    state.numbers[STAGE_TURN] = 0
    state.numbers[GOODS] = 0


# The monitor.


@kernel
def begin(state: Any) -> None:
    """Expect nothing, do nothing."""
    clear(state)
    state.numbers[PAIR] = -1
    state.numbers[STAGE] = WATCHING
    state.numbers[PENDING] = 0
    state.levels[BEFORE] = 0.0


@kernel
def observe(state: Any, reward: Any, observation: Any, seen: Any) -> Any:  # noqa: ARG001
    """Compare what came with what was expected, and respond; the learner gets what came."""
    rows = len(state.visits) // state.numbers[ACTIONS]
    row = 0
    for component in range(len(state.sizes)):
        row = (row * state.sizes[component] + observation[component]) % rows
    state.numbers[ROW] = row * state.numbers[ACTIONS]
    if state.numbers[PAIR] < 0:
        return reward
    state.numbers[TURNS] += 1
    good = reward > 0.0 and reward >= state.levels[PER_TURN]
    weight = max(1.0 / state.numbers[TURNS], 0.001)
    state.levels[PER_TURN] += weight * (reward - state.levels[PER_TURN])
    size = expect_size(state, reward)
    wait = expect_wait(state, good)
    average = expect_average(state, reward)
    if reward < 0.0 and size != VIOLATED and state.counts[SIZE] == 0.0:
        state.numbers[AVOIDS] = 1
    stage = state.numbers[STAGE]
    if stage != WATCHING:
        stage = go_on(state, good)
    else:
        alarm = detect(state, SIZE, size)
        alarm |= detect(state, WAIT, wait)
        alarm |= detect(state, AVERAGE, average)
        if alarm:
            changed = state.counts[SIZE] > 0.5 and state.settings[MASKED] > 0.0
            stage = SETTLING if changed and state.numbers[AVOIDS] == 1 else EXPLORING
    if stage != state.numbers[STAGE]:
        respond(state, stage)
    return reward


@kernel
def perform(state: Any, action: Any) -> Any:
    """Remember which pair the next reward belongs to."""
    if action < state.numbers[ACTIONS]:
        state.numbers[PAIR] = state.numbers[ROW] + action
    return action


@kernel
def request(state: Any) -> Any:
    """The next adjustment, memory last; -1 if there is none."""
    for what in range(3):
        if state.numbers[PENDING] & (1 << what):
            state.numbers[PENDING] ^= 1 << what
            state.amounts[3] = state.amounts[what]
            return what
    return -1


@kernel
def amount(state: Any) -> Any:
    """The amount of the last request."""
    return state.amounts[3]


MONITOR = OuterKernels(
    MonitorState, begin=begin, observe=observe, action=perform, request=request, amount=amount
)


class Monitored(Agent):
    """Acts as a learner does that is told to change when its expectations are repeatedly violated.

    Metacognitive monitoring and control as in the paper on perturbation tolerance, whose details
    are ours (``docs/metacognition.md``). Expected are the reward of each action after each
    observation, the waiting time between good rewards (above 0, and not below the average per
    turn), and the average of 100 turns, each with its usual spread. After an alarm the learner
    explores more for a while, which decays. It starts afresh if good rewards come much more slowly
    at the end of that than they did before the alarm; or at once, if the size of rewards changed
    and rewards below 0 are known: the policy itself would never find out that these have changed
    too. Around an agent of kernels it runs compiled.

    Args:
        agent: The learner: ``q-learning(epsilon=0.05)``, ``my_agent.py:MyAgent``, or the JSON of a
            spec. It must have the method ``adjust``.
        tolerance: How many times its usual spread something may differ from what is expected.
        limit: How many violations of one kind, less what is usual, are an alarm.
        exploration: The probability of exploring after an alarm, at first.
        learning_rate: The learning rate while it explores more; by default as it is.
        length: The number of turns of a response.
        slower: How many times as long as before good rewards may take after exploring.
        masked: Whether to start afresh at once where rewards below 0 are known.
    """

    def __new__(
        cls,
        agent: str | dict[str, Any],
        tolerance: float = 4.0,
        limit: float = 3.0,
        exploration: float = 0.5,
        learning_rate: float | None = None,
        length: int = 1000,
        slower: float = 5.0,
        masked: bool = True,
    ) -> Any:
        """An agent around the learner."""
        positive = {"tolerance": tolerance, "limit": limit, "length": length, "slower": slower}
        for name, value in positive.items():
            require(value > 0, f"{name} is {value}.", "Give a number above 0.")
        problem = f"The exploration is {exploration}."
        require(0 <= exploration <= 1, problem, "Give a probability, from 0 to 1.")
        rate = -1.0 if learning_rate is None else learning_rate
        problem = f"The learning rate is {learning_rate}."
        require(
            learning_rate is None or 0 < rate <= 1, problem, "Give a number above 0, at most 1."
        )
        inner = adapt(make(Kind.AGENT, given_spec(Kind.AGENT, agent)))
        settings = (tolerance, limit, float(length), exploration, rate, slower, float(masked))
        return wrap_agent(inner, MONITOR, _Begun(settings))


@dataclass(frozen=True, slots=True)
class _Begun:
    """Makes the state at the beginning of an exercise."""

    settings: tuple[float, ...]

    def __call__(self, briefing: Briefing) -> MonitorState:
        actions = briefing.actions
        pairs = min(briefing.space.count, max(MOST_PAIRS // actions, 1)) * actions
        return MonitorState(
            sizes=np.array(briefing.space.sizes, dtype=np.int64),
            rewards=np.zeros(pairs),
            spreads=np.zeros(pairs),
            visits=np.zeros(pairs, dtype=np.int64),
            numbers=np.array([actions, *[0] * 10], dtype=np.int64),
            levels=np.zeros(9),
            counts=np.zeros(6),
            amounts=np.zeros(4),
            settings=np.array(self.settings),
        )
