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
from omnimeter.estimation import Estimate, difference, paired_difference
from omnimeter.reports.style import INK, MUTED, SMALL
from omnimeter.reproductions.lambda_thesis.shared import (
    FOLLOWER,
    INTERACTIONS,
    ORACLE,
    PATTERN,
    Q_LEARNING,
    RANDOM,
    REFERENCES,
    SPACE,
    Curve,
    alone,
    draw_curves,
    exercises,
    final,
    passes,
    points_along,
    settled_after,
)
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    fields,
    head,
    look,
    said,
    silent,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def optimum(space: str, pattern: str, interactions: int, until_swap: float) -> float:
    """The greatest expected average reward, everybody being placed by chance.

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
    pairs = np.stack([_moved(paths[:, action]) for action in range(actions)])
    rewards = _rewards(cells)
    worth = np.zeros((cells * cells, cells))
    swapped = np.arange(cells * cells).reshape(cells, cells).T.ravel()
    for left in range(interactions):
        action = steps[(interactions - 1 - left) % len(steps)]
        after = rewards + (1 - swap) * worth + swap * worth[swapped]
        met = (after[pairs[action, 0]] + after[pairs[action, 1]]) / 2
        worth = met[:, paths].max(axis=-1)
    apart = ~np.eye(cells, dtype=bool).ravel()
    return float(worth[apart].mean() / interactions)


def _moved(way: IntArray) -> IntArray:
    """Where Good and Evil are after an action, as numbers of pairs: for heads, and for tails."""
    cells = len(way)
    good, evil = np.divmod(np.arange(cells * cells), cells)
    to_good, to_evil = way[good], way[evil]
    meet = to_good == to_evil
    # Who is there already stays; if neither is, the coin decides who does not move.
    good_waits = np.where(meet & (to_good != good), good, to_good) * cells + to_evil
    evil_waits = to_good * cells + np.where(meet & (to_evil != evil), evil, to_evil)
    heads = np.where(meet & (to_good == good), evil_waits, good_waits)
    tails = np.where(meet & (to_evil == evil), good_waits, evil_waits)
    return np.stack([heads, tails])


def _rewards(cells: int) -> FloatArray:
    """What an agent gets in each cell, for each pair of cells of Good and Evil."""
    good, evil = np.divmod(np.arange(cells * cells), cells)
    here = np.arange(cells)
    with_good, with_evil = here == good[:, np.newaxis], here == evil[:, np.newaxis]
    return np.where(with_good, 1.0, 0.0) - np.where(with_evil, 1.0, 0.0)


CYCLES: tuple[Cycle, ...] = get_args(Cycle)
"""When Good and Evil change places: the clause of section 3.6.2 can be read in several ways."""


@dataclass(frozen=True)
class Found:
    """What the agents got in the eight cells.

    Attributes:
        points: After which interactions averages were kept.
        averages: By clause and agent the average reward, one row per run, one column per point.
        optimum: The most that can be had.
    """

    points: IntArray
    averages: Mapping[str, Mapping[str, FloatArray]]
    optimum: float

    @property
    def usual(self) -> Mapping[str, FloatArray]:
        """The averages under the clause that is used elsewhere."""
        return self.averages[CYCLES[0]]


def find(runs: int, interactions: int, report: Report) -> Found:
    """Let each agent act alone, so many times for so long.

    Args:
        runs: How often, with everybody placed anew.
        interactions: For how long.
        report: Told what is being done.
    """
    points = points_along(interactions)
    averages: dict[str, dict[str, FloatArray]] = {}
    for number, cycle in enumerate(CYCLES):
        report(f"{runs} runs of each agent, cycle {cycle}", number / len(CYCLES))
        environment_class = Lambda(space=SPACE, pattern=PATTERN, cycle=cycle)
        taken = exercises(environment_class, runs, interactions)
        averages[cycle] = {
            agent.name: alone(environment_class, agent, taken, points) for agent in REFERENCES
        }
    cells, actions = environment_class.cells, environment_class.actions
    assert cells is not None  # the given space says how many
    assert actions is not None
    until_swap = (1 + max_cycle(CYCLES[0], cells, actions)) / 2
    return Found(points, averages, optimum(SPACE, PATTERN, interactions, until_swap))


Place = tuple[float, float]

BEND = 0.16
"""How far an arrow bends to its side, so that the way back is another line."""

AWAY = 0.4
"""How far from its start the label of an arrow sits: near, so that it is clear whose action it is.
Cells are at distance 1 from the middle."""

COLOURS = ("#7a3e9d", "#3d4454", "#a8790f")
"""Of the actions 1, 2, 3 and so on; none of them is an agent's."""

OUTSIDE = 1.24
"""How far from the middle the actions that stay are named."""


def draw_space(axes: Axes, description: str) -> None:
    """Draw a space; action 0, which stays everywhere, is left out."""
    paths = read_space(description).successors()
    cells, actions = paths.shape
    places = [_place(cell, cells) for cell in range(cells)]
    for cell in range(cells):
        for target in sorted(set(paths[cell].tolist()) - {cell}):
            leading = [action for action in range(1, actions) if paths[cell, action] == target]
            # The ring itself bends outwards, where there is room, unless somebody comes back on it.
            along_the_ring = target == (cell + 1) % cells and cell not in paths[target]
            bend = -BEND if along_the_ring else BEND
            _draw_arrow(axes, places[cell], places[target], leading, bend)
        staying = [f"a{action}" for action in range(1, actions) if paths[cell, action] == cell]
        _draw_cell(axes, places[cell], f"c{cell + 1}", ", ".join(staying))
    axes.set(xlim=(-1.45, 1.45), ylim=(-1.4, 1.4), aspect="equal")
    axes.axis("off")


def _place(cell: int, cells: int) -> Place:
    """Clockwise, the first one at the top on the left."""
    angle = pi / 2 + pi / cells - 2 * pi * cell / cells
    return cos(angle), sin(angle)


def _draw_cell(axes: Axes, place: Place, name: str, staying: str) -> None:
    axes.plot(*place, "o", ms=21, mfc="white", mec=INK, mew=1.3, zorder=3)
    axes.text(*place, name, ha="center", va="center", fontsize=9.5, color=INK, zorder=4)
    if staying:
        x, y = (OUTSIDE * part for part in place)
        side = "left" if x > 0.1 else "right" if x < -0.1 else "center"
        axes.text(x, y, f"{staying} stays", ha=side, va="center", fontsize=7.5, color=MUTED)


def _draw_arrow(axes: Axes, start: Place, end: Place, leading: list[int], bend: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    colour = COLOURS[(leading[0] - 1) % len(COLOURS)]
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>,head_length=4.5,head_width=2.2",
            shrinkA=11,
            shrinkB=12,
            color=colour,
            lw=1.1,
            zorder=1,
        )
    )
    axes.text(
        *_on_arrow(start, end, bend),
        ",".join(f"a{action}" for action in leading),
        ha="center",
        va="center",
        fontsize=SMALL - 1,
        color=colour,
        zorder=2,
        bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none"},
    )


def _on_arrow(start: Place, end: Place, bend: float) -> Place:
    """A point on the curve that ``arc3`` draws, about as far from every start."""
    (x0, y0), (x2, y2) = start, end
    x1 = (x0 + x2) / 2 + bend * (y2 - y0)
    y1 = (y0 + y2) / 2 - bend * (x2 - x0)
    part = min(0.5, AWAY / hypot(x2 - x0, y2 - y0))
    rest = 1 - part
    return (
        rest**2 * x0 + 2 * rest * part * x1 + part**2 * x2,
        rest**2 * y0 + 2 * rest * part * y1 + part**2 * y2,
    )


NOUGHT = 0.01
"""An interval within this distance of 0 counts as 0."""

NEARLY = 0.85
"""From this share of the most that can be had on, an agent is nearly optimal."""

EARLY = 10
"""Interactions that count as the beginning."""


def statements(found: Found) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    return [
        _random_tends_to_0(found),
        _follower_is_below_the_oracle(found),
        _oracle_is_nearly_optimal(found),
        _q_learning_is_slow_and_passes_the_follower(found),
        _averages_fluctuate_at_first(found),
        _what_the_clause_does(found),
    ]


def _random_tends_to_0(found: Found) -> Statement:
    estimate = final(found.usual[RANDOM.name])
    return Statement(
        "The random agent soon converges to its expected average, which is 0.",
        f"{said(estimate, 4)} over {estimate.count} runs. "
        f"Rule: the interval lies within {NOUGHT} of 0.",
        estimate.low > -NOUGHT and estimate.high < NOUGHT,
    )


def _follower_is_below_the_oracle(found: Found) -> Statement:
    follower, oracle = found.usual[FOLLOWER.name], found.usual[ORACLE.name]
    gap = paired_difference(oracle[:, -1], follower[:, -1], support=REWARDS)
    return Statement(
        "Following Good is a good policy, but only up to a point: the follower stays well below "
        "the oracle.",
        f"Follower {said(final(follower))}, oracle {said(final(oracle))}; the oracle is ahead by "
        f"{said(gap)}. Rule: both are above 0, and the interval of the difference is too.",
        gap.low > 0 and final(follower).low > 0,
    )


def _oracle_is_nearly_optimal(found: Found) -> Statement:
    oracle = final(found.usual[ORACLE.name])
    share = oracle.value / found.optimum
    return Statement(
        "The oracle is nearly optimal, but does not reach 1.",
        f"{said(oracle)}, which is {100 * share:.0f} % of the most that can be had by whoever "
        f"knows all but chance: {found.optimum:.3f}. Rule: the interval is below 1, and its lower "
        f"end is at least {100 * NEARLY:.0f} % of the most.",
        oracle.high < 1 and oracle.low >= NEARLY * found.optimum,
    )


def _q_learning_is_slow_and_passes_the_follower(found: Found) -> Statement:
    learner, follower = found.usual[Q_LEARNING.name], found.usual[FOLLOWER.name]
    lead = paired_difference(learner[:, -1], follower[:, -1], support=REWARDS)
    passed = passes(found.points, learner, follower, _chance())
    slow = {name: settled_after(found.points, runs) for name, runs in found.usual.items()}
    slowest = max(slow, key=lambda name: slow[name])
    return Statement(
        "Q-learning converges very slowly, and in the end passes the follower.",
        f"It ends at {said(final(learner))}, {said(lead)} above the follower, and its mean curve "
        f"is above the follower's from interaction {said(passed, 0)} on. It comes within 0.02 of "
        f"where it ends after {slow[Q_LEARNING.name]:,} interactions, the follower after "
        f"{slow[FOLLOWER.name]:,}, the oracle after {slow[ORACLE.name]:,}. "
        "Rule: its lead at the end has an interval above 0, and it is the last to come so close.",
        lead.low > 0 and slowest == Q_LEARNING.name,
    )


def _averages_fluctuate_at_first(found: Found) -> Statement:
    early = int(np.searchsorted(found.points, EARLY))
    spread = {
        agent.title: (_spread(found.usual[agent.name], early), _spread(found.usual[agent.name], -1))
        for agent in REFERENCES
    }
    return Statement(
        "At first the average rewards of all four agents fluctuate a lot.",
        f"Standard deviation over runs after {found.points[early]} interactions and at the end: "
        + ", ".join(f"{name} {first:.3f} and {last:.3f}" for name, (first, last) in spread.items())
        + ". Rule: for each agent it is at least ten times as large at first.",
        all(first >= 10 * last for first, last in spread.values()),
    )


def _what_the_clause_does(found: Found) -> Statement:
    usual, *others = found.averages
    changes = {
        cycle: [f"{agent.title} {said(_change(found, agent.name, cycle))}" for agent in REFERENCES]
        for cycle in others
    }
    return Statement(
        "How often Good and Evil change places can be read in several ways: up to cells to the "
        "power of actions between two swaps, up to their product, or never.",
        f"Ours is the {usual}. Compared with it, average rewards change as follows. "
        + " ".join(f"With {cycle}: {', '.join(each)}." for cycle, each in changes.items()),
        None,
    )


def _change(found: Found, agent: str, cycle: str) -> Estimate:
    ends, usual = found.averages[cycle][agent][:, -1], found.usual[agent][:, -1]
    return difference(ends, usual, support=REWARDS)


def _spread(runs: FloatArray, point: int) -> float:
    return float(np.std(runs[:, point]))


def _chance() -> np.random.Generator:
    return stream(0, "lambda-simple", "crossing").generator()


RUNS = 200
"""With everybody placed anew in each; the thesis shows one."""


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    runs: int = RUNS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Let the four agents act in the eight cells, each alone, and compare where they end."""
    found = find(runs, interactions, report)
    rows = _rows(found)
    return Reproduced(
        name="lambda-simple",
        title=f"Four agents in the eight-cell space: average reward in {interactions:,} "
        "interactions",
        statements=statements(found),
        figures=_figures(found),
        rows=rows,
        files={"table": write_records(out / "agents.csv", rows), **_draw(found, out)},
    )


def _rows(found: Found) -> list[dict[str, Any]]:
    return [
        {
            "agent": agent.name,
            "cycle": cycle,
            **fields(final(averages[agent.name])),
            "single-run": float(averages[agent.name][0, -1]),
            "spread-of-runs": float(np.std(averages[agent.name][:, -1])),
        }
        for cycle, averages in found.averages.items()
        for agent in REFERENCES
    ]


def _figures(found: Found) -> dict[str, float]:
    usual = found.usual
    return {
        **{agent.name: final(usual[agent.name]).value for agent in REFERENCES},
        **{f"{agent.name}.single-run": float(usual[agent.name][0, -1]) for agent in REFERENCES},
        **{
            f"{agent.name}.cycle-{cycle}": final(found.averages[cycle][agent.name]).value
            for cycle in CYCLES[1:]
            for agent in REFERENCES
        },
        "optimum": found.optimum,
    }


def _draw(found: Found, out: Path) -> dict[str, Path]:
    from matplotlib.figure import Figure

    from omnimeter.reports.style import MUTED, SMALL

    with look():
        figure = Figure(figsize=(11, 5.2))
        graph = figure.add_axes((0.0, 0.03, 0.4, 0.85))
        panel = figure.add_axes((0.46, 0.11, 0.42, 0.75))
        draw_space(graph, SPACE)
        single = {name: runs[0] for name, runs in found.usual.items()}
        curves = {name: Curve(found.points, run, run, run) for name, run in single.items()}
        draw_curves(panel, curves, band=False)
        panel.axhline(found.optimum, color=MUTED, lw=0.8, ls=(0, (4, 3)))
        panel.text(
            0.99 * found.points[-1],
            found.optimum + 0.012,
            f"the most that can be had: {found.optimum:.2f}",
            ha="right",
            va="bottom",
            fontsize=SMALL,
            color=MUTED,
        )
        head(
            figure,
            "Four agents in the eight-cell space",
            f"Each alone, one run. Good and Evil repeat {PATTERN}. Action a0 stays everywhere.",
        )
        return write_figure(figure, out / "simple")
