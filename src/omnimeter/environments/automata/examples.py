"""Automata that go by a name, and a class that has only one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from omnimeter.environments.automata.automaton import Automaton
from omnimeter.environments.automata.complexity import complexity
from omnimeter.environments.automata.population import TOLERANCE, no_such

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
