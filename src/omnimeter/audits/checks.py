"""The audit of an environment class: balance, ranges, repeatability, agreement and sensitivity."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from omnimeter.audits import rules
from omnimeter.audits.sensitivity import check_sensitivity
from omnimeter.audits.subject import RUNS, Audit, Finding, Progress, Subject, counted
from omnimeter.contract import EnvironmentClass, InvalidInputError
from omnimeter.estimation import Estimate, mean

ROUNDING = 1e-9  # a mean reward that may be rounding
MAX_SHOWN = 10  # unbalanced instances that are shown at most; all are counted
WHOLE_CYCLES = 2520
"""Divisible by every number up to ten, so that short cycles of rewards are not cut off."""


def check_balance(subject: Subject) -> Finding:
    """A random agent's mean reward over the class has 0 in its interval.

    Single instances that are not balanced are named in the witness. They do not fail the check:
    the balance of a class may lie in its draws.
    """
    estimate, unbalanced = class_mean(subject, subject.confidence), _unbalanced(subject)
    symmetric = bool(np.all((subject.runs.lowest >= -1) & (subject.runs.highest <= 1)))
    holds = contains_zero(estimate)
    count = len(subject.distinct)
    summary = (
        f"A random agent's mean reward is {estimate.value:.3g}, "
        f"{100 * estimate.confidence:g} % interval {estimate.low:.3g} to {estimate.high:.3g}, "
        f"which {'contains' if holds else 'does not contain'} 0."
    )
    if not symmetric:
        summary += " There are rewards outside [-1, 1]."
    if unbalanced:
        among = f"{len(unbalanced)} of {counted(count, 'instance')}"
        summary += f" Not balanced when taken alone: {among}."
    numbers = {
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "confidence": estimate.confidence,
        "values": estimate.count,
        "rewards_within_one": symmetric,
        "distinct_instances": count,
        "decided_exactly": sum(subject.graph(each) is not None for each in subject.distinct),
        "unbalanced_instances": len(unbalanced),
    }
    witness = {"instances": unbalanced[:MAX_SHOWN]} if unbalanced else None
    claimed = subject.environment_class.claims().balanced
    return Finding("balance", claimed, holds and symmetric, summary, numbers, witness)


def class_mean(subject: Subject, confidence: float) -> Estimate:
    """The class's mean reward for a random agent.

    Where a class has only one instance, its runs are the sample. When all values are equal the
    interval is that value if so many equal signs are unlikely enough in a balanced class (the
    sign-flip test); otherwise it is as wide as the range of rewards makes it.
    """
    means = subject.runs.means
    values = means.ravel() if len(subject.distinct) == 1 else means.mean(axis=1)
    value, count = float(values[0]), len(values)
    if np.ptp(values) <= ROUNDING and 2.0 ** (1 - count) <= 1 - confidence:
        return Estimate(value, value, value, confidence, count)
    return mean(values, confidence, _support(subject))


def contains_zero(estimate: Estimate) -> bool:
    """Whether an interval contains 0, up to rounding."""
    return estimate.low <= ROUNDING and estimate.high >= -ROUNDING


def _support(subject: Subject) -> tuple[float, float]:
    """Where means can lie; a reward out of range fails another check."""
    declared = np.array([environment.rewards for environment in subject.environments])
    low = min(declared[:, 0].min(), subject.runs.lowest.min())
    high = max(declared[:, 1].max(), subject.runs.highest.max())
    return float(low), float(high)


def _unbalanced(subject: Subject) -> list[dict[str, Any]]:
    """The instances that are not balanced by themselves: exactly where all states are known."""
    # One false alarm among all instances is as rare as one of the class.
    confidence = 1 - (1 - subject.confidence) / len(subject.distinct)
    unbalanced = []
    for _, instance in subject.each("balance of single instances"):
        graph = subject.graph(instance)
        exact = None if graph is None else graph.random_mean()
        if exact is not None:
            estimate = Estimate(exact, exact, exact, 1.0, 1)
        else:
            same = [each.key == instance.key for each in subject.instances]
            estimate = mean(subject.runs.means[same].ravel(), confidence, _support(subject))
        if not contains_zero(estimate):
            interval = {"mean": estimate.value, "low": estimate.low, "high": estimate.high}
            witness = {"instance": dict(instance.data), **interval, "exact": exact is not None}
            unbalanced.append(witness)
    return unbalanced


def check_range(subject: Subject) -> Finding:
    """Every reward seen lies in the declared range; also, whether that is [-1, 1].

    Symmetric rewards are Definition 12 of the anytime test.
    """
    runs = subject.runs
    declared = np.array([environment.rewards for environment in subject.environments])
    inside = (declared[:, 0] <= runs.lowest) & (runs.highest <= declared[:, 1])
    low, high = float(declared[:, 0].min()), float(declared[:, 1].max())
    symmetric = bool(np.all(declared == (-1.0, 1.0)))
    witness = None
    if inside.all():
        summary = f"All rewards lie in the declared range [{low:g}, {high:g}]"
    else:
        first = int(np.argmin(inside))
        among = f"{np.sum(~inside)} of {counted(subject.count, 'instance')}"
        summary = f"In {among} a reward is out of the declared range [{low:g}, {high:g}]"
        witness = {
            "instance": dict(subject.instances[first].data),
            "declared": declared[first],
            "lowest": runs.lowest[first],
            "highest": runs.highest[first],
        }
    summary += ", which is symmetric." if symmetric else ", which is not [-1, 1]."
    numbers = {
        "declared": [low, high],
        "lowest": float(runs.lowest.min()),
        "highest": float(runs.highest.max()),
        "symmetric": symmetric,
        "rewards": subject.count * RUNS * subject.interactions,
    }
    return Finding("range", True, bool(inside.all()), summary, numbers, witness)


def check_rules(subject: Subject, name: str) -> Finding | None:
    """Some rules of the contract are kept; agreement is for classes with kernels only."""
    if name == "agreement" and subject.environment_class.kernels is None:
        return None
    count, probe = len(subject.distinct), subject.probe
    applied: Sequence[rules.Rule] = [rules.compiled_and_stepwise_agree]
    holds = f"Compiled and stepwise, {counted(count, 'exercise')} left the same traces."
    numbers = {"exercises": count, "interactions": probe}
    if name == "determinism":
        applied = [rules.percepts_are_repeatable]
        holds = f"The same answers twice to {probe} actions in {counted(count, 'instance')}."
        numbers = {"instances": count, "actions": probe}
    elif name == "rebuild":
        applied = [
            rules.instances_are_json,
            rules.complexity_is_finite,
            rules.draws_are_repeatable,
            rules.requested_complexity_is_drawn,
        ]
        holds = "Instances are drawn, saved as JSON and built again exactly."
        numbers = {"instances": len(subject.instances)}
    violations = [violation for rule in applied for violation in rule(subject)]
    message, witness = violations[0] if violations else (holds, None)
    if violations:
        message += f" ({counted(len(violations), 'violation')} in all)"
    numbers["violations"] = len(violations)
    return Finding(name, True, not violations, message, numbers, witness)


CHECKS: dict[str, Callable[[Subject], Finding | None]] = {
    "range": check_range,
    "balance": check_balance,
    "sensitivity": check_sensitivity,
    **{name: partial(check_rules, name=name) for name in ("determinism", "rebuild", "agreement")},
}


def audit(
    environment_class: EnvironmentClass,
    *,
    instances: int = 20,
    interactions: int = WHOLE_CYCLES,
    seed: int = 0,
    confidence: float = 0.99,
    complexities: Sequence[float] = (),
    progress: Progress | None = None,
) -> Audit:
    """Examine what an environment class claims, and what every class must keep.

    Args:
        environment_class: The class.
        instances: How many instances are drawn from it.
        interactions: How long each run of a random agent is.
        seed: The root of all random streams.
        confidence: The confidence of the intervals. A balanced class fails in about ``1 -
            confidence`` of all audits; no other check fails at random.
        complexities: Where instances are drawn in turn: at L those of complexity L - 1 to L, as
            the anytime tests choose them. Without complexities the class's own rule draws them.
        progress: Receives what is being done (a text) and the share that is done (up to 1).

    Returns:
        One finding per check. A check in which the class raises an error has not passed.

    Raises:
        InvalidInputError: A number is out of range, or a complexity has no instance.
    """
    if instances < 1 or interactions < 1 or not 0 < confidence < 1:
        raise InvalidInputError(
            f"An audit with {instances} instances, {interactions} interactions and confidence "
            f"{confidence:g} is not possible.",
            "Give at least one instance and interaction, and a confidence between 0 and 1.",
        )
    wrong = [each for each in complexities if not (isfinite(each) and each > 0)]
    if wrong:
        raise InvalidInputError(
            f"There is no complexity {wrong[0]:g}.", "Complexities are finite numbers above 0."
        )
    if instances < len(complexities):
        raise InvalidInputError(
            f"{len(complexities)} complexities cannot be examined with {instances} instances.",
            "Give at least one instance for each complexity.",
        )
    tell = progress or (lambda _: None)
    subject = Subject(
        environment_class, instances, interactions, seed, confidence, tell, tuple(complexities)
    )
    try:
        _ = subject.instances if complexities else ()
    except InvalidInputError:
        raise
    except Exception:  # the checks report the class's own errors
        pass
    findings = []
    for number, (name, check) in enumerate(CHECKS.items()):
        tell(name)
        try:
            finding = check(subject)
        except Exception as error:
            summary = f"The check could not be finished: {type(error).__name__}: {error}"
            witness = {"error": "".join(traceback.format_exception(error))}
            finding = Finding(name, claimed=True, passed=False, summary=summary, witness=witness)
        if finding is not None:
            findings.append(finding)
        tell((number + 1) / len(CHECKS))
    settings: dict[str, Any] = {"instances": instances, "interactions": interactions}
    settings |= {"seed": seed, "confidence": confidence}
    if complexities:
        settings["complexities"] = list(complexities)
    return Audit(tuple(findings), settings)
