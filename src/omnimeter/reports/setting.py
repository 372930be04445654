"""What was measured and how the results were made, as pairs of words for a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omnimeter.catalogue import Kind, describe, parse
from omnimeter.contract import Budget, Clock, ClockKind, Exercise, Spec, Timeout
from omnimeter.protocols import Evaluation
from omnimeter.reports.adaptive import adaptive_setting, as_anytime
from omnimeter.reports.wording import counted, listed

Pairs = list[tuple[str, str]]


def payoff_spec(evaluation: Evaluation) -> Spec | None:
    """Which payoff the evaluation uses; ``None`` when its protocol has only one of its own."""
    return _part(evaluation.protocol, "payoff", Kind.PAYOFF)


def _part(protocol: Spec, name: str, kind: Kind) -> Spec | None:
    """The part that a protocol was given or takes by default; ``None`` when it takes none."""
    given = protocol.parameters.get(name)
    if given is None:
        parameters = describe(Kind.PROTOCOL, protocol.id).parameters
        given = next((item.default for item in parameters if item.name == name), None)
    if isinstance(given, Mapping):
        return Spec.from_json(given)
    return parse(kind, given) if isinstance(given, str) else None


def setting(evaluation: Evaluation, exercises: Sequence[Exercise]) -> Pairs:
    """What was measured.

    Args:
        evaluation: The evaluation.
        exercises: Its exercises, as far as they are known.
    """
    payoff = payoff_spec(evaluation)
    test = as_anytime(evaluation.make_protocol())
    budgets = _all(budget_words(each.budget) for each in exercises)
    lengths = adaptive_setting(test, exercises) if test else [("Budget of an exercise", budgets)]
    pairs = [
        ("Test", _with_summary(Kind.PROTOCOL, evaluation.protocol.id)),
        ("Battery", _battery(evaluation.protocol)),
        ("Together", _all(_company(exercise) for exercise in exercises)),
        ("Environments", _all(exercise.environment_class.label for exercise in exercises)),
        ("Complexity", _range(exercise.complexity for exercise in exercises)),
        *lengths,
        ("Clock", _all(_clock(exercise.clock) for exercise in exercises)),
        ("Time-out of an action", _all(_timeout(exercise.timeout) for exercise in exercises)),
        ("Payoff", "the protocol's own" if payoff is None else _described(Kind.PAYOFF, payoff)),
        ("Adjustment", _adjustment(evaluation.protocol)),
        ("Seed", _all(str(exercise.seed) for exercise in exercises)),
        ("Traces", "kept" if evaluation.traces else "not kept"),
    ]
    return [(name, words) for name, words in pairs if words]


def budget_words(budget: Budget) -> str:
    """How long an exercise lasts."""
    parts = []
    if budget.interactions is not None:
        parts.append(counted(budget.interactions, "interaction"))
    if budget.seconds is not None:
        parts.append(f"{budget.seconds:g} seconds")
    return " or ".join(parts) + (", whichever ends first" if len(parts) > 1 else "")


def origin(session: Mapping[str, Any]) -> Pairs:
    """How results were made, from what was written down at one time."""
    machine, versions = session.get("machine", {}), session.get("versions", {})
    revisions = [
        f"{name} {found['revision'][:12]}" + (" with changes" if found.get("modified") else "")
        for name, found in session.get("revisions", {}).items()
    ]
    processors = machine.get("cpu_count")
    pairs = [
        ("Started", str(session.get("started", ""))),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
        ("Revision", ", ".join(revisions)),
        ("Platform", str(machine.get("platform", ""))),
        ("Processor", str(machine.get("processor", ""))),
        ("Processors", "" if processors is None else str(processors)),
    ]
    return [(name, words) for name, words in pairs if words]


def _with_summary(kind: Kind, name: str) -> str:
    summary = describe(kind, name).doc.strip().partition("\n")[0]
    return f"{name}. {summary}" if summary else name


def _battery(protocol: Spec) -> str:
    """The name or the title of a battery, and how often it is taken; empty in other tests."""
    given = protocol.parameters.get("battery")
    name = given.get("title") if isinstance(given, Mapping) else given
    tests = protocol.parameters.get("tests", 1)
    return f"{name}, {counted(tests, 'test')}" if name and isinstance(tests, int) else ""


def _company(exercise: Exercise) -> str:
    """Who was in the environment at once; empty for an agent alone."""
    if not exercise.company:
        return ""
    return f"{listed([member.label for member in exercise.company])}, in the same environments"


def _described(kind: Kind, spec: Spec) -> str:
    summary = describe(kind, spec.id).doc.strip().partition("\n")[0]
    return f"{spec.label}. {summary}" if summary else spec.label


def _adjustment(protocol: Spec) -> str:
    """By what payoffs are adjusted; empty in tests that adjust nothing."""
    spec = _part(protocol, "adjustment", Kind.ADJUSTMENT)
    return "" if spec is None else _described(Kind.ADJUSTMENT, spec)


def _clock(clock: Clock) -> str:
    if clock.kind is ClockKind.WALL:
        return "wall clock: the agent's own time"
    return f"virtual clock, {clock.tick:g} s for an action without a declared time"


def _timeout(timeout: Timeout | None) -> str:
    return "" if timeout is None else f"{timeout.seconds:g} s, then {timeout.rule}"


def _range(numbers: Iterable[float]) -> str:
    found = sorted(set(numbers))
    if not found:
        return ""
    return f"{found[0]:g}" if len(found) == 1 else f"{found[0]:g} to {found[-1]:g}"


def _all(words: Iterable[str]) -> str:
    """All different words, in the order of their first appearance."""
    found = [word for word in dict.fromkeys(words) if word]
    return listed(found) if found else ""
