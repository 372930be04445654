"""Reward against the complexity of environments (Lambda thesis, section 5.4, Figure 5.4)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.complexity import compressed_length
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.lambda_experiments.agents import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    RANDOM,
)
from omnimeter.reproductions.lambda_experiments.picture_complexity import draw_relations
from omnimeter.reproductions.lambda_experiments.relations import (
    hardly_affected,
    learner_falls,
    point_rows,
    relation_figures,
    relation_rows,
    relations,
)
from omnimeter.reproductions.lambda_experiments.runs import INTERACTIONS, PATTERN, SPACE
from omnimeter.reproductions.lambda_experiments.samples import ENVIRONMENTS, samples
from omnimeter.reproductions.reproduction import Report, Reproduced, Statement, silent

PRINTED_LENGTH = 60
"""What the thesis finds for the eight-cell space with its pattern."""


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Relate what the agents get alone to the compressed length of their environments."""
    found = samples(environments, interactions, report)
    related = relations(found)
    rows = relation_rows(related)
    title = f"Average reward after {interactions:,} interactions against complexity"
    return Reproduced(
        name="lambda-complexity",
        title=title,
        statements=[
            *(hardly_affected(related, agent) for agent in (RANDOM, ORACLE, FOLLOWER)),
            learner_falls(related, Q_LEARNING),
            _length_of_the_example(),
        ],
        figures={**relation_figures(rows), "eight-cells.complexity": float(_length())},
        rows=rows,
        files={
            "table": write_records(out / "relations.csv", rows),
            "points": write_records(out / "points.csv", point_rows(found)),
            **draw_relations(found, related, title, out / "complexity"),
        },
    )


def _length() -> int:
    return compressed_length(SPACE + PATTERN)


def _length_of_the_example() -> Statement:
    length = _length()
    return Statement(
        f"The eight-cell space with its pattern has 119 characters, compressed {PRINTED_LENGTH}.",
        f"{len(SPACE + PATTERN)} characters, compressed {length}. Rule: within a byte.",
        len(SPACE + PATTERN) == 119 and abs(length - PRINTED_LENGTH) <= 1,
        "builds of the compression library differ by a byte here and there",
    )
