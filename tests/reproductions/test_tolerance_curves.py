"""The tolerance curves: dials move one measure each, and what is stated follows from the curves."""

from __future__ import annotations

import csv
from math import inf

import numpy as np
import pytest

from omnimeter.contract import stream
from omnimeter.environments.pworld import PWorld
from omnimeter.measures.performance import search
from omnimeter.reproductions.perturbation import curves
from omnimeter.reproductions.perturbation.curves import ACCURACY, AGENTS, DIALS, METRICS


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The whole experiment with few repetitions, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "QUICK", 3)
        return curves.reproduce(tmp_path_factory.mktemp("curves"), quick=True, workers=1)


def test_everything_is_written(small):
    assert small.name == "tolerance-curves"
    assert [(row["dial"], row["agent"]) for row in small.rows] == [
        (dial.measure, agent) for dial in DIALS for agent in AGENTS
    ]
    assert len(small.statements) == 8
    assert small.figures["repetitions"] == 3
    assert {"table", "curves", "tolerances", "figure"} <= set(small.files)
    for path in small.files.values():
        assert path.stat().st_size > 1000
    with small.files["curves"].open() as file:
        worlds = sum(len(dial.worlds) for dial in (*DIALS, ACCURACY))
        assert len(list(csv.DictReader(file))) == worlds * len(AGENTS) * len(METRICS)
    with small.files["tolerances"].open() as file:
        rows = list(csv.DictReader(file))
    flexible = [row for row in rows if row["X"] == "difference"]
    assert {row["dial"] for row in flexible} == {"inconsistency"}
    assert {float(row["to"]) for row in flexible} == {48.0, 96.0, 192.0}


def test_each_dial_moves_its_own_measure_and_no_other():
    """In the mean of 40 instances; three of them would not do for the smallest worlds."""
    ends = [curves.Dial(dial.measure, "", [dial.worlds[0], dial.worlds[-1]]) for dial in DIALS]
    results = {}
    for dial in ends:
        for place, parameters in enumerate(dial.worlds):
            world = PWorld(**parameters)
            draws = (stream(0, "instance", number).generator() for number in range(40))
            values = [curves.measured(world, world.draw(each), 0) for each in draws]
            measures = {name: np.array([each[name] for each in values]) for name in values[0]}
            results[dial.measure, place] = curves.Results(measures, {})
    series = curves.Curves(results)
    for dial in ends:
        assert np.ptp(series.measures(dial, dial.measure).mean(axis=0)) > 0.3
        for other in ends:
            if other is not dial:
                assert series.leak(dial, other) < curves.LEAK, (dial.measure, other.measure)


def test_agents_without_beliefs_do_not_depend_on_them(small):
    rows = {row["agent"]: row for row in small.rows if row["dial"] == "inconsistency"}
    for agent in ("random", "sweep", "rules", "learner"):
        assert rows[agent]["M first"] == rows[agent]["M last"]
        assert rows[agent]["tolerance"] == "undefined"
    assert rows["Bayes"]["M first"] > rows["Bayes"]["M last"]


def made_up(fall: float, repetitions: int = 20) -> curves.Curves:
    """Results in which measures are exact, and M of every agent falls along every dial."""
    rng = np.random.default_rng(0)
    results = {}
    for dial in (*DIALS, ACCURACY):
        for place in range(len(dial.worlds)):
            measures = {
                name: np.full(repetitions, 1.0 + 2 * place * (name == dial.measure))
                for name in (*curves.ISOLATED, "difference", "complexity")
            }
            metrics = {
                (agent, metric): 0.9 - fall * place + rng.normal(0, 0.001, repetitions)
                for agent in AGENTS
                for metric in METRICS
            }
            results[dial.measure, place] = curves.Results(measures, metrics)
    return curves.Curves(results)


def test_tolerances_of_made_up_curves_are_those_of_their_slopes():
    rows = made_up(0.1).tolerance_rows()
    own = [row for row in rows if row["dial"] == row["X"] == "density"]
    assert len(own) == len(AGENTS) * 5 * 4  # M and four rates; three steps and the average
    for row in own:
        assert row["tolerance"] == pytest.approx(-20, rel=0.05)
        assert row["response"] == pytest.approx(-0.05, rel=0.05)
        assert row["tolerance-low"] < row["tolerance"] < row["tolerance-high"] < inf
        assert row["undefined because"] == ""


def test_statements_follow_from_the_curves():
    falling = curves.statements(made_up(0.1))
    flat = curves.statements(made_up(0.0))
    assert falling[0].holds
    assert flat[0].holds
    harder = (1, 2, 4)  # size, density, inconsistency
    assert all(falling[place].holds for place in harder)
    assert not any(flat[place].holds for place in harder)
    assert falling[1].reason == ""
    assert "M is a rate" in flat[1].reason
    assert not falling[6].holds  # PPV falls with R_V, too


def test_stopping_early_does_not_raise_performance():
    done = search({0: True, 5: True}, (8, 8), [(0, 0), (0, 0), (0, 1)], [1, -1])
    assert curves.performed(done, np.array([1.0, 0.0]), 64)["M"] == done.performance_at(16)


def test_values_without_an_interval_get_no_band(tmp_path, monkeypatch):
    made = made_up(0.1)
    made.results["size", 3].metrics["random", "M"][:] = 0.0
    bands = []
    monkeypatch.setattr(
        curves.plots, "plot_band", lambda axes, x, band, *more, **options: bands.append(band)
    )
    curves.draw(made, 20, tmp_path)
    assert bands[0][0, -1] == 0
    assert np.isnan(bands[0][1:]).tolist() == [[False, False, False, True]] * 2


def test_the_same_results_with_any_number_of_processes(monkeypatch):
    worlds = [DIALS[0].worlds[0], DIALS[3].worlds[1] | {"size": 8, "targets": 4, "lookalikes": 8}]
    monkeypatch.setattr(curves, "DIALS", (curves.Dial("size", "", worlds),))
    monkeypatch.setattr(curves, "ACCURACY", curves.Dial("accuracy", "", worlds[:1]))
    one, two = (curves.run_dials(1, workers) for workers in (1, 2))
    assert one.keys() == two.keys()
    for key, results in one.items():
        for name in results.metrics:
            assert np.array_equal(results.metrics[name], two[key].metrics[name], equal_nan=True)
