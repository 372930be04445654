"""Everything that stands on a report page, gathered from the record of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from omnimeter.contract import Exercise, Outcome, Protocol, Spec
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.reports import figures as drawings
from omnimeter.reports import summary
from omnimeter.reports.adaptive import (
    ONE_SITTING,
    Anytime,
    as_anytime,
    balance_warning,
    estimate_sentence,
    rejudged_sentence,
    sittings_words,
    stopped_sentence,
    used_up_sentence,
)
from omnimeter.reports.beside import Column, columns
from omnimeter.reports.comparisons import Comparison, comparisons
from omnimeter.reports.course_figures import course_figure, level_figure
from omnimeter.reports.faults import FaultRow, fault_table
from omnimeter.reports.learning import learning
from omnimeter.reports.rejudging import rejudge, with_payoff
from omnimeter.reports.reliability import reliability_of, reliability_sentence
from omnimeter.reports.scores import ScoreRow, score_table
from omnimeter.reports.setting import Pairs, budget_words, origin, payoff_spec, setting
from omnimeter.reports.shapes import Figure
from omnimeter.reports.sittings import EXERCISE, is_adjusted, unit
from omnimeter.reports.wording import counted, listed

if TYPE_CHECKING:
    from omnimeter.results import Record

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
        unit: What is counted and compared: exercises or sittings.
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
    adaptive = any(row.sittings for row in rows)  # has no learning curve: traces need no reading
    learned = None if adaptive else learning(exercises, record.traces())
    possible: list[Figure | None] = [
        drawings.score_figure(rows),
        drawings.difference_figure(compared),
        course_figure(result, rows),
        level_figure(result, rows),
        drawings.complexity_figure(rows, adjusted=is_adjusted(result)),
        drawings.learning_figure(learned, rows),
        drawings.distribution_figure(result, rows),
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
    sittings = f"{sittings_words(test)}, " if test else ""
    return (
        f"{counted(len(evaluation.agents), 'agent')} took the test {evaluation.protocol.id}: "
        f"{sittings}{counted(done, 'exercise')}{length} in all{judged}."
    )


def _remarks(test: Anytime, result: Result, payoff: Spec | None) -> list[str]:
    """What is particular about how an adaptive test was taken or judged."""
    remarks = [used_up_sentence(test, result), rejudged_sentence(payoff) if payoff else ""]
    return [remark for remark in remarks if remark]


def _sentences(rows: Sequence[ScoreRow], compared: Sequence[Comparison], done: int) -> list[str]:
    sentences = [
        *summary.score_sentences(rows),
        ONE_SITTING if max(row.sittings for row in rows) == 1 else "",
        *summary.comparison_sentences(compared),
        summary.fault_sentence(rows, done),
    ]
    return [sentence for sentence in sentences if sentence]
