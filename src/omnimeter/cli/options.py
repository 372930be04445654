"""Options that several commands share, and how a command ends."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from omnimeter.api import Result
    from omnimeter.contract import Spec
    from omnimeter.protocols import Evaluation

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        "-a",
        metavar="AGENT",
        help="An id (random), with parameters (random(rate=10)), a location "
        "(my_agent.py:MyAgent), or a program (command(run='node agent.js')); 'AGENT as NAME' "
        "calls it otherwise. May be given several times.",
    ),
]
EnvironmentClass = Annotated[
    str | None, typer.Option("--class", "-c", metavar="CLASS", help="The environment class.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the class: name=value."),
]
Seated = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="AGENT",
        help="An agent that sits beside each agent in all its exercises, and gets no score. May be "
        "given several times.",
    ),
]
Similar = Annotated[
    list[Path] | None,
    typer.Option(
        "--with-similar",
        metavar="DIR",
        help="One more, drawn for each exercise from the agents of a stored evaluation, the "
        "likelier the closer its score there.",
    ),
]
CountSeated = Annotated[
    bool,
    typer.Option(
        "--count-seated",
        help="Add the length of the code of those seated beside the agent to complexities, in "
        "bits.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The root of all random numbers.")]
SecretSeed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="The root of all random numbers (by default one is drawn, and told at the end).",
    ),
]
Traces = Annotated[bool, typer.Option("--traces", help="Keep every interaction.")]
Workers = Annotated[int, typer.Option(metavar="N", min=1, help="Processes that work at once.")]
Isolation = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Which agents get a process of their own: auto (those from files), process, none.",
    ),
]
ActionTimeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Seconds after which an isolated agent that hangs is ended."
    ),
]
PrepareTimeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="Seconds after which the offline phase of an isolated agent is ended.",
    ),
]
MemoryLimit = Annotated[
    int, typer.Option(metavar="MB", help="Megabytes that an isolated agent may use.")
]
BeginTimeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        help="Seconds that an isolated agent may take to load (once, if it hangs) and to begin.",
    ),
]
ExerciseTimeout = Annotated[
    float,
    typer.Option(
        metavar="SECONDS", help="Seconds of real time after which an exercise is ended in any case."
    ),
]
Sandbox = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Whether the system contains isolated agents: auto (as far as it can), required, "
        "none; see: omnimeter doctor.",
    ),
]
FaultLimit = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Faults of its own in a row after which an agent takes no more exercises.",
    ),
]
Journal = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Whose answers are kept one by one, so that an interrupted exercise goes on: auto "
        "(those of costly agents), all, none.",
    ),
]
Privileged = Annotated[
    bool,
    typer.Option("--privileged", help="Grant agents views that tell what others have to find out."),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Import code that a stored evaluation names, such as own.py:Name."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="AGENT", help="The agent to compare the others with (by default the best)."
    ),
]


def refuse(context: typer.Context, names: Set[str], other: str, advice: str) -> None:
    """Refuse options that were given although another one leaves them without effect."""
    from omnimeter.contract import InvalidInputError

    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            raise InvalidInputError(
                f"The option {option.opts[0]} cannot be given together with {other}.", advice
            )


def missing(option: str, example: str) -> Exception:
    """The error of an option that has to be given."""
    from omnimeter.contract import InvalidInputError

    return InvalidInputError(f"The option {option} is missing.", f"For example: {example}")


def class_with(name: str, settings: Iterable[str] | None) -> Spec:
    """The environment class of a name, with the parameters of ``--set``."""
    from omnimeter.catalogue import Kind, parse, with_parameters

    return with_parameters(parse(Kind.ENVIRONMENT, name), settings or [])


def default_directory(evaluation: Evaluation) -> Path:
    """The same evaluation always has the same directory, so that it goes on there."""
    from omnimeter.contract.spec import fingerprint

    parameters = evaluation.protocol.parameters
    name = parameters.get("environment_class", parameters.get("battery", {}))
    if not isinstance(name, str):  # the id of a class, or the title of a battery
        title = re.sub(r"[^a-z0-9]+", "-", str(name.get("title", "")).lower()).strip("-")
        name = name.get("id") or title[:40] or "evaluation"
    return Path("evaluations") / f"{name}-{fingerprint(evaluation.to_json())[:8]}"


def leave(results: Sequence[Result]) -> None:
    """Leave with the exit code of an interruption or of faults, if some results call for it."""
    if not all(result.complete for result in results):
        raise typer.Exit(128 + signal.SIGINT)
    if any(score.faults for result in results for score in result.scores.values()):
        raise typer.Exit(3)
