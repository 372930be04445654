"""The universal tests (anytime test, Definitions 10, 15, 17, 18 and 19) from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.api.evaluation import (
    AgentLike,
    EnvironmentClassLike,
    Session,
    agent_specs,
    as_json,
    class_spec,
    running_options,
)
from omnimeter.catalogue import Kind, objects
from omnimeter.contract import ClockKind, InvalidInputError, OmnimeterError, Protocol, Spec
from omnimeter.execution.harness import HarnessCost, measure
from omnimeter.execution.workers import Options, is_isolated, make_environment_class
from omnimeter.protocols import Evaluation
from omnimeter.reports.text import counted, duration

if TYPE_CHECKING:
    from omnimeter.audits import Finding

INSTANCES, INTERACTIONS, CONFIDENCE = 16, 1260, 0.999
"""A short audit of balance: half as long as an audit, and hardly ever against a balanced class."""


@dataclass(frozen=True)
class Definition:
    """A test of the paper.

    Attributes:
        number: Its number (anytime test).
        protocol: Its id in the catalogue.
        title: What it is called.
        length: The parameter of ``test`` that says how long it is.
        takes: The other parameters that it takes, with their defaults.
        balanced: Whether it is for balanced environments only.
        names: What its protocol calls a parameter, where that is another name.
    """

    number: int
    protocol: str
    title: str
    length: str
    takes: Mapping[str, Any]
    balanced: bool = True
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"Definition {self.number}"


_SAMPLE: dict[str, Any] = {"exercises": 20}
_ADJUSTED = {**_SAMPLE, "adjustment": None, "unbalanced": None}
_CLOCK = {"payoff": None, "clock": "wall", "tick": None}
_ADAPTIVE = {
    "repetitions": 10,
    "start_complexity": None,
    "slot": None,
    "payoff": None,
    "unbalanced": None,
}

DEFINITIONS = {
    each.number: each
    for each in (
        Definition(
            10,
            "universal-rewards-v1",
            "Universal intelligence by accumulated rewards",
            "interactions",
            _SAMPLE,
            balanced=False,
        ),
        Definition(
            15,
            "universal-adjusted-v1",
            "Universal intelligence by adjusted rewards",
            "interactions",
            _ADJUSTED,
        ),
        Definition(
            17,
            "universal-timed-v1",
            "Universal intelligence considering time",
            "time",
            {**_ADJUSTED, **_CLOCK},
            names={"time": "seconds"},
        ),
        Definition(
            18, "anytime-timed-v1", "Anytime test with time", "time", {**_ADAPTIVE, **_CLOCK}
        ),
        Definition(
            19, "anytime-untimed-v1", "Anytime test without time", "interactions", _ADAPTIVE
        ),
    )
}
"""All of them, by their numbers."""


class UniversalTest(Session):
    """A universal test that is going to be given.

    Iterate over it to see the result so far after each round, and leave the loop whenever you
    like: the result is valid at any time. ``run()`` gives the whole test.

    Args:
        definition: Which test.
        evaluation: The test with all its parameters, and its agents.
        things: Agents and environment class that were given as Python objects, by their ids.
        out: The directory to store it in; nothing is stored without one.
        options: How to run it.

    Attributes:
        definition: Which test.
        balance: What a short audit says of the balance of the class, once it was made.
        harness: What the harness itself takes, once it was measured; only where real time counts.
    """

    def __init__(
        self,
        definition: Definition,
        evaluation: Evaluation,
        things: Mapping[str, Any] | None = None,
        out: str | Path | None = None,
        options: Options = Options(),  # noqa: B008 - a frozen value
    ) -> None:
        super().__init__(evaluation, things, out, options)
        self.definition = definition
        self.balance: Finding | None = None
        self.harness: Sequence[HarnessCost] = ()

    @property
    def protocol(self) -> Protocol:
        """The protocol, ready to propose exercises."""
        objects.use(self._things)
        return self.evaluation.make_protocol()

    @property
    def environment_spec(self) -> Spec:
        """The environment class."""
        return Spec.from_json(self.evaluation.protocol.parameters["environment_class"])

    @property
    def title(self) -> str:
        """What test it is."""
        return f"{self.definition.title} ({self.definition.name})"

    @property
    def setting(self) -> str:
        """Where it is taken, and how long it is."""
        parameters = self.evaluation.protocol.parameters
        seconds = parameters.get("time", parameters.get("seconds"))
        if seconds is None:
            length = counted(parameters["interactions"], "interaction")
        else:
            length = f"{duration(seconds)} by the {parameters['clock']} clock"
        if "repetitions" in parameters:
            parts = "in " + counted(parameters["repetitions"], "repetition")
        else:
            parts = "in each of " + counted(parameters["exercises"], "environment")
        return f"{self.environment_spec.label} · {length} {parts} · seed {parameters['seed']}"

    @property
    def real_time(self) -> bool:
        """Whether real time counts: not in tests by interactions or by the virtual clock."""
        return self.evaluation.protocol.parameters.get("clock") == ClockKind.WALL

    def _check(self) -> None:
        if self._options.workers > 1 and self.real_time:
            raise InvalidInputError(
                "There cannot be several workers= while real time counts: they would disturb "
                "each other's.",
                "Leave out workers=, or give clock=virtual or interactions=N.",
            )
        insists = "unbalanced" in self.evaluation.protocol.parameters
        if self.definition.balanced and not insists and self.balance is None:
            self.balance = self._examine()
        super()._check()

    def _examine(self) -> Finding:
        """Audit the balance of the class in short (anytime test, Definition 13)."""
        from omnimeter.audits.checks import check_balance
        from omnimeter.audits.subject import Subject

        spec = self.environment_spec
        environment_class = make_environment_class(spec)
        subject = Subject(environment_class, INSTANCES, INTERACTIONS, 0, CONFIDENCE, lambda _: None)
        try:
            finding = check_balance(subject)
        except OmnimeterError:
            raise
        except Exception as error:  # a third-party class may raise anything
            raise InvalidInputError(
                f"{spec.label} cannot be examined: {type(error).__name__}: {error}",
                "omnimeter audit tells more.",
            ) from error
        if not (finding.claimed and finding.passed):
            what = "does not claim to be balanced" if finding.passed else "is not balanced"
            raise InvalidInputError(
                f"{spec.label} {what}. {finding.summary}",
                "Choose another class, or insist with unbalanced=True; the score then says so. "
                "omnimeter audit examines the class.",
            )
        return finding

    def measure_harness(self) -> Sequence[HarnessCost]:
        """What the harness takes where real time counts, for each way in which agents run."""
        if self.real_time and not self.harness:
            agents = self.evaluation.agents
            first = self.protocol.propose(agents[0], [])[0]
            environment_class = make_environment_class(first.environment_class)
            isolated = sorted({is_isolated(agent, self._options.isolation) for agent in agents})
            self.harness = [measure(environment_class, first, isolated=each) for each in isolated]
        return self.harness


def test(
    agents: AgentLike | Sequence[AgentLike],
    environment_class: EnvironmentClassLike,
    *,
    time: float | None = None,
    interactions: int | None = None,
    definition: int | None = None,
    repetitions: int | None = None,
    start_complexity: float | None = None,
    slot: float | None = None,
    exercises: int | None = None,
    adjustment: str | Spec | None = None,
    payoff: str | Spec | None = None,
    clock: str | None = None,
    tick: float | None = None,
    unbalanced: bool = False,
    seed: int = 0,
    traces: bool = False,
    out: str | Path | None = None,
    workers: int = 1,
    isolation: str = "auto",
    action_timeout: float = 10.0,
    memory_limit: int | None = 2048,
) -> UniversalTest:
    """Prepare a universal test, which begins when it is iterated over or ``run()``.

    By default it is an anytime test: success leads to harder environments, failure to easier ones,
    and every exercise lasts longer than the one before. It has a score at any time.

    Args:
        agents: One agent or a list, as in ``evaluate``.
        environment_class: An id (``"automata"``), a ``Spec``, or a Python class or object.
        time: Seconds of the whole test, in which time counts (Definition 18).
        interactions: Or its length in interactions, whatever time they take (Definition 19).
        definition: 10, 15 or 17: a fixed number of environments instead, each as long as ``time``
            or ``interactions`` says.
        repetitions: Repetitions side by side, each with its share of the length (by default 10).
        start_complexity: The complexity to begin with (by default the lowest of the class).
        slot: Length of the first exercise: seconds (by default 1e-6) or interactions (1).
        exercises: Definitions 10, 15, 17: how many (by default 20).
        adjustment: Definitions 15, 17: what results are weighed by (by default flat).
        payoff: What an exercise is worth (by default diminishing with time, else average).
        clock: ``wall`` (the default), or ``virtual``: believe the times that agents declare.
        tick: Virtual seconds of an undeclared action.
        unbalanced: Whether to insist on a class that is not balanced.
        seed: The root of all random numbers.
        traces: Whether every interaction is kept.
        out: The directory to store it in; nothing is stored without it.
        workers: How many processes carry out exercises.
        isolation: Which agents get processes of their own, as in ``evaluate``.
        action_timeout: Seconds after which an isolated agent that hangs is ended.
        memory_limit: Megabytes that an isolated agent may use.

    Raises:
        InvalidInputError: Something contradicts itself or cannot be used.
    """
    chosen = choose(definition, time, interactions)
    specs, things = agent_specs(agents)
    spec, own = class_spec(environment_class)
    given = {
        "time": time,
        "interactions": interactions,
        "repetitions": repetitions,
        "start_complexity": start_complexity,
        "slot": slot,
        "exercises": exercises,
        "adjustment": adjustment,
        "payoff": payoff,
        "clock": clock,
        "tick": tick,
        "unbalanced": unbalanced or None,
    }
    protocol = Spec(
        chosen.protocol,
        {"environment_class": spec.to_json(), **_parameters(chosen, given), "seed": seed},
    )
    how = running_options(workers, isolation, action_timeout, memory_limit)
    evaluation = Evaluation(protocol, specs, traces)
    return UniversalTest(chosen, evaluation, {**things, **own}, out, how)


test.__test__ = False  # type: ignore[attr-defined] # so that pytest does not take it for one


def choose(number: int | None, time: float | None, interactions: int | None) -> Definition:
    """Which test is meant by a definition's number and a length.

    Raises:
        InvalidInputError: They contradict each other or say too little, or there is no such test.
    """
    if number is not None and number not in DEFINITIONS:
        known = ", ".join(map(str, DEFINITIONS))
        raise InvalidInputError(f"There is no test definition={number}.", f"Known: {known}.")
    if time is not None and interactions is not None:
        raise InvalidInputError(
            "A test is as long as time= or as interactions= says, not both.",
            "Give one of them; omnimeter test --timed-and-untimed gives two tests in turn.",
        )
    if time is None and interactions is None:
        raise InvalidInputError(
            "The test has no length.",
            "Give time=SECONDS (time counts) or interactions=N (it does not).",
        )
    length = "interactions" if time is None else "time"
    chosen = DEFINITIONS[number or (19 if time is None else 18)]
    if chosen.length != length:
        raise InvalidInputError(
            f"{chosen.name} takes {chosen.length}= and not {length}=.",
            "Definitions 17 and 18 take time=SECONDS, 10, 15 and 19 take interactions=N.",
        )
    return chosen


def _parameters(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the protocol of a definition.

    Raises:
        InvalidInputError: The definition does not take something, or a number cannot be used.
    """
    parameters = {}
    for name, value in given.items():
        if name in (definition.length, *definition.takes):
            chosen = definition.takes.get(name) if value is None else value
            if chosen is not None:
                usable = _usable(name, chosen, definition)
                parameters[definition.names.get(name, name)] = usable
        elif value is not None:
            raise InvalidInputError(
                f"{definition.name} does not take {name}=.",
                "Leave it out, or choose another test.",
            )
    return parameters


def _usable(name: str, value: Any, definition: Definition) -> Any:
    if name in ("payoff", "adjustment"):
        return as_json(Kind(name), value)
    if isinstance(value, bool | str):
        return value
    if not (isfinite(value) and value > 0):
        raise InvalidInputError(f"{name}={value} cannot be used.", "Give a finite number above 0.")
    if name == "slot" and definition.length == "interactions":
        if value != int(value):
            raise InvalidInputError(
                f"slot={value:g} interactions cannot be used.", "Give a whole number from 1 up."
            )
        return int(value)
    return value if name in ("interactions", "repetitions", "exercises") else float(value)
