"""One environment: eight cells and a given pattern (Lambda thesis, section 5.3, Figure 5.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.reproductions.estimates import fields
from omnimeter.reproductions.files import write_figure, write_records
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES
from omnimeter.reproductions.lambda_experiments.curves import Curve, final
from omnimeter.reproductions.lambda_experiments.pictures import draw_curves
from omnimeter.reproductions.lambda_experiments.runs import INTERACTIONS, PATTERN, SPACE
from omnimeter.reproductions.lambda_experiments.simple.found import CYCLES, Found, find
from omnimeter.reproductions.lambda_experiments.simple.space_picture import draw_space
from omnimeter.reproductions.lambda_experiments.simple.words import statements
from omnimeter.reproductions.pictures import head, look
from omnimeter.reproductions.reproduction import Report, Reproduced, silent

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

    from omnimeter.reports.look import MUTED, SMALL

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
