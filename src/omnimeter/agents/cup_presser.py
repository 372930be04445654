"""The agent of the cups: makes black ones white (anytime test, section 6.1)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.nothing import begin, finish
from omnimeter.agents.rates import delay_of
from omnimeter.contract import AgentKernels, Briefing, IntArray, InvalidInputError, kernel
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state


class CupPresserState(NamedTuple):
    """What never changes, and the chance.

    Attributes:
        rng: The state of the generator.
        numbers: Whether the first black cup is chosen; the delay in nanoseconds.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The button of a black cup; any button when no cup is black."""
    cups = len(observation)
    black = 0
    for cup in range(cups):
        black += 1 - observation[cup]
    if black == 0:
        return below(state.rng, cups)
    skipped = 0 if state.numbers[0] == 1 else below(state.rng, black)
    chosen = 0
    while observation[chosen] == 1 or skipped > 0:
        skipped -= 1 - observation[chosen]
        chosen += 1
    return chosen


@kernel
def delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[1]


class CupPresser(KernelAgent):
    """Presses the button of a black cup, or any button when no cup is black.

    It is the pi_w of the anytime test, section 6.1, where which of several black cups is left
    open. It works wherever observations have a 0 (black) or 1 (white) for each action.

    Args:
        choice: Which black cup: a ``random`` one with uniform probability, or the ``first``.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(CupPresserState, begin, act, finish, delay)

    def __init__(
        self, choice: Literal["random", "first"] = "random", rate: float | None = None
    ) -> None:
        self.choice = choice
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> CupPresserState:
        """A fresh generator, if there is a cup for each button."""
        if briefing.space.sizes != (2,) * briefing.actions:
            raise InvalidInputError(
                "The cup presser needs observations with a 0 or 1 for each of the "
                f"{briefing.actions} actions; these have sizes {briefing.space.sizes}.",
                "Use it with cups-v1, or another agent here.",
            )
        first = int(self.choice == "first")
        return CupPresserState(generator_state(), np.array([first, self.delay]))
