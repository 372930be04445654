"""Theorems 1 to 3 as curves: what a random agent that stops when lucky gets, against tau."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from omnimeter.agents.opportunists import Stopper
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.environments.buttons import Buttons
from omnimeter.estimation import mean
from omnimeter.interaction import KernelAgent
from omnimeter.payoffs import Average, Diminishing, Discounted, PerSecond, Total
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import REWARDS, Report, Reproduced, Statement, join, silent

RUNS = 4000
LONGEST = 3000.0  # seconds, at ten actions a second
EARLIEST = 1.0  # seconds, from which on "for all tau" is examined
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
    """The mean payoff of an agent at each tau with its 95 % interval, and the runs above 0."""

    agent: str
    payoff: str
    seconds: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    above_0: FloatArray

    @property
    def columns(self) -> tuple[FloatArray, ...]:
        """All arrays, in this order."""
        return self.seconds, self.value, self.low, self.high, self.above_0

    def last(self) -> str:
        """The last value with its interval, as text."""
        return f"{self.value[-1]:.3g} [{self.low[-1]:.3g}, {self.high[-1]:.3g}]"


def _curves(name: str, agent: KernelAgent, ends: IntArray) -> list[Curve]:
    values: dict[str, list[FloatArray]] = {payoff: [] for payoff in PAYOFFS}
    for trace in shared.simulate(Buttons("balanced"), agent, LONGEST, RUNS):
        for what, payoff in PAYOFFS.items():
            values[what].append(payoff.along(trace, ends))
    curves = []
    for what, payoff in PAYOFFS.items():
        runs = np.array(values[what])
        estimates = [mean(column, support=payoff.bounds(REWARDS)) for column in runs.T]
        value, low, high = shared.bands(estimates)
        above_0 = (runs > 0).mean(axis=0)
        curves.append(Curve(name, what, ends / NANOSECONDS, value, low, high, above_0))
    return curves


def _draw(curves: dict[tuple[str, str], Curve], out: Path) -> dict[str, Path]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.2), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, what in zip(panels, PAYOFFS, strict=False):
        for agent, colour, line, label in (
            ("stopper", "#b5442b", "-", "stops when lucky"),
            ("random", "#33658a", "--", "never stops"),
        ):
            seconds, *band, _ = curves[agent, what].columns
            plots.plot_band(
                axes, seconds, np.array(band), colour, 0.18, ls=line, lw=1.8, label=label
            )
        axes.axhline(0, color="#888888", lw=0.7)
        axes.set(xscale="log", title=what, xlabel="tau in seconds", ylabel="expected payoff")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(frameon=False, loc="upper left")
    notes = panels[len(PAYOFFS)]
    notes.axis("off")
    notes.text(
        0, 0.95,
        "A random agent in the balanced example\n(10 actions a second) that stops for ever\n"
        "once its average is above 0, and one\nthat goes on.\n\n"
        "The diminishing history drops the last\ncycles, and the lucky ones with them.\n\n"
        "By optional stopping the expected total\nis 0 at every tau, stopping or not.\n\n"
        f"Bands: 95 % intervals of {RUNS} runs.",
        va="top", fontsize=10,
    )  # fmt: skip
    figure.suptitle("What stopping when lucky is worth", x=0.01, ha="left", fontweight="bold")
    return plots.write_figure(figure, out / "stopping")


def statements(curves: dict[tuple[str, str], Curve]) -> list[Statement]:
    """The three theorems, and what holds for the total."""
    late = curves["stopper", "average"].seconds >= EARLIEST
    average, diminishing, total = (
        Curve("stopper", payoff, *(column[late] for column in curves["stopper", payoff].columns))
        for payoff in ("average", "diminishing", "total")
    )
    above = average.low > 0
    highest = int(np.argmax(diminishing.value))
    stopper, constant = (curves[agent, "diminishing"] for agent in ("stopper", "random"))
    lowest = int(np.argmin(stopper.value))
    tenfold = (3, 30, 300, 3000)
    distances = np.abs(np.interp(tenfold, stopper.seconds, stopper.value))
    shrinks = np.diff(distances) < 0
    contains_0 = bool(constant.low[-1] <= 0 <= constant.high[-1])
    total_contains_0 = (total.low <= 0) & (total.high >= 0)
    return [
        Statement(
            "Theorem 1: for some stopping random agent there is a t such that for all tau >= t its "
            "average reward per cycle is above 0.",
            f"From {EARLIEST:g} s on the stopper's average lies between {average.value.min():.3f} "
            f"and {average.value.max():.3f}; its interval is above 0 at {above.sum()} of "
            f"{len(above)} points.",
            bool(above.all()),
        ),
        Statement(
            "Theorem 2: with diminishing history no policy that eventually stops keeps a random "
            "agent above 0 in the limit.",
            f"From {EARLIEST:g} s on the stopper's value is at most "
            f"{diminishing.value[highest]:.4f}, at {diminishing.seconds[highest]:.4g} s; its "
            f"interval is above 0 at {(diminishing.low > 0).sum()} and below 0 at "
            f"{(diminishing.high < 0).sum()} of {len(diminishing.value)} points. At {LONGEST:g} s "
            f"it is {diminishing.last()}.",
            bool((diminishing.value <= 0).all()),
        ),
        Statement(
            "Theorem 3: with diminishing history a constant-rate random agent tends to 0, "
            "whatever its stopping policy.",
            f"Without stopping the value at {LONGEST:g} s is {constant.last()}, which "
            f"{'contains' if contains_0 else 'does not contain'} 0. With stopping it is lowest at "
            f"{stopper.seconds[lowest]:.2g} s ({stopper.value[lowest]:.3f}); its distance to 0 "
            f"after {join(tenfold, 'd')} s is {join(distances, '.3f')}, and shrinks in "
            f"{shrinks.sum()} of {len(shrinks)} steps.",
            contains_0 and bool(shrinks.all()),
        ),
        Statement(
            "The total reward has no theorem; by optional stopping its expectation is 0 at every "
            "tau.",
            f"From {EARLIEST:g} s on the interval of the stopper's expected total contains 0 at "
            f"{total_contains_0.sum()} of {len(total_contains_0)} points. At {LONGEST:g} s it is "
            f"{total.last()}, and {100 * total.above_0[-1]:.1f} % of the runs end above 0.",
            None,
        ),
    ]


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Compare the expected payoffs of a stopping and a constant random agent against tau."""
    ends = (np.geomspace(0.1, LONGEST, 46) * NANOSECONDS).astype(np.int64)
    agents: dict[str, KernelAgent] = {
        "stopper": Stopper(threshold=0.0, rate=RATE),
        "random": RandomAgent(rate=RATE),
    }
    curves: dict[tuple[str, str], Curve] = {}
    for number, (name, agent) in enumerate(agents.items()):
        report(f"{RUNS} runs of the {name} agent", number / len(agents))
        curves |= {(name, curve.payoff): curve for curve in _curves(name, agent, ends)}
    names = ("tau", "value", "low", "high", "runs-above-0")
    rows = [
        {"agent": agent, "payoff": payoff, **dict(zip(names, map(float, values), strict=True))}
        for (agent, payoff), curve in curves.items()
        for values in zip(*curve.columns, strict=True)
    ]
    return Reproduced(
        name="stopping",
        title="Stopping when lucky, in the balanced example: expected payoff against tau",
        statements=statements(curves),
        figures={
            f"{agent}.{payoff}.tau-{LONGEST:g}": float(curve.value[-1])
            for (agent, payoff), curve in curves.items()
        },
        rows=rows,
        files={"table": shared.write_records(out / "curves.csv", rows), **_draw(curves, out)},
    )
