"""What the cheats, and those who are honest, got in each exercise of their sittings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from omnimeter.contract import FloatArray, IntArray, Spec
from omnimeter.protocols.sittings import Sittings
from omnimeter.reproductions.anytime_experiments.cheat.plan import (
    EASY,
    HONEST,
    TRIALS,
    Trial,
    cheat,
    limited,
)
from omnimeter.reproductions.anytime_experiments.runs import Taken, part_of, taken
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.reproductions.reproduction import Report
from omnimeter.statistics import Estimate, mean, paired_difference

STOPS = (5, 10, 15)
"""After how many rounds a test is looked at before its end."""


@dataclass(frozen=True)
class Play:
    """A test that somebody has taken. Tables have a row per round and a column per sitting.

    Attributes:
        lengths: After each round, how many interactions each sitting had, or microseconds.
        rewards: What the exercises were worth.
        levels: The complexity of the environments.
        states: How many states they have.
    """

    lengths: FloatArray
    rewards: FloatArray
    levels: FloatArray
    states: IntArray

    @property
    def rounds(self) -> int:
        """How many there were."""
        return len(self.rewards)

    def scores(self, rounds: int) -> FloatArray:
        """The score of each sitting, had it been stopped after so many rounds."""
        found: FloatArray = self.rewards[:rounds].mean(axis=0)
        return found

    def level(self, rounds: int) -> Estimate:
        """The mean complexity of the environments of one round."""
        return mean(self.levels[rounds - 1])

    def late(self) -> slice:
        """The second half of the rounds."""
        return slice(self.rounds // 2, None)


@dataclass(frozen=True)
class Played:
    """All who took one test.

    Attributes:
        trial: The test.
        honest: The model learner.
        cheats: By what they call easy.
        limited: Those who are able in easy environments only, by what is easy.
    """

    trial: Trial
    honest: Play
    cheats: Mapping[int, Play]
    limited: Mapping[int, Play]

    @property
    def stops(self) -> Sequence[int]:
        """After how many rounds it is looked at."""
        return [*(stop for stop in STOPS if stop < self.honest.rounds), self.honest.rounds]


def gain(first: Play, second: Play, rounds: int) -> Estimate:
    """How far the first is ahead of the second after so many rounds, sitting by sitting."""
    return paired_difference(first.scores(rounds), second.scores(rounds), support=REWARDS)


def find(sittings: int, rounds: int, report: Report) -> list[Played]:
    """Let all of them take both tests.

    Args:
        sittings: How many.
        rounds: How many exercises each of them has.
        report: Told what is being done.
    """
    agents = {
        "honest": HONEST,
        **{f"cheat {easy}": cheat(easy) for easy in EASY},
        **{f"limited {easy}": limited(easy) for easy in EASY},
    }
    whole = len(TRIALS) * len(agents)
    plays = {
        (trial.name, name): _played(
            trial.spec(sittings, rounds),
            agent,
            part_of(report, len(agents) * place + number, whole, f"{trial.title}: {name}"),
        )
        for place, trial in enumerate(TRIALS)
        for number, (name, agent) in enumerate(agents.items())
    }
    return [
        Played(
            trial,
            plays[trial.name, "honest"],
            {easy: plays[trial.name, f"cheat {easy}"] for easy in EASY},
            {easy: plays[trial.name, f"limited {easy}"] for easy in EASY},
        )
        for trial in TRIALS
    ]


def _played(protocol: Spec, agent: Spec, report: Report) -> Play:
    """All have the chance of the honest one: where they mean the same, they do the same."""
    return play_of(
        taken(protocol, agent, report, chance_of=HONEST), protocol.parameters["sittings"]
    )


def play_of(test: Taken, sittings: int) -> Play:
    """What a test says of each exercise."""
    done = Sittings(sittings, test.outcomes)
    rows = [[each[sitting].exercise for sitting in range(sittings)] for each in done.complete()]
    budgets = [row[0].budget for row in rows]
    slots = [each.interactions if each.seconds is None else 1e6 * each.seconds for each in budgets]
    return Play(
        np.cumsum(np.array(slots, dtype=np.float64)),
        done.table(),
        np.array([[exercise.complexity for exercise in row] for row in rows]),
        np.array([[len(exercise.instance.data["marks"]) for exercise in row] for row in rows]),
    )
