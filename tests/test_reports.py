"""Reports: what the tables and figures say is exact, and the page is safe, whole and repeatable."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, parse
from omnimeter.contract import (
    Budget,
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Instance,
    InvalidInputError,
    Outcome,
    Spec,
    StoreError,
    Trace,
)
from omnimeter.execution import Options, evaluate
from omnimeter.payoffs import Average, Total
from omnimeter.protocols import Evaluation, Result
from omnimeter.protocols.evaluation import judge
from omnimeter.reports import (
    Comparison,
    Verdict,
    comparisons,
    latex_table,
    rejudge,
    score_table,
    write_csv,
    write_figures,
    write_report,
)
from omnimeter.reports import wording as words
from omnimeter.reports.contents import gather
from omnimeter.reports.faults import fault_table
from omnimeter.reports.figures import (
    MOST_DOTS,
    complexity_figure,
    difference_figure,
    distribution_figure,
    learning_figure,
    score_figure,
)
from omnimeter.reports.ink import inline_svg, save_figure
from omnimeter.reports.labels import WIDTH, short_labels
from omnimeter.reports.learning import learning
from omnimeter.reports.levels import BINS, complexity_levels, level_means
from omnimeter.reports.placing import moved_apart
from omnimeter.reports.shapes import Dot, Strip
from omnimeter.reports.summary import comparison_sentence, comparison_sentences
from omnimeter.reports.support import payoff_support
from omnimeter.results import Record, writing
from omnimeter.statistics import holm, mean, paired_test

GOOD, FAIR, POOR = Spec("good-v1"), Spec("fair-v1"), Spec("poor-v1")
CUPS = Spec("cups-v1")
SECOND = 1_000_000_000
UNIT = (-1.0, 1.0)
OOPS = Fault(FaultKind.AGENT_ERROR, "It raised ValueError.\nAt line 3.", "Traceback ...")


def an_exercise(agent: Spec, number: int, complexity: float = 3.0, **changes: object) -> Exercise:
    colours = f"{number:03b}".replace("0", "B").replace("1", "W")
    made = Exercise(
        agent=agent,
        environment_class=CUPS,
        instance=Instance({"colours": colours, "rule": "rest"}),
        budget=Budget(4),
        seed=7,
        number=number,
        complexity=complexity,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def an_outcome(
    agent: Spec,
    number: int,
    payoff: float | None,
    complexity: float = 3.0,
    fault: Fault | None = None,
    interactions: int = 4,
) -> Outcome:
    ending = Ending.BUDGET if fault is None else Ending.FAULT
    exercise = an_exercise(agent, number, complexity)
    return Outcome(exercise, payoff, interactions, 0.0, 4, 4, ending, fault=fault)


def a_result(payoffs: Mapping[Spec, Sequence[float | None]]) -> Result:
    """What agents with these payoffs get; nothing stands for a fault."""
    protocol = an_evaluation(tuple(payoffs)).make_protocol()
    outcomes = {
        agent: [
            an_outcome(agent, number, payoff, fault=OOPS if payoff is None else None)
            for number, payoff in enumerate(row)
        ]
        for agent, row in payoffs.items()
    }
    return judge(protocol, outcomes, complete=True)


def an_evaluation(
    agents: tuple[Spec, ...], exercises: int = 4, traces: bool = False, **parameters: object
) -> Evaluation:
    given = {"environments": "cups-v1(rule=rest)", "exercises": exercises, "interactions": 40}
    return Evaluation(Spec("sample-v1", {**given, **parameters}), agents, traces)


def a_store(
    path: Path,
    evaluation: Evaluation,
    payoffs: Mapping[Spec, Sequence[float | Fault]],
    traces: bool = False,
) -> Record:
    """An evaluation on disk in which everything has happened as told."""
    protocol = evaluation.make_protocol()
    with writing(path, evaluation.to_json()) as writer:
        for agent, row in payoffs.items():
            for exercise, given in zip(protocol.propose(agent, []), row, strict=False):
                fault = given if isinstance(given, Fault) else None
                payoff = None if isinstance(given, Fault) else given
                ending = Ending.BUDGET if fault is None else Ending.FAULT
                outcome = Outcome(exercise, payoff, 4, 0.0, 4, 4, ending, fault=fault)
                trace = Trace(np.full(40, payoff or 0.0), np.arange(40), 40, ending, fault=fault)
                writer.append([outcome], {exercise.key: trace} if traces else None)
    return Record(path)


# Scores


def test_scores_come_best_first_and_those_without_any_last() -> None:
    result = a_result({POOR: [None, None], FAIR: [0.25, 0.25, 0.0], GOOD: [1.0, 0.5, None]})
    rows = score_table(result)
    assert [row.label for row in rows] == ["good-v1", "fair-v1", "poor-v1"]
    assert [row.value for row in rows] == [0.75, pytest.approx(1 / 6), None]
    assert [row.count for row in rows] == [2, 3, 0]
    assert [row.faults for row in rows] == [{"agent-error": 1}, {}, {"agent-error": 2}]
    assert [row.interactions for row in rows] == [4.0, 4.0, None]
    expected = mean([1.0, 0.5], support=UNIT)
    assert (rows[0].low, rows[0].high, rows[0].level) == (expected.low, expected.high, 0.95)
    assert (rows[2].low, rows[2].high) == (None, None)


def test_only_exercises_that_count_make_the_mean_number_of_interactions() -> None:
    outcomes = [
        an_outcome(GOOD, 0, 0.5, interactions=10),
        an_outcome(GOOD, 1, 0.5, interactions=20),
        an_outcome(GOOD, 2, None, fault=OOPS, interactions=999),
    ]
    result = judge(an_evaluation((GOOD,)).make_protocol(), {GOOD: outcomes}, complete=True)
    assert score_table(result)[0].interactions == 15.0


def test_means_at_each_complexity() -> None:
    outcomes = [
        an_outcome(GOOD, 0, 1.0, complexity=3),
        an_outcome(GOOD, 1, 0.5, complexity=3),
        an_outcome(GOOD, 2, 0.25, complexity=5),
        an_outcome(GOOD, 3, None, complexity=7, fault=OOPS),
    ]
    first, second = level_means(outcomes, complexity_levels(outcomes), UNIT)
    assert (first.complexity, first.value, first.count) == (3.0, 0.75, 2)
    assert (first.low, first.high) == (mean([1.0, 0.5], support=UNIT).low, 1.0)
    assert (second.complexity, second.value, second.count) == (5.0, 0.25, 1)
    assert (second.low, second.high) == (None, None)  # a single exercise says nothing


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200))
def test_every_complexity_has_exactly_one_level(grades: list[float]) -> None:
    outcomes = [an_outcome(GOOD, 0, 0.0, complexity=grade) for grade in grades]
    levels = complexity_levels(outcomes)
    assert all(sum(grade in level for level in levels) == 1 for grade in grades)
    assert len(levels) <= max(12, BINS)


def test_many_complexities_are_put_together_evenly() -> None:
    outcomes = [an_outcome(GOOD, 0, 0.0, complexity=grade) for grade in range(80)]
    means = level_means(outcomes, complexity_levels(outcomes))
    assert [level.count for level in means] == pytest.approx([10] * BINS, abs=1)
    assert sum(level.count for level in means) == 80


def test_the_support_comes_from_the_environments() -> None:
    outcomes = [an_outcome(GOOD, number, 0.0) for number in range(3)]
    assert payoff_support(Average(), outcomes) == (-1.0, 1.0)
    assert payoff_support(Total(), outcomes) == (-inf, inf)
    assert payoff_support(Average(), []) is None


# Comparisons


def test_agents_are_compared_on_what_both_finished() -> None:
    result = a_result({POOR: [0.5, 0.25, 0.0, None], GOOD: [1.0, None, 0.75, 1.0]})
    (only,) = comparisons(result, UNIT)
    assert (only.agent, only.reference) == (POOR, GOOD)
    assert (only.difference, only.count) == (-0.625, 2)  # -0.5 and -0.75
    assert only.chance == paired_test([0.5, 0.0], [1.0, 0.75])
    assert only.verdict is Verdict.NOT_SHOWN


def test_the_same_number_in_another_instance_is_another_exercise() -> None:
    mine = [an_outcome(GOOD, number, 0.9) for number in range(3)]
    theirs = [an_outcome(POOR, number, 0.1) for number in range(3)]
    other = Instance({"colours": "WWWW", "rule": "rest"})
    theirs[0] = replace(theirs[0], exercise=replace(theirs[0].exercise, instance=other))
    protocol = an_evaluation((GOOD, POOR)).make_protocol()
    (only,) = comparisons(judge(protocol, {GOOD: mine, POOR: theirs}, complete=True))
    assert only.count == 2


def test_p_values_are_corrected_for_all_pairs_when_the_best_is_found_by_looking() -> None:
    rows = {
        GOOD: [0.9, 0.8, 0.9, 0.7, 0.9, 0.8],
        FAIR: [0.8, 0.8, 0.6, 0.7, 0.7, 0.8],
        POOR: [0.1, 0.0, 0.2, 0.1, 0.3, 0.2],
    }
    result = a_result(rows)
    raw = [
        paired_test(rows[one], rows[other])
        for one, other in ((GOOD, FAIR), (GOOD, POOR), (FAIR, POOR))
    ]
    against_best = comparisons(result, UNIT)
    assert [each.agent for each in against_best] == [FAIR, POOR]
    assert [each.chance for each in against_best] == holm(raw).tolist()[:2]
    assert [each.verdict for each in against_best] == [Verdict.NOT_SHOWN, Verdict.WORSE]
    chosen = comparisons(result, UNIT, reference=POOR)
    assert [each.agent for each in chosen] == [GOOD, FAIR]
    assert [each.chance for each in chosen] == holm([raw[1], raw[2]]).tolist()
    assert {each.verdict for each in chosen} == {Verdict.BETTER}


def test_an_interval_that_contains_zero_shows_nothing() -> None:
    result = a_result({GOOD: [0.5] * 6, POOR: [0.25] * 6})
    (only,) = comparisons(result, UNIT)
    assert only.chance == pytest.approx(2**-5)
    assert only.low is not None
    assert only.high is not None
    assert only.low < 0 < only.high
    assert only.verdict is Verdict.NOT_SHOWN


@pytest.mark.parametrize(("theirs", "difference"), [([0.25], -0.25), ([None, 0.25], None)])
def test_too_little_in_common_is_said(theirs: list[float | None], difference: float | None) -> None:
    (only,) = comparisons(a_result({GOOD: [0.5], POOR: theirs}), UNIT)
    assert only.verdict is Verdict.TOO_FEW
    assert (only.difference, only.low, only.high, only.chance) == (difference, None, None, None)
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
        "(95 % interval 0.400 to 0.600, 20 exercises)."
    )
    same = Comparison(FAIR, GOOD, -0.5, -1.1, 0.1, 20, 0.2, Verdict.NOT_SHOWN)
    assert comparison_sentence(same).startswith("No difference between fair-v1 and good-v1")
    assert comparison_sentences([worse, worse, same, replace(same, verdict=Verdict.TOO_FEW)]) == [
        "Of 4 agents compared with good-v1, 2 are shown to be worse than it; for fair-v1 no "
        "difference is shown; for 1 there are too few exercises in common."
    ]


# Words and names


def test_numbers_as_people_read_them() -> None:
    assert words.decimals([0.5, -1.0, None, inf]) == 3
    assert words.decimals([4.5]) == 2
    assert words.decimals([12_345.0]) == 0
    assert words.decimals([]) == words.decimals([0.0]) == 3
    assert words.number(-0.25, 2) == "−0.25"
    assert words.number(-0.0001, 2) == words.number(0.0001, 2, signed=True) == "0.00"
    assert words.number(12_345.6, 0) == "12 346"
    assert words.number(None, 2) == "–"
    assert words.number(-inf, 2) == "−∞"
    assert words.chance(0.0004) == "< 0.001"
    assert words.counted(1, "agent") == "1 agent"
    assert words.counted(0, "agent") == "no agents"
    assert words.fault_counts({"time-out": 2, "agent-error": 1}) == "2 time-outs, 1 agent error"


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
    for (below, size), (above, other) in zip(placed, placed[1:], strict=False):
        assert above - below >= (size + other) / 2 - 1e-9


def test_labels_that_do_not_meet_stay_where_they_are() -> None:
    assert moved_apart([0.9, 0.1], [0.1, 0.1]) == pytest.approx([0.9, 0.1])
    assert moved_apart([0.5, 0.5], [0.1, 0.1]) == pytest.approx([0.45, 0.55])


# Figures


def test_the_figure_of_scores() -> None:
    rows = score_table(a_result({GOOD: [1.0, 0.5], POOR: [None]}))
    figure = score_figure(rows)
    assert figure is not None
    assert figure.dots == (
        Dot("good-v1", 0.75, rows[0].low, rows[0].high),
        Dot("poor-v1", None, None, None),
    )
    assert score_figure(rows[1:]) is None


def test_an_infinite_interval_is_not_drawn() -> None:
    row = replace(score_table(a_result({GOOD: [0.5, 0.25]}))[0], low=-inf, high=inf)
    figure = score_figure([row])
    assert figure is not None
    assert figure.dots == (Dot("good-v1", row.value, None, None),)
    assert "hollow" in figure.caption


def test_the_figure_of_differences() -> None:
    compared = comparisons(a_result({GOOD: [0.5, 0.75], POOR: [0.25, 0.0]}), UNIT)
    figure = difference_figure(compared)
    assert figure is not None
    assert figure.dots == (Dot("poor-v1", -0.5, compared[0].low, compared[0].high),)
    assert difference_figure([]) is None


def test_the_figure_of_complexity_needs_two_levels() -> None:
    outcomes = [an_outcome(GOOD, number, number / 4, complexity=number // 2) for number in range(4)]
    protocol = an_evaluation((GOOD,)).make_protocol()
    figure = complexity_figure(score_table(judge(protocol, {GOOD: outcomes}, complete=True), UNIT))
    assert figure is not None
    assert figure.curves[0].places == (0.0, 1.0)
    assert figure.curves[0].values == (0.125, 0.625)
    flat = judge(protocol, {GOOD: outcomes[:2]}, complete=True)
    assert complexity_figure(score_table(flat)) is None


def test_the_figure_of_payoffs_is_thinned_out_evenly() -> None:
    few = a_result({GOOD: [0.5, -0.5, None, 0.0]})
    figure = distribution_figure(few, score_table(few))
    assert figure is not None
    assert figure.strips == (Strip("good-v1", (-0.5, 0.0, 0.5), 0.0, 3),)
    row = score_table(few)[0]
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


def test_learning_curves_are_means_of_running_averages() -> None:
    exercises = {f"k{number}": an_exercise(GOOD, number) for number in range(4)}
    traces = [
        ("k0", a_trace([1.0, 0.0, 1.0, 0.0])),
        ("k1", a_trace([0.0, 1.0], ending=Ending.STOPPED)),  # its average stays at a half
        ("k2", a_trace([1.0], ending=Ending.FAULT, fault=OOPS)),
        ("unknown", a_trace([1.0])),
    ]
    found = learning(exercises, traces)
    assert found is not None
    assert not found.timed
    (curve,) = found.curves
    assert (curve.agent, curve.moments) == (GOOD, (1.0, 2.0, 3.0, 4.0))
    assert curve.values == pytest.approx([0.5, 0.5, 7 / 12, 0.5])
    expected = mean([1.0, 0.0])
    assert (curve.lows[0], curve.highs[0]) == pytest.approx((expected.low, expected.high))
    assert (curve.lows[1], curve.highs[1]) == (0.5, 0.5)
    figure = learning_figure(found, score_table(a_result({GOOD: [0.5, 0.5]})))
    assert figure is not None
    assert figure.across == "Interactions"
    assert figure.curves[0].values == curve.values


def test_learning_curves_over_time() -> None:
    budget = Budget(seconds=2.0)
    exercises = {"k": an_exercise(GOOD, 0, budget=budget)}
    found = learning(exercises, [("k", a_trace([1.0, -1.0], [SECOND // 2, 3 * SECOND // 2]))])
    assert found is not None
    assert found.timed
    (curve,) = found.curves
    assert (len(curve.moments), curve.moments[0], curve.moments[-1]) == (200, 0.01, 2.0)
    at = dict(zip(curve.moments, curve.values, strict=True))
    assert (at[0.49], at[0.5], at[1.49], at[1.5], at[2.0]) == (0.0, 1.0, 1.0, 0.0, 0.0)
    assert np.isnan(curve.lows).all()  # a single exercise says nothing
    figure = learning_figure(found, score_table(a_result({GOOD: [0.5]})))
    assert figure is not None
    assert set(figure.curves[0].lows) == {None}


def test_a_short_exercise_says_nothing_of_later_moments() -> None:
    exercises = {"a": an_exercise(GOOD, 0), "b": an_exercise(GOOD, 1, budget=Budget(2))}
    found = learning(exercises, [("a", a_trace([1.0] * 4)), ("b", a_trace([0.0] * 2))])
    assert found is not None
    assert found.curves[0].values == (0.5, 0.5, 1.0, 1.0)


def test_no_traces_no_learning_curve() -> None:
    assert learning({}, []) is None
    assert learning({"k": an_exercise(GOOD, 0)}, []) is None
    assert learning_figure(None, []) is None


def test_long_exercises_are_known_at_few_moments() -> None:
    exercises = {"k": an_exercise(GOOD, 0, budget=Budget(100_000))}
    found = learning(exercises, [("k", a_trace(np.linspace(0, 1, 100_000).tolist()))])
    assert found is not None
    assert len(found.curves[0].moments) == 200
    assert found.curves[0].values[-1] == pytest.approx(0.5)


def test_a_figure_is_the_same_bytes_again_and_of_any_format(tmp_path: Path) -> None:
    result = a_result({GOOD: [1.0, 0.5], Spec("odd-v1", {"x": "$<b>&\x07#0072b2 漢"}): [0.5, 0.0]})
    figure = score_figure(score_table(result))
    assert figure is not None
    places = {agent.label: place for place, agent in enumerate(result.scores)}
    for name in ("a.svg", "a.pdf", "a.png"):
        save_figure(figure, places, tmp_path / name)
        first = (tmp_path / name).read_bytes()
        save_figure(figure, places, tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    drawn = inline_svg(figure, places)
    assert drawn == inline_svg(figure, places)
    assert "$&lt;b&gt;&amp;�#0072b2 漢" in drawn  # as it is, but escaped
    assert "var(--series-1, #0072b2)" in drawn
    with pytest.raises(InvalidInputError, match=r"a\.gif"):
        save_figure(figure, places, tmp_path / "a.gif")


# Faults


def test_the_same_fault_is_told_once() -> None:
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


# The page


class Page(HTMLParser):
    """Reads a page and complains when its elements are not closed in order."""

    VOID = frozenset({"meta", "br", "link", "img", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        assert len(set(self.names)) == len(self.names)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


PLAIN = Spec("random-v1")
FIXED = Spec("constant-v1", {"action": 1})


def test_the_page_tells_the_numbers(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.0, 0.125, 0.0, 0.125], FIXED: [0.5, 0.75, 0.5, 0.75]}
    record = a_store(tmp_path, an_evaluation((PLAIN, FIXED)), payoffs)
    path = write_report(record)
    assert path == tmp_path / "report.html"
    text = read(path).text
    assert "2 agents in cups-v1(rule=rest)" in text
    assert "8 exercises of 40 interactions in all, judged by the payoff average-v1" in text
    assert "constant-v1(action=1) scored 0.625 (95 % interval 0.395 to 0.855)" in text
    assert "random-v1 is worse than constant-v1(action=1) by 0.562" in text
    assert "No exercise ended in a fault." in text
    assert "Incomplete" not in text
    assert "virtual clock" in text
    assert record.fingerprint in text


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    record = a_store(tmp_path, an_evaluation((PLAIN,)), {PLAIN: [0.5, 0.25, 0.0, 0.5]})
    text = write_report(record).read_text()
    assert "http" not in text
    assert "<link" not in text
    assert "@import" not in text
    assert "src=" not in text
    assert "<svg" in text
    assert "script" not in Page(text).tags


def test_the_same_record_gives_the_same_page(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.0, 0.5, 0.0, 0.25], FIXED: [0.5, 0.75, OOPS, 0.75]}
    evaluation = an_evaluation((PLAIN, FIXED), traces=True)
    record = a_store(tmp_path / "x", evaluation, payoffs, traces=True)
    first = write_report(record).read_bytes()
    other = tmp_path / "deep" / "other.html"
    assert write_report(Record(tmp_path / "x"), other) == other
    assert other.read_bytes() == first == write_report(record).read_bytes()
    assert b"Average reward so far" in first
    assert not list(tmp_path.rglob("*.writing"))


def test_what_agents_say_is_escaped(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    fault = Fault(FaultKind.AGENT_ERROR, f"{evil} & more\nsecond", f"{evil}\n\x00\udcff in detail")
    agent = Spec("constant-v1", {"action": evil})
    payoffs = {agent: [fault, 0.5, 0.5, 0.25]}
    page = read(write_report(a_store(tmp_path, an_evaluation((agent,)), payoffs)))
    assert "script" not in page.tags
    assert f"{evil} & more" in page.text
    assert "in detail" in page.text
    assert f"constant-v1(action={evil}) scored 0.417" in page.text


def test_an_incomplete_evaluation_says_so(tmp_path: Path) -> None:
    record = a_store(tmp_path, an_evaluation((PLAIN, FIXED)), {PLAIN: [0.5, 0.25], FIXED: [0.5]})
    assert "Incomplete: 3 of 8 exercises." in read(write_report(record)).text


def test_a_page_before_anything_happened(tmp_path: Path) -> None:
    page = read(write_report(a_store(tmp_path, an_evaluation((PLAIN, FIXED)), {})))
    assert "Incomplete: 0 of 8 exercises." in page.text
    assert "there is no score yet" in page.text
    assert "cups-v1(rule=rest)" in page.text
    assert "svg" not in page.tags


def test_a_page_of_faults_only(tmp_path: Path) -> None:
    late = Fault(FaultKind.TIME_OUT, "It took longer than 1 s.")
    payoffs = {PLAIN: [OOPS, OOPS, late, late], FIXED: [late] * 4}
    page = read(write_report(a_store(tmp_path, an_evaluation((PLAIN, FIXED)), payoffs)))
    assert "there is no score yet" in page.text
    assert (
        "8 of 8 exercises ended in a fault and are left out of the scores: 2 agent errors, "
        "6 time-outs of constant-v1(action=1) and random-v1." in page.text
    )
    assert "It raised ValueError. At line 3. Traceback ..." in page.text
    assert "In exercise 2, 3." in page.text


def test_a_page_of_one_agent(tmp_path: Path) -> None:
    page = read(write_report(a_store(tmp_path, an_evaluation((PLAIN,)), {PLAIN: [0.5] * 4})))
    assert "random-v1 in cups-v1(rule=rest)" in page.text
    assert "Compared with" not in page.text


def test_a_page_of_one_exercise(tmp_path: Path) -> None:
    evaluation = an_evaluation((PLAIN, FIXED), exercises=1, payoff="total-v1")
    page = read(write_report(a_store(tmp_path, evaluation, {PLAIN: [3.0], FIXED: [4.0]})))
    assert "−∞ to ∞" in page.text
    assert "too few to compare them" in page.text
    assert "total-v1" in page.text


def test_a_page_of_twelve_agents_with_long_names(tmp_path: Path) -> None:
    agents = tuple(
        Spec("scripted-v1", {"actions": [0] * 120 + [number], "remark": "x$_{" * 30})
        for number in range(12)
    )
    evaluation = an_evaluation(agents, complexity=[3, 4], traces=True)
    payoffs = {
        agent: [place / 12, 0.5 * place / 12, place / 24, 0.1] for place, agent in enumerate(agents)
    }
    path = write_report(a_store(tmp_path, evaluation, payoffs, traces=True))
    page = read(path)
    assert all(agent.label in page.text for agent in agents)
    assert "8 more agents scored less" in page.text
    assert page.tags.count("svg") == 5
    assert path.stat().st_size < 2_000_000


def test_figures_as_files(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.5, 0.25, 0.0, 0.5], FIXED: [0.5, 0.75, 0.5, 0.75]}
    record = a_store(tmp_path / "x", an_evaluation((PLAIN, FIXED)), payoffs)
    paths = write_figures(record, tmp_path / "figures", "png")
    names = [path.name for path in paths]
    assert {"scores.png", "differences.png", "distribution.png"} <= set(names)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)


def test_a_page_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    record = a_store(tmp_path / "x", an_evaluation((PLAIN,)), {PLAIN: [0.5]})
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError):
        write_report(record, tmp_path / "file" / "report.html")


# Another payoff over old records


def an_evaluated_store(path: Path, **parameters: object) -> tuple[Record, Result]:
    agents = (parse(Kind.AGENT, "random"), parse(Kind.AGENT, "cup-presser(choice=first)"))
    evaluation = an_evaluation(agents, traces=True, **parameters)
    with writing(path, evaluation.to_json()) as writer:
        result = evaluate(evaluation, writer, Options())
    return Record(path), result


@pytest.mark.parametrize("payoff", ["total-v1", "discounted-v1(parameter=0.9)", "diminishing-v1"])
def test_rejudging_equals_running_with_that_payoff(tmp_path: Path, payoff: str) -> None:
    record, before = an_evaluated_store(tmp_path / "old")
    spec = parse(Kind.PAYOFF, payoff)
    _, wanted = an_evaluated_store(tmp_path / "new", payoff=spec.to_json())
    found = rejudge(record, spec)
    assert found.scores == wanted.scores
    assert found.outcomes == wanted.outcomes
    assert found.complete
    assert found.scores != before.scores
    page = read(write_report(record, tmp_path / "page.html", payoff=spec))
    assert f"judged by the payoff {spec.label}" in page.text


def test_rejudging_with_the_same_payoff_changes_nothing(tmp_path: Path) -> None:
    record, before = an_evaluated_store(tmp_path)
    assert rejudge(record, Spec("average-v1")).scores == before.scores
    assert gather(record).rows == gather(record, Spec("average-v1")).rows


def test_faults_stay_without_payoff(tmp_path: Path) -> None:
    evaluation = an_evaluation((PLAIN,), traces=True)
    record = a_store(tmp_path, evaluation, {PLAIN: [0.5, OOPS, 0.25, 0.0]}, traces=True)
    found = rejudge(record, Spec("total-v1"))
    assert [each.payoff for each in found.outcomes[PLAIN]] == [20.0, None, 10.0, 0.0]


def test_rejudging_needs_traces(tmp_path: Path) -> None:
    without = a_store(tmp_path / "a", an_evaluation((PLAIN,)), {PLAIN: [0.5, 0.25]})
    with pytest.raises(InvalidInputError, match="kept no traces"):
        rejudge(without, Spec("total-v1"))
    lost = a_store(tmp_path / "b", an_evaluation((PLAIN,), traces=True), {PLAIN: [0.5, 0.25]})
    with pytest.raises(StoreError, match="2 of 2 traces are missing"):
        write_report(lost, payoff=Spec("total-v1"))


# Tables for others


def test_a_table_for_latex() -> None:
    odd = Spec("odd_v1", {"a": "50%&#$^~\\"})
    text = latex_table(a_result({odd: [-0.5, -0.25, None], GOOD: [1.0, 0.5], POOR: [None]}))
    lines = text.splitlines()
    assert lines[:4] == [
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"Agent & Score & 95\,\% interval & Exercises & Faults \\",
        r"\midrule",
    ]
    assert lines[4] == r"good-v1 & $0.750$ & [$-1.000$, $1.000$] & 2 & 0 \\"
    assert lines[5].startswith(
        r"odd\_v1(a=50\%\&\#\$\textasciicircum{}\textasciitilde{}\textbackslash{}) & $-0.375$"
    )
    assert lines[6] == r"poor-v1 & -- & -- & 0 & 1 \\"
    assert lines[7:] == [r"\bottomrule", r"\end{tabular}"]


def test_a_table_for_spreadsheets(tmp_path: Path) -> None:
    result = a_result({Spec('a,"b"-v1'): [0.1, 0.2, None], POOR: [None]})
    write_csv(result, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    row = score_table(result)[0]
    assert first["agent"] == 'a,"b"-v1'
    assert float(first["score"]) == row.value
    assert (float(first["low"]), float(first["high"])) == (row.low, row.high)
    assert (first["exercises"], first["agent-error"], first["time-out"]) == ("2", "1", "0")
    assert (second["score"], second["agent-error"]) == ("", "1")


# The room


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    code = """
import sys
import omnimeter.reports
print([name for name in ("matplotlib", "jinja2", "pyarrow", "scipy", "numba") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
