"""Generated environments of 3, 6 and 9 cells (Lambda thesis, section 5.4, Figure 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omnimeter.contract import stream
from omnimeter.reproductions.estimates import fields
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.lambda_experiments.agents import FOLLOWER, Q_LEARNING, REFERENCES
from omnimeter.reproductions.lambda_experiments.curves import final, passes
from omnimeter.reproductions.lambda_experiments.generated.readings import Read, read_differently
from omnimeter.reproductions.lambda_experiments.generated.words import statements
from omnimeter.reproductions.lambda_experiments.runs import INTERACTIONS
from omnimeter.reproductions.lambda_experiments.samples import ENVIRONMENTS, Sample, samples
from omnimeter.reproductions.lambda_experiments.sizes_picture import (
    curve_rows,
    curves_of,
    draw_sizes,
)
from omnimeter.reproductions.reproduction import Report, Reproduced, silent
from omnimeter.statistics import Estimate


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Average the four agents' rewards over generated environments of three sizes."""
    found = samples(environments, interactions, lambda what, done: report(what, 0.6 * done))
    passed = {sample.cells: crossing(sample) for sample in found}
    readings = read_differently(environments, interactions, report)
    report("drawing", 0.95)
    rows, curves = _rows(found), curves_of(found)
    title = f"Four agents, each alone, in {environments} generated environments of each size"
    return Reproduced(
        name="lambda-generated",
        title=title,
        statements=statements(found, passed, readings),
        figures={
            **{f"{row['agent']}.{row['cells']}-cells": row["value"] for row in rows},
            **{f"passes-follower.{cells}-cells": each.value for cells, each in passed.items()},
        },
        rows=rows,
        files={
            "table": write_records(out / "agents.csv", rows),
            "curves": write_records(out / "curves.csv", curve_rows(curves)),
            "readings": write_records(out / "readings.csv", _reading_rows(readings)),
            **draw_sizes(curves, title, out / "generated"),
        },
    )


def crossing(sample: Sample) -> Estimate:
    """After how many interactions the mean curve of Q-learning is above the follower's."""
    rng = stream(sample.cells, "lambda-generated", "crossing").generator()
    learner, follower = (sample.averages[agent.name] for agent in (Q_LEARNING, FOLLOWER))
    return passes(sample.points, learner, follower, rng)


def _rows(found: Sequence[Sample]) -> list[dict[str, Any]]:
    return [
        {
            "agent": agent.name,
            "cells": sample.cells,
            **fields(final(sample.averages[agent.name])),
        }
        for agent in REFERENCES
        for sample in found
    ]


def _reading_rows(readings: Sequence[Read]) -> list[dict[str, Any]]:
    return [
        {
            "reading": read.reading,
            "cells": read.cells,
            "agent": read.agent,
            "mean-actions": read.actions,
            **fields(read.value),
            "with-good": read.with_good,
            "with-evil": read.with_evil,
        }
        for read in readings
    ]
