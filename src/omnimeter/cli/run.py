"""``omnimeter run``: agents take exercises and get a score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.options import (
    carry_out,
    default_directory,
    leave,
    missing,
    refuse,
    running_options,
    write_page,
)
from omnimeter.cli.scores import print_result

if TYPE_CHECKING:
    from omnimeter.protocols import Evaluation

EXAMPLE = "omnimeter run --agent random --class cups"


def run(
    context: typer.Context,
    agent: options.Agents = None,
    environments: options.EnvironmentClass = None,
    settings: options.Settings = None,
    battery: Annotated[
        str | None,
        typer.Option(
            "--battery",
            "-b",
            help="Instead of a class: the name of a battery, or the path of its JSON file.",
        ),
    ] = None,
    tests: Annotated[int, typer.Option(help="How many times the battery is taken.")] = 1,
    joint: Annotated[
        bool, typer.Option("--joint", help="All agents are in the environments at once.")
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
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The directory of the evaluation (by default evaluations/CLASS-HASH, "
            "or BATTERY-HASH)."
        ),
    ] = None,
    spec: options.Specification = None,
    traces: options.Traces = False,
    workers: options.Workers = 1,
    isolation: options.WhereAgentsSit = "auto",
    action_timeout: options.ActionTimeout = 10.0,
    memory: options.Memory = 2048,
    json: options.Json = False,
) -> None:
    """Let agents take exercises in drawn environments, and score them.

    Running the same command again goes on where it was interrupted. Leaves with 3 when an
    exercise ended in a fault.
    """
    from omnimeter.cli.session import watching
    from omnimeter.execution import check

    if spec is not None:
        refuse(context, _WHAT, "--spec", "Leave it out, or give all options without --spec.")
        evaluation = _read(spec)
    elif not agent:
        raise missing("--agent", EXAMPLE)
    elif battery is not None:
        refuse(context, _EXERCISES, "--battery", "The battery says what its exercises are.")
        common = {"tests": tests, "payoff": payoff, "seed": seed}
        evaluation = _battery_evaluation(agent, battery, common, traces)
    elif environments is not None:
        refuse(context, {"tests"}, "--class", "Give --exercises, or a --battery.")
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
        if joint:
            evaluation = _as_joint(evaluation)
    else:
        raise missing("--class or --battery", EXAMPLE)
    how = running_options(workers, isolation, action_timeout, memory)
    with busy("Drawing the exercises", hidden=json):  # what is wrong is found before all else
        check(evaluation, how)
    directory = out or default_directory(evaluation)
    result = carry_out(evaluation, directory, how, watching(hidden=json))
    with busy("Writing the report", hidden=json):
        page = write_page(directory)
    if json:
        from omnimeter.reports import result_json

        data = {**result_json(result), "report": str(page), "directory": str(directory)}
        print_json(data)
    else:
        print_result(result)
        console().print(f"results: {directory}\nreport: {page}", soft_wrap=True)
    leave([result])


def _evaluation(
    agents: list[str], environments: str, settings: list[str], given: dict[str, Any], traces: bool
) -> Evaluation:
    from omnimeter.catalogue import Kind, parse, with_parameters
    from omnimeter.contract import InvalidInputError, Spec
    from omnimeter.protocols import Evaluation

    environment_class = with_parameters(parse(Kind.ENVIRONMENT, environments), settings)
    parameters = {
        "environment_class": environment_class.to_json(),
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


def _as_joint(evaluation: Evaluation) -> Evaluation:
    """The same evaluation, with all agents in the environments at once."""
    joint = [agent.to_json() for agent in evaluation.agents]
    parameters = {**evaluation.protocol.parameters, "joint": joint}
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
    from omnimeter.protocols.battery import snapshot

    parameters = {
        **given,
        "battery": snapshot(battery),
        "payoff": parse(Kind.PAYOFF, given["payoff"]).to_json(),
    }
    seats = tuple(parse(Kind.AGENT, each) for each in agents)
    return Evaluation(Spec("battery-v1", parameters), seats, traces)


_EXERCISES = {
    "environments",
    "settings",
    "joint",
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

EVALUATED = EXERCISES | {"agent", "battery", "tests", "payoff", "seed", "traces", "carry_memory"}
"""The options that say what is evaluated; the others only say how to run it."""


def run(
    context: typer.Context,
    agent: options.Agents = None,
    environment_class: options.EnvironmentClass = None,
    settings: options.Settings = None,
    battery: Annotated[
        str | None,
        typer.Option(
            "--battery",
            "-b",
            metavar="NAME",
            help="Instead of a class: the name of a battery, or the path of its JSON file.",
        ),
    ] = None,
    tests: Annotated[
        int, typer.Option(metavar="N", help="How many times the battery is taken.")
    ] = 1,
    joint: Annotated[
        bool, typer.Option("--joint", help="All agents are in the environments at once.")
    ] = False,
    carry_memory: Annotated[
        bool,
        typer.Option(
            "--carry-memory",
            help="One agent takes all exercises in order, instead of a new one for each.",
        ),
    ] = False,
    exercises: Annotated[
        int, typer.Option("--exercises", "-n", metavar="N", help="How many.")
    ] = 20,
    interactions: Annotated[
        int | None,
        typer.Option(
            "--interactions", "-i", metavar="N", help="Length of an exercise (by default 1000)."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", "-s", metavar="SECONDS", help="Or its length in seconds."),
    ] = None,
    complexity: Annotated[
        list[float] | None,
        typer.Option(
            metavar="NUMBER", help="The complexity of the environments; several are taken in turn."
        ),
    ] = None,
    payoff: Annotated[
        str,
        typer.Option(
            metavar="PAYOFF", help="What an exercise is worth; see: omnimeter list payoff."
        ),
    ] = "average",
    clock: Annotated[
        str | None,
        typer.Option(metavar="CLOCK", help="wall or virtual (by default wall for seconds)."),
    ] = None,
    tick: Annotated[
        float, typer.Option(metavar="SECONDS", help="Virtual seconds of an undeclared action.")
    ] = 1.0,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Seconds after which an action comes too late."),
    ] = None,
    timeout_rule: Annotated[
        str,
        typer.Option(metavar="RULE", help="What then takes its place: no-reward or random-action."),
    ] = "no-reward",
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The directory of the evaluation (by default evaluations/CLASS-HASH, "
            "or BATTERY-HASH).",
        ),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Take the evaluation from a spec.json instead."),
    ] = None,
    traces: options.Traces = False,
    workers: options.Workers = 1,
    isolation: options.Isolation = "auto",
    action_timeout: options.ActionTimeout = 10.0,
    memory_limit: options.MemoryLimit = 2048,
    json: options.Json = False,
) -> None:
    """Let agents take exercises in drawn environments, and score them.

    Running the same command again goes on where it was interrupted. Leaves with 3 when an
    exercise ended in a fault.
    """
    from omnimeter.api.evaluation import Session, plan, running_options

    if spec is not None:
        refuse(context, EVALUATED, "--spec", "Leave it out, or give all options without --spec.")
        evaluation = _read(spec)
    elif not agent:
        raise missing("--agent", EXAMPLE)
    elif environment_class is None and battery is None:
        raise missing("--class or --battery", EXAMPLE)
    else:
        if battery is not None:
            refuse(context, EXERCISES, "--battery", "The battery says what its exercises are.")
        else:
            refuse(context, {"tests"}, "--class", "Give --exercises, or a --battery.")
        evaluation, _ = plan(
            agent,
            None if environment_class is None else class_with(environment_class, settings),
            battery,
            {
                "tests": tests,
                "exercises": exercises,
                "interactions": interactions,
                "seconds": seconds,
                "complexity": complexity or None,
                "payoff": payoff,
                "clock": clock,
                "tick": tick,
                "timeout": timeout,
                "timeout_rule": timeout_rule,
                "memory": "carried" if carry_memory else "fresh",
                "seed": seed,
            },
            joint=joint,
            traces=traces,
        )
    how = running_options(workers, isolation, action_timeout, memory_limit)
    session = Session(evaluation, out=out or default_directory(evaluation), options=how)
    with busy("Drawing the exercises", hidden=json):  # what is wrong is found before all else
        session.check()
    with bars(hidden=json) as observer:
        result = session.run(observer)
    with busy("Writing the report", hidden=json):
        page = result.report()
    if json:
        data = {**result_json(result.judged), "memory": result.memory}
        print_json({**data, "report": str(page), "directory": str(session.out)})
    else:
        print_result(result.judged)
        if carry_memory:
            console().print("Memory is carried from exercise to exercise.")
        console().print(f"results: {session.out}\nreport: {page}", soft_wrap=True)
    leave([result])


def _read(path: Path) -> Evaluation:
    """The evaluation of a spec.json; a battery from a file is recorded with its content."""
    import json

    from omnimeter.contract import InvalidInputError
    from omnimeter.protocols import Evaluation
    from omnimeter.protocols.battery import snapshot

    advice = "Give the spec.json of an evaluation."
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        evaluation = Evaluation.from_json(data.get("spec", data), str(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.", advice) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path} is not the spec of an evaluation: {error}."
        raise InvalidInputError(message, advice) from error
    protocol = evaluation.protocol
    battery = protocol.parameters.get("battery")
    if protocol.id not in ("battery", "battery-v1") or not isinstance(battery, str):
        return evaluation
    parameters = {**protocol.parameters, "battery": snapshot(battery)}
    return replace(evaluation, protocol=replace(protocol, parameters=parameters))
