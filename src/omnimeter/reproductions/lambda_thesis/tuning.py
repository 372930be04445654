"""How Q-learning's learning rate and discount factor were chosen (Lambda thesis, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import Exercise
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.execution.workers import cores
from omnimeter.interaction import run_single
from omnimeter.reports.style import INK
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.relations import SIZES, STOP
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    silent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = np.arange(1, 21) / 20  # learning rates: above 0, at most 1
GAMMAS = np.arange(20) / 20  # discount factors: from 0 on, below 1
PUBLISHED = (0.05, 0.35)  # learning rate and discount factor
THEIR_SESSIONS = 1_000  # how many sessions the thesis gave to each combination

BEFORE, BEYOND, RAISED = 0.45, 0.55, 2.5
"""Two discount factors on either side of a cliff, and an initial value that takes it away."""

SESSIONS = 160
"""How many we give to each combination and number of cells: about a minute on two cores."""

Index = tuple[int, int]
"""Which learning rate, which discount factor."""


@dataclass(frozen=True)
class Grid:
    """The average rewards of all combinations."""

    alphas: FloatArray
    gammas: FloatArray
    rewards: FloatArray  # by learning rate, discount factor, number of cells and session

    @property
    def sessions(self) -> int:
        """How many sessions each combination took."""
        return int(np.prod(self.rewards.shape[2:]))

    @property
    def means(self) -> FloatArray:
        """The mean reward of each combination."""
        return np.asarray(self.rewards.mean(axis=(2, 3)), dtype=np.float64)

    def of(self, index: Index) -> FloatArray:
        """The rewards of one combination in all sessions."""
        return np.ravel(self.rewards[index])

    def best(self) -> Index:
        """The combination with the highest mean."""
        alpha, gamma = np.unravel_index(int(np.argmax(self.means)), self.means.shape)
        return int(alpha), int(gamma)

    def rank(self, index: Index) -> int:
        """1 for the best combination."""
        return 1 + int(np.sum(self.means > self.means[index]))

    def nearest(self, alpha: float, gamma: float) -> Index:
        """The index of a combination, or of the nearest to it."""
        return (
            int(np.argmin(np.abs(self.alphas - alpha))),
            int(np.argmin(np.abs(self.gammas - gamma))),
        )

    def label(self, index: Index) -> str:
        """A combination, as text."""
        return f"alpha {self.alphas[index[0]]:.2f}, gamma {self.gammas[index[1]]:.2f}"

    def halves(self) -> tuple[Grid, Grid]:
        """Two grids with every other session of each number of cells."""
        halves = (self.rewards[..., start::2] for start in (0, 1))
        first, second = (Grid(self.alphas, self.gammas, half) for half in halves)
        return first, second


def run_grid(
    sessions: int,
    interactions: int,
    workers: int = 1,
    alphas: FloatArray = ALPHAS,
    gammas: FloatArray = GAMMAS,
    report: Report = silent,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> Grid:
    """Run all combinations in the same sessions, with the same random streams.

    Args:
        sessions: Sessions with each number of cells.
        interactions: How long each session lasts.
        workers: How many processes share the work.
        alphas: The learning rates.
        gammas: The discount factors.
        report: Called with the progress.
        steps: Where finished rows are kept.
    """
    row = partial(steps, _row)
    same = (repeat(each) for each in (gammas.tolist(), sessions, interactions))
    count = len(alphas) * len(gammas) * sessions * len(SIZES)
    rows = []
    doing = f"{count:,} sessions of {interactions:,} interactions"
    report(doing, 0.0)  # a row takes seconds
    with shared.processes(workers) as apply:
        for done, values in enumerate(apply(row, alphas.tolist(), *same), start=1):
            rows.append(values)
            report(doing, done / len(alphas))
    return Grid(alphas, gammas, np.array(rows))


def _row(alpha: float, gammas: Sequence[float], sessions: int, interactions: int) -> FloatArray:
    """The rewards with one learning rate: by discount factor, number of cells and session."""
    agents = (QLearning(alpha=alpha, gamma=gamma) for gamma in gammas)
    return np.array([session_rewards(agent, sessions, interactions) for agent in agents])


def session_rewards(agent: QLearning, sessions: int, interactions: int) -> FloatArray:
    """The average rewards of an agent, by number of cells and session.

    Args:
        agent: The agent.
        sessions: Sessions with each number of cells.
        interactions: How long each session lasts.
    """
    rewards = []
    for environment_class, exercises in _sessions(sessions, interactions):
        traces = run_single(environment_class, agent, exercises)
        rewards.append([trace.rewards.mean() for trace in traces])
    return np.array(rewards)


@lru_cache(maxsize=1)
def _sessions(sessions: int, interactions: int) -> list[tuple[Lambda, list[Exercise]]]:
    """The sessions, drawn once in each process, always the same."""
    classes = [Lambda(cells=cells, stop=STOP) for cells in SIZES]
    return [
        (each, thesis.draw_exercises(each, sessions, interactions, seed=cells))
        for cells, each in zip(SIZES, classes, strict=True)
    ]


def gain_of_choosing(grid: Grid, published: Index) -> Estimate:
    """How much better than the published combination the best one is.

    The best of 400 in the same sessions that evaluate it is partly selected by its noise. So one
    half of the sessions chooses and the other half evaluates, both ways round.
    """
    first, second = grid.halves()
    chosen = np.concatenate([second.of(first.best()), first.of(second.best())])
    given = np.concatenate([second.of(published), first.of(published)])
    return paired_difference(chosen, given, support=REWARDS)


def _raised(sessions: int, interactions: int) -> FloatArray:
    """The rewards in the same sessions with ``BEYOND`` and initial values of ``RAISED``."""
    agent = QLearning(alpha=PUBLISHED[0], gamma=BEYOND, initial_value=RAISED)
    return session_rewards(agent, sessions, interactions)


def _rows(grid: Grid, published: Index) -> list[dict[str, Any]]:
    theirs = grid.of(published)
    rows = []
    for alpha, gamma in np.ndindex(*grid.means.shape):
        ours = grid.of((alpha, gamma))
        estimate = mean(ours, support=REWARDS)
        gain = paired_difference(ours, theirs, support=REWARDS)
        rows.append(
            {
                "alpha": float(grid.alphas[alpha]),
                "gamma": float(grid.gammas[gamma]),
                "mean": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                **shared.fields(gain, "against-published"),
            }
        )
    return rows


NEAR = 0.01  # combinations less than this below the best are outlined


def _draw(grid: Grid, best: Index, published: Index, out: Path) -> dict[str, Path]:
    """Draw the grid as a map, and some of its rows as curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    heat, curves = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _draw_map(heat, grid, best, published)
    _draw_curves(curves, grid, published)
    handles = heat.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(
        f"Mean reward of Q-learning in {grid.sessions} sessions, by learning rate and discount",
        x=0.01, ha="left", fontweight="bold",
    )  # fmt: skip
    return plots.write_figure(figure, out / "tuning")


def _draw_map(axes: Axes, grid: Grid, best: Index, published: Index) -> None:
    mesh = axes.pcolormesh(grid.gammas, grid.alphas, grid.means, cmap="cividis", lw=0)
    bar = axes.figure.colorbar(mesh, ax=axes, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("mean reward")
    _outline(axes, grid)
    for index, marker, size, label in ((best, "*", 13, "best"), (published, "o", 9, "published")):
        axes.plot(
            grid.gammas[index[1]], grid.alphas[index[0]], marker, ms=size, mfc="none",
            mec="#c1121f", mew=1.8, ls="none",
            label=f"{label}: {grid.label(index)} ({grid.means[index]:.3f})",
        )  # fmt: skip
    axes.plot([], [], color=INK, lw=1.4, label=f"within {NEAR} of the best")
    axes.set(xlabel="gamma (discount factor)", ylabel="alpha (learning rate)")
    axes.spines[:].set_visible(False)


def _outline(axes: Axes, grid: Grid) -> None:
    """Draw a line around the combinations that are hardly worse than the best."""
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


def _draw_curves(axes: Axes, grid: Grid, published: Index) -> None:
    rows = sorted({published[0], *(grid.nearest(alpha, 0)[0] for alpha in (0.25, 0.5, 1.0))})
    colours = ("#c1121f", "#d98b2b", "#5a8f7b", "#33658a")
    means = grid.means
    deviations = grid.rewards.reshape(*means.shape, -1).std(axis=-1, ddof=1)
    errors = deviations / np.sqrt(grid.sessions)
    for row, colour in zip(rows, colours, strict=False):
        low, high = means[row] - 1.96 * errors[row], means[row] + 1.96 * errors[row]
        label = f"alpha {grid.alphas[row]:.2f}"
        band = np.array([means[row], low, high])
        plots.plot_band(axes, grid.gammas, band, colour, 0.13, marker="o", ms=3, label=label)
    axes.axvline(0.5, color=INK, lw=0.8, ls=":")
    axes.annotate(
        "beyond, a reward of 0 for ever is\nworth more than the initial value,\n"
        "and no new action is tried",
        (0.5, 0.99), xycoords=("data", "axes fraction"), xytext=(6, 0),
        textcoords="offset points", va="top", fontsize=8.5, color=INK,
    )  # fmt: skip
    axes.set(xlabel="gamma (discount factor)", ylabel="mean reward", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, loc="lower left")


def _chosen(grid: Grid, best: Index, published: Index, gain: Estimate) -> Statement:
    holds = best == published or gain.low <= 0
    error = _error_of_difference(grid, published)
    choices = " and ".join(grid.label(half.best()) for half in grid.halves())
    return Statement(
        f"Section 5.2: among 20 x 20 combinations, {grid.label(published)} is the best.",
        f"The best is {grid.label(best)} with {grid.means[best]:.4f}; the published one has "
        f"{grid.means[published]:.4f}, rank {grid.rank(published)}. The two halves of the "
        f"sessions choose {choices}; evaluated in the other half, that gains {fmt(gain, 4)}: "
        f"{gain.value / error:.1f} standard errors of the difference of two combinations with "
        f"{THEIR_SESSIONS:,} sessions each, as in the thesis.",
        holds,
        "" if holds else _why_not_noticed(grid, published, gain),
    )


def _error_of_difference(grid: Grid, published: Index) -> float:
    """The standard error of the difference of two means over as many sessions as in the thesis."""
    return float(np.std(grid.of(published), ddof=1) * np.sqrt(2 / THEIR_SESSIONS))


def _why_not_noticed(grid: Grid, published: Index, gain: Estimate) -> str:
    """Why the thesis may not have noticed a gain: no reason, if it is large."""
    difference = _error_of_difference(grid, published)
    if gain.value > 2 * difference:
        return ""
    error = difference / np.sqrt(2)
    alike = int(np.sum(grid.means >= grid.means.max() - 2 * error))
    return (
        f"our combinations share their sessions, which shows a gain as small as {gain.value:.4f}. "
        f"A single mean over {THEIR_SESSIONS:,} sessions of its own has a standard error of "
        f"{error:.4f}, and {alike} combinations lie within two of these below the best: there, "
        "the seed decides which of them comes out first"
    )


def _cliff(grid: Grid, raised: FloatArray) -> Statement:
    before, after = (grid.of(grid.nearest(PUBLISHED[0], gamma)) for gamma in (BEFORE, BEYOND))
    loss = paired_difference(after, before, support=REWARDS)
    regained = paired_difference(raised.ravel(), after, support=REWARDS)
    return Statement(
        "Not in the thesis: why larger discount factors do so badly.",
        f"With alpha {PUBLISHED[0]}, going from gamma {BEFORE} to {BEYOND} changes the mean by "
        f"{fmt(loss)}. Values begin at 2, and rewards are shifted to 0..2, so that a reward of 0 "
        "for ever is worth 1 / (1 - gamma). Above gamma 0.5 that is more than 2: an action that "
        "was never tried has a lower value than one that always pays 0, and a greedy agent does "
        f"not try it. With initial values of {RAISED} instead, the mean at gamma {BEYOND} changes "
        f"by {fmt(regained)}.",
        None,
    )


def describe(grid: Grid, raised: FloatArray, out: Path) -> Reproduced:
    """State and draw what a grid shows.

    Args:
        grid: The results of all combinations.
        raised: The rewards in the same sessions with ``BEYOND`` and initial values of ``RAISED``.
        out: Where to write.
    """
    best, published = grid.best(), grid.nearest(*PUBLISHED)
    gain = gain_of_choosing(grid, published)
    rows = _rows(grid, published)
    return Reproduced(
        name="lambda-tuning",
        title=f"Q-learning with {grid.means.size} combinations of alpha and gamma, each in the "
        f"same {grid.sessions} sessions",
        findings="docs/findings.md#lambda",
        statements=[_chosen(grid, best, published, gain), _cliff(grid, raised)],
        figures={
            "best.alpha": float(grid.alphas[best[0]]),
            "best.gamma": float(grid.gammas[best[1]]),
            "best.mean": float(grid.means[best]),
            "published.mean": float(grid.means[published]),
            "published.rank": float(grid.rank(published)),
            "gain": gain.value,
            "gain.low": gain.low,
            "gain.high": gain.high,
            "sessions": float(grid.sessions),
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "grid.csv", rows),
            **_draw(grid, best, published, out),
        },
    )


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Try 20 x 20 combinations of learning rate and discount factor."""
    workers = min(2, cores())
    steps = Steps(out)
    grid = run_grid(SESSIONS, thesis.INTERACTIONS, workers, report=report, steps=steps)
    return describe(grid, steps(_raised, SESSIONS, thesis.INTERACTIONS), out)
