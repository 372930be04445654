"""Theorems 1 to 3 as curves: what a random agent that stops when lucky gets, against tau."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.opportunists import Stopper
from omnimeter.agents.random_agent import RandomAgent
from omnimeter.contract import NANOSECONDS, FloatArray, IntArray
from omnimeter.environments.buttons import Buttons
from omnimeter.interaction import KernelAgent
from omnimeter.payoffs import Average, Diminishing, Discounted, PerSecond, Total
from omnimeter.reproductions.files import write_figure, write_records
from omnimeter.reproductions.reproduction import Report, Reproduced, Statement, silent
from omnimeter.reproductions.simulation import simulate
from omnimeter.statistics import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUNS = 4000
LONGEST = 3000.0
"""Seconds, at ten actions a second."""

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
    """

    agent: str
    payoff: str
    seconds: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


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
        files={
            "curves": write_records(out / "curves.csv", rows),
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
    )


def _rows(curve: Curve) -> list[dict[str, Any]]:
    columns = zip(curve.seconds, curve.value, curve.low, curve.high, strict=True)
    return [
        {
            "agent": curve.agent,
            "payoff": curve.payoff,
            "tau": float(tau),
            "value": float(value),
            "low": float(low),
            "high": float(high),
        }
        for tau, value, low, high in columns
    ]


def _statements(curves: dict[tuple[str, str], Curve]) -> list[Statement]:
    average = curves["stopper", "average"]
    diminishing = curves["stopper", "diminishing"]
    constant = curves["random", "diminishing"]
    total = curves["stopper", "total"]
    late = average.seconds >= 1
    worst = int(np.argmin(diminishing.value))
    # Every tenfold tau: the distance to 0 must shrink.
    distances = np.abs(np.interp((3, 30, 300, 3000), diminishing.seconds, diminishing.value))
    return [
        Statement(
            "Theorem 1: for some stopping random agent there is a t such that for all tau >= t its "
            "average reward per cycle is above 0.",
            f"From 1 s on the stopper's average lies between {average.value[late].min():.3f} and "
            f"{average.value[late].max():.3f}; every interval is above 0.",
            bool((average.low[late] > 0).all()),
        ),
        Statement(
            "Theorem 2: with diminishing history no policy that eventually stops keeps a random "
            "agent above 0 in the limit.",
            f"From 1 s on the stopper's value is never above 0: at {LONGEST:g} s it is "
            f"{diminishing.value[-1]:.4f} [{diminishing.low[-1]:.4f}, {diminishing.high[-1]:.4f}]. "
            "The last cycles are dropped first, and with them the luck itself.",
            bool((diminishing.value[late] < 0).all()),
        ),
        Statement(
            "Theorem 3: with diminishing history a constant-rate random agent tends to 0, "
            "whatever its stopping policy.",
            f"Without stopping {constant.value[-1]:+.4f} "
            f"[{constant.low[-1]:+.4f}, {constant.high[-1]:+.4f}] at {LONGEST:g} s. With stopping "
            f"it is lowest at {diminishing.seconds[worst]:.2g} s ({diminishing.value[worst]:.3f}) "
            "and its distance to 0 shrinks with every tenfold tau from 3 s on: "
            + ", ".join(f"{distance:.3f}" for distance in distances),
            bool(constant.low[-1] <= 0 <= constant.high[-1] and (np.diff(distances) < 0).all()),
        ),
        Statement(
            "The total reward has no theorem.",
            f"The stopper's expected total at {LONGEST:g} s is {total.value[-1]:+.2f} "
            f"[{total.low[-1]:+.2f}, {total.high[-1]:+.2f}]: by optional stopping it is 0 at every "
            "tau, although most runs end above 0.",
            None,
        ),
    ]


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
        "The diminishing history drops the last\ncycles, and with them the luck: the value\n"
        "falls below 0 and rises towards it.\n\n"
        "Totals are 0 at every tau, stopping or not.\n\n"
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
