"""Balance by symmetry: exchanging good and evil must turn every course of events into its mirror.

If what good and evil do is the same whichever of them is which, every course of events has a mirror
that is as likely and pays the opposite. So a random agent expects 0 in every interaction.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable
from typing import Any

import numpy as np

from omnimeter.audits.states import KernelSimulator, Simulator
from omnimeter.audits.subject import Finding, Subject, counted
from omnimeter.contract import Environment

MAX_STATES = 3_000
"""How many joint states of an instance are looked at; where there are more, this is a test."""

DRAWS = 4
"""How many random numbers each transition is tried with."""

STARTS, LEAST_P_VALUE = 400, 1e-6


def check_symmetry(subject: Subject) -> Finding | None:
    """In every joint state and after every action, mirrored states lead to mirrored states.

    Exact where all joint states are visited: the places and memories of all that moves. The rewards
    that lie in cells change in proportion, so that one value of them stands for all. ``None`` for
    classes that know no such symmetry.
    """
    cls = subject.environment_class
    states = transitions = proved = examined = 0
    witness: dict[str, Any] | None = None
    for _, instance in subject.each("symmetry of good and evil"):
        environment = cls.build(instance)
        environment.start(subject.stream("symmetry", instance.key).generator())
        if cls.symmetry(environment) is None or not hasattr(environment, "state"):
            return None
        examined += 1
        simulator = KernelSimulator(environment)  # type: ignore[arg-type] # it has a state
        rng = subject.stream("symmetry", instance.key, "draws").generator()
        results = _first_violation(subject, environment, simulator, rng)
        states, transitions = states + results["states"], transitions + results["transitions"]
        proved += results["complete"]
        if results["violation"] is None:
            results["violation"] = _starts_differ(subject, environment, rng)
        if results["violation"] is not None:
            witness = {"instance": dict(instance.data), "violation": results["violation"]}
            break
    if witness is not None:
        summary = f"Exchanging good and evil does not give the mirror: {witness['violation']}."
    else:
        summary = (
            f"Exchanging good and evil gives the mirror in all {transitions:,} transitions from "
            f"{states:,} joint states. In {proved} of {counted(examined, 'instance')} there are no "
            "others, which proves that a random agent expects 0 in every interaction."
        )
    numbers = {
        "states": states,
        "transitions": transitions,
        "proved": proved,
        "instances": examined,
    }
    claimed = bool(cls.claims().balanced)
    return Finding("symmetry", claimed, witness is None, summary, numbers, witness)


def _first_violation(
    subject: Subject, environment: Environment, simulator: Simulator, rng: np.random.Generator
) -> dict[str, Any]:
    """Visit joint states breadth first, and compare each transition with that of the mirror."""
    cls = subject.environment_class

    def symmetry() -> Any:
        return cls.symmetry(environment)

    waiting = deque([simulator.save()])
    known: set[Hashable] = {symmetry().place}
    transitions = 0
    for _ in range(STARTS):
        environment.start(rng)
        if (place := symmetry().place) not in known and len(known) < MAX_STATES:
            known.add(place)
            waiting.append(simulator.save())
    complete = True
    while waiting:
        here = waiting.popleft()
        for action in range(environment.actions):
            for event in range(symmetry().events):
                for _ in range(DRAWS):
                    bits = rng.integers(2**63)
                    ends = []
                    for mirrored in (False, True):
                        simulator.restore(here)
                        simulator.reseed(np.random.default_rng(bits))
                        symmetry().prepare(event)
                        if mirrored:
                            symmetry().mirror()
                        reward = simulator.step(action)
                        if not mirrored:
                            kept = simulator.save()
                            place = symmetry().place
                            symmetry().mirror()
                        ends.append((reward, symmetry().state))
                    transitions += 1
                    (paid, wanted), (opposite, state) = ends
                    if paid != -opposite or wanted != state:
                        violation = f"action {action} pays {paid:g}, and {opposite:g} in the mirror"
                        return _course(known, transitions, False, violation)
                    if place not in known:
                        if len(known) == MAX_STATES:
                            complete = False
                            continue
                        known.add(place)
                        waiting.append(kept)
    return _course(known, transitions, complete, None)


def _course(
    known: set[Hashable], transitions: int, complete: bool, violation: str | None
) -> dict[str, Any]:
    return {
        "states": len(known), "transitions": transitions, "complete": complete,
        "violation": violation,
    }  # fmt: skip


def _starts_differ(
    subject: Subject, environment: Environment, rng: np.random.Generator
) -> str | None:
    """Compare how often starts and their mirrors come up, by a test of symmetry."""
    from scipy.stats import chi2

    counts: Counter[Hashable] = Counter()
    mirrors: dict[Hashable, Hashable] = {}
    for _ in range(STARTS):
        environment.start(rng)
        symmetry: Any = subject.environment_class.symmetry(environment)
        counts[symmetry.place] += 1
        place = symmetry.place
        symmetry.mirror()
        mirrored: Any = subject.environment_class.symmetry(environment)
        mirrors[place] = mirrored.place
    pairs = {frozenset((one, other)) for one, other in mirrors.items() if one != other}
    statistic = 0.0
    for pair in pairs:
        one, other = (counts[each] for each in pair)
        statistic += (one - other) ** 2 / (one + other)
    if pairs and chi2.sf(statistic, len(pairs)) < LEAST_P_VALUE:
        return "some starts come up more often than their mirrors"
    return None
