"""What is evaluated: a protocol and the agents that take it, and what their outcomes say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from omnimeter.catalogue import Kind, describe, make, objects
from omnimeter.contract import InvalidInputError, Outcome, Outcomes, Protocol, Score, Spec
from omnimeter.contract.outcomes import stopped_at, that_count
from omnimeter.contract.protocol import Design, Memory, Moment
from omnimeter.contract.spec import JsonData

T = TypeVar("T")

TWICE = "Give it once, or under another name: 'AGENT as NAME'."


@lru_cache(maxsize=4)
def _made(spec: Spec, generation: int, extended: tuple[int, ...]) -> Protocol:  # noqa: ARG001 - objects may be redefined
    made: Protocol = make(Kind.PROTOCOL, spec)
    if extended:
        made.extended = extended
    return made


@dataclass(frozen=True)
class Evaluation(JsonData):
    """Some agents, one test.

    A test without a ``seed`` gets one when it begins (``with_seed``), which is no part of what is
    evaluated: it is kept where agents cannot see it.

    Attributes:
        protocol: The test.
        agents: The agents that take it.
        traces: Whether what happened is kept interaction by interaction.
        privileged: Whether agents may have views that tell what others have to find out.
        extended: The sizes (``Protocol.grows``) that it had before, when its results could be seen.
        seed_told: Whether it was complete before, so that the seed that was drawn for it was told.
    """

    protocol: Spec
    agents: tuple[Spec, ...]
    traces: bool = False
    privileged: bool = False
    extended: tuple[int, ...] = ()
    seed_told: bool = False

    def __post_init__(self) -> None:
        flags: dict[str, object] = {"traces": self.traces, "privileged": self.privileged}
        for name, value in flags.items():
            if not isinstance(value, bool):
                raise InvalidInputError(f"{name}={value!r} cannot be used.", "Give True or False.")
        if not self.agents:
            raise InvalidInputError("There is no agent to evaluate.", "Give at least one agent.")
        labels = [agent.label for agent in self.agents]
        for label in labels:
            if labels.count(label) > 1:
                raise InvalidInputError(f"The agent {label} is given twice.", TWICE)

    @property
    def members(self) -> tuple[Spec, ...]:
        """All agents that act: those that are evaluated, and those seated beside them."""
        return (*self.agents, *self.make_protocol().seated)

    @property
    def needs_seed(self) -> bool:
        """Whether the test takes a seed and has none of its own."""
        protocol = self.protocol
        if "seed" in protocol.parameters or objects.is_object(protocol.id):
            return False
        known = describe(Kind.PROTOCOL, protocol.id).parameters
        return any(parameter.name == "seed" for parameter in known)

    def with_seed(self, seed: int | None) -> Evaluation:
        """The same evaluation, its test with the seed that was drawn for it, if one was."""
        if seed is None or "seed" in self.protocol.parameters:
            return self
        parameters = {**self.protocol.parameters, "seed": seed}
        return replace(self, protocol=replace(self.protocol, parameters=parameters))

    def make_protocol(self) -> Protocol:
        """The test, ready to propose exercises."""
        return _made(self.protocol, objects.generation(), self.extended)

    def continued(
        self, stored: Evaluation, seed: int | None, outcomes: Callable[[], Outcomes]
    ) -> Evaluation | None:
        """This evaluation as one that goes on with a stored one, or ``None`` if it cannot.

        It can if it is the same, but for further agents and a larger size.

        Args:
            stored: What was evaluated so far.
            seed: The seed that was drawn for it, if one was.
            outcomes: Gives what is finished of it.
        """
        again = replace(self, extended=stored.extended, seed_told=stored.seed_told)
        if again == stored:
            return again
        before, now = stored.protocol, self.protocol
        alike = (before.id, before.digest, stored.traces, stored.privileged)
        if alike != (now.id, now.digest, self.traces, self.privileged):
            return None
        names = {*before.parameters, *now.parameters}
        changed = [n for n in names if before.parameters.get(n) != now.parameters.get(n)]
        extended = set(stored.extended)
        if changed:
            made = self.with_seed(seed).make_protocol()
            sizes = [each.parameters.get(made.grows) for each in (before, now)]
            smaller, larger = (each if isinstance(each, int) else 0 for each in sizes)
            if changed != [made.grows] or made.memory != "fresh" or not 0 < smaller < larger:
                return None
            extended |= {smaller} if len(outcomes()) else set()
        if not {*stored.agents} <= {*self.agents}:
            return None
        told = stored.seed_told
        if seed is not None and not told:
            done = outcomes().by_agent(stored.agents)
            told = is_complete(stored.with_seed(seed).make_protocol(), done)
        return replace(self, extended=tuple(sorted(extended)), seed_told=told)


@dataclass(frozen=True)
class Result:
    """What an evaluation says so far.

    Attributes:
        scores: The score of each agent.
        outcomes: What the scores are made of, in the order of the exercises.
        complete: Whether all exercises are done.
        support: Between which numbers every payoff lies, where that is known.
        values: The independent values of each agent, by their unit, where they are not simply the
            payoffs (``Protocol.values``).
        courses: How the test of each agent went, where it could be stopped after every round.
        memory: What agents kept from one exercise to the next: ``fresh`` or ``carried``.
        design: What the test says of itself.
        exhausted: Agents whose test ended early because no environment was left for them.
        stopped: Agents whose test ended early, after how many faults of their own in a row.
        seed: The root of all randomness, where it is told and no secret.
    """

    scores: Mapping[Spec, Score]
    outcomes: Mapping[Spec, Outcomes]
    complete: bool
    support: tuple[float, float] | None = None
    values: Mapping[Spec, Mapping[int, float]] = field(default_factory=dict)
    courses: Mapping[Spec, Sequence[Moment]] = field(default_factory=dict)
    memory: Memory = "fresh"
    design: Design = Design()
    exhausted: tuple[Spec, ...] = ()
    stopped: Mapping[Spec, int] = field(default_factory=dict)
    seed: int | None = None
    _computed: dict[Callable[[Result], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        columns = {agent: Outcomes.of(done) for agent, done in self.outcomes.items()}
        object.__setattr__(self, "outcomes", columns)

    def once(self, compute: Callable[[Result], T]) -> T:
        """What a function says of this result; computed the first time that it is asked for."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        known: T = self._computed[compute]
        return known


def judge(protocol: Protocol, outcomes: Mapping[Spec, Sequence[Outcome]], complete: bool) -> Result:
    """Score what each agent has done so far, in whatever order it was done."""
    ordered = {agent: that_count(Outcomes.of(done).in_order()) for agent, done in outcomes.items()}
    support = protocol.bounds()
    if support is not None:  # and what a class that breaks its own range paid beyond it
        paid = [payoffs for done in ordered.values() if len(payoffs := done.payoffs[done.paid])]
        lows, highs = ([float(end(each)) for each in paid] for end in (np.min, np.max))
        support = min([support[0], *lows]), max([support[1], *highs])
    courses = {agent: protocol.course(done) for agent, done in ordered.items()}
    # Of a test that was interrupted, agents are compared by what all of them have had.
    moments = None if complete else min(map(len, courses.values()), default=None)
    values = {agent: protocol.values(done, moments) for agent, done in ordered.items()}
    return Result(
        scores={agent: protocol.score(done) for agent, done in ordered.items()},
        outcomes=ordered,
        complete=complete,
        support=support,
        values={agent: units for agent, units in values.items() if units},
        courses=courses,
        memory=protocol.memory,
        design=protocol.describe(),
        exhausted=tuple(agent for agent, done in ordered.items() if protocol.is_exhausted(done)),
        stopped={
            agent: stop.limit
            for agent, done in ordered.items()
            if (stop := stopped_at(done)) and _left(protocol, agent, done)
        },
    )


def _left(protocol: Protocol, agent: Spec, outcomes: Outcomes) -> bool:
    """Whether an agent would have more exercises to take."""
    proposed = protocol.propose(agent, outcomes)
    done = set(outcomes.keys.tolist()) if proposed else set()
    return any(int(each.key, 16) not in done for each in proposed)


def summarise(evaluation: Evaluation, outcomes: Sequence[Outcome]) -> Result:
    """What stored outcomes say, without running anything."""
    protocol = evaluation.make_protocol()
    by_agent = Outcomes.of(outcomes).by_agent(evaluation.agents)
    return judge(protocol, by_agent, is_complete(protocol, by_agent))


def is_complete(protocol: Protocol, outcomes: Mapping[Spec, Outcomes]) -> bool:
    """Whether no agent has anything left to do."""
    return not any(_is_unfinished(protocol, agent, done) for agent, done in outcomes.items())


def _is_unfinished(protocol: Protocol, agent: Spec, outcomes: Outcomes) -> bool:
    """Whether an agent has exercises to take, up to where it was stopped if it was."""
    stop, numbers = stopped_at(outcomes), outcomes.numbers
    if stop is None:
        return bool(len(protocol.propose(agent, outcomes)))
    return protocol.fixed and len(np.unique(numbers[numbers < stop.number])) < stop.number
