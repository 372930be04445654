"""Reward against the complexity of environments (Lambda thesis, section 5.4, Figure 5.4)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.complexity import compressed_length
from omnimeter.reproductions import shared
from omnimeter.reproductions.lambda_thesis import relations
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, ORACLE, Q_LEARNING, RANDOM
from omnimeter.reproductions.shared import Report, Reproduced, Statement, silent

PRINTED_LENGTH = 60  # the compressed length of the eight-cell space with its pattern in the thesis


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = relations.ENVIRONMENTS,
    interactions: int = thesis.INTERACTIONS,
) -> Reproduced:
    """Relate the rewards of the agents, each alone, to the complexity of their environments."""
    samples = relations.draw_samples(environments, interactions, report)
    related = relations.all_relations(samples)
    rows = relations.relation_rows(related)
    title = f"Average reward after {interactions:,} interactions against complexity"
    example = thesis.SPACE + thesis.PATTERN
    characters, length = len(example), compressed_length(example)
    separated = compressed_length(f"{thesis.SPACE}|{thesis.PATTERN}")
    return Reproduced(
        name="lambda-complexity",
        title=title,
        findings="docs/findings.md#lambda",
        statements=[
            *(
                relations.hardly_affected(samples, related, agent)
                for agent in (RANDOM, ORACLE, FOLLOWER)
            ),
            *(
                relations.learner_falls(samples, related, Q_LEARNING, measure)
                for measure in relations.MEASURES
            ),
            relations.compare_measures(samples, Q_LEARNING),
            Statement(
                f"The eight-cell space with its pattern has 119 characters, compressed "
                f"{PRINTED_LENGTH}.",
                f"{characters} characters, compressed {length}. No level and no strategy of our "
                f"zlib gives both {PRINTED_LENGTH} here and the 19 that section 6.3 has for "
                f"another pattern. With one more | between space and pattern it is {separated}, "
                "and the 19 stay as they are. Rule: within a byte.",
                characters == 119 and abs(length - PRINTED_LENGTH) <= 1,
            ),
        ],
        figures={**relations.relation_figures(related), "eight-cells.complexity": float(length)},
        rows=rows,
        files={
            "table": shared.write_records(out / "relations.csv", rows),
            "points": shared.write_records(out / "points.csv", relations.point_rows(samples)),
            **relations.draw_relations(samples, related, title, out / "complexity"),
        },
    )
