"""How cups are graded: by their number (anytime test, section 6.1)."""

from __future__ import annotations

from omnimeter.contract import Instance, InvalidInputError

FEWEST = 3
"""The paper asks for more than two."""

MOST = 1000
"""No agent finds the one good pattern among two to the power of so many."""


def complexity(instance: Instance) -> float:
    """H(mu) = n, the number of cups."""
    return float(len(instance.data["colours"]))


def number_of_cups(wanted: float) -> int:
    """How many cups an environment of the wanted complexity has."""
    if not FEWEST <= wanted <= MOST or wanted != int(wanted):
        raise InvalidInputError(
            f"No cups have complexity {wanted:g}.",
            f"Give a whole number from {FEWEST} up to {MOST}.",
        )
    return int(wanted)
