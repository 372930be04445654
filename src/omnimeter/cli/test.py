"""``omnimeter test`` and ``omnimeter compare``: the universal tests, parametric and anytime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.options import default_directory, leave, missing, refuse, running_options

if TYPE_CHECKING:
    from omnimeter.cli.session import Plan
    from omnimeter.contract import Spec

LENGTHS = ("time", "interactions")
"""The two options that say how long a test is."""


@dataclass(frozen=True)
class Definition:
    """A test of the paper.

    Attributes:
        number: Its number (anytime test).
        protocol: Its id in the catalogue.
        title: What it is called.
        parameters: The options it takes, each with the name of the parameter that it becomes.
        balanced: Whether it is for balanced environments only.
    """

    number: int
    protocol: str
    title: str
    parameters: Mapping[str, str]
    balanced: bool = True

    @property
    def name(self) -> str:
        """The number in words."""
        return f"Definition {self.number}"

    @property
    def length(self) -> str:
        """The option that says how long it is."""
        return "time" if "time" in self.parameters else "interactions"


def _same(*options: str) -> dict[str, str]:
    return {option: option for option in options}


_SAMPLE = _same("exercises", "seed")
_ADJUSTED = _SAMPLE | _same("adjustment", "unbalanced")
_CLOCK = _same("payoff", "clock", "tick")
_ADAPTIVE = _same("repetitions", "start_complexity", "slot", "payoff", "seed", "unbalanced")

DEFINITIONS = {
    each.number: each
    for each in (
        Definition(
            10,
            "universal-rewards-v1",
            "Universal intelligence by accumulated rewards",
            _SAMPLE | _same("interactions"),
            balanced=False,
        ),
        Definition(
            15,
            "universal-adjusted-v1",
            "Universal intelligence by adjusted rewards",
            _ADJUSTED | _same("interactions"),
        ),
        Definition(
            17,
            "universal-timed-v1",
            "Universal intelligence considering time",
            _ADJUSTED | _CLOCK | {"time": "seconds"},
        ),
        Definition(
            18,
            "anytime-timed-v1",
            "Anytime test with time",
            _ADAPTIVE | _CLOCK | _same("time"),
        ),
        Definition(
            19,
            "anytime-untimed-v1",
            "Anytime test without time",
            _ADAPTIVE | _same("interactions"),
        ),
    )
}
"""All of them, by their numbers."""

OPTIONS = frozenset(option for each in DEFINITIONS.values() for option in each.parameters)
"""The options that some of them take."""


def choose(
    number: int | None, time: float | None, interactions: int | None, both: bool
) -> tuple[Definition, ...]:
    """Which tests are wanted: one, or with and without time one after the other.

    Raises:
        InvalidInputError: The options contradict each other or say too little, or there is no such
            definition.
    """
    from omnimeter.contract import InvalidInputError

    if number is not None and number not in DEFINITIONS:
        known = ", ".join(map(str, DEFINITIONS))
        raise InvalidInputError(f"No test is called Definition {number}.", f"Known: {known}.")
    if both:
        if number is not None:
            raise InvalidInputError(
                "--timed-and-untimed takes Definitions 18 and 19.",
                "Leave out --definition, or --timed-and-untimed.",
            )
        if time is None:
            raise InvalidInputError(
                "--timed-and-untimed needs the length of the test with time.",
                "Give --time SECONDS.",
            )
        return DEFINITIONS[18], DEFINITIONS[19]
    if time is not None and interactions is not None:
        raise InvalidInputError(
            "A test is as long as --time or as --interactions says, not both.",
            "Give one of them, or --timed-and-untimed for two tests one after the other.",
        )
    if time is None and interactions is None:
        raise _unsaid("It is not said how long the test is.")
    length = "interactions" if time is None else "time"
    chosen = DEFINITIONS[number or {"time": 18, "interactions": 19}[length]]
    if chosen.length != length:
        raise InvalidInputError(
            f"{chosen.name} takes --{chosen.length}, not --{length}.",
            "--time is for Definitions 17 and 18, --interactions for 10, 15 and 19.",
        )
    return (chosen,)


def _unsaid(message: str) -> Exception:
    from omnimeter.contract import InvalidInputError

    return InvalidInputError(
        message, "Give --time SECONDS (time counts) or --interactions N (it does not)."
    )


def protocol_spec(definition: Definition, environments: Spec, given: Mapping[str, Any]) -> Spec:
    """The protocol of a definition with those of the given options that it takes.

    Raises:
        InvalidInputError: A number is not finite, or not above 0, or not whole where it must be.
    """
    from omnimeter.catalogue import Kind, parse
    from omnimeter.contract import Spec

    taken = {
        parameter: _number(option, given[option], definition)
        for option, parameter in definition.parameters.items()
        if given.get(option) is not None
    }
    for name, kind in (("payoff", Kind.PAYOFF), ("adjustment", Kind.ADJUSTMENT)):
        if name in taken:
            taken[name] = parse(kind, taken[name]).to_json()
    return Spec(definition.protocol, {"environment_class": environments.to_json(), **taken})


def _number(option: str, value: Any, definition: Definition) -> Any:
    """The value of an option; one that is a number must be one that can be."""
    from omnimeter.contract import InvalidInputError

    if option == "seed" or isinstance(value, bool | str):
        return value
    if not (isfinite(value) and value > 0):
        raise InvalidInputError(f"--{option} is {value}.", "Give a finite number above 0.")
    if option == "slot" and definition.length == "interactions":
        if value != int(value):
            raise InvalidInputError(
                f"The first slot is {value:g} interactions.", "Give a whole number from 1 up."
            )
        return int(value)
    return value


EXAMPLE = "omnimeter test --agent q-learning --class automata --time 60"

COMPARE = """Give agents the same test and say who is better, in one table.

Takes the same options as omnimeter test, and at least two agents. Differences are paired,
repetition by repetition; their p-values are corrected by Holm's method.
"""

INTERACTIONS_OF_BOTH = 10_000
"""How long the second test of ``--timed-and-untimed`` is when nobody says so."""


def sit(
    context: typer.Context,
    agent: options.Agents = None,
    environments: options.EnvironmentClass = None,
    settings: options.Settings = None,
    time: Annotated[
        float | None,
        typer.Option(
            "--time", "-t", help="Seconds of the whole test, in which time counts (Definition 18)."
        ),
    ] = None,
    interactions: Annotated[
        int | None,
        typer.Option(
            "--interactions",
            "-i",
            help="Or its length in interactions, whatever time they take (Definition 19).",
        ),
    ] = None,
    both: Annotated[
        bool,
        typer.Option(
            "--timed-and-untimed",
            help="First with time, then without: tells slowness from dullness.",
        ),
    ] = False,
    repetitions: Annotated[
        int, typer.Option(help="Repetitions taken side by side, each with its share of the length.")
    ] = 10,
    start_complexity: Annotated[
        float | None,
        typer.Option(help="The complexity to begin with (by default the lowest of the class)."),
    ] = None,
    slot: Annotated[
        float | None,
        typer.Option(
            help="Length of the first exercise: seconds (by default 1e-6) or interactions (1)."
        ),
    ] = None,
    definition: Annotated[
        int | None,
        typer.Option(
            help="10, 15 or 17: a fixed number of environments instead, each as long as --time or "
            "--interactions says."
        ),
    ] = None,
    exercises: Annotated[
        int, typer.Option("--exercises", "-n", help="Definitions 10, 15, 17: how many.")
    ] = 20,
    adjustment: Annotated[
        str | None,
        typer.Option(help="Definitions 15, 17: what results are weighed by (by default flat)."),
    ] = None,
    payoff: Annotated[
        str | None,
        typer.Option(
            help="What an exercise is worth (by default diminishing with time, else average)."
        ),
    ] = None,
    clock: Annotated[
        str, typer.Option(help="wall, or virtual: believe the times that agents declare.")
    ] = "wall",
    tick: Annotated[
        float | None, typer.Option(help="Virtual seconds of an undeclared action.")
    ] = None,
    unbalanced: Annotated[
        bool, typer.Option("--unbalanced", help="Insist on a class that is not balanced.")
    ] = False,
    reference: Annotated[
        str | None,
        typer.Option(help="The agent to compare the others with (by default the best)."),
    ] = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The directory of the evaluation (by default evaluations/CLASS-HASH); with "
            "--timed-and-untimed, DIR/timed and DIR/untimed."
        ),
    ] = None,
    traces: options.Traces = False,
    workers: options.Workers = 1,
    isolation: options.WhereAgentsSit = "auto",
    action_timeout: options.ActionTimeout = 10.0,
    memory: options.Memory = 2048,
    json: options.Json = False,
) -> None:
    """Give agents a universal intelligence test; Ctrl-C ends it at any time with a valid score.

    Success leads to harder environments, failure to easier ones. Running the same command again
    goes on where it was interrupted. Leaves with 3 when an exercise ended in a fault.
    """
    from omnimeter.cli.session import Showing, give
    from omnimeter.contract import InvalidInputError

    comparing = context.info_name == "compare"
    if not agent:
        raise missing("--agent", EXAMPLE)
    if environments is None:
        raise missing("--class", EXAMPLE)
    wanted = choose(definition, time, interactions, both)
    _refuse_foreign(context, wanted)
    given = {
        "time": time,
        "interactions": INTERACTIONS_OF_BOTH if both and interactions is None else interactions,
        "repetitions": repetitions,
        "start_complexity": start_complexity,
        "slot": slot,
        "exercises": exercises,
        "adjustment": adjustment,
        "payoff": payoff,
        "clock": clock,
        "tick": tick,
        "unbalanced": unbalanced or None,
        "seed": seed,
    }
    plans = _plans(wanted, agent, environments, settings or [], given, traces, out)
    chosen = _chosen_reference(reference, plans[0].evaluation.agents)
    if comparing and len(agent) < 2:
        raise InvalidInputError("There is nobody to compare with.", "Give --agent at least twice.")
    how = running_options(workers, isolation, action_timeout, memory)
    leave(give(plans, how, Showing(chosen, comparing, json)))


def _refuse_foreign(context: typer.Context, wanted: Sequence[Definition]) -> None:
    """Refuse options that none of the wanted tests takes."""
    taken = {option for definition in wanted for option in definition.parameters}
    refuse(
        context,
        OPTIONS - taken,
        " and ".join(definition.name for definition in wanted),
        "Leave it out, or choose another test: omnimeter test --help.",
    )


def _plans(
    wanted: Sequence[Definition],
    agents: Sequence[str],
    environments: str,
    settings: Sequence[str],
    given: Mapping[str, Any],
    traces: bool,
    out: Path | None,
) -> list[Plan]:
    """The tests that are wanted, each with its place."""
    from omnimeter.catalogue import Kind, parse, with_parameters
    from omnimeter.cli.session import Plan
    from omnimeter.protocols import Evaluation

    environment_class = with_parameters(parse(Kind.ENVIRONMENT, environments), settings)
    seats = tuple(parse(Kind.AGENT, each) for each in agents)
    plans: list[Plan] = []
    for definition in wanted:
        second = bool(plans)  # the slot of --timed-and-untimed is that of the test with time
        asked = {**given, "slot": None} if second else given
        evaluation = Evaluation(protocol_spec(definition, environment_class, asked), seats, traces)
        place = default_directory(evaluation) if out is None else out
        if out is not None and len(wanted) > 1:
            place = out / ("untimed" if second else "timed")
        plans.append(Plan(definition, evaluation, place))
    return plans


def _chosen_reference(text: str | None, agents: Sequence[Spec]) -> Spec | None:
    """The agent to compare the others with, where one is named."""
    from omnimeter.catalogue import Kind, parse
    from omnimeter.contract import InvalidInputError

    if text is None:
        return None
    reference = parse(Kind.AGENT, text)
    if reference not in agents:
        raise InvalidInputError(
            f"{reference.label} takes no part in this test.",
            "Compare with one of: " + ", ".join(agent.label for agent in agents) + ".",
        )
    return reference
