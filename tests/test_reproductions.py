"""The reproductions: what they decide, that they can disagree, and what they write."""

import csv
import json
from pathlib import Path

import pytest

from omnimeter.reproductions import payoff_table, stopping, students
from omnimeter.reproductions.payoff_table import columns, features, published
from omnimeter.reproductions.reproduction import Reproduced, Statement


@pytest.fixture
def three_features(monkeypatch):
    """Only the features that are decided at once: 6, 8 and 12."""
    chosen = [5, 7, 11]
    for module, name, whole in (
        (payoff_table, "FEATURES", features.FEATURES),
        (payoff_table, "PUBLISHED", published.PUBLISHED),
    ):
        monkeypatch.setattr(module, name, tuple(whole[place] for place in chosen))
    monkeypatch.setattr(payoff_table.picture, "FEATURES", payoff_table.FEATURES)
    holds = features.Verdict(True, "not run here")
    monkeypatch.setattr(payoff_table, "stopping_resisted", lambda *_: holds)
    monkeypatch.setattr(payoff_table, "modulation_resisted", lambda *_: holds)


def test_the_published_table_has_its_size_and_its_row_of_eleven():
    assert len(features.FEATURES) == len(published.PUBLISHED) == 12
    assert all(len(row) == len(columns.COLUMNS) == 8 for row in published.PUBLISHED)
    assert sum(row[-1] == "Yes" for row in published.PUBLISHED) == 11


def test_every_reason_belongs_to_a_cell_and_says_something():
    names = {column.name for column in columns.COLUMNS}
    for (feature, column), reason in published.REASONS.items():
        assert 1 <= feature <= 12
        assert column in names
        assert len(reason) > 50


def test_cells_are_decided_by_running(three_features, tmp_path):
    result = payoff_table.reproduce(tmp_path)
    decided = [cell for row in result.rows for name, cell in row.items() if name != "feature"]
    assert decided == [word for row in payoff_table.PUBLISHED for word in row]
    assert result.figures["cells.agreeing"] == 24
    assert json.loads(json.dumps(result.to_json()))["name"] == "payoff-table"
    for path in result.files.values():
        assert path.stat().st_size > 0
    with result.files["evidence"].open() as file:
        assert len(list(csv.DictReader(file))) == 24


def test_a_cell_that_differs_without_a_reason_is_a_disagreement(
    three_features, tmp_path, monkeypatch
):
    rows = [list(row) for row in payoff_table.PUBLISHED]
    rows[1][7] = "No"
    monkeypatch.setattr(payoff_table, "PUBLISHED", rows)
    result = payoff_table.reproduce(tmp_path)
    assert "! No" in result.rows[1]["balanced-diminishing"]
    assert not result.agrees


def test_the_payoff_decides_not_the_paper(monkeypatch):
    """A payoff that pays for standing still is found out, whatever the column says."""

    class Stillness:
        def __call__(self, trace):
            return -float(len(trace))

    monkeypatch.setattr("omnimeter.reproductions.payoff_table.laboratory.PAYOFFS", [Stillness()])
    from omnimeter.reproductions.payoff_table import laboratory

    payoff = laboratory.PAYOFFS[0]
    laboratory._values.cache_clear()
    try:
        assert not features.speed_rewarded(columns.BALANCED, payoff).holds
        assert not features.bounded(columns.BALANCED, payoff).holds
        assert features.scale_independent(columns.BALANCED, payoff).holds
    finally:
        laboratory._values.cache_clear()


def test_stopping_curves(tmp_path, monkeypatch):
    monkeypatch.setattr(stopping, "RUNS", 400)
    result = stopping.reproduce(tmp_path)
    assert [statement.holds for statement in result.statements] == [True, True, True, None]
    assert result.figures["stopper.average.tau-3000"] > 0.4
    assert abs(result.figures["random.average.tau-3000"]) < 0.01
    assert {path.suffix for path in result.files.values()} == {".csv", ".png", ".svg"}


def test_students(tmp_path):
    result = students.reproduce(tmp_path)
    assert result.agrees
    assert result.figures["s2.average"] == pytest.approx(3 / 7, abs=1e-15)
    differing = [statement for statement in result.statements if statement.holds is False]
    assert len(differing) == 1
    assert differing[0].reason


def test_figures_are_the_same_bytes_each_time(tmp_path):
    from matplotlib.figure import Figure

    from omnimeter.reproductions.files import write_figure

    written = []
    for name in ("one", "two"):
        figure = Figure()
        figure.subplots().plot([1, 3, 2])
        written.append(write_figure(figure, tmp_path / name / "plot"))
    for kind in written[0]:
        assert written[0][kind].read_bytes() == written[1][kind].read_bytes()


@pytest.mark.parametrize(
    ("holds", "reason", "agrees"),
    [(True, "", True), (None, "", True), (False, "because", True), (False, "", False)],
)
def test_only_an_unexplained_difference_disagrees(holds, reason, agrees):
    statement = Statement("said", "found", holds, reason)
    assert Reproduced("name", "title", [statement], {}).agrees is agrees


def test_an_unwritable_place_is_said_clearly(tmp_path):
    from omnimeter.contract import StoreError

    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="--out"):
        students.reproduce(Path(tmp_path / "file" / "below"))


@pytest.mark.slow
def test_the_whole_table(tmp_path):
    result = payoff_table.reproduce(tmp_path)
    assert result.agrees
    assert result.figures["cells"] == 96
    assert result.figures["cells.agreeing"] == 88
    assert result.figures["cells.explained"] == 8
    assert result.figures["diminishing.yes"] == 11
