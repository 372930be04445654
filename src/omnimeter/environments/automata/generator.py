"""The environment class of automata, and their scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, single
from omnimeter.contract.overlay import Graph, Overlay
from omnimeter.environments.automata.complexity import complexity
from omnimeter.environments.automata.dynamics import KERNELS, Automaton, AutomatonState
from omnimeter.environments.automata.population import Example, Population, population
from omnimeter.environments.automata.validity import read, rewards
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass

FIGURE_6 = Automaton(transitions=((0, 1, 0), (0, 1, 0)), marks=(0, 1))
"""Stands for the simple automaton of Fig. 6 (anytime test, section 6.2), whose drawing is lost.

The text says that its optimal behaviour is a2*. Of all automata in which only the second action is
best in every state, two are smallest: they differ in the state in which they begin. This is the one
that begins in the worse state. The second action pays 1, the others pay -1/2.
"""

EXAMPLES = {"figure-6": FIGURE_6}

MAX_STATES = 32
MAX_ENTRIES = 128
"""States times actions. The tables from which larger automata are drawn would not be small."""

ExampleName = Literal["none", "figure-6"]

_instance = lru_cache(maxsize=20_000)(Automaton.instance)  # lists are asked for again and again


class Automata(KernelEnvironmentClass):
    """Finite state machines: actions lead from state to state, and each state pays its reward.

    From every state one can go to every other. Each state is marked as good, bad or neither; its
    reward is its mark, shifted by an exact fraction so that a random agent gets exactly 0 in the
    long run, and scaled up to 1 or -1. The automaton begins in its first state with reward 0.
    This is the class of the anytime test, section 6.2. A single automaton is balanced in the long
    run only: its first rewards need not be 0 on average. The class as a whole is balanced in every
    interaction: for each automaton there is an equally complex one with the opposite rewards.

    Complexity is Kt-max (Definition 9): the bits of a prefix code of the automaton, minimised and
    with its states numbered breadth first, plus the logarithm of the machine steps that an answer
    takes. Draws have probability 2^-complexity; of a wanted complexity all automata are
    equally likely.

    Args:
        actions: The number of actions, at least 2.
        max_states: The largest number of states that is drawn, from 2 to 32; with the actions of
            all states there are at most 128.
        symbols: The number of different observations, so that several states may have the same
            one; 0 observes each by its own number.
        example: ``figure-6`` draws nothing but a smallest automaton whose optimal behaviour is
            a2*, as the text says of its figure 6; ``none`` draws all.
    """

    kernels = KERNELS

    def __init__(
        self,
        actions: int = 3,
        max_states: int = 20,
        symbols: int = 0,
        example: ExampleName = "none",
    ) -> None:
        if actions < 2:
            raise InvalidInputError(
                f"There cannot be {actions} actions: there would be nothing to choose.",
                "Give at least 2 actions.",
            )
        if not 2 <= max_states <= MAX_STATES or max_states * actions > MAX_ENTRIES:
            largest = min(MAX_STATES, MAX_ENTRIES // actions)
            raise InvalidInputError(
                f"There cannot be up to {max_states} states with {actions} actions each.",
                f"Give max_states from 2 to {MAX_STATES}, and at most {MAX_ENTRIES} for states "
                f"times actions: {largest} here."
                if largest >= 2
                else f"Give at most {MAX_ENTRIES // 2} actions.",
            )
        if not 0 <= symbols <= max_states:
            raise InvalidInputError(
                f"States cannot have {symbols} symbols.",
                f"Give symbols from 1 to {max_states}, as many as there can be states; or 0 to "
                "observe each by its own number.",
            )
        if example not in (names := get_args(ExampleName)):
            raise InvalidInputError(
                f"There is no example {example!r}.", f"Give one of {', '.join(names)}."
            )
        if example != "none" and (actions, symbols) != (3, 0):
            raise InvalidInputError(
                f"The example {example!r} has 3 actions and observes states by their own numbers.",
                "Leave actions and symbols out.",
            )
        self.actions, self.max_states = actions, max_states
        self.symbols, self.example = symbols, example

    @property
    def _population(self) -> Population:
        """All that may be drawn; counted when it is needed."""
        if self.example != "none":
            return Example(EXAMPLES[self.example])
        return population(self.actions, self.max_states, self.symbols)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw by 2^-complexity, or uniformly among those of a complexity."""
        if complexity is None:
            return self._population.draw(rng).instance()
        instance = self.draw_between(rng, complexity, complexity)
        if instance is None:
            near = " and ".join(f"{each:.12g}" for each in self._population.nearest(complexity))
            raise InvalidInputError(
                f"No automaton has complexity {complexity:.12g}.",
                f"The nearest complexities that there are: {near}.",
            )
        return instance

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw by 2^-complexity within a band."""
        automaton = self._population.draw_between(rng, low, high)
        return None if automaton is None else automaton.instance()

    def members(self, low: float, high: float, limit: int) -> Sequence[Instance] | None:
        """All automata of a band, the simplest first, without isomorphic copies."""
        members = self._population.members(low, high, limit)
        return None if members is None else [_instance(automaton) for automaton in members]

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the automaton; this is where its rewards are computed."""
        automaton = read(instance.data, self.actions, self.symbols)
        states = automaton.states
        shown = range(states) if automaton.symbols is None else automaton.symbols
        state = AutomatonState(
            transitions=np.array(automaton.transitions, dtype=np.int64).ravel(),
            rewards=np.array([float(reward) for reward in rewards(automaton)]),
            shown=np.array(shown, dtype=np.int64),
            now=np.array([0, self.actions], dtype=np.int64),
        )
        return KernelEnvironment(KERNELS, state, self.actions, single(self.symbols or states))

    def reward_range(self) -> tuple[float, float]:
        """Rewards lie between -1 and 1."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """The class is balanced, and the sums of rewards can differ from every state.

        Most single automata are balanced in the long run only, one with an expected first reward
        of 1/3; drawn, their first rewards cancel.

        At most ``states - 1`` actions lead to a state where two actions make a difference. One of
        them is done, and then at most ``states - 2`` more until the rewards differ for the first
        time: states that pay differently are two classes at least, and every further action that
        is needed to tell some states apart makes one class more of them.
        """
        return Claims(balanced=True, sensitive=2 * (self.max_states - 1))

    def complexity(self, instance: Instance) -> float:
        """Kt-max of the automaton."""
        return complexity(read(instance.data, self.actions, self.symbols), self.symbols)

    def complexity_range(self) -> tuple[float, float]:
        """From the simplest two states up to almost all automata with the largest size."""
        return self._population.complexity_range

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:  # noqa: ARG002
        """The states, each with its observation and its reward, which never change."""
        state = self.build(instance).state
        squares = [
            {"observation": int(shown), "reward": float(reward)}
            for shown, reward in zip(state.shown, state.rewards, strict=True)
        ]
        names = [f"state {number}" for number in range(1, len(squares) + 1)]
        overlay = Overlay.of(Graph(instance.data["transitions"]), squares, names=names)
        return replace(overlay, duration=steps)

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """A circle for each observation, the buttons, and the sign of the last reward."""
        seen = int(np.atleast_1d(observation)[0])
        circles = range(self.symbols or len(instance.data["marks"]))
        return {
            "kind": "automata",
            "circles": [{"name": f"o{each + 1}", "here": each == seen} for each in circles],
            "buttons": [f"a{number + 1}" for number in range(self.actions)],
            "reward": "up" if reward > 0 else "down" if reward < 0 else "neutral",
        }
