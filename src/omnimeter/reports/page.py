"""The report page: its contents gathered from a stored evaluation, and one HTML file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.catalogue import Kind, describe, make, parse
from omnimeter.contract import (
    Budget,
    ClockKind,
    Exercise,
    Fault,
    InvalidInputError,
    Outcome,
    Payoff,
    Spec,
)
from omnimeter.contract.errors import StoreError
from omnimeter.contract.protocol import Design
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.protocols.sample import BALANCE
from omnimeter.reports import figures, style, summary, text
from omnimeter.reports.comparisons import Comparison, Verdict, comparisons
from omnimeter.reports.degrees import degree_figure, degree_table
from omnimeter.reports.figures import Figure
from omnimeter.reports.glossary import terms_in
from omnimeter.reports.plotting import inline_svg, save_figure
from omnimeter.reports.scores import (
    EXERCISE,
    REPETITION,
    ScoreRow,
    is_adjusted,
    reliability_of,
    score_rows,
)
from omnimeter.reports.tables import (
    Table,
    battery_table,
    complexity_table,
    difference_table,
    metric_table,
    score_table,
    settings_table,
)
from omnimeter.reports.text import (
    counted,
    duration,
    grouped,
    listed,
    printable,
    readable_names,
)
from omnimeter.reports.time_figures import TimeReport, time_report
from omnimeter.results import files

if TYPE_CHECKING:
    import jinja2

    from omnimeter.results import Record


def with_payoff(evaluation: Evaluation, payoff: Spec) -> Evaluation:
    """The same evaluation, had its protocol been given this payoff."""
    protocol = evaluation.protocol
    changed = {**protocol.parameters, "payoff": payoff.to_json()}
    return replace(evaluation, protocol=replace(protocol, parameters=changed))


def rejudge(record: Record, payoff: Spec) -> Result:
    """The result of an evaluation when its stored traces are judged by another payoff.

    Nothing is run: the result is the one that the evaluation with this payoff would have had. Only
    an adaptive test would have chosen other exercises; those that its own payoff led to stay.

    Args:
        record: The evaluation; it must have kept its traces.
        payoff: What turns a trace into a number.

    Raises:
        InvalidInputError: The evaluation kept no traces, or its protocol takes no payoff.
        StoreError: Some of its traces are missing or damaged.
    """
    evaluation = Evaluation.from_json(record.spec).with_seed(record.seed)
    if not evaluation.traces:
        raise InvalidInputError(
            f"{record.path} kept no traces, so that no other payoff can be computed.",
            "Run the evaluation again in another directory, with --traces.",
        )
    judge: Payoff = make(Kind.PAYOFF, payoff)
    changed = with_payoff(evaluation, payoff)
    changed.make_protocol()  # raises for a protocol that takes no payoff, before traces are read
    outcomes = record.outcomes()
    wanted = {each.exercise.key for each in outcomes if each.fault is None}
    payoffs = {key: judge(trace) for key, trace in record.traces() if key in wanted}
    if missing := len(wanted - payoffs.keys()):
        raise StoreError(
            f"{missing} of {len(wanted)} traces are missing in {record.path}.",
            "Bring back the files in 'traces', or run the evaluation again elsewhere.",
        )
    judged = [  # what a fault cut short still has no payoff
        each if each.fault else replace(each, payoff=payoffs[each.exercise.key])
        for each in outcomes
    ]
    return summarise(changed, judged)


@dataclass(frozen=True, slots=True)
class FaultRow:
    """The same fault of one agent, with the numbers of the exercises that it ended."""

    agent: Spec
    fault: Fault
    numbers: tuple[int, ...]

    @property
    def headline(self) -> str:
        """The first line of the message, of at most 160 characters."""
        return headline(self.fault)


def headline(fault: Fault) -> str:
    """The first line of the message of a fault, of at most 160 characters."""
    line = next(iter(fault.message.strip().splitlines()), "").strip()
    return line if len(line) <= 160 else line[:159] + "…"


def fault_table(outcomes: Iterable[Outcome]) -> list[FaultRow]:
    """All faults, the most frequent first."""
    groups: dict[tuple[Spec, str, str], list[tuple[int, Fault]]] = {}
    for each in outcomes:
        if fault := each.fault:
            group = (each.exercise.agent, str(fault.kind), fault.message)
            groups.setdefault(group, []).append((each.exercise.number, fault))
    rows = []
    for (agent, _, _), members in groups.items():
        members.sort(key=lambda member: member[0])
        rows.append(FaultRow(agent, members[0][1], tuple(number for number, _ in members)))
    return sorted(rows, key=lambda row: (-len(row.numbers), row.agent.label, row.numbers))


Pairs = list[tuple[str, str]]

PREVIEWED = 1000
"""At so many exercises the page of an evaluation looks that has not begun."""


def _part(protocol: Spec, design: Design, kind: Kind) -> Spec | None:
    """The payoff or adjustment that a protocol was given or takes by default, if it takes one."""
    if kind is Kind.PAYOFF and design.payoff is not None:
        return design.payoff
    given = protocol.parameters.get(kind)
    if given is None:
        parameters = describe(Kind.PROTOCOL, protocol.id).parameters
        given = next((item.default for item in parameters if item.name == kind), None)
    if isinstance(given, Mapping):
        return Spec.from_json(given)
    return parse(kind, given) if isinstance(given, str) else None


def payoff_text(protocol: Spec, design: Design) -> str:
    """The payoff of a test, and what it is in a line; empty where the protocol has its own."""
    return _described(protocol, design, Kind.PAYOFF)


def _described(protocol: Spec, design: Design, kind: Kind) -> str:
    spec = _part(protocol, design, kind)
    if spec is None:
        return ""
    doc = describe(kind, spec.id).doc.strip().partition("\n")[0]
    return f"{spec.label}. {doc}" if doc else spec.label


def taken_sentence(
    design: Design, exercises: Sequence[Exercise], count: int | None, seeds: int
) -> str:
    """What each agent takes; exercises are one of each kind, their number that under a seed."""
    if design.unit == REPETITION:
        what = summary.repetitions_text(design)
    else:
        most = "" if design.precision is None else "at most "
        what = "exercises" if count is None else most + counted(count, EXERCISE)
        if exercises:
            what += f" of {_budgets(design, exercises)}" + " each" * (count != 1)
    return f"Each agent takes {what}{' under each seed' if seeds > 1 else ''}."


def _setting(
    evaluation: Evaluation,
    exercises: Sequence[Exercise],
    complexities: Sequence[float],
    seed: str,
) -> Pairs:
    """What was measured, in the exercises that are known; ``seed`` says from which seed."""
    protocol = evaluation.make_protocol()
    design = protocol.describe()
    lengths = {}
    if design.unit == REPETITION:
        units = design.units or 0
        if design.length is not None:
            most = "" if design.precision is None else "at most "
            whole = summary.length_text(design, design.length * units)
            lengths["Length"] = f"{most}{whole} in all"
        side = ", side by side" if units > 1 else ""
        lengths["Repetitions"] = summary.repetitions_text(design) + side
    pairs = {
        "Agents": listed(agent.label for agent in evaluation.agents),
        "Test": f"{evaluation.protocol.id}. {design.title}".removesuffix(". "),
        "Joint": _all(
            f"{listed([member.label for member in each.joint])}, in the same environments"
            for each in exercises
            if each.joint and not each.seated
        ),
        "Seated beside each agent": listed(design.seated) if design.seated else "",
        "Environments": _all(exercise.environment_class.label for exercise in exercises),
        "Complexity": _span(complexities, "{:g}".format) if complexities else "",
        **lengths,
        "Budget of an exercise": _budgets(design, exercises),
        **protocol.settings(),
        "Clock": _all(
            "wall clock: the agent's own time"
            if each.clock.kind is ClockKind.WALL
            else f"virtual clock, {each.clock.tick:g} s for an action without a declared time"
            for each in exercises
        ),
        "Time-out of an action": _all(
            f"{each.timeout.seconds:g} s, then {each.timeout.rule}"
            for each in exercises
            if each.timeout is not None
        ),
        "Payoff": payoff_text(evaluation.protocol, design) or "the protocol's own",
        "Adjustment": _described(evaluation.protocol, design, Kind.ADJUSTMENT),
        "Memory": "carried: one agent took all exercises in order"
        if protocol.memory == "carried"
        else "",
        "Seed": seed or _all(str(exercise.seed) for exercise in exercises),
        "Traces": "kept" if evaluation.traces else "not kept",
    }
    return [(name, text) for name, text in pairs.items() if text]


def _drawn_seed(record: Record, result: Result) -> str:
    """What is said of a seed that was drawn for an evaluation: all of it when it is complete."""
    if record.seed is None:
        return ""
    if not result.complete:
        return "drawn and kept secret until all exercises are done"
    return f"{record.seed}, drawn for this evaluation; --seed {record.seed} repeats it"


def _budgets(design: Design, exercises: Sequence[Exercise]) -> str:
    """The budgets; in an adaptive test, where they grow, from the shortest to the longest."""
    if design.unit != REPETITION:
        return _all(_budget_text(each.budget) for each in exercises)
    lengths = [each.budget.seconds or each.budget.max_interactions for each in exercises]
    if design.length_unit == "seconds":
        return _span(lengths, duration)
    shortest, longest = min(lengths), max(lengths)
    text = counted(round(longest), "interaction")
    return text if shortest == longest else f"{grouped(shortest)} to {text}"


def _span(numbers: Sequence[float], written: Callable[[float], str]) -> str:
    return " to ".join(map(written, dict.fromkeys((min(numbers), max(numbers)))))


def _budget_text(budget: Budget) -> str:
    """How long an exercise lasts."""
    parts = []
    if budget.interactions is not None:
        parts.append(counted(budget.interactions, "interaction"))
    if budget.seconds is not None:
        parts.append(f"{budget.seconds:g} seconds")
    return " or ".join(parts) + (", whichever ends first" if len(parts) > 1 else "")


def session_pairs(session: Mapping[str, Any]) -> Pairs:
    """How results were made, from what one session recorded."""
    machine, versions = session.get("machine", {}), session.get("versions", {})
    revisions = [
        f"{name} {state['revision'][:12]}" + (" with changes" if state.get("modified") else "")
        for name, state in session.get("revisions", {}).items()
    ]
    pairs = [
        ("Started", str(session.get("started", ""))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Revision", ", ".join(revisions)),
        ("Platform", str(machine.get("platform", ""))),
        ("Processor", str(machine.get("processor", ""))),
        ("Processors", str(machine.get("cpu_count") or "")),
    ]
    return [(name, value) for name, value in pairs if value]


def _all(texts: Iterable[str]) -> str:
    """All different texts, in the order of their first appearance."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    return listed(distinct) if distinct else ""


@dataclass(frozen=True)
class Contents:
    """What a page says, as data.

    Attributes:
        progress: How far the evaluation is, if it is not complete; otherwise empty.
        summary: What was measured, who is best, and what is not decided.
        several: Whether there are several exercises of each part.
        notes: What one must know of agents and exercises before reading a score; mostly empty.
        tables: The tables ``scores``, ``metrics``, ``differences``, ``battery``, ``complexity``,
            ``degrees`` and ``settings``, where there are any.
        setting: What was measured.
        provenance: How the results were made, once for each session that wrote any.
        places: The place of each agent, by name, which decides on its colour and marker.
        estimate: What the score estimates.
        reliability: How reliably an adaptive test tells its agents apart; empty if not known.
        warning: What one must know before reading a score; mostly empty.
        times: What the computation times of decisions say, where these were measured.
        damaged: What is wrong with files that were left out.
    """

    title: str
    progress: str
    summary: str
    notes: Sequence[str]
    several: bool
    rows: Sequence[ScoreRow]
    compared: Sequence[Comparison]
    tables: Mapping[str, Table]
    figures: Sequence[Figure]
    faults: Sequence[FaultRow]
    setting: Pairs
    provenance: Sequence[Pairs]
    places: Mapping[str, int]
    fingerprint: str
    design: Design
    estimate: str
    reliability: str
    warning: str
    times: str
    damaged: Sequence[str]


def gather(record: Record, payoff: Spec | None = None) -> Contents:
    """Gather all that a page says.

    Args:
        record: The evaluation.
        payoff: Judge its traces by this payoff instead of its own.

    Raises:
        InvalidInputError: Another payoff cannot be computed.
        StoreError: The record cannot be read.
    """
    evaluation = Evaluation.from_json(record.spec).with_seed(record.seed)
    if payoff is None:
        result = summarise(evaluation, record.outcomes())
    else:
        evaluation, result = with_payoff(evaluation, payoff), rejudge(record, payoff)
    protocol, design = evaluation.make_protocol(), result.design
    adaptive = design.unit == REPETITION
    every = result.outcomes.values()
    count = sum(map(len, every))
    rows, compared = score_rows(result), comparisons(result)
    names = {row.agent: row.name for row in rows}
    # The exercises that were taken or, before any was, those that would come first.
    exercises = [each for done in every for each in done.distinct_exercises()]
    column = np.concatenate([done.complexities for done in every])
    complexities = [float(column.min()), float(column.max())] if count else []
    if not exercises:
        exercises = list(protocol.propose(evaluation.agents[0], [])[:PREVIEWED])
        complexities = [each.complexity for each in exercises]
    waived = any(row.parts.get("unbalanced") for row in rows)
    claimed = protocol.settings().get("Balance") in (BALANCE[True], BALANCE["limit"])
    reliable = summary.reliability_sentence(reliability_of(result))
    timed = time_report(result)
    tables = {
        "scores": score_table(result, interactions=not adaptive),
        "metrics": metric_table(result),
        "differences": difference_table(compared) if compared else None,
        "battery": battery_table(result),
        "complexity": complexity_table(rows, design.unit),
        "degrees": degree_table(result),
        "settings": settings_table(timed.settings) if timed and timed.settings else None,
    }
    notes = [
        summary.exhausted_sentence(result),
        (
            "The environments were chosen by the payoff that the test was taken with; with "
            f"{payoff.label} from the beginning, others would have been chosen."
            if payoff and adaptive
            else ""
        ),
        summary.ONE_REPETITION if max(row.repetitions for row in rows) == 1 else "",
        summary.fault_sentence(rows, count) if any(row.faults for row in rows) else "",
        *summary.remarks(result),
    ]
    agents = evaluation.agents
    who = agents[0].label if len(agents) == 1 else f"{len(agents)} agents"
    classes = [each.environment_class for each in exercises]
    where = list(dict.fromkeys(each.label for each in classes))
    if len(where) > 2:  # too many to name with their parameters
        where = list(dict.fromkeys(each.id for each in classes))
    if design.seated:
        where = [design.environments]
    what = _taken(design, exercises, [len(done) for done in every])
    place = design.battery or (listed(where) if len(where) < 3 else f"{len(where)} classes")
    estimate = (
        summary.estimate_sentence(result),
        summary.bounded_sentence(result),
        summary.precision_sentence(result),
        summary.stopped_sentence(result, compared),
    )
    progress = ""
    if not result.complete:
        expected = protocol.expected()
        progress = (
            f"{counted(count, 'exercise')} done so far"
            if expected is None
            else f"{count} of {expected * len(result.scores)} exercises"
        )
    return Contents(
        title=f"{design.battery}: {who}" if design.battery else f"{who} in {listed(where)}",
        progress=progress,
        summary=" ".join(summary.result_sentences(rows, compared, f"{what} in {place}")),
        several=any(len(done) > design.parts for done in every),
        notes=[sentence for sentence in notes if sentence],
        rows=rows,
        compared=compared,
        tables={name: table for name, table in tables.items() if table is not None},
        figures=figures_of(result, record, rows, compared, timed),
        faults=fault_table(each for done in every for each in done.where(done.faults != 0)),
        setting=_setting(evaluation, exercises, complexities, _drawn_seed(record, result)),
        provenance=[session_pairs(session) for session in record.provenance()],
        places={names[agent]: place for place, agent in enumerate(result.scores)},
        fingerprint=record.fingerprint,
        design=design,
        estimate=" ".join(sentence for sentence in estimate if sentence),
        reliability=f"{reliable}. {summary.RELIABILITY}" if reliable and adaptive else "",
        warning=summary.UNBALANCED if waived and not claimed else "",
        times=timed.note if timed else "",
        damaged=damage_notes(record.damaged, record.path),  # known by now
    )


def damage_notes(damaged: Mapping[Path, StoreError], root: Path) -> list[str]:
    """What is wrong with damaged files, with their paths in a directory."""
    return [damaged[path].message.replace(f"{root}{os.sep}", "") for path in sorted(damaged)]


def figures_of(
    result: Result,
    record: Record,
    rows: Sequence[ScoreRow],
    compared: Sequence[Comparison],
    timed: TimeReport | None,
) -> list[Figure]:
    """The figures for which there is something to draw."""
    possible: list[Figure | None] = [
        figures.score_figure(rows),
        figures.difference_figure(compared),
        *figures.course_figures(result, rows),
        figures.complexity_figure(rows, adjusted=is_adjusted(result)),
        figures.learning_figure(result, rows, record.traces()),
        figures.distribution_figure(result, rows),
        *(timed.figures if timed else ()),
        degree_figure(result),
    ]
    return [figure for figure in possible if figure is not None]


def _taken(design: Design, exercises: Sequence[Exercise], done: Sequence[int]) -> str:
    """What each agent took, or all of them where they took different numbers of exercises."""
    if design.unit == REPETITION:
        return summary.repetitions_text(design)
    budgets = list(dict.fromkeys(_budget_text(exercise.budget) for exercise in exercises))
    length = f" of {budgets[0]}" if len(budgets) == 1 else ""
    if len(set(done)) > 1:
        return f"{counted(sum(done), EXERCISE)}{length} in all"
    return counted(done[0], EXERCISE) + length + " each" * (len(done) > 1 or bool(length))


_VERDICTS = {
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.NOT_SHOWN: "≈",
    Verdict.TOO_FEW: "?",
    Verdict.FAULTY: "✕",
}


def write_report(record: Record, path: Path | None = None, payoff: Spec | None = None) -> Path:
    """Write the report page of an evaluation.

    The same record always gives the same page, byte for byte.

    Args:
        record: The evaluation.
        path: The file to write; by default ``report.html`` in the directory of the evaluation.
        payoff: Judge its traces by this payoff instead of its own.

    Returns:
        The file that was written.

    Raises:
        InvalidInputError: Another payoff cannot be computed.
        StoreError: The record cannot be read or the page cannot be written.
    """
    target = record.path / "report.html" if path is None else path
    if target.is_dir():
        raise InvalidInputError(f"{target} is a directory.", "Name the file of the page.")
    page = render(gather(record, payoff))
    files.make_directory(target.parent)
    files.write(target, page.encode("utf-8", "replace"))
    return target


def templates() -> jinja2.Environment:
    """The templates of pages; everything that is put into them is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("omnimeter.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"printable": printable, "breakable": _breakable}
    environment.globals |= {
        "text": text,
        "colours": style.NAMES,
        "verdicts": {verdict.name.lower(): sign for verdict, sign in _VERDICTS.items()},
        "terms_in": terms_in,
        "text_columns": TEXT_COLUMNS,
    }
    return environment


LONGEST = 20
"""Characters of a word from which on the page shows its beginning and its end."""


def _breakable(text: str) -> str:
    """A text whose lines may end after signs and between the words of a name, not within a word.

    A word without any of these is shown with its middle left out, if there is no room for it; it
    is whole when it is pointed at, copied or printed.
    """
    from markupsafe import Markup, escape

    def word(piece: str) -> str:
        if len(piece) <= LONGEST:
            return escape(piece)
        whole = '<span class="long" title="{0}"><span>{1}</span>{2}</span>'
        return Markup(whole).format(piece, piece[:-6], piece[-6:])

    def words(part: str) -> str:
        pieces = re.split(r"(?<=[:/\\(,_=])(?=.)|(?<=[a-z])(?=[A-Z])", part)
        return Markup("<wbr>").join(map(word, pieces))

    return Markup("").join(map(words, re.split(r"(\s+)", text)))


SIGNS = "●■▲◆▼✚"
"""The markers of the figures as characters, where each agent has its own."""

TEXT_COLUMNS = (
    "Agent",
    "Faults",
    "Verdict",
    "Parameters",
    "Best",
    "Not shown to be worse",
    "Class",
)
"""The headings of the columns that hold no numbers."""


def render(contents: Contents) -> str:
    """The page as text; everything that agents wrote is escaped."""
    from markupsafe import Markup

    environment = templates()
    short = readable_names([row.label for row in contents.rows])
    environment.filters["printable"] = lambda said: printable(short(said))
    # Drawn here, with the names of agents escaped already.
    drawn = {each.name: Markup(inline_svg(each, contents.places)) for each in contents.figures}
    rows, places = contents.rows, contents.places
    # With few agents each has the marker of the figures, as a character.
    signs = zip(places, enumerate(SIGNS, 1), strict=False) if style.few(len(places)) else ()
    by_name = dict(signs)
    labels = {row.label: row.name for row in rows}
    longest_first = sorted({*places, *labels}, key=len, reverse=True)
    page: str = environment.get_template("report.html.j2").render(
        contents=contents,
        figures={each.name: each for each in contents.figures},
        drawn=drawn,
        # Cut around the names of agents, which are at the odd places.
        summary=re.split(f"({'|'.join(map(re.escape, longest_first))})", contents.summary),
        most_faults=40,
        score_places=text.decimals(n for row in rows for n in (row.value, row.low, row.high)),
        signs=by_name | {label: by_name[name] for label, name in labels.items() if name in by_name},
        repetitions=contents.design.unit == REPETITION,
    )
    return page


def write_figures(
    record: Record, directory: Path, kind: str = "svg", payoff: Spec | None = None
) -> list[Path]:
    """Write each figure of an evaluation into a file named like the figure.

    Args:
        record: The evaluation.
        directory: Where the files go.
        kind: ``svg``, ``pdf`` or ``png``.
        payoff: Judge its traces by this payoff instead of its own.

    Returns:
        The files that were written.

    Raises:
        InvalidInputError: Another payoff cannot be computed, or there is no such kind of file.
        StoreError: The record cannot be read or a file cannot be written.
    """
    contents = gather(record, payoff)
    files.make_directory(directory)
    paths = []
    for figure in contents.figures:
        paths.append(directory / f"{figure.name}.{kind}")
        save_figure(figure, contents.places, paths[-1])
    return paths
