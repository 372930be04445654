"""Reward against the complexity of environments (Lambda thesis, section 5.4, Figure 5.4)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.complexity import compressed_length
from omnimeter.reproductions.lambda_thesis.relations import (
    ENVIRONMENTS,
    MEASURES,
    draw_relations,
    hardly_affected,
    learner_falls,
    point_rows,
    relation_figures,
    relation_rows,
    relations,
    samples,
    what_the_reading_does,
)
from omnimeter.reproductions.lambda_thesis.shared import (
    FOLLOWER,
    INTERACTIONS,
    ORACLE,
    PATTERN,
    Q_LEARNING,
    RANDOM,
    SPACE,
)
from omnimeter.reproductions.shared import Report, Reproduced, Statement, silent, write_records

PRINTED_LENGTH = 60
"""What the thesis finds for the eight-cell space with its pattern."""


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Relate what the agents get alone to the complexity of their environments."""
    found = samples(environments, interactions, report)
    related = relations(found)
    rows = relation_rows(related)
    title = f"Average reward after {interactions:,} interactions against complexity"
    return Reproduced(
        name="lambda-complexity",
        title=title,
        statements=[
            *(hardly_affected(related, agent) for agent in (RANDOM, ORACLE, FOLLOWER)),
            *(learner_falls(found, related, Q_LEARNING, measure) for measure in MEASURES),
            what_the_reading_does(found, Q_LEARNING),
            _length_of_the_example(),
        ],
        figures={**relation_figures(related), "eight-cells.complexity": float(_length())},
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
        f"{len(SPACE + PATTERN)} characters, compressed {length}. No level and no strategy of our "
        f"zlib gives both {PRINTED_LENGTH} here and the 19 that section 6.3 has for another "
        "pattern; we do not know which settings the thesis used. Rule: within a byte.",
        len(SPACE + PATTERN) == 119 and abs(length - PRINTED_LENGTH) <= 1,
    )
