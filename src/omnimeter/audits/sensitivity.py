"""Whether actions matter everywhere: reward-sensitive environments (anytime test, Definition 7)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from omnimeter.audits.states import Simulator, are_different
from omnimeter.audits.subject import (
    Finding,
    Subject,
    counted,
    describe_manner,
    plain_percept,
)
from omnimeter.contract import Instance

EXHAUSTIVE = 1000  # sequences up to this number are all tried, one for all that end in one state
SAMPLED = 300  # sequences that are tried where there are more
RESEEDS = 8  # seeds that are tried before a state of a stochastic environment is insensitive
WALKS = 5  # random walks through an instance whose states are not all known
STOPS = 6  # states on each walk, its start included, from which is searched
STRIDE = 12  # random actions from one of these states to the next


class Search(NamedTuple):
    """After how many actions sums differed (0: never), and whether all sequences were compared."""

    length: int
    sequences: int
    complete: bool


def search(
    simulator: Simulator,
    actions: int,
    horizon: int,
    rng: np.random.Generator,
    least: float = 0.0,
) -> Search:
    """Compare sequences of up to ``horizon`` actions from the current state.

    Their sums of rewards must differ by ``least`` or more, and by more than rounding.

    What was insensitive with one seed may be sensitive with another, so several are tried.
    """
    snapshot = simulator.save()
    result = Search(0, 0, False)
    for attempt in range(RESEEDS):
        simulator.restore(snapshot)
        if attempt and not simulator.reseed(rng):
            break
        start = simulator.save()
        result = _all_sequences(simulator, actions, horizon, least)
        if not (result.length or result.complete):
            result = _some_sequences(simulator, start, actions, horizon, rng, least)
        if result.length:
            break
    return result


def _all_sequences(simulator: Simulator, actions: int, horizon: int, least: float) -> Search:
    """Every sequence, as long as they are few.

    Of those that end in the same state the smallest and the largest sum are kept.
    """
    frontier = {simulator.save(): (0.0, 0.0, 0.0)}
    for length in range(1, horizon + 1):
        if len(frontier) * actions > EXHAUSTIVE:
            return Search(0, len(frontier), False)
        longer: dict[Hashable, tuple[float, float, float]] = {}
        sums = []
        for snapshot, (low, high, weight) in frontier.items():
            for action in range(actions):
                simulator.restore(snapshot)
                reward = simulator.step(action)
                ends = low + reward, high + reward, weight + abs(reward)
                sums.append(ends)
                state = simulator.save()
                known = longer.get(state, ends)
                longer[state] = (
                    min(known[0], ends[0]), max(known[1], ends[1]), max(known[2], ends[2]),
                )  # fmt: skip
        frontier = longer
        lows, highs, weights = np.array(sums).T
        if are_different(highs.max() - lows.min(), weights.max(), least):
            return Search(length, len(sums), False)
    return Search(0, len(frontier), True)


def _some_sequences(
    simulator: Simulator,
    start: Hashable,
    actions: int,
    horizon: int,
    rng: np.random.Generator,
    least: float,
) -> Search:
    """Every action repeated, then random sequences."""
    repeated = np.repeat(np.arange(actions)[:, np.newaxis], horizon, axis=1)
    tried = np.vstack([repeated, rng.integers(actions, size=(SAMPLED, horizon))])
    rewards = np.empty(tried.shape)
    for number, sequence in enumerate(tried.tolist()):
        simulator.restore(start)
        rewards[number] = [simulator.step(action) for action in sequence]
    weights = np.abs(rewards).cumsum(axis=1).max(axis=0)
    differ = are_different(np.ptp(rewards.cumsum(axis=1), axis=0), weights, least)
    return Search(int(np.argmax(differ)) + 1 if differ.any() else 0, len(tried), False)


def check_sensitivity(subject: Subject) -> Finding:
    """From every state, two sequences of at most n actions bring different sums of rewards.

    n is what the class claims, and twice the number of actions plus two where it claims nothing.
    Where the sums must differ by some least difference, nothing is claimed.
    Small deterministic environments are decided exactly. In others states are sampled; in
    stochastic ones the sequences that are compared meet the same random numbers.
    """
    least = subject.least_difference
    claimed = None if least else subject.environment_class.claims().sensitive
    witnesses = []
    exactly, needed = 0, 0
    for _, instance in subject.each("sensitivity"):
        graph = subject.graph(instance)
        actions = subject.environment_class.build(instance).actions
        horizon = 2 * (actions + 1) if claimed is None else claimed
        if graph is None:
            witness, longest = _sampled(subject, instance, actions, horizon)
            needed = max(needed, longest)
            witnesses += [] if witness is None else [witness]
            continue
        exactly += 1
        horizons = graph.horizons(horizon, least)
        if horizons.all():
            needed = max(needed, int(horizons.max()))
            continue
        path = graph.path(int(np.argmin(horizons)))
        witness = _witness(subject, instance, path, horizon, 0)
        insensitive = int(np.sum(horizons == 0))
        decided = {"decided": "exactly", "states": len(horizons), "insensitive": insensitive}
        witnesses.append(witness | decided)
    count = len(subject.distinct)
    by = f" by {least:g} or more" if least else ""
    manner = describe_manner(exactly, count)
    if witnesses:
        within = "2(|A| + 1) actions" if claimed is None else counted(claimed, "action")
        summary = (
            f"In {len(witnesses)} of {counted(count, 'instance')} there is a state where "
            f"nothing that is done within {within} changes the sum of rewards{by}; {manner}."
        )
    else:
        summary = (
            f"From every state{'' if exactly == count else ' examined'}, what is done can "
            f"change the sum of rewards{by} within {counted(needed, 'action')}; {manner}."
        )
    numbers = {
        "claimed_horizon": claimed,
        "least_difference": least,
        "needed_horizon": None if witnesses else needed,
        "distinct_instances": count,
        "decided_exactly": exactly,
        "insensitive_instances": len(witnesses),
    }
    shortest = min(witnesses, key=lambda each: len(each["actions"]), default=None)
    return Finding("sensitivity", claimed is not None, not witnesses, summary, numbers, shortest)


def _sampled(
    subject: Subject, instance: Instance, actions: int, horizon: int
) -> tuple[dict[str, Any] | None, int]:
    """The witness of an insensitive state, if there is one, and the longest horizon needed."""
    longest = 0
    for walk in range(WALKS):
        simulator = subject.simulator(instance, walk)
        rng = subject.stream("look", instance.key, walk).generator()
        path: list[int] = []
        for _ in range(STOPS):
            snapshot = simulator.save()
            result = search(simulator, actions, horizon, rng, subject.least_difference)
            if not result.length:
                every = "by every sequence from a sampled state"
                decided = every if result.complete else "by sampled sequences"
                witness = _witness(subject, instance, path, horizon, walk)
                return witness | {"decided": decided, "sequences": result.sequences}, 0
            longest = max(longest, result.length)
            simulator.restore(snapshot)
            for action in rng.integers(actions, size=STRIDE).tolist():
                simulator.step(action)
                path.append(action)
    return None, longest


def _witness(
    subject: Subject, instance: Instance, path: list[int], horizon: int, walk: int
) -> dict[str, Any]:
    """All that is needed to reach a state again."""
    seed = subject.stream("walk", instance.key, walk)
    environment = subject.environment_class.build(instance)
    percept = environment.start(seed.generator())
    for action in path:
        percept = environment.step(action)
    return {
        "instance": dict(instance.data),
        "stream": list(seed.name),
        "actions": path,
        "observation": plain_percept(environment, percept)[1],
        "horizon": horizon,
    }
