"""The figure of the cheat: its score and its level beside honest play, and what rules allow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reports.look import INK, MUTED, SERIES, SMALL
from omnimeter.reproductions.anytime_experiments.cheat.found import Play, Played
from omnimeter.reproductions.anytime_experiments.cheat.plan import COLOURS, HONEST_COLOUR
from omnimeter.reproductions.anytime_experiments.cheat.rules import MOST, RULES, long_run, play
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.pictures import End, head, look, name_ends
from omnimeter.statistics import mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT_OF_LINE = 0.075
"""Of a panel."""

EXERCISES = 2_000
"""Of the model, for each point."""

BADNESS = np.array([0.01, *np.linspace(0.1, 1, 10)])
"""How badly a cheat fails."""

RULE_COLOURS = dict(zip(RULES, (MUTED, INK, SERIES[5]), strict=True))


def draw(played: Played, out: Path) -> dict[str, Path]:
    """Draw what one test shows, and what the model says of the rules."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.9))
        score, level, rules = (
            figure.add_axes((left, 0.125, width, 0.635))
            for left, width in ((0.045, 0.23), (0.39, 0.21), (0.725, 0.2))
        )
        _draw_scores(score, played)
        _draw_levels(level, played)
        _draw_rules(rules)
        sittings = played.honest.rewards.shape[1]
        head(
            figure,
            "Failing on purpose, to be given easy environments again",
            f"{played.trial.title}, in automata; means of {sittings} sittings with 95 % intervals. "
            "Cheat 5 does its best up to 5 states and its worst beyond. Dashed: as able up to 5 "
            "states,\nbut honest, and acting at random beyond. On the right, a model: a cheat gets "
            "1 in easy environments and fails in all others.",
        )
        return write_figure(figure, out / "cheat")


def _plays(played: Played) -> Mapping[str, tuple[Play, str]]:
    return {
        "honest": (played.honest, HONEST_COLOUR),
        **{f"cheat {easy}": (each, COLOURS[easy]) for easy, each in played.cheats.items()},
    }


def _draw_scores(axes: Axes, played: Played) -> None:
    for each, colour in _plays(played).values():
        _draw_band(axes, each.lengths, _running(each.rewards), colour, REWARDS)
    for easy, each in played.limited.items():
        curve = _running(each.rewards).mean(axis=1)
        axes.plot(each.lengths, curve, ls=(0, (4, 2)), color=COLOURS[easy], lw=1.1)
    axes.axhline(MOST, color=MUTED, lw=0.8, ls=":")
    axes.set(ylim=(-0.1, 0.6), ylabel="score when the test is stopped here")
    axes.annotate(
        f"{MOST:.3f}", (0.02, MOST), xycoords=("axes fraction", "data"), xytext=(0, 3),
        textcoords="offset points", fontsize=SMALL, color=MUTED,
    )  # fmt: skip
    _finish(axes, "score", played)
    _name(
        axes,
        {
            name: (float(each.rewards.mean()), f"{each.rewards.mean():.2f}", colour)
            for name, (each, colour) in _plays(played).items()
        },
    )


def _draw_levels(axes: Axes, played: Played) -> None:
    for each, colour in _plays(played).values():
        _draw_band(axes, each.lengths, each.levels, colour, None)
    for easy, each in played.limited.items():
        curve = each.levels.mean(axis=1)
        axes.plot(each.lengths, curve, ls=(0, (4, 2)), color=COLOURS[easy], lw=1.1)
    axes.set_yscale("log")
    axes.set(ylim=(10, 600), ylabel="complexity of the environments")
    axes.set_yticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
    axes.minorticks_off()
    _finish(axes, "level", played)
    ends = {
        name: (each.levels[-1].mean(), colour) for name, (each, colour) in _plays(played).items()
    }
    _name(axes, {name: (end, f"{end:.0f}", colour) for name, (end, colour) in ends.items()})


def _draw_rules(axes: Axes) -> None:
    ends = {}
    for name, rule in RULES.items():
        colour = RULE_COLOURS[name]
        scores = [float(play(rule, badness, EXERCISES).mean()) for badness in BADNESS]
        axes.plot(BADNESS, scores, "o-", ms=3.5, lw=1.5, color=colour)
        ends[name] = (scores[-1], colour)
    fine = np.linspace(0.001, 1, 200)
    axes.plot(fine, [long_run(each) for each in fine], ":", color=INK, lw=1.0)
    axes.set(xlim=(0, 1), ylim=(-0.1, 0.6), xlabel="how badly it fails, from 0 to 1")
    axes.set_ylabel(f"score after {EXERCISES:,} exercises")
    axes.set_title("what a rule leaves to a cheat", loc="left", fontsize=10.5)
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    named = [End(value, name, colour) for name, (value, colour) in ends.items()]
    name_ends(axes, named, HEIGHT_OF_LINE)


def _draw_band(
    axes: Axes,
    lengths: FloatArray,
    table: FloatArray,
    colour: str,
    support: tuple[float, float] | None,
) -> None:
    estimates = [mean(row, support=support) for row in table]
    known = [each.high - each.low < np.inf for each in estimates]  # all of one level at first
    axes.fill_between(
        lengths,
        [each.low for each in estimates],
        [each.high for each in estimates],
        where=known,
        color=colour,
        alpha=0.16,
        lw=0,
    )
    axes.plot(lengths, [each.value for each in estimates], color=colour, lw=1.7)


def _finish(axes: Axes, title: str, played: Played) -> None:
    axes.set_xscale("log")
    longest = float(played.honest.lengths[-1])
    axes.set(xlim=(1, longest), xlabel="interactions in a sitting")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.set_title(title, loc="left", fontsize=10.5)
    axes.grid(axis="y")
    if axes.get_ylim()[0] < 0:
        axes.axhline(0, color=MUTED, lw=0.7, zorder=1)


def _name(axes: Axes, ends: Mapping[str, tuple[float, str, str]]) -> None:
    """The name of each curve and its last value, at the right of a panel."""
    named = [End(end, f"{name}: {text}", colour) for name, (end, text, colour) in ends.items()]
    name_ends(axes, named, HEIGHT_OF_LINE)


def _running(rewards: FloatArray) -> FloatArray:
    counts = np.arange(1, len(rewards) + 1)[:, np.newaxis]
    found: FloatArray = np.cumsum(rewards, axis=0) / counts
    return found
