"""How reliably a test tells its agents apart: the intraclass correlation of their scores."""

from __future__ import annotations

from math import isnan

from omnimeter.contract import Spec
from omnimeter.protocols import Result
from omnimeter.reports.wording import interval, number, percent
from omnimeter.statistics import Estimate, intraclass

PLACES = 2
"""Decimals of a reliability."""


def reliability_of(result: Result) -> Estimate | None:
    """The share of the differences between agents that is not error, if it can be said.

    From the sittings or exercises that all agents with a score have in common.
    """
    scored = [agent for agent, score in result.scores.items() if score.value is not None]
    tables = [_units(result, agent) for agent in scored]
    if len(tables) < 2:
        return None
    common = sorted(set.intersection(*map(set, tables)))
    if len(common) < 2:
        return None
    found = intraclass([[values[unit] for unit in common] for values in tables])
    return None if isnan(found.value) else found


def reliability_sentence(reliability: Estimate | None) -> str:
    """How far a comparison of these agents can be trusted; empty where it cannot be said."""
    if reliability is None:
        return ""
    value, low, high = reliability.value, reliability.low, reliability.high
    return (
        f"The reliability of the comparison (intraclass correlation) is {number(value, PLACES)}, "
        f"{percent(reliability.level)} interval {interval(low, high, PLACES)}: this share of the "
        "variance of the scores is due to the agents, the rest is error. Agents that are more "
        "alike are told apart less reliably."
    )


def _units(result: Result, agent: Spec) -> dict[int, float]:
    if result.values:
        return dict(result.values.get(agent, {}))
    return {
        each.exercise.number: each.payoff
        for each in result.outcomes[agent]
        if each.payoff is not None
    }
