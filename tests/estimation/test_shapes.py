"""Intervals of known shapes hold the true value as often as docs/intervals.md says."""

import re
from functools import cache
from math import sqrt

import numpy as np
import pytest

import shapes_benchmark as benchmark
from omnimeter.estimation import Estimate
from pages import ROOT

ROWS = {(row.kind, row.shape): row for row in benchmark.rows()}
OURS = [names for names in ROWS if names[0] != benchmark.RIVAL]


@cache
def documented():
    """The coverage of each row of the page by the number of values, and its resamples."""
    page = (ROOT / "docs" / "intervals.md").read_text("utf-8")
    _, text = page.split("<!-- begin: benchmarks/shapes.py -->")
    text, _ = text.split("<!-- end: benchmarks/shapes.py -->")
    (resamples,) = re.findall(r"Measured with ([\d,]+) samples", text)
    cells = {}
    for line in text.splitlines():
        names, numbers = line.strip("| ").split(" | ")[:2], re.findall(r"\| (\d+\.\d)", line)
        if numbers:
            shares = [float(each) / 100 for each in numbers]
            cells[tuple(names)] = dict(zip(benchmark.COUNTS, shares, strict=True))
    return cells, int(resamples.replace(",", ""))


def agrees(names, count, resamples):
    """Whether a new measurement is within five standard errors of the page, and half a point."""
    row, (cells, before) = ROWS[names], documented()
    said, before = cells[names][count], before / (4 if row.costly else 1)
    measured = benchmark.measure(row._replace(kind=f"{row.kind}, again"), count, resamples).coverage
    share = min(max((said + measured) / 2, 0.01), 0.99)
    error = sqrt(share * (1 - share) * (1 / resamples + 1 / before))
    return abs(measured - said) <= 5 * error + 0.005


def test_the_page_has_every_row_and_nothing_falls_far_short():
    cells, _ = documented()
    assert list(cells) == list(ROWS)
    assert min(min(cells[names].values()) for names in OURS) >= benchmark.LEAST


@pytest.mark.parametrize("names", OURS, ids=" - ".join)
def test_ten_values_are_covered_as_documented(names):
    assert agrees(names, 10, 30 if ROWS[names].costly else 100)


@pytest.mark.slow
@pytest.mark.parametrize("names", ROWS, ids=" - ".join)
def test_all_numbers_of_values_are_covered_as_documented(names):
    resamples = 150 if ROWS[names].costly else 1_000
    assert all(agrees(names, count, resamples) for count in benchmark.COUNTS)


def test_what_is_held_and_what_is_bounded():
    inside = Estimate(0.5, 0.0, 1.0, 0.95, 5, bounded=True)
    outside = Estimate(0.5, 0.4, 0.6, 0.95, 5)
    assert benchmark.held(inside, 0.7) == (True, True)
    assert benchmark.held(outside, 0.7) == (False, False)
    ends = np.zeros(2), np.array([1.0, np.inf])
    assert benchmark.held_by(*ends, np.array([0.5, 9.0])) == (True, True)
    assert benchmark.held_by(*ends, np.array([1.5, 9.0])) == (False, True)


def test_the_table_takes_its_place_in_a_page(tmp_path):
    cells = [[benchmark.Cell(0.95, 0.6), benchmark.Cell(0.9, 0.1)] * 2 for _ in ROWS]
    text = benchmark.table(cells, 400)
    assert r"| Hodges-Lehmann | normal | 95.0 \* | 90.0 | 95.0 \* | 90.0 |" in text
    page = tmp_path / "page.md"
    begin, end = (f"<!-- {each}: benchmarks/shapes.py -->" for each in ("begin", "end"))
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", "utf-8")
    benchmark.write_table(page, text)
    assert page.read_text("utf-8") == f"before\n{begin}\n\n{text}\n{end}\nafter\n"
