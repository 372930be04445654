"""``omnimeter test``: the universal tests, parametric and anytime, for one or more agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json, shorten
from omnimeter.cli.options import class_with, default_directory, leave, missing

if TYPE_CHECKING:
    from omnimeter.api import Result, UniversalTest
    from omnimeter.contract import Spec

EXAMPLE = "omnimeter test --agent q-learning --class automata --time 60"


def test(
    agent: options.Agents = None,
    environment_class: options.EnvironmentClass = None,
    settings: options.Settings = None,
    time: Annotated[
        float | None,
        typer.Option(
            "--time",
            "-t",
            metavar="SECONDS",
            help="Seconds of the whole test, in which time counts (Definition 18).",
        ),
    ] = None,
    interactions: Annotated[
        int | None,
        typer.Option(
            "--interactions",
            "-i",
            metavar="N",
            help="Or its length in interactions, whatever time they take (Definition 19).",
        ),
    ] = None,
    timed_and_untimed: Annotated[
        bool,
        typer.Option(
            "--timed-and-untimed",
            help="First with time, then without: shows whether an agent is slow or dull.",
        ),
    ] = False,
    length: Annotated[
        float | None,
        typer.Option(
            metavar="LENGTH",
            help="Length of a repetition, to which the score belongs: interactions, or seconds "
            "with --time or --definition 18.",
        ),
    ] = None,
    repetitions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Repetitions taken side by side (by default at least 20, and more in a long "
            "test); with --precision, those of the first block.",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="With --length: repetitions until half the interval is so short (at most 10,000, "
            "or as many as --time or --interactions have room for).",
        ),
    ] = None,
    start_complexity: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="The complexity to begin with (by default the lowest of the class).",
        ),
    ] = None,
    slot: Annotated[
        float | None,
        typer.Option(
            metavar="LENGTH",
            help="Length of the first exercise: seconds (by default 1e-6) or interactions (1).",
        ),
    ] = None,
    seated: options.Seated = None,
    similar: options.Similar = None,
    count_seated: options.CountSeated = False,
    definition: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="10, 15 or 17: a fixed number of environments instead, each as long as --time or "
            "--interactions says.",
        ),
    ] = None,
    exercises: Annotated[
        int | None,
        typer.Option(
            "--exercises",
            "-n",
            metavar="N",
            help="Definitions 10, 15, 17: how many (by default 20).",
        ),
    ] = None,
    adjustment: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Definitions 15, 17: what results are weighed by (by default flat).",
        ),
    ] = None,
    payoff: Annotated[
        str | None,
        typer.Option(
            metavar="PAYOFF",
            help="What an exercise is worth (by default diminishing with time, else "
            "planned-average).",
        ),
    ] = None,
    clock: Annotated[
        str | None,
        typer.Option(
            metavar="CLOCK",
            help="wall (the default); own: only the agent's own time counts; or virtual: believe "
            "the times that agents declare.",
        ),
    ] = None,
    tick: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Virtual seconds of an undeclared action."),
    ] = None,
    unbalanced: Annotated[
        bool, typer.Option("--unbalanced", help="Insist on a class that is not balanced.")
    ] = False,
    reference: options.Reference = None,
    seed: options.SecretSeed = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The directory of the evaluation (by default evaluations/CLASS-HASH); with "
            "--timed-and-untimed, DIR/timed and DIR/untimed.",
        ),
    ] = None,
    traces: options.Traces = False,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Processes that work at once (by default 1; with --precision one for each core).",
        ),
    ] = None,
    isolation: options.Isolation = "auto",
    action_timeout: options.ActionTimeout = 10.0,
    memory_limit: options.MemoryLimit = 2048,
    begin_timeout: options.BeginTimeout = 60.0,
    exercise_timeout: options.ExerciseTimeout = 86_400,
    sandbox: options.Sandbox = "auto",
    fault_limit: options.FaultLimit = 10,
    journal: options.Journal = "auto",
    privileged: options.Privileged = False,
    json: options.Json = False,
) -> None:
    """Give agents a universal intelligence test; Ctrl-C ends it at any time with a valid score.

    Success leads to harder environments, failure to easier ones. Several agents are compared,
    repetition by repetition. Running the same command again goes on where it was interrupted.
    Leaves with 3 when an exercise ended in a fault.
    """
    from omnimeter.api import test as prepare
    from omnimeter.api.result import agent_of
    from omnimeter.contract import InvalidInputError

    if not agent:
        raise missing("--agent", EXAMPLE)
    if environment_class is None:
        raise missing("--class", EXAMPLE)
    common: dict[str, Any] = {
        "agents": agent,
        "environment_class": class_with(environment_class, settings),
        "repetitions": repetitions,
        "precision": precision,
        "start_complexity": start_complexity,
        "payoff": payoff,
        "unbalanced": unbalanced,
        "seated": seated or (),
        "similar": similar or (),
        "count_seated": count_seated,
        "seed": seed,
        "traces": traces,
        "isolation": isolation,
        "action_timeout": action_timeout,
        "memory_limit": memory_limit,
        "begin_timeout": begin_timeout,
        "exercise_timeout": exercise_timeout,
        "sandbox": sandbox,
        "fault_limit": fault_limit,
        "journal": journal,
        "privileged": privileged,
    }
    first: dict[str, Any] = {
        "time": time,
        "length": length,
        "slot": slot,
        "clock": clock,
        "tick": tick,
        "definition": definition,
        "exercises": exercises,
        "adjustment": adjustment,
    }
    if workers is None:
        from omnimeter.execution.workers import cores

        workers = 1 if precision is None else cores()
    common["workers"] = workers
    if not timed_and_untimed:
        tests = [prepare(**common, **first, interactions=interactions, out=out)]
    elif time is None or (definition, length, precision) != (None, None, None):
        raise InvalidInputError(
            "--timed-and-untimed gives the tests of Definitions 18 and 19.",
            "Give the length of the first with --time SECONDS, and no --definition, --length or "
            "--precision.",
        )
    else:
        total = 10_000 if interactions is None else interactions
        tests = [
            prepare(**common, **first, out=out and out / "timed"),
            prepare(**common, interactions=total, out=out and out / "untimed"),
        ]
    chosen = None if reference is None else agent_of(tests[0].evaluation, reference)
    leave(_give(tests, chosen, json=json))


def _give(tests: Sequence[UniversalTest], reference: Spec | None, *, json: bool) -> list[Result]:
    """Give tests one after the other, until one is interrupted, and print their results."""
    from rich.markup import escape

    from omnimeter.cli.scores import print_warnings, scores_json
    from omnimeter.cli.session import display
    from omnimeter.reports.scores import score_rows
    from omnimeter.reports.summary import characterise

    shorten(agent.label for agent in tests[0].evaluation.agents)
    try:
        doing = f"Examining {tests[0].environment_spec.label} and choosing the first environments"
        with busy(doing, hidden=json, compiling=True):
            for test in tests:  # errors in any of them are reported before the first is given
                test.out = test.out or default_directory(test.evaluation)
                test.balance = tests[0].balance
                test.check()
    except KeyboardInterrupt:
        console(errors=True).print("Interrupted before the test began: there is no score yet.")
        raise
    results: list[Result] = []
    printed = []
    for test in tests:
        print_warnings(test)
        if test.real_time:
            with busy("Measuring the harness", hidden=json):
                test.measure_harness()
        with display(test.protocol, (test.title, test.setting), hidden=json) as observer:
            result = test.run(observer)
        results.append(result)
        with busy("Writing the report", hidden=json):
            page = result.report()
        if json:
            data = {
                "definition": test.definition.number,
                **scores_json(result, reference),
                "balance": test.balance and test.balance.to_json(),
                "harness": [cost.to_json() for cost in test.harness],
            }
            printed.append({**data, "report": str(page), "directory": str(test.out)})
        else:
            _print(test, result, page, reference)
        if not result.complete:
            break
    verdicts, marks = [], {}
    if len(results) > 1:
        timed, untimed = (each.judged.scores for each in results)
        verdicts = [characterise(agent, timed[agent], untimed[agent]) for agent in timed]
        marks = {
            row.label: row.eligibility.mark for each in results for row in score_rows(each.judged)
        }
    if json and len(tests) == 1:
        print_json(printed[0])
    elif json:
        said = [
            {
                "agent": each.agent.label,
                "verdict": str(each.kind),
                "reason": each.reason,
                **({"mark": marks[each.agent.label]} if marks[each.agent.label] else {}),
            }
            for each in verdicts
        ]
        both = dict(zip(("timed", "untimed"), printed, strict=False))
        print_json({**both, "verdicts": said})
    else:
        for each in verdicts:
            mark = marks[each.agent.label]
            who = escape(f"{each.agent.label}{mark}: {each.kind}.")
            console().print(f"\n[bold]{who}[/bold] {escape(each.reason)}")
    return results


def _print(test: UniversalTest, result: Result, page: Path, reference: Spec | None) -> None:
    from rich.markup import escape

    from omnimeter.cli.scores import print_seed, print_test
    from omnimeter.cli.session import harness_sentence

    out = console()
    out.print(f"[bold]{escape(test.title)}[/bold]\n{escape(test.setting)}\n")
    remarks = map(harness_sentence, test.harness)
    print_test(result.judged, result.compare(reference), *remarks, ran=True)
    print_seed(result)
    out.print(f"results: {test.out}\nreport: {page}", soft_wrap=True, markup=False)
