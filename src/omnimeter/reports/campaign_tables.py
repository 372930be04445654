"""What a campaign says in sentences and tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from omnimeter.reports import summary
from omnimeter.reports.campaign_sections import SHORTEST, Section
from omnimeter.reports.comparisons import Verdict
from omnimeter.reports.scores import Eligibility, ScoreRow, eligibility_over
from omnimeter.reports.tables import (
    EFFECT,
    Cell,
    Table,
    complexity_table,
    difference_table,
    effect_cells,
    finite,
    metric_table_of,
    settings_table,
)
from omnimeter.reports.text import (
    MISSING,
    counted,
    decimals,
    fault_counts,
    interval,
    listed,
    number,
    p_value,
    printable,
)

MATRIX = 6
"""Tests up to which the overview has a column for each."""


def result_sentences(sections: Sequence[Section], agents: int, exercises: int) -> list[str]:
    """What was measured, who is best, and what is not decided: at most three sentences."""
    seeds = max((each.seeds[0] for each in sections), default=0)
    under = f" under {counted(seeds, 'seed')}" if seeds > 1 else ""
    what, begun = counted(len(sections), "test"), sum(each.seeds[0] > 0 for each in sections)
    taken = f"{begun} of {what}" if begun < len(sections) else what
    first = f"{counted(agents, 'agent')} took {taken}{under}: {counted(exercises, 'exercise')}."
    if not exercises:
        first = "No exercise has been finished yet."
    shown, leading = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    alone = []
    undecided = []
    for section in sections:
        best = section.best
        if best is None:
            continue
        others = [each.verdict for each in section.compared]
        if len(section.rows) == 1:
            alone.append(section.title)
        elif section.undecided or Verdict.WORSE not in others:  # faulty ones are not compared
            share = "share" if len(section.tied) > 1 else "has"
            leading[f"{_best_names(section, best)} {share}"].append(section.title)
        else:
            shown[best.name].append(section.title)
        if section.undecided:
            undecided.append(section)
    clauses = [f"{name} is shown to be best in {_named(tests)}" for name, tests in shown.items()]
    clauses += [f"{who} the best score in {_named(tests)}" for who, tests in leading.items()]
    if len(clauses) > summary.NAMED:
        clauses = [*clauses[: summary.NAMED], "others are best in the rest"]
    second = f"{'; '.join(clauses)}." if clauses else "There is no score yet."
    if alone and not clauses:
        second = _alone(sections) if len(sections) == 1 else "No test has a second agent."
    third = _undecided_sentence(sections, undecided)
    return [each for each in (first, second, third) if each]


def _undecided_sentence(sections: Sequence[Section], undecided: Sequence[Section]) -> str:
    """In which of some tests it is not decided which agent is best."""
    what = counted(len(sections), "test")
    if not undecided:
        return summary.decided_sentence([c.verdict for each in sections for c in each.compared])
    if len(undecided) > 2:
        if len(undecided) == len(sections):
            return f"In none of the {what} is it decided which agent is best."
        return f"In {len(undecided)} of the {what} it is not decided which agent is best."
    cases = [
        f"which agent is best in {each.title}"
        if len(each.tied) > 1
        else f"whether {best.name} is better than {summary.either(each.undecided)} in {each.title}"
        for each in undecided
        if (best := each.best) is not None
    ]
    return f"Not decided is {listed(cases)}."


def _best_names(section: Section, best: ScoreRow) -> str:
    """All agents with the best score of a test."""
    names = [row.name for row in section.tied] or [best.name]
    return listed(names) if len(names) <= summary.NAMED else counted(len(names), "agent")


def _alone(sections: Sequence[Section]) -> str:
    """The score of the only agent of the only test."""
    ((row,),) = (section.rows for section in sections)
    places = decimals((row.value, row.low, row.high))
    ends = "" if row.low is None else f" (95 % interval {interval(row.low, row.high, places)})"
    return f"{row.name} scored {number(row.value, places)}{ends}."


def _named(tests: Sequence[str]) -> str:
    return listed(tests) if len(tests) <= summary.NAMED else counted(len(tests), "test")


def remarks_of(section: Section) -> list[str]:
    """What to know of the scores of a test: what marks mean, and which intervals are bounded."""
    known = {row.label: row.eligibility for row in section.rows}
    scores = section.scores
    names = [r.name for r in section.rows if scores[r.label].bounded and not r.faults]
    sentences = [
        *summary.eligibility_sentences(known, only_scores=True),
        *section.remarks,
        summary.bounded_text(names, section.design.unit, seeds=section.seeds[1]),
    ]
    return [each for each in sentences if each]


def bounded_differences(section: Section) -> str:
    """Says which intervals of differences are bounded; mostly empty."""
    names = [each.name for each in section.compared if each.bounded]
    of = "of the difference " if len(names) == 1 else "of the differences "
    return summary.bounded_text(names, section.design.unit, of=of)


def bounded_spreads(section: Section) -> str:
    """Says which intervals of interquartile means are bounded; mostly empty."""
    names = [each.name for each in section.spreads if each.middle.bounded]
    if not names:
        return ""
    who = listed(names) if len(names) <= summary.NAMED else counted(len(names), "agent")
    one = len(names) == 1
    return (
        f"The interval{'' if one else 's'} of the interquartile mean of {who} "
        f"{'is' if one else 'are'} bounded: too few values carry the spread, so that nothing but "
        "their order and the possible payoffs count."
    )


def tables_of(section: Section) -> dict[str, Table]:
    """The tables of a test, by their names."""
    rows = section.rows
    timed = section.timed
    tables = {
        "scores": leaderboard(section),
        "metrics": metric_table_of(rows, section.design.metrics),
        "differences": difference_table(section.compared) if section.compared else None,
        "variance": variance_table(section),
        "spreads": spread_table(section),
        "complexity": complexity_table(section.rows, section.design.unit),
        "relations": relation_table(section),
        "speeds": speed_table(section),
        "settings": settings_table(timed.settings) if timed and timed.settings else None,
    }
    return {name: table for name, table in tables.items() if table is not None}


def _name(label: str, name: str) -> Cell:
    return Cell(name, {"agent": printable(label)})


def leaderboard(section: Section) -> Table:
    """The scores of a test over all seeds, the best first."""
    rows = section.rows
    places = decimals(n for row in rows for n in (row.value, row.low, row.high))
    cells = []
    for row in rows:
        score = section.scores[row.label]
        faults = fault_counts(row.faults)
        seeds = str(score.evaluations)
        if score.evaluations != score.expected:
            seeds += f" of {score.expected}"
        cells.append(
            (
                _name(row.label, row.name),
                Cell(MISSING if row.rank is None else str(row.rank), {"rank": row.rank}),
                Cell(number(row.value, places), {"score": row.value}, "strong" * (row.rank == 1)),
                Cell(
                    interval(row.low, row.high, places),
                    {
                        **{"low": row.low, "high": row.high, "confidence": 0.95},
                        "bounded": score.bounded,
                    },
                ),
                Cell(seeds, {"seeds": score.evaluations, "seeds_planned": score.expected}),
                Cell(f"{row.count:,}".replace(",", " "), {"exercises": row.count}),
                Cell(
                    faults or "none",
                    {
                        "faults": sum(row.faults.values()),
                        "own_faults": row.eligibility.own_faults,
                        "privileged": row.eligibility.privileged,
                        "complete": score.complete,
                    },
                    "error" if faults else "dim",
                ),
            )
        )
    headings = ("Agent", "Rank", "Score", "95 % interval", "Seeds", "Exercises", "Faults")
    return Table(headings, tuple(cells))


def _ends(
    estimate: Any, places: int, names: tuple[str, str], *, signed: bool = False, **more: Any
) -> Cell:
    """A cell with both ends of an interval, which may be infinite, and more data."""
    data = dict(zip(names, (estimate.low, estimate.high), strict=True)) | more
    return Cell(interval(estimate.low, estimate.high, places, signed=signed), data)


def spread_table(section: Section) -> Table | None:
    """The interquartile means, and how likely each agent is better than the best one."""
    if not section.spreads:
        return None
    places = decimals(n for e in section.spreads for n in (e.middle.value, e.middle.low))
    compared = any(each.improvement is not None for each in section.spreads)
    rows = []
    for each in section.spreads:
        better = each.improvement
        cells = [
            _name(each.agent.label, each.name),
            Cell(number(each.middle.value, places), {"interquartile_mean": each.middle.value}),
            _ends(each.middle, places, ("low", "high"), bounded=each.middle.bounded),
        ]
        if compared and better is not None:
            cells.append(Cell(number(better.value, 2), {"improvement": better.value}))
            cells.append(_ends(better, 2, ("improvement_low", "improvement_high")))
        elif compared:
            cells.append(Cell(MISSING, {"improvement": None}))
            cells.append(Cell(MISSING, {"improvement_low": None, "improvement_high": None}))
        rows.append(tuple(cells))
    headings = ["Agent", "Interquartile mean", "95 % interval"]
    headings += ["P(better than best)", "Simultaneous 95 %"] * compared
    return Table(tuple(headings), tuple(rows))


def relation_table(section: Section) -> Table | None:
    """Rank correlations and slopes of payoff and complexity."""
    if not section.relations:
        return None
    slopes = [each.line.slope for each in section.relations]
    places = decimals(n for each in slopes for n in (each.value, each.low, each.high))
    rows = tuple(
        (
            _name(each.agent.label, each.name),
            Cell(
                number(finite(each.rank.value), 2, signed=True)
                if each.rank.value == each.rank.value
                else MISSING,
                {"rank_correlation": finite(each.rank.value)},
            ),
            _ends(each.rank, 2, ("rank_low", "rank_high"), signed=True),
            Cell(p_value(each.rank.p_value), {"p_value": each.rank.p_value}),
            Cell(
                number(each.line.slope.value, places, signed=True),
                {"slope": each.line.slope.value, "intercept": each.line.intercept},
            ),
            _ends(each.line.slope, places, ("slope_low", "slope_high"), signed=True),
        )
        for each in section.relations
    )
    headings = (
        "Agent",
        "Rank correlation",
        "95 % interval",
        "p",
        "Slope",
        "95 % interval of the slope",
    )
    return Table(headings, rows)


def speed_table(section: Section) -> Table | None:
    """After how many interactions each agent had learnt; ``None`` where no agent had."""
    if not section.learnt:
        return None
    labels = {row.name: row.label for row in section.rows}
    rows = tuple(
        (
            _name(labels[name], name),
            Cell(number(speed.value, 0), {"interactions": speed.value}),
            _ends(speed, 0, ("low", "high")),
            Cell(str(speed.count), {"exercises": speed.count}),
            Cell(str(speed.censored), {"not_learnt": speed.censored}),
        )
        for name, speed in section.speeds.items()
    )
    headings = ("Agent", "Interactions", "95 % interval", "Exercises", "Not learnt")
    return Table(headings, rows)


def learning_sentences(section: Section) -> list[str]:
    """What is said of how fast agents learnt that no table says; mostly empty."""
    sentences = []
    if section.speeds and not section.learnt:
        who = "none of the others" if section.untold else "no agent"
        sentences.append(
            f"No learning speed is known: {who} kept 90 % of its final reward in more than half of "
            "its exercises."
        )
    if section.untold:
        rest = len(section.untold) - summary.NAMED
        others = [counted(rest, "other agent")] if rest > 0 else []
        who = listed([*section.untold[: summary.NAMED], *others])
        sentences.insert(
            0,
            f"The learning speed of {who} cannot be told: that needs exercises of {SHORTEST} "
            "interactions or more.",
        )
    return sentences


def variance_table(section: Section) -> Table | None:
    """Whether agents differ on the same exercises."""
    if section.variance is None:
        return None
    units = section.variance.units
    row = (
        Cell(counted(section.variance.agents, "agent"), {"agents": section.variance.agents}),
        Cell(str(units), {"units": units}),
        *effect_cells(section.variance.effect),
    )
    return Table(("Effect of", f"{section.design.unit.capitalize()}s", *EFFECT), (row,))


def overview_table(sections: Sequence[Section]) -> Table:
    """All tests: a column for each where they are few, and otherwise a row for each."""
    if len(sections) > MATRIX:
        return Table(
            ("Test", "Best", "Score", "95 % interval", "Not shown to be worse"),
            tuple(map(_test_row, sections)),
        )
    known = defaultdict[str, list[Eligibility]](list)
    for section in sections:
        for row in section.rows:
            known[row.label].append(row.eligibility)
    labels = {label: eligibility_over(each) for label, each in known.items()}
    by_test = [{row.label: row for row in section.rows} for section in sections]
    # Ranks of different tests are not comparable: only those that all agents took count.
    common = [rows for rows in by_test if len(rows) == len(labels)]
    ranks: dict[str, float] = {}
    for label in labels if common else ():
        own = [rank for rows in common if (rank := rows[label].rank)]
        if len(own) == len(common):
            ranks[label] = fmean(own)
    order = sorted(
        labels, key=lambda label: (labels[label].order, ranks.get(label, len(labels) + 1))
    )
    several = len(common) > 1
    table = []
    for label in order:
        cells = [_name(label, label + labels[label].mark)]
        if several:
            mean = ranks.get(label)
            cells.append(Cell(MISSING if mean is None else f"{mean:.3g}", {"mean_rank": mean}))
        for section, rows in zip(sections, by_test, strict=True):
            its = rows.get(label)
            ends = [n for each in section.rows for n in (each.value, each.low, each.high)]
            value = None if its is None else its.value
            verdicts = {e.agent.label: e.verdict.name.lower() for e in section.compared}
            best = its is not None and its.rank == 1
            look = "strong" if best else verdicts.get(label, "")
            name = f"score_{section.key}"  # titles may be those of other columns
            cells.append(Cell(number(value, decimals(ends)), {name: value}, look))
        table.append(tuple(cells))
    headings = ["Agent", *["Mean rank"] * several, *(each.title for each in sections)]
    return Table(tuple(headings), tuple(table))


def _test_row(section: Section) -> tuple[Cell, ...]:
    best = section.best
    rows = section.rows
    places = decimals(n for row in rows for n in (row.value, row.low, row.high))
    value, low, high = (None, None, None) if best is None else (best.value, best.low, best.high)
    others = section.undecided
    few = "none" if not others else counted(len(others), "agent")
    if 0 < len(others) <= summary.NAMED:
        few = listed(others)
    faulty = sum(each.verdict is Verdict.FAULTY for each in section.compared)
    if faulty:
        few += f"; not compared, because of faults: {counted(faulty, 'agent')}"
    return (
        Cell(section.title, {"test": section.test, "environment_class": section.environment_class}),
        Cell(
            "no score" if best is None else _best_names(section, best),
            {"best": best and best.label, "tied": len(section.tied)},
        ),
        Cell(number(value, places), {"score": value}),
        Cell(interval(low, high, places), {"low": low, "high": high}),
        Cell(
            few,
            {"not_shown": len(others), "not_compared": faulty},
            "" if others or faulty else "dim",
        ),
    )
