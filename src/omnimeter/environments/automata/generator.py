"""The environment class: which automata it has, and how they are drawn, graded and built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, single
from omnimeter.environments.automata.complexity import complexity
from omnimeter.environments.automata.dynamics import (
    ACTIONS,
    KERNELS,
    Automaton,
    AutomatonState,
    scene,
)
from omnimeter.environments.automata.population import TOLERANCE, Population, no_such, population
from omnimeter.environments.automata.validity import horizon, read, rewards
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass

FIGURE_6 = Automaton(transitions=((0, 1, 0), (0, 1, 0)), marks=(0, 1))
"""Stands for the simple automaton of Fig. 6 (anytime test, section 6.2), whose drawing is lost.

The text says that its optimal behaviour is a2*. Of all automata in which wherever one is only the
second action is best, two are smallest: they differ in the state in which they begin. This is the
one that begins in the worse state. The second action pays 1, the others pay -1/2.
"""

EXAMPLES = {"figure-6": FIGURE_6}


@dataclass(frozen=True)
class Example:
    """One automaton that is all there is, with what a population can do.

    Attributes:
        automaton: The automaton, which shows states by their own numbers.
    """

    automaton: Automaton

    def range(self) -> tuple[float, float]:
        """Its complexity."""
        return (complexity(self.automaton),) * 2

    def draw(self, rng: np.random.Generator) -> Automaton:  # noqa: ARG002 - nothing to be drawn
        """It."""
        return self.automaton

    def draw_of(self, rng: np.random.Generator, wanted: float) -> Automaton:
        """It, if that is its complexity.

        Raises:
            InvalidInputError: It is not.
        """
        found = self.draw_between(rng, wanted, wanted)
        if found is None:
            raise no_such(wanted, [complexity(self.automaton)])
        return found

    def draw_between(
        self,
        rng: np.random.Generator,  # noqa: ARG002 - nothing to be drawn
        low: float,
        high: float,
    ) -> Automaton | None:
        """It, if it is in the band."""
        return self.automaton if self._is_within(low, high) else None

    def listed(self, low: float, high: float, most: int) -> list[Automaton] | None:
        """It, if it is in the band and may be listed."""
        found = [self.automaton] if self._is_within(low, high) else []
        return found if len(found) <= most else None

    def _is_within(self, low: float, high: float) -> bool:
        return low - TOLERANCE <= complexity(self.automaton) <= high + TOLERANCE


MOST_STATES = 32
MOST_ENTRIES = 128
"""States times actions. The tables from which larger automata are drawn would not be small."""

ExampleName = Literal["none", "figure-6"]


class Automata(KernelEnvironmentClass):
    """Finite state machines: actions lead from state to state, and each state pays its reward.

    From every state one can go to every other. Each state is marked as good, bad or neither; its
    reward is its mark, shifted by an exact fraction so that a random agent gets exactly 0 in the
    long run, and stretched up to 1 or -1. The automaton begins in its first state with reward 0.
    This is the class of the anytime test, section 6.2. Its whole is balanced in every interaction
    too: for each automaton there is an equally complex one with the opposite rewards.

    Complexity is Kt-max (Definition 9): the bits of a prefix code of the automaton, minimised and
    with its states numbered as they are met, plus the logarithm of the machine steps that an
    answer takes. Draws have probability 2^-complexity; of a wanted complexity all automata are
    equally likely.

    Args:
        actions: The number of actions, at least 2.
        most_states: The largest number of states that is drawn, from 2 to 32; with the actions of
            all states there are at most 128.
        symbols: How many different symbols states are shown as, so that several states may look
            the same; 0 shows each by its own number.
        example: ``figure-6`` draws nothing but a smallest automaton whose optimal behaviour is
            a2*, as the text says of its figure 6; ``none`` draws all.
    """

    kernels = KERNELS

    def __init__(
        self,
        actions: int = 3,
        most_states: int = 20,
        symbols: int = 0,
        example: ExampleName = "none",
    ) -> None:
        _check_sizes(actions, most_states, symbols)
        _check_example(example, actions, symbols)
        self.actions = actions
        self.most_states = most_states
        self.symbols = symbols
        self.example = example

    @property
    def _all(self) -> Population | Example:
        """What there is to be drawn; counted when it is needed."""
        if self.example != "none":
            return Example(EXAMPLES[self.example])
        return population(self.actions, self.most_states, self.symbols)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw by 2^-complexity, or uniformly among those of a complexity."""
        if complexity is None:
            return self._all.draw(rng).instance()
        return self._all.draw_of(rng, complexity).instance()

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw by 2^-complexity within a band."""
        found = self._all.draw_between(rng, low, high)
        return None if found is None else found.instance()

    def members(self, low: float, high: float, limit: int) -> Sequence[Instance] | None:
        """All automata of a band, the simplest first, without isomorphic copies."""
        found = self._all.listed(low, high, limit)
        return None if found is None else [_instance(automaton) for automaton in found]

    def complexity_range(self) -> tuple[float, float]:
        """From the simplest two states up to almost all automata with the most states."""
        return self._all.range()

    def complexity(self, instance: Instance) -> float:
        """Kt-max of the automaton."""
        return complexity(self._read(instance), self.symbols)

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the automaton; this is where its rewards are found."""
        automaton = self._read(instance)
        states = automaton.states
        now = np.zeros(2, dtype=np.int64)
        now[ACTIONS] = self.actions
        shown = range(states) if automaton.symbols is None else automaton.symbols
        state = AutomatonState(
            transitions=np.array(automaton.transitions, dtype=np.int64).ravel(),
            rewards=np.array([float(reward) for reward in rewards(automaton)]),
            shown=np.array(shown, dtype=np.int64),
            now=now,
        )
        return KernelEnvironment(KERNELS, state, self.actions, single(self.symbols or states))

    def claims(self) -> Claims:
        """Every automaton is balanced, and what is done always matters."""
        return Claims(balanced=True, sensitive=horizon(self.most_states))

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """Circles and buttons."""
        circles = self.symbols or len(instance.data["marks"])
        return scene(circles, self.actions, int(np.atleast_1d(observation)[0]), reward)

    def _read(self, instance: Instance) -> Automaton:
        return read(instance.data, self.actions, self.symbols)


@lru_cache(maxsize=20_000)
def _instance(automaton: Automaton) -> Instance:
    """The same object for the same automaton: lists are asked for again and again."""
    return automaton.instance()


def _check_sizes(actions: int, most_states: int, symbols: int) -> None:
    if actions < 2:
        raise InvalidInputError(
            f"There cannot be {actions} actions: there would be nothing to choose.",
            "Give at least 2 actions.",
        )
    if not 2 <= most_states <= MOST_STATES or most_states * actions > MOST_ENTRIES:
        most = max(2, min(MOST_STATES, MOST_ENTRIES // actions))
        raise InvalidInputError(
            f"There cannot be up to {most_states} states with {actions} actions each.",
            f"Give most_states from 2 to {MOST_STATES}, and at most {MOST_ENTRIES} for states "
            f"times actions: {most} here."
            if most * actions <= MOST_ENTRIES
            else f"Give at most {MOST_ENTRIES // 2} actions.",
        )
    if not 0 <= symbols <= most_states:
        raise InvalidInputError(
            f"States cannot be shown as {symbols} symbols.",
            f"Give symbols from 1 to {most_states}, as many as there can be states; or 0 to show "
            "each by its own number.",
        )


def _check_example(example: str, actions: int, symbols: int) -> None:
    if example not in get_args(ExampleName):
        raise InvalidInputError(
            f"There is no example {example!r}.", f"Give one of {', '.join(get_args(ExampleName))}."
        )
    if example != "none" and (actions, symbols) != (3, 0):
        raise InvalidInputError(
            f"The example {example!r} has 3 actions and shows states by their own numbers.",
            "Leave actions and symbols out.",
        )
