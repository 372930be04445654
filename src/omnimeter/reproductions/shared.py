"""What reproductions share: statements, results, simulated runs, tables and figures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omnimeter.contract import Agent, Budget, EnvironmentClass, Exercise, Spec, Trace, stream
from omnimeter.contract.errors import StoreError
from omnimeter.estimation import Estimate
from omnimeter.interaction import run_single
from omnimeter.reports.style import MUTED, SMALL, STYLE, moved_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Report = Callable[[str, float], None]
"""Told what is being done and which part of the whole is finished."""

PUBLISHED_FIELD = ".published"
"""Ends the name of a field of a row that holds what the paper prints for the field before it."""


def silent(doing: str, done: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Statement:
    """Something that the paper says, and whether our runs say it too.

    Attributes:
        claim: What the paper says, in our words.
        found: What our runs found, with numbers.
        holds: Whether they agree; ``None`` where the paper gives nothing to compare with.
        reason: Why we differ, where we know it. A difference with a reason is not a failure.
    """

    claim: str
    found: str
    holds: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Reproduced:
    """The result of a reproduction.

    Attributes:
        name: Its name.
        title: What it shows, in a line.
        statements: What was compared.
        figures: Named numbers, flat.
        rows: The table, as records with the same fields, where there is one. Beside the field
            ``x`` there may be a field ``x.published``.
        files: What was written, by a short name; the rows under ``table``.
    """

    name: str
    title: str
    statements: Sequence[Statement]
    figures: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def agrees(self) -> bool:
        """Whether nothing differs without a written reason."""
        return all(each.holds is not False or each.reason for each in self.statements)

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return {
            "name": self.name,
            "agrees": self.agrees,
            "figures": dict(self.figures),
            "rows": [dict(row) for row in self.rows],
            "statements": [
                {"claim": s.claim, "found": s.found, "holds": s.holds, "reason": s.reason}
                for s in self.statements
            ],
            "files": {name: str(path) for name, path in self.files.items()},
        }


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Make the directory; say clearly when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Choose another place with --out."
        ) from error


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Records with the same fields, as CSV."""
    with writing_to(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def write_figure(figure: Figure, path: Path) -> dict[str, Path]:
    """A figure as PNG and SVG, the same bytes each time. The path has no ending yet."""
    import matplotlib as mpl

    png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
    with writing_to(png), mpl.rc_context({"svg.hashsalt": "omnimeter", "svg.fonttype": "none"}):
        figure.savefig(png, dpi=150, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None})
    return {"figure": png, "figure (vector)": svg}


REWARDS = (-1.0, 1.0)
"""The lowest and the highest reward, and so average."""


def said(estimate: Estimate, digits: int = 3) -> str:
    """An estimate with its interval, for a reader."""
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def fields(estimate: Estimate) -> Mapping[str, float]:
    """An estimate with its interval, as fields of a row."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


SIMULATED = Spec("simulated-v1")
"""Every simulated agent has this name, so that all get the same chances: runs are paired."""


def exercises(
    environment_class: EnvironmentClass, budget: Budget, runs: int, seed: int = 0
) -> list[Exercise]:
    """The same exercises for every agent, each in an environment of its own drawing."""
    return [
        Exercise(
            agent=SIMULATED,
            environment_class=SIMULATED,
            instance=environment_class.draw(stream(seed, "instance", number).generator()),
            budget=budget,
            seed=seed,
            number=number,
        )
        for number in range(runs)
    ]


def simulate(
    environment_class: EnvironmentClass,
    agent: Agent,
    seconds: float,
    runs: int,
    seed: int = 0,
) -> Iterator[Trace]:
    """The traces of one agent over a time, run by run, so that memory stays flat."""
    taken = exercises(environment_class, Budget(seconds=seconds), runs, seed)
    return run_single(environment_class, agent, taken)


HEIGHT_OF_TITLE = 0.26
"""In inches."""


@contextmanager
def look() -> Iterator[None]:
    """Within it figures look as those of reports do; panels are placed by hand."""
    import matplotlib as mpl

    style: dict[Any, Any] = {**STYLE, "figure.constrained_layout.use": False}
    with mpl.rc_context(style):
        yield


def head(figure: Figure, title: str, below: str) -> None:
    """What a figure shows, in bold, and how it was made."""
    figure.suptitle(title, x=0.012, y=0.985, ha="left", va="top", fontweight="bold", fontsize=12)
    under = 0.985 - HEIGHT_OF_TITLE / figure.get_figheight()
    figure.text(0.012, under, below, ha="left", va="top", fontsize=SMALL, color=MUTED)


class End(NamedTuple):
    """Where a curve ends, and who it is."""

    value: float
    name: str
    colour: str


def name_ends(axes: Axes, ends: Sequence[End], room: float) -> None:
    """Write the names of curves at the right of a panel, each as near to its end as there is room.

    Args:
        axes: The panel, with its final limits.
        ends: The curves.
        room: The height that a name takes, as a part of the panel's.
    """
    heights = [_height(axes, end.value) for end in ends]
    for end, height in zip(ends, moved_apart(heights, [room] * len(heights)), strict=True):
        axes.annotate(
            end.name,
            (1.02, height),
            xycoords="axes fraction",
            va="center",
            fontsize=SMALL,
            color=end.colour,
            linespacing=1.05,
            annotation_clip=False,
        )


def _height(axes: Axes, value: float) -> float:
    """The height of a value in a panel, from 0 at its bottom to 1 at its top."""
    return float(axes.transAxes.inverted().transform(axes.transData.transform((1, value)))[1])
