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
    StoreError,
    Timeout,
)
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.reports import figures, style, summary, text
from omnimeter.reports.comparisons import Comparison, Verdict, comparisons
from omnimeter.reports.figures import Figure, course_figure, learning, level_figure
from omnimeter.reports.plotting import inline_svg, save_figure
from omnimeter.reports.scores import (
    EXERCISE,
    REPETITION,
    Column,
    ScoreRow,
    columns,
    is_adjusted,
    reliability_of,
    reliability_sentence,
    score_table,
    unit,
)
from omnimeter.reports.summary import (
    ONE_REPETITION,
    Anytime,
    adaptive_setting,
    as_anytime,
    balance_warning,
    estimate_sentence,
    rejudged_sentence,
    repetitions_words,
    stopped_sentence,
    used_up_sentence,
)
from omnimeter.reports.text import counted, listed, printable
from omnimeter.results import files

if TYPE_CHECKING:
    from omnimeter.results import Record


def with_payoff(evaluation: Evaluation, payoff: Spec) -> Evaluation:
    """The same evaluation, had its protocol been given this payoff."""
    protocol = evaluation.protocol
    changed = {**protocol.parameters, "payoff": payoff.to_json()}
    return replace(evaluation, protocol=replace(protocol, parameters=changed))


def rejudge(record: Record, payoff: Spec) -> Result:
    """What an evaluation says when its stored traces are judged by another payoff.

    Nothing is run: the result is the one that the evaluation with this payoff would have had. Only
    an adaptive test would have gone another way; its exercises stay those that its own payoff led
    to.

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
    changed.make_protocol()  # a protocol that takes no payoff is found before the traces are read
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
"""How many characters of a message stand in the table; the rest is folded away."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """The same thing going wrong for one agent, once or more often.

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
    """Which payoff the evaluation uses; ``None`` when its protocol has only one of its own."""
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
    payoff = payoff_spec(evaluation)
    test = as_anytime(evaluation.make_protocol())
    budgets = _all(budget_words(each.budget) for each in exercises)
    lengths = adaptive_setting(test, exercises) if test else [("Budget of an exercise", budgets)]
    pairs = [
        ("Test", _with_summary(Kind.PROTOCOL, evaluation.protocol.id)),
        ("Battery", _battery(evaluation.protocol)),
        ("Together", _all(_joint_agents(exercise) for exercise in exercises)),
        ("Environments", _all(exercise.environment_class.label for exercise in exercises)),
        ("Complexity", _range(exercise.complexity for exercise in exercises)),
        *lengths,
        ("Clock", _all(_clock(exercise.clock) for exercise in exercises)),
        ("Time-out of an action", _all(_timeout(exercise.timeout) for exercise in exercises)),
        ("Payoff", "the protocol's own" if payoff is None else _described(Kind.PAYOFF, payoff)),
        ("Adjustment", _adjustment(evaluation.protocol)),
        ("Memory", _memory(evaluation.make_protocol().memory)),
        ("Seed", _all(str(exercise.seed) for exercise in exercises)),
        ("Traces", "kept" if evaluation.traces else "not kept"),
    ]
    return [(name, words) for name, words in pairs if words]


def budget_words(budget: Budget) -> str:
    """How long an exercise lasts."""
    parts = []
    if budget.interactions is not None:
        parts.append(counted(budget.interactions, "interaction"))
    if budget.seconds is not None:
        parts.append(f"{budget.seconds:g} seconds")
    return " or ".join(parts) + (", whichever ends first" if len(parts) > 1 else "")


def origin(session: Mapping[str, Any]) -> Pairs:
    """How results were made, from what was written down at one time."""
    machine, versions = session.get("machine", {}), session.get("versions", {})
    revisions = [
        f"{name} {found['revision'][:12]}" + (" with changes" if found.get("modified") else "")
        for name, found in session.get("revisions", {}).items()
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
    return [(name, words) for name, words in pairs if words]


def _with_summary(kind: Kind, name: str) -> str:
    summary = describe(kind, name).doc.strip().partition("\n")[0]
    return f"{name}. {summary}" if summary else name


def _battery(protocol: Spec) -> str:
    """The name or the title of a battery, and how often it is taken; empty in other tests."""
    given = protocol.parameters.get("battery")
    name = given.get("title") if isinstance(given, Mapping) else given
    tests = protocol.parameters.get("tests", 1)
    return f"{name}, {counted(tests, 'test')}" if name and isinstance(tests, int) else ""


def _joint_agents(exercise: Exercise) -> str:
    """Who was in the environment at once; empty for an agent alone."""
    if not exercise.joint:
        return ""
    return f"{listed([member.label for member in exercise.joint])}, in the same environments"


def _described(kind: Kind, spec: Spec) -> str:
    summary = describe(kind, spec.id).doc.strip().partition("\n")[0]
    return f"{spec.label}. {summary}" if summary else spec.label


def _adjustment(protocol: Spec) -> str:
    """By what payoffs are adjusted; empty in tests that adjust nothing."""
    spec = _part(protocol, "adjustment", Kind.ADJUSTMENT)
    return "" if spec is None else _described(Kind.ADJUSTMENT, spec)


def _memory(memory: str) -> str:
    """What agents kept from one exercise to the next; empty where every exercise had a new one."""
    return "carried: one agent took all exercises in order" if memory == "carried" else ""


def _clock(clock: Clock) -> str:
    if clock.kind is ClockKind.WALL:
        return "wall clock: the agent's own time"
    return f"virtual clock, {clock.tick:g} s for an action without a declared time"


def _timeout(timeout: Timeout | None) -> str:
    return "" if timeout is None else f"{timeout.seconds:g} s, then {timeout.rule}"


def _range(numbers: Iterable[float]) -> str:
    found = sorted(set(numbers))
    if not found:
        return ""
    return f"{found[0]:g}" if len(found) == 1 else f"{found[0]:g} to {found[-1]:g}"


def _all(words: Iterable[str]) -> str:
    """All different words, in the order of their first appearance."""
    found = [word for word in dict.fromkeys(words) if word]
    return listed(found) if found else ""


MOST_NAMED = 2
"""Environment classes that a title names with their parameters; of more it gives the ids alone."""


@dataclass(frozen=True)
class Contents:
    """What a page says, before it looks like anything.

    Attributes:
        title: What it is about.
        progress: How far the evaluation is, if it is not complete; otherwise empty.
        summary: The result in plain sentences.
        rows: The scores, best first.
        compared: Every agent against the best.
        figures: The figures.
        faults: What went wrong.
        setting: What was measured.
        origins: How the results were made, once for each time that somebody came to write.
        places: The place of each agent, by label.
        unit: What is counted and compared: exercises or repetitions.
        columns: What is said beside the scores.
        estimate: What the score estimates, where the setting does not tell; otherwise empty.
        reliability: How reliably an adaptive test tells its agents apart; empty if nobody knows.
        warning: What one must know before reading a score; mostly empty.
        fingerprint: The name of the evaluation.
    """

    title: str
    progress: str
    summary: str
    rows: Sequence[ScoreRow]
    compared: Sequence[Comparison]
    figures: Sequence[Figure]
    faults: Sequence[FaultRow]
    setting: Pairs
    origins: Sequence[Pairs]
    places: Mapping[str, int]
    fingerprint: str
    unit: str = EXERCISE
    columns: Sequence[Column] = ()
    estimate: str = ""
    reliability: str = ""
    warning: str = ""


def gather(record: Record, payoff: Spec | None = None) -> Contents:
    """Read all that a page needs.

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
    protocol = evaluation.make_protocol()
    test = as_anytime(protocol)
    outcomes = [each for done in result.outcomes.values() for each in done]
    rows, compared = score_table(result), comparisons(result)
    exercises = _exercises(protocol, evaluation, outcomes)
    return Contents(
        title=_title(evaluation, exercises),
        progress=_progress(protocol, result, len(outcomes)),
        summary=" ".join(
            [
                _opening(evaluation, exercises, len(outcomes)),
                *(_remarks(test, result, payoff) if test else []),
                *_sentences(rows, compared, len(outcomes)),
            ]
        ),
        rows=rows,
        compared=compared,
        figures=figures_of(result, record, rows, compared),
        faults=fault_table(outcomes),
        setting=setting(evaluation, exercises),
        origins=[origin(session) for session in record.provenance()],
        places={agent.label: place for place, agent in enumerate(result.scores)},
        fingerprint=record.fingerprint,
        unit=unit(result),
        columns=columns(rows),
        estimate=f"{estimate_sentence(test, result)} {stopped_sentence(result)}" if test else "",
        reliability=reliability_sentence(reliability_of(result)) if test else "",
        warning=balance_warning(protocol, rows),
    )


def figures_of(
    result: Result, record: Record, rows: Sequence[ScoreRow], compared: Sequence[Comparison]
) -> list[Figure]:
    """The figures for which there is something to draw."""
    exercises = {
        each.exercise.key: each.exercise for done in result.outcomes.values() for each in done
    }
    adaptive = any(row.repetitions for row in rows)  # has no learning curve: traces need no reading
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


def _exercises(
    protocol: Protocol, evaluation: Evaluation, outcomes: Sequence[Outcome]
) -> list[Exercise]:
    """The exercises that were taken or, before any was, those that would come first."""
    taken = [outcome.exercise for outcome in outcomes]
    return taken or list(protocol.propose(evaluation.agents[0], []))


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


def _opening(evaluation: Evaluation, exercises: Sequence[Exercise], done: int) -> str:
    """Who took which test, and how long it was."""
    budgets = list(dict.fromkeys(budget_words(exercise.budget) for exercise in exercises))
    length = f" of {budgets[0]}" if len(budgets) == 1 else ""
    payoff = payoff_spec(evaluation)
    judged = "" if payoff is None else f", judged by the payoff {payoff.label}"
    test = as_anytime(evaluation.make_protocol())
    repetitions = f"{repetitions_words(test)}, " if test else ""
    return (
        f"{counted(len(evaluation.agents), 'agent')} took the test {evaluation.protocol.id}: "
        f"{repetitions}{counted(done, 'exercise')}{length} in all{judged}."
    )


def _remarks(test: Anytime, result: Result, payoff: Spec | None) -> list[str]:
    """What is particular about how an adaptive test was taken or judged."""
    remarks = [used_up_sentence(test, result), rejudged_sentence(payoff) if payoff else ""]
    return [remark for remark in remarks if remark]


def _sentences(rows: Sequence[ScoreRow], compared: Sequence[Comparison], done: int) -> list[str]:
    sentences = [
        *summary.score_sentences(rows),
        ONE_REPETITION if max(row.repetitions for row in rows) == 1 else "",
        *summary.comparison_sentences(compared),
        summary.fault_sentence(rows, done),
    ]
    return [sentence for sentence in sentences if sentence]


NAME = "report.html"
"""How the page is called in the directory of its evaluation."""

MOST_FAULTS = 40
"""How many lines the table of faults has at the most."""

_SIGNS = "●■▲◆▼✚"
"""The markers of the figures, as characters."""

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
    # Our own drawing, in which the names of agents are escaped already.
    drawn = {each.name: Markup(inline_svg(each, contents.places)) for each in contents.figures}
    page: str = environment.get_template("report.html.j2").render(
        contents=contents,
        figures={each.name: each for each in contents.figures},
        drawn=drawn,
        summary=_pieces(contents.summary, contents.places),
        words=text,
        most_faults=MOST_FAULTS,
        **_extras(contents),
    )
    return page


def _pieces(text: str, labels: Iterable[str]) -> list[str]:
    """A text cut around the names of agents, which are at the odd places."""
    longest_first = sorted(labels, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


def _extras(contents: Contents) -> dict[str, Any]:
    """What the template needs besides: decimals, signs and colours."""
    few = style.few(len(contents.places))
    rows, compared = contents.rows, contents.compared
    return {
        "score_places": text.decimals(n for row in rows for n in (row.value, row.low, row.high)),
        "difference_places": text.decimals(
            n for each in compared for n in (each.difference, each.low, each.high)
        ),
        "signs": {
            label: (place + 1, _SIGNS[place]) for label, place in contents.places.items() if few
        },
        "verdicts": _VERDICTS,
        "repetitions": contents.unit == REPETITION,
    }


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
