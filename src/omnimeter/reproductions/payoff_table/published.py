"""The published table (fixed-time payoffs, Table 1), and why we differ where we do."""

from __future__ import annotations

PUBLISHED = (
    ("No", "No", "Yes", "No", "Yes", "No", "Yes", "Yes"),
    ("No", "No", "Yes", "No", "Yes", "No", "Yes", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "No", "No", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "No", "No", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "*", "*", "Yes"),
    ("Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes"),
    ("Yes", "No", "Yes", "Yes", "Yes", "No", "No", "Yes"),
    ("No", "Yes", "No", "Yes", "Yes", "Yes", "Yes", "Yes"),
    ("No", "No", "No", "Yes", "Yes", "No", "No", "Yes"),
    ("Yes", "Yes", "No", "No", "No", "Yes", "No", "Yes"),
    ("Yes", "Yes", "No", "No", "No", "Yes", "No", "No"),
    ("Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes", "Yes"),
)
"""Twelve features, eight columns."""

_RATIO = (
    "it depends on the ratio of the weights, as the paper says itself of feature 5: with 0.5 a "
    "learner's first steps are all that counts, with 0.9 and 0.99 its later skill counts enough"
)
_MARTINGALE = (
    "in a balanced environment the total of a random agent is a martingale: by optional stopping "
    "no choice of times changes its expectation at any fixed tau. Most runs end a little above 0 "
    "and a few far below; the paper's own measure is the expectation"
)
_DIVISOR = (
    "the definition divides by the weights so far, which makes it a weighted average, and luck "
    "that ends the run is kept. Divided by the sum of all weights, as the text around the "
    "definition describes it, the cell is as printed"
)

REASONS: dict[tuple[int, str], str] = {
    (3, "general-discounted"): _RATIO,
    (3, "balanced-discounted"): _RATIO,
    (9, "general-discounted"): _RATIO,
    (9, "balanced-discounted"): _RATIO,
    (10, "balanced-total"): _MARTINGALE,
    (11, "balanced-total"): _MARTINGALE,
    (10, "general-discounted"): _DIVISOR,
    (11, "general-discounted"): _DIVISOR,
}
"""Why a cell differs, by feature and column."""
