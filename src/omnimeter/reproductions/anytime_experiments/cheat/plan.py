"""Which tests are taken, by whom, and how each of them looks in a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnimeter.contract import Spec
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.reports.look import SERIES

EASY = (3, 5, 10)
"""The most states of what the cheats call easy."""

HONEST = Spec("model-learner-v1")
"""The cheat learns as this one does."""

HONEST_COLOUR = SERIES[0]
COLOURS = dict(zip(EASY, (SERIES[1], SERIES[2], SERIES[3]), strict=True))

TICK = 1e-6
"""Seconds of an action: so a slot of the test with time lasts as many interactions."""


@dataclass(frozen=True)
class Trial:
    """One of the tests.

    Attributes:
        name: In rows.
        definition: Its number in the text.
        title: For a reader.
    """

    name: str
    definition: int
    title: str

    def spec(self, sittings: int, rounds: int) -> Spec:
        """The test in the class of automata.

        Args:
            sittings: How many.
            rounds: How many exercises each of them has.
        """
        parameters: dict[str, Any] = {
            "environments": {"id": "automata-v1"},
            "sittings": sittings,
            "seed": 1,
        }
        if self is UNTIMED:
            length = sittings * whole_length(rounds)
            return Spec("anytime-untimed-v1", parameters | {"interactions": length})
        # Half a first slot is left over, which is too little for a further exercise.
        seconds = sittings * TICK * (2 * (1.5**rounds - 1) + 0.5)
        return Spec(
            "anytime-timed-v1", parameters | {"time": seconds, "clock": "virtual", "tick": TICK}
        )


UNTIMED = Trial("untimed", 19, "Definition 19, without time")
TIMED = Trial("timed", 18, "Definition 18, by the virtual clock")
TRIALS = (UNTIMED, TIMED)


def whole_length(rounds: int) -> int:
    """How many interactions so many whole slots of Definition 19 have."""
    endless = AnytimeUntimed("automata-v1", 2**62, sittings=1)
    return sum(endless.slots[:rounds])


def cheat(easy: int) -> Spec:
    """The cheat, by what it calls easy."""
    return Spec("cheat-v1", {"easy": easy})


def limited(easy: int) -> Spec:
    """One that is able in easy environments only, and honest."""
    return Spec(f"{__package__}.limited:Limited", {"easy": easy})
