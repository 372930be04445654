"""Whether actions matter everywhere: reward-sensitive environments (anytime test, Definition 7)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnimeter.audits.states import ROUNDING, Graph, Positions
from omnimeter.audits.subject import Finding, Subject, answer, counted
from omnimeter.contract import Instance
from omnimeter.contract.agent import FloatArray

EXHAUSTIVE = 1000
"""Sequences up to this number are all tried, one for all that end in the same state."""

SAMPLED = 300
"""Sequences that are tried where there are more."""

CHANCES = 8
"""Chances that are tried before a state counts as insensitive, where they can be exchanged."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a look ahead found.

    Attributes:
        length: After how many actions sums differed; 0 if they never did.
        sequences: How many sequences were compared, of those that end in the same state one.
        complete: Whether these were all there are.
    """

    length: int
    sequences: int
    complete: bool


def search(positions: Positions, actions: int, horizon: int, rng: np.random.Generator) -> Search:
    """Look up to a horizon ahead from where an environment stands.

    What was insensitive with one chance may be sensitive with another, so several are tried.
    """
    place = positions.save()
    result = Search(0, 0, False)
    for attempt in range(CHANCES):
        positions.restore(place)
        if attempt and not positions.reseed(rng):
            break
        result = _once(positions, actions, horizon, rng)
        if result.length:
            break
    return result


def _once(positions: Positions, actions: int, horizon: int, rng: np.random.Generator) -> Search:
    place = positions.save()
    near = _all_sequences(positions, actions, horizon)
    if near.length or near.complete:
        return near
    return _some_sequences(positions, place, actions, horizon, rng)


def _all_sequences(positions: Positions, actions: int, horizon: int) -> Search:
    """Every sequence, as long as they are few; those that end in the same state go on as one."""
    frontier = {positions.save(): (0.0, 0.0)}
    for length in range(1, horizon + 1):
        if len(frontier) * actions > EXHAUSTIVE:
            return Search(0, len(frontier), False)
        longer: dict[Hashable, tuple[float, float]] = {}
        found = []
        for place, (total, weight) in frontier.items():
            for action in range(actions):
                positions.restore(place)
                reward = positions.step(action)
                found.append((total + reward, weight + abs(reward)))
                longer.setdefault(positions.save(), found[-1])
        frontier = longer
        sums, weights = np.array(found).T
        if _differ(sums, weights):
            return Search(length, len(found), False)
    return Search(0, len(frontier), True)


def _some_sequences(
    positions: Positions, place: Hashable, actions: int, horizon: int, rng: np.random.Generator
) -> Search:
    """Every action again and again, then sequences at random."""
    tried = [np.full(horizon, action) for action in range(actions)]
    tried += list(rng.integers(actions, size=(SAMPLED, horizon)))
    sums = np.empty((len(tried), horizon))
    weights = np.empty((len(tried), horizon))
    for number, sequence in enumerate(tried):
        positions.restore(place)
        rewards = [positions.step(int(action)) for action in sequence]
        sums[number], weights[number] = np.cumsum(rewards), np.cumsum(np.abs(rewards))
    for length in range(1, horizon + 1):
        if _differ(sums[:, length - 1], weights[:, length - 1]):
            return Search(length, len(tried), False)
    return Search(0, len(tried), False)


def _differ(sums: FloatArray, weights: FloatArray) -> bool:
    return bool(np.ptp(sums) > ROUNDING * weights.max())


WALKS = 5
"""Random walks through an instance whose states are not all known."""

STOPS = 6
"""Places on each walk, its beginning included, at which is looked ahead."""

STRIDE = 12
"""Random actions from one place to the next."""


def check_sensitivity(subject: Subject) -> Finding:
    """From every state, two sequences of at most n actions bring different sums of rewards.

    n is what the class claims, and twice the number of actions plus two where it claims nothing.
    Small deterministic environments are decided exactly. In others places are sampled; where
    chance plays a part, the sequences that are compared meet the same chances.
    """
    claimed = subject.environment_class.claims().sensitive
    witnesses = []
    exactly = 0
    needed = 0
    for _, instance in subject.each("sensitivity"):
        graph = subject.graph(instance)
        actions = subject.environment_class.build(instance).actions
        horizon = 2 * (actions + 1) if claimed is None else claimed
        if graph is None:
            found, most = _sampled(subject, instance, actions, horizon)
        else:
            found, most = _exact(subject, instance, graph, horizon)
            exactly += 1
        needed = max(needed, most)
        if found is not None:
            witnesses.append(found)
    return Finding(
        "sensitivity",
        claimed=claimed is not None,
        passed=not witnesses,
        summary=_summary(subject, claimed, len(witnesses), exactly, needed),
        numbers={
            "claimed_horizon": claimed,
            "needed_horizon": None if witnesses else needed,
            "distinct_instances": len(subject.distinct),
            "decided_exactly": exactly,
            "insensitive_instances": len(witnesses),
        },
        witness=min(witnesses, key=lambda each: len(each["actions"])) if witnesses else None,
    )


Result = tuple[dict[str, Any] | None, int]
"""The witness of an insensitive state, if there is one, and the longest horizon that was needed."""


def _exact(subject: Subject, instance: Instance, graph: Graph, horizon: int) -> Result:
    needed = graph.horizons(horizon)
    if needed.all():
        return None, int(needed.max())
    way = graph.way(int(np.argmin(needed)))
    witness = _witness(subject, instance, way, horizon, 0)
    witness |= {
        "decided": "exactly",
        "states": len(needed),
        "insensitive": int(np.sum(needed == 0)),
    }
    return witness, 0


def _sampled(subject: Subject, instance: Instance, actions: int, horizon: int) -> Result:
    longest = 0
    for walk in range(WALKS):
        positions = subject.positions(instance, walk)
        rng = subject.stream("look", instance.key, walk).generator()
        way: list[int] = []
        for _ in range(STOPS):
            place = positions.save()
            result = search(positions, actions, horizon, rng)
            if not result.length:
                witness = _witness(subject, instance, way, horizon, walk)
                return witness | {"decided": _manner(result), "sequences": result.sequences}, 0
            longest = max(longest, result.length)
            positions.restore(place)
            for action in rng.integers(actions, size=STRIDE).tolist():
                positions.step(action)
                way.append(action)
    return None, longest


def _manner(result: Search) -> str:
    return "by every sequence from a sampled state" if result.complete else "by sampled sequences"


def _witness(
    subject: Subject, instance: Instance, way: list[int], horizon: int, walk: int
) -> dict[str, Any]:
    """All that is needed to go to a state and see it again."""
    chance = subject.walk_stream(instance, walk)
    environment = subject.environment_class.build(instance)
    percept = environment.start(chance.generator())
    for action in way:
        percept = environment.step(action)
    return {
        "instance": dict(instance.data),
        "stream": list(chance.name),
        "actions": way,
        "observation": answer(environment, percept)[1],
        "horizon": horizon,
    }


def _summary(
    subject: Subject, claimed: int | None, insensitive: int, exactly: int, needed: int
) -> str:
    count = len(subject.distinct)
    manner = f"{exactly} of {count} instances decided exactly, the others by sampling"
    if exactly in (0, count):
        manner = "decided exactly" if exactly else "examined by sampling"
    if not insensitive:
        return (
            f"From every state{'' if exactly == count else ' examined'}, what is done can change "
            "the sum of rewards within "
            f"{counted(needed, 'action')}; {manner}."
        )
    within = "2(|A| + 1) actions" if claimed is None else counted(claimed, "action")
    return (
        f"In {insensitive} of {counted(count, 'instance')} there is a state where nothing that is "
        f"done within {within} changes the sum of rewards; {manner}."
    )
