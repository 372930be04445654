"""``omnimeter run``: agents take exercises, and get a score."""

from __future__ import annotations

import re
import shutil
import signal
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli.display import busy, console, print_json, progress
from omnimeter.cli.scores import print_result, result_json

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def run(
    context: typer.Context,
    agent: Agents = None,
    environments: Annotated[
        str | None, typer.Option("--class", "-c", help="The environment class.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter of the class: name=value.")
    ] = None,
    battery: Annotated[
        str | None,
        typer.Option(
            "--battery",
            "-b",
            help="Instead of a class: the name of a battery, or the path of its JSON file.",
        ),
    ] = None,
    tests: Annotated[int, typer.Option(help="How many times the battery is taken.")] = 1,
    together: Annotated[
        bool, typer.Option("--together", help="All agents are in the environments at once.")
    ] = False,
    exercises: Annotated[int, typer.Option("--exercises", "-n", help="How many.")] = 20,
    interactions: Annotated[
        int | None,
        typer.Option("--interactions", "-i", help="Length of an exercise (by default 1000)."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", "-s", help="Length of an exercise in seconds.")
    ] = None,
    complexity: Annotated[
        list[float] | None,
        typer.Option(help="The complexity of the environments; several are taken in turn."),
    ] = None,
    payoff: Annotated[
        str, typer.Option(help="What an exercise is worth; see: omnimeter list payoff.")
    ] = "average",
    clock: Annotated[
        str | None, typer.Option(help="wall or virtual (by default wall for seconds).")
    ] = None,
    tick: Annotated[float, typer.Option(help="Virtual seconds of an undeclared action.")] = 1.0,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which an action comes too late.")
    ] = None,
    timeout_rule: Annotated[
        str, typer.Option(help="What then takes its place: no-reward or random-action.")
    ] = "no-reward",
    seed: Annotated[int, typer.Option(help="The root of all chance.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The directory of the evaluation (by default evaluations/CLASS-HASH, "
            "or BATTERY-HASH)."
        ),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option(help="Take the evaluation from a spec.json instead.")
    ] = None,
    traces: Annotated[bool, typer.Option("--traces", help="Keep every interaction.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Processes that work at once.")] = 1,
    isolation: Annotated[
        str,
        typer.Option(help="Where agents sit: auto (files get a process), process, none."),
    ] = "auto",
    patience: Annotated[
        float, typer.Option(help="Seconds after which an isolated agent that hangs is ended.")
    ] = 10.0,
    memory: Annotated[int, typer.Option(help="Megabytes that an isolated agent may use.")] = 2048,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Let agents take exercises in drawn environments, and score them.

    Running the same command again goes on where it was interrupted. Leaves with 3 when an
    exercise ended in a fault.
    """
    from omnimeter.execution import check

    if spec is not None:
        _refuse(context, _WHAT, "--spec", "Leave it out, or give all options without --spec.")
        evaluation = _read(spec)
    elif not agent:
        raise _missing("--agent")
    elif battery is not None:
        _refuse(context, _EXERCISES, "--battery", "The battery says what its exercises are.")
        common = {"tests": tests, "payoff": payoff, "seed": seed}
        evaluation = _battery_evaluation(agent, battery, common, traces)
    elif environments is not None:
        _refuse(context, {"tests"}, "--class", "Give --exercises, or a --battery.")
        given = {
            "exercises": exercises,
            "interactions": 1000 if interactions is None and seconds is None else interactions,
            "seconds": seconds,
            "complexity": complexity,
            "payoff": payoff,
            "clock": clock,
            "tick": tick,
            "timeout": timeout,
            "timeout_rule": timeout_rule,
            "seed": seed,
        }
        evaluation = _evaluation(agent, environments, settings or [], given, traces)
        if together:
            evaluation = _in_company(evaluation)
    else:
        raise _missing("--class or --battery")
    options = _options(workers, isolation, patience, memory)
    with busy("Drawing the exercises", hidden=json):  # what is wrong is found before all else
        check(evaluation, options)
    directory = out or _default_directory(evaluation)
    result = _evaluate(evaluation, directory, options, quiet=json)
    with busy("Writing the report", hidden=json):
        page = _report(directory)
    if json:
        data = {**result_json(result), "report": str(page), "directory": str(directory)}
        print_json(data)
    else:
        print_result(result)
        console().print(f"results: {directory}\nreport: {page}", soft_wrap=True)
    if not result.complete:
        raise typer.Exit(128 + signal.SIGINT)
    if any(score.faults for score in result.scores.values()):
        raise typer.Exit(3)


def _evaluation(
    agents: list[str], environments: str, settings: list[str], given: dict[str, Any], traces: bool
) -> Evaluation:
    from omnimeter.catalogue import Kind, parse, with_parameters
    from omnimeter.contract import InvalidInputError, Spec
    from omnimeter.protocols import Evaluation

    surroundings = with_parameters(parse(Kind.ENVIRONMENT, environments), settings)
    parameters = {
        "environments": surroundings.to_json(),
        **{name: value for name, value in given.items() if value is not None},
        "payoff": parse(Kind.PAYOFF, given["payoff"]).to_json(),
    }
    if given["complexity"]:
        levels = given["complexity"]
        parameters["complexity"] = levels if len(levels) > 1 else levels[0]
    else:
        parameters.pop("complexity", None)
    for name, value in given.items():
        if not all(map(isfinite, _numbers(value))):
            raise InvalidInputError(f"The {name} is {value}.", "Give a finite number.")
    seats = tuple(parse(Kind.AGENT, each) for each in agents)
    return Evaluation(Spec("sample-v1", parameters), seats, traces)


def _in_company(evaluation: Evaluation) -> Evaluation:
    """The same evaluation, with all agents in the environments at once."""
    company = [agent.to_json() for agent in evaluation.agents]
    parameters = {**evaluation.protocol.parameters, "company": company}
    return replace(evaluation, protocol=replace(evaluation.protocol, parameters=parameters))


def _numbers(value: Any) -> list[float]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, float)]


def _battery_evaluation(
    agents: list[str], battery: str, given: dict[str, Any], traces: bool
) -> Evaluation:
    from omnimeter.catalogue import Kind, parse
    from omnimeter.contract import Spec
    from omnimeter.protocols import Evaluation
    from omnimeter.protocols.battery_files import lasting

    parameters = {
        **given,
        "battery": lasting(battery),
        "payoff": parse(Kind.PAYOFF, given["payoff"]).to_json(),
    }
    seats = tuple(parse(Kind.AGENT, each) for each in agents)
    return Evaluation(Spec("battery-v1", parameters), seats, traces)


_EXERCISES = {
    "environments",
    "settings",
    "together",
    "exercises",
    "interactions",
    "seconds",
    "complexity",
    "clock",
    "tick",
    "timeout",
    "timeout_rule",
}
"""The options that say what exercises there are."""

_WHAT = _EXERCISES | {"agent", "battery", "tests", "payoff", "seed", "traces"}
"""The options that say what is evaluated; the others only say how to run it."""


def _refuse(context: typer.Context, names: set[str], beside: str, advice: str) -> None:
    """Refuse options that were given although another one leaves nothing for them to say."""
    from omnimeter.contract import InvalidInputError

    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name in names and source is not None and source.name == "COMMANDLINE":
            raise InvalidInputError(
                f"The option {option.opts[0]} cannot be given together with {beside}.", advice
            )


def _missing(option: str) -> Exception:
    from omnimeter.contract import InvalidInputError

    return InvalidInputError(
        f"The option {option} is missing.",
        "For example: omnimeter run --agent random --class cups",
    )


def _read(path: Path) -> Evaluation:
    import json

    from omnimeter.contract import InvalidInputError
    from omnimeter.protocols import Evaluation

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        evaluation = Evaluation.from_json(data.get("spec", data))
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error.strerror}.", "Give the spec.json of an evaluation."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(
            f"{path} is not the spec of an evaluation: {error}.",
            "Give the spec.json of an evaluation.",
        ) from error
    return _with_content(evaluation)


def _with_content(evaluation: Evaluation) -> Evaluation:
    """The same evaluation; the battery of a file is written down with its content."""
    from omnimeter.protocols.battery_files import lasting

    protocol = evaluation.protocol
    battery = protocol.parameters.get("battery")
    if protocol.id not in ("battery", "battery-v1") or not isinstance(battery, str):
        return evaluation
    parameters = {**protocol.parameters, "battery": lasting(battery)}
    return replace(evaluation, protocol=replace(protocol, parameters=parameters))


def _default_directory(evaluation: Evaluation) -> Path:
    """The same evaluation always has the same directory, so that it goes on there."""
    from omnimeter.contract import fingerprint

    name = _subject(evaluation.protocol.parameters)
    return Path("evaluations") / f"{name}-{fingerprint(evaluation.to_json())[:8]}"


def _subject(parameters: Mapping[str, Any]) -> str:
    """What exercises are taken, in a word: a class, a battery by its name or its title."""
    said = parameters.get("environments", parameters.get("battery", {}))
    if isinstance(said, str):
        return said
    title = re.sub(r"[^a-z0-9]+", "-", str(said.get("title", "")).lower()).strip("-")
    return str(said.get("id") or title[:40] or "evaluation")


def _options(workers: int, isolation: str, patience: float, memory: int) -> Any:
    from omnimeter.contract import UnknownNameError
    from omnimeter.execution import Isolation, Options
    from omnimeter.interaction.limits import Limits

    if isolation not in set(Isolation):
        raise UnknownNameError("isolation", isolation, list(Isolation))
    limits = Limits(seconds_per_action=patience, memory_mb=memory)
    return Options(workers, Isolation(isolation), limits)


def _evaluate(evaluation: Evaluation, directory: Path, options: Any, *, quiet: bool) -> Result:
    from omnimeter.cli.watching import Watcher
    from omnimeter.contract import InvalidInputError
    from omnimeter.execution import evaluate
    from omnimeter.results import writing

    new = not directory.exists()
    seed = evaluation.protocol.parameters.get("seed", 0)
    specs = (evaluation.protocol, *evaluation.agents)
    with (
        writing(directory, evaluation.to_json(), seeds=[seed], specs=specs) as writer,
        progress(hidden=quiet) as bars,
    ):
        try:
            return evaluate(evaluation, writer, options, Watcher(bars))
        except InvalidInputError:  # an agent that cannot even be loaded, in its own process
            if new and not writer.keys():
                shutil.rmtree(directory)
            raise


def _report(directory: Path) -> Path:
    from omnimeter.reports import write_report
    from omnimeter.results import Record

    return write_report(Record(directory))
