"""Tables of scores, comparisons and faults are exact, and texts and names fit their place."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.contract import Fault, FaultKind, Instance, InvalidInputError, Spec
from omnimeter.estimation import mean, stratified_difference, stratified_test
from omnimeter.protocols.evaluation import judge
from omnimeter.reports import Comparison, Verdict, comparisons, score_rows, text
from omnimeter.reports.page import fault_table
from omnimeter.reports.scores import BINS, complexity_bins, complexity_means
from omnimeter.reports.style import moved_apart
from omnimeter.reports.summary import comparison_sentence, result_sentences
from omnimeter.reports.text import WIDTH, short_labels
from reports_samples import FAIR, GOOD, OOPS, POOR, UNIT, a_result, an_evaluation, an_outcome


def test_scores_come_best_first_and_those_without_any_last() -> None:
    result = a_result({POOR: [None, None], FAIR: [0.25, 0.25, 0.0], GOOD: [1.0, 0.5, None]})
    rows = score_rows(result)
    assert [row.name for row in rows] == ["fair-v1", "good-v1†", "poor-v1†"]
    assert [row.value for row in rows] == [pytest.approx(1 / 6), 0.75, None]
    assert [row.rank for row in rows] == [1, None, None]
    assert [row.count for row in rows] == [3, 2, 0]
    assert [row.faults for row in rows] == [{}, {"agent-error": 1}, {"agent-error": 2}]
    assert [row.interactions for row in rows] == [4.0, 4.0, None]
    worst, best = (mean([1.0, 0.5, end], support=UNIT) for end in UNIT)
    assert (rows[1].low, rows[1].high, rows[1].confidence) == (worst.low, best.high, 0.95)
    assert (rows[2].low, rows[2].high) == (None, None)


def test_equal_scores_share_a_rank() -> None:
    result = a_result({POOR: [0.1, 0.2], FAIR: [0.5, 0.4], GOOD: [0.5, 0.4]})
    rows = score_rows(result)
    assert [(row.label, row.rank) for row in rows] == [
        *(("fair-v1", 1), ("good-v1", 1)),
        ("poor-v1", 3),
    ]
    assert result_sentences(rows, comparisons(result), "2 exercises each") == [
        "3 agents took 2 exercises each.",
        "fair-v1 and good-v1 share the best score: 0.450.",
        "Not decided is which agent is best.",
    ]


def test_only_exercises_that_count_make_the_mean_number_of_interactions() -> None:
    outcomes = [
        an_outcome(GOOD, 0, 0.5, interactions=10),
        an_outcome(GOOD, 1, 0.5, interactions=20),
        an_outcome(GOOD, 2, None, fault=OOPS, interactions=999),
    ]
    result = judge(an_evaluation((GOOD,)).make_protocol(), {GOOD: outcomes}, complete=True)
    assert score_rows(result)[0].interactions == 15.0


def test_means_at_each_complexity() -> None:
    outcomes = [
        an_outcome(GOOD, 0, 1.0, complexity=3),
        an_outcome(GOOD, 1, 0.5, complexity=3),
        an_outcome(GOOD, 2, 0.25, complexity=5),
        an_outcome(GOOD, 3, None, complexity=7, fault=OOPS),
    ]
    first, second = complexity_means(outcomes, complexity_bins(outcomes), UNIT)
    assert (first.complexity, first.value, first.count) == (3.0, 0.75, 2)
    expected = mean([1.0, 0.5], support=UNIT)
    assert (first.low, first.high) == (expected.low, expected.high)
    assert (second.complexity, second.value, second.count) == (5.0, 0.25, 1)
    assert (second.low, second.high) == (None, None)  # a single exercise says nothing


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200))
def test_every_complexity_has_exactly_one_bin(complexities: list[float]) -> None:
    outcomes = [an_outcome(GOOD, 0, 0.0, complexity=each) for each in complexities]
    bins = complexity_bins(outcomes)
    assert all(sum(low <= each <= high for low, high in bins) == 1 for each in complexities)
    assert len(bins) <= max(12, BINS)


def test_many_complexities_are_binned_evenly() -> None:
    outcomes = [an_outcome(GOOD, 0, 0.0, complexity=each) for each in range(80)]
    means = complexity_means(outcomes, complexity_bins(outcomes))
    assert [one.count for one in means] == pytest.approx([10] * BINS, abs=1)
    assert sum(one.count for one in means) == 80


def test_few_exercises_have_few_ranges() -> None:
    outcomes = [an_outcome(GOOD, 0, 0.0, complexity=16.4297 + each) for each in range(21)]
    bins = complexity_bins(outcomes)
    assert [one.count for one in complexity_means(outcomes, bins)] == [6, 5, 5, 5]
    assert text.range_texts(bins) == [
        "16.4 to 21.4",
        "22.4 to 26.4",
        "27.4 to 31.4",
        "32.4 to 36.4",
    ]


@pytest.mark.parametrize(
    ("ranges", "texts"),
    [
        ([(16, 18), (19, 19), (20, 1234)], ["16 to 18", "19", "20 to 1 234"]),
        ([(0.5, 0.5004), (0.501, 2)], ["0.5000 to 0.5004", "0.5010 to 2.0000"]),
        ([(-1, 1 / 3)], [f"{text.MINUS}1.000 to 0.333"]),
    ],
)
def test_ranges_have_the_digits_that_tell_them_apart(
    ranges: list[tuple[float, float]], texts: list[str]
) -> None:
    assert text.range_texts(ranges) == texts


def test_the_support_comes_from_the_protocol() -> None:
    assert a_result({GOOD: [0.0]}).support == UNIT
    total = an_evaluation((GOOD,), payoff="total-v1").make_protocol()
    assert judge(total, {GOOD: []}, complete=False).support == (-inf, inf)


def test_an_agent_with_faults_of_its_own_is_not_compared() -> None:
    result = a_result({GOOD: [1.0, None, None, None], FAIR: [0.5] * 4, POOR: [0.25, 0.0, 0.25, 0]})
    compared = {each.agent: each for each in comparisons(result)}
    assert compared[GOOD].verdict is Verdict.FAULTY
    assert compared[GOOD].p_value is None
    assert compared[POOR].reference == FAIR  # not the one that finished only what went well
    assert "not compared" in comparison_sentence(compared[GOOD])


def test_agents_are_compared_on_what_both_finished() -> None:
    payoffs = {POOR: [0.5, 0.25, 0.0, None], GOOD: [1.0, None, 0.75, 1.0]}
    result = a_result(payoffs, FaultKind.INFRASTRUCTURE)
    (only,) = comparisons(result)
    assert (only.agent, only.reference) == (POOR, GOOD)
    assert (only.difference, only.count) == (-0.625, 2)  # -0.5 and -0.75
    assert only.p_value == stratified_test([[0.5, 0.0]], [[1.0, 0.75]], UNIT)
    assert only.verdict is Verdict.NOT_SHOWN


def test_the_same_number_in_another_instance_is_another_exercise() -> None:
    mine = [an_outcome(GOOD, number, 0.9) for number in range(3)]
    theirs = [an_outcome(POOR, number, 0.1) for number in range(3)]
    other = Instance({"colours": "WWWW", "rule": "rest"})
    theirs[0] = replace(theirs[0], exercise=replace(theirs[0].exercise, instance=other))
    protocol = an_evaluation((GOOD, POOR)).make_protocol()
    (only,) = comparisons(judge(protocol, {GOOD: mine, POOR: theirs}, complete=True))
    assert only.count == 2


def _rows() -> dict[Spec, list[float | None]]:
    rng = np.random.default_rng(8)
    means = {GOOD: 0.7, FAIR: 0.62, POOR: 0.1}
    return {agent: list(rng.uniform(each - 0.2, each + 0.2, 20)) for agent, each in means.items()}


def test_intervals_hold_for_all_pairs_at_once_when_the_best_is_selected() -> None:
    rows = _rows()
    result = a_result(rows)
    against_best = comparisons(result)
    assert [each.agent for each in against_best] == [FAIR, POOR]
    for each, confidence, pairs in (
        *((each, 1 - 0.05 / 3, 3) for each in against_best),
        *((each, 1 - 0.05 / 2, 2) for each in comparisons(result, reference=POOR)),
    ):
        shared = [rows[each.agent]], [rows[each.reference]]
        expected = stratified_difference(*shared, confidence, UNIT)
        assert (each.low, each.high) == (expected.low, expected.high)
        assert each.p_value == pytest.approx(min(1, pairs * stratified_test(*shared, UNIT)))
        assert each.simultaneous == pairs


@given(shift=st.floats(0, 0.4), count=st.integers(2, 30), agents=st.integers(2, 4))
def test_a_verdict_is_what_its_interval_and_its_p_value_show(
    shift: float, count: int, agents: int
) -> None:
    rng = np.random.default_rng([count, agents])
    rows: dict[Spec, list[float | None]] = {
        Spec(f"agent{place}-v1"): list(rng.uniform(0, 0.3, count) + shift * place)
        for place in range(agents)
    }
    result = a_result(rows)
    for each in comparisons(result):
        assert each.low is not None
        assert each.high is not None
        assert each.p_value is not None
        excluded = not each.low <= 0 <= each.high
        assert excluded == (each.verdict in (Verdict.BETTER, Verdict.WORSE))
        if abs(each.p_value - 0.05) > 1e-6:
            assert excluded == (each.p_value < 0.05)
        words = comparison_sentence(each)
        assert ("No difference" in words) == (not excluded)
        assert ("simultaneous" in words) == (agents > 2)
        assert text.p_value(each.p_value) in words


def test_equal_differences_are_no_surer_than_equal_scores() -> None:
    result = a_result({GOOD: [0.5] * 6, POOR: [0.25] * 6})
    (only,) = comparisons(result)
    assert only.low is not None
    assert only.high is not None
    assert only.low < 0 < only.high
    assert only.p_value is not None
    assert only.p_value > 0.5
    assert only.verdict is Verdict.NOT_SHOWN


@pytest.mark.parametrize(("theirs", "difference"), [([0.25], -0.25), ([None, 0.25], None)])
def test_too_little_in_common_is_said(theirs: list[float | None], difference: float | None) -> None:
    (only,) = comparisons(a_result({GOOD: [0.5], POOR: theirs}, FaultKind.INFRASTRUCTURE))
    assert only.verdict is Verdict.TOO_FEW
    assert (only.difference, only.low, only.high, only.p_value) == (difference, None, None, None)
    assert "too few" in comparison_sentence(only)


def test_nothing_to_compare() -> None:
    assert comparisons(a_result({GOOD: [0.5]})) == []
    assert comparisons(a_result({GOOD: [None], POOR: []})) == []
    with pytest.raises(InvalidInputError, match="poor-v1 took no part"):
        comparisons(a_result({GOOD: [0.5]}), reference=POOR)


def test_sentences_say_what_is_shown() -> None:
    worse = Comparison(POOR, GOOD, -0.5, -0.6, -0.4, 20, 0.001, Verdict.WORSE)
    assert comparison_sentence(worse) == (
        "poor-v1 is worse than good-v1 by 0.500 on the same exercises "
        "(95 % interval 0.400 to 0.600, p = 0.001, 20 exercises)."
    )
    same = Comparison(FAIR, GOOD, -0.5, -1.1, 0.1, 20, 0.2, Verdict.NOT_SHOWN)
    assert comparison_sentence(same).startswith("No difference between fair-v1 and good-v1")


def test_the_result_is_three_sentences() -> None:
    rows = score_rows(
        a_result({GOOD: [1.0, 0.5] * 20, FAIR: [0.9, 0.5] * 20, POOR: [0.0, 0.5] * 20})
    )
    worse = Comparison(POOR, GOOD, -0.5, -0.6, -0.4, 40, 0.001, Verdict.WORSE)
    same = Comparison(FAIR, GOOD, -0.05, -0.2, 0.1, 40, 0.2, Verdict.NOT_SHOWN)
    few = replace(same, agent=POOR, verdict=Verdict.TOO_FEW)
    what = "40 exercises each in cups"
    first, best, decided = result_sentences(rows, [worse, replace(worse, agent=FAIR)], what)
    assert first == "3 agents took 40 exercises each in cups."
    assert best.startswith("good-v1 is shown to be best: 0.750 (95 % interval 0.")
    assert decided == "Every difference from the best agent is shown."
    _, best, third = result_sentences(rows, [same, few], what)
    assert best.startswith("good-v1 has the best score: 0.750")
    assert third == "Not decided is whether good-v1 is better than fair-v1 or poor-v1."
    many = [replace(same, agent=Spec(f"a{number}-v1")) for number in range(9)]
    assert result_sentences(rows, many, what)[2].endswith("than a0-v1, a1-v1, a2-v1 or 6 others.")
    (only,) = result_sentences(rows[:1], [], what)[1:]
    assert only.startswith("good-v1 scored 0.750 (95 % interval")


def test_numbers_as_people_read_them() -> None:
    assert text.decimals([0.5, -1.0, None, inf]) == 3
    assert text.decimals([4.5]) == 2
    assert text.decimals([12_345.0]) == 0
    assert text.decimals([]) == text.decimals([0.0]) == 3
    assert text.number(-0.25, 2) == f"{text.MINUS}0.25"
    assert text.number(-0.0001, 2) == text.number(0.0001, 2, signed=True) == "0.00"
    assert text.number(12_345.6, 0) == "12 346"
    assert text.number(None, 2) == text.MISSING
    assert text.number(-inf, 2) == f"{text.MINUS}∞"
    assert text.p_value(0.0004) == "< 0.001"
    assert text.counted(1, "agent") == "1 agent"
    assert text.counted(0, "agent") == "no agents"
    assert text.fault_counts({"time-out": 2, "agent-error": 1}) == "2 time-outs, 1 agent error"


@given(st.lists(st.text(max_size=200), unique=True, max_size=12))
def test_short_labels_are_short_and_different(labels: list[str]) -> None:
    short = short_labels(labels)
    assert list(short) == labels
    assert len(set(short.values())) == len(labels)
    longest = WIDTH + len(" #12")
    assert all(len(line) <= longest for name in short.values() for line in name.split("\n"))
    assert all(name.count("\n") <= 1 for name in short.values())


def test_short_labels_keep_what_tells_agents_apart() -> None:
    names = short_labels(["random-v1", "/home/me/agents/mine.py:Mine(depth=3)", "a" * 100])
    assert names["random-v1"] == "random-v1"
    assert names["/home/me/agents/mine.py:Mine(depth=3)"] == "mine.py:Mine(depth=3)"
    assert "…" in names["a" * 100]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.01, 0.2)), min_size=1, max_size=8))
def test_labels_are_moved_apart(things: list[tuple[float, float]]) -> None:
    wanted, sizes = zip(*things, strict=True)
    placed = sorted(zip(moved_apart(wanted, sizes), sizes, strict=True))
    for (below, size), (above, other) in pairwise(placed):
        assert above - below >= (size + other) / 2 - 1e-9


def test_labels_that_do_not_meet_stay_where_they_are() -> None:
    assert moved_apart([0.9, 0.1], [0.1, 0.1]) == pytest.approx([0.9, 0.1])
    assert moved_apart([0.5, 0.5], [0.1, 0.1]) == pytest.approx([0.45, 0.55])


def test_the_same_fault_has_one_row() -> None:
    late = Fault(FaultKind.TIME_OUT, "x" * 500)
    outcomes = [
        an_outcome(POOR, 5, None, fault=OOPS),
        an_outcome(POOR, 2, None, fault=OOPS),
        an_outcome(POOR, 3, None, fault=late),
        an_outcome(POOR, 4, 0.5),
    ]
    first, second = fault_table(outcomes)
    assert (first.agent, first.numbers, first.headline) == (POOR, (2, 5), "It raised ValueError.")
    assert second.numbers == (3,)
    assert len(second.headline) < 200
