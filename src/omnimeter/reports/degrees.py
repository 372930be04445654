"""What agents lose and regain by degree of perturbation: as a table and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from omnimeter.protocols import Result
from omnimeter.reports.figures import Curve, CurveFigure
from omnimeter.reports.scores import ScoreRow, score_rows
from omnimeter.reports.style import behind
from omnimeter.reports.tables import Cell, Table
from omnimeter.reports.text import decimals, interval, metric, number, printable

SHOWN = ("loss", "recovered", "recovery")
"""The metrics for which a terminal has room; JSON has all of them."""

HEADINGS = ("Agent", "Degree", "Score", "95 % interval")


def _groups(result: Result) -> Iterator[tuple[ScoreRow, Mapping[str, Any]]]:
    """Each agent with each degree of perturbation, where the test tells them apart."""
    for row in score_rows(result):
        for group in row.parts.get("degrees", ()):
            yield row, group


def degree_table(result: Result) -> Table | None:
    """The score and the metrics at each degree; ``None`` where there are not at least two."""
    groups = list(_groups(result))
    if len({group["label"] for _, group in groups}) < 2:
        return None
    ends = [end for _, group in groups for end in (group["value"], *group["interval"])]
    places, metrics = decimals(ends), [e for e in result.design.metrics if e.name in SHOWN]

    def cells(row: ScoreRow, group: Mapping[str, Any]) -> tuple[Cell, ...]:
        low, high = group["interval"]
        return (
            Cell(row.name, {"agent": printable(row.label)}),
            Cell(group["label"], {"degree": group.get("degree"), "label": group["label"]}),
            Cell(
                number(group["value"], places),
                {"score": group["value"]},
                "strong" * bool(row.rank),
            ),
            Cell(
                interval(low, high, places),
                {"low": low, "high": high, "exercises": group["count"]},
            ),
            *(
                Cell(metric(group.get(each.name), each.kind), {each.name: group.get(each.name)})
                for each in metrics
            ),
        )

    headings = (*HEADINGS, *(each.heading for each in metrics))
    return Table(headings, tuple(cells(row, group) for row, group in groups))


def degree_figure(result: Result) -> CurveFigure | None:
    """The score against the degree; ``None`` where there are not at least two that are numbers."""
    points: dict[str, list[tuple[float, ...]]] = {row.name: [] for row in score_rows(result)}
    for row, group in _groups(result):
        if "degree" in group:
            points[row.name].append((group["degree"], group["value"], *group["interval"]))
    curves = [Curve(label, *zip(*known, strict=True)) for label, known in points.items() if known]
    if max((len(set(curve.places)) for curve in curves), default=0) < 2:
        return None
    return CurveFigure(
        "degrees",
        "Score against degree of perturbation",
        "Mean reward per interaction after the change, with its 95 % interval. The degree is the "
        "number of propositions by which a square of the environment differs before and after, "
        f"on average.{behind(list(points))}",
        "Degree of perturbation",
        "Mean reward after the change",
        tuple(curves),
        banded=False,
    )
