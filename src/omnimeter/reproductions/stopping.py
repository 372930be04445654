"""Theorems 1 to 5 and Lemma 4: what random agents get by stopping and waiting, against tau."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from omnimeter.agents.opportunists import Stopper, Waiter
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.environments.buttons import Buttons, Example
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.interaction import KernelAgent
from omnimeter.payoffs import Average, Diminishing, Discounted, PerSecond, Total
from omnimeter.payoffs.functions import running_averages
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    Sulker,
    fmt,
    join,
    silent,
)

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
AGENTS: dict[str, tuple[Example, KernelAgent]] = {
    "stopper": ("balanced", Stopper(threshold=0.0, rate=RATE)),
    "random": ("balanced", RandomAgent(rate=RATE)),
    "sulker": ("switch-balanced", Sulker(rate=RATE)),
    "sulker-fate": ("fate", Sulker(rate=RATE)),
}
"""Each agent with its environment; the sulker stops for ever after its first bad reward."""


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


def _curves(name: str) -> list[Curve]:
    ends = (np.geomspace(0.1, LONGEST, 46) * NANOSECONDS).astype(np.int64)
    values: dict[str, list[FloatArray]] = {payoff: [] for payoff in PAYOFFS}
    example, agent = AGENTS[name]
    for trace in shared.simulate(Buttons(example), agent, LONGEST, RUNS):
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
            ("sulker", "#7a5195", ":", "stops when unlucky"),
        ):
            seconds, *band, _ = curves[agent, what].columns
            plots.plot_band(
                axes, seconds, np.array(band), colour, 0.18, ls=line, lw=1.8, label=label
            )
        axes.axhline(0, color="#888888", lw=0.7)
        axes.set(xscale="log", title=what, xlabel="tau in seconds", ylabel="expected payoff")
        axes.spines[["top", "right"]].set_visible(False)
    panels[2].legend(frameon=False, loc="upper right")
    notes = panels[len(PAYOFFS)]
    notes.axis("off")
    notes.text(
        0, 0.95,
        "Random agents, 10 actions a second. Two\nin the balanced example: one stops for\n"
        "ever once its average is above 0, one\ngoes on. The third stops after its first\n"
        "bad reward, where one of 20 actions\nchanges the sign of all rewards.\n\n"
        "The diminishing history drops the last\ncycles, be they lucky or unlucky.\n\n"
        f"Bands: 95 % intervals of {RUNS} runs.",
        va="top", fontsize=10,
    )  # fmt: skip
    figure.suptitle("What stopping is worth", x=0.01, ha="left", fontweight="bold")
    return plots.write_figure(figure, out / "stopping")


def statements(curves: dict[tuple[str, str], Curve]) -> list[Statement]:
    """The first three theorems, and what holds for the total."""
    late = curves["stopper", "average"].seconds >= EARLIEST
    average, diminishing, total, bad_total = (
        Curve(agent, payoff, *(column[late] for column in curves[agent, payoff].columns))
        for agent, payoff in (
            ("stopper", "average"), ("stopper", "diminishing"), ("stopper", "total"),
            ("sulker", "total"),
        )
    )  # fmt: skip
    above = average.low > 0
    highest = int(np.argmax(diminishing.value))
    stopper, constant, sulker, fate = (
        curves[agent, "diminishing"] for agent in ("stopper", "random", "sulker", "sulker-fate")
    )
    lowest = int(np.argmin(stopper.value))
    tenfold = (3, 30, 300, 3000)
    distances = np.abs(np.interp(tenfold, stopper.seconds, stopper.value))
    gains = np.interp(tenfold, sulker.seconds, sulker.value)
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
            f"it is {diminishing.last()}. At finite times another policy is above 0: stopping "
            "after the first bad reward where one of 20 actions changes the sign of all rewards "
            f"brings {join(gains, '.3f')} after {join(tenfold, 'd')} s, the last "
            f"{sulker.last()}.",
            bool((diminishing.value <= 0).all() and sulker.low[-1] <= 0),
        ),
        Statement(
            "Theorem 3: with diminishing history a constant-rate random agent tends to 0, "
            "whatever its stopping policy. In the balanced example:",
            f"Without stopping the value at {LONGEST:g} s is {constant.last()}, which "
            f"{'contains' if contains_0 else 'does not contain'} 0. With stopping it is lowest at "
            f"{stopper.seconds[lowest]:.2g} s ({stopper.value[lowest]:.3f}); its distance to 0 "
            f"after {join(tenfold, 'd')} s is {join(distances, '.3f')}, and shrinks in "
            f"{shrinks.sum()} of {len(shrinks)} steps.",
            contains_0 and bool(shrinks.all()),
        ),
        Statement(
            "Theorem 3, for every balanced environment.",
            "Where a fair coin decides at the start whether one of three actions pays 1 or -1 for "
            f"ever, an agent that stops after its first bad reward has {fate.last()} at "
            f"{LONGEST:g} s; exactly 1/6 in the limit. The coin was good in "
            f"{100 * fate.above_0[-1]:.1f} % of the runs.",
            bool(fate.low[-1] <= 0 <= fate.high[-1]),
            "that environment is balanced, and a stopping policy chooses between its two halves: "
            "it leaves the bad one and never stops in the good one. Theorem 2 is about policies "
            "that eventually stop",
        ),
        Statement(
            "The total reward has no theorem. In the balanced example each reward has mean 0 "
            "whatever came before, so by optional stopping the expected total is 0; that an "
            "environment is balanced is not enough.",
            f"From {EARLIEST:g} s on the interval of the stopper's expected total contains 0 at "
            f"{total_contains_0.sum()} of {len(total_contains_0)} points. At {LONGEST:g} s it is "
            f"{total.last()}, and {100 * total.above_0[-1]:.1f} % of the runs end above 0. Where "
            "one of 20 actions changes the sign of all rewards, stopping after the first bad "
            f"reward brings {bad_total.last()}, and the interval is above 0 at "
            f"{(bad_total.low > 0).sum()} of {len(bad_total.low)} points.",
            None,
        ),
    ]


@dataclass(frozen=True)
class Waiting:
    """Lemma 4 under one payoff: what a further action changes where it says wait, and where act."""

    waits: float  # the share of histories after which it says to wait
    while_waiting: Estimate | None  # what acting would gain while it says to wait; None if never
    when_acting: Estimate  # what acting gains when it says to act


def lemma_4() -> dict[str, Waiting]:
    """Wait, or act, after histories of 10 actions in the balanced example, as the lemma says.

    The agent acted at 1 s. At each later time t until 4 s it has the payoff of its 10 rewards, or
    acts, and has that of 11. The lemma compares the former with the expectation of the latter, in
    which a further reward is worth 0; what is measured has the reward that really came.
    """
    count = 10
    times = np.linspace(1, 4, 61)
    kept = np.floor(count / times + 1e-9).astype(np.int64)  # n* without another action
    traces = shared.simulate(Buttons("balanced"), RandomAgent(rate=RATE), 1.1, RUNS)
    rewards = np.array([trace.rewards for trace in traces])
    sums = rewards[:, :count].sum(axis=1, keepdims=True)
    averages = np.array([running_averages(each) for each in rewards])
    results = {}
    for what, waited, weight in (
        ("total", np.repeat(sums, len(times), axis=1), 1),
        ("average", np.repeat(averages[:, [count]], len(times), axis=1), count + 1),
        ("diminishing", averages[:, kept], count + 1),
    ):
        gains = rewards.sum(axis=1, keepdims=True) / weight - waited  # of acting at each time
        waiting = np.logical_and.accumulate(waited > sums / weight + 1e-12, axis=1)
        until = waiting.sum(axis=1)
        waits = until > 0
        while_waiting = [gain[:end].mean() for gain, end in zip(gains, until, strict=True) if end]
        acts = until < len(times)
        when_acting = gains[acts, until[acts]]
        results[what] = Waiting(
            float(waits.mean()), mean(while_waiting) if while_waiting else None, mean(when_acting)
        )
    return results


def _lemma_4_statement() -> Statement:
    results = lemma_4()
    evidence = [
        f"{what}: it waits after {each.waits:.0%} of the histories"
        + (f", where acting would gain {fmt(each.while_waiting)}" if each.while_waiting else "")
        + f"; when it acts, that gains {fmt(each.when_acting)}"
        for what, each in results.items()
    ]
    return Statement(
        "Lemma 4: it is locally optimal to wait for the next action exactly as long as the payoff "
        "so far is above the expected payoff after it.",
        f"After {RUNS} histories of 10 actions in the balanced example, {'. '.join(evidence)}.",
        all(
            each.when_acting.high >= 0
            and (each.while_waiting is None or each.while_waiting.high < 0)
            for each in results.values()
        ),
    )


def _theorem_5_statement() -> Statement:
    """Two policies, each better than the other in one of two environments that look the same."""
    seconds, wait = 3.0, 1.0
    policies = Sulker(rate=RATE), Waiter(rate=RATE, wait=wait)
    examples: tuple[Example, ...] = ("switch-balanced", "switch-often")

    def lead(what: str, example: Example) -> Estimate:
        stops, waits = (
            [PAYOFFS[what](trace) for trace in traces]
            for traces in (
                shared.simulate(Buttons(example), agent, seconds, RUNS) for agent in policies
            )
        )
        return paired_difference(stops, waits)

    leads = {
        what: [lead(what, example) for example in examples] for what in ("total", "diminishing")
    }
    evidence = "; ".join(
        f"{what}: {fmt(few)} and {fmt(many)}" for what, (few, many) in leads.items()
    )
    return Statement(
        "Theorem 5: no time modulation policy is optimal for every balanced environment.",
        "Two environments look the same: one of 20 actions changes the sign of all rewards, or all "
        "but one do. A random agent that stops after a bad reward leads one that waits for "
        f"{wait:g} s after a good one, in {seconds:g} s, by {evidence}.",
        all(few.low > 0 and many.high < 0 for few, many in leads.values()),
    )


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Compare the expected payoffs of stopping, waiting and constant-rate random agents."""
    steps = Steps(out)
    curves: dict[tuple[str, str], Curve] = {}
    for number, name in enumerate(AGENTS):
        report(f"{RUNS} runs of the {name} agent", number / len(AGENTS))
        curves |= {(name, curve.payoff): curve for curve in steps(_curves, name)}
    names = ("tau", "value", "low", "high", "runs-above-0")
    rows = [
        {"agent": agent, "payoff": payoff, **dict(zip(names, map(float, values), strict=True))}
        for (agent, payoff), curve in curves.items()
        for values in zip(*curve.columns, strict=True)
    ]
    return Reproduced(
        name="stopping",
        title="Stopping and waiting in balanced environments: expected payoff against tau",
        findings="docs/findings.md#stopping",
        statements=[*statements(curves), _lemma_4_statement(), _theorem_5_statement()],
        figures={
            f"{agent}.{payoff}.tau-{LONGEST:g}": float(curve.value[-1])
            for (agent, payoff), curve in curves.items()
        },
        rows=rows,
        files={"table": shared.write_records(out / "curves.csv", rows), **_draw(curves, out)},
    )
