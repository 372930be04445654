"""Generated environments of 3, 6 and 9 cells (Lambda thesis, section 5.4, Figure 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.contract import stream
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.lambda_class.space import read_space
from omnimeter.estimation import Estimate, difference, mean
from omnimeter.interaction import run_single
from omnimeter.reproductions import shared
from omnimeter.reproductions.lambda_thesis import relations
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.shared import (
    CONNECTIONS,
    FOLLOWER,
    NO_SWAPS,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    THREE_ACTIONS,
    USUAL,
    WHOLE_TURNS,
)
from omnimeter.reproductions.shared import REWARDS, Report, Reproduced, Statement, fmt, join, silent


@dataclass(frozen=True)
class ReadingResult:
    """The rewards of an agent under one reading of the text, in environments of one size."""

    reading: str
    cells: int
    agent: str
    actions: float  # the mean number
    averages: FloatArray
    with_good: float  # the share of interactions
    with_evil: float


READINGS = (USUAL, NO_SWAPS, THREE_ACTIONS, CONNECTIONS, WHOLE_TURNS)


def run_readings(environments: int, interactions: int, report: Report) -> list[ReadingResult]:
    """The rewards of oracle and follower under each reading."""
    results = []
    for number, reading in enumerate(READINGS):
        report(f"oracle and follower, {reading}", 0.6 + 0.3 * number / len(READINGS))
        for cells in relations.SIZES:
            environment_class = thesis.READINGS[reading](cells=cells, stop=relations.STOP)
            exercises = thesis.draw_exercises(
                environment_class, environments, interactions, seed=cells
            )
            spaces = (read_space(each.instance.data["space"]) for each in exercises)
            actions = float(np.mean([space.actions for space in spaces]))
            for agent in (ORACLE, FOLLOWER):
                traces = run_single(environment_class, agent.make(), exercises)
                shares = np.array(
                    [[np.mean(trace.rewards > 0), np.mean(trace.rewards < 0)] for trace in traces]
                )
                with_good, with_evil = shares.mean(axis=0).tolist()
                # Good leaves 1 and Evil -1, so the average is the difference of the shares.
                averages = shares[:, 0] - shares[:, 1]
                results.append(
                    ReadingResult(
                        reading, cells, agent.name, actions, averages, with_good, with_evil
                    )
                )
    return results


def crossing_of(sample: relations.Sample) -> Estimate:
    """After how many interactions the mean curve of Q-learning is above the follower's."""
    rng = stream(sample.cells, "lambda-generated", "crossing").generator()
    learner, follower = (sample.averages[agent.name] for agent in (Q_LEARNING, FOLLOWER))
    return thesis.crossing(sample.points, learner, follower, rng)


SMALL_DIFFERENCE = 0.1  # a difference whose interval lies within this is small
GAPS = (-2.0, 2.0)  # the range of differences of two rewards


def statements(
    samples: Sequence[relations.Sample],
    passed: Mapping[int, Estimate],
    readings: Sequence[ReadingResult],
) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided.

    Args:
        samples: The rewards of the agents.
        passed: By number of cells, when Q-learning passes the follower.
        readings: The rewards under other readings.
    """
    order = (ORACLE, Q_LEARNING, FOLLOWER, RANDOM)
    crossings = list(passed.values())
    rising = all(one.value < other.value for one, other in pairwise(crossings))
    return [
        Statement(
            "The results are in general those of the simple example: the oracle is best, then "
            "Q-learning, then the follower, then the random agent.",
            "; ".join(
                f"{sample.cells} cells: "
                + ", ".join(f"{each.title} {sample.mean(each.name).value:.3f}" for each in order)
                for sample in samples
            )
            + ". Rule: for each size the interval of each difference is above 0.",
            all(
                sample.lead(better.name, worse.name).low > 0
                for sample in samples
                for better, worse in pairwise(order)
            ),
        ),
        _size_hardly_matters(samples, ORACLE, readings),
        _size_hardly_matters(samples, FOLLOWER, readings),
        _follower_is_bad_in_three_cells(samples, readings),
        _q_learning_passes_slowly(samples, passed),
        Statement(
            "The convergence of Q-learning is slower with more cells.",
            f"It passes the follower after {join((each.value for each in crossings), '.0f')} "
            f"interactions with {join(passed, 'd')} cells. Rule: each size later than the one "
            "before, and the intervals of the smallest and the largest do not meet.",
            rising and crossings[0].high < crossings[-1].low,
        ),
    ]


def _size_hardly_matters(
    samples: Sequence[relations.Sample], agent: thesis.Reference, readings: Sequence[ReadingResult]
) -> Statement:
    gaps = {
        (one.cells, other.cells): difference(
            other.final(agent.name), one.final(agent.name), support=REWARDS
        )
        for one, other in combinations(samples, 2)
    }
    holds = all(shared.is_within(gap, SMALL_DIFFERENCE) for gap in gaps.values())
    ends = ", ".join(fmt(sample.mean(agent.name)) for sample in samples)
    return Statement(
        f"The size of the space does not matter much to the {agent.title.lower()}.",
        f"{ends} with {_sizes(samples)} cells. Differences: "
        + ", ".join(f"{to} - {of} cells {fmt(gap)}" for (of, to), gap in gaps.items())
        + f". Rule: the interval of each lies within {SMALL_DIFFERENCE}.",
        holds,
        "" if holds else _why_size_matters(agent, readings),
    )


def _why_size_matters(agent: thesis.Reference, readings: Sequence[ReadingResult]) -> str:
    """What changes the difference between the sizes, one thing at a time; no cause is guessed."""
    gains = {}
    for reading in READINGS:
        smallest, *_, largest = _of(readings, reading, agent)
        gains[reading] = fmt(difference(largest.averages, smallest.averages, support=REWARDS))
    usual, connections = (
        _list((each.actions for each in _of(readings, reading, agent)), ".1f")
        for reading in (USUAL, CONNECTIONS)
    )
    return (
        "the text does not say what is drawn again when a space is not valid. We draw the whole "
        f"description again, and have {usual} actions on average. From the smallest size to the "
        f"largest the {agent.title.lower()} then gains {gains[USUAL]}. If only the connections "
        f"are drawn again there are {connections} actions, and it gains {gains[CONNECTIONS]}. With "
        f"one thing changed in ours it gains {gains[WHOLE_TURNS]} if displacements may be whole "
        f"turns, {gains[THREE_ACTIONS]} if all spaces have three actions, and "
        f"{gains[NO_SWAPS]} if Good and Evil never change places. This section prints "
        "no numbers that could decide; lambda-battery compares readings with those of chapter 6"
    )


def _follower_is_bad_in_three_cells(
    samples: Sequence[relations.Sample], readings: Sequence[ReadingResult]
) -> Statement:
    behind = [sample.final(ORACLE.name) - sample.final(FOLLOWER.name) for sample in samples]
    gaps = [difference(behind[0], each, support=GAPS) for each in behind[1:]]
    shares = _of(readings, USUAL, FOLLOWER)
    holds = all(gap.low > 0 for gap in gaps)
    return Statement(
        "The follower is relatively bad in 3 cells, because in a small space it more often meets "
        "Evil.",
        f"It meets Evil in {_list((100 * each.with_evil for each in shares), '.0f')} % of the "
        f"interactions with {_sizes(samples)} cells, and is behind the oracle by "
        f"{_list((float(each.mean()) for each in behind), '.2f')}. "
        f"How much further behind it is in 3 cells than in each larger size: "
        f"{' and '.join(map(fmt, gaps))}. Rule: the intervals of these are above 0.",
        holds,
        "" if holds else _why_three_cells_are_not_bad(readings),
    )


def _why_three_cells_are_not_bad(readings: Sequence[ReadingResult]) -> str:
    shares = [100 * each.with_good for each in _of(readings, USUAL, FOLLOWER)]
    pairs = zip(*(_of(readings, CONNECTIONS, agent) for agent in (ORACLE, FOLLOWER)), strict=True)
    smallest, *larger = (oracle.averages - follower.averages for oracle, follower in pairs)
    further = [fmt(difference(smallest, each, support=GAPS)) for each in larger]
    return (
        "how often it meets Good differs with the size too: in "
        f"{_list(shares, '.0f')} % of the interactions. And it "
        "depends on how spaces are drawn: if only the connections of an invalid space are drawn "
        f"again, it is further behind in 3 cells by {' and '.join(further)}"
    )


def _q_learning_passes_slowly(
    samples: Sequence[relations.Sample], passed: Mapping[int, Estimate]
) -> Statement:
    leads = [sample.lead(Q_LEARNING.name, FOLLOWER.name) for sample in samples]
    learner, follower, oracle = (
        [thesis.converged_after(sample.points, sample.averages[agent.name]) for sample in samples]
        for agent in (Q_LEARNING, FOLLOWER, ORACLE)
    )
    slowest = all(own > max(others) for own, *others in zip(learner, follower, oracle, strict=True))
    return Statement(
        "Q-learning passes the follower by making use of the pattern, but only after a slow "
        "convergence.",
        f"Its lead at the end is {', '.join(map(fmt, leads))} with {_sizes(samples)} cells. Its "
        "mean curve passes the follower's after "
        + ", ".join(fmt(each, 0) for each in passed.values())
        + " interactions. It comes within 0.02 of where it ends after "
        f"{_list(learner, ',.0f')} interactions, the follower after {_list(follower, ',.0f')}, "
        f"the oracle after {_list(oracle, ',.0f')}. "
        "Rule: the intervals of the lead are above 0, and it is the last to come so close.",
        slowest and all(lead.low > 0 for lead in leads),
    )


def _of(
    readings: Sequence[ReadingResult], reading: str, agent: thesis.Reference
) -> list[ReadingResult]:
    return [each for each in readings if (each.reading, each.agent) == (reading, agent.name)]


def _list(numbers: Iterable[float], spec: str) -> str:
    return join(numbers, spec, " and ")


def _sizes(samples: Sequence[relations.Sample]) -> str:
    return _list((sample.cells for sample in samples), "d")


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = relations.ENVIRONMENTS,
    interactions: int = thesis.INTERACTIONS,
) -> Reproduced:
    """Average the four agents' rewards over generated environments of three sizes."""
    samples = relations.draw_samples(
        environments, interactions, lambda what, done: report(what, 0.6 * done)
    )
    passed = {sample.cells: crossing_of(sample) for sample in samples}
    readings = run_readings(environments, interactions, report)
    report("drawing", 0.95)
    rows: list[dict[str, Any]] = [
        {"agent": agent.name, "cells": sample.cells, **shared.fields(sample.mean(agent.name))}
        for agent in thesis.REFERENCES
        for sample in samples
    ]
    reading_rows = [
        {
            "reading": each.reading,
            "cells": each.cells,
            "agent": each.agent,
            "mean-actions": each.actions,
            **shared.fields(mean(each.averages, support=REWARDS)),
            "with-good": each.with_good,
            "with-evil": each.with_evil,
        }
        for each in readings
    ]
    title = f"Four agents, each alone, in {environments} generated environments of each size"
    return Reproduced(
        name="lambda-generated",
        title=title,
        findings="docs/findings.md#lambda",
        statements=statements(samples, passed, readings),
        figures={
            **{f"{row['agent']}.{row['cells']}-cells": row["value"] for row in rows},
            **{f"passes-follower.{cells}-cells": each.value for cells, each in passed.items()},
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "agents.csv", rows),
            "curves": shared.write_records(out / "curves.csv", relations.curve_rows(samples)),
            "readings": shared.write_records(out / "readings.csv", reading_rows),
            **relations.draw_sizes(samples, title, out / "generated"),
        },
    )
