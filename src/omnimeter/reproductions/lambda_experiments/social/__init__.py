"""All four agents in one environment at once (Lambda thesis, section 5.5, Figures 5.5 and 5.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omnimeter.reproductions.estimates import fields
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES
from omnimeter.reproductions.lambda_experiments.curves import final
from omnimeter.reproductions.lambda_experiments.relations import (
    point_rows,
    relation_figures,
    relation_rows,
    relations,
)
from omnimeter.reproductions.lambda_experiments.relations_picture import draw_relations
from omnimeter.reproductions.lambda_experiments.runs import INTERACTIONS
from omnimeter.reproductions.lambda_experiments.samples import (
    ENVIRONMENTS,
    Sample,
    learner_among_strangers,
    samples,
)
from omnimeter.reproductions.lambda_experiments.sizes_picture import (
    curve_rows,
    curves_of,
    draw_sizes,
)
from omnimeter.reproductions.lambda_experiments.social.words import changes, statements
from omnimeter.reproductions.reproduction import Report, Reproduced, silent
from omnimeter.statistics import Estimate


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Put all agents into each environment together, and compare with each being there alone."""
    before = samples(environments, interactions, lambda what, done: report(what, 0.3 * done))
    found = samples(
        environments,
        interactions,
        lambda what, done: report(f"{what}, all agents at once", 0.3 + 0.55 * done),
        social=True,
    )
    report("Q-learning among random agents", 0.85)
    strangers = learner_among_strangers(environments, interactions)
    report("drawing", 0.95)
    changed = changes(before, found)
    rows = _rows(found, changed)
    related = relations(found)
    lines = relation_rows(related)
    title = f"Four agents at once in {environments} generated environments of each size"
    curves = curves_of(found)
    drawn = draw_sizes(curves, title, out / "social", curves_of(before))
    against = draw_relations(found, related, f"{title}: reward and complexity", out / "complexity")
    return Reproduced(
        name="lambda-social",
        title=title,
        statements=statements(before, found, related, strangers),
        figures={
            **{f"{row['agent']}.{row['cells']}-cells": row["value"] for row in rows},
            **{f"{row['agent']}.{row['cells']}-cells.change": row["change"] for row in rows},
            "q-learning.3-cells.among-random": float(strangers.mean()),
            **relation_figures(related),
        },
        rows=rows,
        files={
            "table": write_records(out / "agents.csv", rows),
            "curves": write_records(out / "curves.csv", curve_rows(curves)),
            "relations": write_records(out / "relations.csv", lines),
            "points": write_records(out / "points.csv", point_rows(found)),
            **drawn,
            **{f"{name}, complexity": path for name, path in against.items()},
        },
    )


def _rows(
    found: Sequence[Sample], changed: Mapping[str, Sequence[Estimate]]
) -> list[dict[str, Any]]:
    return [
        {
            "agent": agent.name,
            "cells": sample.cells,
            **fields(final(sample.averages[agent.name])),
            "change": change.value,
            "change-low": change.low,
            "change-high": change.high,
        }
        for agent in REFERENCES
        for sample, change in zip(found, changed[agent.name], strict=True)
    ]
