"""The options that several commands have in common, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Patience = Annotated[
    float, typer.Option(help="Seconds after which an isolated agent that hangs is ended.")
]
Memory = Annotated[int, typer.Option(help="Megabytes that an isolated agent may use.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
