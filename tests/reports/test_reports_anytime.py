"""Reports of adaptive tests count repetitions, show their course, and say what the score
estimates.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from omnimeter.contract import Ending, Interval, Outcome, Protocol, Score, Spec, Trace
from omnimeter.contract.protocol import Design
from omnimeter.estimation import intraclass, mean
from omnimeter.execution import evaluate
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.protocols.evaluation import judge
from omnimeter.reports import (
    Verdict,
    comparisons,
    latex_table,
    score_rows,
    text,
    write_csv,
)
from omnimeter.reports.figures import (
    Scale,
    complexity_figure,
    course_figures,
    difference_figure,
    distribution_figure,
    learning_figure,
    score_figure,
)
from omnimeter.reports.page import Contents, gather, render
from omnimeter.reports.scores import reliability_of
from omnimeter.reports.summary import (
    ONE_REPETITION,
    UNBALANCED,
    comparison_sentence,
    reliability_sentence,
    stopped_sentence,
)
from omnimeter.reports.tables import metric_table
from omnimeter.results import Record, open_writer
from reports_samples import FIXED, GOOD, OOPS, PLAIN, POOR, Page

Paying = Callable[[int, int], float]
"""What an exercise is worth, by the number of its repetition and of its round."""

BANANAS = {"id": "buttons-v1", "parameters": {"example": "bananas"}}


def steady(repetition: int, place: int) -> float:
    return 0.5 + 0.1 * repetition - 0.01 * place


def doubtful(repetition: int, place: int) -> float:
    return 0.1 * repetition * (-1) ** place


def an_untimed(repetitions: int = 3, interactions: int = 60, **more: object) -> Spec:
    given = {
        "environment_class": "cups-v1",
        "interactions": interactions,
        "repetitions": repetitions,
    }
    return Spec("anytime-untimed-v1", {**given, **more})


def a_timed(**more: object) -> Spec:
    given = {"environment_class": "cups-v1", "time": 3e-5, "repetitions": 3, "clock": "virtual"}
    return Spec("anytime-timed-v1", {**given, **more})


def simulated(protocol: Protocol, agent: Spec, paying: Paying, idle: int = 0) -> list[Outcome]:
    """A whole test with these payoffs; in the first rounds the agent had no time to act."""
    outcomes: list[Outcome] = []
    while exercises := protocol.propose(agent, outcomes):
        for each in exercises:
            place, repetition = divmod(each.number, protocol.repetitions)  # type: ignore[attr-defined]
            actions = 0 if place < idle else 4
            payoff = paying(repetition, place) if actions else 0.0
            outcomes.append(
                Outcome(each, payoff, actions, payoff * actions, 2000, 2000, Ending.BUDGET)
            )
    return outcomes


def a_result(spec: Spec, idle: int = 0, **paying: Paying) -> Result:
    agents = {name: Spec(f"{name}-v1") for name in paying}
    protocol = Evaluation(spec, tuple(agents.values())).make_protocol()
    outcomes = {
        agents[name]: simulated(protocol, agents[name], each, idle) for name, each in paying.items()
    }
    return judge(protocol, outcomes, complete=True)


def a_record(path: Path, spec: Spec, agents: tuple[Spec, ...] = (PLAIN, FIXED)) -> Record:
    evaluation = Evaluation(spec, agents, traces=True)
    with open_writer(path, evaluation.to_json()) as writer:
        evaluate(evaluation, writer)
    return Record(path)


def text_of(contents: Contents) -> str:
    return Page(render(contents)).text


def test_the_figure_of_the_score_in_the_course_of_the_test() -> None:
    result = a_result(an_untimed(), poor=doubtful, good=steady)
    figure, _ = course_figures(result, score_rows(result))
    assert [curve.label for curve in figure.curves] == ["good-v1", "poor-v1"]
    assert figure.scale is Scale.AMOUNTS
    assert figure.across == "Length of a repetition, in interactions"
    curve, course = figure.curves[0], result.courses[GOOD]
    assert curve.places == (1.0, 3.0, 6.0, 11.0, 19.0, 20.0)
    assert curve.values == tuple(moment.value for moment in course)
    assert curve.values[0] == pytest.approx(0.6)
    assert curve.values[-1] == result.scores[GOOD].value
    ends = [moment.interval[:2] for moment in course if moment.interval]
    assert list(zip(curve.lows, curve.highs, strict=True)) == ends
    assert "95 % interval at each moment by itself" in figure.caption
    assert "time to act" not in figure.caption


def test_a_score_that_is_0_without_time_to_act_has_no_band() -> None:
    result = a_result(a_timed(), idle=2, good=steady)
    figure, _ = course_figures(result, score_rows(result))
    assert figure.scale is Scale.SECONDS
    (curve,) = figure.curves
    assert curve.places[:2] == pytest.approx((1e-6, 2.5e-6))
    assert curve.values[:2] == (0.0, 0.0)
    assert curve.lows[:2] == curve.highs[:2] == (None, None)
    assert None not in curve.lows[2:]
    assert "Until it has had time to act" in figure.caption


def test_the_figure_of_the_level() -> None:
    result = a_result(an_untimed(), good=steady)
    _, figure = course_figures(result, score_rows(result))
    (curve,) = figure.curves
    assert curve.values == tuple(moment.level for moment in result.courses[GOOD])
    assert curve.values[0] < curve.values[-1]
    assert set(curve.lows) == {None}


def test_a_course_needs_two_moments_and_other_tests_have_none() -> None:
    short = a_result(an_untimed(interactions=3), good=steady)
    assert course_figures(short, score_rows(short)) == []
    other = replace(a_result(an_untimed(), good=steady), courses={GOOD: ()})
    assert course_figures(other, score_rows(other)) == []


def test_each_repetition_counts_once_at_a_complexity() -> None:
    result = a_result(an_untimed(), good=doubtful)
    (row,) = score_rows(result)
    done = result.outcomes[GOOD]
    for each_mean in row.complexities:
        groups: dict[int, list[float]] = {}
        for each in done:
            if each.exercise.complexity == each_mean.complexity:
                groups.setdefault(each.exercise.number % 3, []).append(each.payoff or 0.0)
        expected = mean([np.mean(group) for group in groups.values()], support=result.support)
        assert each_mean.count == len(groups)
        assert each_mean.value == pytest.approx(expected.value)
        if len(groups) > 1:
            assert (each_mean.low, each_mean.high) == pytest.approx((expected.low, expected.high))
    assert max(each_mean.count for each_mean in row.complexities) == 3
    assert sum(each_mean.count for each_mean in row.complexities) < len(done)


def test_the_figure_of_complexity_warns_of_what_it_mixes() -> None:
    wide = a_result(an_untimed(interactions=600, step=1.0), good=lambda *_: 0.9)
    figure = complexity_figure(score_rows(wide))
    assert figure is not None
    assert figure.scale is Scale.AMOUNTS
    assert "not what complexity alone does" in figure.caption
    assert "logarithmic" in figure.caption
    assert "these repetitions" in figure.caption
    one = a_result(an_untimed(repetitions=1), good=steady)
    alone = complexity_figure(score_rows(one))
    assert alone is not None
    assert alone.scale is Scale.EVEN
    assert "interval" not in alone.caption
    assert set(alone.curves[0].lows) == {None}


def test_the_strip_shows_repetitions() -> None:
    result = a_result(an_untimed(), good=steady, poor=doubtful)
    figure = distribution_figure(result, score_rows(result))
    assert figure is not None
    assert figure.title == "Scores of single repetitions"
    assert figure.unit == "repetition"
    best = figure.strips[0]
    assert best.payoffs == tuple(sorted(result.values[GOOD].values()))
    assert best.count == 3
    assert best.mean == pytest.approx(result.scores[GOOD].value)
    one = a_result(an_untimed(repetitions=1), good=steady)
    assert distribution_figure(one, score_rows(one)) is None


def test_there_is_no_learning_curve_over_unlike_exercises() -> None:
    result = a_result(an_untimed(), good=steady)
    traces = [
        (each.exercise.key, Trace(np.ones(60), np.arange(60), 60, Ending.BUDGET))
        for each in result.outcomes[GOOD]
    ]
    rows = score_rows(result)
    assert learning_figure(result, rows, traces) is None
    assert learning_figure(replace(result, design=Design()), rows, traces) is not None


def test_agents_are_compared_repetition_by_repetition() -> None:
    result = a_result(an_untimed(repetitions=10, interactions=200), good=steady, poor=doubtful)
    compared = comparisons(result)
    (only,) = compared
    assert (only.agent, only.count, only.unit) == (POOR, 10, "repetition")
    assert only.verdict is Verdict.WORSE
    sentence = comparison_sentence(only)
    assert "poor-v1 is worse than good-v1 by" in sentence
    assert sentence.endswith("10 repetitions).")
    assert "repetition by repetition" in sentence
    assert "exercise" not in sentence
    figure = difference_figure(compared)
    assert figure is not None
    assert figure.title == "Differences repetition by repetition"
    assert "exercise" not in figure.caption
    assert "hollow" not in figure.caption


def test_one_repetition_is_too_few_to_compare() -> None:
    compared = comparisons(a_result(an_untimed(repetitions=1), good=steady, poor=doubtful))
    (only,) = compared
    assert only.finding == "too few repetitions in common"
    assert "have 1 repetition in common" in comparison_sentence(only)
    figure = difference_figure(compared)
    assert figure is not None
    assert "hollow" in figure.caption


def test_agents_with_faults_of_their_own_are_not_compared_by_repetitions() -> None:
    result = a_result(an_untimed(), good=steady, poor=doubtful)
    first, *others = result.outcomes[POOR]
    failed = replace(first, payoff=None, ending=Ending.FAULT, fault=OOPS)
    protocol = Evaluation(an_untimed(), (GOOD, POOR)).make_protocol()
    faulty = judge(protocol, {**result.outcomes, POOR: [failed, *others]}, complete=True)
    (only,) = comparisons(faulty)
    assert (only.verdict, only.unit) == (Verdict.FAULTY, "repetition")
    assert only.finding == "not compared, because of faults"


def test_secondary_metrics() -> None:
    untimed = metric_table(a_result(an_untimed(), good=steady))
    assert untimed is not None
    assert untimed.headings == ("Agent", "Stability", "Spread", "Level", "Slot", "Potential")
    result = a_result(a_timed(), idle=2, good=steady)
    timed = metric_table(result)
    assert timed is not None
    assert timed.headings[-2:] == ("Actions/s", "Idle")
    cells = {name: cell.text for cell in timed.rows[0] for name in cell.data}
    parts = result.scores[GOOD].parts
    assert cells["stability"] == text.number(parts["stability"], 3)
    assert cells["speed"] == text.grouped(float(f"{parts['speed']:.3g}"))
    assert cells["slot"] == text.duration(parts["slot"])
    assert cells["idle"] == f"{parts['idle'] * 100:.0f} %"
    assert text.metric(None, "decimal") == text.MISSING
    assert metric_table(replace(result, scores={GOOD: Score(None, None, 0)})) is None
    assert metric_table(replace(result, design=Design())) is None


def test_the_page_of_an_untimed_test(tmp_path: Path) -> None:
    record = a_record(tmp_path, an_untimed(repetitions=5, interactions=1000))
    contents = gather(record)
    text = text_of(contents)
    assert "took 5 repetitions of 200 interactions each in cups-v1." in contents.summary
    assert dict(contents.setting)["Test"].startswith("anytime-untimed-v1. ")
    assert (
        "The score estimates the expected score of a repetition of 200 interactions in cups-v1, "
        "over environments and over the randomness of agent and environment." in text
    )
    settings = dict(contents.setting)
    assert "Definition 19" in settings["Test"]
    assert settings["Length"] == "1 000 interactions in all"
    assert settings["Repetitions"] == "5 repetitions of 200 interactions each, side by side"
    assert settings["Slots"] == "longer by 50 % from round to round"
    assert settings["Level"].startswith(
        "begins with 3, the lowest of the class; a reward of 1 raises"
    )
    assert settings["Budget of an exercise"] == "1 to 62 interactions"
    assert settings["Balance"] == "the class claims it"
    assert "Secondary metrics" in text
    assert "Repetitions are compared in pairs" in text
    assert "Mean interactions" not in text
    assert [each.name for each in contents.figures] == [
        "scores",
        "differences",
        "course",
        "level",
        "complexity",
        "distribution",
    ]
    assert render(contents) == render(gather(Record(tmp_path)))


def test_the_page_of_a_timed_test(tmp_path: Path) -> None:
    contents = gather(a_record(tmp_path, a_timed(time=3e-3)))
    text, settings = text_of(contents), dict(contents.setting)
    assert "3 repetitions of 1 ms each" in text
    assert settings["Length"] == "3 ms in all"
    assert settings["Budget of an exercise"].startswith("1 µs to ")
    assert settings["Clock"].startswith("virtual")
    assert "Actions per second of the agent's own time." in text
    assert "real time" not in text
    assert "100 µs" in text  # at a mark of the logarithmic axis


def test_real_time_is_called_so(tmp_path: Path) -> None:
    text = text_of(gather(a_record(tmp_path, a_timed(time=0.03, clock="wall"), (PLAIN,))))
    assert "3 repetitions of 10 ms of real time each" in text
    assert "a repetition of 10 ms of real time" in text
    assert "and over the measured times" in text


def test_one_repetition_has_no_interval_and_the_page_says_why(tmp_path: Path) -> None:
    contents = gather(a_record(tmp_path, an_untimed(repetitions=1)))
    text = text_of(contents)
    assert "took 1 repetition of 60 interactions in cups-v1." in text
    assert ONE_REPETITION in text
    assert "One repetition alone has no interval." in text
    assert "side by side" not in contents.summary
    figure = score_figure(contents.rows)
    assert figure is not None
    assert figure.caption.endswith(
        "One repetition cannot show how far another one would lie from it."
    )


def test_an_unfinished_test_says_so(tmp_path: Path) -> None:
    evaluation = Evaluation(an_untimed(), (PLAIN,))
    outcomes = simulated(evaluation.make_protocol(), PLAIN, steady)
    with open_writer(tmp_path, evaluation.to_json()) as writer:
        writer.append(outcomes[:7])
    text = text_of(gather(Record(tmp_path)))
    assert "Incomplete: 7 of 18 exercises." in text
    assert "a repetition in cups-v1 that is stopped where this one was" in text
    assert "If it was, this 95 % interval does" in text
    with open_writer(tmp_path / "new", evaluation.to_json()):
        pass
    empty = text_of(gather(Record(tmp_path / "new")))
    assert "there is no score yet" in empty
    assert "no round of exercises was completed" in empty


def test_a_test_that_was_stopped_says_what_holds_if_it_was_watched() -> None:
    watched = {"watched": (0.125, 0.75)}
    alone = Result({GOOD: Score(0.4, Interval(0.3, 0.5), 9, parts=watched)}, {}, complete=False)
    sentence = stopped_sentence(alone)
    assert sentence.endswith(f"this 95 % interval does: {GOOD.label} (0.125 to 0.750).")
    assert stopped_sentence(replace(alone, complete=True)) == ""
    both = replace(alone, scores={**alone.scores, POOR: Score(0.1, None, 1)})
    assert stopped_sentence(both) == f"{sentence} Differences between agents then do not."
    assert stopped_sentence(replace(both, scores={POOR: Score(0.1, None, 1)})) == ""


def test_an_unbalanced_class_is_announced(tmp_path: Path) -> None:
    spec = an_untimed(environment_class=BANANAS, unbalanced=True, interactions=30)
    text = text_of(gather(a_record(tmp_path / "a", spec, (PLAIN,))))
    assert f"Not balanced. {UNBALANCED}" in text
    assert "the class does not claim it" in text
    insisted = a_record(tmp_path / "b", an_untimed(unbalanced=True), (PLAIN,))
    assert gather(insisted).warning == ""  # the class claims it all the same
    given = {"environment_class": BANANAS, "exercises": 1, "interactions": 10, "unbalanced": True}
    universal = a_record(tmp_path / "c", Spec("universal-adjusted-v1", given), (PLAIN,))
    assert gather(universal).warning == UNBALANCED


def test_an_exhausted_class_is_reported(tmp_path: Path) -> None:
    spec = an_untimed(environment_class=BANANAS, unbalanced=True, interactions=30)
    contents = gather(a_record(tmp_path / "a", spec, (PLAIN,)))
    (note,) = contents.notes
    assert "ended early: the class has no further environments" in note
    assert "a repetition of 1 interaction in" in contents.estimate
    assert gather(a_record(tmp_path / "b", an_untimed(), (PLAIN,))).notes == []


def test_another_payoff_cannot_change_where_the_test_went(tmp_path: Path) -> None:
    record = a_record(tmp_path, an_untimed(), (PLAIN,))
    (note,) = gather(record, Spec("diminishing-v1")).notes
    assert "with diminishing-v1 from the beginning, others would have been chosen" in note
    assert gather(record).notes == []


def test_the_page_says_how_reliable_the_comparison_is(tmp_path: Path) -> None:
    record = a_record(tmp_path, an_untimed(repetitions=5, interactions=500))
    contents, result = (
        gather(record),
        summarise(Evaluation.from_json(record.spec), record.outcomes()),
    )
    expected = intraclass([[each[n] for n in range(5)] for each in result.values.values()])
    assert (
        f"(intraclass correlation): {expected.value:.2f} ({expected.low:.2f} to "
        f"{expected.high:.2f}). This share"
    ) in contents.reliability
    text = text_of(contents)
    assert contents.reliability in text
    assert text.index(contents.estimate) < text.index(contents.reliability)


def test_reliability_is_that_of_paired_repetitions() -> None:
    result = a_result(an_untimed(), good=steady, poor=doubtful)
    reliability = reliability_of(result)
    assert reliability is not None
    tables = [[result.values[agent][n] for n in range(3)] for agent in (GOOD, POOR)]
    assert reliability == intraclass(tables)
    fewer = {**result.values, POOR: {n: result.values[POOR][n] for n in (0, 2)}}
    paired = [[values[n] for n in (0, 2)] for values in fewer.values()]
    assert reliability_of(replace(result, values=fewer)) == intraclass(paired)


def test_where_nothing_is_known_of_reliability_nothing_is_said(tmp_path: Path) -> None:
    alone = a_record(tmp_path / "a", an_untimed(), (PLAIN,))
    once = a_record(tmp_path / "b", an_untimed(repetitions=1))
    given = {"environment_class": "cups-v1", "exercises": 6, "interactions": 20}
    universal = a_record(tmp_path / "c", Spec("universal-adjusted-v1", given))
    for record in (alone, once, universal):
        contents = gather(record)
        assert contents.reliability == ""
        assert "intraclass" not in text_of(contents)
    assert reliability_sentence(None) == ""


def test_adjusted_exercises_are_exercises_all_the_same(tmp_path: Path) -> None:
    given = {"environment_class": "cups-v1", "exercises": 6, "interactions": 20}
    spec = Spec("universal-adjusted-v1", {**given, "adjustment": "share-v1"})
    contents = gather(a_record(tmp_path, spec))
    figures = {each.name: each for each in contents.figures}
    assert figures["distribution"].title == "Adjusted payoffs of single exercises"
    assert "before it is adjusted" in figures["complexity"].caption
    assert "took 6 exercises of 20 interactions each" in contents.summary
    settings = dict(contents.setting)
    assert settings["Adjustment"].startswith("share-v1.")
    assert "Definition 15" in settings["Test"]
    said = [contents.summary, contents.estimate, *(each.caption for each in contents.figures)]
    assert "repetition" not in " ".join(said)
    assert [*contents.tables] == ["scores", "differences", "complexity"]


def test_tables_of_repetitions(tmp_path: Path) -> None:
    result = a_result(an_untimed(), good=steady)
    lines = latex_table(result).splitlines()
    assert "& Repetitions &" in lines[2]
    assert lines[4].endswith(r"& 3 & 18 & none \\")
    write_csv(result, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["repetitions"], row["exercises"]) == ("3", "18")
    assert float(row["stability"]) == result.scores[GOOD].parts["stability"]
    assert float(row["level"]) == result.scores[GOOD].parts["level"]
    assert row["confidence"] == "0.95"
