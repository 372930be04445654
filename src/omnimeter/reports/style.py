"""The style of figures: colours that colour-blind people tell apart, markers, places of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

INK = "#1f2430"
MUTED = "#626a78"
LINE = "#d5dae2"
SURFACE = "#fdfdfe"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#b5559a", "#c28200", "#4a98c9")
"""After Okabe and Ito, with the light ones darkened enough for thin lines on white."""

FURTHER = ("#7a5ab8", "#8a5a2b")
"""For more than six algorithms, which figures also name."""

MARKERS = ("o", "s", "^", "D", "v", "P")

NAMES: Mapping[str, str] = {
    INK: "ink",
    MUTED: "muted",
    LINE: "line",
    SURFACE: "surface",
    **{colour: f"series-{place}" for place, colour in enumerate((*SERIES, *FURTHER), 1)},
}
"""What a style sheet calls each colour, so that a page can change them in the dark."""

WIDTH = 7.4
"""Inches."""

SMALL, NORMAL = 8.5, 9.5
"""Points."""

STYLE: Mapping[str, Any] = {
    "font.family": "sans-serif",
    "font.size": NORMAL,
    "text.color": INK,
    "text.parse_math": False,  # a dollar in the name of an agent is a dollar
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "axes.labelsize": SMALL,
    "axes.labelpad": 6.0,
    "axes.titlesize": SMALL,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.size": 3.0,
    "ytick.major.size": 0.0,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",  # text stays text: small, selectable, in the fonts of the page
    "figure.constrained_layout.use": True,
}


def few(agents: int) -> bool:
    """Whether each of so many agents can have a colour and a marker of its own."""
    return agents <= len(SERIES)


def behind(labels: Sequence[str]) -> str:
    """What is drawn in grey where every agent has a panel of its own."""
    return "" if few(len(labels)) else f" The grey line is {labels[0]}."


def colour(place: int, agents: int) -> str:
    """The colour of an agent, the same in all figures."""
    return SERIES[place] if few(agents) else SERIES[0]


def marker(place: int, agents: int) -> str:
    """The marker of an agent, the same in all figures."""
    return MARKERS[place] if few(agents) else MARKERS[0]


def moved_apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Heights as near as possible to the wanted ones at which things of these sizes do not meet.

    Things that would meet become a block around the middle of what they wanted, until none do.

    Args:
        wanted: Where the middle of each would best be, between 0 and 1.
        sizes: How tall each is.
    """
    blocks: list[tuple[list[int], float]] = []
    for item in sorted(range(len(wanted)), key=lambda item: wanted[item]):
        members, bottom = [item], wanted[item] - sizes[item] / 2
        while blocks and blocks[-1][1] + sum(sizes[each] for each in blocks[-1][0]) > bottom:
            members = blocks.pop()[0] + members
            before, shifts = 0.0, 0.0
            for each in members:
                shifts += wanted[each] - sizes[each] / 2 - before
                before += sizes[each]
            bottom = shifts / len(members)  # nearest to where all of them want to be
        blocks.append((members, bottom))
    heights = [0.0] * len(wanted)
    for members, bottom in blocks:
        reached = bottom
        for item in members:
            heights[item] = reached + sizes[item] / 2
            reached += sizes[item]
    return heights
