"""The table of scores for papers and spreadsheets."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from omnimeter.contract import FaultKind
from omnimeter.protocols import Result
from omnimeter.reports import text
from omnimeter.reports.scores import ScoreRow, columns, score_table, unit
from omnimeter.reports.text import printable
from omnimeter.results import files

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}

_COLUMNS = ("agent", "score", "low", "high", "level", "exercises", "interactions")


def latex_escape(text: str) -> str:
    """The text as LaTeX prints it."""
    return "".join(_LATEX.get(sign, sign) for sign in printable(text))


def latex_table(result: Result) -> str:
    r"""The scores as a LaTeX table, best first; needs ``\usepackage{booktabs}``."""
    rows = score_table(result)
    places = text.decimals(n for row in rows for n in (row.value, row.low, row.high))
    level = text.percent(rows[0].confidence).replace(" %", r"\,\%") if rows else ""
    counted = f"{unit(result).capitalize()}s"
    lines = [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        rf"Agent & Score & {level} interval & {counted} & Faults \\",
        r"\midrule",
        *(_latex_row(row, places) for row in rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(row: ScoreRow, places: int) -> str:
    span = "--"
    if row.low is not None and row.high is not None:
        span = f"[{_latex_number(row.low, places)}, {_latex_number(row.high, places)}]"
    cells = [latex_escape(row.label), _latex_number(row.value, places), span]
    return (
        " & ".join([*cells, str(row.repetitions or row.count), str(sum(row.faults.values()))])
        + r" \\"
    )


def _latex_number(value: float | None, places: int) -> str:
    if value is None:
        return "--"
    shown = text.number(value, places)
    return "$" + shown.replace(text.MINUS, "-").replace("∞", r"\infty").replace(" ", r"\,") + "$"


def write_csv(result: Result, path: Path) -> None:
    """Write the scores as a CSV file, best first, with all digits.

    What an adaptive test says beside the score stands in further columns.

    Raises:
        StoreError: The file could not be written.
    """
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator="\n")
    rows = score_table(result)
    beside = columns(rows)
    names = ["repetitions", *(column.heading.lower() for column in beside)] if beside else []
    writer.writerow((*_COLUMNS, *map(str, FaultKind), *names))
    for row in rows:
        numbers = (row.value, row.low, row.high, row.confidence, row.count, row.interactions)
        faults = (row.faults.get(kind, 0) for kind in FaultKind)
        more = [row.repetitions, *(row.parts.get(each.key) for each in beside)] if beside else []
        writer.writerow((printable(row.label), *numbers, *faults, *more))
    files.write(path, sink.getvalue().encode())
