"""Which of several outcomes of one exercise counts, in a store and where evaluations are merged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import numpy as np

from omnimeter.contract import Outcome, Outcomes
from omnimeter.contract.agent import IntArray
from omnimeter.contract.outcomes import INFRASTRUCTURE, STOPPED

WHAT_HAPPENED = ("ending", "fault", "interactions", "total", "last_time", "payoff", "paid")
"""The columns in which the outcomes of one exercise must agree. What else is in an outcome, such as
measured computation times, need not."""


class Disagreement(NamedTuple):
    """A column of ``WHAT_HAPPENED`` that differs between outcomes of the same exercises.

    Attributes:
        column: Its name.
        rows: The rows of one outcome of each such exercise.
        others: The rows of another one.
    """

    column: str
    rows: IntArray
    others: IntArray


def one_of_each(outcomes: Outcomes) -> tuple[IntArray, list[Disagreement]]:
    """Choose one outcome of each exercise, and find those that disagree.

    One that the infrastructure spoilt gives way to any other, and one of fewer attempts to one of
    more. The rest depends on nothing but what the outcomes say, and not on their order.

    Returns:
        The chosen rows in the order of the exercises' keys, and the disagreements in the order of
        ``WHAT_HAPPENED``.
    """
    keys, attempts = outcomes.keys, outcomes.attempts
    spoilt = outcomes.faults == INFRASTRUCTURE
    order = np.lexsort((-attempts, spoilt, keys))
    same = np.zeros(len(order), dtype=np.bool_)
    same[1:] = keys[order][1:] == keys[order][:-1]
    group = np.cumsum(~same) - 1
    chosen = order[~same]
    best = chosen[group]
    equal = (spoilt[order] == spoilt[best]) & (attempts[order] == attempts[best])
    tied = equal & (np.bincount(group[equal], minlength=len(chosen)) > 1)[group]
    if tied.any():
        for place, row in _of_ties(outcomes, order[tied], group[tied]):
            chosen[place] = row
    later = np.flatnonzero(same & ~spoilt[order])  # those that are not spoilt come first
    return chosen, _disagreements(outcomes, order[later - 1], order[later])


def _disagreements(outcomes: Outcomes, rows: IntArray, others: IntArray) -> list[Disagreement]:
    """In what pairs of outcomes disagree."""
    disagreements = []
    for name in WHAT_HAPPENED if len(rows) else ():
        column = outcomes.column(name)
        differ = column[rows] != column[others]
        if column.dtype.kind == "f":
            differ &= ~(np.isnan(column[rows]) & np.isnan(column[others]))
        if differ.any():
            disagreements.append(Disagreement(name, rows[differ], others[differ]))
    return disagreements


def _of_ties(outcomes: Outcomes, rows: IntArray, groups: IntArray) -> Iterator[tuple[int, int]]:
    """Of each group of outcomes that agree, the one that is kept: its group and its row.

    Objects are only made where more than columns and remarks could differ.
    """
    tied = outcomes.take(rows)
    plain = (tied.faults == 0) & (tied.interactions > 0)
    texts, open_rows = tied.remark_texts(), list[int]()
    for group, members in groupby(range(len(rows)), key=lambda place: int(groups[place])):
        own = list(members)
        if plain[own].all() and len({texts[place] for place in own}) == 1:
            yield group, int(rows[own[0]])
        else:
            open_rows += own
    chosen = np.array(open_rows, np.int64)
    triples = zip(groups[chosen].tolist(), rows[chosen].tolist(), tied.take(chosen), strict=True)
    for group, alike in groupby(triples, key=lambda triple: int(triple[0])):
        yield group, min(alike, key=lambda triple: _rank(triple[2]))[1]


def _rank(outcome: Outcome) -> tuple[bool, str]:
    """Sorts outcomes that agree. One after which the agent was not stopped tells of more."""
    return STOPPED in outcome.remarks, json.dumps(outcome.to_json(), sort_keys=True)
