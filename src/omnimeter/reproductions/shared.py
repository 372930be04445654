"""What reproductions share: statements, results, simulated runs, tables and figures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from omnimeter.contract import (
    Budget,
    EnvironmentClass,
    Exercise,
    FloatArray,
    IntArray,
    Spec,
    StoreError,
    Trace,
    stream,
)
from omnimeter.estimation import Estimate
from omnimeter.interaction import KernelAgent, KernelEnvironmentClass
from omnimeter.interaction.batch import run_batch
from omnimeter.reports.style import MUTED, SMALL, STYLE, moved_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Report = Callable[[str, float], None]
"""Called with what is being done and which share of the whole is finished."""

PUBLISHED_FIELD = ".published"
"""Ends the name of a field of a row that holds what the paper prints for the field before it."""

REWARDS = (-1.0, 1.0)
"""The lowest and the highest reward, and therefore average reward."""


def silent(doing: str, done: float) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Statement:
    """A claim of the paper, and whether our runs agree with it.

    Attributes:
        claim: What the paper says, paraphrased.
        evidence: What our runs show, with numbers.
        holds: Whether they agree; ``None`` where the paper gives nothing to compare with.
        reason: Why we differ, where we know it. A difference with a reason is not a failure.
    """

    claim: str
    evidence: str
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
        rows: The table, as records with the same fields, where there is one. A field ``x`` may be
            followed by a field ``x.published``.
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
        """Whether every difference has a written reason."""
        return all(each.holds is not False or each.reason for each in self.statements)

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        return {
            "name": self.name,
            "agrees": self.agrees,
            "figures": dict(self.figures),
            "rows": [dict(row) for row in self.rows],
            "statements": [asdict(statement) for statement in self.statements],
            "files": {name: str(path) for name, path in self.files.items()},
        }


# Runs.

SIMULATED = Spec("simulated-v1")
"""The spec of every simulated agent, so that all have the same random streams: runs are paired."""


def draw_exercises(
    environment_class: EnvironmentClass, budget: Budget, runs: int, seed: int = 0
) -> list[Exercise]:
    """The same exercises for every agent, each in an environment of its own."""
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


def run_exercises(
    environment_class: KernelEnvironmentClass, agent: KernelAgent, exercises: Sequence[Exercise]
) -> Iterator[Trace]:
    """The traces of one agent, exercise by exercise, so that memory stays flat."""
    return run_batch(environment_class, agent, exercises)


def simulate(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    seconds: float,
    runs: int,
    seed: int = 0,
) -> Iterator[Trace]:
    """The traces of one agent over a period of time, run by run."""
    exercises = draw_exercises(environment_class, Budget(seconds=seconds), runs, seed)
    return run_exercises(environment_class, agent, exercises)


# Estimates, in statements and in tables.


def fmt(estimate: Estimate, digits: int = 3) -> str:
    """An estimate with its interval, as text."""
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def join(numbers: Iterable[float], spec: str, last: str = ", ") -> str:
    """Numbers in this format, separated by commas, the last one by another separator."""
    *first, final = (format(number, spec) for number in numbers)
    return last.join([", ".join(first), final]) if first else final


def fields(estimate: Estimate, name: str = "") -> dict[str, float]:
    """An estimate with its interval, as fields of a row: named, or value, low and high."""
    names = (name, f"{name}-low", f"{name}-high") if name else ("value", "low", "high")
    return dict(zip(names, (estimate.value, estimate.low, estimate.high), strict=True))


def contains_zero(estimate: Estimate) -> bool:
    """Whether 0 lies in the interval."""
    return estimate.low <= 0 <= estimate.high


def is_within(estimate: Estimate, distance: float) -> bool:
    """Whether the whole interval is closer to 0 than this."""
    return -distance < estimate.low and estimate.high < distance


def bands(estimates: Iterable[Estimate]) -> FloatArray:
    """Three rows for a curve: the values, the lower and the upper ends of the intervals."""
    return np.array([(each.value, each.low, each.high) for each in estimates]).T


# Files.


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Make the directory; report clearly when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Choose another place with --out."
        ) from error


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write records with the same fields as CSV."""
    with writing_to(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def write_figure(figure: Figure, path: Path) -> dict[str, Path]:
    """Write a figure as PNG and SVG, the same bytes each time. The path has no suffix yet."""
    import matplotlib as mpl

    png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
    with writing_to(png), mpl.rc_context({"svg.hashsalt": "omnimeter", "svg.fonttype": "none"}):
        figure.savefig(png, dpi=150, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None})
    return {"figure": png, "figure (vector)": svg}


# Figures.

THOUSANDS = "{x:,.0f}"
"""The format of large counts on an axis."""

TITLE_HEIGHT = 0.26
"""In inches."""


@contextmanager
def style() -> Iterator[None]:
    """Within it figures have the style of reports; panels are placed by hand."""
    import matplotlib as mpl

    parameters: dict[Any, Any] = {**STYLE, "figure.constrained_layout.use": False}
    with mpl.rc_context(parameters):
        yield


def add_header(figure: Figure, title: str, subtitle: str) -> None:
    """Add what a figure shows, in bold, and how it was made."""
    figure.suptitle(title, x=0.012, y=0.985, ha="left", va="top", fontweight="bold", fontsize=12)
    below = 0.985 - TITLE_HEIGHT / figure.get_figheight()
    figure.text(0.012, below, subtitle, ha="left", va="top", fontsize=SMALL, color=MUTED)


def panel_title(axes: Axes, title: str) -> None:
    """Add the title of one panel of a figure."""
    axes.set_title(title, loc="left", fontsize=10.5)


def grid_and_zero(axes: Axes) -> None:
    """Draw horizontal grid lines, and a line at 0."""
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)


def ticks(axes: Axes, values: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Label exactly these values of the vertical axis, in the shortest form by default."""
    axes.set_yticks(values, labels or [f"{value:g}" for value in values])
    axes.set_yticks([], minor=True)


def plot_band(
    axes: Axes,
    x: FloatArray | IntArray | Sequence[float],
    band: FloatArray,
    colour: str,
    alpha: float = 0.16,
    **line: Any,
) -> None:
    """Plot a curve over the band of its intervals.

    Args:
        axes: The panel.
        x: Where the values are.
        band: Three rows: values, lower ends, upper ends.
        colour: Of both.
        alpha: The opacity of the band.
        line: Further properties of the line.
    """
    value, low, high = band
    axes.fill_between(x, low, high, color=colour, alpha=alpha, lw=0)
    axes.plot(x, value, **{"color": colour, "lw": 1.7, **line})


class CurveEnd(NamedTuple):
    """The last value of a curve, with its label."""

    value: float
    label: str
    colour: str


def label_ends(axes: Axes, ends: Sequence[CurveEnd], height: float = 0.075) -> None:
    """Label curves at the right of a panel, each as near to its end as the others allow.

    Args:
        axes: The panel, with its final limits.
        ends: The curves.
        height: The height of a label, as a fraction of the panel's.
    """
    to_fraction = axes.transData + axes.transAxes.inverted()
    wanted = [float(to_fraction.transform((1, end.value))[1]) for end in ends]
    for end, place in zip(ends, moved_apart(wanted, [height] * len(ends)), strict=True):
        axes.annotate(
            end.label, (1.02, place), xycoords="axes fraction", va="center", fontsize=SMALL,
            color=end.colour, linespacing=1.05, annotation_clip=False,
        )  # fmt: skip
