"""The audit of an environment class: all checks, one after the other."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from omnimeter.audits.agreement import check_agreement
from omnimeter.audits.balance import check_balance
from omnimeter.audits.finding import Audit, Finding
from omnimeter.audits.ranges import check_range
from omnimeter.audits.repeatability import check_determinism, check_rebuild
from omnimeter.audits.sensitivity import check_sensitivity
from omnimeter.audits.subject import Progress, Subject
from omnimeter.contract import EnvironmentClass, InvalidInputError

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
    level: float = 0.99,
    levels: Sequence[float] = (),
    progress: Progress | None = None,
) -> Audit:
    """Examine what an environment class claims, and what every class must keep.

    Args:
        environment_class: The class.
        instances: How many instances are drawn from it.
        interactions: How long each run of a random agent is.
        seed: The root of all chance.
        level: The level of the intervals. A balanced class is refused in about ``1 - level`` of
            all audits; nothing else is refused by chance.
        levels: Where instances are drawn, one level after the other: at level L those of
            complexity L - 1 to L, as the anytime tests choose them. Without levels they are drawn
            as the class draws by itself.
        progress: Told what is being done (a text) and which share is done (a number up to 1).

    Returns:
        One finding per check. A check that the class's own faults bring to an end has not passed.

    Raises:
        InvalidInputError: There is nothing to be examined with these numbers, or the class has
            nothing at a level.
    """
    if instances < 1 or interactions < 1 or not 0 < level < 1:
        raise InvalidInputError(
            f"There is no audit with {instances} instances, {interactions} interactions and "
            f"level {level:g}.",
            "Give at least one instance and interaction, and a level between 0 and 1.",
        )
    tell = progress or (lambda _: None)
    subject = Subject(environment_class, instances, interactions, seed, level, tell, tuple(levels))
    if levels:
        _check_levels(subject)
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
        "level": level,
    }
    if levels:
        settings["levels"] = list(levels)
    return Audit(tuple(findings), settings)


def _check_levels(subject: Subject) -> None:
    """See that something can be drawn at every level, before anything is examined."""
    wrong = [each for each in subject.levels if not (isfinite(each) and each > 0)]
    if wrong:
        raise InvalidInputError(
            f"There is no level {wrong[0]:g}.", "Levels are finite numbers above 0."
        )
    if subject.count < len(subject.levels):
        raise InvalidInputError(
            f"{len(subject.levels)} levels cannot be examined with fewer instances: "
            f"{subject.count}.",
            "Give at least one instance for each level.",
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
