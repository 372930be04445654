"""What to expect of three kinds of agents, early, later and late (anytime test, Table 3)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.reproductions.anytime_experiments.runs import part_of
from omnimeter.reproductions.anytime_experiments.table3 import words
from omnimeter.reproductions.anytime_experiments.table3.cells import Found, find, longest_of_slow
from omnimeter.reproductions.anytime_experiments.table3.picture import draw
from omnimeter.reproductions.anytime_experiments.table3.plan import AUTOMATA, TORUS, World, wider
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.reproduction import Report, Reproduced, silent

EARLY_SITTINGS, LONG_SITTINGS = 100, 10
"""Tests that are stopped early cost little."""


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    early: int = EARLY_SITTINGS,
    long: int = LONG_SITTINGS,
    worlds: tuple[World, World] = (AUTOMATA, TORUS),
) -> Reproduced:
    """Let three kinds of agents take the test of Definition 18, and stop it at three stages.

    Args:
        out: Where to write.
        report: Told what is being done.
        early: The sittings of the tests that are stopped early.
        long: The sittings of the others.
        worlds: The class in which the table is decided, and another one.
    """
    founds = [
        find(world, early, long, part_of(report, place, len(worlds)))
        for place, world in enumerate(worlds)
    ]
    here, elsewhere = founds
    tops = {world: longest_of_slow(world, long) for world in wider(here.world)}
    records = words.rows(founds)
    return Reproduced(
        name="anytime-table3",
        title="Three kinds of agents in a test that is stopped early, later and late",
        statements=[
            *words.statements(here),
            words.without_end(tops),
            words.elsewhere(elsewhere),
        ],
        figures=_figures(founds),
        rows=records,
        files={"table": write_records(out / "cells.csv", records), **draw(here, out)},
    )


def _figures(founds: list[Found]) -> dict[str, float]:
    return {
        f"{found.world.name}.{cell.kind.name}.{cell.stage}{what}": value
        for found in founds
        for cell in found.cells
        for what, value in (("", cell.score.value), (".level", cell.level.value))
    }
