"""Reward against the complexity of environments (Lambda thesis, section 5.4, Figure 5.4)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.complexity import compressed_length
from omnimeter.reproductions.lambda_thesis.relations import (
    ENVIRONMENTS,
    MEASURES,
    all_relations,
    compare_measures,
    draw_relations,
    draw_samples,
    hardly_affected,
    learner_falls,
    point_rows,
    relation_figures,
    relation_rows,
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
"""The compressed length of the eight-cell space with its pattern in the thesis."""


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Relate the rewards of the agents, each alone, to the complexity of their environments."""
    samples = draw_samples(environments, interactions, report)
    relations = all_relations(samples)
    rows = relation_rows(relations)
    title = f"Average reward after {interactions:,} interactions against complexity"
    length = compressed_length(SPACE + PATTERN)
    return Reproduced(
        name="lambda-complexity",
        title=title,
        statements=[
            *(hardly_affected(relations, agent) for agent in (RANDOM, ORACLE, FOLLOWER)),
            *(learner_falls(samples, relations, Q_LEARNING, measure) for measure in MEASURES),
            compare_measures(samples, Q_LEARNING),
            _length_of_the_example(length),
        ],
        figures={**relation_figures(relations), "eight-cells.complexity": float(length)},
        rows=rows,
        files={
            "table": write_records(out / "relations.csv", rows),
            "points": write_records(out / "points.csv", point_rows(samples)),
            **draw_relations(samples, relations, title, out / "complexity"),
        },
    )


def _length_of_the_example(length: int) -> Statement:
    characters = len(SPACE + PATTERN)
    return Statement(
        f"The eight-cell space with its pattern has 119 characters, compressed {PRINTED_LENGTH}.",
        f"{characters} characters, compressed {length}. No level and no strategy of our zlib gives "
        f"both {PRINTED_LENGTH} here and the 19 that section 6.3 has for another pattern; we do "
        "not know which settings the thesis used. Rule: within a byte.",
        characters == 119 and abs(length - PRINTED_LENGTH) <= 1,
    )
