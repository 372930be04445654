"""``omnimeter run``: agents take exercises and get a score."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import bars, busy, console, print_json, shorten
from omnimeter.cli.options import class_with, default_directory, leave, missing, refuse
from omnimeter.cli.scores import made_json, print_result, print_seed, print_warnings

if TYPE_CHECKING:
    from omnimeter.protocols import Evaluation

EXAMPLE = "omnimeter run --agent random --class cups"

EXERCISES = {
    "environment_class",
    "settings",
    "joint",
    "seated",
    "similar",
    "count_seated",
    "exercises",
    "precision",
    "interactions",
    "seconds",
    "complexity",
    "clock",
    "tick",
    "timeout",
    "timeout_rule",
    "prior",
    "gamma",
    "truncation_error",
    "trajectories",
    "noise",
    "then",
    "at",
    "window",
}
"""The options that say what exercises there are."""

EVALUATED = EXERCISES | {
    "agent",
    "battery",
    "tests",
    "payoff",
    "traces",
    "carry_memory",
    "privileged",
}
"""The options that say what is evaluated, but for the seed; the others say how to run it."""


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
    seated: options.Seated = None,
    similar: options.Similar = None,
    count_seated: options.CountSeated = False,
    carry_memory: Annotated[
        bool,
        typer.Option(
            "--carry-memory",
            help="One agent takes all exercises in order, instead of a new one for each.",
        ),
    ] = False,
    exercises: Annotated[
        int | None,
        typer.Option(
            "--exercises",
            "-n",
            metavar="N",
            help="How many (by default 20), or at most with --precision (by default 10,000).",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="As many exercises as each agent needs for an interval of twice this length.",
        ),
    ] = None,
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
        str | None,
        typer.Option(
            metavar="PAYOFF",
            help="What an exercise is worth (by default planned-average, or diminishing with "
            "seconds); see: omnimeter list payoff.",
        ),
    ] = None,
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
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Tell agents of this class of MDPs in an offline phase, and measure their time.",
        ),
    ] = None,
    gamma: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The discount factor with --prior (by default 0.95)."),
    ] = None,
    truncation_error: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="With --prior and no --interactions: how much the discounted return may miss "
            "(by default 0.01).",
        ),
    ] = None,
    trajectories: Annotated[
        int | None,
        typer.Option(metavar="N", help="Trajectories in each MDP with --prior (by default 1)."),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Random transitions with --prior: common to all agents, or independent.",
        ),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS",
            help="With --at: environments turn into those of this class; of several, each in turn.",
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Something changes after so many interactions: measure what agents lose and "
            "regain (length by default twice this).",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --at: interactions over which levels are averaged (by default a tenth of "
            "the shorter phase).",
        ),
    ] = None,
    seed: options.SecretSeed = None,
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
    prepare_timeout: options.PrepareTimeout = 86_400,
    begin_timeout: options.BeginTimeout = 60.0,
    exercise_timeout: options.ExerciseTimeout = 86_400,
    sandbox: options.Sandbox = "auto",
    fault_limit: options.FaultLimit = 10,
    journal: options.Journal = "auto",
    privileged: options.Privileged = False,
    json: options.Json = False,
) -> None:
    """Let agents take exercises in drawn environments, and score them.

    Running the same command again goes on where it was interrupted. Leaves with 3 when an
    exercise ended in a fault.
    """
    from omnimeter.api.evaluation import Session, plan, running_options
    from omnimeter.reports import result_json

    if spec is not None:
        refuse(context, EVALUATED, "--spec", "Leave it out, or give all options without --spec.")
        evaluation = _read(spec)
        if seed is not None:
            parameters = {**evaluation.protocol.parameters, "seed": seed}
            protocol = replace(evaluation.protocol, parameters=parameters)
            evaluation = replace(evaluation, protocol=protocol)
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
                "precision": precision,
                "interactions": interactions,
                "seconds": seconds,
                "complexity": complexity or None,
                "payoff": payoff,
                "clock": clock,
                "tick": tick,
                "timeout": timeout,
                "timeout_rule": timeout_rule,
                "memory": "carried" if carry_memory else "fresh",
                "prior": prior,
                "gamma": gamma,
                "truncation_error": truncation_error,
                "trajectories": trajectories,
                "noise": noise,
                "then": then or None,
                "at": at,
                "window": window,
                "seed": seed,
                "seated": seated,
                "similar": similar,
                "count_seated": count_seated,
            },
            joint=joint,
            traces=traces,
        )
        evaluation = replace(evaluation, privileged=privileged)
    how = running_options(
        workers,
        isolation,
        action_timeout,
        memory_limit,
        prepare_timeout,
        begin_timeout,
        exercise_timeout,
        sandbox,
        fault_limit,
        journal,
    )
    shorten(agent.label for agent in evaluation.agents)
    session = Session(evaluation, out=out or default_directory(evaluation), options=how)
    # Errors are reported before anything is run.
    with busy("Drawing the exercises", hidden=json, compiling=True):
        session.check()
    print_warnings(session)
    with bars(session.protocol, hidden=json) as observer:
        result = session.run(observer)
    with busy("Writing the report", hidden=json):
        page = result.report()
    if json:
        data = {**result_json(result.judged), "memory": result.memory, **made_json(result)}
        print_json({**data, "report": str(page), "directory": str(session.out)})
    else:
        print_result(result.judged, ran=True)
        print_seed(result)
        places = f"results: {session.out}\nreport: {page}"
        console().print(places, soft_wrap=True, markup=False)
    leave([result])


def _read(path: Path) -> Evaluation:
    """The evaluation of a spec.json; a battery from a file is recorded with its content."""
    from omnimeter.contract.spec import read_json
    from omnimeter.protocols import Evaluation
    from omnimeter.protocols.battery import snapshot

    data = read_json(path, "Give the spec.json of an evaluation.")
    if isinstance(data, dict):
        data = data.get("spec", data)
    evaluation = Evaluation.from_json(data, str(path))
    protocol = evaluation.protocol
    battery = protocol.parameters.get("battery")
    if protocol.id in ("battery", "battery-v1") and isinstance(battery, str):
        parameters = {**protocol.parameters, "battery": snapshot(battery)}
        evaluation = replace(evaluation, protocol=replace(protocol, parameters=parameters))
    return evaluation
