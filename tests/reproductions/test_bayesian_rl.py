"""The settings of the Bayesian RL benchmark, and what each is told."""

import csv
from collections import Counter
from math import hypot
from pathlib import Path

import pytest

from omnimeter.catalogue import Kind, given_spec, make, parse
from omnimeter.contract import InvalidInputError, OmnimeterError
from omnimeter.reproductions import bayesian_rl
from omnimeter.reproductions.bayesian_rl import PROBLEMS, Campaign


@pytest.mark.parametrize("problem", PROBLEMS)
def test_an_inaccurate_prior_has_the_rewards_of_the_test_and_all_transitions(problem):
    agent = parse(Kind.AGENT, "beb")
    parameters = Campaign(False, 1, []).evaluation(problem, agent).protocol.parameters
    prior, test = (
        make(Kind.ENVIRONMENT, given_spec(Kind.ENVIRONMENT, parameters[name])).distribution()
        for name in ("prior", "environment_class")
    )
    assert (prior.theta == 1).all()
    assert (prior.rewards == test.rewards).all()
    assert (prior.initial == test.initial).all()


def test_a_wrong_parameter_is_found_before_anything_is_run(tmp_path):
    only = ["gc random", "gc e-greedy(eps=0)"]
    with pytest.raises(InvalidInputError, match="no parameter 'eps'"):
        bayesian_rl.accurate(tmp_path, quick=True, only=only)
    assert not list(tmp_path.iterdir())


SETTINGS = ["gc random", "gc e-greedy(epsilon=0)", "gc soft-max(tau=0.1, variant=library)"]


def test_settings_are_rows_with_what_was_printed_and_their_variant(tmp_path, monkeypatch):
    monkeypatch.setattr(bayesian_rl, "QUICK_MDPS", 6)
    monkeypatch.setattr(bayesian_rl, "STEPS", 5)
    result = bayesian_rl.accurate(tmp_path, quick=True, only=SETTINGS, workers=1)
    assert [row["agent"] for row in result.rows] == ["random", "e-greedy", "soft-max"]
    assert [row["variant"] for row in result.rows] == ["original", "original", "library"]
    assert [row["published"] for row in result.rows] == [31.12, 40.62, 34.73]
    for row in result.rows:
        assert (row["problem"], row["n"], row["faults"]) == ("gc", 6, 0)
        assert row["half_width"] > 0
        assert row["online_s"] > 0
    assert result.rows[1]["parameters"] == {"epsilon": 0}
    # five steps are not 250: what is printed is above what can be had
    assert [each.holds for each in result.statements] == [False] * 3
    assert not result.agrees
    for path in result.files.values():
        assert path.stat().st_size > 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("outcomes/*.parquet")}
    more = [*SETTINGS, "gc beb(beta=1)"]
    again = bayesian_rl.accurate(tmp_path, quick=True, only=more, workers=1)
    assert [row["mean"] for row in again.rows[:3]] == [row["mean"] for row in result.rows]
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    bayesian_rl.accurate(tmp_path, quick=True, only=["gc beb(beta=2)"], workers=1)
    with (tmp_path / "settings.csv").open() as file:
        table = [(row["agent"], row["parameters"]) for row in csv.DictReader(file)]
    assert table == [
        ("random", ""),
        ("e-greedy", "epsilon=0"),
        ("soft-max", "tau=0.1, variant=library"),
        ("beb", "beta=1"),
        ("beb", "beta=2"),
    ]


def test_the_grid_is_that_of_the_paper():
    agents = [parse(Kind.AGENT, each) for each in bayesian_rl.grid()]
    counts = Counter(bayesian_rl.short_name(agent) for agent in agents)
    assert len(set(agents)) == len(agents)
    assert counts == {
        "random": 1, "e-greedy": 11, "soft-max": 10, "beb": 10, "sboss": 41, "opps-ds": 32,
        "bamcp": 21, "bfs3": 72,
    }  # fmt: skip
    assert sum(counts.values()) == 198
    for agent in agents:
        make(Kind.AGENT, agent)
    cheap = Counter(map(bayesian_rl.short_name, filter(bayesian_rl.is_cheap, agents)))
    assert cheap["sboss"] == 20
    assert cheap["opps-ds"] == 22
    assert "bamcp" not in cheap


def test_the_printed_table_has_a_score_for_every_algorithm_and_problem():
    assert len(bayesian_rl.FIGURE_9) == 24
    for problem in PROBLEMS:
        agents = [each for each in bayesian_rl.FIGURE_9 if each.problem == problem]
        names = {bayesian_rl.short_name(parse(Kind.AGENT, each.agent)) for each in agents}
        assert len(names) == 8


def test_only_chooses_settings():
    def count(*only):
        chosen = bayesian_rl.wanted(only, quick=False, cheap=False)
        assert all(problem == "gc" for problem, _ in chosen)
        assert len(chosen) == len(set(chosen))
        return len(chosen)

    assert count("gc e-greedy") == 11
    assert count("gc bfs3(k=7, c=2, depth=3)") == 1
    assert count("gc e-greedy", "gc e-greedy(epsilon=0)", "gc random") == 12
    assert count("gc") == count("gc", "gc") > 198


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ("gcc random", "no problem 'gcc'"),
        ("gc e-gredy", "no agent 'e-gredy'"),
        ("grid x(", "never"),
    ],
)
def test_an_unknown_setting_gets_the_nearest_name(only, message, tmp_path):
    with pytest.raises(OmnimeterError, match=message):
        bayesian_rl.accurate(tmp_path, only=[only])


RESULTS = Path(__file__).parents[2] / "docs" / "results"


def stored_rows(name):
    with (RESULTS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_stored_rows_agree_with_every_printed_score():
    printed = [row for row in stored_rows("brl-accurate") if row["published"]]
    names = {(row["problem"], row["agent"]) for row in printed}
    assert len(printed) == len(names) == len(bayesian_rl.FIGURE_9) == 24
    for row in printed:
        assert (row["n"], row["faults"]) == ("500", "0")
        score = (float(row["published"]), float(row["published_half_width"]))
        assert score in [e.score for e in bayesian_rl.FIGURE_9 if e.problem == row["problem"]]
        apart = abs(float(row["mean"]) - score[0])
        assert apart <= hypot(float(row["half_width"]), score[1]) + 5e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gc e-greedy(epsilon=0)", 'gdl opps-ds(formula="X0 X2 MAX")'])
def test_a_stored_row_comes_out_again(name, tmp_path):
    (row,) = bayesian_rl.accurate(tmp_path, only=[name]).rows
    (stored,) = (
        each
        for each in stored_rows("brl-accurate")
        if f"{each['problem']} {each['agent']}({each['parameters']})" == name
    )
    assert float(stored["mean"]) == pytest.approx(row["mean"], rel=1e-5)
    assert float(stored["half_width"]) == pytest.approx(row["half_width"], rel=1e-5)
