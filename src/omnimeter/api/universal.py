"""The universal tests (anytime test, Definitions 10, 15, 17, 18 and 19) from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omnimeter.api.evaluation import (
    LONGEST_RUN,
    AgentLike,
    EnvironmentClassLike,
    Session,
    agent_specs,
    class_spec,
    is_number,
    joined,
    read_spec,
    running_options,
    seats_of,
)
from omnimeter.api.result import Result
from omnimeter.catalogue import Kind, objects
from omnimeter.contract import ClockKind, InvalidInputError, OmnimeterError, Spec
from omnimeter.execution.harness import HarnessCost, measure
from omnimeter.execution.workers import Options, is_isolated, make_environment_class
from omnimeter.protocols import Evaluation
from omnimeter.reports.text import counted, duration

if TYPE_CHECKING:
    from omnimeter.audits import Finding


class Definition(NamedTuple):
    """A test of the paper: its number (anytime test), the id of its protocol, and its title.

    ``takes`` are the parameters that it takes apart from its length, with their defaults.
    """

    number: int
    protocol: str
    title: str
    takes: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"Definition {self.number}"

    @property
    def total(self) -> str:
        """The parameter of ``test`` that says how long it is, or each of its environments."""
        return "time" if "clock" in self.takes else "interactions"


_CLOCK = {"payoff": "diminishing", "clock": "wall", "tick": None}
_SAMPLE = {"exercises": 20}
_ADJUSTED = {**_SAMPLE, "adjustment": None, "unbalanced": None}
_ANYTIME: dict[str, Any] = dict.fromkeys(
    ("repetitions", "length", "precision", "start_complexity", "slot", "unbalanced")
)
_ANYTIME["payoff"] = "planned-average"
_UNIVERSAL = "Universal intelligence"

DEFINITIONS = {
    each[0]: Definition(*each)
    for each in (
        (10, "universal-rewards-v1", f"{_UNIVERSAL} by accumulated rewards", _SAMPLE),
        (15, "universal-adjusted-v1", f"{_UNIVERSAL} by adjusted rewards", _ADJUSTED),
        (17, "universal-timed-v1", f"{_UNIVERSAL} considering time", {**_ADJUSTED, **_CLOCK}),
        (18, "anytime-timed-v1", "Anytime test with time", {**_ANYTIME, **_CLOCK}),
        (19, "anytime-untimed-v1", "Anytime test without time", _ANYTIME),
    )
}


class UniversalTest(Session):
    """A universal test that is going to be given.

    Iterate over it to see the result so far after each round, and leave the loop whenever you
    like: the result is valid at any time. ``run()`` gives the whole test.

    Args:
        definition: Which test; the other parameters are those of ``Session``.

    Attributes:
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
        parameters, design = self.evaluation.protocol.parameters, self.protocol.describe()
        repetitions = design.unit == "repetition"
        amount = (design.length or 0) * ((design.units or 0) if repetitions else 1)
        # What was given is shown, and not what a division into repetitions leaves of it.
        total = parameters.get("time" if "clock" in parameters else "interactions", amount)
        if design.length_unit == "seconds":
            name = "agent's own" if parameters["clock"] == "own" else parameters["clock"]
            length = f"{duration(total)} by the {name} clock"
        else:
            length = counted(round(total), "interaction")
        if not repetitions:
            parts = "in each of " + counted(parameters["exercises"], "environment")
        else:
            parts = "in " + counted(design.units or 0, "repetition")
        if design.precision is not None:
            length, parts = f"at most {length}", f"{parts}, for a precision of {design.precision:g}"
        seed = f"seed {parameters['seed']}" if "seed" in parameters else "secret seed"
        return f"{design.environments} · {length} {parts} · {seed}"

    @property
    def real_time(self) -> bool:
        """Whether real time counts: not in tests by interactions or by the virtual clock."""
        return self.protocol.describe().clock is ClockKind.WALL

    def check(self) -> None:
        """Find out whether everything can be made, and whether the class is balanced enough.

        Raises:
            OmnimeterError: What cannot be made or used, and why.
        """
        objects.use(self._things)
        if self._options.workers > 1 and self.real_time:
            raise InvalidInputError(
                "There cannot be several workers= while real time counts: they would disturb "
                "each other's.",
                "Leave out workers=, or give clock=virtual or interactions=N.",
            )
        insists = "unbalanced" in self.evaluation.protocol.parameters
        if "unbalanced" in self.definition.takes and not insists and self.balance is None:
            self.balance = self._examine()
        super().check()

    def _examine(self) -> Finding:
        """Audit the balance of the class in short (anytime test, Definition 13)."""
        from omnimeter.audits.checks import check_balance
        from omnimeter.audits.subject import Subject

        spec = self.environment_spec
        made = make_environment_class(spec)
        # Half as long as an audit, and hardly ever against a balanced class.
        subject = Subject(made, 16, 1260, seed=0, confidence=0.999)
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
            self.harness = [
                measure(environment_class, first, isolated=each, sandbox=self._options.sandbox)
                for each in isolated
            ]
        return self.harness


def test(
    agents: AgentLike | Sequence[AgentLike] | Mapping[str, AgentLike],
    environment_class: EnvironmentClassLike,
    *,
    time: float | None = None,
    interactions: int | None = None,
    definition: int | None = None,
    length: float | None = None,
    repetitions: int | None = None,
    precision: float | None = None,
    start_complexity: float | None = None,
    slot: float | None = None,
    exercises: int | None = None,
    adjustment: str | Spec | None = None,
    seated: AgentLike | Sequence[AgentLike] = (),
    similar: Result | str | Path | Sequence[Result | str | Path] = (),
    count_seated: bool = False,
    payoff: str | Spec | None = None,
    clock: str | None = None,
    tick: float | None = None,
    unbalanced: bool = False,
    seed: int | None = None,
    traces: bool = False,
    out: str | Path | None = None,
    workers: int = 1,
    isolation: str = "auto",
    action_timeout: float = 10.0,
    memory_limit: int | None = 2048,
    begin_timeout: float = 60.0,
    exercise_timeout: float = LONGEST_RUN,
    sandbox: str = "auto",
    fault_limit: int = 10,
    journal: str = "auto",
    privileged: bool = False,
) -> UniversalTest:
    """Prepare a universal test, which begins when it is iterated over or ``run()``.

    By default it is an anytime test: success leads to harder environments, failure to easier ones,
    and every exercise lasts longer than the one before. It has a score at any time.

    Args:
        agents: One agent, a list or a dictionary, as in ``evaluate``.
        environment_class: An id (``"automata"``), a ``Spec``, or a Python class or object.
        time: Seconds of the whole test, in which time counts (Definition 18).
        interactions: Or its length in interactions, whatever time they take (Definition 19).
        definition: 10, 15 or 17: a fixed number of environments instead, each as long as ``time``
            or ``interactions`` says.
        length: Length of a repetition, to which the score belongs: interactions, or seconds in
            Definition 18 (by default a share of the whole).
        repetitions: Repetitions side by side (by default a tenth of the root of the interactions,
            or of the milliseconds, but at least 20). With a precision, those of the first block.
        precision: Together with ``length``: half the length of the interval that is wanted. There
            are further blocks of repetitions until it is so short, up to 10,000 in all, or as many
            as ``time`` or ``interactions`` has room for. Not by the wall clock.
        start_complexity: The complexity to begin with (by default the lowest of the class).
        slot: Length of the first exercise: seconds (by default 1e-6) or interactions (1).
        exercises: Definitions 10, 15, 17: how many (by default 20).
        adjustment: Definitions 15, 17: what results are weighed by (by default flat).
        seated: Agents that sit beside each agent, as in ``evaluate``; not by the wall clock.
        similar: As for ``evaluate``.
        count_seated: As for ``evaluate``; not in the anytime tests, whose level chooses
            environments only.
        payoff: What an exercise is worth (by default diminishing with time, else
            planned-average).
        clock: ``wall`` (the default); ``own``: only the agent's own time counts, however long the
            whole takes (Definition 18); or ``virtual``: believe the times that agents declare.
        tick: Virtual seconds of an undeclared action.
        unbalanced: Whether to insist on a class that is not balanced.
        seed: As for ``evaluate``.
        traces: Whether every interaction is kept.
        out: The directory to store it in; nothing is stored without it.
        workers: How many processes carry out exercises.
        isolation: Which agents get processes of their own, as in ``evaluate``.
        action_timeout: Seconds after which an isolated agent that hangs is ended.
        memory_limit: Megabytes that an isolated agent may use.
        begin_timeout: As for ``evaluate``.
        exercise_timeout: As for ``evaluate``.
        sandbox: As for ``evaluate``.
        fault_limit: As for ``evaluate``.
        journal: As for ``evaluate``.
        privileged: As for ``evaluate``.

    Raises:
        InvalidInputError: Something contradicts itself or cannot be used.
    """
    if definition is not None and definition not in DEFINITIONS:
        known = ", ".join(map(str, DEFINITIONS))
        raise InvalidInputError(f"There is no test definition={definition}.", f"Known: {known}.")
    if time is not None and interactions is not None:
        raise InvalidInputError(
            "A test is as long as time= or as interactions= says, not both.",
            "Give one of them; omnimeter test --timed-and-untimed gives two tests in turn.",
        )
    if time is None and interactions is None and length is None:
        raise InvalidInputError(
            "The test has no length.",
            "Give time=SECONDS (time counts), interactions=N (it does not), or the length= of a "
            "repetition.",
        )
    chosen = DEFINITIONS[definition or (19 if time is None else 18)]
    total = "interactions" if time is None else "time"
    if chosen.total != total and (time, interactions) != (None, None):
        raise InvalidInputError(
            f"{chosen.name} takes {chosen.total}= and not {total}=.",
            "Definitions 17 and 18 take time=SECONDS, 10, 15 and 19 take interactions=N.",
        )
    specs, things = agent_specs(agents)
    spec, own = class_spec(environment_class)
    given = {
        "time": time,
        "interactions": interactions,
        "length": length,
        "repetitions": repetitions,
        "precision": precision,
        "start_complexity": start_complexity,
        "slot": slot,
        "exercises": exercises,
        "adjustment": adjustment,
        "payoff": payoff,
        "clock": clock,
        "tick": tick,
        "unbalanced": unbalanced or None,
    }
    parameters = {"environment_class": spec.to_json(), **_parameters(chosen, given)}
    if seed is not None:
        parameters["seed"] = seed
    seats, beside = seats_of(seated, similar, count_seated)
    if seats:
        parameters["seated"] = seats
    evaluation = Evaluation(Spec(chosen.protocol, parameters), specs, traces, privileged)
    how = running_options(
        workers,
        isolation,
        action_timeout,
        memory_limit,
        begin_timeout=begin_timeout,
        exercise_timeout=exercise_timeout,
        sandbox=sandbox,
        fault_limit=fault_limit,
        journal=journal,
    )
    return UniversalTest(chosen, evaluation, {**joined(things, beside), **own}, out, how)


test.__test__ = False  # type: ignore[attr-defined] # so that pytest does not take it for one


def _parameters(definition: Definition, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the protocol of a definition, checked."""
    parameters: dict[str, Any] = {}
    for name, each in given.items():
        value = definition.takes.get(name) if each is None else each
        if name not in (definition.total, *definition.takes):
            if value is not None:
                raise InvalidInputError(
                    f"{definition.name} does not take {name}=.",
                    "Leave it out, or choose another test.",
                )
        elif name in ("payoff", "adjustment") and value is not None:
            parameters[name] = read_spec(Kind(name), value).to_json()
        elif name in ("clock", "unbalanced") and value is not None:
            parameters[name] = value
        elif value is not None:
            if not (is_number(value) and isfinite(value) and value > 0):
                advice = "Give a finite number above 0."
                raise InvalidInputError(f"{name}={value!r} cannot be used.", advice)
            whole = name in ("slot", "length") and definition.total == "interactions"
            if whole and value != int(value):
                advice = "Give a whole number from 1 up."
                raise InvalidInputError(f"{name}={value:g} interactions cannot be used.", advice)
            if name in ("interactions", "repetitions", "exercises"):
                parameters[name] = value
            else:
                parameters[name] = int(value) if whole else float(value)
    if definition.number == 17:  # whose protocol has another name for its length
        parameters["seconds"] = parameters.pop("time")
    return parameters
