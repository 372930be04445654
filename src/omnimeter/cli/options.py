"""Options that several commands share, and what evaluating commands have in common."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from omnimeter.execution import Observer, Options
    from omnimeter.protocols import Evaluation, Result

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        "-a",
        help="An id (random), with parameters (random(rate=10)), or a place "
        "(my_agent.py:MyAgent). May be given several times.",
    ),
]
EnvironmentClass = Annotated[
    str | None, typer.Option("--class", "-c", help="The environment class.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="A parameter of the class: name=value.")
]
Seed = Annotated[int, typer.Option(help="The root of all chance.")]
Specification = Annotated[
    Path | None, typer.Option(help="Take the evaluation from a spec.json instead.")
]
Traces = Annotated[bool, typer.Option("--traces", help="Keep every interaction.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes that work at once.")]
WhereAgentsSit = Annotated[
    str, typer.Option(help="Where agents sit: auto (files get a process), process, none.")
]
ActionTimeout = Annotated[
    float, typer.Option(help="Seconds after which an isolated agent that hangs is ended.")
]
Memory = Annotated[int, typer.Option(help="Megabytes that an isolated agent may use.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


INTERRUPTED = 128 + signal.SIGINT
FAULTY = 3


def refuse(context: typer.Context, names: Iterable[str], beside: str, advice: str) -> None:
    """Refuse options that were given although another one leaves nothing for them to say."""
    from omnimeter.contract import InvalidInputError

    refused = set(names)
    for option in context.command.params:
        if option.name in refused and was_given(context, option.name):
            raise InvalidInputError(
                f"The option {option.opts[0]} cannot be given together with {beside}.", advice
            )


def was_given(context: typer.Context, name: str) -> bool:
    """Whether somebody typed an option, rather than leaving it as it is."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def missing(option: str, example: str) -> Exception:
    """The error of an option that has to be given."""
    from omnimeter.contract import InvalidInputError

    return InvalidInputError(f"The option {option} is missing.", f"For example: {example}")


def running_options(workers: int, isolation: str, action_timeout: float, memory: int) -> Options:
    """How to run, which does not change what comes out."""
    from omnimeter.contract import UnknownNameError
    from omnimeter.execution import Isolation, Options
    from omnimeter.interaction.process import Limits

    if isolation not in set(Isolation):
        raise UnknownNameError("isolation", isolation, list(Isolation))
    limits = Limits(seconds_per_action=action_timeout, memory_mb=memory)
    return Options(workers, Isolation(isolation), limits)


def default_directory(evaluation: Evaluation) -> Path:
    """The same evaluation always has the same directory, so that it goes on there."""
    from omnimeter.contract.spec import fingerprint

    name = _subject(evaluation.protocol.parameters)
    return Path("evaluations") / f"{name}-{fingerprint(evaluation.to_json())[:8]}"


def _subject(parameters: Mapping[str, Any]) -> str:
    """What exercises are taken, in a word: a class, a battery by its name or its title."""
    said = parameters.get("environment_class", parameters.get("battery", {}))
    if isinstance(said, str):
        return said
    title = re.sub(r"[^a-z0-9]+", "-", str(said.get("title", "")).lower()).strip("-")
    return str(said.get("id") or title[:40] or "evaluation")


def carry_out(
    evaluation: Evaluation,
    directory: Path,
    options: Options,
    watched: AbstractContextManager[Observer],
) -> Result:
    """Run what is not finished yet, with somebody watching, and keep it in the directory."""
    from omnimeter.contract import InvalidInputError
    from omnimeter.execution import evaluate
    from omnimeter.results import open_writer

    new = not directory.exists()
    seed = evaluation.protocol.parameters.get("seed", 0)
    specs = (evaluation.protocol, *evaluation.agents)
    with (
        open_writer(directory, evaluation.to_json(), seeds=[seed], specs=specs) as writer,
        watched as observer,
    ):
        try:
            return evaluate(evaluation, writer, options, observer)
        except InvalidInputError:  # an agent that cannot even be loaded, in its own process
            if new and not writer.keys():
                shutil.rmtree(directory)
            raise


def write_page(directory: Path) -> Path:
    """Write the report page of the evaluation in a directory."""
    from omnimeter.reports import write_report
    from omnimeter.results import Record

    return write_report(Record(directory))


def leave(results: Iterable[Result]) -> None:
    """Leave with the exit code that some results call for.

    Raises:
        typer.Exit: Not everything is done, or some exercises ended in a fault.
    """
    found = list(results)
    if not all(result.complete for result in found):
        raise typer.Exit(INTERRUPTED)
    if any(score.faults for result in found for score in result.scores.values()):
        raise typer.Exit(FAULTY)
