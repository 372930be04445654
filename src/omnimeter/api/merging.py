"""Evaluations of the same test as one: further exercises, further agents, and their comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.api.evaluation import load
from omnimeter.api.result import MergedRecord, Result, consented
from omnimeter.contract import InvalidInputError, Outcomes, Spec
from omnimeter.contract.outcomes import ENDINGS, FAULTS, JoinedOutcomes
from omnimeter.contract.spec import canonical_json
from omnimeter.protocols import Evaluation
from omnimeter.protocols.evaluation import is_complete
from omnimeter.results.agreement import one_of_each


def merge(*results: Result | str | Path, trust: bool = False) -> Result:
    """Make one evaluation of several of the same test: with more exercises, or with more agents.

    Protocol, parameters and seed must be the same, but for the parameter that only says how many
    exercises there are (``Protocol.grows``), of which the merged evaluation has the largest. It has
    the agents of all, in the order in which they come. Where an exercise of an agent is in several
    evaluations, its outcomes must agree. One that the infrastructure spoilt gives way. Of outcomes
    that only differ in what a clock measured, always the same one is kept. So neither the order nor
    the grouping of evaluations matters, and merged parts are what one evaluation would have given:
    those of different sizes one that was extended, when results of the smaller could be seen.

    ``merge(...).save(directory)`` writes an ordinary evaluation, ``.report(path)`` its page. Traces
    are kept if all evaluations have kept theirs.

    Args:
        results: Results, or directories of stored evaluations.
        trust: Import code that the directories name; see ``load``.

    Raises:
        InvalidInputError: The tests differ, they cannot grow, outcomes disagree, or a directory
            names code that is not trusted.
        StoreError: A directory holds no evaluation, or it is damaged.
    """
    if not results:
        raise InvalidInputError("There is nothing to merge.", "Give results or directories.")
    if any(isinstance(each, list | tuple) for each in results):
        advice = "Give each as an argument of its own; a list with a star before it: *results."
        raise InvalidInputError("A list of evaluations is not one evaluation.", advice)
    loaded = [each if isinstance(each, Result) else load(each, trust=trust) for each in results]
    names = [
        str(each.directory or f"result {place}") if isinstance(each, Result) else str(each)
        for place, each in enumerate(results, 1)
    ]
    largest, smaller = _largest(loaded)
    # A seed that is given says more than the same one drawn: that agents could have known it.
    fixed = next((e for e in loaded if e.record.seed is None), None)
    secret = None if fixed is not None else largest.record.seed
    protocol = largest.evaluation.protocol if secret is not None else largest.seeded.protocol
    parts: dict[Spec, list[tuple[int, Outcomes]]] = {}
    for place, each in enumerate(loaded):
        for agent, done in each.outcomes.items():
            parts.setdefault(agent, []).append((place, Outcomes.of(done)))
    _check_labels(list(parts))
    evaluation = Evaluation(
        protocol,
        tuple(parts),
        traces=all(each.evaluation.traces for each in loaded),
        privileged=any(each.evaluation.privileged for each in loaded),
        extended=tuple(sorted(smaller.union(*(each.evaluation.extended for each in loaded)))),
        seed_told=any(each.evaluation.seed_told for each in loaded),
    )
    outcomes: dict[Spec, Outcomes] = {}
    taken: list[list[Outcomes]] = [[] for _ in loaded]
    for agent, own in parts.items():
        chosen, sources = _chosen(agent, own, names)
        outcomes[agent] = chosen
        for place in np.unique(sources).tolist():
            taken[place].append(chosen.where(sources == place))
    record = MergedRecord(
        evaluation.to_json(),
        secret,
        JoinedOutcomes(list(outcomes.values())),
        [(e.record, JoinedOutcomes(o).keys) for e, o in zip(loaded, taken, strict=True)],
    )
    things = {name: thing for each in loaded for name, thing in each.objects.items()}
    trusted = all(each.trusted for each in loaded)
    result = Result(evaluation, record, outcomes, complete=False, objects=things, trusted=trusted)
    made = result.protocol
    with consented(record, None, trust=trusted):
        return replace(result, complete=is_complete(made, outcomes))


def compare(*results: Result | str | Path, trust: bool = False) -> Result:
    """Put the agents of several evaluations of the same test into one result, by ``merge``.

    Agents are compared on the same exercises. ``result.differences`` compares all of them with the
    best one, ``result.compare(reference)`` with another one, and ``result.between(one, other)``
    says all that is known of two.

    Args:
        results: Results, or directories of stored evaluations.
        trust: Import code that the directories name; see ``load``.

    Raises:
        InvalidInputError: As for ``merge``, or there is only one agent.
        StoreError: A directory holds no evaluation, or it is damaged.
    """
    if not results:
        raise InvalidInputError("There is nothing to compare.", "Give results or directories.")
    merged = merge(*results, trust=trust)
    if len(merged.agents) < 2:
        raise InvalidInputError(
            "A comparison needs at least two agents.", "Give another evaluation of the same test."
        )
    return merged


def _largest(loaded: Sequence[Result]) -> tuple[Result, set[int]]:
    """The result with the most exercises, of those of the same test; smaller sizes with outcomes.

    Raises:
        InvalidInputError: They are not of the same test.
    """
    first = loaded[0].seeded.protocol
    if all(each.seeded.protocol == first for each in loaded):
        return loaded[0], set()
    grows, indivisible = loaded[0].protocol.grows, loaded[0].protocol.indivisible
    for each in loaded:
        other = each.seeded.protocol
        here, there = first.parameters, other.parameters
        names = [n for n in sorted({*here, *there}) if here.get(n) != there.get(n)]
        alike = (first.id, first.digest) == (other.id, other.digest)
        if alike and set(names) <= {grows}:
            continue
        what = ", ".join(name for name in names if name != grows) if alike else "protocol"
        advice = "Only evaluations with the same protocol, parameters and seed belong together."
        if what == "seed":
            advice = "Agents are compared in the same environments: run them with the same --seed."
        elif indivisible and alike:
            advice += f" Those of different sizes do not either: {indivisible}."
        message = f"These evaluations are not of the same test: they differ in {what}."
        raise InvalidInputError(message, advice)

    def size(result: Result) -> tuple[int, str]:
        return int(getattr(result.protocol, grows)), canonical_json(
            result.seeded.protocol.to_json()
        )

    largest = max(loaded, key=size)
    seen = {size(each)[0] for each in loaded if any(map(len, each.outcomes.values()))}
    return largest, seen - {size(largest)[0]}


def _check_labels(agents: Sequence[Spec]) -> None:
    """Check that agents of the same label are the same.

    Raises:
        InvalidInputError: Two are not.
    """
    labels = [agent.label for agent in agents]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidInputError(
                f"{label} is not the same agent in all evaluations: its code or data have changed.",
                "Run the evaluations again with one version of it.",
            )


def _chosen(
    agent: Spec, parts: Sequence[tuple[int, Outcomes]], names: Sequence[str]
) -> tuple[Outcomes, Any]:
    """The outcomes of an agent, one of each exercise, and in which evaluation each is.

    Raises:
        InvalidInputError: The evaluations disagree.
    """
    sources = np.repeat([place for place, _ in parts], [len(done) for _, done in parts])
    if len(parts) == 1:
        return parts[0][1], sources
    joined = JoinedOutcomes([done for _, done in parts])
    first, disagreements = one_of_each(joined)
    if disagreements:
        name, rows, others = disagreements[0]
        pair = np.array([rows[0], others[0]])
        values = " and ".join(_shown(name, joined.column(name)[row]) for row in pair)
        where = [names[place] for place in sources[pair].tolist()]
        what = f"{_TITLES[name]} is {values}"
        raise _disagreement(agent, int(joined.numbers[pair[0]]), where, what)
    chosen, own = joined.take(first), sources[first]
    distinct = all(len(np.unique(done.numbers)) == len(done) for _, done in parts)
    ordered = np.argsort(chosen.numbers, kind="stable")
    again = np.flatnonzero(np.diff(chosen.numbers[ordered]) == 0)
    if distinct and len(again):
        pair = ordered[again[0] : again[0] + 2]
        where = [names[place] for place in own[pair].tolist()]
        raise _disagreement(agent, int(chosen.numbers[pair[0]]), where, "it is another exercise")
    return chosen, own


_TITLES: Mapping[str, str] = {
    "ending": "the ending",
    "fault": "the fault",
    "interactions": "the number of interactions",
    "total": "the sum of rewards",
    "last_time": "the nanosecond of the last action",
    "payoff": "the payoff",
    "paid": "whether there is a payoff",
}


def _shown(name: str, value: Any) -> str:
    if name == "ending":
        return str(ENDINGS[value])
    if name == "fault":
        return str(FAULTS[value] or "none")
    return str(value.item())


def _disagreement(agent: Spec, number: int, names: Sequence[str], what: str) -> InvalidInputError:
    return InvalidInputError(
        f"{names[0]} and {names[1]} disagree on exercise {number} of {agent.label}: {what}.",
        "Leave one of them out. By the wall clock, and with an agent that is not reproducible, an "
        "exercise that is run twice is two measurements.",
    )
