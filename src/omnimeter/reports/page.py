"""The report page: its contents gathered from a stored evaluation, and one HTML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.catalogue import Kind, describe, make, parse
from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    Exercise,
    Fault,
    InvalidInputError,
    Outcome,
    Payoff,
    Protocol,
    Spec,
)
from omnimeter.contract.errors import StoreError
from omnimeter.contract.protocol import Design
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.protocols.sample import CLAIMS_BALANCE
from omnimeter.reports import figures, style, summary, text
from omnimeter.reports.comparisons import Comparison, Verdict, comparisons
from omnimeter.reports.figures import Figure, course_figure, learning, level_figure
from omnimeter.reports.plotting import inline_svg, save_figure
from omnimeter.reports.scores import (
    REPETITION,
    ScoreRow,
    is_adjusted,
    reliability_of,
    score_rows,
)
from omnimeter.reports.summary import (
    ONE_REPETITION,
    RELIABILITY,
    UNBALANCED,
    estimate_sentence,
    exhausted_sentence,
    length_text,
    rejudged_sentence,
    reliability_sentence,
    repetitions_text,
    stopped_sentence,
)
from omnimeter.reports.tables import Table, difference_table, metric_table, score_table
from omnimeter.reports.text import counted, duration, grouped, listed, printable
from omnimeter.results import files

if TYPE_CHECKING:
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
    evaluation = Evaluation.from_json(record.spec)
    if not evaluation.traces:
        raise InvalidInputError(
            f"{record.path} kept no traces, so that no other payoff can be computed.",
            "Run the evaluation again in another directory, with --traces.",
        )
    judge: Payoff = make(Kind.PAYOFF, payoff)
    changed = with_payoff(evaluation, payoff)
    changed.make_protocol()  # raises for a protocol that takes no payoff, before traces are read
    return summarise(changed, _judged(record, judge))


def _judged(record: Record, payoff: Payoff) -> list[Outcome]:
    """The stored outcomes with new payoffs; what a fault cut short still has none."""
    outcomes = record.outcomes()
    wanted = {each.exercise.key for each in outcomes if each.fault is None}
    payoffs = {key: payoff(trace) for key, trace in record.traces() if key in wanted}
    if missing := len(wanted - payoffs.keys()):
        raise StoreError(
            f"{missing} of {len(wanted)} traces are missing in {record.path}.",
            "Bring back the files in 'traces', or run the evaluation again elsewhere.",
        )
    return [
        outcome if outcome.fault else replace(outcome, payoff=payoffs[outcome.exercise.key])
        for outcome in outcomes
    ]


_LONGEST = 160
"""How many characters of a message the table shows; the rest is folded away."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """The same fault of one agent, once or more often.

    Attributes:
        agent: The agent.
        fault: The first such fault, in the order of the exercises.
        numbers: The numbers of the exercises that it ended.
    """

    agent: Spec
    fault: Fault
    numbers: tuple[int, ...]

    @property
    def headline(self) -> str:
        """The first line of the message, not too long."""
        line = next((line for line in self.fault.message.splitlines() if line.strip()), "").strip()
        return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def fault_table(outcomes: Iterable[Outcome]) -> list[FaultRow]:
    """All faults, the most frequent first."""
    groups: dict[tuple[Spec, str, str], list[Outcome]] = {}
    for each in outcomes:
        if each.fault is not None:
            group = (each.exercise.agent, str(each.fault.kind), each.fault.message)
            groups.setdefault(group, []).append(each)
    rows = []
    for (agent, _, _), members in groups.items():
        members.sort(key=lambda each: each.exercise.number)
        first = members[0].fault
        assert first is not None  # only faults are grouped
        rows.append(FaultRow(agent, first, tuple(each.exercise.number for each in members)))
    return sorted(rows, key=lambda row: (-len(row.numbers), row.agent.label, row.numbers))


Pairs = list[tuple[str, str]]


def payoff_spec(evaluation: Evaluation) -> Spec | None:
    """The payoff that the evaluation uses; ``None`` when its protocol does not take one."""
    return _part(evaluation.protocol, "payoff", Kind.PAYOFF)


def _part(protocol: Spec, name: str, kind: Kind) -> Spec | None:
    """The part that a protocol was given or takes by default; ``None`` when it takes none."""
    given = protocol.parameters.get(name)
    if given is None:
        parameters = describe(Kind.PROTOCOL, protocol.id).parameters
        given = next((item.default for item in parameters if item.name == name), None)
    if isinstance(given, Mapping):
        return Spec.from_json(given)
    return parse(kind, given) if isinstance(given, str) else None


def setting(evaluation: Evaluation, exercises: Sequence[Exercise]) -> Pairs:
    """What was measured.

    Args:
        evaluation: The evaluation.
        exercises: Its exercises, as far as they are known.
    """
    payoff, protocol = payoff_spec(evaluation), evaluation.make_protocol()
    design = protocol.describe()
    adjustment = _part(evaluation.protocol, "adjustment", Kind.ADJUSTMENT)
    lengths = {}
    if design.unit == REPETITION:
        side = ", side by side" if (design.units or 0) > 1 else ""
        lengths["Repetitions"] = repetitions_text(design) + side
        if design.length is not None:
            total = length_text(design, design.length * (design.units or 0))
            lengths = {"Length": f"{total} in all", **lengths}
    pairs = {
        "Test": f"{evaluation.protocol.id}. {design.title}".removesuffix(". "),
        "Joint": _all(
            f"{listed([member.label for member in each.joint])}, in the same environments"
            for each in exercises
            if each.joint
        ),
        "Environments": _all(exercise.environment_class.label for exercise in exercises),
        "Complexity": _range([exercise.complexity for exercise in exercises]),
        **lengths,
        "Budget of an exercise": _budgets(design, exercises),
        **protocol.settings(),
        "Clock": _all(_clock(exercise.clock) for exercise in exercises),
        "Time-out of an action": _all(
            f"{each.timeout.seconds:g} s, then {each.timeout.rule}"
            for each in exercises
            if each.timeout is not None
        ),
        "Payoff": "the protocol's own" if payoff is None else _described(Kind.PAYOFF, payoff),
        "Adjustment": "" if adjustment is None else _described(Kind.ADJUSTMENT, adjustment),
        "Memory": "carried: one agent took all exercises in order"
        if protocol.memory == "carried"
        else "",
        "Seed": _all(str(exercise.seed) for exercise in exercises),
        "Traces": "kept" if evaluation.traces else "not kept",
    }
    return [(name, text) for name, text in pairs.items() if text]


def _budgets(design: Design, exercises: Sequence[Exercise]) -> str:
    """The budgets; in an adaptive test, where they grow, from the shortest to the longest."""
    if design.unit != REPETITION:
        return _all(budget_text(each.budget) for each in exercises)
    timed = design.length_unit == "seconds"
    lengths = [each.budget.seconds or each.budget.max_interactions for each in exercises]
    shortest, longest = min(lengths), max(lengths)
    text = duration(longest) if timed else counted(round(longest), "interaction")
    if shortest == longest:
        return text
    return f"{duration(shortest) if timed else grouped(shortest)} to {text}"


def budget_text(budget: Budget) -> str:
    """How long an exercise lasts."""
    parts = []
    if budget.interactions is not None:
        parts.append(counted(budget.interactions, "interaction"))
    if budget.seconds is not None:
        parts.append(f"{budget.seconds:g} seconds")
    return " or ".join(parts) + (", whichever ends first" if len(parts) > 1 else "")


def provenance(session: Mapping[str, Any]) -> Pairs:
    """How results were made, from what one session recorded."""
    machine, versions = session.get("machine", {}), session.get("versions", {})
    revisions = [
        f"{name} {state['revision'][:12]}" + (" with changes" if state.get("modified") else "")
        for name, state in session.get("revisions", {}).items()
    ]
    processors = machine.get("cpu_count")
    pairs = [
        ("Started", str(session.get("started", ""))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Revision", ", ".join(revisions)),
        ("Platform", str(machine.get("platform", ""))),
        ("Processor", str(machine.get("processor", ""))),
        ("Processors", "" if processors is None else str(processors)),
    ]
    return [(name, value) for name, value in pairs if value]


def _described(kind: Kind, spec: Spec) -> str:
    summary = describe(kind, spec.id).doc.strip().partition("\n")[0]
    return f"{spec.label}. {summary}" if summary else spec.label


def _clock(clock: Clock) -> str:
    if clock.kind is ClockKind.WALL:
        return "wall clock: the agent's own time"
    return f"virtual clock, {clock.tick:g} s for an action without a declared time"


def _range(numbers: Sequence[float]) -> str:
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _all(texts: Iterable[str]) -> str:
    """All different texts, in the order of their first appearance."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    return listed(distinct) if distinct else ""


MOST_NAMED = 2
"""Environment classes that a title names with their parameters; of more it gives the ids alone."""


@dataclass(frozen=True)
class Contents:
    """What a page says, as data.

    Attributes:
        title: What it is about.
        progress: How far the evaluation is, if it is not complete; otherwise empty.
        summary: The result in plain sentences.
        rows: The scores, best first.
        compared: Every agent against the best.
        tables: The tables ``scores``, ``metrics`` and ``differences``, where there are any.
        figures: The figures.
        faults: The faults.
        setting: What was measured.
        provenance: How the results were made, once for each session that wrote any.
        places: The place of each agent, by label.
        design: What the test says of itself.
        estimate: What the score estimates.
        reliability: How reliably an adaptive test tells its agents apart; empty if not known.
        warning: What one must know before reading a score; mostly empty.
        fingerprint: The fingerprint of the evaluation.
    """

    title: str
    progress: str
    summary: str
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


def gather(record: Record, payoff: Spec | None = None) -> Contents:
    """Gather all that a page says.

    Args:
        record: The evaluation.
        payoff: Judge its traces by this payoff instead of its own.

    Raises:
        InvalidInputError: Another payoff cannot be computed.
        StoreError: The record cannot be read.
    """
    evaluation = Evaluation.from_json(record.spec)
    if payoff is None:
        result = summarise(evaluation, record.outcomes())
    else:
        evaluation, result = with_payoff(evaluation, payoff), rejudge(record, payoff)
    protocol, design = evaluation.make_protocol(), result.design
    adaptive = design.unit == REPETITION
    outcomes = [each for done in result.outcomes.values() for each in done]
    rows, compared = score_rows(result), comparisons(result)
    # The exercises that were taken or, before any was, those that would come first.
    exercises = [each.exercise for each in outcomes] or list(
        protocol.propose(evaluation.agents[0], [])
    )
    waived = any(row.parts.get("unbalanced") for row in rows)
    claimed = CLAIMS_BALANCE.items() <= protocol.settings().items()
    reliable = reliability_sentence(reliability_of(result))
    tables = {
        "scores": score_table(result, interactions=not adaptive),
        "metrics": metric_table(result),
        "differences": difference_table(compared) if compared else None,
    }
    sentences = [
        _opening(evaluation, design, exercises, len(outcomes)),
        exhausted_sentence(result),
        rejudged_sentence(payoff) if payoff and adaptive else "",
        *summary.score_sentences(rows),
        ONE_REPETITION if max(row.repetitions for row in rows) == 1 else "",
        *summary.comparison_sentences(compared),
        summary.fault_sentence(rows, len(outcomes)),
    ]
    return Contents(
        title=_title(evaluation, exercises),
        progress=_progress(protocol, result, len(outcomes)),
        summary=" ".join(sentence for sentence in sentences if sentence),
        rows=rows,
        compared=compared,
        tables={name: table for name, table in tables.items() if table is not None},
        figures=figures_of(result, record, rows, compared),
        faults=fault_table(outcomes),
        setting=setting(evaluation, exercises),
        provenance=[provenance(session) for session in record.provenance()],
        places={agent.label: place for place, agent in enumerate(result.scores)},
        fingerprint=record.fingerprint,
        design=design,
        estimate=f"{estimate_sentence(result)} {stopped_sentence(result)}".strip(),
        reliability=f"{reliable}. {RELIABILITY}" if reliable and adaptive else "",
        warning=UNBALANCED if waived and not claimed else "",
    )


def figures_of(
    result: Result, record: Record, rows: Sequence[ScoreRow], compared: Sequence[Comparison]
) -> list[Figure]:
    """The figures for which there is something to draw."""
    exercises = {
        each.exercise.key: each.exercise for done in result.outcomes.values() for each in done
    }
    # An adaptive test has no learning curve, so that its traces need not be read.
    adaptive = result.design.unit == REPETITION
    learned = None if adaptive else learning(exercises, record.traces())
    possible: list[Figure | None] = [
        figures.score_figure(rows),
        figures.difference_figure(compared),
        course_figure(result, rows),
        level_figure(result, rows),
        figures.complexity_figure(rows, adjusted=is_adjusted(result)),
        figures.learning_figure(learned, rows),
        figures.distribution_figure(result, rows),
    ]
    return [figure for figure in possible if figure is not None]


def _title(evaluation: Evaluation, exercises: Sequence[Exercise]) -> str:
    agents = evaluation.agents
    who = agents[0].label if len(agents) == 1 else f"{len(agents)} agents"
    where = list(dict.fromkeys(each.environment_class.label for each in exercises))
    if len(where) > MOST_NAMED:
        where = list(dict.fromkeys(each.environment_class.id for each in exercises))
    return f"{who} in {listed(where)}"


def _progress(protocol: Protocol, result: Result, done: int) -> str:
    if result.complete:
        return ""
    expected = protocol.expected()
    if expected is None:
        return f"{counted(done, 'exercise')} done so far"
    return f"{done} of {expected * len(result.scores)} exercises"


def _opening(
    evaluation: Evaluation, design: Design, exercises: Sequence[Exercise], done: int
) -> str:
    """Which test it was, and how long it was."""
    budgets = list(dict.fromkeys(budget_text(exercise.budget) for exercise in exercises))
    length = f" of {budgets[0]}" if len(budgets) == 1 else ""
    payoff = payoff_spec(evaluation)
    judged = "" if payoff is None else f", judged by the payoff {payoff.label}"
    repetitions = f"{repetitions_text(design)}, " if design.unit == REPETITION else ""
    return (
        f"{counted(len(evaluation.agents), 'agent')} took the test {evaluation.protocol.id}: "
        f"{repetitions}{counted(done, 'exercise')}{length} in all{judged}."
    )


NAME = "report.html"
"""The name of the page in the directory of its evaluation."""

MOST_FAULTS = 40
"""How many lines the table of faults has at the most."""

_SIGNS = "●■▲◆▼✚"
"""The markers of the figures, as characters."""

_VERDICTS = {
    verdict.name.lower(): sign
    for verdict, sign in (
        (Verdict.BETTER, "▲"),
        (Verdict.WORSE, "▼"),
        (Verdict.NOT_SHOWN, "≈"),
        (Verdict.TOO_FEW, "?"),
        (Verdict.FAULTY, "✕"),
    )
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
    target = record.path / NAME if path is None else path
    page = render(gather(record, payoff))
    files.make_directory(target.parent)
    files.write(target, page.encode("utf-8", "replace"))
    return target


def render(contents: Contents) -> str:
    """The page as text; everything that agents wrote is escaped."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("omnimeter.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["printable"] = printable
    # Drawn here, with the names of agents escaped already.
    drawn = {each.name: Markup(inline_svg(each, contents.places)) for each in contents.figures}
    few = style.few(len(contents.places))
    rows = contents.rows
    page: str = environment.get_template("report.html.j2").render(
        contents=contents,
        figures={each.name: each for each in contents.figures},
        drawn=drawn,
        summary=_pieces(contents.summary, contents.places),
        text=text,
        most_faults=MOST_FAULTS,
        score_places=text.decimals(n for row in rows for n in (row.value, row.low, row.high)),
        signs={
            label: (place + 1, _SIGNS[place]) for label, place in contents.places.items() if few
        },
        verdicts=_VERDICTS,
        repetitions=contents.design.unit == REPETITION,
    )
    return page


def _pieces(text: str, labels: Iterable[str]) -> list[str]:
    """A text cut around the names of agents, which are at the odd places."""
    longest_first = sorted(labels, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


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
