"""How Q-learning's learning rate and discount factor were chosen (Lambda thesis, section 5.2)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.agents.q_learning import QLearning
from omnimeter.contract import FloatArray
from omnimeter.reproductions.estimates import REWARDS, said
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.lambda_experiments.runs import INTERACTIONS
from omnimeter.reproductions.lambda_experiments.tuning.grid import (
    Grid,
    Place,
    run_grid,
    session_rewards,
)
from omnimeter.reproductions.lambda_experiments.tuning.picture import draw
from omnimeter.reproductions.reproduction import Report, Reproduced, Statement, silent
from omnimeter.statistics import Estimate, mean, paired_difference

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
