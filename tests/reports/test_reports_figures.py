"""Figures show what they should, and the same data is always the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem, t

from omnimeter.contract import Budget, Ending, InvalidInputError, Spec, Trace
from omnimeter.environments.cups import Cups
from omnimeter.estimation import mean
from omnimeter.payoffs import diminishing, planned_average
from omnimeter.protocols import Result
from omnimeter.protocols.evaluation import judge
from omnimeter.reports import comparisons, figures, score_rows
from omnimeter.reports.campaign_figures import line_figure
from omnimeter.reports.figures import (
    MOST_DOTS,
    CurveFigure,
    Dot,
    Scale,
    Strip,
    complexity_figure,
    curve_of,
    difference_figure,
    distribution_figure,
    learning_figure,
    score_figure,
)
from omnimeter.reports.plotting import inline_svg, matplotlib_figure, save_figure
from omnimeter.reports.tables import complexity_table
from reports_samples import (
    GOOD,
    OOPS,
    POOR,
    SECOND,
    a_result,
    an_evaluation,
    an_exercise,
    an_outcome,
)


def test_the_figure_of_scores() -> None:
    rows = score_rows(a_result({GOOD: [1.0, 0.5], POOR: [None]}))
    figure = score_figure(rows)
    assert figure is not None
    assert figure.dots == (
        Dot("good-v1", 0.75, rows[0].low, rows[0].high),
        Dot("poor-v1†", None, None, None),
    )
    assert score_figure(rows[1:]) is None


def test_an_infinite_interval_is_not_drawn() -> None:
    row = replace(score_rows(a_result({GOOD: [0.5, 0.25]}))[0], low=-inf, high=inf)
    figure = score_figure([row])
    assert figure is not None
    assert figure.dots == (Dot("good-v1", row.value, None, None),)
    assert "hollow" in figure.caption


def test_the_figure_of_differences() -> None:
    compared = comparisons(a_result({GOOD: [0.5, 0.75], POOR: [0.25, 0.0]}))
    figure = difference_figure(compared)
    assert figure is not None
    assert figure.dots == (Dot("poor-v1", -0.5, compared[0].low, compared[0].high),)
    assert difference_figure([]) is None


def test_the_figure_of_complexity_needs_two_complexities() -> None:
    outcomes = [an_outcome(GOOD, number, number / 4, complexity=number // 2) for number in range(4)]
    protocol = an_evaluation((GOOD,)).make_protocol()
    figure = complexity_figure(score_rows(judge(protocol, {GOOD: outcomes}, complete=True)))
    assert figure is not None
    assert figure.curves[0].places == (0.0, 1.0)
    assert figure.curves[0].values == (0.125, 0.625)
    flat = judge(protocol, {GOOD: outcomes[:2]}, complete=True)
    assert complexity_figure(score_rows(flat)) is None


def a_graded_result(complexities: Sequence[float]) -> Result:
    outcomes = [an_outcome(GOOD, n, n / 40, complexity=each) for n, each in enumerate(complexities)]
    return judge(an_evaluation((GOOD,)).make_protocol(), {GOOD: outcomes}, complete=True)


def test_ranges_of_complexities_are_told_with_their_numbers() -> None:
    rows = score_rows(a_graded_result([16.4297, *range(18, 38)]))
    figure = complexity_figure(rows)
    assert figure is not None
    assert figure.scale is Scale.BINS
    assert figure.curves[0].bins[0] == (16.4297, 22.0)
    assert figure.curves[0].counts == (6, 5, 5, 5)
    assert "the number of exercises of each agent in parentheses" in figure.caption
    canvas = matplotlib_figure(figure, {"good-v1": 0})
    (axes,) = canvas.axes
    marks = [mark.get_text() for mark in axes.get_xticklabels()]
    assert marks == ["16.4 to 22.0 (6)", "23.0 to 27.0 (5)", "28.0 to 32.0 (5)", "33.0 to 37.0 (5)"]
    assert axes.get_xlim() == (-0.5, 3.5)
    table = complexity_table(rows, "exercise")
    assert table is not None
    assert [row[1].text for row in table.rows] == [mark[:-4] for mark in marks]
    assert table.rows[0][1].data["lowest"] == 16.4297
    assert [row[4].text for row in table.rows] == ["6", "5", "5", "5"]


def test_a_line_joins_no_point_of_a_single_exercise() -> None:
    figure = complexity_figure(score_rows(a_graded_result([3, 3, 4, 5, 5, 6, 6])))
    assert figure is not None
    assert figure.curves[0].counts == (2, 1, 2, 2)
    assert "A hollow point is a single exercise" in figure.caption
    canvas = matplotlib_figure(figure, {"good-v1": 0})
    lines = [line for line in canvas.axes[0].get_lines() if len(line.get_xdata()) == 4]
    (joined,) = (np.asarray(line.get_ydata()) for line in lines)
    assert np.isnan(joined).tolist() == [False, True, False, False]
    (single,) = [e for e in canvas.axes[0].get_lines() if e.get_xdata()[:1] == [4.0]]
    assert single.get_linestyle() == "None"


def test_the_figure_of_payoffs_is_thinned_out_evenly() -> None:
    few = a_result({GOOD: [0.5, -0.5, None, 0.0]})
    figure = distribution_figure(few, score_rows(few))
    assert figure is not None
    assert figure.strips == (Strip("good-v1†", (-0.5, 0.0, 0.5), 0.0, 3),)
    row = score_rows(few)[0]
    payoffs = [number / 4999 for number in range(5000)]
    outcomes = {GOOD: [an_outcome(GOOD, n, payoff) for n, payoff in enumerate(payoffs)]}
    thinned = distribution_figure(Result({}, outcomes, complete=True), [row])
    assert thinned is not None
    (strip,) = thinned.strips
    assert (len(strip.payoffs), strip.count) == (MOST_DOTS, 5000)
    assert (strip.payoffs[0], strip.payoffs[-1]) == (0.0, 1.0)
    assert strip.mean == pytest.approx(0.5)
    assert np.mean(strip.payoffs) == pytest.approx(0.5)
    assert "even selection" in thinned.caption


def a_trace(rewards: Sequence[float], times: Sequence[int] | None = None, **more: object) -> Trace:
    when = np.array(range(1, len(rewards) + 1) if times is None else times, dtype=np.int64)
    return Trace(np.array(rewards, dtype=float), when, 4, **more)  # type: ignore[arg-type]


def learned(
    traces: Sequence[Trace], *budgets: Budget, order: Sequence[int] = ()
) -> CurveFigure | None:
    """The figure of one agent's traces, one exercise for each budget, and of an unknown one."""
    outcomes = [
        replace(an_outcome(GOOD, n, 0.5), exercise=an_exercise(GOOD, n, budget=budget))
        for n, budget in enumerate(budgets)
    ]
    result = replace(a_result({GOOD: []}), outcomes={GOOD: outcomes})
    keyed = [(one.exercise.key, trace) for one, trace in zip(outcomes, traces, strict=False)]
    keyed = [keyed[place] for place in order] if order else keyed
    return learning_figure(result, score_rows(result), [*keyed, ("0" * 16, a_trace([1.0]))])


def test_learning_curves_are_means_of_running_averages() -> None:
    traces = [
        a_trace([1.0, 0.0, 1.0, 0.0]),
        a_trace([0.0, 1.0], ending=Ending.STOPPED),  # it gets nothing for the rest
        a_trace([1.0], ending=Ending.FAULT, fault=OOPS),
    ]
    figure = learned(traces, *[Budget(4)] * 4)
    assert figure is not None
    assert figure.across == "Interactions"
    (curve,) = figure.curves
    assert (curve.label, curve.places) == (GOOD.label, (1.0, 2.0, 3.0, 4.0))
    assert curve.values == pytest.approx([0.5, 0.5, 0.5, 0.375])
    at_once = [mean(each, support=(-1.0, 1.0)) for each in ([0, 1], [0.5] * 2, [1 / 3, 2 / 3])]
    assert curve.lows[:3] == pytest.approx([each.low for each in at_once])
    assert curve.highs[:3] == pytest.approx([each.high for each in at_once])
    assert curve.lows[1] < 0.5 < curve.highs[1]  # equal values do not tell their spread
    assert "Student" not in figure.caption


def test_the_last_of_a_learning_curve_is_the_payoff_of_stopping_when_ahead() -> None:
    rewards = np.array([1.0, 1.0, -1.0, 1.0, 1.0])
    stopped = a_trace(rewards.tolist(), ending=Ending.STOPPED)
    figure = learned([stopped] * 2, *[Budget(50)] * 2)
    assert figure is not None
    assert figure.curves[0].values[-1] == pytest.approx(planned_average(rewards, 50))
    times = np.arange(1, 6) * SECOND
    stopped = a_trace(rewards.tolist(), times, ending=Ending.STOPPED)
    figure = learned([stopped] * 2, *[Budget(seconds=10.0)] * 2)
    assert figure is not None
    assert figure.curves[0].values[-1] == pytest.approx(diminishing(rewards, times, 10 * SECOND))
    assert "diminishing-v1" in figure.caption


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=3, max_size=3), min_size=2, max_size=9),
    st.randoms(use_true_random=False),
)
def test_the_order_of_traces_does_not_count(rewards: list[list[float]], random: Random) -> None:
    """It is that in which they happened to be stored."""
    budgets, places = [Budget(3)] * len(rewards), list(range(len(rewards)))
    random.shuffle(places)
    traces = [a_trace(each) for each in rewards]
    first = [each[0] for each in rewards]
    averages = np.cumsum(rewards, axis=1) / [1, 2, 3]  # which may leave the range of the class
    support = min(-1.0, float(averages.min())), max(1.0, float(averages.max()))
    middle, reach = np.mean(first), t.ppf(0.975, len(first) - 1) * sem(first)
    expected = mean(sorted(first), support=support)
    for kept, ends in (
        (figures.MOST_KEPT, (expected.low, expected.high)),
        (1, (middle - reach, middle + reach)),  # as of more than are kept
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(figures, "MOST_KEPT", kept)
            drawn = learned(traces, *budgets)
            assert drawn == learned(traces, *budgets, order=places)
        assert drawn is not None
        assert ("Student" in drawn.caption) == (kept == 1)
        (curve,) = drawn.curves
        assert curve.values[0] == pytest.approx(middle, abs=1e-6)
        if None not in (curve.lows[0], curve.highs[0]):
            assert (curve.lows[0], curve.highs[0]) == pytest.approx(ends, abs=1e-6, rel=1e-6)


def test_without_a_known_range_of_rewards_equal_values_have_no_band(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traces = [a_trace([0.5, 1.0]), a_trace([0.5, 0.0])]
    bounded = learned(traces, Budget(2), Budget(2))
    monkeypatch.setattr(Cups, "reward_range", lambda cups: None)
    unbounded = learned(traces, Budget(2), Budget(2))
    assert bounded is not None
    assert unbounded is not None
    assert -1 <= (bounded.curves[0].lows[0] or -2) < 0.5
    assert unbounded.curves[0].lows[0] is None
    assert unbounded.curves[0].lows[1] is not None


def test_learning_curves_over_time() -> None:
    trace = a_trace([1.0, -1.0], [SECOND // 2, 3 * SECOND // 2])
    figure = learned([trace], Budget(seconds=2.0))
    assert figure is not None
    assert figure.across == "Seconds"
    (curve,) = figure.curves
    assert (len(curve.places), curve.places[0], curve.places[-1]) == (200, 0.01, 2.0)
    at = dict(zip(curve.places, curve.values, strict=True))
    # As by diminishing-v1: 1 * 0.5 / 1.49 and 2 * 1.5 / 2 are less than the rewards there are.
    assert (at[0.49], at[0.5], at[1.49], at[1.5], at[2.0]) == (0.0, 1.0, 0.0, 0.0, 1.0)
    assert max(curve.lows) <= -0.95  # a single exercise tells next to nothing


def test_a_short_exercise_does_not_count_at_later_moments() -> None:
    figure = learned([a_trace([1.0] * 4), a_trace([0.0] * 2)], Budget(4), Budget(2))
    assert figure is not None
    assert figure.curves[0].values == (0.5, 0.5, 1.0, 1.0)


def test_no_traces_no_learning_curve() -> None:
    assert learned([]) is None
    assert learned([], Budget(4)) is None
    assert learned([a_trace([1.0])], Budget(1)) is None  # a single moment is no curve


def test_long_exercises_are_known_at_few_moments() -> None:
    figure = learned([a_trace(np.linspace(0, 1, 100_000).tolist())], Budget(100_000))
    assert figure is not None
    assert len(figure.curves[0].places) == 200
    assert figure.curves[0].values[-1] == pytest.approx(0.5)


def test_a_figure_is_the_same_bytes_again_and_of_any_format(tmp_path: Path) -> None:
    result = a_result({GOOD: [1.0, 0.5], Spec("odd-v1", {"x": "$<b>&\x07#0072b2 漢"}): [0.5, 0.0]})
    figure = score_figure(score_rows(result))
    assert figure is not None
    places = {agent.label: place for place, agent in enumerate(result.scores)}
    for name in ("a.svg", "a.pdf", "a.png"):
        save_figure(figure, places, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        save_figure(figure, places, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    drawn = inline_svg(figure, places)
    assert drawn == inline_svg(figure, places)
    assert "$&lt;b&gt;&amp;\\u0007#0072b2 漢" in drawn  # as it is, but escaped
    assert "var(--series-1, #0072b2)" in drawn
    with pytest.raises(InvalidInputError, match=r"a\.gif"):
        save_figure(figure, places, tmp_path / "a.gif")


def test_a_line_without_a_band_is_dashed_and_the_caption_says_so() -> None:
    x = np.arange(20.0)
    known = np.sin(np.arange(20) * 2.0)
    points = {"known-v1": (x, known), "flat-v1": (x, np.zeros(20))}
    figure = line_figure(points)
    assert figure is not None
    assert set(figure.curves[1].lows) == {None}
    assert "A dashed line has no band." in figure.caption
    (axes,) = matplotlib_figure(figure, {"known-v1": 0, "flat-v1": 1}).axes
    styles = [line.get_linestyle() for line in axes.lines if len(line.get_xdata()) == 5]  # type: ignore[arg-type]
    assert styles == ["-", "--"]
    alone = line_figure({"known-v1": points["known-v1"]})
    assert alone is not None
    assert "dashed" not in alone.caption


def test_an_axis_of_amounts_has_two_marks_or_more() -> None:
    curves = tuple(curve_of("a-v1", (230.0, 304.0), (0.0, 1.0), [(0.0, 0.1)] * 2) for _ in "a")
    figure = CurveFigure("a", "A", "A.", "x", "y", curves, banded=True, scale=Scale.AMOUNTS)
    (axes,) = matplotlib_figure(figure, {"a-v1": 0}).axes
    low, high = axes.get_xlim()
    assert sum(low <= tick <= high for tick in axes.get_xticks()) >= 2


def test_a_learning_curve_without_a_known_range_of_rewards(monkeypatch) -> None:
    monkeypatch.setattr(figures, "_support", lambda result: None)
    figure = learned([a_trace([1.0, 0.0]), a_trace([0.0, 0.5])], *[Budget(2)] * 2)
    assert figure is not None
    assert figure.curves[0].values == pytest.approx((0.5, 0.375))
