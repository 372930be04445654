"""The experiment on perturbation tolerance: its cases, their degrees, what is stated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnimeter.reproductions.perturbation import tolerance
from omnimeter.reproductions.perturbation.tolerance import Case, Experiment

DEGREES = {
    ((10, -10), (25, 5)): 15 / 16 + 3,
    ((10, -10), (35, 15)): 21 / 16 + 3,
    ((10, -10), (19, 21)): 36 / 16 + 3,
    ((10, -10), (15, 35)): 43 / 16 + 3,
    ((10, -10), (5, 25)): 49 / 16 + 3,
    ((10, -10), (-10, 10)): 64 / 16 + 3 + 1,
    ((25, 5), (35, 15)): 6 / 16,
    ((25, 5), (19, 21)): 21 / 16,
    ((25, 5), (15, 35)): 28 / 16,
    ((25, 5), (5, 25)): 34 / 16,
    ((25, 5), (-10, 10)): 49 / 16 + 1,
    ((35, 15), (25, 5)): 6 / 16,
    ((35, 15), (19, 21)): 15 / 16,
    ((35, 15), (15, 35)): 22 / 16,
    ((35, 15), (5, 25)): 28 / 16,
    ((35, 15), (-10, 10)): 43 / 16 + 1,
    ((19, 21), (25, 5)): 21 / 16,
    ((19, 21), (35, 15)): 15 / 16,
    ((19, 21), (21, 19)): 8 / 16,
    ((19, 21), (-10, 10)): 28 / 16 + 1,
    ((15, 35), (-10, 10)): 21 / 16 + 1,
    ((5, 25), (-10, 10)): 15 / 16 + 1,
}


def test_cases_and_their_degrees() -> None:
    cases = tolerance.distinct_cases()
    assert {(case.before, case.after): case.degree for case in cases} == DEGREES
    assert len(cases) == 22


def test_all_cases_are_those_and_their_mirror_images() -> None:
    cases = tolerance.all_cases()
    assert len(cases) == len(set(cases)) == 32
    distinct = tolerance.distinct_cases()
    further = [case for case in cases if case not in distinct]
    assert len(further) == 10
    for case in further:
        mirror = Case(case.before[::-1], case.after[::-1])
        alike = [Case((19, 21), mirror.after), Case(mirror.before, (19, 21)), mirror]
        assert any(each in distinct for each in alike)
        assert case.degree == mirror.degree


def test_degrees_count_changes_of_sign() -> None:
    assert Case((1, -1), (2, -3)).degree == 0
    assert Case((-1, -1), (2, 2)).degree == pytest.approx(
        Case((-1, -1), (2, 2)).policy_difference / 16 + 6
    )


def sample(plain: list[float], monitored: list[float]) -> Experiment:
    """An experiment with these mean performances, in cases by degree."""
    cases = sorted(tolerance.distinct_cases(), key=lambda case: case.degree)[: len(plain)]
    noise = np.linspace(-0.01, 0.01, 5)
    runs = (np.array(each)[:, np.newaxis] + noise for each in (plain, monitored))
    return Experiment(cases, *runs, np.full((len(plain), 2), 0.8))


def test_correlations_have_their_sign_and_p_value() -> None:
    count = 12
    falling = (0.9 - 0.05 * np.arange(count)).tolist()
    result = sample(falling, [0.9] * count)
    plain, p_value = result.relation("plain")
    assert -1 <= plain.low <= plain.value <= plain.high < -0.8
    assert p_value <= 0.001
    assert result.relation("plain", ranks=True)[0].value == pytest.approx(-1, abs=0.02)
    ratio, _ = result.relation("ratio")
    assert ratio.value > 0.8
    jumping = sample([0.5, 0.6] * 6, [0.6, 0.5] * 6)
    assert jumping.relation("plain")[1] > 0.05


def test_estimates_are_those_of_the_mean_performances() -> None:
    result = sample([0.8, 0.4, 0.2], [0.8, 0.6, 0.6])
    ratios = result.estimate(tolerance.MEASURES["ratio"])
    assert [each.value for each in ratios] == pytest.approx([1, 1.5, 3])
    assert all(each.low <= each.value <= each.high for each in ratios)


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small version: few runs, and one combination of parameters."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tolerance, "QUICK_RUNS", 12)
        patch.setattr(tolerance, "QUICK_SEARCH_RUNS", 2)
        for name in ("GRID", "RANGE"):
            chosen = {key: (value,) for key, value in tolerance.CHOSEN.items()}
            patch.setattr(tolerance, name, chosen)
        yield tolerance.reproduce(tmp_path_factory.mktemp("tolerance"), quick=True)


def test_statements_of_the_paper_hold(reproduced: Any) -> None:
    assert reproduced.agrees
    assert [each.holds for each in reproduced.statements] == [True] * 6 + [None] * 2
    assert reproduced.figures["cases"] == 22
    assert reproduced.figures["correlation.plain"] < -0.7
    assert reproduced.figures["correlation.ratio"] > 0.5
    assert reproduced.figures["p-value.plain"] < 0.01
    assert reproduced.figures["alarms.unperturbed"] < 0.1
    assert json.loads(json.dumps(reproduced.to_json()))["name"] == "perturbation-tolerance"


def test_every_case_has_a_row_with_intervals(reproduced: Any) -> None:
    degrees = [row["degree"] for row in reproduced.rows]
    assert degrees == sorted(DEGREES.values())
    for row in reproduced.rows:
        for name in ("plain", "monitored", "ratio"):
            assert row[f"{name}-low"] <= row[name] <= row[f"{name}-high"]
    assert all(path.stat().st_size > 0 for path in reproduced.files.values())
    assert {path.suffix for path in map(Path, reproduced.files.values())} == {
        ".csv",
        ".png",
        ".svg",
    }


@pytest.mark.slow
def test_the_whole_experiment_with_mirror_images(tmp_path: Path) -> None:
    result = tolerance.reproduce(tmp_path, quick=True, cases=32)
    assert result.agrees
    assert result.figures["cases"] == 32
