"""Where an agent stands in a test while it runs, as data: score, curve, how much is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from omnimeter.contract import ClockKind, Outcome, Protocol, Score, Spec
from omnimeter.protocols.adaptive import Anytime
from omnimeter.protocols.anytime import AnytimeTimed, AnytimeUntimed
from omnimeter.protocols.sittings import Sittings
from omnimeter.protocols.universal import UniversalTimed


class Share(NamedTuple):
    """How much of a test is done.

    Attributes:
        done: So much.
        total: Of so much.
        unit: Of what: ``s``, ``interactions`` or ``exercises``.
    """

    done: float
    total: float
    unit: str


@dataclass
class Standing:
    """What one agent has done so far.

    Attributes:
        agent: The agent.
        protocol: The test.
        outcomes: What came of its exercises.
    """

    agent: Spec
    protocol: Protocol
    outcomes: list[Outcome] = field(default_factory=list)

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Some more exercises are done."""
        self.outcomes.extend(outcomes)
        self.__dict__.pop("score", None)
        self.__dict__.pop("curve", None)

    @cached_property
    def score(self) -> Score:
        """The score so far."""
        return self.protocol.score(self.outcomes)

    @cached_property
    def curve(self) -> list[float]:
        """The score after each round, or after each exercise where there are no rounds."""
        if isinstance(self.protocol, Anytime):
            running = Sittings(self.protocol.sittings, self.outcomes).running()
        else:
            known = [each for each in self.outcomes if each.payoff is not None]
            values = self.protocol.values(known)
            worth = [values.get(each.exercise.number, each.payoff) for each in known]
            running = np.cumsum(np.array(worth, float)) / np.arange(1, len(worth) + 1)
        return [float(value) for value in running]

    @property
    def share(self) -> Share:
        """How much is done: of the time, of the interactions, or of the exercises."""
        return share(self.protocol, self.outcomes)


def share(protocol: Protocol, outcomes: Sequence[Outcome]) -> Share:
    """How much of a test some outcomes are."""
    if isinstance(protocol, AnytimeTimed):
        spent = sum(_seconds(each) for each in outcomes)
        return Share(min(spent, protocol.time), protocol.time, "s")
    if isinstance(protocol, AnytimeUntimed):
        taken = sum(each.exercise.budget.interactions or 0 for each in outcomes)
        return Share(taken, sum(protocol.slots) * protocol.sittings, "interactions")
    return Share(len(outcomes), protocol.expected() or len(outcomes), "exercises")


def _seconds(outcome: Outcome) -> float:
    """The real seconds that an exercise took or, under the virtual clock, the virtual ones."""
    return float(outcome.remarks.get("elapsed", outcome.exercise.budget.seconds or 0.0))


def runs_by_wall_clock(protocol: Protocol) -> bool:
    """Whether real time counts in a test."""
    if isinstance(protocol, AnytimeTimed | UniversalTimed):
        return protocol.clock.kind is ClockKind.WALL
    return False
