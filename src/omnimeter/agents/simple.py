"""Agents that do not learn: random, constant, scripted, or following a given policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.tables import key_of, number_of_keys
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel
from omnimeter.contract.agent import LONGEST_DELAY, IntArray
from omnimeter.contract.exercise import nanoseconds
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state

MOST = 2**31
"""No environment has as many actions: chance is exactly uniform only below."""


def actions_of(given: Sequence[int], what: str) -> IntArray:
    """The given actions as an array.

    An environment may still have fewer actions: that is an invalid action when it is performed.

    Args:
        given: The actions.
        what: What they are to the person who gave them.

    Raises:
        InvalidInputError: There are none, or one of them cannot be an action anywhere.
    """
    if len(given) == 0:
        raise InvalidInputError(f"The {what} is empty.", "Give at least one action.")
    for action in given:
        if not 0 <= action < MOST:
            raise InvalidInputError(
                f"The {what} holds {action}, which is not an action.",
                "Actions are whole numbers from 0 up.",
            )
    return np.array(given, dtype=np.int64)


def delay_of(rate: float | None) -> int:
    """Nanoseconds between actions at a rate per second; 0, the clock's own tick, without one."""
    if rate is None:
        return 0
    if not 0 < rate <= 1e9:
        raise InvalidInputError(
            f"The rate is {rate} actions per second.", "Give a number above 0, at most 1e9."
        )
    return nanoseconds(1 / rate)


def duration_of(seconds: float) -> int:
    """Nanoseconds of a time in seconds that an agent may take for one action."""
    if not (0 < seconds <= LONGEST_DELAY and nanoseconds(seconds) > 0):
        raise InvalidInputError(
            f"An action cannot take {seconds} seconds.",
            f"Give a number above 0, at most {LONGEST_DELAY:g}.",
        )
    return nanoseconds(seconds)


@kernel
def begin(state: Any) -> None:
    """Nothing to get ready."""


@kernel
def finish(state: Any, reward: Any, observation: Any) -> None:
    """Nothing is learnt."""


class RandomState(NamedTuple):
    """The state of the generator; the number of actions and the delay in nanoseconds."""

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def act_at_random(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Any action, all with the same probability."""
    return below(state.rng, state.numbers[0])


@kernel
def random_delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[1]


class RandomAgent(KernelAgent):
    """Acts at random with uniform probability, at a constant rate.

    Args:
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(RandomState, begin, act_at_random, finish, random_delay)

    def __init__(self, rate: float | None = None) -> None:
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> RandomState:
        """A fresh generator."""
        return RandomState(generator_state(), np.array([briefing.actions, self.delay]))


ANY = -1
"""In place of an action: each time another one, by chance."""

ROBOTS = {1: (0, 3.0), 2: (1, 3.0), 3: (2, 3.0), 4: (ANY, 10.0)}
"""The action and the rate of each robot of the papers."""


class SteadyState(NamedTuple):
    """What never changes, and the chance.

    Attributes:
        rng: The state of the generator.
        numbers: The action, or ``ANY``; the number of actions; the delay in nanoseconds.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def act_steadily(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The one action, or any."""
    action = state.numbers[0]
    if action == ANY:
        action = below(state.rng, state.numbers[1])
    return action


@kernel
def steady_delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[2]


KERNELS = AgentKernels(SteadyState, begin, act_steadily, finish, steady_delay)


class _Steady(KernelAgent):
    """What both kinds have in common."""

    kernels = KERNELS

    def __init__(self, action: int, rate: float | None) -> None:
        self.action = action
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> SteadyState:
        """The one action, and a fresh generator."""
        return SteadyState(generator_state(), np.array([self.action, briefing.actions, self.delay]))


class ConstantAgent(_Steady):
    """Always does the same, at a constant rate.

    Args:
        action: What it does. Where there is no such action, an invalid action is recorded.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    def __init__(self, action: int = 0, rate: float | None = None) -> None:
        actions_of([action], "parameter 'action'")
        super().__init__(action, rate)


class ExampleRobot(_Steady):
    """A robot of the papers' examples: presses B1, B2, B3 or any button.

    Robots 1, 2 and 3 always press that button, three times per second; robot 4 presses any with
    uniform probability, ten times per second. Robot 1 is the pi_1 of the example in fixed-time
    payoffs, robot 4 its pi_rand. All four are those of Example 4 of the anytime test, which gives
    no rates.

    Args:
        number: Which robot, 1 to 4.
    """

    def __init__(self, number: Literal[1, 2, 3, 4] = 1) -> None:
        if number not in ROBOTS:
            raise InvalidInputError(f"There is no robot {number}.", "Give 1, 2, 3 or 4.")
        super().__init__(*ROBOTS[number])


class PolicyState(NamedTuple):
    """The table.

    Attributes:
        table: The action for each observation, by its key.
        sizes: How many values each component of an observation can take.
        delay: The nanoseconds that an action takes, 0 for the clock's own tick.
    """

    table: IntArray
    sizes: IntArray
    delay: IntArray


@kernel
def act_by_policy(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """What the table says."""
    return state.table[key_of(observation, state.sizes)]


@kernel
def delay(state: Any) -> Any:
    """Always the same time."""
    return state.delay[0]


class PolicyAgent(KernelAgent):
    """Does what a table says for what it sees, at a constant rate.

    Args:
        table: The action for each observation. They stand in the order of counting, the last
            component fastest: (0, 0), (0, 1), (1, 0), (1, 1). By default all actions in turn, so
            that an observation which is the number of an action gets that action.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(PolicyState, begin, act_by_policy, finish, delay)

    def __init__(self, table: Sequence[int] | None = None, rate: float | None = None) -> None:
        self.table = None if table is None else actions_of(table, "list 'table'")
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> PolicyState:
        """The table, if it fits the observations."""
        count = number_of_keys(briefing.space)
        table = np.arange(count) % briefing.actions if self.table is None else self.table.copy()
        if len(table) != count:
            raise InvalidInputError(
                f"The table has {len(table)} actions, but there are {count} observations.",
                f"Give {count} actions, or leave the table out.",
            )
        return PolicyState(table, np.array(briefing.space.sizes), np.array([self.delay]))


class ScriptedState(NamedTuple):
    """The script and the place in it.

    Attributes:
        actions: The actions in their order.
        delays: The nanoseconds that each takes, 0 for the clock's own tick.
        place: Which line was played last; whether the script begins again after its end.
    """

    actions: IntArray
    delays: IntArray
    place: IntArray


@kernel
def begin_script(state: Any) -> None:
    """Open the script before its first line."""
    state.place[0] = -1


@kernel
def act_by_script(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The next line."""
    place = state.place[0] + 1
    if place == len(state.actions):
        if state.place[1] == 0:
            return -1
        place = 0
    state.place[0] = place
    return state.actions[place]


@kernel
def scripted_delay(state: Any) -> Any:
    """The time of the line just played."""
    return state.delays[state.place[0]]


class ScriptedAgent(KernelAgent):
    """Plays a list of actions with given delays, whatever it sees; then repeats or stops.

    Args:
        actions: The actions in their order.
        seconds: How long each of them takes under a virtual clock; by default the clock's own
            tick.
        repeat: Whether to begin again after the last action; otherwise it stops there.
    """

    kernels = AgentKernels(ScriptedState, begin_script, act_by_script, finish, scripted_delay)

    def __init__(
        self,
        actions: Sequence[int] = (0, 1),
        seconds: Sequence[float] | None = None,
        repeat: bool = True,
    ) -> None:
        self.actions = actions_of(actions, "list 'actions'")
        delays = [0] * len(actions) if seconds is None else [duration_of(each) for each in seconds]
        if len(delays) != len(actions):
            raise InvalidInputError(
                f"There are {len(actions)} actions, but times for {len(delays)}.",
                "Give one time in seconds for each action.",
            )
        self.delays = np.array(delays, dtype=np.int64)
        self.repeat = repeat

    def prepare(self, briefing: Briefing) -> ScriptedState:  # noqa: ARG002 - plays anywhere
        """The script, closed."""
        return ScriptedState(
            self.actions.copy(), self.delays.copy(), np.array([-1, self.repeat], dtype=np.int64)
        )
