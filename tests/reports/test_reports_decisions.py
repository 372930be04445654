"""Decisions under bounds on computation time: discarded, chosen, tested; machines; grids."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from brl_samples import HOME, a_setting, campaign, campaign_settings, outcomes, remarks
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.errors import UnknownNameError
from omnimeter.protocols.evaluation import judge
from omnimeter.protocols.times import FEATURES, Machine, Times
from omnimeter.reports.decisions import (
    TESTS,
    best_under,
    bounds_grid,
    decision_json,
    decision_table,
)
from omnimeter.reports.settings import Setting, algorithm_names, on_one_machine, settings_of
from reports_samples import GOOD, OOPS, an_evaluation

SLOW_MACHINE = Machine("Processor B", 60.0)


def noise(seed: int, count: int = 100, mean: float = 0.0) -> list[float]:
    drawn: list[float] = np.random.default_rng(seed).normal(mean, 1.0, count).tolist()
    return drawn


# Settings


def test_a_setting_is_read_from_an_evaluation() -> None:
    done = outcomes(GOOD, [1.0, 0.5, 0.0], online=2e-3, offline=0.25)
    result = judge(an_evaluation((GOOD,)).make_protocol(), {GOOD: done}, complete=True)
    (setting,) = settings_of(result)
    assert setting.problem == "cups-v1"
    assert setting.algorithm == "good-v1"
    assert dict(setting.returns) == {0: 1.0, 1: 0.5, 2: 0.0}
    times = setting.times
    assert (times.offline, times.decisions) == (0.25, 750)
    assert times.mean == pytest.approx(2e-3)
    assert times.mean_cpu == pytest.approx(1.8e-3)
    assert times.longest == 2e-3
    assert times.quantile(0.5) == pytest.approx(2e-3, rel=0.05)
    assert setting.half_width == pytest.approx(1.96 * 0.5 / sqrt(3))
    (paired,) = settings_of(result, "gc", mdps=2)
    assert paired.problem == "gc"
    assert dict(paired.returns) == {0: 0.5, 1: 0.5}


def test_agents_without_an_offline_phase_or_measured_times() -> None:
    done = outcomes(GOOD, [1.0, 0.5], online=2e-3)
    protocol = an_evaluation((GOOD,)).make_protocol()
    (setting,) = settings_of(judge(protocol, {GOOD: done}, complete=True))
    assert setting.times.offline == 0.0
    bare = [replace(each, remarks={}) for each in done]
    (setting,) = settings_of(judge(protocol, {GOOD: bare}, complete=True))
    assert setting.times == Times()
    assert all(FEATURES[name][1](setting.times) is None for name in ("mean", "cpu", "max", "p99"))


def test_quantiles_come_from_the_merged_histogram() -> None:
    first = Times(decisions=90, wall=9e-5, cpu=None, longest=1e-6, histogram={80: 90})
    second = Times(decisions=10, wall=1e-4, cpu=1e-4, longest=1e-5, histogram={106: 10})
    both = first + second
    assert both.quantile(0.9) == 2**10 * 1e-9
    assert both.quantile(0.5) == pytest.approx(1e-6, rel=0.05)
    assert both.quantile(0.99) == pytest.approx(1e-5, rel=0.05)
    assert both.mean_cpu is None
    assert both.longest == 1e-5
    doubled = both.scaled(2.0)
    assert doubled.quantile(0.99) == pytest.approx(2e-5, rel=0.05)
    assert doubled.mean == pytest.approx(2 * both.wall / 100)


def test_names_of_algorithms_stay_unique() -> None:
    ids = ("beb-v1", "boss-v1", "boss-v2", "agents/mine.py:Mine")
    settings = [a_setting(each, [0.0, 1.0]) for each in ids]
    assert algorithm_names(settings) == {
        "beb-v1": "beb",
        "boss-v1": "boss-v1",
        "boss-v2": "boss-v2",
        "agents/mine.py:Mine": "Mine",
    }


# Decisions


def test_settings_that_break_a_bound_are_discarded() -> None:
    quick = a_setting("quick-v1", noise(1), online=1e-4)
    slow = a_setting("slow-v1", noise(2, mean=5.0), online=1e-2)
    trained = a_setting("trained-v1", noise(3, mean=9.0), online=1e-4, offline=60.0)
    assert best_under([quick, slow, trained]).best[0] is trained
    assert best_under([quick, slow, trained], offline_bound=1.0).best[0] is slow
    decision = best_under([quick, slow, trained], 1.0, 1e-3)
    assert decision.best == [quick]
    assert decision.discarded == (
        (slow, "mean online time per decision above the bound"),
        (trained, "offline time above the bound"),
    )
    assert decision.sentence.startswith("Under offline time ≤ 1 s and mean online time")
    nobody = best_under([quick, slow], 1.0, 1e-9)
    assert nobody.best == []
    assert nobody.sentence.endswith("no setting is left.")
    on_the_bound = best_under([quick], 0.0, 1e-4)
    assert on_the_bound.best == [quick]


def test_who_is_best_is_said_of_what_was_tested() -> None:
    far, near = a_setting("far-v1", noise(1, mean=9.0)), a_setting("near-v1", noise(2))
    (said,) = {best_under([far, near]).sentence, best_under([near, far]).sentence}
    assert said.startswith("Without bounds, far-v1 is the best of 2 algorithms (by simultaneous")
    assert best_under([near]).sentence.startswith("Without bounds, near-v1 is the only setting (")
    alike = a_setting("other-v1", [each - 1e-3 for each in noise(2)[::-1]])
    open_ = best_under([near, alike]).sentence
    assert "near-v1 has the highest mean; other-v1 is not shown to be worse" in open_
    # Between settings of one algorithm nothing is tested.
    settings = [a_setting(Spec("one-v1", {"x": n}), noise(n, mean=n)) for n in (1, 2)]
    assert "has the highest mean of 2 settings of the only algorithm (" in (
        best_under(settings).sentence
    )


def test_any_feature_of_the_times_can_be_bounded() -> None:
    setting = a_setting("one-v1", noise(1), online=1e-3)
    assert best_under([setting], online_bound=2e-3, online="p99").best == [setting]

    def per_trajectory(times: Times) -> float:
        return 250 * (times.mean or 0.0)

    decision = best_under([setting], online_bound=2e-3, online=per_trajectory)
    assert decision.best == []
    assert decision.discarded[0][1] == "per trajectory above the bound"
    unmeasured = replace(setting, measured={})
    decision = best_under([unmeasured], online_bound=1.0)
    assert decision.discarded[0][1] == "mean online time per decision not known"
    assert best_under([unmeasured]).best == [unmeasured]
    with pytest.raises(UnknownNameError, match="median"):
        best_under([setting], online="medium")


def test_each_algorithm_has_its_best_setting_and_all_are_tested() -> None:
    base, small, large = (np.array(noise(seed, 200)) for seed in (1, 2, 3))
    first = a_setting("a-v1", (base + 1).tolist())
    second = a_setting("b-v1", (base + 0.5 + small / 10).tolist())
    third = a_setting("c-v1", (base + 10 * (large - large.mean())).tolist())
    poor = a_setting(Spec("a-v1", {"x": 1}), (base - 3).tolist())
    decision = best_under([poor, third, second, first], held_out=False)
    assert [each.setting for each in decision.candidates] == [first, second, third]
    assert [each.among for each in decision.candidates] == [2, 1, 1]
    # The authors' list ends at the second, which differs; the third, which does not, is after it.
    assert decision.best == [first, third]
    assert [each.worse["z-two-sided"] for each in decision.candidates] == [False, True, False]


def test_the_z_tests_are_named_and_differ() -> None:
    """Z between 1.645 and 1.96 is significant in Appendix C and not in the authors' library."""
    wanted = 1.8
    raw = np.array(noise(5, 100))
    spread = (raw - raw.mean()) / raw.std(ddof=1) + wanted / 10
    base = np.array(noise(6, 100))
    best, other = a_setting("a-v1", (base + spread).tolist()), a_setting("b-v1", base.tolist())
    verdicts = {test: len(best_under([best, other], test=test).best) for test in TESTS}
    assert verdicts == {"simultaneous": 2, "z-one-sided": 1, "z-two-sided": 2}
    (_, second) = best_under([best, other]).candidates
    assert second.z == pytest.approx(wanted)
    with pytest.raises(UnknownNameError, match="z-one-sided"):
        best_under([best, other], test="z-one")


def test_a_z_test_of_few_pairs_is_refused() -> None:
    settings = [a_setting("a-v1", noise(1, 20)), a_setting("b-v1", noise(2, 20))]
    with pytest.raises(InvalidInputError, match=r"needs 30 MDPs .* there are 20"):
        best_under(settings, test="z-one-sided")
    decision = best_under(settings)
    assert decision.candidates[1].z is None
    assert decision.candidates[1].worse["z-one-sided"] is None
    assert any("needs 30 MDPs" in remark for remark in decision.remarks)


def test_the_best_of_many_equal_settings_is_too_good_unless_others_are_held_out() -> None:
    """The winner's curse: 40 equal settings of one algorithm, whose true score is 0."""
    rng = np.random.default_rng(3)
    naive, held_out = [], []
    for _ in range(60):
        settings = [
            a_setting(Spec("a-v1", {"x": x}), rng.normal(0, 1, 100).tolist()) for x in range(40)
        ]
        naive.append(best_under(settings, held_out=False).candidates[0].score.value)
        decision = best_under(settings)
        assert decision.held_out
        assert decision.mdps == 50
        held_out.append(decision.candidates[0].score.value)
    error = 1 / sqrt(50 * 60)
    assert np.mean(naive) > 0.15  # the expected maximum of 40 normal means of 100 is 0.216
    assert abs(np.mean(held_out)) < 3 * error


def test_what_is_not_held_out_is_said() -> None:
    few = [a_setting(Spec("a-v1", {"x": x}), noise(x, 40)) for x in range(3)]
    decision = best_under(few)
    assert not decision.held_out
    assert "winner's curse" in decision.remarks[0]
    assert "From 60 MDPs on" in decision.remarks[0]
    alone = best_under([a_setting("a-v1", noise(1)), a_setting("b-v1", noise(2))])
    assert not alone.held_out  # nothing was chosen
    assert alone.remarks == ()
    with pytest.raises(InvalidInputError, match="two halves"):
        best_under([a_setting("a-v1", [0.0, 1.0, 2.0])], held_out=True)


def test_only_common_mdps_count_and_faulty_settings_do_not() -> None:
    whole, part = a_setting("a-v1", noise(1)), a_setting("b-v1", noise(2, 50))
    decision = best_under([whole, part])
    assert decision.mdps == 50
    assert "50 of 100 MDPs" in decision.remarks[0]
    faulty = a_setting("c-v1", noise(3, mean=9.0), faults=2)
    assert best_under([whole, faulty]).discarded == ((faulty, "2 faults of its own"),)
    with pytest.raises(InvalidInputError, match="no MDPs in common"):
        best_under([whole, replace(part, returns={200: 1.0, 201: 2.0})])


def test_evaluations_may_have_seen_different_returns() -> None:
    """The support of an evaluation is widened by what its own agents were paid."""
    low = a_setting("a-v1", [0.5, 1.0, 0.0], support=(0.0, 1.0))
    high = a_setting("b-v1", [2.0, 1.0, 3.0], support=(0.0, 3.0))
    for settings in ([low, high], [high, low]):
        comparison = best_under(settings).candidates[1].comparison
        assert comparison is not None
        assert comparison.difference == pytest.approx(-1.5)
        assert comparison.bounded


@pytest.mark.parametrize(
    ("settings", "bound", "message"),
    [
        ([], 1.0, "no settings"),
        ([a_setting("a-v1", [0.0, 1.0])] * 2, 1.0, "given twice"),
        ([a_setting("a-v1", [0.0]), a_setting("b-v1", [0.0], problem="gdl")], 1.0, "2 problems"),
        ([a_setting("a-v1", [0.0]), a_setting("b-v1", [0.0], draw="x")], 1.0, "2 sets of MDPs"),
        ([a_setting("a-v1", [0.0, 1.0])], -1.0, "bounds are -1.0 and inf"),
    ],
)
def test_what_cannot_be_decided_is_refused(
    settings: list[Setting], bound: float, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        best_under(settings, bound)


# Machines


def test_different_machines_are_not_mixed_unless_told_to() -> None:
    here = [a_setting(name, noise(place)) for place, name in enumerate(("a-v1", "b-v1"))]
    there = a_setting("c-v1", noise(3), online=1e-3, offline=4.0, machine=SLOW_MACHINE)
    with pytest.raises(InvalidInputError, match=r"Processor A .* and Processor B .*30 to 60 µs"):
        best_under([*here, there])
    scaled, note = on_one_machine([*here, there], mix=True)
    assert scaled[2].times.mean == pytest.approx(5e-4)
    assert scaled[2].times.offline == pytest.approx(2.0)
    assert "scaled by the calibrations to those on Processor A" in note
    decision = best_under([*here, there], 3.0, 7e-4, mix=True)
    assert [each.label for each in decision.best] == ["c-v1"]
    assert note in decision.remarks
    unknown = a_setting("d-v1", noise(4), machine=Machine("Processor C"))
    with pytest.raises(InvalidInputError, match="no calibration"):
        best_under([*here, unknown], mix=True)


@pytest.mark.parametrize(("calibration", "alike"), [(33.0, True), (25.0, True), (37.0, False)])
def test_calibrations_may_differ_by_a_fifth(calibration: float, alike: bool) -> None:
    here = a_setting("a-v1", noise(1))
    other = a_setting("b-v1", noise(2), machine=Machine("Processor A", calibration))
    if alike:
        settings, note = on_one_machine([here, other])
        assert settings == [here, other]
        assert note == ""
    else:
        with pytest.raises(InvalidInputError, match="speed changed"):
            on_one_machine([here, other])


@pytest.mark.parametrize(("slow", "alike"), [(5, True), (6, False)])
def test_a_machine_that_changed_during_one_setting_is_noticed(slow: int, alike: bool) -> None:
    """A tenth of the decisions may have been calibrated otherwise."""
    times = Times(decisions=1, wall=1e-3, cpu=1e-3, longest=1e-3, histogram={160: 1})
    calibrations = [(60.0 if n < slow else 30.0) + n / 100 for n in range(50)]
    measured = {Machine("Processor A", each): times for each in calibrations}
    setting = a_setting("a-v1", noise(1), measured=measured)
    if alike:
        assert on_one_machine([setting]) == ([setting], "")
    else:
        with pytest.raises(InvalidInputError, match="speed changed"):
            on_one_machine([setting])
        ((scaled,), _) = on_one_machine([setting], mix=True)
        assert scaled.times.wall == pytest.approx(50e-3 - slow * 0.5e-3, rel=0.01)


def test_times_of_a_resumed_evaluation_are_kept_by_machine() -> None:
    done = outcomes(GOOD, [1.0, 0.5, 0.0], online=2e-3, offline=0.25)
    done[2] = replace(done[2], remarks=remarks(4e-3, 0.25, {**HOME, "name": "Processor B"}))
    result = judge(an_evaluation((GOOD,)).make_protocol(), {GOOD: done}, complete=True)
    (setting,) = settings_of(result)
    assert [(m.name, t.decisions, t.offline) for m, t in setting.measured.items()] == [
        ("Processor A", 500, 0.25),
        ("Processor B", 250, 0.0),
    ]
    broken = [*done, replace(done[0], payoff=None, fault=OOPS)]
    (setting,) = settings_of(judge(an_evaluation((GOOD,)).make_protocol(), {GOOD: broken}, True))
    assert setting.faults == 1


# Grids, tables, JSON


def test_the_grid_goes_from_the_shortest_to_the_longest_time() -> None:
    quick = a_setting("quick-v1", noise(1), online=1e-4)
    slow = a_setting("slow-v1", noise(2, mean=5.0), online=1e-2)
    trained = a_setting("trained-v1", noise(3, mean=9.0), online=1e-4, offline=60.0)
    grid = bounds_grid([quick, slow, trained])
    assert grid.offline == pytest.approx([1e-6 * 5**power for power in range(5, 13)])
    assert grid.online == pytest.approx([125e-6, 625e-6, 3125e-6, 15625e-6])
    assert grid.best[0] == (("quick-v1",),) * 7 + (("trained-v1",),)
    assert grid.best[2] == grid.best[0]
    assert grid.best[3] == (("slow-v1",),) * 7 + (("trained-v1",),)
    for row, online in zip(grid.best, grid.online, strict=True):
        for cell, offline in zip(row, grid.offline, strict=True):
            decided = best_under([quick, slow, trained], offline, online)
            assert cell == tuple(each.algorithm for each in decided.best)
    assert bounds_grid([quick, slow]).offline == pytest.approx([0.003125])
    assert len(bounds_grid([quick, slow], factor=10).online) == 3
    with pytest.raises(InvalidInputError, match="factor"):
        bounds_grid([quick], factor=1.0)
    with pytest.raises(InvalidInputError, match="No setting has computation times"):
        bounds_grid([replace(quick, measured={})])


def test_a_whole_campaign_is_decided() -> None:
    settings = campaign_settings()
    assert len(settings) == 40
    decision = best_under(settings, 1.0, 1e-3)
    assert [each.algorithm for each in decision.best] == ["beb-v1", "opps-ds-v1"]
    assert len(decision.candidates) == 8
    table = decision_table(decision)
    assert table.rows[0][-1].text == "best"
    assert table.rows[-1][-1].text == "worse"
    data = decision_json(decision)
    assert data["best"][0] == "beb-v1(beta=2.5)"
    assert data["candidates"][0]["online_s"] == pytest.approx(1.09e-5, rel=0.01)
    assert len(data["discarded"]) == 10
    assert data["offline_bound"] == 1.0
    assert decision_json(best_under(settings))["online_bound"] is None
    assert len(campaign(mdps=4).scores) == 40
