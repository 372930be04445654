"""What is said of the difference between two agents: sentences, tables, and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

from omnimeter.estimation import (
    Estimate,
    SignedRank,
)
from omnimeter.reports.between import Between, Line
from omnimeter.reports.comparisons import (
    Verdict,
    finding,
)
from omnimeter.reports.summary import comparison_sentence
from omnimeter.reports.tables import Cell, Table, finite
from omnimeter.reports.text import (
    counted,
    decimals,
    grouped,
    interval,
    listed,
    number,
    p_value,
)


def between_sentences(said: Between) -> list[str]:
    """What is known of the difference of two agents, in sentences."""
    overall, unit = said.overall, said.overall.unit
    agent, reference = overall.name, overall.reference_name
    if said.reason:
        sentences = [f"There is no overall difference: {said.reason}."]
    else:
        sentences = [comparison_sentence(overall)]
    silent = said.verdict in (Verdict.FAULTY, Verdict.TOO_FEW) and not said.reason
    if not silent and (said.tests > 1 or said.seeds > 1):
        weighed = [counted(said.tests, "test")] * (said.tests > 1)
        weighed += [counted(said.seeds, "seed")] * (said.seeds > 1)
        same = "" if said.reason else ", each with the same weight"
        sentences.append(f"Compared in {' under '.join(weighed)}{same}.")
    pairs = said.wins + said.ties + said.losses
    if pairs:
        sentences.append(
            f"{agent} did better in {grouped(said.wins)} of {counted(pairs, unit)}, {reference} in "
            f"{grouped(said.losses)}; both got the same in {grouped(said.ties)}."
        )
    if said.improvement is not None:
        shares = said.improvement.value, said.improvement.low, said.improvement.high
        value, low, high = (f"{100 * share:.0f}" for share in shares)
        sentences.append(
            f"The probability that {agent} does better is {value} % (95 % interval "
            f"{low} to {high} %; the same counts half)."
        )
    if said.typical is not None:
        typical = said.typical
        places = decimals((typical.value, typical.low, typical.high))
        ends = interval(typical.low, typical.high, places, signed=True)
        ends += ", bounded by the possible values alone" * typical.bounded
        shown = p_value(typical.p_value)
        sentences.append(
            f"The typical difference is {number(typical.value, places, signed=True)} (Hodges and "
            f"Lehmann, 95 % interval {ends}; "
            f"Wilcoxon's signed-rank test: p {shown if shown.startswith('<') else f'= {shown}'})."
        )
    if overall.watched not in (None, (overall.low, overall.high)):
        places = decimals(overall.watched)
        sentences.append(
            "The interval that also holds if what was seen was the reason for stopping: "
            f"{interval(*overall.watched, places, signed=True)}."
        )
    return sentences + needed_sentences(said)


def needed_sentences(said: Between) -> list[str]:
    """How many more exercises would decide it."""
    needed, unit = said.needed, said.overall.unit
    if needed is None:
        return []
    power = f"{100 * needed.power:g} %"
    shown = said.verdict in (Verdict.BETTER, Verdict.WORSE)
    sentences = []
    if needed.total is None:
        sentences.append(
            f"How many {unit}s would show such a difference cannot be said: {needed.reason}."
        )
        if needed.low is not None:
            sentences.append(
                f"It would take {counted(needed.low, unit)} or more even if the difference were as "
                "large as the interval allows."
            )
    else:
        low = needed.total if needed.low is None else needed.low
        span = f"95 % interval from {counted(low, unit)} on, without an end"
        if needed.high is not None:
            span = f"95 % interval {grouped(low)} to {counted(needed.high, unit)}"
        total = counted(needed.total, unit)
        if shown:
            sentences.append(f"{total} show such a difference in {power} of evaluations ({span}).")
        else:
            more = counted(needed.more or 0, f"more {unit}")
            sentences.append(
                f"{more}, {total} in all, would show such a difference in {power} of evaluations "
                f"({span})."
            )
    if needed.detectable is not None and not shown:
        places = decimals([needed.detectable])
        sentences.append(
            f"As many {unit}s as these show a difference of "
            f"{number(needed.detectable, places)} or more in {power} of evaluations."
        )
    return sentences


HEADINGS = {
    "test": "By test",
    "class": "By environment class",
    "complexity": "By complexity",
    "part": "By part of the test",
}


def between_tables(said: Between) -> list[tuple[str, Table]]:
    """The breakdown, a table for each kind, and where both differ most; with their headings."""
    tables = []
    for kind, heading in HEADINGS.items():
        lines = [line for line in said.breakdown if line.kind == kind]
        if lines:
            tables.append((f"{heading}:", _breakdown_table(kind, lines, said)))
    if said.extremes:
        tables.append(("Where they differ most:", _extreme_table(said)))
    return tables


def simultaneous_sentence(said: Between) -> str:
    """For how many intervals the confidence of the breakdown holds; empty without any."""
    count = sum(line.low is not None for line in said.breakdown)
    if count < 2:
        return ""
    kinds = dict.fromkeys(line.kind for line in said.breakdown)
    return (
        f"The {count} intervals by {listed(kinds)} hold all at once with a confidence of 95 %: the "
        "error rate is divided among them."
    )


def _breakdown_table(kind: str, lines: Sequence[Line], said: Between) -> Table:
    numbers = [(line.difference, line.low, line.high) for line in lines]
    common_places = decimals(chain(*numbers))
    rows = []
    for line, its in zip(lines, numbers, strict=True):
        # Tests may have no common scale.
        places = decimals(its) if kind == "test" else common_places
        size = number(line.difference, places, signed=True)
        ends = interval(line.low, line.high, places, signed=True)
        common = counted(line.count, line.unit) if kind == "test" else str(line.count)
        won = [Cell(str(line.wins), {"wins": line.wins})]
        won.append(Cell(str(line.losses), {"losses": line.losses}))
        rows.append(
            (
                Cell(line.name, {"kind": kind, "name": line.name}),
                Cell(size, {"difference": line.difference}, "strong"),
                Cell(ends, {"low": line.low, "high": line.high}),
                Cell(common, {"count": line.count, "unit": line.unit}),
                *(won if kind == "test" else ()),
                Cell(p_value(line.p_value), {"p_value": line.p_value}),
                Cell(
                    finding(line.verdict, line.unit),
                    {"verdict": str(line.verdict)},
                    line.verdict.name.lower(),
                ),
            )
        )
    ends = "Simultaneous 95 %" if len(said.breakdown) > 1 else "95 % interval"
    headings = [kind.capitalize(), "Difference", ends, "In common"]
    headings += [*["Won", "Lost"] * (kind == "test"), "p", "Verdict"]
    return Table(tuple(headings), tuple(rows))


def _extreme_table(said: Between) -> Table:
    extremes, unit = said.extremes, said.overall.unit
    places = decimals(n for each in extremes for n in (each.first, each.second))
    tests = any(each.test for each in extremes)
    seeds = any(each.seed is not None for each in extremes)
    described = any(each.environment_class for each in extremes)
    headings = [unit.capitalize(), *["Test"] * tests, *["Seed"] * seeds]
    headings += ["Class", "Complexity", "Environment"] * described
    headings += [said.overall.agent.label, said.overall.reference.label, "Difference"]
    rows = []
    for each in extremes:
        known = each.complexity
        cells = [Cell(str(each.number), {"number": each.number})]
        cells += [Cell(each.test, {"test": each.test})] * tests
        cells += [Cell("" if each.seed is None else str(each.seed), {"seed": each.seed})] * seeds
        if described:
            cells += [
                Cell(each.environment_class, {"environment_class": each.environment_class}),
                Cell("" if known is None else f"{known:g}", {"complexity": known}),
                Cell(each.instance, {"instance": each.instance}),
            ]
        cells += [
            Cell(number(each.first, places), {"first": each.first}),
            Cell(number(each.second, places), {"second": each.second}),
            Cell(
                number(each.difference, places, signed=True),
                {"difference": each.difference},
                "strong",
            ),
        ]
        rows.append(tuple(cells))
    return Table(tuple(headings), tuple(rows))


def between_json(said: Between) -> dict[str, Any]:
    """All of it for a program."""
    overall = said.overall

    def estimate(each: Estimate | None) -> dict[str, Any] | None:
        if each is None:
            return None
        data = {"value": each.value, "interval": [each.low, each.high], "bounded": each.bounded}
        if isinstance(each, SignedRank):
            data |= {"statistic": each.statistic, "p_value": each.p_value}
        return data

    needed = None
    if said.needed is not None:
        data = asdict(said.needed)
        needed = {**data, "more": said.needed.more, "interval": [data.pop("low"), data.pop("high")]}
        needed = {name: value for name, value in needed.items() if name not in ("low", "high")}
    whole: dict[str, Any] = finite(
        {
            "agent": overall.agent.label,
            "reference": overall.reference.label,
            "unit": overall.unit,
            "tests": said.tests,
            "seeds": said.seeds,
            "complete": said.complete,
            "difference": overall.difference,
            "interval": [overall.low, overall.high],
            "bounded": overall.bounded,
            "p_value": overall.p_value,
            "verdict": str(overall.verdict),
            "reason": said.reason,
            "count": overall.count,
            **({} if overall.watched is None else {"watched": overall.watched}),
            "wins": said.wins,
            "ties": said.ties,
            "losses": said.losses,
            "probability_of_improvement": estimate(said.improvement),
            "typical_difference": estimate(said.typical),
            "needed": needed,
            "simultaneous": sum(line.low is not None for line in said.breakdown),
            "breakdown": [
                {**asdict(line), "verdict": str(line.verdict)} for line in said.breakdown
            ],
            "extremes": [{**asdict(each), "difference": each.difference} for each in said.extremes],
        }
    )
    return whole
