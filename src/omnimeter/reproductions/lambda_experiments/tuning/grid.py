"""Q-learning with each learning rate and discount factor of a grid, in the same sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from typing import Protocol

import numpy as np

from omnimeter.agents.q_learning import QLearning
from omnimeter.contract import Exercise, FloatArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.interaction.batch import run_batch
from omnimeter.reproductions.lambda_experiments.runs import exercises
from omnimeter.reproductions.lambda_experiments.samples import SIZES, STOP
from omnimeter.reproductions.reproduction import Report, silent

ALPHAS = np.arange(1, 21) / 20
"""Learning rates: above 0, at most 1."""

GAMMAS = np.arange(20) / 20
"""Discount factors: from 0 on, below 1."""

Place = tuple[int, int]
"""Where in the grid: which learning rate, which discount factor."""


@dataclass(frozen=True)
class Grid:
    """The results of all combinations.

    Attributes:
        alphas: The learning rates.
        gammas: The discount factors.
        rewards: Average rewards by learning rate, discount factor, number of cells and session.
    """

    alphas: FloatArray
    gammas: FloatArray
    rewards: FloatArray

    @property
    def sessions(self) -> int:
        """How many sessions each combination took."""
        return int(np.prod(self.rewards.shape[2:]))

    @property
    def means(self) -> FloatArray:
        """The mean reward of each combination."""
        return np.asarray(self.rewards.mean(axis=(2, 3)), dtype=np.float64)

    def of(self, place: Place) -> FloatArray:
        """The rewards of one combination in all sessions."""
        return np.ravel(self.rewards[place])

    def best(self) -> Place:
        """The combination with the highest mean."""
        alpha, gamma = np.unravel_index(int(np.argmax(self.means)), self.means.shape)
        return int(alpha), int(gamma)

    def place(self, alpha: float, gamma: float) -> Place:
        """Where a combination is, or the nearest to it."""
        return (
            int(np.argmin(np.abs(self.alphas - alpha))),
            int(np.argmin(np.abs(self.gammas - gamma))),
        )

    def named(self, place: Place) -> str:
        """A combination, for a reader."""
        return f"alpha {self.alphas[place[0]]:.2f}, gamma {self.gammas[place[1]]:.2f}"

    def halves(self) -> tuple[Grid, Grid]:
        """Two grids with every other session of each number of cells."""
        first, second = (
            Grid(self.alphas, self.gammas, self.rewards[..., start::2]) for start in (0, 1)
        )
        return first, second


class _Map(Protocol):
    def __call__(
        self, function: partial[FloatArray], values: Sequence[float], /
    ) -> Iterator[FloatArray]: ...


def run_grid(
    each: int,
    interactions: int,
    workers: int = 1,
    alphas: FloatArray = ALPHAS,
    gammas: FloatArray = GAMMAS,
    report: Report = silent,
) -> Grid:
    """Run all combinations in the same sessions, with the same chances.

    Args:
        each: Sessions with each number of cells.
        interactions: How long each session lasts.
        workers: How many processes share the work.
        alphas: The learning rates.
        gammas: The discount factors.
        report: Told about progress.
    """
    row = partial(_row, gammas=tuple(gammas.tolist()), each=each, interactions=interactions)
    sessions = len(alphas) * len(gammas) * each * len(SIZES)
    rows = []
    with _mapping(workers) as mapped:
        for done, values in enumerate(mapped(row, alphas.tolist()), start=1):
            rows.append(values)
            report(f"{sessions:,} sessions of {interactions:,} interactions", done / len(alphas))
    return Grid(alphas, gammas, np.array(rows))


@contextmanager
def _mapping(workers: int) -> Iterator[_Map]:
    """What applies a function to values: here, or in processes beside this one."""
    if workers == 1:
        yield map
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield pool.map


def session_rewards(agent: QLearning, each: int, interactions: int) -> FloatArray:
    """What an agent gets in the sessions, by number of cells and session.

    Args:
        agent: Who takes them.
        each: Sessions with each number of cells.
        interactions: How long each session lasts.
    """
    return np.array(
        [
            [trace.rewards.mean() for trace in run_batch(environments, agent, taken)]
            for environments, taken in _sessions(each, interactions)
        ]
    )


def _row(alpha: float, gammas: tuple[float, ...], each: int, interactions: int) -> FloatArray:
    """The rewards with one learning rate: by discount factor, number of cells and session."""
    agents = (QLearning(alpha=alpha, gamma=gamma) for gamma in gammas)
    return np.array([session_rewards(agent, each, interactions) for agent in agents])


@lru_cache(maxsize=1)
def _sessions(each: int, interactions: int) -> list[tuple[Lambda, list[Exercise]]]:
    """The sessions, drawn once in each process, always the same."""
    classes = [(cells, Lambda(cells=cells, stop=STOP)) for cells in SIZES]
    return [
        (environments, exercises(environments, each, interactions, seed=cells))
        for cells, environments in classes
    ]
