"""Whether random behaviour is worth nothing: balanced environments (anytime test, Definition 13).

The class is judged by its instances: one mean per instance, and Student's interval over them.
Their long runs settle what a single instance is worth; how instances differ is what the interval
must allow for. So a class that is balanced is refused in about ``1 - level`` of all audits. This
holds unless a few rare instances carry the whole balance, which no sample of instances can see.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from omnimeter.audits.finding import Finding, counted
from omnimeter.audits.subject import Subject
from omnimeter.contract import FloatArray, Instance
from omnimeter.statistics import Estimate, mean

NOTHING = 1e-9
"""A mean reward that is nothing but rounding."""

SHOWN = 10
"""Unbalanced instances that are shown at most; all are counted."""

NAME = "balance"


def check_balance(subject: Subject) -> Finding:
    """A random agent's mean reward over the class has 0 in its interval.

    Single instances that are not balanced are named in the witness. They do not fail the check:
    the balance of a class may lie in its draws.
    """
    estimate = class_mean(subject, subject.level)
    unbalanced = _unbalanced(subject)
    in_unit = bool(np.all((subject.runs.lowest >= -1) & (subject.runs.highest <= 1)))
    holds = contains_nothing(estimate)
    numbers = {
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "level": estimate.level,
        "values": estimate.count,
        "rewards_within_one": in_unit,
        "distinct_instances": len(subject.distinct),
        "decided_exactly": sum(subject.graph(each) is not None for each in subject.distinct),
        "unbalanced_instances": len(unbalanced),
    }
    return Finding(
        NAME,
        claimed=subject.environment_class.claims().balanced,
        passed=holds and in_unit,
        summary=_summary(estimate, holds, in_unit, len(unbalanced), len(subject.distinct)),
        numbers=numbers,
        witness={"instances": unbalanced[:SHOWN]} if unbalanced else None,
    )


def class_mean(subject: Subject, level: float) -> Estimate:
    """The class's mean reward for a random agent.

    Where a class has only one instance, its runs are the sample. When all values are the same
    there is no spread to go by: they are taken at their word if so many equal signs are
    unlikely enough in a balanced class (the sign-flip test), and say nothing otherwise.
    """
    means = subject.runs.means
    values = means.ravel() if len(subject.distinct) == 1 else means.mean(axis=1)
    value, count = float(values[0]), len(values)
    if np.ptp(values) <= NOTHING and 2.0 ** (1 - count) <= 1 - level:
        return Estimate(value, value, value, level, count)
    return mean(values, level, _support(subject))


def contains_nothing(estimate: Estimate) -> bool:
    """Whether an interval contains 0, up to rounding."""
    return estimate.low <= NOTHING and estimate.high >= -NOTHING


def _support(subject: Subject) -> tuple[float, float]:
    """Where means can lie; a reward out of range is the business of another check."""
    declared = np.array([environment.rewards for environment in subject.environments])
    low = min(declared[:, 0].min(), subject.runs.lowest.min())
    high = max(declared[:, 1].max(), subject.runs.highest.max())
    return float(low), float(high)


def _unbalanced(subject: Subject) -> list[dict[str, Any]]:
    """The instances that are not balanced by themselves.

    Where all states are known this is decided exactly; elsewhere by independent runs, with a
    level so high that one false alarm among all instances is as rare as one of the class.
    """
    level = 1 - (1 - subject.level) / len(subject.distinct)
    found = []
    for _, instance in subject.each("balance of single instances"):
        graph = subject.graph(instance)
        exact = None if graph is None else graph.random_mean()
        if exact is not None:
            estimate = Estimate(exact, exact, exact, 1.0, 1)
        else:
            estimate = mean(_runs_of(subject, instance), level, _support(subject))
        if not contains_nothing(estimate):
            found.append(
                {
                    "instance": dict(instance.data),
                    "mean": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "exact": exact is not None,
                }
            )
    return found


def _runs_of(subject: Subject, instance: Instance) -> FloatArray:
    same = [each.key == instance.key for each in subject.instances]
    return subject.runs.means[same].ravel()


def _summary(estimate: Estimate, holds: bool, in_unit: bool, unbalanced: int, distinct: int) -> str:
    text = (
        f"A random agent's mean reward is {estimate.value:.3g}, "
        f"{100 * estimate.level:g} % interval {estimate.low:.3g} to {estimate.high:.3g}, "
        f"which {'contains' if holds else 'does not contain'} 0."
    )
    if not in_unit:
        text += " There are rewards outside [-1, 1]."
    if unbalanced:
        text += f" Not balanced when taken alone: {unbalanced} of {counted(distinct, 'instance')}."
    return text
