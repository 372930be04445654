"""Other readings of how environments are generated, to find out what a difference comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from omnimeter.contract import Exercise, FloatArray, Instance, InvalidInputError, stream
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.description import read_space
from omnimeter.interaction.batch import run_batch
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.reproductions.lambda_experiments.agents import FOLLOWER, ORACLE, Reference
from omnimeter.reproductions.lambda_experiments.runs import exercises
from omnimeter.reproductions.lambda_experiments.samples import SIZES, STOP
from omnimeter.reproductions.reproduction import Report
from omnimeter.statistics import Estimate, mean


@dataclass(frozen=True)
class Read:
    """What an agent got under one reading, in environments of one size.

    Attributes:
        reading: Its name.
        cells: The size.
        agent: Whose rewards.
        actions: How many actions the environments have on average.
        averages: The average reward in each environment.
        with_good: In which share of interactions it was with Good.
        with_evil: In which it was with Evil.
    """

    reading: str
    cells: int
    agent: str
    actions: float
    averages: FloatArray
    with_good: float
    with_evil: float

    @property
    def value(self) -> Estimate:
        """The mean of the average rewards."""
        return mean(self.averages, support=REWARDS)


def _all_anew(cells: int, environments: int, interactions: int) -> list[Exercise]:
    return exercises(Lambda(cells=cells, stop=STOP), environments, interactions, seed=cells)


def _no_swaps(cells: int, environments: int, interactions: int) -> list[Exercise]:
    never = Lambda(cells=cells, stop=STOP, cycle="never")
    return exercises(never, environments, interactions, seed=cells)


def _three_actions(cells: int, environments: int, interactions: int) -> list[Exercise]:
    three = Lambda(cells=cells, actions=3, stop=STOP)
    return exercises(three, environments, interactions, seed=cells)


def _connections_anew(cells: int, environments: int, interactions: int) -> list[Exercise]:
    """The number of actions is drawn once; until the space is valid, only the rest is drawn."""
    taken = _all_anew(cells, environments, interactions)
    return [replace(each, instance=_connected(cells, each.number)) for each in taken]


def _connected(cells: int, number: int) -> Instance:
    rng = stream(cells, "connections-anew", number).generator()
    return Lambda(cells=cells, actions=_actions(rng, cells), stop=STOP).draw(rng)


def _whole_turns(cells: int, environments: int, interactions: int) -> list[Exercise]:
    """Displacements are drawn from 0 to the number of cells, which is staying once more."""
    taken = _all_anew(cells, environments, interactions)
    return [replace(each, instance=_turned(cells, each.number)) for each in taken]


def _turned(cells: int, number: int) -> Instance:
    rng = stream(cells, "whole-turns", number).generator()
    while True:
        shape = (cells, _actions(rng, cells) - 1)
        steps = rng.integers(cells + 1, size=shape) * rng.choice((-1, 1), size=shape)
        try:
            return Lambda(space=_description(steps.tolist()), stop=STOP).draw(rng)
        except InvalidInputError:
            continue


def _description(steps: Sequence[Sequence[int]]) -> str:
    """The space in which the actions of each cell lead so many cells on or back."""
    return "|".join(
        "".join(f"{action}{'+' * step}{'-' * -step}" for action, step in enumerate(cell, start=1))
        for cell in steps
    )


def _actions(rng: np.random.Generator, cells: int) -> int:
    """Geometric from 2 up to the number of cells."""
    actions = 2
    while actions < cells and rng.random() < 0.5:
        actions += 1
    return actions


READINGS: dict[str, Callable[[int, int, int], list[Exercise]]] = {
    "all-drawn-anew": _all_anew,
    "no-swaps": _no_swaps,
    "three-actions": _three_actions,
    "connections-drawn-anew": _connections_anew,
    "whole-turns": _whole_turns,
}
"""First as everywhere else: an invalid space is drawn anew with its number of actions, Good and
Evil change places, and displacements are shorter than a whole turn. Then with one thing otherwise
at a time."""


def read_differently(environments: int, interactions: int, report: Report) -> list[Read]:
    """What oracle and follower get under each reading."""
    found = []
    for number, (reading, taken_at) in enumerate(READINGS.items()):
        report(f"oracle and follower, {reading}", 0.6 + 0.3 * number / len(READINGS))
        for cells in SIZES:
            taken = taken_at(cells, environments, interactions)
            found += [_read(reading, cells, agent, taken) for agent in (ORACLE, FOLLOWER)]
    return found


def _read(reading: str, cells: int, agent: Reference, taken: Sequence[Exercise]) -> Read:
    traces = run_batch(Lambda(cells=cells), agent.make(), taken)
    shares = np.array(
        [[np.mean(trace.rewards > 0), np.mean(trace.rewards < 0)] for trace in traces]
    )
    actions = [read_space(each.instance.data["space"]).actions for each in taken]
    with_good, with_evil = shares.mean(axis=0).tolist()
    # Good leaves 1 and Evil -1, so the average reward is the difference of the shares.
    averages = shares[:, 0] - shares[:, 1]
    return Read(reading, cells, agent.name, float(np.mean(actions)), averages, with_good, with_evil)
