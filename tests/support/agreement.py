"""Agents of the catalogue in environment classes of the catalogue, and what came of it.

``python agreement.py DIRECTORY LABEL ...`` puts the directory on the path and prints the digests of
these pairs, or of all: runs in other processes, plain or with checked bounds, can be compared.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from omnimeter.catalogue import Kind, describe, listing, make
from omnimeter.contract import (
    Agent,
    Budget,
    Environment,
    EnvironmentClass,
    Exercise,
    Spec,
    Trace,
    stream,
)
from omnimeter.interaction import run_single
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.dispatch import can_run_compiled
from omnimeter.testing import AgentSuite
from omnimeter.testing.agents import has_offline_phase, prepared
from omnimeter.testing.environments import variants

BUDGETS = (Budget(interactions=40), Budget(seconds=12.5))
INSTANCES = 2
FEW = 5
LONGEST_TABLE = 1000

SMALL: dict[str, dict[str, Any]] = {
    "bamcp-v1": {"k": 10, "depth": 4},
    "bfs3-v1": {"k": 4, "c": 2, "depth": 3},
    "c-test-v1": {"depth": 4},
    "lambda-universal-v1": {
        "actions": 3,
        "cells": 4,
        "space_program": "→ l-r+:",
        "behaviour": "reads cell; π →· r; →· l",
        "objects": ["chasing", "nearly-static"],
        "table_bits": 12,
    },
    "opps-ds-v1": {"budget": 3},
    "perturbed-v1": {"actions": "permuted", "noise": 0.2, "missing": 0.1, "erased": 0.5},
    "switch-v1": {"at": 15},
}
"""Parameters of parts that take too long without compilation, and for more to happen."""


def is_inherited(place: Spec) -> bool:
    """Whether a variant of the universal Lambda class differs by what it has of ``lambda-v1``."""
    views = {place.parameters.get("view"), None, "foresight"}
    rules = {"variant", "consumption", "cycle"} & place.parameters.keys()
    return place.id == "lambda-universal-v1" and (len(views) > 2 or bool(rules))


ELSEWHERE = {"command-v1", "sb3-v1"}
"""Agents that need a program or a library of their own, and have no kernels."""


class Pair(NamedTuple):
    """An environment class, an agent, and the exercises of the one in the other."""

    environment_class: EnvironmentClass
    agent: Spec
    exercises: list[Exercise]

    @property
    def compiles(self) -> bool:
        """Whether both sides have kernels."""
        return can_run_compiled(self.environment_class, [adapt(make(Kind.AGENT, self.agent))])


def needed(spec: Spec, environment: Environment) -> Spec:
    """The spec with the parameters that the part cannot be made without."""
    required = [each.name for each in describe(Kind.AGENT, spec.id).parameters if each.required]
    rows = min(environment.space.count, LONGEST_TABLE)  # who needs more will refuse, everywhere
    table = [key % environment.actions for key in range(rows)]
    samples: dict[str, Any] = {"table": table, "agent": "q-learning-v1", "seconds": 0.01, "at": 10}
    return Spec(spec.id, SMALL.get(spec.id, {}) | {name: samples[name] for name in required})


def pairs() -> Iterator[tuple[str, Pair]]:
    """Each class of the catalogue, in all its variants, with agents in all of theirs.

    Each pair is compiled anew. So only the classes in which the suite for agents tries all agents,
    and with whom they are compiled anyhow, meet all agents. The others meet the random one and a
    few. Each view is compiled anew too: a class with several views meets these
    agents once, each in the view that it asks for, and otherwise only the random agent. Where the
    class can be a prior, agents with an offline phase have had it.
    """
    tried = {type(each) for each in AgentSuite().environments()}
    priors = {type(each) for each in AgentSuite().priors()}
    for turn, entry in enumerate(listing(Kind.ENVIRONMENT)):
        for number, place in enumerate(
            variants(Kind.ENVIRONMENT, Spec(entry.id, SMALL.get(entry.id, {})))
        ):
            if is_inherited(place):  # it would be compiled anew for each view
                continue
            environment_class = make(Kind.ENVIRONMENT, place)
            rng = stream(0, "agreement").generator()
            instances = [environment_class.draw(rng) for _ in range(INSTANCES)]
            environment = environment_class.build(instances[0])
            again = number > 0 and environment_class.views
            every = 1 if type(environment_class) in tried else FEW
            agents = some(environment, turn, every, offline=type(environment_class) in priors)
            for agent in [Spec("random-v1")] if again else agents:
                exercises = [
                    Exercise(agent, place, instance, budget, seed=9, number=count)
                    for count, instance in enumerate(instances)
                    for budget in BUDGETS
                ]
                label = f"{agent.id}{sorted(agent.parameters.items())[-1:]} in {place.label}"
                yield label, Pair(environment_class, agent, exercises)


def parts(everything: dict[str, Pair], count: int) -> list[dict[str, Pair]]:
    """All pairs in parts of about the same size; what is compiled once is in one part."""
    groups: dict[Any, dict[str, Pair]] = {}
    for label, pair in everything.items():
        key = None
        if pair.compiles:
            key = pair.environment_class.kernels, make(Kind.AGENT, pair.agent).kernels
        groups.setdefault(key, {})[label] = pair
    ordered = list(groups.values())
    return [
        {label: pair for group in ordered[part::count] for label, pair in group.items()}
        for part in range(count)
    ]


def some(environment: Environment, turn: int, every: int, *, offline: bool) -> Iterator[Spec]:
    """The random agent, those with an offline phase if they are wanted, and every so-many-th of
    the others, in all their variants.
    """
    entries = [entry for entry in listing(Kind.AGENT) if entry.id not in ELSEWHERE]
    for number, entry in enumerate(entries):
        spec = needed(Spec(entry.id), environment)
        wanted = entry.id == "random-v1" or (number + turn) % every == 0
        if wanted or (offline and has_offline_phase(make(Kind.AGENT, spec))):
            yield from variants(Kind.AGENT, spec)


def stepwise(pair: Pair) -> list[Trace]:
    """The traces of the stepwise loop."""
    return _run(pair, compiled=False)


def compiled(pair: Pair) -> list[Trace]:
    """The traces of the compiled loop."""
    assert pair.compiles
    return _run(pair, compiled=True)


def _run(pair: Pair, *, compiled: bool) -> list[Trace]:
    def make_agent() -> Agent:
        return adapt(prepared(make(Kind.AGENT, pair.agent), pair.environment_class))

    return list(
        run_single(
            pair.environment_class, make_agent, pair.exercises, record=True, compiled=compiled
        )
    )


def digest(traces: list[Trace]) -> str:
    """Everything that happened, bit for bit."""
    digest = hashlib.sha256()
    for trace in traces:
        for column in (trace.rewards, trace.times, trace.actions, trace.observations):
            assert column is not None
            digest.update(repr(column.shape).encode() + np.ascontiguousarray(column).tobytes())
        fault = trace.fault and (trace.fault.kind, trace.fault.message)
        digest.update(repr((trace.end_ns, trace.ending, trace.first_reward, fault)).encode())
    return digest.hexdigest()[:16]


def main() -> None:
    """Print what the compiled loop gives, or the ordinary one for those who cannot be compiled."""
    directory, *labels = sys.argv[1:]
    sys.path.insert(0, directory)
    digests = {
        label: digest(compiled(pair) if pair.compiles else stepwise(pair))
        for label, pair in pairs()
        if not labels or label in labels
    }
    print(json.dumps(digests))


if __name__ == "__main__":
    main()
