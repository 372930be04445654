"""The comparison table of twelve features and eight payoffs, decided by running agents."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.payoff_table.columns import BY_ALL, COLUMNS, GENERAL, Column
from omnimeter.reproductions.payoff_table.features import (
    FEATURES,
    Feature,
    Verdict,
    modulation_resisted,
    stopping_resisted,
)
from omnimeter.reproductions.payoff_table.picture import draw
from omnimeter.reproductions.payoff_table.published import PUBLISHED, REASONS
from omnimeter.reproductions.reproduction import (
    PUBLISHED_FIELD,
    Report,
    Reproduced,
    Statement,
    silent,
)


class Cell(NamedTuple):
    """One cell of the table: what we found and what is published."""

    feature: int
    column: str
    ours: str
    published: str
    evidence: str

    @property
    def agrees(self) -> bool:
        """Whether we found what is published."""
        return self.ours == self.published


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Decide the twelve features of eight payoffs by running agents under the virtual clock."""
    cells: list[Cell] = []
    for number, (question, feature) in enumerate(FEATURES, start=1):
        report(question, (number - 1) / len(FEATURES))
        for column, published in zip(COLUMNS, PUBLISHED[number - 1], strict=True):
            cells.append(_decide(number, feature, column, published))
    rows = _rows(cells)
    evidence = [cell._asdict() | {"agrees": cell.agrees} for cell in cells]
    files = {
        "table": write_records(out / "table.csv", rows),
        "evidence": write_records(out / "evidence.csv", evidence),
        **draw(cells, out),
    }
    agreeing = sum(cell.agrees for cell in cells)
    diminishing = sum(c.ours == "Yes" for c in cells if c.column == COLUMNS[-1].name)
    return Reproduced(
        name="payoff-table",
        title="Twelve features of eight payoffs: ours and the published ones",
        statements=_statements(cells, agreeing, diminishing),
        figures={
            "cells": len(cells),
            "cells.agreeing": agreeing,
            "cells.explained": sum((c.feature, c.column) in REASONS for c in cells if not c.agrees),
            "diminishing.yes": diminishing,
            **{f"{c.feature}.{c.column}": _as_number(c.ours) for c in cells},
        },
        rows=rows,
        files=files,
    )


def _decide(number: int, feature: Feature, column: Column, published: str) -> Cell:
    verdicts = [feature(column.environments, payoff) for payoff in column.payoffs]
    evidence = "; ".join(verdict.evidence for verdict in verdicts)
    return Cell(number, column.name, _word(verdicts), published, evidence)


def _word(verdicts: list[Verdict]) -> str:
    """Yes or No for every parameter, or a star when it depends on the parameter."""
    answers = {verdict.holds for verdict in verdicts}
    return "*" if len(answers) > 1 else "Yes" if True in answers else "No"


def _as_number(word: str) -> float:
    return {"Yes": 1.0, "No": 0.0, "*": 0.5}[word]


def _rows(cells: list[Cell]) -> list[dict[str, str]]:
    """The table as records: in each cell our answer, and the published one beside it."""
    rows = []
    for number, (question, _) in enumerate(FEATURES, start=1):
        row = {"feature": f"{number}. {question}"}
        for cell in cells:
            if cell.feature == number:
                row |= {cell.column: cell.ours, cell.column + PUBLISHED_FIELD: cell.published}
        rows.append(row)
    return rows


def _statements(cells: list[Cell], agreeing: int, diminishing: int) -> list[Statement]:
    statements = [
        Statement(
            "The average with diminishing history in balanced environments gets 11 yes of 12.",
            f"It gets {diminishing}.",
            diminishing == 11,
        ),
        Statement(
            f"The table has {len(cells)} cells.", f"{agreeing} of them agree with ours.", None
        ),
    ]
    statements += [
        Statement(
            f"Feature {cell.feature}, {cell.column}: {cell.published}.",
            f"{cell.ours}: {cell.evidence}.",
            False,
            REASONS.get((cell.feature, cell.column), ""),
        )
        for cell in cells
        if not cell.agrees
    ]
    for number, feature in ((10, stopping_resisted), (11, modulation_resisted)):
        verdicts = [feature(GENERAL, payoff) for payoff in BY_ALL]
        statements.append(
            Statement(
                f"Feature {number}, general-discounted, divided by the sum of all weights: Yes.",
                f"{_word(verdicts)}: {'; '.join(each.evidence for each in verdicts)}.",
                _word(verdicts) == "Yes",
            )
        )
    return statements
