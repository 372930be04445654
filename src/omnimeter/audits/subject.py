"""The environment class under audit, what was drawn from it, and what a check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from omnimeter.audits.states import Graph, Simulator, explore, make_simulator
from omnimeter.contract import (
    Budget,
    Environment,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Percept,
    Spec,
    stream,
)
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.spec import Stream


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: The name of the check.
        claimed: Whether the class, or the standard for every class, says that it holds.
        passed: Whether it holds; ``None`` where there is nothing to hold, only to know.
        summary: The result as a sentence.
        numbers: The result as data.
        witness: Data that shows where it does not hold, enough to see it again; also given with a
            passed check when there is something to know.
    """

    check: str
    claimed: bool
    passed: bool | None
    summary: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {name: plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Audit:
    """All findings about one environment class, and the settings of the audit."""

    findings: Sequence[Finding]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether everything that is claimed holds."""
        return all(finding.passed for finding in self.findings if finding.claimed)

    @property
    def fit(self) -> bool:
        """Whether everything holds, claimed or not."""
        return all(finding.passed is not False for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The audit as plain data."""
        findings = [finding.to_json() for finding in self.findings]
        return {"ok": self.ok, "settings": plain(self.settings), "findings": findings}


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 action``, ``2 actions``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def describe_manner(exactly: int, count: int) -> str:
    """How instances were decided, of which so many exactly."""
    if exactly in (0, count):
        return "decided exactly" if exactly else "examined by sampling"
    return f"{exactly} of {count} instances decided exactly, the others by sampling"


def plain(data: Any) -> Any:
    """The same as JSON-able data; a number that is not finite becomes its name."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray | np.generic):
        return plain(data.tolist())
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, float) and not isfinite(data):
        return str(data)
    return data


PROBE = 100  # actions that are tried to see whether two environments are the same
RUNS = 10  # independent runs of the random agent in each instance
Rollout = list[tuple[float, list[int]]]
Progress = Callable[[str | float], None]
"""Receives what is being done, and the share of the audit that is done."""


def plain_percept(environment: Environment, percept: Percept) -> tuple[float, list[int]]:
    """A percept that can be compared and written as JSON."""
    return float(percept.reward), environment.space.to_vector(percept.observation).tolist()


def rollout(environment: Environment, seed: Stream, actions: Iterable[int]) -> Rollout:
    """The percepts of an environment from its start, as plain data."""
    first = plain_percept(environment, environment.start(seed.generator()))
    return [first, *(plain_percept(environment, environment.step(action)) for action in actions)]


def random_actions(environment: Environment, seed: Stream, count: int = PROBE) -> list[int]:
    """Actions that are drawn uniformly."""
    actions: list[int] = seed.generator().integers(environment.actions, size=count).tolist()
    return actions


def random_exercise(instance: Instance, interactions: int, seed: int, number: int) -> Exercise:
    """An exercise of a random agent in an instance of a class that need not be in the catalogue."""
    budget = Budget(interactions=interactions)
    return Exercise(Spec("random-v1"), Spec("audited"), instance, budget, seed, number)


class Runs(NamedTuple):
    """The rewards of the random agent: means of each run, a row per instance, and extremes."""

    means: FloatArray
    early: FloatArray  # for each of the subject's lengths the mean of so many first rewards
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True)
class Subject:
    """An environment class under audit; the first fields are those of ``audit``.

    Attributes:
        count: How many instances are drawn.
        again: The same class, made a second time; what is repeated is repeated with it.
    """

    environment_class: EnvironmentClass
    count: int
    interactions: int
    seed: int
    confidence: float
    progress: Progress = lambda _: None
    complexities: Sequence[float] = ()
    probe: int = PROBE
    again: EnvironmentClass | None = None
    least_difference: float = 0.0
    _graphs: dict[str, Graph | None] = field(default_factory=dict, init=False, repr=False)

    @property
    def repeated(self) -> Subject:
        """The same audit of the class that was made a second time, if it was."""
        return self if self.again is None else replace(self, environment_class=self.again)

    def stream(self, *path: int | str) -> Stream:
        """A random stream of this audit."""
        return stream(self.seed, "audit", *path)

    def draw(self, number: int, complexity: float | None = None) -> Instance:
        """An instance of a complexity, or else of the band whose turn it is; always the same."""
        rng = self.stream("instance", number).generator()
        if complexity is not None or not self.complexities:
            return self.environment_class.draw(rng, complexity)
        high = self.complexities[number % len(self.complexities)]
        instance = self.draw_between(rng, high - 1, high)
        if instance is None:
            lowest, highest = self.environment_class.complexity_range()
            raise InvalidInputError(
                f"The class has nothing at complexity {high:g}: no instance of complexity "
                f"{high - 1:g} to {high:g}.",
                f"Its complexities go from {lowest:g} to {highest:g}.",
            )
        return instance

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """An instance of a band of complexities, as the anytime tests draw theirs."""
        instance = self.environment_class.draw_between(rng, low, high)
        drawn = low if instance is None else self.environment_class.complexity(instance)
        if low - 1e-9 <= drawn <= high + 1e-9:  # complexities are rounded
            return instance
        raise OmnimeterError(
            f"Between {low:g} and {high:g} the class drew an instance of complexity {drawn:g}."
        )

    @cached_property
    def instances(self) -> list[Instance]:
        """The instances that are examined."""
        return [self.draw(number) for number in range(self.count)]

    @cached_property
    def distinct(self) -> list[Instance]:
        """The same without duplicates: some classes have few instances."""
        return list({instance.key: instance for instance in self.instances}.values())

    @cached_property
    def environments(self) -> list[Environment]:
        """One environment of each instance, for what it declares."""
        return [self.environment_class.build(instance) for instance in self.instances]

    def each(self, doing: str) -> Iterator[tuple[int, Instance]]:
        """The distinct instances with their numbers, reporting progress."""
        for number, instance in enumerate(self.distinct):
            self.progress(f"{doing}: instance {number + 1} of {len(self.distinct)}")
            yield number, instance

    def graph(self, instance: Instance) -> Graph | None:
        """All states of an instance, if it is deterministic and they are not too many."""
        if instance.key in self._graphs:
            return self._graphs[instance.key]
        graph = None
        simulator = self.simulator(instance)
        if not simulator.random_start:
            seed = self.stream("chance", instance.key)
            environments = [self.environment_class.build(instance) for _ in range(3)]
            actions = random_actions(environments[0], seed.child("actions"))
            first, *others = [rollout(environments[n], seed.child(n), actions) for n in range(3)]
            if all(other == first for other in others):  # whatever the seed
                graph = explore(simulator, environments[0].actions)
        self._graphs[instance.key] = graph
        return graph

    def simulator(self, instance: Instance, walk: int = 0) -> Simulator:
        """A simulator of an instance at its start."""
        seed = self.stream("walk", instance.key, walk)
        return make_simulator(self.environment_class, instance, seed)

    @cached_property
    def lengths(self) -> list[int]:
        """How many first interactions are looked at: 1, 2, 4, ... and all."""
        return [*(2**k for k in range((self.interactions - 1).bit_length())), self.interactions]

    @cached_property
    def runs(self) -> Runs:
        """A random agent in every instance, several times."""
        from omnimeter.agents.simple import RandomAgent
        from omnimeter.interaction import run_single

        exercises = [
            random_exercise(instance, self.interactions, self.seed, number * RUNS + run)
            for number, instance in enumerate(self.instances)
            for run in range(RUNS)
        ]
        seen, early = [], []
        for number, trace in enumerate(run_single(self.environment_class, RandomAgent, exercises)):
            if number % RUNS == 0:
                self.progress(f"a random agent: instance {number // RUNS + 1} of {self.count}")
            if trace.fault is not None:
                raise OmnimeterError(trace.fault.message)
            rewards = np.append(trace.rewards, trace.first_reward)
            seen.append((trace.rewards.mean(), rewards.min(), rewards.max()))
            sums = np.cumsum(trace.rewards)
            early.append([sums[length - 1] / length for length in self.lengths])
        means, lowest, highest = np.array(seen).reshape(self.count, RUNS, 3).transpose(2, 0, 1)
        firsts = np.array(early).reshape(self.count, RUNS, -1)
        return Runs(means, firsts, lowest.min(axis=1), highest.max(axis=1))
