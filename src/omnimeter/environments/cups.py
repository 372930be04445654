"""The cups of the anytime test, section 6.1, as an environment class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from math import ceil, floor
from typing import Any, Literal, NamedTuple

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, Space
from omnimeter.contract.agent import IntArray
from omnimeter.contract.overlay import Graph, Overlay
from omnimeter.kernels import EnvironmentKernels, KernelEnvironment, KernelEnvironmentClass, kernel


class CupsState(NamedTuple):
    """The cups on the table, each 1 (white) or 0 (black)."""

    colours: IntArray
    initial: IntArray
    turn: IntArray  # which cup the environment switched last, and how many turns its round has


@kernel
def reset(state: Any) -> Any:
    """Set the colours as they were drawn; the first reward is 0."""
    for cup in range(len(state.colours)):
        state.colours[cup] = state.initial[cup]
    state.turn[0] = 0
    return 0.0


@kernel
def step(state: Any, action: Any) -> Any:
    """Switch the agent's cup, then cup ``i mod n`` in interaction i, and pay."""
    state.colours[action] ^= 1
    turn = state.turn[0] + 1
    if turn == state.turn[1]:
        turn = 0
    state.turn[0] = turn
    cups = len(state.colours)
    if turn < cups:  # a round with a rest has one turn more than there are cups
        state.colours[turn] ^= 1
    white = 0
    for cup in range(cups):
        white += state.colours[cup]
    if white == cups:
        return 1.0
    return -1.0 if white == 0 else 0.0


@kernel
def observe(state: Any, out: Any) -> None:
    """Show every cup's colour."""
    for cup in range(len(state.colours)):
        out[cup] = state.colours[cup]


KERNELS = EnvironmentKernels(CupsState, reset, step, observe)

MIN_CUPS, MAX_CUPS = 3, 1000
"""The paper asks for more than two; no agent finds one good pattern among 2^1000."""

MAX_SQUARES = 50_000
"""States that are enumerated at most; the colours of more than 12 cups have more."""

LETTERS = "BW"
"""Black and white in the data of an instance."""


class Cups(KernelEnvironmentClass):
    """Cups to be turned white: each button switches one, and so does the environment.

    Every cup is black or white. In interaction i the agent's button switches its cup, then the
    environment switches cup ``i mod n``. The reward is +1 when all cups are white, -1 when all are
    black, 0 otherwise (anytime test, section 6.1).

    Two switches an interaction never change whether the number of black cups is odd. So with an
    odd number of cups only one of the two paying patterns can ever be reached, and with an even
    number both or none. Over random colours the class is balanced as the paper says; a single
    environment often is not, nor is it always sensitive to actions. The rule ``rest`` fixes this:
    the environment's round has one turn more, in which it switches nothing.

    Args:
        min_cups: The smallest number of cups that is drawn when no complexity is asked for.
        max_cups: The largest number of cups that is drawn when no complexity is asked for.
        rule: ``published`` as in the paper, or ``rest``.
    """

    kernels = KERNELS

    def __init__(
        self, min_cups: int = 3, max_cups: int = 8, rule: Literal["published", "rest"] = "published"
    ) -> None:
        if not MIN_CUPS <= min_cups <= max_cups <= MAX_CUPS:
            raise InvalidInputError(
                f"There cannot be {min_cups} to {max_cups} cups.",
                f"Give {MIN_CUPS} <= min_cups <= max_cups <= {MAX_CUPS}.",
            )
        self.min_cups, self.max_cups, self.rule = min_cups, max_cups, rule

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw the number of cups, if it is not given, and their colours."""
        if complexity is None:
            cups = int(rng.integers(self.min_cups, self.max_cups + 1))
        elif MIN_CUPS <= complexity <= MAX_CUPS and complexity == int(complexity):
            cups = int(complexity)
        else:
            raise InvalidInputError(
                f"No cups have complexity {complexity:g}.",
                f"Give a whole number from {MIN_CUPS} up to {MAX_CUPS}.",
            )
        colours = "".join(LETTERS[colour] for colour in rng.integers(2, size=cups))
        return Instance({"colours": colours, "rule": self.rule})

    def members(self, low: float, high: float, limit: int) -> list[Instance] | None:
        """All colours of all numbers of cups."""
        numbers = range(max(ceil(low), MIN_CUPS), min(floor(high), MAX_CUPS) + 1)
        if sum(2**cups for cups in numbers) > limit:
            return None
        colours = ("".join(each) for cups in numbers for each in product(LETTERS, repeat=cups))
        return [Instance({"colours": each, "rule": self.rule}) for each in colours]

    def build(self, instance: Instance) -> KernelEnvironment:
        """Put the cups on the table."""
        colours = np.array([LETTERS.index(letter) for letter in instance.data["colours"]])
        cups = len(colours)
        turns = cups + (instance.data["rule"] == "rest")
        state = CupsState(colours.copy(), colours, np.array([0, turns]))
        return KernelEnvironment(KERNELS, state, actions=cups, space=Space((2,) * cups))

    def reward_range(self) -> tuple[float, float]:
        """Rewards lie between -1 and 1."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """Balanced over random colours; sensitive only if the environment rests."""
        horizon = 2 * (MAX_CUPS + 1)  # a round, and once more, of the largest number
        return Claims(balanced=True, sensitive=horizon if self.rule == "rest" else None)

    def complexity(self, instance: Instance) -> float:
        """H(mu) = n, the number of cups."""
        return float(len(instance.data["colours"]))

    def complexity_range(self) -> tuple[float, float]:
        """The smallest and the largest number of cups that there can be."""
        return (MIN_CUPS, MAX_CUPS)

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:  # noqa: ARG002
        """The states that can be reached: the colours, and whose turn it is, which is not seen.

        Each has the cups that are white, and the reward of coming there.
        """
        first = [LETTERS.index(letter) for letter in instance.data["colours"]]
        cups, turns = len(first), len(first) + (instance.data["rule"] == "rest")
        bits = [1 << cup for cup in range(cups)]
        numbers = {(sum(white * bit for white, bit in zip(first, bits, strict=True)), 0): 0}
        successors: list[list[int]] = []
        for colours, turn in (states := list(numbers)):
            after = (turn + 1) % turns
            switched = bits[after] if after < cups else 0
            successors.append([])
            for bit in bits:
                state = (colours ^ bit ^ switched, after)
                if state not in numbers:
                    numbers[state] = len(numbers)
                    states.append(state)
                successors[-1].append(numbers[state])
            if len(numbers) > MAX_SQUARES:
                message = f"{cups} cups have more than {MAX_SQUARES:,} states."
                raise InvalidInputError(message, "Measure at most 11 cups.")
        squares = [
            {"reward": (-1, 0, 1)[1 + (colours == (1 << cups) - 1) - (colours == 0)]}
            | {f"white {cup}": True for cup, bit in enumerate(bits, 1) if colours & bit}
            for colours, _ in states
        ]
        return replace(Overlay.of(Graph(successors), squares), duration=steps)

    def scene(  # the cups are all there is to see
        self,
        instance: Instance,  # noqa: ARG002
        observation: Observation,
        reward: float = 0.0,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        """The cups from left to right, and a button for each."""
        colours = [("black", "white")[int(colour)] for colour in np.atleast_1d(observation)]
        buttons = [f"B{number}" for number in range(1, len(colours) + 1)]
        return {"kind": "cups", "cups": colours, "buttons": buttons}
