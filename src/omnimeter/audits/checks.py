"""The audit of an environment class: balance, ranges, repeatability, agreement and sensitivity."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from omnimeter.audits.sensitivity import check_sensitivity
from omnimeter.audits.subject import (
    PROBE,
    RUNS,
    Audit,
    Finding,
    Progress,
    Subject,
    answers,
    counted,
    first_difference,
    random_actions,
    random_exercise,
)
from omnimeter.contract import EnvironmentClass, Instance, InvalidInputError
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.spec import canonical_json
from omnimeter.estimation import Estimate, mean


def check_agreement(subject: Subject) -> Finding | None:
    """The same exercises, compiled and stepwise, leave the same traces; only for kernels."""
    from omnimeter.agents.simple import RandomAgent
    from omnimeter.interaction import KernelEnvironmentClass, interact
    from omnimeter.interaction.batch import run_batch
    from omnimeter.interaction.loop import as_seen_by

    environment_class = subject.environment_class
    if not isinstance(environment_class, KernelEnvironmentClass):
        return None
    exercises = [
        random_exercise(instance, PROBE, subject.seed, number)
        for number, instance in enumerate(subject.distinct)
    ]
    compiled = run_batch(environment_class, RandomAgent(), exercises, record=True)
    witness = None
    differing = 0
    for exercise, trace in zip(exercises, compiled, strict=True):
        agent = RandomAgent()
        environment = as_seen_by(environment_class, agent).build(exercise.instance)
        stepwise = interact(environment, agent, exercise.budget, exercise.stream, record=True)
        if not trace.same_as(stepwise):
            differing += 1
            witness = witness or {
                "instance": dict(exercise.instance.data),
                "compiled": trace.rewards,
                "stepwise": stepwise.rewards,
            }
    return Finding(
        "agreement",
        claimed=True,
        passed=not differing,
        summary=f"In {differing} of {counted(len(exercises), 'exercise')} the compiled loop and "
        "the ordinary one differ."
        if differing
        else f"Compiled and stepwise, {counted(len(exercises), 'exercise')} left the same traces.",
        numbers={"exercises": len(exercises), "interactions": PROBE, "differing": differing},
        witness=witness,
    )


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
    estimate = class_mean(subject, subject.confidence)
    unbalanced = _unbalanced(subject)
    in_unit = bool(np.all((subject.runs.lowest >= -1) & (subject.runs.highest <= 1)))
    holds = contains_nothing(estimate)
    numbers = {
        "mean": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "confidence": estimate.confidence,
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


def class_mean(subject: Subject, confidence: float) -> Estimate:
    """The class's mean reward for a random agent.

    Where a class has only one instance, its runs are the sample. When all values are the same
    there is no spread to go by: they are taken at their word if so many equal signs are
    unlikely enough in a balanced class (the sign-flip test), and say nothing otherwise.
    """
    means = subject.runs.means
    values = means.ravel() if len(subject.distinct) == 1 else means.mean(axis=1)
    value, count = float(values[0]), len(values)
    if np.ptp(values) <= NOTHING and 2.0 ** (1 - count) <= 1 - confidence:
        return Estimate(value, value, value, confidence, count)
    return mean(values, confidence, _support(subject))


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
    confidence = 1 - (1 - subject.confidence) / len(subject.distinct)
    found = []
    for _, instance in subject.each("balance of single instances"):
        graph = subject.graph(instance)
        exact = None if graph is None else graph.random_mean()
        if exact is not None:
            estimate = Estimate(exact, exact, exact, 1.0, 1)
        else:
            estimate = mean(_runs_of(subject, instance), confidence, _support(subject))
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
        f"{100 * estimate.confidence:g} % interval {estimate.low:.3g} to {estimate.high:.3g}, "
        f"which {'contains' if holds else 'does not contain'} 0."
    )
    if not in_unit:
        text += " There are rewards outside [-1, 1]."
    if unbalanced:
        text += f" Not balanced when taken alone: {unbalanced} of {counted(distinct, 'instance')}."
    return text


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
        summary = (
            f"In {np.sum(~inside)} of {counted(subject.count, 'instance')} a reward is out of range"
        )
        witness = {
            "instance": dict(subject.instances[first].data),
            "declared": declared[first],
            "lowest": runs.lowest[first],
            "highest": runs.highest[first],
        }
    return Finding(
        "range",
        claimed=True,
        passed=bool(inside.all()),
        summary=summary + (", which is symmetric." if symmetric else ", which is not [-1, 1]."),
        numbers={
            "declared": [low, high],
            "lowest": float(runs.lowest.min()),
            "highest": float(runs.highest.max()),
            "symmetric": symmetric,
            "rewards": subject.count * RUNS * subject.interactions,
        },
        witness=witness,
    )


Problem = tuple[str, dict[str, Any]]
"""What is wrong, in a few words, and where."""


def check_determinism(subject: Subject) -> Finding:
    """The same instance, chance and actions give the same percepts twice."""
    witness = None
    differing = 0
    for number, instance in subject.each("determinism"):
        found = _differing_answers(subject, instance, instance, number)
        if found is not None:
            differing += 1
            witness = witness or {"instance": dict(instance.data), **found}
    count = len(subject.distinct)
    return Finding(
        "determinism",
        claimed=True,
        passed=not differing,
        summary=f"{differing} of {counted(count, 'instance')} answered the same actions with "
        "the same chance differently the second time."
        if differing
        else f"The same answers twice to {PROBE} actions in {counted(count, 'instance')}.",
        numbers={"instances": count, "actions": PROBE, "differing": differing},
        witness=witness,
    )


def check_rebuild(subject: Subject) -> Finding:
    """An instance survives as JSON text, is drawn again, and is graded the same."""
    problems = [
        (text, {"instance": dict(instance.data), **witness})
        for number, instance in subject.each("rebuilding")
        for text, witness in _problems_of(subject, instance, number)
    ]
    problems += _problems_of_draws(subject)
    return Finding(
        "rebuild",
        claimed=True,
        passed=not problems,
        summary=f"{problems[0][0]} ({counted(len(problems), 'problem')} in all)."
        if problems
        else "Instances are drawn, written as JSON, graded and built again exactly.",
        numbers={"instances": len(subject.instances), "problems": len(problems)},
        witness=problems[0][1] if problems else None,
    )


def _differing_answers(
    subject: Subject, one: Instance, other: Instance, number: int
) -> dict[str, Any] | None:
    """Where two environments, built apart, answer the same actions differently."""
    environments = [subject.environment_class.build(each) for each in (one, other)]
    actions = random_actions(environments[0], subject.stream("actions", number))
    chance = subject.stream("answers", number)
    first, second = (answers(environment, chance, actions) for environment in environments)
    place = first_difference(first, second)
    if place is None:
        return None
    return {"actions": actions[:place], "first": first[place], "second": second[place]}


def _problems_of(subject: Subject, instance: Instance, number: int) -> Iterator[Problem]:
    try:
        again = Instance(json.loads(canonical_json(instance.data)))
    except (TypeError, ValueError) as error:
        yield f"An instance is not JSON: {error}", {}
        return
    if again.data != instance.data:
        yield "JSON text changes an instance", {"again": again.data}
    grade, second = (subject.environment_class.complexity(each) for each in (instance, again))
    if not isfinite(grade):
        yield "A complexity is not a finite number", {"complexity": grade}
    elif grade != second:
        yield "An instance is graded otherwise after JSON", {"complexity": [grade, second]}
    found = _differing_answers(subject, instance, again, number)
    if found is not None:
        yield "An environment built from JSON text answers differently", found


def _problems_of_draws(subject: Subject) -> Iterator[Problem]:
    wanted: dict[float, int] = {}
    for number, instance in enumerate(subject.instances):
        again = subject.draw(number)
        if canonical_json(again.data) != canonical_json(instance.data):
            pair = [dict(instance.data), dict(again.data)]
            yield "The same chance draws another instance the second time", {"instances": pair}
        wanted.setdefault(subject.environment_class.complexity(instance), number)
    for complexity, number in wanted.items():
        try:
            drawn = subject.draw(number, complexity)
        except InvalidInputError as error:
            yield "A complexity that was seen cannot be asked for", {"error": str(error)}
            continue
        grade = subject.environment_class.complexity(drawn)
        if grade != complexity:
            yield (
                "A draw has another complexity than was asked for",
                {"instance": dict(drawn.data), "asked": complexity, "complexity": grade},
            )


CHECKS: dict[str, Callable[[Subject], Finding | None]] = {
    "range": check_range,
    "balance": check_balance,
    "sensitivity": check_sensitivity,
    "determinism": check_determinism,
    "rebuild": check_rebuild,
    "agreement": check_agreement,
}

WHOLE_CYCLES = 2520
"""Divisible by every number up to ten, so that short cycles of rewards are not cut off."""


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
        seed: The root of all chance.
        confidence: The confidence of the intervals. A balanced class is refused in about ``1 -
            confidence`` of all audits; nothing else is refused by chance.
        complexities: Where instances are drawn, one after the other: at complexity L those of
            complexity L - 1 to L, as the anytime tests choose them. Without complexities they are
            drawn as the class draws by itself.
        progress: Told what is being done (a text) and which share is done (a number up to 1).

    Returns:
        One finding per check. A check that the class's own faults bring to an end has not passed.

    Raises:
        InvalidInputError: There is nothing to be examined with these numbers, or the class has
            nothing at a complexity.
    """
    if instances < 1 or interactions < 1 or not 0 < confidence < 1:
        raise InvalidInputError(
            f"There is no audit with {instances} instances, {interactions} interactions and "
            f"confidence {confidence:g}.",
            "Give at least one instance and interaction, and a confidence between 0 and 1.",
        )
    tell = progress or (lambda _: None)
    subject = Subject(
        environment_class, instances, interactions, seed, confidence, tell, tuple(complexities)
    )
    if complexities:
        _check_complexities(subject)
    findings = []
    for number, (name, check) in enumerate(CHECKS.items()):
        tell(name)
        try:
            finding = check(subject)
        except Exception as error:
            finding = _unfinished(name, error)
        if finding is not None:
            findings.append(finding)
        tell((number + 1) / len(CHECKS))
    settings: dict[str, Any] = {
        "instances": instances,
        "interactions": interactions,
        "seed": seed,
        "confidence": confidence,
    }
    if complexities:
        settings["complexities"] = list(complexities)
    return Audit(tuple(findings), settings)


def _check_complexities(subject: Subject) -> None:
    """See that something can be drawn at every complexity, before anything is examined."""
    wrong = [each for each in subject.complexities if not (isfinite(each) and each > 0)]
    if wrong:
        raise InvalidInputError(
            f"There is no complexity {wrong[0]:g}.", "Complexities are finite numbers above 0."
        )
    if subject.count < len(subject.complexities):
        raise InvalidInputError(
            f"{len(subject.complexities)} complexities cannot be examined with fewer instances: "
            f"{subject.count}.",
            "Give at least one instance for each complexity.",
        )
    try:
        _ = subject.instances
    except InvalidInputError:
        raise
    except Exception:
        return  # the class's own faults are found by the checks


def _unfinished(name: str, error: Exception) -> Finding:
    """The finding about a class that cannot even be examined."""
    return Finding(
        name,
        claimed=True,
        passed=False,
        summary=f"The check could not be finished: {type(error).__name__}: {error}",
        witness={"error": "".join(traceback.format_exception(error))},
    )
