"""How Q-learning's learning rate and discount factor were chosen (Lambda thesis, section 5.2)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import Exercise
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.interaction import run_single
from omnimeter.reproductions.lambda_thesis.relations import SIZES, STOP
from omnimeter.reproductions.lambda_thesis.shared import INTERACTIONS, exercises
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    said,
    silent,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
            [trace.rewards.mean() for trace in run_single(environments, agent, taken)]
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


INK = "#1f2430"
NEAR = 0.01
"""What is less than this below the best is outlined."""


def draw(grid: Grid, best: Place, published: Place, out: Path) -> dict[str, Path]:
    """Draw the grid as a map, and some of its rows as curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    heat, curves = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _heat(heat, grid, best, published)
    _curves(curves, grid, published)
    figure.legend(
        *heat.get_legend_handles_labels(),
        loc="outside lower left",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(
        f"Mean reward of Q-learning in {grid.sessions} sessions, by learning rate and discount",
        x=0.01,
        ha="left",
        fontweight="bold",
    )
    return write_figure(figure, out / "tuning")


def _heat(axes: Axes, grid: Grid, best: Place, published: Place) -> None:
    picture = axes.pcolormesh(grid.gammas, grid.alphas, grid.means, cmap="cividis", lw=0)
    bar = axes.figure.colorbar(picture, ax=axes, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("mean reward")
    _outline(axes, grid)
    for place, marker, size, label in (
        (best, "*", 13, f"best: {grid.named(best)} ({grid.means[best]:.3f})"),
        (published, "o", 9, f"published: {grid.named(published)} ({grid.means[published]:.3f})"),
    ):
        axes.plot(
            grid.gammas[place[1]], grid.alphas[place[0]], marker, ms=size, mfc="none",
            mec="#c1121f", mew=1.8, ls="none", label=label,
        )  # fmt: skip
    axes.plot([], [], color=INK, lw=1.4, label=f"within {NEAR} of the best")
    axes.set(xlabel="gamma (discount factor)", ylabel="alpha (learning rate)")
    axes.spines[:].set_visible(False)


def _outline(axes: Axes, grid: Grid) -> None:
    """A line around the combinations that are hardly worse than the best."""
    near = grid.means >= grid.means.max() - NEAR
    step_x, step_y = grid.gammas[1] - grid.gammas[0], grid.alphas[1] - grid.alphas[0]
    for row, column in np.argwhere(near):
        x, y = grid.gammas[column] - step_x / 2, grid.alphas[row] - step_y / 2
        sides = (
            ((row - 1, column), (x, x + step_x), (y, y)),
            ((row + 1, column), (x, x + step_x), (y + step_y, y + step_y)),
            ((row, column - 1), (x, x), (y, y + step_y)),
            ((row, column + 1), (x + step_x, x + step_x), (y, y + step_y)),
        )
        for (other_row, other_column), xs, ys in sides:
            inside = 0 <= other_row < near.shape[0] and 0 <= other_column < near.shape[1]
            if not (inside and near[other_row, other_column]):
                axes.plot(xs, ys, color=INK, lw=1.4, solid_capstyle="round")


def _curves(axes: Axes, grid: Grid, published: Place) -> None:
    rows = sorted({published[0], *(grid.place(alpha, 0)[0] for alpha in (0.25, 0.5, 1.0))})
    colours = ("#c1121f", "#d98b2b", "#5a8f7b", "#33658a")
    means, errors = grid.means, _errors(grid)
    for row, colour in zip(rows, colours, strict=False):
        low, high = means[row] - 1.96 * errors[row], means[row] + 1.96 * errors[row]
        axes.fill_between(grid.gammas, low, high, color=colour, alpha=0.13, lw=0)
        axes.plot(
            grid.gammas, means[row], marker="o", ms=3, lw=1.7, color=colour,
            label=f"alpha {grid.alphas[row]:.2f}",
        )  # fmt: skip
    axes.axvline(0.5, color=INK, lw=0.8, ls=":")
    axes.annotate(
        "beyond, getting nothing is worth\nmore than the initial value, and\n"
        "nothing new is tried any more",
        (0.5, 0.99), xycoords=("data", "axes fraction"), xytext=(6, 0),
        textcoords="offset points", va="top", fontsize=8.5, color=INK,
    )  # fmt: skip
    axes.set(xlabel="gamma (discount factor)", ylabel="mean reward", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, loc="lower left")


def _errors(grid: Grid) -> FloatArray:
    """The standard error of each combination's mean."""
    spread = grid.rewards.reshape(*grid.means.shape, -1).std(axis=-1, ddof=1)
    return np.asarray(spread / np.sqrt(grid.sessions), dtype=np.float64)


PUBLISHED = (0.05, 0.35)
"""Learning rate and discount factor."""

THEIR_SESSIONS = 1_000
"""How many sessions the thesis gave to each combination."""

BEFORE, BEYOND, RAISED = 0.45, 0.55, 2.5
"""Two discount factors on either side of a cliff, and an initial value that takes it away."""

SESSIONS = 160
"""How many we give to each combination and number of cells: about a minute on two cores."""


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Try 20 x 20 combinations of learning rate and discount factor."""
    return reproduce_with(out, SESSIONS, INTERACTIONS, min(2, os.cpu_count() or 1), report)


def reproduce_with(
    out: Path, sessions: int, interactions: int, workers: int, report: Report = silent
) -> Reproduced:
    """The same with other numbers.

    Args:
        out: Where to write.
        sessions: How many for each combination and number of cells.
        interactions: How long each of them lasts.
        workers: How many processes share the work.
        report: Told about progress.
    """
    grid = run_grid(sessions, interactions, workers, report=report)
    eager = QLearning(alpha=PUBLISHED[0], gamma=BEYOND, initial=RAISED)
    return describe(grid, session_rewards(eager, sessions, interactions), out)


def describe(grid: Grid, raised: FloatArray, out: Path) -> Reproduced:
    """Say and draw what a grid shows.

    Args:
        grid: The results of all combinations.
        raised: The rewards in the same sessions with ``BEYOND`` and initial values of ``RAISED``.
        out: Where to write.
    """
    best, published = grid.best(), grid.place(*PUBLISHED)
    gain = gain_of_choosing(grid, published)
    rows = _rows(grid, published)
    return Reproduced(
        name="lambda-tuning",
        title=f"Q-learning with {grid.means.size} combinations of alpha and gamma, each in the "
        f"same {grid.sessions} sessions",
        statements=[_chosen(grid, best, published, gain), _cliff(grid, raised)],
        figures={
            "best.alpha": float(grid.alphas[best[0]]),
            "best.gamma": float(grid.gammas[best[1]]),
            "best.mean": float(grid.means[best]),
            "published.mean": float(grid.means[published]),
            "published.rank": float(_rank(grid, published)),
            "gain": gain.value,
            "gain.low": gain.low,
            "gain.high": gain.high,
            "sessions": float(grid.sessions),
        },
        rows=rows,
        files={
            "table": write_records(out / "grid.csv", rows),
            **draw(grid, best, published, out),
        },
    )


def gain_of_choosing(grid: Grid, published: Place) -> Estimate:
    """How much better than the published combination the best one is.

    Who looks for the best of 400 in the same sessions that judge it finds luck too. So one half of
    the sessions chooses and the other half judges, both ways round.
    """
    first, second = grid.halves()
    chosen, given = [], []
    for chooses, judges in ((first, second), (second, first)):
        chosen.append(judges.of(chooses.best()))
        given.append(judges.of(published))
    return paired_difference(np.concatenate(chosen), np.concatenate(given), support=REWARDS)


def _chosen(grid: Grid, best: Place, published: Place, gain: Estimate) -> Statement:
    holds = best == published or gain.low <= 0
    choices = " and ".join(grid.named(half.best()) for half in grid.halves())
    return Statement(
        f"Section 5.2: among 20 x 20 combinations, {grid.named(published)} is the best.",
        f"The best is {grid.named(best)} with {grid.means[best]:.4f}; the published one has "
        f"{grid.means[published]:.4f}, rank {_rank(grid, published)}. The two halves of the "
        f"sessions choose {choices}; judged by the other half, that gains {said(gain, 4)}.",
        holds,
        "" if holds else _why_unseen(grid, published, gain),
    )


def _why_unseen(grid: Grid, published: Place, gain: Estimate) -> str:
    """Why the thesis may not have seen a gain: no reason, if it is large."""
    error = float(np.std(grid.of(published), ddof=1)) / np.sqrt(THEIR_SESSIONS)
    if gain.value > 2 * np.sqrt(2) * error:
        return ""
    alike = int(np.sum(grid.means >= grid.means.max() - 2 * error))
    return (
        f"our combinations share their sessions, which shows a gain as small as {gain.value:.4f}. "
        f"A single mean over {THEIR_SESSIONS:,} sessions of its own has a standard error of "
        f"{error:.4f}, and {alike} combinations lie within two of these below the best: there, "
        "chance decides which of them comes out first"
    )


def _cliff(grid: Grid, raised: FloatArray) -> Statement:
    before, after = (grid.of(grid.place(PUBLISHED[0], gamma)) for gamma in (BEFORE, BEYOND))
    loss = paired_difference(after, before, support=REWARDS)
    regained = paired_difference(raised.ravel(), after, support=REWARDS)
    return Statement(
        "Not in the thesis: why larger discount factors do so badly.",
        f"With alpha {PUBLISHED[0]}, going from gamma {BEFORE} to {BEYOND} changes the mean by "
        f"{said(loss)}. Values begin at 2, and rewards are shifted to 0..2, so that a reward of 0 "
        "for ever is worth 1 / (1 - gamma). Above gamma 0.5 that is more than 2: an action that "
        "was never tried looks worse than one that brings nothing, and a greedy agent does not try "
        f"it. With initial values of {RAISED} instead, the mean at gamma {BEYOND} changes by "
        f"{said(regained)}.",
        None,
    )


def _rank(grid: Grid, place: Place) -> int:
    """1 for the best combination."""
    return 1 + int(np.sum(grid.means > grid.means[place]))


def _rows(grid: Grid, published: Place) -> list[dict[str, Any]]:
    theirs = grid.of(published)
    rows = []
    for place in np.ndindex(*grid.means.shape):
        ours = grid.of((place[0], place[1]))
        found = mean(ours, support=REWARDS)
        gain = paired_difference(ours, theirs, support=REWARDS)
        rows.append(
            {
                "alpha": float(grid.alphas[place[0]]),
                "gamma": float(grid.gammas[place[1]]),
                "mean": found.value,
                "low": found.low,
                "high": found.high,
                "against-published": gain.value,
                "against-published-low": gain.low,
                "against-published-high": gain.high,
            }
        )
    return rows
