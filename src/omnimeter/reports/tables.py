"""Tables of scores, secondary metrics and differences, and how they are written."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

from omnimeter.contract import FaultKind, Outcomes, Spec
from omnimeter.contract.protocol import Metric
from omnimeter.contract.spec import canonical_json
from omnimeter.contract.text import no_formula
from omnimeter.estimation import Estimate, mean
from omnimeter.estimation.variance import Effect
from omnimeter.protocols import Result
from omnimeter.protocols.times import FEATURES
from omnimeter.reports.comparisons import Comparison, comparisons
from omnimeter.reports.scores import REPETITION, ComplexityMean, ScoreRow, score_rows, unit_values
from omnimeter.reports.settings import Setting
from omnimeter.reports.summary import remarks
from omnimeter.reports.text import (
    MISSING,
    decimals,
    fault_counts,
    grouped,
    interval,
    listed,
    metric,
    number,
    p_value,
    percent,
    printable,
    range_texts,
    short_labels,
)
from omnimeter.results import files


class Cell(NamedTuple):
    """A cell of a table.

    Attributes:
        text: The cell as people read it.
        data: The same as data, with all digits; a cell may have several numbers.
        style: ``strong``, ``error``, ``dim`` or the name of a verdict; mostly empty.
    """

    text: str
    data: Mapping[str, Any]
    style: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells. Every text, CSV, LaTeX and HTML table is written from one of these.

    Attributes:
        headings: The headings of the columns, of which the first is the agent's.
        rows: The cells of each row.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __str__(self) -> str:
        """The table as plain text, with columns aligned by spaces."""
        lines = [self.headings, *([cell.text for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


def _agent(label: str, name: str) -> Cell:
    return Cell(name, {"agent": printable(label)})


def number_cell(value: float | None, places: int, name: str, *, signed: bool = False) -> Cell:
    """A number; nothing where it is not known, or is not finite."""
    known = None if value is None or not isfinite(value) else value
    return Cell(number(known, places, signed=signed), {name: known})


def ends_cell(each: Estimate | None, places: int, name: str = "", *, signed: bool = False) -> Cell:
    """The interval of an estimate; nothing where the value itself is not known."""
    low, high = (None, None) if each is None or not isfinite(each.value) else (each.low, each.high)
    data = {f"{name}low": finite(low), f"{name}high": finite(high)}
    return Cell(interval(low, high, places, signed=signed), data)


EFFECT = ("F", "Degrees", "p", "p, corrected", "Share", "95 % interval")
"""The headings of ``effect_cells``."""


def effect_cells(effect: Effect) -> tuple[Cell, ...]:
    """An effect of an analysis of variance."""
    first, second = effect.degrees
    shown = MISSING if effect.statistic != effect.statistic else grouped(effect.statistic)
    if effect.statistic == inf:
        shown = "∞"
    return (
        Cell(shown, {"f": effect.statistic if isfinite(effect.statistic) else None}),
        Cell(f"{first:g}, {second:g}", {"df_effect": first, "df_error": second}),
        Cell(p_value(effect.p_value), {"p_value": effect.p_value}),
        Cell(p_value(effect.corrected_p_value), {"corrected_p_value": effect.corrected_p_value}),
        number_cell(effect.share.value, 3, "share"),
        ends_cell(effect.share, 3, "share_"),
    )


def score_table(result: Result, *, interactions: bool = False) -> Table:
    """The scores, best first, with what they are made of.

    Args:
        result: The result of an evaluation.
        interactions: Whether the mean number of interactions has a column.
    """
    rows = score_rows(result)
    places = decimals(n for row in rows for n in (row.value, row.low, row.high))
    adaptive = result.design.unit == REPETITION
    beside = result.design.seated
    first = f"Agent with {listed(beside)}" if beside else "Agent"
    headings = [first, "Score", f"{percent(rows[0].confidence)} interval"]
    headings += ["Repetitions"] * adaptive + ["Exercises"]
    headings += ["Mean interactions"] * interactions + ["Faults"]

    def cells(row: ScoreRow) -> tuple[Cell, ...]:
        ends = {"low": row.low, "high": row.high, "confidence": row.confidence}
        kinds = {str(kind): row.faults.get(kind, 0) for kind in FaultKind}
        faults = fault_counts(row.faults)
        length = row.interactions
        shown = number(length, decimals([length]) if length else 0)
        return (
            _agent(row.label, row.name),
            # What is ranked apart is not printed in bold.
            Cell(number(row.value, places), {"score": row.value}, "strong" * bool(row.rank)),
            Cell(interval(row.low, row.high, places), ends),
            *[Cell(str(row.repetitions), {"repetitions": row.repetitions})] * adaptive,
            Cell(str(row.count), {"exercises": row.count}),
            *[Cell(shown, {"interactions": length})] * interactions,
            Cell(
                faults or "none",
                {**kinds, "privileged": row.eligibility.privileged},
                "error" if faults else "dim",
            ),
        )

    return Table(tuple(headings), tuple(map(cells, rows)))


def metric_table(result: Result) -> Table | None:
    """The secondary metrics of the test; ``None`` where it has none, or none is known yet."""
    return metric_table_of(score_rows(result), result.design.metrics)


def metric_table_of(rows: Sequence[ScoreRow], known: Sequence[Metric]) -> Table | None:
    """The secondary metrics of rows; ``None`` where no row has one."""
    metrics = [each for each in known if any(row.parts.get(each.name) is not None for row in rows)]
    if not metrics:
        return None

    def cell(each: Metric, value: float | None) -> Cell:
        return Cell(metric(value, each.kind), {each.name: value})

    cells = (
        (_agent(row.label, row.name), *(cell(m, row.parts.get(m.name)) for m in metrics))
        for row in rows
    )
    return Table(("Agent", *(each.heading for each in metrics)), tuple(cells))


def complexity_table(rows: Sequence[ScoreRow], unit: str) -> Table | None:
    """The mean payoff in each range of complexities; ``None`` with fewer than two of them."""
    if max((len(row.complexities) for row in rows), default=0) < 2:
        return None
    known = [each for row in rows for each in row.complexities]
    places = decimals(n for each in known for n in (each.value, each.low, each.high))
    ranges = sorted({each.between for each in known})
    names = dict(zip(ranges, range_texts(ranges), strict=True))

    def cells(row: ScoreRow, each: ComplexityMean) -> tuple[Cell, ...]:
        low, high = each.between
        return (
            _agent(row.label, row.name),
            Cell(
                names[each.between],
                {"lowest": low, "highest": high, "complexity": each.complexity},
            ),
            Cell(number(each.value, places), {"payoff": each.value}),
            Cell(
                interval(each.low, each.high, places),
                {"low": finite(each.low), "high": finite(each.high)},
            ),
            Cell(str(each.count), {"count": each.count}),
        )

    counted = "Repetitions" if unit == REPETITION else "Exercises"
    headings = ("Agent", "Complexity", "Mean payoff", "95 % interval", counted)
    return Table(headings, tuple(cells(row, each) for row in rows for each in row.complexities))


def battery_table(result: Result) -> Table | None:
    """What each agent got in each exercise of a battery; ``None`` of other tests.

    Agents with faults of their own have no interval: the faults decide which exercises count.
    """
    if not result.design.battery or not any(map(len, result.outcomes.values())):
        return None
    parts, rows = result.design.parts, score_rows(result)
    classes: dict[int, str] = {}
    complexities: dict[int, list[float]] = defaultdict(list)
    for done in result.outcomes.values():
        for spec, where in done.classes():
            classes |= dict.fromkeys((done.numbers[where] % parts).tolist(), spec.label)
        taken = zip((done.numbers % parts).tolist(), done.complexities.tolist(), strict=True)
        for part, complexity in taken:
            complexities[part].append(complexity)
    means: dict[tuple[int, Spec], Estimate] = {}
    for row in rows:
        numbers, values = unit_values(result, row.agent)
        for part in classes:
            if len(own := values[numbers % parts == part]):
                means[part, row.agent] = mean(own, support=result.support)
    places = decimals(each.value for each in means.values())

    def cell(part: int, row: ScoreRow) -> Cell:
        each = means.get((part, row.agent))
        value, count = (None, 0) if each is None else (each.value, each.count)
        known = each if row.eligibility.is_sound and count > 1 else None
        low, high = (None, None) if known is None else (known.low, known.high)
        data = {"score": value, "low": finite(low), "high": finite(high), "count": count}
        text = number(value, places) + (f"\n{interval(low, high, places)}" if known else "")
        return Cell(text, {f"{name} {row.label}": value for name, value in data.items()})

    def lines() -> Iterator[tuple[Cell, ...]]:
        for part in sorted(classes):
            low, high = min(complexities[part]), max(complexities[part])
            (between,) = range_texts([(low, high)])
            yield (
                Cell(str(part + 1), {"exercise": part + 1}),
                Cell(classes[part], {"class": classes[part]}),
                Cell(between, {"lowest": low, "highest": high}),
                *(cell(part, row) for row in rows),
            )

    headings = ("Exercise", "Class", "Complexity", *short_labels(row.name for row in rows).values())
    return Table(headings, tuple(lines()))


def interval_heading(compared: Sequence[Comparison]) -> str:
    """Says whether the intervals of differences hold one by one or all at once."""
    several = any(each.simultaneous > 1 for each in compared)
    return "Simultaneous 95 %" if several else "95 % interval"


def difference_table(compared: Sequence[Comparison]) -> Table:
    """How far each agent is from the reference."""
    places = decimals(n for each in compared for n in (each.difference, each.low, each.high))
    rows = []
    for each in compared:
        size = number(each.difference, places, signed=True)
        ends = interval(each.low, each.high, places, signed=True)
        cells = (
            _agent(each.agent.label, each.name),
            Cell(size, {"difference": each.difference}, "strong" * each.is_shown),
            Cell(ends, {"low": each.low, "high": each.high, "bounded": each.bounded}),
            Cell(str(each.count), {"count": each.count}),
            Cell(p_value(each.p_value), {"p_value": each.p_value}),
            Cell(each.finding, {"verdict": str(each.verdict)}, each.verdict.name.lower()),
        )
        rows.append(cells)
    headings = ("Agent", "Difference", interval_heading(compared), "In common", "p", "Verdict")
    return Table(headings, tuple(rows))


def comparison_table(result: Result, compared: Sequence[Comparison]) -> Table:
    """Scores and differences in one table, each above its interval."""
    differences = {row[0].text: row for row in difference_table(compared).rows}
    rows = []
    for agent, score, ends, *_, faults in score_table(result).rows:
        name = f"{agent.text}\n{faults.text}" if faults.style == "error" else agent.text
        cells = [
            Cell(name, agent.data),
            Cell(f"{score.text}\n{ends.text}", {**score.data, **ends.data}),
        ]
        if agent.text in differences:
            _, size, its_ends, _, p, verdict = differences[agent.text]
            both = Cell(f"{size.text}\n{its_ends.text}", {**size.data, **its_ends.data})
            cells += [both, p, verdict]
        else:
            place = "not compared" if compared else ""
            if compared and agent.data["agent"] == printable(compared[0].reference.label):
                place = "reference"
            cells += [Cell(text, {}) for text in ("", "", place)]
        rows.append(tuple(cells))
    heading = f"Difference\n{interval_heading(compared).lower()}"
    headings = ("Agent", "Score\n95 % interval", heading, "p", "Verdict")
    return Table(headings, tuple(rows))


def settings_table(settings: Sequence[Setting]) -> Table:
    """All settings of a problem with their times, the best first (figure 9 of the paper, in full).

    Settings with a privileged view or with faults of their own are marked and come last. Published
    scores have a column where there are any.
    """
    scored = [(each, each.score) for each in settings if each.score is not None]
    scored.sort(key=lambda one: (one[0].eligibility.order, -one[1].value))
    published = any(each.published for each, _ in scored)
    places = max(2, decimals(n for _, one in scored for n in (one.low, one.high)))
    rows = []
    for each, score in scored:
        ends = {"low": score.low, "high": score.high, "half_width": each.half_width}
        offline, online = each.times.offline, each.times.mean
        rows.append(
            (
                Cell(
                    each.algorithm + each.eligibility.mark,
                    {"problem": each.problem, "agent": each.agent.id},
                ),
                Cell(each.parameters, {"parameters": canonical_json(each.agent.parameters)}),
                Cell(number(score.value, places), {"score": score.value}),
                Cell(interval(score.low, score.high, places), ends),
                Cell(str(score.count), {"n": score.count}),
                Cell(
                    _digits(offline),
                    {"offline_s": offline, "offline_cpu_s": each.times.offline_cpu},
                ),
                Cell(
                    MISSING if online is None else _digits(online * 1e3),
                    {"online_s": online, "online_cpu_s": each.times.mean_cpu}
                    | {f"online_{name}_s": FEATURES[name][1](each.times) for name in _FURTHER},
                ),
                *[published_cell(each)] * published,
            )
        )
    headings = ["Algorithm", "Parameters", "Score", "95 % interval", "N", "Offline, s"]
    headings += ["Online, ms per decision"] + ["Published"] * published
    return Table(tuple(headings), tuple(rows))


def published_cell(setting: Setting) -> Cell:
    """The published score of a setting with its half-width, if there is one."""
    value, half = setting.published or (None, None)
    text = MISSING if value is None else f"{value:g} ± {half:g}"
    return Cell(text, {"published": value, "published_half_width": half})


def _digits(value: float) -> str:
    """A number in three digits, or as many as stand before the point."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


_FURTHER = ("median", "p90", "p99", "max")
"""Which online times a file of settings has besides the means."""


def write_csv(result: Result, path: Path) -> None:
    """Write scores and secondary metrics as a CSV file, best first, with all digits.

    Raises:
        StoreError: The file could not be written.
    """
    tables = (score_table(result, interactions=True), metric_table(result))
    rows = zip(*(table.rows for table in tables if table is not None), strict=True)
    _write_records([chain(*parts) for parts in rows], path)


def write_table(table: Table, path: Path) -> None:
    """Write a table as a CSV file, with all digits.

    Raises:
        StoreError: The file could not be written.
    """
    _write_records(table.rows, path)


def _write_records(rows: Iterable[Iterable[Cell]], path: Path) -> None:
    records = [
        {no_formula(name): no_formula(value) for cell in row for name, value in cell.data.items()}
        for row in rows
    ]
    sink = io.StringIO(newline="")
    writer = csv.DictWriter(sink, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    files.write(path, sink.getvalue().encode())


def result_json(result: Result, reference: Spec | None = None) -> dict[str, Any]:
    """The scores and comparisons for a program; agents in the order of the evaluation.

    The ranking has the labels of the agents that are ranked, the best first; not those that are
    ranked apart (``Eligibility``), and not those without a score.

    Args:
        result: The result of an evaluation.
        reference: The agent to compare with; by default the best.
    """
    rows = {row.agent: row for row in score_rows(result)}
    return {
        "complete": result.complete,
        "remarks": remarks(result),
        "ranking": [row.label for row in rows.values() if row.rank is not None],
        **({"warning": result.design.warning} if result.design.warning else {}),
        **({"seated": list(result.design.seated)} if result.design.seated else {}),
        "scores": [_score_json(rows[agent], result) for agent in result.scores],
        "comparisons": [comparison_json(each) for each in comparisons(result, reference)],
    }


def comparison_json(each: Comparison) -> dict[str, Any]:
    """A comparison for a program."""
    return {
        "agent": each.agent.label,
        "reference": each.reference.label,
        "difference": finite(each.difference),
        "interval": [finite(each.low), finite(each.high)],
        "count": each.count,
        "simultaneous": each.simultaneous,
        "bounded": each.bounded,
        "p_value": each.p_value,
        "verdict": str(each.verdict),
        **({} if each.watched is None else {"watched": finite(each.watched)}),
    }


def _score_json(row: ScoreRow, result: Result) -> dict[str, Any]:
    ends = result.scores[row.agent].interval
    data: dict[str, Any] = {
        "agent": row.agent.to_json(),
        "label": row.label,
        "value": finite(row.value),
        "interval": finite(ends and ends[:2]),
        "confidence": ends and ends.confidence,
        "bounded": bool(ends and ends.bounded),
        "count": row.count,
        "faults": dict(row.faults),
        "own_faults": row.eligibility.own_faults,
    }
    if row.eligibility.privileged:
        data["privileged"] = row.eligibility.privileged
    done = result.outcomes.get(row.agent, Outcomes())
    if any(value is False for value, _ in done.remarks("reproducible")):
        data["reproducible"] = False
    if row.agent in result.stopped:
        data["stopped_after_faults"] = result.stopped[row.agent]
    if again := int((done.attempts > 1).sum()):
        data["attempted_again"] = again
    if row.parts:
        data["parts"] = finite(row.parts)
    if row.agent in result.values:
        data["values"] = {str(unit): n for unit, n in result.values[row.agent].items()}
    if course := result.courses.get(row.agent, ()):
        data["course"] = [
            {**asdict(each), "interval": finite(each.interval and each.interval[:2])}
            for each in course
        ]
    return data


def finite(value: Any) -> Any:
    """The value with ``None`` in the place of infinities, which JSON does not have."""
    if isinstance(value, Mapping):
        return {str(name): finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
