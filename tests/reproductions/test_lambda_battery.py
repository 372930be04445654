"""The battery of Table 6.1, the tuning of Q-learning: what they say, that they can disagree."""

import csv
import json

import numpy as np
import pytest

from omnimeter.execution.workers import ExerciseRunner
from omnimeter.protocols.battery import Battery
from omnimeter.reproductions import shared
from omnimeter.reproductions.lambda_thesis import battery, tuning
from omnimeter.reproductions.lambda_thesis.battery import LEARNER, PEOPLE, Results, density
from omnimeter.reproductions.lambda_thesis.shared import Q_LEARNING, RANDOM, USUAL
from omnimeter.reproductions.lambda_thesis.tuning import Grid, run_grid

CELLS = np.arange(3, 10)


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    return battery.reproduce(tmp_path_factory.mktemp("battery"), few=4, many=12, workers=1)


def made_up(rng, tests=400, strength=-0.03, trend=0.0, spread=lambda cells: 1.3 - cells / 20):
    """Results as the thesis says they are, unless given otherwise."""
    complexity = 9.0 + rng.geometric(0.2, size=(tests, 7))
    noise = rng.normal(size=(tests, 7)) * spread(CELLS)
    learner = np.clip(0.26 + strength * (complexity - 14) + trend * CELLS + 0.3 * noise, -1, 1)
    others = {name: rng.uniform(-0.1, 0.1, size=(tests, 7)) for name in NAMES}
    return Results(CELLS, 10 * (CELLS - 1), complexity, {**others, "q-learning": learner})


NAMES = [agent.name for agent in battery.AGENTS]


def statements(results, few=20):
    return battery.statements(results, few, {USUAL: results.comparisons(few)})


def verdict(given, word):
    (statement,) = [each for each in given if word in each.claim]
    return statement


def test_what_agents_get_is_what_the_protocol_scores():
    test = Battery("thesis-table-6-1", tests=3, payoff="average-v1")
    results = battery.run_battery(test, [RANDOM, Q_LEARNING])
    runner = ExerciseRunner()
    proposed = test.propose(Q_LEARNING.spec, [])
    outcomes = [
        outcome
        for place in range(7)
        for outcome, _ in runner.outcomes(proposed[place::7], test.payoff())
    ]
    assert results.mean("q-learning").value == pytest.approx(test.score(outcomes).value)
    assert results.cells.tolist() == CELLS.tolist()
    assert results.interactions.sum() == 350
    assert results.complexity.shape == (3, 7)


def test_a_smaller_battery_is_the_beginning_of_a_larger_one():
    one, three = (Battery("thesis-table-6-1", tests=tests) for tests in (1, 3))
    small, large = (battery.run_battery(each, [Q_LEARNING]) for each in (one, three))
    begin = large.first(1)
    assert np.array_equal(begin.complexity, small.complexity)
    assert np.array_equal(begin.rewards["q-learning"], small.rewards["q-learning"])


def test_figures_are_named_by_agent_and_number_of_tests(small_run):
    wanted = {
        f"{name}{part}.{what}"
        for name in NAMES
        for part in ("", ".4-tests")
        for what in ("mean", "sd", "sd-of-tests", "pearson")
    }
    assert set(small_run.figures) == wanted
    assert small_run.figures["oracle.mean"] > small_run.figures["random.mean"] + 0.3
    assert json.loads(json.dumps(small_run.to_json()))["name"] == "lambda-battery"


def test_the_table_has_a_row_for_each_agent_and_number_of_cells(small_run):
    assert [(row["agent"], row["cells"]) for row in small_run.rows] == [
        (name, cells) for name in NAMES for cells in [*CELLS, "all"]
    ]
    with small_run.files["exercises"].open() as file:
        exercises = list(csv.DictReader(file))
    assert len(exercises) == 12 * 7
    average = np.mean([float(row["q-learning"]) for row in exercises])
    assert average == pytest.approx(small_run.figures["q-learning.mean"])
    assert all(path.stat().st_size > 0 for path in small_run.files.values())


def test_printed_numbers_stand_beside_ours_under_every_reading(small_run):
    names = ["mean", "sd of tests", "r", *(f"r, {cells} cells" for cells in CELLS)]
    assert [each.name for each in small_run.comparisons] == names
    assert [each.published for each in small_run.comparisons[:3]] == [0.259, 0.122, -0.444]
    assert small_run.to_json()["comparisons"][1]["published"] == 0.122
    with small_run.files["printed"].open() as file:
        readings = [row["reading"] for row in csv.DictReader(file)]
    assert readings == [name for name in (USUAL, *battery.READINGS) for _ in names]
    people = verdict(small_run.statements, "people are not better")
    assert "0.237" in people.evidence
    assert "0.150" in people.evidence


def test_the_standard_deviation_over_tests_is_that_of_their_means():
    results = made_up(np.random.default_rng(8), tests=30)
    means = [np.mean(row) for row in results.rewards["q-learning"]]
    assert results.deviation_of_tests("q-learning") == pytest.approx(np.std(means, ddof=1))
    assert results.deviation_of_tests("q-learning") < results.deviation("q-learning")


def test_printed_p_values_are_one_sided():
    for printed in (LEARNER, PEOPLE):
        for r, p in zip(printed.correlations, printed.p_values, strict=True):
            assert battery.one_sided_p_value(r, 20) == pytest.approx(p, abs=0.001)
    doubled = [2 * battery.one_sided_p_value(r, 20) for r in LEARNER.correlations]
    assert sum(p < 0.05 for p in doubled) == 4


def test_f_is_that_of_a_repeated_analysis_of_variance():
    rng = np.random.default_rng(9)
    results = made_up(rng, tests=15)
    rewards = results.rewards["q-learning"]
    # For two columns F is the square of the paired t.
    pair = Results(CELLS[:2], CELLS[:2], results.complexity[:, :2], {"q-learning": rewards[:, :2]})
    gaps = rewards[:, 0] - rewards[:, 1]
    t = gaps.mean() / (np.std(gaps, ddof=1) / np.sqrt(15))
    assert pair.f_of_cells("q-learning") == pytest.approx(t**2)
    # What is the same in all exercises of a test has no effect.
    moved = {"q-learning": rewards + rng.normal(size=(15, 1))}
    same = Results(CELLS, CELLS, results.complexity, moved)
    assert same.f_of_cells("q-learning") == pytest.approx(results.f_of_cells("q-learning"))


def test_results_like_the_published_ones_agree():
    stated = statements(made_up(np.random.default_rng(7)), 20)
    assert verdict(stated, "variances").holds
    assert verdict(stated, "analysis of variance").holds
    assert verdict(stated, "(Pearson)").holds
    assert verdict(stated, "the same holds").holds
    assert verdict(stated, "people are not better").holds
    assert all(each.holds is not False or each.reason for each in stated)


def test_results_unlike_the_published_ones_differ():
    rng = np.random.default_rng(2)
    stated = statements(made_up(rng, strength=0.03, spread=lambda cells: cells / 5), 20)
    assert verdict(stated, "variances").holds is False
    assert verdict(stated, "(Pearson)").holds is False
    assert verdict(stated, "the same holds").holds is False
    assert verdict(stated, "the standard deviation, and").holds is False
    assert verdict(stated, "people are not better").holds is False
    steep = verdict(statements(made_up(rng, trend=0.05), 20), "analysis of variance")
    assert steep.holds is False
    assert "differ" in steep.reason


def test_many_tests_are_split_into_batteries():
    results = made_up(np.random.default_rng(3), tests=50)
    batteries = list(results.batteries(20))
    assert [each.tests for each in batteries] == [20, 20]
    assert np.array_equal(batteries[1].complexity, results.complexity[20:40])
    lengths, means = results.along_complexity("q-learning")
    assert means[0] == pytest.approx(
        results.rewards["q-learning"][results.complexity == lengths[0]].mean()
    )


def test_a_density_stays_within_the_rewards():
    places = np.linspace(-1, 1, 2001)
    values = np.random.default_rng(4).choice([-1.0, 0.4, 1.0], size=300)
    assert np.trapezoid(density(values, places), places) == pytest.approx(1, abs=0.01)


def grid_of(best, gain, sessions=60, noise=0.0):
    """A grid that peaks at one place, this much above the published one."""
    rng = np.random.default_rng(5)
    shared = rng.normal(0.3, 0.1, size=(3, sessions))
    rewards = np.tile(shared, (20, 20, 1, 1)) - 0.1
    rewards[0, 7] += 0.1
    rewards[best] += 0.0 if best == (0, 7) else 0.1 + gain
    rewards += rng.normal(0, noise, size=rewards.shape)
    return Grid(np.arange(1, 21) / 20, np.arange(20) / 20, np.clip(rewards, -1, 1))


@pytest.mark.parametrize(
    ("best", "gain", "noise", "holds", "reason"),
    [
        ((0, 7), 0.0, 0.01, True, False),
        ((3, 4), 0.0, 0.05, True, False),
        ((3, 4), 0.005, 0.001, False, True),
        ((3, 4), 0.05, 0.001, False, False),
    ],
)
def test_the_published_choice_is_compared_with_the_best(best, gain, noise, holds, reason, tmp_path):
    grid = grid_of(best, gain, noise=noise)
    result = tuning.describe(grid, grid.rewards[0, 11], tmp_path)
    statement = result.statements[0]
    assert statement.holds is holds
    assert bool(statement.reason) is reason
    assert len(result.rows) == 400
    assert all(path.stat().st_size > 0 for path in result.files.values())


def test_choosing_among_equals_gains_nothing():
    grid = grid_of((0, 7), 0.0)
    noisy = Grid(
        grid.alphas,
        grid.gammas,
        np.random.default_rng(6).uniform(-0.5, 0.5, size=grid.rewards.shape),
    )
    published = noisy.nearest(*tuning.PUBLISHED)
    assert noisy.means[noisy.best()] - noisy.means[published] > 0.03  # by selection alone
    gain = tuning.gain_of_choosing(noisy, published)
    assert gain.low <= 0 <= gain.high


def test_all_combinations_take_the_same_sessions():
    alphas, gammas = np.array([0.05, 0.5]), np.array([0.35])
    grid = run_grid(2, 200, alphas=alphas, gammas=gammas)
    alone = run_grid(2, 200, alphas=alphas[1:], gammas=gammas)
    assert grid.rewards.shape == (2, 1, 3, 2)
    assert grid.sessions == 6
    assert np.array_equal(grid.rewards[1], alone.rewards[0])
    assert not np.array_equal(grid.rewards[0], grid.rewards[1])


def test_the_grid_holds_the_published_combination():
    from omnimeter.reproductions.lambda_thesis.tuning import ALPHAS, GAMMAS

    grid = Grid(ALPHAS, GAMMAS, np.zeros((20, 20, 3, 2)))
    assert grid.label(grid.nearest(*tuning.PUBLISHED)) == "alpha 0.05, gamma 0.35"
    assert grid.means.size == 400


@pytest.mark.slow
def test_the_battery_in_full_agrees(tmp_path):
    result = battery.reproduce(tmp_path)
    assert result.agrees
    figures = result.figures
    assert figures["random.mean"] == pytest.approx(0, abs=0.004)
    assert figures["q-learning.mean"] == pytest.approx(0.265, abs=0.01)
    assert figures["q-learning.sd"] == pytest.approx(0.331, abs=0.01)
    assert figures["q-learning.sd-of-tests"] == pytest.approx(0.123, abs=0.004)
    assert shared.agree(result.comparisons)
    assert all(statement.holds is not False for statement in result.statements)
    (means,) = [each.evidence for each in result.statements if "other ways" in each.claim]
    assert means.count("do not agree") == 1
    assert "swaps-by-product: mean 0.190 (-3.1)" in means
    assert figures["q-learning.pearson"] == pytest.approx(-0.445, abs=0.02)
    assert figures["oracle.mean"] == pytest.approx(0.799, abs=0.01)


@pytest.mark.slow
def test_the_tuning_in_full_agrees(tmp_path):
    result = tuning.reproduce(tmp_path)
    assert result.agrees
    assert 0.05 <= result.figures["best.alpha"] <= 0.2
    assert 0.3 <= result.figures["best.gamma"] <= 0.45
    assert 0 < result.figures["gain"] < 0.02
