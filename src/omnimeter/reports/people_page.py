"""The comparison of people and agents as tables, sentences, figures, one HTML page and files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Correlation, Estimate
from omnimeter.reports import style
from omnimeter.reports.campaign_figures import line_figure
from omnimeter.reports.campaign_page import figure_data, keep_only
from omnimeter.reports.comparisons import Verdict
from omnimeter.reports.distributions import boxes, histograms
from omnimeter.reports.figures import Dot, DotFigure, Figure
from omnimeter.reports.latex import plain, tabular
from omnimeter.reports.page import SIGNS, TEXT_COLUMNS, templates
from omnimeter.reports.people import (
    PEOPLE,
    Difference,
    Group,
    People,
    Taker,
)
from omnimeter.reports.plotting import inline_svg_and_pdf
from omnimeter.reports.tables import (
    EFFECT,
    Cell,
    Table,
    effect_cells,
    ends_cell,
    finite,
    number_cell,
    write_table,
)
from omnimeter.reports.text import (
    counted,
    decimals,
    interval,
    listed,
    number,
    p_value,
    printable,
)
from omnimeter.results import files

ALL = "all"
"""The place of a row that is of all exercises."""

FACTORS = ("agent", "exercise", "agent by exercise")
"""The effects of the analysis of variance."""


BOUNDED = "‡"
"""Marks an interval that rests on nothing but the possible values."""


# Tables.


def _ends(each: Estimate | None, places: int, name: str = "", *, signed: bool = False) -> Cell:
    """The interval of an estimate, with a mark where it is bounded."""
    return _marked(each, ends_cell(each, places, name, signed=signed), name)


def _marked(each: Estimate | None, ends: Cell, name: str) -> Cell:
    bounded = each is not None and isfinite(each.value) and each.bounded
    data = {**ends.data, f"{name}bounded": bounded}
    return ends._replace(text=ends.text + BOUNDED * bounded, data=data)


def legend_of(table: Table) -> str:
    """What the mark of intervals in a table says; nothing where none has it."""
    if not any(cell.text.endswith(BOUNDED) for row in table.rows for cell in row):
        return ""
    return (
        f"{BOUNDED} This interval rests on nothing but the lowest and the highest possible value: "
        "too few values carry the spread. More participants make it much shorter."
    )


def _who(taker: Taker) -> Cell:
    return Cell(taker.name, {"agent": printable(taker.agent), "memory": taker.memory})


def _value(each: Estimate | None) -> float | None:
    return None if each is None else each.value


def mean_table(people: People) -> Table:
    """What people and agents got over all exercises."""
    places = decimals(n for e in people.means for n in (e.estimate.low, e.estimate.high))
    leveled = bool(people.taken.levels)
    rows = []
    for each in people.means:
        row = [
            _who(each.taker),
            Cell(str(each.estimate.count), {"participants": each.estimate.count}),
            number_cell(each.estimate.value, places, "mean"),
            _ends(each.estimate, places),
            number_cell(each.deviation, places, "deviation"),
        ]
        if leveled:
            row += [
                number_cell(_value(each.level), 1, "level"),
                _ends(each.level, 1, "level_"),
            ]
        rows.append(tuple(row))
    headings = ["Agent", "Participants", f"Mean {people.taken.value.lower()}", "95 % interval"]
    headings += [f"SD of {people.taken.unit}s"] + ["Level", "95 % interval of the level"] * leveled
    return Table(tuple(headings), tuple(rows))


_SIDES = {Verdict.BETTER: "{} got more", Verdict.WORSE: "{} got less"}


def _difference_table(differences: Sequence[Difference], side: str) -> Table | None:
    """Paired differences; ``side`` is what the first of each pair is called."""
    if not differences:
        return None
    ends = (n for each in differences for n in (each.estimate.low, each.estimate.high))
    places, leveled = decimals(ends), any(each.level for each in differences)
    rows = []
    for each in differences:
        said = _SIDES.get(each.verdict, str(each.verdict)).format(side)
        said = said.replace("exercises", "participants")
        row = [
            _who(each.second if each.first.memory is None else replace(each.first, memory=None)),
            number_cell(each.estimate.value, places, "difference", signed=True),
            _ends(each.estimate, places, signed=True),
            Cell(str(each.estimate.count), {"participants": each.estimate.count}),
            Cell(p_value(each.p_value), {"p_value": each.p_value}),
            Cell(said, {"verdict": str(each.verdict)}, each.verdict.name.lower()),
        ]
        if not leveled:
            data = {"differing": each.differing}
            row.insert(4, Cell(f"{each.differing} of {each.exercises}", data))
        else:
            row[-1:-1] = [
                number_cell(_value(each.level), 1, "level", signed=True),
                _ends(each.level, 1, "level_", signed=True),
            ]
        rows.append(tuple(row))
    kind = "Simultaneous 95 %" if len(differences) > 1 else "95 % interval"
    headings = ["Agent", "Difference", kind, "Participants", *["Differ in"] * (not leveled), "p"]
    headings += ["Level", "95 % interval of the level"] * leveled
    return Table((*headings, "Verdict"), tuple(rows))


def variance_table(people: People) -> Table | None:
    """The two-way repeated-measures analysis of variance of people and each agent."""
    rows = []
    for each in people.variances:
        effects = zip(FACTORS, (each.agent, each.exercise, each.interaction), strict=True)
        for name, effect in effects:
            if effect is not None:
                *front, ends = effect_cells(effect)
                ends = _marked(effect.share, ends, "share_")
                rows.append((_who(each.taker), Cell(name, {"effect": name}), *front, ends))
    return Table(("Agent", "Effect", *EFFECT), tuple(rows)) if rows else None


def _cut(table: Table, columns: int) -> Table:
    """The first columns of a table."""
    return Table(table.headings[:columns], tuple(row[:columns] for row in table.rows))


def exercise_table(people: People) -> Table | None:
    """Means and correlations with complexity by exercise (Lambda thesis, Table 6.2)."""
    table = group_table(people.groups, people.taken.unit.capitalize())
    known = {(each.taker, each.exercise): each.pearson for each in people.relations}
    if table is None or len(people.taken.exercises) < 2:
        return table
    table = _cut(table, 6)
    headings = (*table.headings, "r", "p of r")
    rows = []
    for each, row in zip(people.groups, table.rows, strict=True):
        r = known.get((each.taker, each.place))
        value = _value(r)
        p = None if r is None or not isfinite(r.value) else r.p_value
        further = number_cell(value, 3, "pearson"), Cell(p_value(p), {"pearson_p_value": p})
        rows.append((*row, *further))
    return Table(headings, tuple(rows))


def group_table(groups: Sequence[Group], heading: str) -> Table | None:
    """Means, spreads and quartiles of payoffs by exercise, or by position."""
    rows = []
    for each in groups:
        first, median, third = np.quantile(each.values, (0.25, 0.5, 0.75)).tolist()
        deviation = float(each.values.std(ddof=1)) if len(each.values) > 1 else None
        quartiles = {"first_quartile": first, "third_quartile": third}
        rows.append(
            (
                _who(each.taker),
                Cell(each.place, {heading.lower(): each.place}),
                Cell(str(len(each.values)), {"n": len(each.values)}),
                number_cell(each.estimate.value, 3, "mean"),
                _ends(each.estimate, 3),
                number_cell(deviation, 3, "deviation"),
                number_cell(median, 3, "median"),
                Cell(interval(first, third, 3), quartiles),
            )
        )
    headings = ("Agent", heading, "n", "Mean", "95 % interval", "SD", "Median", "Quartiles")
    return Table(headings, tuple(rows)) if rows else None


def relation_table(people: People) -> Table | None:
    """Pearson's and Spearman's correlations of payoff and complexity."""

    def cells(each: Correlation, name: str) -> tuple[Cell, ...]:
        p = each.p_value if isfinite(each.value) else None
        return (
            number_cell(each.value, 3, name),
            _ends(each, 3, f"{name}_"),
            Cell(p_value(p), {f"{name}_p_value": p}),
        )

    rows = tuple(
        (
            _who(each.taker),
            Cell(each.exercise or ALL, {"exercise": each.exercise or ALL}),
            Cell(str(each.pearson.count), {"n": each.pearson.count}),
            *cells(each.pearson, "pearson"),
            *cells(each.spearman, "spearman"),
        )
        for each in people.relations
    )
    pearson = ("Pearson's r", "95 % interval of r", "p of r")
    spearman = ("Spearman's rho", "95 % interval of rho", "p of rho")
    return Table(("Agent", "Exercise", "n", *pearson, *spearman), rows) if rows else None


def _of_all(people: People) -> Table | None:
    """The correlations over all exercises alone."""
    table = relation_table(people)
    if table is None:
        return None
    return replace(table, rows=tuple(row for row in table.rows if row[1].text == ALL))


def reaction_table(people: People) -> Table | None:
    """How long participants took."""
    rows = tuple(
        (
            Cell(each.exercise or ALL, {"exercise": each.exercise or ALL}),
            Cell(f"{each.median:.2f} s", {"median_s": each.median}),
            Cell(
                f"{each.first:.2f} to {each.third:.2f} s",
                {"first_quartile_s": each.first, "third_quartile_s": each.third},
            ),
            Cell(str(each.participants), {"participants": each.participants}),
            Cell(str(each.answers), {"actions": each.answers}),
        )
        for each in people.reactions
    )
    headings = ("Exercise", "Median", "Quartiles of participants", "Participants", "Actions")
    return Table(headings, rows) if rows else None


def question_table(people: People) -> Table | None:
    """How the questions were answered, without the words of free answers."""
    rows = []
    for each in people.taken.questions:
        counts = each.counts
        steps = [answer for answer in each.answers if isinstance(answer, int)]
        middle = fmean(steps) if steps else None
        told = ", ".join(f"{o}: {n}" for o, n in zip(each.options, counts, strict=True))
        options = dict(zip(map(str, each.options), counts, strict=True))
        rows.append(
            (
                Cell(each.name, {"question": each.name, "kind": each.kind}),
                Cell(f"{len(each.answers)} of {each.asked}", {"answers": len(each.answers)}),
                Cell(number(middle, 2), {"mean": middle}),
                Cell(told or "free text", {"counts": json.dumps(options) if options else ""}),
            )
        )
    headings = ("Question", "Answers", "Mean", "How often which answer")
    return Table(headings, tuple(rows)) if rows else None


def restart_table(people: People) -> Table | None:
    """Who began exercises anew after an interruption, and how often."""
    rows = tuple(
        (Cell(name, {"participant": name}), Cell(str(count), {"restarts": count}))
        for name, count in people.taken.restarts.items()
    )
    return Table(("Participant", "Exercises begun anew"), rows) if rows else None


def tables_of(people: People) -> dict[str, Table]:
    """All tables, by their names."""
    several = len(people.taken.exercises) > 1
    positions = group_table(people.by_position, "Position")
    tables = {
        "means": mean_table(people),
        "differences": _difference_table(people.differences, "people"),
        "memories": _difference_table(people.memories, "carried"),
        "variance": variance_table(people),
        "exercises": exercise_table(people),
        "quartiles": group_table(people.groups, "Exercise") if several else None,
        "relations": relation_table(people),
        "positions": positions and _cut(positions, 6),
        "reactions": reaction_table(people),
        "questions": question_table(people),
        "restarts": restart_table(people),
    }
    return {name: table for name, table in tables.items() if table is not None}


# Sentences.


def participants_sentence(people: People) -> str:
    """How many took the whole test, and what became of the others."""
    taken = people.taken
    count = len(taken.participants)
    invited = count + sum(map(len, taken.absent.values())) + taken.withdrawn
    reasons = [f"{len(names)} {why}" for why, names in taken.absent.items()]
    reasons += [f"{taken.withdrawn} withdrew, and left no data"] * bool(taken.withdrawn)
    rest = f"; left out: {', '.join(reasons)}" if reasons else ""
    return f"{count} of {counted(invited, 'participant')} took the whole test{rest}."


def restarts_sentence(people: People) -> str:
    """Who knew the environment of an exercise from before it began anew; or nothing."""
    counts = people.taken.restarts
    if not counts:
        return ""
    who = listed(f"{name} ({counted(count, 'time')})" for name, count in counts.items())
    return (
        f"{counted(len(counts), 'participant')} began an exercise anew after an interruption: "
        f"{who}. Only the last attempt counts, in an environment that they knew from before, so "
        "that they may have got more than others; agents have one attempt."
    )


def _said(each: Estimate) -> str:
    """The interval of a difference in a sentence."""
    ends = interval(each.low, each.high, 3, signed=True)
    return f"{ends}, bounded by the possible values alone" if each.bounded else ends


def sentences_of(people: People) -> list[str]:
    """The result in a few sentences."""
    said = [participants_sentence(people)]
    taken = people.taken
    got = [
        f"{each.taker.name} {number(each.estimate.value, 3)}"
        + ("" if each.deviation is None else f" (SD {number(each.deviation, 3)})")
        for each in people.means
    ]
    if restarted := restarts_sentence(people):
        said.append(restarted)
    if got:
        said.append(f"Mean {taken.value.lower()}: {'; '.join(got)}.")
    said += [
        f"{taker.name} had faults in the place of {counted(count, 'participant')}, of whom it is "
        "not compared."
        for taker, count in people.missing.items()
    ]
    for each in people.differences:
        ends = _said(each.estimate)
        what = f"People minus {each.second.name}: {number(each.estimate.value, 3, signed=True)}"
        verdict = {
            Verdict.BETTER: "people got more",
            Verdict.WORSE: "people got less",
            Verdict.TOO_FEW: "too few participants",
        }.get(each.verdict, "no difference is shown")
        said.append(f"{what} ({ends}): {verdict}.")
    for each in people.memories:
        if each.differing:
            ends = _said(each.estimate)
            what = number(each.estimate.value, 3, signed=True)
            said.append(f"{each.first.agent}, carried minus fresh memory: {what} ({ends}).")
    if same := [each.first.agent for each in people.memories if not each.differing]:
        same_memory = "got the same with carried and with fresh memory in every exercise"
        said.append(f"{listed(same)} {same_memory}.")
    return said


# Figures.


def _dots(
    name: str, title: str, caption: str, across: str, rows: Sequence[tuple[Taker, Estimate]]
) -> DotFigure | None:
    dots = tuple(Dot(t.name, e.value, finite(e.low), finite(e.high)) for t, e in rows)
    return DotFigure(name, title, caption, across, dots) if dots else None


def figures_of(people: People) -> list[Figure]:
    """The figures, as data."""
    taken = people.taken
    value, several = taken.value.lower(), len(people.differences) > 1
    drawn: list[Figure | None] = [
        _dots(
            "means",
            f"Mean {value}s",
            f"The mean {value} over participants, of whom each counts once with the mean of the "
            f"{taken.unit}s, with its 95 % interval.",
            f"Mean {value}",
            [(each.taker, each.estimate) for each in people.means],
        ),
        _dots(
            "differences",
            "People minus agent",
            "People minus agent, participant by participant. Right of the line people got more. "
            + ("The 95 % intervals hold at once." if several else "With its 95 % interval."),
            f"Difference in {value}",
            [(each.second, each.estimate) for each in people.differences],
        ),
    ]
    known = {t.name: taken.known(t)[0] for t in taken.takers if len(taken.known(t)[0])}
    drawn.append(histograms(known, taken.unit, taken.value))
    by_agent: dict[str, list[Taker]] = {}
    for taker in people.agents:
        by_agent.setdefault(taker.agent, []).append(taker)
    groups = [[taker for taker in own if taker.name in known] for own in by_agent.values()]
    if len(taken.exercises) == 1 and style.few(len(known)):  # all agents find room at one place
        groups = [[taker for group in groups for taker in group]]
    for order, own in enumerate([group for group in groups if group], 1):
        columns = {taker.name: [*known[taker.name].T] for taker in [Taker(PEOPLE), *own]}
        against = listed(dict.fromkeys(taker.agent for taker in own))
        places, across = taken.exercises, taken.unit.capitalize()
        if len(places) == 1:
            places, across = ("",), ""
        drawn.append(
            boxes(
                f"boxes-{order}",
                f"{taken.value}s by {taken.unit}: {PEOPLE} and {against}",
                columns,
                places,
                (across, taken.value),
            )
        )
    points = {t.name: people.points(t) for t in taken.takers if len(people.points(t)[0])}
    lines = line_figure(points) if all(np.ptp(x) > 0 for x, _ in points.values()) else None
    if lines is not None:
        curves = (replace(each, points=_pairs(*points[each.label])) for each in lines.curves)
        caption = lines.caption.partition(" Whether a straight line")[0]
        caption += " Each dot is one exercise."
        drawn.append(replace(lines, curves=tuple(curves), caption=caption))
    return [each for each in drawn if each is not None]


def _pairs(x: FloatArray, y: FloatArray) -> tuple[tuple[float, float], ...]:
    return tuple(zip(x.tolist(), y.tolist(), strict=True))


def _places(people: People, figure: Figure) -> Mapping[str, int]:
    """The place of each taker in a figure, which decides on its colour."""
    names = [taker.name for taker in people.taken.takers]
    if not style.few(len(names)) and figure.name.startswith("boxes"):
        names = [label for label, _ in getattr(figure, "boxes")]  # noqa: B009
    return {name: place for place, name in enumerate(names)}


# Files.


def comparison_json(people: People) -> dict[str, Any]:
    """The whole comparison for a program: every payoff, and every table with all digits."""
    taken = people.measured

    def plain(array: Any) -> Any:
        return finite(np.where(np.isfinite(array), array, np.inf).tolist())

    return {
        "title": taken.title,
        "summary": sentences_of(people),
        "participants": list(taken.participants),
        "left_out": {why: list(names) for why, names in taken.absent.items()},
        "withdrawn": taken.withdrawn,
        "exercises": list(taken.exercises),
        "complexities": plain(taken.complexities),
        "positions": taken.positions.tolist(),
        "payoffs": [
            {"agent": taker.agent, "memory": taker.memory, "values": plain(values)}
            for taker, values in taken.payoffs.items()
        ],
        "levels": [
            {"agent": taker.agent, "memory": taker.memory, "values": plain(values)}
            for taker, values in taken.levels.items()
        ],
        "tables": {
            name: [
                {key: value for cell in row for key, value in cell.data.items()}
                for row in table.rows
            ]
            for name, table in tables_of(people).items()
        },
    }


_TEXTS = ("Effect", "Question", "How often which answer")


def render_people(people: People, svgs: Mapping[str, str], data: str, latex: str) -> str:
    """The page as text; everything that agents and participants wrote is escaped.

    Args:
        people: The comparison.
        svgs: Its figures as SVG elements, by their names.
        data: The name of the folder with its data.
        latex: The name of the folder with its tables and figures for LaTeX.
    """
    from markupsafe import Markup

    names = [taker.name for taker in people.taken.takers]
    signs = zip(names, enumerate(SIGNS, 1), strict=False) if style.few(len(names)) else ()
    environment = templates()
    environment.globals["text_columns"] = (*TEXT_COLUMNS, *_TEXTS)
    page: str = environment.get_template("people.html.j2").render(
        people=people,
        taken=people.taken,
        damaged=[f"{path.parent.name}: {e.message}" for path, e in people.taken.damaged.items()],
        tables=tables_of(people),
        whole=_of_all(people),
        legend_of=legend_of,
        figures={figure.name: figure for figure in figures_of(people)},
        drawn={name: Markup(svg) for name, svg in svgs.items()},
        signs=dict(signs),
        summary=sentences_of(people),
        folders={"data": data, "latex": latex},
    )
    return page


def write_people_report(people: People, path: Path) -> dict[str, Path]:
    """Write the page, and beside it the data and what a paper needs.

    Args:
        people: The comparison.
        path: The file of the page. Beside ``a.html`` are the folders ``a-data``, with every table
            as CSV and every figure as JSON, and ``a-latex``, with both for LaTeX.

    Returns:
        Where they are: ``report``, ``data`` and ``latex``.

    Raises:
        InvalidInputError: The path is a directory.
        StoreError: A file could not be written.
    """
    if path.is_dir():
        raise InvalidInputError(f"{path} is a directory.", "Name the file of the page.")
    data, latex = (path.with_name(f"{path.stem}-{name}") for name in ("data", "latex"))
    for folder in (data, latex):
        files.make_directory(folder)
    whole = {"comparison": comparison_json(people)}
    svgs, tables = {}, tables_of(people)
    for figure in figures_of(people):
        svgs[figure.name], pdf = inline_svg_and_pdf(figure, _places(people, figure))
        files.write(latex / f"{figure.name}.pdf", pdf)
        whole[figure.name] = figure_data(figure)
    for name, content in whole.items():
        files.write(data / f"{name}.json", (json.dumps(content, indent=1) + "\n").encode())
    for name, table in tables.items():
        write_table(table, data / f"{name}.csv")
        legend = legend_of(table)
        note = f"\n\\par {plain(legend)}\n" if legend else ""
        files.write(latex / f"{name}.tex", (tabular(table) + note).encode())
    keep_only(data, [*(f"{name}.json" for name in whole), *(f"{name}.csv" for name in tables)])
    keep_only(latex, [*(f"{name}.pdf" for name in svgs), *(f"{name}.tex" for name in tables)])
    page = render_people(people, svgs, data.name, latex.name)
    files.write(path, page.encode("utf-8", "replace"))
    return {"report": path, "data": data, "latex": latex}
