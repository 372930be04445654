"""Theorems 1 to 3 as curves: what a random agent that stops when lucky gets, against tau."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.opportunists import Stopper
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.environments.buttons import Buttons
from omnimeter.estimation import mean
from omnimeter.kernels import KernelAgent
from omnimeter.payoffs import Average, Diminishing, Discounted, PerSecond, Total
from omnimeter.reproductions.shared import (
    Report,
    Reproduced,
    Statement,
    silent,
    simulate,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUNS = 4000
LONGEST = 3000.0
"""Seconds, at ten actions a second."""

EARLIEST = 1.0
"""Seconds, from which on "for all tau" is examined."""

RATE = 10.0

PAYOFFS: dict[str, Total | Average | PerSecond | Discounted | Diminishing] = {
    "total": Total(),
    "average": Average(),
    "per-second": PerSecond(),
    "discounted": Discounted("geometric", 0.99),
    "diminishing": Diminishing(),
}


@dataclass(frozen=True)
class Curve:
    """The expected payoff of an agent against tau, with its interval.

    Attributes:
        agent: ``stopper`` or ``random``.
        payoff: The name of the payoff.
        seconds: The values of tau.
        value: The mean payoff at each.
        low: The lower end of its 95 % interval.
        high: The upper end of it.
        lucky: The share of runs whose payoff is above 0 at each.
    """

    agent: str
    payoff: str
    seconds: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    lucky: FloatArray

    def since(self, seconds: float) -> Curve:
        """The part of the curve from a tau on."""
        late = self.seconds >= seconds
        columns = (self.seconds, self.value, self.low, self.high, self.lucky)
        return Curve(self.agent, self.payoff, *(column[late] for column in columns))

    def end(self) -> str:
        """The last value with its interval, for a reader."""
        return f"{self.value[-1]:.3g} [{self.low[-1]:.3g}, {self.high[-1]:.3g}]"


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Show who gains by stopping: the stopper's expected payoff against tau under each payoff."""
    ends = (np.geomspace(0.1, LONGEST, 46) * NANOSECONDS).astype(np.int64)
    agents: dict[str, KernelAgent] = {
        "stopper": Stopper(threshold=0.0, rate=RATE),
        "random": RandomAgent(rate=RATE),
    }
    curves: dict[tuple[str, str], Curve] = {}
    for number, (name, agent) in enumerate(agents.items()):
        report(f"{RUNS} runs of the {name} agent", number / len(agents))
        for curve in _curves(name, agent, ends):
            curves[name, curve.payoff] = curve
    rows = [row for curve in curves.values() for row in _rows(curve)]
    return Reproduced(
        name="stopping",
        title="Stopping when lucky, in the balanced example: expected payoff against tau",
        statements=_statements(curves),
        figures={
            f"{who}.{what}.tau-{LONGEST:g}": float(curve.value[-1])
            for (who, what), curve in curves.items()
        },
        rows=rows,
        files={
            "table": write_records(out / "curves.csv", rows),
            **_draw(curves, out),
        },
    )


def _curves(name: str, agent: KernelAgent, ends: IntArray) -> list[Curve]:
    values: dict[str, list[FloatArray]] = {payoff: [] for payoff in PAYOFFS}
    for trace in simulate(Buttons("balanced"), agent, LONGEST, RUNS):
        for what, payoff in PAYOFFS.items():
            values[what].append(payoff.along(trace, ends))
    return [_curve(name, what, ends, np.array(runs)) for what, runs in values.items()]


def _curve(agent: str, payoff: str, ends: IntArray, runs: FloatArray) -> Curve:
    support = PAYOFFS[payoff].bounds((-1.0, 1.0))
    estimates = [mean(column, support=support) for column in runs.T]
    return Curve(
        agent,
        payoff,
        ends / NANOSECONDS,
        np.array([each.value for each in estimates]),
        np.array([each.low for each in estimates]),
        np.array([each.high for each in estimates]),
        (runs > 0).mean(axis=0),
    )


def _rows(curve: Curve) -> list[dict[str, Any]]:
    columns = zip(curve.seconds, curve.value, curve.low, curve.high, curve.lucky, strict=True)
    return [
        {
            "agent": curve.agent,
            "payoff": curve.payoff,
            "tau": float(tau),
            "value": float(value),
            "low": float(low),
            "high": float(high),
            "runs-above-0": float(lucky),
        }
        for tau, value, low, high, lucky in columns
    ]


def _statements(curves: dict[tuple[str, str], Curve]) -> list[Statement]:
    stopper = {payoff: curves["stopper", payoff].since(EARLIEST) for payoff in PAYOFFS}
    return [
        _stays_above(stopper["average"]),
        _stays_below(stopper["diminishing"]),
        _tends_to_0(curves["stopper", "diminishing"], curves["random", "diminishing"]),
        _cannot_be_moved(stopper["total"]),
    ]


def _stays_above(average: Curve) -> Statement:
    above = average.low > 0
    return Statement(
        "Theorem 1: for some stopping random agent there is a t such that for all tau >= t its "
        "average reward per cycle is above 0.",
        f"From {EARLIEST:g} s on the stopper's average lies between {average.value.min():.3f} and "
        f"{average.value.max():.3f}; its interval is above 0 at {above.sum()} of {len(above)} "
        "points.",
        bool(above.all()),
    )


def _stays_below(diminishing: Curve) -> Statement:
    highest = int(np.argmax(diminishing.value))
    above, below = diminishing.low > 0, diminishing.high < 0
    return Statement(
        "Theorem 2: with diminishing history no policy that eventually stops keeps a random "
        "agent above 0 in the limit.",
        f"From {EARLIEST:g} s on the stopper's value is at most {diminishing.value[highest]:.4f}, "
        f"at {diminishing.seconds[highest]:.4g} s; its interval is above 0 at {above.sum()} and "
        f"below 0 at {below.sum()} of {len(above)} points. At {LONGEST:g} s it is "
        f"{diminishing.end()}.",
        bool((diminishing.value <= 0).all()),
    )


def _tends_to_0(stopper: Curve, constant: Curve) -> Statement:
    lowest = int(np.argmin(stopper.value))
    tenfold = (3, 30, 300, 3000)
    distances = np.abs(np.interp(tenfold, stopper.seconds, stopper.value))
    shrinks = np.diff(distances) < 0
    holds_0 = bool(constant.low[-1] <= 0 <= constant.high[-1])
    return Statement(
        "Theorem 3: with diminishing history a constant-rate random agent tends to 0, "
        "whatever its stopping policy.",
        f"Without stopping the value at {LONGEST:g} s is {constant.end()}, which "
        f"{'holds' if holds_0 else 'does not hold'} 0. With stopping it is lowest at "
        f"{stopper.seconds[lowest]:.2g} s ({stopper.value[lowest]:.3f}); its distance to 0 "
        f"after {', '.join(map(str, tenfold))} s is "
        + ", ".join(f"{distance:.3f}" for distance in distances)
        + f", and shrinks in {shrinks.sum()} of {len(shrinks)} steps.",
        holds_0 and bool(shrinks.all()),
    )


def _cannot_be_moved(total: Curve) -> Statement:
    holds_0 = (total.low <= 0) & (total.high >= 0)
    return Statement(
        "The total reward has no theorem; by optional stopping its expectation is 0 at every tau.",
        f"From {EARLIEST:g} s on the interval of the stopper's expected total holds 0 at "
        f"{holds_0.sum()} of {len(holds_0)} points. At {LONGEST:g} s it is {total.end()}, and "
        f"{100 * total.lucky[-1]:.1f} % of the runs end above 0.",
        None,
    )


def _draw(curves: dict[tuple[str, str], Curve], out: Path) -> dict[str, Path]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.2), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, what in zip(panels, PAYOFFS, strict=False):
        _draw_panel(axes, what, curves["stopper", what], curves["random", what])
    panels[0].legend(frameon=False, loc="upper left")
    notes = panels[len(PAYOFFS)]
    notes.axis("off")
    notes.text(
        0,
        0.95,
        "A random agent in the balanced example\n(10 actions a second) that stops for ever\n"
        "once its average is above 0, beside one\nthat goes on.\n\n"
        "The diminishing history drops the last\ncycles, and with them the luck.\n\n"
        "By optional stopping the expected total\nis 0 at every tau, stopping or not.\n\n"
        f"Bands: 95 % intervals of {RUNS} runs.",
        va="top",
        fontsize=10,
    )
    figure.suptitle("What stopping when lucky is worth", x=0.01, ha="left", fontweight="bold")
    return write_figure(figure, out / "stopping")


def _draw_panel(axes: Axes, what: str, stopper: Curve, constant: Curve) -> None:
    for curve, colour, style, label in (
        (stopper, "#b5442b", "-", "stops when lucky"),
        (constant, "#33658a", "--", "never stops"),
    ):
        axes.fill_between(curve.seconds, curve.low, curve.high, color=colour, alpha=0.18, lw=0)
        axes.plot(curve.seconds, curve.value, style, color=colour, lw=1.8, label=label)
    axes.axhline(0, color="#888888", lw=0.7)
    axes.set(xscale="log", title=what, xlabel="tau in seconds", ylabel="expected payoff")
    axes.spines[["top", "right"]].set_visible(False)
