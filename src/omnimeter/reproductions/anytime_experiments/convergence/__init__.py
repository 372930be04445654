"""How scores and intervals settle as a test gets longer (anytime test, section 5.2)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.reproductions.anytime_experiments.convergence.found import Found, find
from omnimeter.reproductions.anytime_experiments.convergence.law import (
    exponent,
    power_of_sittings,
    variance_per_exercise,
)
from omnimeter.reproductions.anytime_experiments.convergence.picture import draw
from omnimeter.reproductions.anytime_experiments.convergence.words import (
    curve_rows,
    law_rows,
    rows,
    statements,
    zero_rows,
)
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.reproduction import Report, Reproduced, silent

SEEDS, SITTINGS, ROUNDS = 20, 10, 27


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    seeds: int = SEEDS,
    sittings: int = SITTINGS,
    rounds: int = ROUNDS,
) -> Reproduced:
    """Let agents take tests with many seeds, and look at them at every length.

    Args:
        out: Where to write.
        report: Told what is being done.
        seeds: How many tests each agent takes.
        sittings: How many sittings a test has.
        rounds: How many exercises each sitting has.
    """
    return describe(find(seeds, sittings, rounds, report), out)


def describe(found: Found, out: Path) -> Reproduced:
    """Say and draw what the tests have shown."""
    records = rows(found)
    return Reproduced(
        name="anytime-convergence",
        title="Scores and their intervals as a test gets longer",
        statements=statements(found),
        figures=_figures(found),
        rows=records,
        files={
            "table": write_records(out / "lengths.csv", records),
            "laws": write_records(out / "laws.csv", law_rows(found)),
            "holding 0": write_records(out / "zero.csv", zero_rows(found)),
            "tests": write_records(out / "tests.csv", curve_rows(found)),
            **draw(found, out),
        },
    )


def _figures(found: Found) -> dict[str, float]:
    figures = {}
    for name, tests in found.items():
        figures[name] = tests.score(len(tests.lengths)).value
        figures[f"{name}.width"] = float(tests.widths[:, -1].mean())
        figures[f"{name}.spread-of-tests"] = float(tests.spread[-1])
        figures[f"{name}.stability"] = float(tests.stabilities[:, -1].mean())
        figures[f"{name}.holding-0"] = float(tests.hold_0[:, -1].mean())
        figures[f"{name}.power-of-exercises"] = exponent(tests).value
        figures[f"{name}.variance-per-exercise"] = variance_per_exercise(tests).value
        figures[f"{name}.power-of-sittings"] = power_of_sittings(tests)
    return figures
