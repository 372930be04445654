"""The class under audit, what was drawn from it, and what a check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from omnimeter.audits.states import Graph, Positions, explore, started
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
    Trace,
    stream,
)
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.spec import Stream


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: The name of the check.
        claimed: Whether the class, or the standard for every class, says that it holds.
        passed: Whether it was found to hold.
        summary: What was found, for a person.
        numbers: What was found, for a program.
        witness: Something that shows where it does not hold, enough to see it again; also given
            beside a passed check when there is something to know.
    """

    check: str
    claimed: bool
    passed: bool
    summary: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "check": self.check,
            "claimed": self.claimed,
            "passed": self.passed,
            "summary": self.summary,
            "numbers": plain(self.numbers),
            "witness": plain(self.witness),
        }


@dataclass(frozen=True)
class Audit:
    """All findings about one environment class.

    Attributes:
        findings: One per check.
        settings: What the audit was given: instances, interactions, seed and confidence.
    """

    findings: Sequence[Finding]
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether everything that is claimed holds."""
        return all(finding.passed for finding in self.findings if finding.claimed)

    def to_json(self) -> dict[str, Any]:
        """The audit as plain data."""
        return {
            "ok": self.ok,
            "settings": plain(self.settings),
            "findings": [finding.to_json() for finding in self.findings],
        }


def counted(number: int, word: str) -> str:
    """A number of things: ``1 action``, ``2 actions``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def plain(data: Any) -> Any:
    """The same as JSON knows it; a number that is not finite becomes its name."""
    if isinstance(data, Mapping):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, np.ndarray | np.generic):
        return plain(data.tolist())
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if isinstance(data, float) and not isfinite(data):
        return str(data)
    return data


Answers = list[tuple[float, list[int]]]
"""Rewards and observations, the first ones included."""

PROBE = 100
"""Actions that are tried to see whether two environments are the same."""


def answer(environment: Environment, percept: Percept) -> tuple[float, list[int]]:
    """A percept that can be compared and written down."""
    return float(percept.reward), environment.space.to_vector(percept.observation).tolist()


def answers(environment: Environment, chance: Stream, actions: Iterable[int]) -> Answers:
    """What an environment answers from its beginning."""
    first = answer(environment, environment.start(chance.generator()))
    return [first, *(answer(environment, environment.step(action)) for action in actions)]


def random_actions(environment: Environment, chance: Stream, count: int = PROBE) -> list[int]:
    """Some actions of an environment."""
    drawn: list[int] = chance.generator().integers(environment.actions, size=count).tolist()
    return drawn


def first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """Where two sequences differ first, if they do."""
    if one == other:
        return None
    pairs = enumerate(zip(one, other, strict=True))
    return next(number for number, (mine, theirs) in pairs if mine != theirs)


def left_to_chance(environment_class: EnvironmentClass, instance: Instance, chance: Stream) -> bool:
    """Whether other chances were seen to give other answers to the same actions."""
    environments = [environment_class.build(instance) for _ in range(3)]
    actions = random_actions(environments[0], chance.child("actions"))
    seen = [
        answers(environment, chance.child(number), actions)
        for number, environment in enumerate(environments)
    ]
    return any(other != seen[0] for other in seen[1:])


RUNS = 10
"""Independent runs of the random agent in each instance."""

Progress = Callable[[str | float], None]
"""Told what is being done, and which share of the audit is done."""

ROUNDING = 1e-9
"""How far out of a band a complexity may lie for being computed another way."""


@dataclass(frozen=True)
class Runs:
    """How the random agent fared.

    Attributes:
        means: The mean reward of each run, a row per instance.
        lowest: The lowest reward seen in each instance, the first one of a run included.
        highest: The highest reward seen in each instance.
    """

    means: FloatArray
    lowest: FloatArray
    highest: FloatArray


@dataclass(frozen=True)
class Subject:
    """An environment class under audit.

    Attributes:
        environment_class: The class.
        count: How many instances are drawn.
        interactions: How long each run of the random agent is.
        seed: The root of all chance.
        confidence: How sure a refusal must be.
        progress: Told what is being done.
        complexities: Where instances are drawn, one after the other: at complexity L those of
            complexity L - 1 to L. Without complexities they are drawn as the class draws by itself.
    """

    environment_class: EnvironmentClass
    count: int
    interactions: int
    seed: int
    confidence: float
    progress: Progress
    complexities: Sequence[float] = ()
    _graphs: dict[str, Graph | None] = field(default_factory=dict, init=False, repr=False)

    def stream(self, *path: int | str) -> Stream:
        """A source of chance of this audit."""
        return stream(self.seed, "audit", *path)

    def draw(self, number: int, complexity: float | None = None) -> Instance:
        """An instance, of a complexity or at the one whose turn it is; the same each time.

        Raises:
            InvalidInputError: The class has nothing there.
            OmnimeterError: The class draws what was not asked for.
        """
        rng = self.stream("instance", number).generator()
        if complexity is None and self.complexities:
            return self._draw_at(self.complexities[number % len(self.complexities)], rng)
        return self.environment_class.draw(rng, complexity)

    def _draw_at(self, complexity: float, rng: np.random.Generator) -> Instance:
        """An instance of a band, as the anytime tests choose theirs."""
        instance = self.environment_class.draw_between(rng, complexity - 1, complexity)
        if instance is None:
            low, high = self.environment_class.complexity_range()
            raise InvalidInputError(
                f"The class has nothing at complexity {complexity:g}: no instance of complexity "
                f"{complexity - 1:g} to {complexity:g}.",
                f"Its complexities go from {low:g} to {high:g}.",
            )
        drawn = self.environment_class.complexity(instance)
        if not complexity - 1 - ROUNDING <= drawn <= complexity + ROUNDING:
            raise OmnimeterError(
                f"Between {complexity - 1:g} and {complexity:g} the class drew an instance of "
                f"complexity {drawn:g}."
            )
        return instance

    @cached_property
    def instances(self) -> list[Instance]:
        """The instances that are examined."""
        return [self.draw(number) for number in range(self.count)]

    @cached_property
    def distinct(self) -> list[Instance]:
        """The same without repetitions: some classes have few instances."""
        return list({instance.key: instance for instance in self.instances}.values())

    @cached_property
    def environments(self) -> list[Environment]:
        """One environment of each instance, to be asked what it declares."""
        return [self.environment_class.build(instance) for instance in self.instances]

    def each(self, doing: str) -> Iterator[tuple[int, Instance]]:
        """The distinct instances with their numbers, telling how far the work is."""
        for number, instance in enumerate(self.distinct):
            self.progress(f"{doing}: instance {number + 1} of {len(self.distinct)}")
            yield number, instance

    def graph(self, instance: Instance) -> Graph | None:
        """All states of an instance, if chance plays no part and they are not too many."""
        if instance.key not in self._graphs:
            chance = self.stream("chance", instance.key)
            positions = self.positions(instance)
            found = None
            if not positions.drawn and not left_to_chance(self.environment_class, instance, chance):
                actions = self.environment_class.build(instance).actions
                found = explore(positions, actions)
            self._graphs[instance.key] = found
        return self._graphs[instance.key]

    def positions(self, instance: Instance, walk: int = 0) -> Positions:
        """An environment of an instance at its beginning, to be led about."""
        return started(self.environment_class, instance, self.walk_stream(instance, walk))

    def walk_stream(self, instance: Instance, walk: int) -> Stream:
        """The chance of an environment that is led about."""
        return self.stream("walk", instance.key, walk)

    @cached_property
    def runs(self) -> Runs:
        """A random agent in every instance, several times."""
        exercises = [
            random_exercise(instance, self.interactions, self.seed, number * RUNS + run)
            for number, instance in enumerate(self.instances)
            for run in range(RUNS)
        ]
        seen = []
        for number, trace in enumerate(self._traces(exercises)):
            if number % RUNS == 0:
                self.progress(f"a random agent: instance {number // RUNS + 1} of {self.count}")
            if trace.fault is not None:
                raise OmnimeterError(trace.fault.message)
            rewards = np.append(trace.rewards, trace.first_reward)
            seen.append((trace.rewards.mean(), rewards.min(), rewards.max()))
        means, lowest, highest = np.array(seen).reshape(self.count, RUNS, 3).transpose(2, 0, 1)
        return Runs(means, lowest.min(axis=1), highest.max(axis=1))

    def _traces(self, exercises: list[Exercise]) -> Iterator[Trace]:
        from omnimeter.agents.simple import RandomAgent
        from omnimeter.interaction import KernelEnvironmentClass, interact
        from omnimeter.interaction.batch import run_batch

        if isinstance(self.environment_class, KernelEnvironmentClass):
            yield from run_batch(self.environment_class, RandomAgent(), exercises)
            return
        for exercise in exercises:
            environment = self.environment_class.build(exercise.instance)
            yield interact(environment, RandomAgent(), exercise.budget, exercise.stream)


def random_exercise(instance: Instance, interactions: int, seed: int, number: int) -> Exercise:
    """A random agent in an instance of the class under audit."""
    return Exercise(
        agent=Spec("random-v1"),
        environment_class=Spec("audited"),
        instance=instance,
        budget=Budget(interactions=interactions),
        seed=seed,
        number=number,
    )
