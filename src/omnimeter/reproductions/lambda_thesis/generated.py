"""Generated environments of 3, 6 and 9 cells (Lambda thesis, section 5.4, Figure 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.contract import Exercise, Instance, InvalidInputError, stream
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.space import read_space
from omnimeter.estimation import Estimate, difference, mean, paired_difference
from omnimeter.interaction import run_single
from omnimeter.reproductions.lambda_thesis.relations import (
    ENVIRONMENTS,
    SIZES,
    STOP,
    Sample,
    curve_rows,
    curves_of,
    draw_sizes,
    samples,
)
from omnimeter.reproductions.lambda_thesis.shared import (
    FOLLOWER,
    INTERACTIONS,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    REFERENCES,
    Reference,
    exercises,
    final,
    passes,
    settled_after,
)
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    fields,
    said,
    silent,
    write_records,
)


@dataclass(frozen=True)
class Read:
    """What an agent got under one reading, in environments of one size.

    Attributes:
        reading: Its name.
        cells: The size.
        agent: Whose rewards.
        actions: How many actions the environments have on average.
        averages: The average reward in each environment.
        with_good: In which share of interactions it was with Good.
        with_evil: In which it was with Evil.
    """

    reading: str
    cells: int
    agent: str
    actions: float
    averages: FloatArray
    with_good: float
    with_evil: float

    @property
    def value(self) -> Estimate:
        """The mean of the average rewards."""
        return mean(self.averages, support=REWARDS)


def _all_anew(cells: int, environments: int, interactions: int) -> list[Exercise]:
    return exercises(Lambda(cells=cells, stop=STOP), environments, interactions, seed=cells)


def _no_swaps(cells: int, environments: int, interactions: int) -> list[Exercise]:
    never = Lambda(cells=cells, stop=STOP, cycle="never")
    return exercises(never, environments, interactions, seed=cells)


def _three_actions(cells: int, environments: int, interactions: int) -> list[Exercise]:
    three = Lambda(cells=cells, actions=3, stop=STOP)
    return exercises(three, environments, interactions, seed=cells)


def _connections_anew(cells: int, environments: int, interactions: int) -> list[Exercise]:
    """The number of actions is drawn once; until the space is valid, only the rest is drawn."""
    taken = _all_anew(cells, environments, interactions)
    return [replace(each, instance=_connected(cells, each.number)) for each in taken]


def _connected(cells: int, number: int) -> Instance:
    rng = stream(cells, "connections-anew", number).generator()
    return Lambda(cells=cells, actions=_actions(rng, cells), stop=STOP).draw(rng)


def _whole_turns(cells: int, environments: int, interactions: int) -> list[Exercise]:
    """Displacements are drawn from 0 to the number of cells, which is staying once more."""
    taken = _all_anew(cells, environments, interactions)
    return [replace(each, instance=_turned(cells, each.number)) for each in taken]


def _turned(cells: int, number: int) -> Instance:
    rng = stream(cells, "whole-turns", number).generator()
    while True:
        shape = (cells, _actions(rng, cells) - 1)
        steps = rng.integers(cells + 1, size=shape) * rng.choice((-1, 1), size=shape)
        try:
            return Lambda(space=_description(steps.tolist()), stop=STOP).draw(rng)
        except InvalidInputError:
            continue


def _description(steps: Sequence[Sequence[int]]) -> str:
    """The space in which the actions of each cell lead so many cells on or back."""
    return "|".join(
        "".join(f"{action}{'+' * step}{'-' * -step}" for action, step in enumerate(cell, start=1))
        for cell in steps
    )


def _actions(rng: np.random.Generator, cells: int) -> int:
    """Geometric from 2 up to the number of cells."""
    actions = 2
    while actions < cells and rng.random() < 0.5:
        actions += 1
    return actions


READINGS: dict[str, Callable[[int, int, int], list[Exercise]]] = {
    "all-drawn-anew": _all_anew,
    "no-swaps": _no_swaps,
    "three-actions": _three_actions,
    "connections-drawn-anew": _connections_anew,
    "whole-turns": _whole_turns,
}
"""First as everywhere else: an invalid space is drawn anew with its number of actions, Good and
Evil change places, and displacements are shorter than a whole turn. Then with one thing otherwise
at a time."""


def read_differently(environments: int, interactions: int, report: Report) -> list[Read]:
    """What oracle and follower get under each reading."""
    found = []
    for number, (reading, taken_at) in enumerate(READINGS.items()):
        report(f"oracle and follower, {reading}", 0.6 + 0.3 * number / len(READINGS))
        for cells in SIZES:
            taken = taken_at(cells, environments, interactions)
            found += [_read(reading, cells, agent, taken) for agent in (ORACLE, FOLLOWER)]
    return found


def _read(reading: str, cells: int, agent: Reference, taken: Sequence[Exercise]) -> Read:
    traces = run_single(Lambda(cells=cells), agent.make, taken)
    shares = np.array(
        [[np.mean(trace.rewards > 0), np.mean(trace.rewards < 0)] for trace in traces]
    )
    actions = [read_space(each.instance.data["space"]).actions for each in taken]
    with_good, with_evil = shares.mean(axis=0).tolist()
    # Good leaves 1 and Evil -1, so the average reward is the difference of the shares.
    averages = shares[:, 0] - shares[:, 1]
    return Read(reading, cells, agent.name, float(np.mean(actions)), averages, with_good, with_evil)


HARDLY = 0.1
"""A difference whose interval lies within this is hardly one."""

GAPS = (-2.0, 2.0)
"""Where differences of two rewards lie."""

USUAL, NO_SWAPS, THREE_ACTIONS, CONNECTIONS, WHOLE_TURNS = READINGS


def statements(
    found: Sequence[Sample], passed: Mapping[int, Estimate], readings: Sequence[Read]
) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    return [
        _the_order_is_that_of_the_example(found),
        _size_hardly_matters(found, ORACLE, readings),
        _size_hardly_matters(found, FOLLOWER, readings),
        _follower_is_bad_in_three_cells(found, readings),
        _q_learning_passes_slowly(found, passed),
        _more_cells_are_slower(passed),
    ]


def _the_order_is_that_of_the_example(found: Sequence[Sample]) -> Statement:
    order = (ORACLE, Q_LEARNING, FOLLOWER, RANDOM)
    gaps = [
        paired_difference(sample.final(better.name), sample.final(worse.name), support=REWARDS)
        for sample in found
        for better, worse in pairwise(order)
    ]
    return Statement(
        "The general picture is that of the simple example: the oracle is best, then Q-learning, "
        "then the follower, then the random agent.",
        "; ".join(
            f"{sample.cells} cells: "
            + ", ".join(
                f"{each.title} {final(sample.averages[each.name]).value:.3f}" for each in order
            )
            for sample in found
        )
        + ". Rule: for each size the interval of each difference is above 0.",
        all(gap.low > 0 for gap in gaps),
    )


def _size_hardly_matters(
    found: Sequence[Sample], agent: Reference, readings: Sequence[Read]
) -> Statement:
    gaps = {
        (one.cells, other.cells): difference(
            other.final(agent.name), one.final(agent.name), support=REWARDS
        )
        for one, other in combinations(found, 2)
    }
    holds = all(gap.low > -HARDLY and gap.high < HARDLY for gap in gaps.values())
    ends = ", ".join(said(final(sample.averages[agent.name])) for sample in found)
    return Statement(
        f"The size of the space does not matter much to the {agent.title.lower()}.",
        f"{ends} with {_sizes(found)} cells. Differences: "
        + ", ".join(f"{to} - {of} cells {said(gap)}" for (of, to), gap in gaps.items())
        + f". Rule: the interval of each lies within {HARDLY}.",
        holds,
        "" if holds else _why_size_matters(agent, readings),
    )


def _why_size_matters(agent: Reference, readings: Sequence[Read]) -> str:
    """What changes the difference between the sizes, one thing at a time; no cause is guessed."""
    across = {reading: said(_across(readings, reading, agent)) for reading in READINGS}
    usual, kept = (
        _listed([read.actions for read in _of(readings, reading, agent)], 1)
        for reading in (USUAL, CONNECTIONS)
    )
    return (
        "the text does not say what is drawn again when a space is not valid. We draw the whole "
        f"description again, and have {usual} actions on average. From the smallest size to the "
        f"largest the {agent.title.lower()} then gains {across[USUAL]}. If only the connections "
        f"are drawn again there are {kept} actions, and it gains {across[CONNECTIONS]}. With one "
        f"thing changed in ours it gains {across[WHOLE_TURNS]} if displacements may be whole "
        f"turns, {across[THREE_ACTIONS]} if all spaces have three actions, and "
        f"{across[NO_SWAPS]} if Good and Evil never change places. Which of these the thesis had "
        "is not known"
    )


def _across(readings: Sequence[Read], reading: str, agent: Reference) -> Estimate:
    """How much more an agent gets in the largest size than in the smallest."""
    smallest, *_, largest = _of(readings, reading, agent)
    return difference(largest.averages, smallest.averages, support=REWARDS)


def _follower_is_bad_in_three_cells(found: Sequence[Sample], readings: Sequence[Read]) -> Statement:
    smallest, *larger = (_behind(sample) for sample in found)
    gaps = [difference(smallest, each, support=GAPS) for each in larger]
    shares = _of(readings, USUAL, FOLLOWER)
    holds = all(gap.low > 0 for gap in gaps)
    return Statement(
        "The follower is relatively bad in 3 cells, because in a small space it more often meets "
        "Evil.",
        f"It meets Evil in {_listed([100 * read.with_evil for read in shares], 0)} % of the "
        f"interactions with {_sizes(found)} cells, and is behind the oracle by "
        f"{_listed([float(_behind(sample).mean()) for sample in found], 2)}. "
        f"How much further behind it is in 3 cells than in each larger size: "
        f"{' and '.join(map(said, gaps))}. Rule: the intervals of these are above 0.",
        holds,
        "" if holds else _why_three_cells_are_not_bad(readings),
    )


def _why_three_cells_are_not_bad(readings: Sequence[Read]) -> str:
    shares = _of(readings, USUAL, FOLLOWER)
    pairs = zip(
        _of(readings, CONNECTIONS, ORACLE), _of(readings, CONNECTIONS, FOLLOWER), strict=True
    )
    smallest, *larger = (oracle.averages - follower.averages for oracle, follower in pairs)
    further = [said(difference(smallest, each, support=GAPS)) for each in larger]
    return (
        "how often it meets Good differs with the size too: in "
        f"{_listed([100 * read.with_good for read in shares], 0)} % of the interactions. And it "
        "depends on how spaces are drawn: if only the connections of an invalid space are drawn "
        f"again, it is further behind in 3 cells by {' and '.join(further)}"
    )


def _behind(sample: Sample) -> FloatArray:
    """By how much the follower gets less than the oracle, in each environment."""
    return sample.final(ORACLE.name) - sample.final(FOLLOWER.name)


def _q_learning_passes_slowly(found: Sequence[Sample], passed: Mapping[int, Estimate]) -> Statement:
    leads = [
        paired_difference(
            sample.final(Q_LEARNING.name), sample.final(FOLLOWER.name), support=REWARDS
        )
        for sample in found
    ]
    slow = {
        agent.name: [settled_after(sample.points, sample.averages[agent.name]) for sample in found]
        for agent in (Q_LEARNING, FOLLOWER, ORACLE)
    }
    slowest = all(
        slow[Q_LEARNING.name][place] > max(slow[FOLLOWER.name][place], slow[ORACLE.name][place])
        for place in range(len(found))
    )
    return Statement(
        "Q-learning passes the follower by making use of the pattern, but only after a slow "
        "convergence.",
        f"Its lead at the end is {', '.join(map(said, leads))} with {_sizes(found)} cells. Its "
        "mean curve passes the follower's after "
        + ", ".join(said(each, 0) for each in passed.values())
        + " interactions. It comes within 0.02 of where it ends after "
        f"{_listed(slow[Q_LEARNING.name], 0)} interactions, the follower after "
        f"{_listed(slow[FOLLOWER.name], 0)}, the oracle after {_listed(slow[ORACLE.name], 0)}. "
        "Rule: the intervals of the lead are above 0, and it is the last to come so close.",
        slowest and all(lead.low > 0 for lead in leads),
    )


def _more_cells_are_slower(passed: Mapping[int, Estimate]) -> Statement:
    crossings = list(passed.values())
    rising = all(one.value < other.value for one, other in pairwise(crossings))
    return Statement(
        "The convergence of Q-learning is slower with more cells.",
        "It passes the follower after "
        + ", ".join(f"{each.value:.0f}" for each in crossings)
        + f" interactions with {', '.join(map(str, passed))} cells. Rule: each size later than the "
        "one before, and the intervals of the smallest and the largest do not meet.",
        rising and crossings[0].high < crossings[-1].low,
    )


def _of(readings: Sequence[Read], reading: str, agent: Reference) -> list[Read]:
    return [read for read in readings if (read.reading, read.agent) == (reading, agent.name)]


def _listed(numbers: Sequence[float], digits: int) -> str:
    texts = [f"{number:,.{digits}f}" for number in numbers]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def _sizes(found: Sequence[Sample]) -> str:
    return _listed([sample.cells for sample in found], 0)


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
) -> Reproduced:
    """Average the four agents' rewards over generated environments of three sizes."""
    found = samples(environments, interactions, lambda what, done: report(what, 0.6 * done))
    passed = {sample.cells: crossing(sample) for sample in found}
    readings = read_differently(environments, interactions, report)
    report("drawing", 0.95)
    rows, curves = _rows(found), curves_of(found)
    title = f"Four agents, each alone, in {environments} generated environments of each size"
    return Reproduced(
        name="lambda-generated",
        title=title,
        statements=statements(found, passed, readings),
        figures={
            **{f"{row['agent']}.{row['cells']}-cells": row["value"] for row in rows},
            **{f"passes-follower.{cells}-cells": each.value for cells, each in passed.items()},
        },
        rows=rows,
        files={
            "table": write_records(out / "agents.csv", rows),
            "curves": write_records(out / "curves.csv", curve_rows(curves)),
            "readings": write_records(out / "readings.csv", _reading_rows(readings)),
            **draw_sizes(curves, title, out / "generated"),
        },
    )


def crossing(sample: Sample) -> Estimate:
    """After how many interactions the mean curve of Q-learning is above the follower's."""
    rng = stream(sample.cells, "lambda-generated", "crossing").generator()
    learner, follower = (sample.averages[agent.name] for agent in (Q_LEARNING, FOLLOWER))
    return passes(sample.points, learner, follower, rng)


def _rows(found: Sequence[Sample]) -> list[dict[str, Any]]:
    return [
        {
            "agent": agent.name,
            "cells": sample.cells,
            **fields(final(sample.averages[agent.name])),
        }
        for agent in REFERENCES
        for sample in found
    ]


def _reading_rows(readings: Sequence[Read]) -> list[dict[str, Any]]:
    return [
        {
            "reading": read.reading,
            "cells": read.cells,
            "agent": read.agent,
            "mean-actions": read.actions,
            **fields(read.value),
            "with-good": read.with_good,
            "with-evil": read.with_evil,
        }
        for read in readings
    ]
