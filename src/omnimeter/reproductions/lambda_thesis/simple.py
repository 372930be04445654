"""One environment: eight cells and a given pattern (Lambda thesis, section 5.3, Figure 5.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import cos, hypot, pi, sin
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from omnimeter.contract import stream
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.generator import Cycle, max_cycle
from omnimeter.environments.lambda_class.patterns import parse_pattern
from omnimeter.environments.lambda_class.space import read_space
from omnimeter.estimation import difference, paired_difference
from omnimeter.reports.style import INK, MUTED, SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, ORACLE, Q_LEARNING, RANDOM
from omnimeter.reproductions.shared import (
    REWARDS,
    Comparison,
    Report,
    Reproduced,
    Statement,
    fmt,
    silent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CYCLES: tuple[Cycle, ...] = get_args(Cycle)
"""When Good and Evil change places: the clause of section 3.6.2 can be read in several ways."""

RUNS = 200  # with all initial places drawn anew in each; the thesis shows one

PUBLISHED = {ORACLE.name: (0.83, 2), Q_LEARNING.name: (0.625, 3), FOLLOWER.name: (0.5, 1)}
"""Where Figure 5.2 ends, according to the text: "around", "close to"; and how many decimals."""


@dataclass(frozen=True)
class Results:
    """The rewards of the agents in the eight cells."""

    points: IntArray  # the interactions after which averages are known
    averages: Mapping[Cycle, Mapping[str, FloatArray]]  # by clause, agent, run and point
    optimum: float  # the greatest expected average reward

    def comparisons(self, cycle: Cycle) -> list[Comparison]:
        """What the text prints, beside the runs under one clause: the thesis shows one run."""
        return [
            Comparison.of(name, self.averages[cycle][name][:, -1], *printed)
            for name, printed in PUBLISHED.items()
        ]

    @property
    def usual(self) -> Mapping[str, FloatArray]:
        """The averages under the clause that is used elsewhere."""
        return self.averages[CYCLES[0]]


def _run(runs: int, interactions: int, report: Report) -> Results:
    """Let each agent act alone, so many times from new initial places."""
    points = thesis.checkpoints(interactions)
    averages: dict[Cycle, dict[str, FloatArray]] = {}
    for number, cycle in enumerate(CYCLES):
        report(f"{runs} runs of each agent, cycle {cycle}", number / len(CYCLES))
        environment_class = Lambda(space=thesis.SPACE, pattern=thesis.PATTERN, cycle=cycle)
        exercises = thesis.draw_exercises(environment_class, runs, interactions)
        averages[cycle] = thesis.alone_averages(
            environment_class, thesis.REFERENCES, exercises, points
        )
    cells, actions = read_space(thesis.SPACE).successors().shape
    until_swap = (1 + max_cycle(CYCLES[0], cells, actions)) / 2
    greatest = optimum(thesis.SPACE, thesis.PATTERN, interactions, until_swap)
    return Results(points, averages, greatest)


def optimum(space: str, pattern: str, interactions: int, until_swap: float) -> float:
    """The greatest expected average reward from random initial places, by dynamic programming.

    Args:
        space: The description of the space.
        pattern: What Good and Evil do.
        interactions: For how long.
        until_swap: After how many interactions they change places, on average.
    """
    paths = read_space(space).successors()
    cells, actions = paths.shape
    steps = parse_pattern(pattern, actions)
    swap = 1 / until_swap
    pairs = np.stack([moved_pairs(paths[:, action]) for action in range(actions)])
    # The reward in each cell, for each pair of cells of Good and Evil.
    good, evil = np.divmod(np.arange(cells * cells), cells)
    here = np.arange(cells)
    rewards = (here == good[:, np.newaxis]).astype(float) - (here == evil[:, np.newaxis])
    values = np.zeros((cells * cells, cells))
    swapped = np.arange(cells * cells).reshape(cells, cells).T.ravel()
    for left in range(interactions):
        action = steps[(interactions - 1 - left) % len(steps)]
        after = rewards + (1 - swap) * values + swap * values[swapped]
        expected = (after[pairs[action, 0]] + after[pairs[action, 1]]) / 2
        values = expected[:, paths].max(axis=-1)
    apart = ~np.eye(cells, dtype=bool).ravel()
    return float(values[apart].mean() / interactions)


def moved_pairs(successors: IntArray) -> IntArray:
    """The cells of Good and Evil after an action, as numbers of pairs: for heads, and for tails."""
    cells = len(successors)
    good, evil = np.divmod(np.arange(cells * cells), cells)
    to_good, to_evil = successors[good], successors[evil]
    meet = to_good == to_evil
    # The one that is there already stays; if neither is, the coin decides which does not move.
    good_waits = np.where(meet & (to_good != good), good, to_good) * cells + to_evil
    evil_waits = to_good * cells + np.where(meet & (to_evil != evil), evil, to_evil)
    heads = np.where(meet & (to_good == good), evil_waits, good_waits)
    tails = np.where(meet & (to_evil == evil), good_waits, evil_waits)
    return np.stack([heads, tails])


BEND = 0.16  # how far an arrow bends to its side, so that the way back is another line

COLOURS = ("#7a3e9d", "#3d4454", "#a8790f")  # of the actions 1, 2, 3 and so on

OUTSIDE = 1.24  # how far from the middle the actions that stay are named


def _draw(results: Results, out: Path) -> dict[str, Path]:
    with plots.styled_figure(11, 5.2) as figure:
        graph = figure.add_axes((0.0, 0.03, 0.4, 0.85))
        panel = figure.add_axes((0.46, 0.11, 0.42, 0.75))
        _draw_space(graph, thesis.SPACE)
        thesis.draw_curves(
            panel, results.points, {name: runs[0] for name, runs in results.usual.items()}
        )
        for agent in (ORACLE, Q_LEARNING, FOLLOWER):
            panel.plot(
                results.points[-1], PUBLISHED[agent.name][0], "D", ms=6, mfc="white",
                mec=agent.colour, mew=1.4, clip_on=False, zorder=5,
            )  # fmt: skip
        panel.axhline(results.optimum, color=MUTED, lw=0.8, ls=(0, (4, 3)))
        panel.text(
            0.99 * results.points[-1], results.optimum + 0.012, f"optimum: {results.optimum:.2f}",
            ha="right", va="bottom", fontsize=SMALL, color=MUTED,
        )  # fmt: skip
        plots.add_header(
            figure,
            "Four agents in the eight-cell space",
            f"Each alone, one run. Good and Evil repeat {thesis.PATTERN}. "
            "Action a0 stays everywhere. Diamonds: the text of the thesis.",
        )
        return plots.write_figure(figure, out / "simple")


def _draw_space(axes: Axes, description: str) -> None:
    """Draw a space; action 0, which stays everywhere, is left out."""
    from matplotlib.patches import FancyArrowPatch

    paths = read_space(description).successors()
    cells, actions = paths.shape
    # Clockwise, the first one at the top on the left.
    angles = [pi / 2 + pi / cells - 2 * pi * cell / cells for cell in range(cells)]
    points = [(cos(angle), sin(angle)) for angle in angles]
    for cell in range(cells):
        for target in sorted(set(paths[cell].tolist()) - {cell}):
            leading = [action for action in range(1, actions) if paths[cell, action] == target]
            # The ring itself bends outwards, unless an arrow leads back on it.
            along_the_ring = target == (cell + 1) % cells and cell not in paths[target]
            bend = -BEND if along_the_ring else BEND
            colour = COLOURS[(leading[0] - 1) % len(COLOURS)]
            arrow = FancyArrowPatch(
                points[cell], points[target], connectionstyle=f"arc3,rad={bend}",
                arrowstyle="-|>,head_length=4.5,head_width=2.2", shrinkA=11, shrinkB=12,
                color=colour, lw=1.1, zorder=1,
            )  # fmt: skip
            axes.add_patch(arrow)
            # The label is at a point on the curve that ``arc3`` draws, about as far from every
            # start. Cells are at distance 1 from the middle.
            (x0, y0), (x2, y2) = points[cell], points[target]
            x1 = (x0 + x2) / 2 + bend * (y2 - y0)
            y1 = (y0 + y2) / 2 - bend * (x2 - x0)
            part = min(0.5, 0.4 / hypot(x2 - x0, y2 - y0))
            rest = 1 - part
            axes.text(
                rest**2 * x0 + 2 * rest * part * x1 + part**2 * x2,
                rest**2 * y0 + 2 * rest * part * y1 + part**2 * y2,
                ",".join(f"a{action}" for action in leading),
                ha="center", va="center", fontsize=SMALL - 1, color=colour, zorder=2,
                bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none"},
            )  # fmt: skip
        axes.plot(*points[cell], "o", ms=21, mfc="white", mec=INK, mew=1.3, zorder=3)
        axes.text(
            *points[cell], f"c{cell + 1}", ha="center", va="center", fontsize=9.5, color=INK,
            zorder=4,
        )  # fmt: skip
        staying = [f"a{action}" for action in range(1, actions) if paths[cell, action] == cell]
        if staying:
            x, y = (OUTSIDE * part for part in points[cell])
            side = "left" if x > 0.1 else "right" if x < -0.1 else "center"
            text = f"{', '.join(staying)} stays"
            axes.text(x, y, text, ha=side, va="center", fontsize=7.5, color=MUTED)
    axes.set(xlim=(-1.45, 1.45), ylim=(-1.4, 1.4), aspect="equal")
    axes.axis("off")


NEAR_ZERO = 0.01  # an interval within this distance of 0 counts as 0
NEAR_OPTIMAL = 0.85  # from this share of the optimum on, an agent is nearly optimal
EARLY = 10  # interactions that count as the beginning


def statements(results: Results) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    random, follower, oracle = (
        thesis.final(results.usual[agent.name]) for agent in (RANDOM, FOLLOWER, ORACLE)
    )
    gap = paired_difference(
        results.usual[ORACLE.name][:, -1], results.usual[FOLLOWER.name][:, -1], support=REWARDS
    )
    share = oracle.value / results.optimum
    printed = results.comparisons(CYCLES[0])
    return [
        Statement(
            "The oracle converges to about 0.83 and Q-learning to about 0.625; the follower only "
            "gets close to 0.5.",
            f"{shared.describe(printed)} Standard errors are those of one run, as in the thesis.",
            shared.agree(printed),
        ),
        Statement(
            "The random agent soon converges to its expected average, which is 0.",
            f"{fmt(random, 4)} over {random.count} runs. "
            f"Rule: the interval lies within {NEAR_ZERO} of 0.",
            shared.is_within(random, NEAR_ZERO),
        ),
        Statement(
            "Following Good is a good policy, but only up to a point: the follower stays well "
            "below the oracle.",
            f"Follower {fmt(follower)}, oracle {fmt(oracle)}; the oracle is ahead by {fmt(gap)}. "
            "Rule: both are above 0, and the interval of the difference is too.",
            gap.low > 0 and follower.low > 0,
        ),
        Statement(
            "The oracle is nearly optimal, but does not reach 1.",
            f"{fmt(oracle)}, which is {100 * share:.0f} % of the optimum of an agent that knows "
            f"everything but random events: {results.optimum:.3f}. Rule: the interval is below 1, "
            f"and its lower end is at least {100 * NEAR_OPTIMAL:.0f} % of the optimum.",
            oracle.high < 1 and oracle.low >= NEAR_OPTIMAL * results.optimum,
        ),
        _q_learning_is_slow_and_passes_the_follower(results),
        _averages_fluctuate_at_first(results),
        _effect_of_the_clause(results),
    ]


def _q_learning_is_slow_and_passes_the_follower(results: Results) -> Statement:
    learner, follower = results.usual[Q_LEARNING.name], results.usual[FOLLOWER.name]
    lead = paired_difference(learner[:, -1], follower[:, -1], support=REWARDS)
    rng = stream(0, "lambda-simple", "crossing").generator()
    passed = thesis.crossing(results.points, learner, follower, rng)
    slow = {
        name: thesis.converged_after(results.points, runs) for name, runs in results.usual.items()
    }
    slowest = max(slow, key=lambda name: slow[name])
    return Statement(
        "Q-learning converges very slowly, and in the end passes the follower.",
        f"It ends at {fmt(thesis.final(learner))}, {fmt(lead)} above the follower, and its mean "
        f"curve is above the follower's from interaction {fmt(passed, 0)} on. It comes within 0.02 "
        f"of where it ends after {slow[Q_LEARNING.name]:,} interactions, the follower after "
        f"{slow[FOLLOWER.name]:,}, the oracle after {slow[ORACLE.name]:,}. "
        "Rule: its lead at the end has an interval above 0, and it is the last to come so close.",
        lead.low > 0 and slowest == Q_LEARNING.name,
    )


def _averages_fluctuate_at_first(results: Results) -> Statement:
    early = int(np.searchsorted(results.points, EARLY))
    spreads = {
        agent.title: [float(np.std(results.usual[agent.name][:, at])) for at in (early, -1)]
        for agent in thesis.REFERENCES
    }
    return Statement(
        "At first the average rewards of all four agents fluctuate a lot.",
        f"Standard deviation over runs after {results.points[early]} interactions and at the end: "
        + ", ".join(f"{name} {first:.3f} and {last:.3f}" for name, (first, last) in spreads.items())
        + ". Rule: for each agent it is at least ten times as large at first.",
        all(first >= 10 * last for first, last in spreads.values()),
    )


def _effect_of_the_clause(results: Results) -> Statement:
    usual, *others = results.averages
    texts = []
    for cycle in others:
        changes = []
        for agent in thesis.REFERENCES:
            ours, other = (
                each[agent.name][:, -1] for each in (results.usual, results.averages[cycle])
            )
            changes.append(f"{agent.title} {fmt(difference(other, ours, support=REWARDS))}")
        printed = results.comparisons(cycle)
        verdict = "agree" if shared.agree(printed) else "do not agree"
        texts.append(
            f"With {cycle}: {', '.join(changes)}; the printed numbers {verdict}, they are "
            f"{', '.join(f'{each.z:+.1f}' for each in printed)} standard errors away."
        )
    return Statement(
        "How often Good and Evil change places can be read in several ways: up to cells to the "
        "power of actions between two swaps, up to their product, or never.",
        f"Ours is the {usual}. Compared with it, average rewards change as follows. "
        + " ".join(texts),
        None,
    )


def reproduce(
    out: Path, report: Report = silent, *, runs: int = RUNS, interactions: int = thesis.INTERACTIONS
) -> Reproduced:
    """Let the four agents act in the eight cells, each alone, and compare where they end."""
    results = _run(runs, interactions, report)
    rows: list[dict[str, Any]] = [
        {
            "agent": name,
            "cycle": cycle,
            **shared.fields(thesis.final(averages[name])),
            "single-run": float(averages[name][0, -1]),
            "spread-of-runs": float(np.std(averages[name][:, -1])),
        }
        for cycle, averages in results.averages.items()
        for name in averages
    ]
    usual, others = rows[: len(thesis.REFERENCES)], rows[len(thesis.REFERENCES) :]
    return Reproduced(
        name="lambda-simple",
        title=f"Four agents in the eight-cell space: average reward in {interactions:,} "
        "interactions",
        findings="docs/findings.md#lambda",
        statements=statements(results),
        figures={
            **{row["agent"]: row["value"] for row in usual},
            **{f"{row['agent']}.single-run": row["single-run"] for row in usual},
            **{f"{row['agent']}.cycle-{row['cycle']}": row["value"] for row in others},
            "optimum": results.optimum,
        },
        rows=rows,
        files={"table": shared.write_records(out / "agents.csv", rows), **_draw(results, out)},
        comparisons=results.comparisons(CYCLES[0]),
    )
