"""The report page: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.contract import Spec
from omnimeter.reports import look, wording
from omnimeter.reports.comparisons import Verdict
from omnimeter.reports.contents import Contents, gather
from omnimeter.reports.ink import inline_svg
from omnimeter.reports.labels import printable
from omnimeter.reports.sittings import SITTING
from omnimeter.results import durable

if TYPE_CHECKING:
    from omnimeter.results import Record

NAME = "report.html"
"""How the page is called in the directory of its evaluation."""

MOST_FAULTS = 40
"""How many lines the table of faults has at the most."""

_SIGNS = "●■▲◆▼✚"
"""The markers of the figures, as characters."""

_VERDICTS = {
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.NOT_SHOWN: "≈",
    Verdict.TOO_FEW: "?",
    Verdict.FAULTY: "✕",
}


def write_report(record: Record, path: Path | None = None, payoff: Spec | None = None) -> Path:
    """Write the report page of an evaluation.

    The same record always gives the same page, byte for byte.

    Args:
        record: The evaluation.
        path: The file to write; by default ``report.html`` in the directory of the evaluation.
        payoff: Judge its traces by this payoff instead of its own.

    Returns:
        The file that was written.

    Raises:
        InvalidInputError: Another payoff cannot be computed.
        StoreError: The record cannot be read or the page cannot be written.
    """
    target = record.path / NAME if path is None else path
    page = render(gather(record, payoff))
    durable.make_directory(target.parent)
    durable.write(target, page.encode("utf-8", "replace"))
    return target


def render(contents: Contents) -> str:
    """The page as text; everything that agents wrote is escaped."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("omnimeter.reports"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["printable"] = printable
    # Our own drawing, in which the names of agents are escaped already.
    drawn = {each.name: Markup(inline_svg(each, contents.places)) for each in contents.figures}
    text: str = environment.get_template("report.html.j2").render(
        contents=contents,
        figures={each.name: each for each in contents.figures},
        drawn=drawn,
        summary=_pieces(contents.summary, contents.places),
        words=wording,
        most_faults=MOST_FAULTS,
        **_extras(contents),
    )
    return text


def _pieces(text: str, labels: Iterable[str]) -> list[str]:
    """A text cut around the names of agents, which are at the odd places."""
    longest_first = sorted(labels, key=len, reverse=True)
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)


def _extras(contents: Contents) -> dict[str, Any]:
    """What the template needs besides: decimals, signs and colours."""
    few = look.few(len(contents.places))
    rows, compared = contents.rows, contents.compared
    return {
        "score_places": wording.decimals(n for row in rows for n in (row.value, row.low, row.high)),
        "difference_places": wording.decimals(
            n for each in compared for n in (each.difference, each.low, each.high)
        ),
        "signs": {
            label: (place + 1, _SIGNS[place]) for label, place in contents.places.items() if few
        },
        "verdicts": _VERDICTS,
        "sittings": contents.unit == SITTING,
    }
