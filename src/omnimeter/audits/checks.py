"""The audit of an environment class: balance, sensitivity, structure, range, repeatability."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from omnimeter.audits import rules
from omnimeter.audits.sensitivity import check_sensitivity
from omnimeter.audits.states import Graph
from omnimeter.audits.structure import check_structure
from omnimeter.audits.subject import RUNS, Audit, Finding, Progress, Subject, counted
from omnimeter.audits.symmetry import check_symmetry
from omnimeter.contract import EnvironmentClass, InvalidInputError
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.errors import check_count
from omnimeter.estimation import Estimate, mean

ROUNDING = 1e-9  # a mean reward that may be rounding
MAX_SHOWN = 10  # unbalanced instances that are shown at most; all are counted
WHOLE_CYCLES = 2520
"""Divisible by every number up to ten, so that short cycles of rewards are not cut off."""


def check_balance(subject: Subject) -> Finding:
    """A random agent's mean reward over the class has 0 in its interval.

    In two senses: in the long run, and from every interaction on, which a class claims unless it
    says ``"limit"``. Single instances that are not balanced are named in the witness. They do not
    fail the check: the balance of a class may lie in its draws.
    """
    claimed = subject.environment_class.claims().balanced
    estimate = class_mean(subject, subject.runs.means, subject.confidence)
    symmetric = bool(np.all((subject.runs.lowest >= -1) & (subject.runs.highest <= 1)))
    holds = contains_zero(estimate)
    alone = subject.graph(subject.distinct[0]) if len(subject.distinct) == 1 else None
    estimated = partial(class_mean, subject)
    off = _first_off(subject, alone, 1 - subject.confidence, estimated) if holds else None
    unbalanced, long_run_only = _unbalanced(subject)
    count = len(subject.distinct)
    summary = (
        f"A random agent's mean reward is {estimate.value:.3g}, "
        f"{100 * estimate.confidence:g} % interval {estimate.low:.3g} to {estimate.high:.3g}, "
        f"which {'contains' if holds else 'does not contain'} 0"
    )
    if off is not None:
        summary += (
            f" in the long run only: in the first {counted(off['interactions'], 'interaction')} "
            f"the mean is {off['mean']:.3g} ({off['low']:.3g} to {off['high']:.3g})."
        )
    else:
        summary += ", from the first interaction on." if holds else "."
    if not symmetric:
        summary += " There are rewards outside [-1, 1]."
    among = counted(count, "instance")
    if unbalanced:
        summary += f" Not balanced when taken alone: {len(unbalanced)} of {among}."
    if long_run_only:
        summary += f" In the long run only when taken alone: {len(long_run_only)} of {among}."
    numbers = {
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "confidence": estimate.confidence,
        "values": estimate.count,
        "sense": ("always" if off is None else "limit") if holds else None,
        "first_off": off,
        "rewards_within_one": symmetric,
        "distinct_instances": count,
        "decided_exactly": sum(subject.graph(each) is not None for each in subject.distinct),
        "unbalanced_instances": len(unbalanced),
        "long_run_only_instances": len(long_run_only),
    }
    shown = {"instances": unbalanced, "long_run_only": long_run_only}
    witness = {name: each[:MAX_SHOWN] for name, each in shown.items() if each} or None
    passed = holds and symmetric and (off is None or claimed is not True)
    return Finding("balance", bool(claimed), passed, summary, numbers, witness)


def class_mean(subject: Subject, means: FloatArray, confidence: float) -> Estimate:
    """The class's mean reward for a random agent, of the means of runs, a row per instance.

    Where a class has only one instance, its runs are the sample. When all values are equal the
    interval is that value if so many equal signs are unlikely enough in a balanced class (the
    sign-flip test); otherwise it is as wide as the range of rewards makes it.
    """
    values = means.ravel() if len(subject.distinct) == 1 else means.mean(axis=1)
    value, count = float(values[0]), len(values)
    if np.ptp(values) <= ROUNDING and 2.0 ** (1 - count) <= 1 - confidence:
        return Estimate(value, value, value, confidence, count)
    # An alarm must be possible with few instances, so it relies on their spread if there is any.
    return mean(values, confidence, _support(subject) if np.ptp(values) <= ROUNDING else None)


def _first_off(
    subject: Subject,
    graph: Graph | None,
    error: float,
    estimated: Callable[[FloatArray, float], Estimate],
) -> dict[str, Any] | None:
    """The first length at which a random agent's mean reward is not 0, if there is one.

    Exact where all states are known. Elsewhere ``estimated`` gives the mean of the means of runs,
    and all lengths together err in a tenth of the cases in which the whole does, ``error``.
    """
    if graph is not None:
        off = graph.first_unbalanced(subject.interactions)
        if off is None:
            return None
        length, exact = off[0], off[1] / off[0]  # all rewards before are 0
        return {"interactions": length, "mean": exact, "low": exact, "high": exact}
    for place, length in enumerate(subject.lengths):
        confidence = 1 - error / 10 / len(subject.lengths)
        estimate = estimated(subject.runs.early[:, :, place], confidence)
        if not contains_zero(estimate):
            interval = {"mean": estimate.value, "low": estimate.low, "high": estimate.high}
            return {"interactions": length, **interval}
    return None


def contains_zero(estimate: Estimate) -> bool:
    """Whether an interval contains 0, up to rounding."""
    return estimate.low <= ROUNDING and estimate.high >= -ROUNDING


def _support(subject: Subject) -> tuple[float, float]:
    """Where means can lie; a reward out of range fails another check."""
    declared = np.array([environment.rewards for environment in subject.environments])
    low = min(declared[:, 0].min(), subject.runs.lowest.min())
    high = max(declared[:, 1].max(), subject.runs.highest.max())
    return float(low), float(high)


def _unbalanced(subject: Subject) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The instances that are not balanced by themselves, and those that are in the long run only.

    Exactly where all states are known.
    """
    # One false alarm among all instances is as rare as one of the class.
    error = (1 - subject.confidence) / len(subject.distinct)
    unbalanced, long_run_only = [], []
    support = _support(subject)
    for _, instance in subject.each("balance of single instances"):
        graph = subject.graph(instance)
        same = [each.key == instance.key for each in subject.instances]

        def estimated(
            means: FloatArray, confidence: float, same: Sequence[bool] = same
        ) -> Estimate:
            return mean(means[same].ravel(), confidence, support)

        exact = None if graph is None else graph.random_mean()
        if exact is not None:
            estimate = Estimate(exact, exact, exact, 1.0, 1)
        else:
            estimate = estimated(subject.runs.means, 1 - error)
        described = {"instance": dict(instance.data), "exact": exact is not None}
        if not contains_zero(estimate):
            interval = {"mean": estimate.value, "low": estimate.low, "high": estimate.high}
            unbalanced.append(described | interval)
        elif (off := _first_off(subject, graph, error, estimated)) is not None:
            long_run_only.append(described | off)
    return unbalanced, long_run_only


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
    passed = bool(inside.all())
    for problem, instance in () if not passed else rules.reward_range_is_that_of_all(subject):
        passed, witness = False, dict(instance)
        summary = f"{problem} {summary}"
        break
    summary += ", which is symmetric." if symmetric else ", which is not [-1, 1]."
    numbers = {
        "declared": [low, high],
        "lowest": float(runs.lowest.min()),
        "highest": float(runs.highest.max()),
        "symmetric": symmetric,
        "rewards": subject.count * RUNS * subject.interactions,
    }
    return Finding("range", True, passed, summary, numbers, witness)


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
    "symmetry": check_symmetry,
    "sensitivity": check_sensitivity,
    "structure": check_structure,
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
    least_difference: float = 0.0,
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
        least_difference: By how much sums of rewards must differ at least in sensitive
            environments; 0 is any difference, which is what classes claim.
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
    check_count(instances, "instances")
    check_count(interactions, "interactions")
    if not (isfinite(least_difference) and least_difference >= 0):
        raise InvalidInputError(
            f"There is no least difference {least_difference:g}.", "Give 0 or a number above it."
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
        environment_class, instances, interactions, seed, confidence, tell, tuple(complexities),
        least_difference=least_difference,
    )  # fmt: skip
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
    if least_difference:
        settings["least_difference"] = least_difference
    if complexities:
        settings["complexities"] = list(complexities)
    return Audit(tuple(findings), settings)
