"""``omnimeter study compare``: agents take what people took, and both are compared."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json, slow_progress

if TYPE_CHECKING:
    from omnimeter.reports.people import People


def compare(
    directory: Annotated[Path, typer.Argument(metavar="STUDY", help="The directory of a study.")],
    agent: options.Agents = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a page (HTML), and its data and LaTeX beside it."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="Show the words of free answers on the page.")
    ] = False,
    workers: options.Workers = 1,
    json: options.Json = False,
) -> None:
    """Give agents exactly what each participant of a study got, and compare them with the people.

    Each agent takes the exercises of every participant with a complete test: the same environments
    with the same randomness, in the same order. It does so with carried memory, as people have, and
    with fresh memory. That is stored in the study, so that a second call only computes.
    """
    from omnimeter.cli.scores import damaged_json, leave_if_damaged
    from omnimeter.reports.people_page import comparison_json, write_people_report
    from omnimeter.web.comparison import compare as compared
    from omnimeter.web.studies import Study

    if not agent:
        raise options.missing("--agent", "omnimeter study compare STUDY --agent q-learning")
    study = Study(directory)
    try:
        with slow_progress(hidden=json) as tell:
            people = compared(study, agent, workers=workers, texts=texts, tell=tell)
    except KeyboardInterrupt:
        console(errors=True).print("Interrupted. What is finished is stored: call it again.")
        raise typer.Exit(128 + signal.SIGINT) from None
    written = {} if out is None else write_people_report(people, out)
    if json:
        places = {name: str(path) for name, path in written.items()}
        damaged = damaged_json(people.taken.damaged)
        print_json({**comparison_json(people), "files": places, "damaged": damaged})
    else:
        _print(people)
        for name, path in written.items():
            console().print(f"{name.capitalize()}: {path}", markup=False, soft_wrap=True)
    leave_if_damaged(people.taken.damaged)
    if people.missing:
        raise typer.Exit(3)


def _print(people: People) -> None:
    """Print what matters most: the result in sentences, and the tables of the whole."""
    from rich.markup import escape

    from omnimeter.cli.scores import print_table
    from omnimeter.reports.people_page import legend_of, sentences_of, tables_of

    out = console()
    for sentence in sentences_of(people):
        out.print(escape(sentence))
    for name, table in tables_of(people).items():
        out.print(f"\n[bold]{escape(HEADINGS[name])}[/bold]")
        print_table(table)
        if legend := legend_of(table):
            out.print(escape(legend))


HEADINGS = {
    "means": "Overall",
    "differences": "People minus agents, participant by participant",
    "memories": "What memory changes",
    "variance": "Repeated-measures analysis of variance of people and each agent",
    "exercises": "By exercise",
    "quartiles": "Medians and quartiles",
    "relations": "Payoff and complexity",
    "positions": "By position in the test",
    "reactions": "How long people took",
    "questions": "Questionnaire",
    "restarts": "Exercises begun anew after an interruption",
}
