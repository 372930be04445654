"""Whether the same description gives the same environment again, to the last bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

from omnimeter.audits.finding import Finding, counted
from omnimeter.audits.playing import PROBE, answers, first_difference, random_actions
from omnimeter.audits.subject import Subject
from omnimeter.contract import Instance, InvalidInputError, canonical

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
        again = Instance(json.loads(canonical(instance.data)))
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
        if canonical(again.data) != canonical(instance.data):
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
