"""``omnimeter prepare``: the offline phase of agents, alone."""

from __future__ import annotations

from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.options import missing
from omnimeter.cli.scores import print_detail


def prepare(
    agent: options.Agents = None,
    prior: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class of MDPs that agents are told of.")
    ] = None,
    gamma: Annotated[float, typer.Option(metavar="NUMBER", help="The discount factor.")] = 0.95,
    horizon: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The steps of a trajectory (by default those after which the return misses less "
            "than 0.01).",
        ),
    ] = None,
    seed: options.Seed = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Prepare even what was prepared before.")
    ] = False,
    isolation: options.Isolation = "auto",
    memory_limit: options.MemoryLimit = 2048,
    prepare_timeout: options.PrepareTimeout = 86_400,
    sandbox: options.Sandbox = "auto",
    json: options.Json = False,
) -> None:
    """Carry out the offline phase of agents, and keep what they prepared.

    An evaluation with the same prior, discount factor, horizon and seed takes it up. Leaves with 3
    when an agent fails.
    """
    from omnimeter.api import prepare as carry_out
    from omnimeter.contract.text import clean

    example = "omnimeter prepare --agent opps-ds --prior gc"
    if not agent:
        raise missing("--agent", example)
    if prior is None:
        raise missing("--prior", example)
    with busy("Preparing", hidden=json):
        results = carry_out(
            agent,
            prior,
            gamma=gamma,
            horizon=horizon,
            seed=seed,
            again=again,
            isolation=isolation,
            memory_limit=memory_limit,
            prepare_timeout=prepare_timeout,
            sandbox=sandbox,
        )
    if json:
        print_json([{**each.to_json(), "key": each.key} for each in results])
    else:
        for each in results:
            if each.fault is not None:
                text = each.fault.message
            else:
                said = ", ".join(f"{name}={_shown(value)}" for name, value in each.content.items())
                text = f"{each.wall_s:.3g} s, {each.key}" + (f": {said}" if said else "")
            line = clean(f"{each.agent.label}: {text}")
            console().print(line, soft_wrap=True, highlight=False, markup=False)
            if each.fault is not None:
                print_detail(each.fault)
    if any(each.fault is not None for each in results):
        raise typer.Exit(3)


def _shown(value: object) -> str:
    """A value that was prepared, not too long for a line; all of it is in the JSON."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."
