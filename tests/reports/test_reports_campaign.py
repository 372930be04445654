"""Reports of campaigns: the data of each figure and table, the page, LaTeX, and what is missing."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import omnimeter as om
from brl_samples import remarks
from omnimeter.api.campaign import Campaign
from omnimeter.cli.app import app
from omnimeter.contract import (
    Ending,
    Fault,
    Interval,
    InvalidInputError,
    Outcome,
    Score,
    Spec,
    Trace,
)
from omnimeter.estimation import (
    combined_mean,
    difference_sequence,
    mean,
    mean_sequence,
    paired_difference,
    stratified_mean,
)
from omnimeter.reports import campaign_page
from omnimeter.reports.campaign import Member, Scored, campaign_scores, combined_score
from omnimeter.reports.campaign_page import (
    Study,
    gather_campaign,
    render_campaign,
    ways_of,
    write_data,
)
from omnimeter.reports.campaign_sections import Section, sections_of
from omnimeter.reports.campaign_tables import (
    learning_sentences,
    overview_table,
    remarks_of,
    result_sentences,
    tables_of,
)
from omnimeter.reports.comparisons import Verdict, comparisons_over, rows_over, samples_of
from omnimeter.reports.latex import PREAMBLE, plain, tabular
from omnimeter.reports.scores import Eligibility
from omnimeter.reports.tables import Cell, Table, write_table
from omnimeter.results import open_writer
from omnimeter.results.columns import StoredOutcomes
from reports_samples import FIXED, OOPS, PLAIN, Page, an_evaluation, read

AGENTS = (PLAIN, FIXED)
Values = Mapping[Spec, Sequence[float | Fault]]


def member(
    path: Path,
    seed: int,
    payoffs: Values,
    test: str = "sample",
    rewards: Mapping[Spec, Sequence[float]] | None = None,
    complexities: Sequence[float] = (),
    stopping: bool = True,
    **more: object,
) -> Member:
    """An evaluation on disk with these payoffs; they may be fewer than there are exercises.

    Where rewards are fewer than the 40 that were planned, the agent stopped unless told otherwise.
    """
    count = max(1, *map(len, payoffs.values()))
    evaluation = an_evaluation(tuple(payoffs), count, rewards is not None, seed=seed)
    protocol = evaluation.make_protocol()
    directory = path / f"{test}-{seed}"
    with open_writer(directory, evaluation.to_json()) as writer:
        for agent, row in payoffs.items():
            outcomes, traces = [], {}
            proposed = zip(protocol.propose(agent, []), row, strict=False)
            for place, (planned, given) in enumerate(proposed):
                complexity = complexities[place] if complexities else planned.complexity
                exercise = replace(planned, complexity=complexity)
                fault = given if isinstance(given, Fault) else None
                payoff = None if isinstance(given, Fault) else given
                row_of = np.array((rewards or {}).get(agent, []), dtype=np.float64)
                ending = Ending.STOPPED if stopping and 0 < len(row_of) < 40 else Ending.BUDGET
                ending = Ending.FAULT if fault else ending
                outcome = Outcome(exercise, payoff, 40, 0.0, 4, 4, ending, fault=fault, **more)  # type: ignore[arg-type]
                outcomes.append(outcome)
                if rewards is not None:
                    times = np.arange(len(row_of))
                    traces[exercise.key] = Trace(
                        row_of, times, len(row_of), ending, fault=fault, planned=40
                    )
            writer.append(outcomes, traces)
    return Member(f"{test}-{seed}", directory, evaluation, test, "cups-v1", count)


def only(members: Sequence[Member]) -> Section:
    ((section, _, _),) = sections_of(members)
    return section


def figure(section: Section, name: str):
    (drawn,) = [each for each in section.figures if each.name == f"{section.key}-{name}"]
    return drawn


FIRST = {
    PLAIN: [0.0, 0.1, -0.1, 0.2, 0.0, 0.1, 0.05, -0.05],
    FIXED: [0.5, 0.4, 0.6, 0.5, 0.55, 0.45, 0.5, 0.6],
}
SECOND = {
    PLAIN: [0.1, 0.1, 0.0, -0.2, 0.3, 0.0, 0.15, -0.1],
    FIXED: [0.4, 0.6, 0.5, 0.3, 0.7, 0.45, 0.5, 0.55],
}


@pytest.fixture
def pair(tmp_path: Path) -> list[Member]:
    return [member(tmp_path, 1, FIRST), member(tmp_path, 2, SECOND)]


def test_scores_are_the_means_of_those_under_each_seed(pair: list[Member]) -> None:
    section = only(pair)
    best, other = section.rows
    assert (best.agent, best.rank, other.rank) == (FIXED, 1, 2)
    support = (-1.0, 1.0)
    whole = combined_mean([mean(each[FIXED], support=support) for each in (FIRST, SECOND)])
    assert (best.value, best.low, best.high) == pytest.approx((whole.value, whole.low, whole.high))
    dots = {dot.label: dot for dot in figure(section, "scores").dots}
    assert dots["constant-v1(action=1)"].value == best.value
    assert [score.value for score in campaign_scores(pair)] == [other.value, best.value]


def test_many_values_over_seeds_are_strata_as_those_of_differences_are(tmp_path: Path) -> None:
    """Seeds of a few exercises have no long interval because of what each could not tell alone."""
    rng = np.random.default_rng(4)
    draws = [{PLAIN: rng.normal(0.1, 0.1, 5), FIXED: rng.normal(0.4, 0.1, 5)} for _ in range(4)]
    members = [
        member(tmp_path, seed, {agent: row.tolist() for agent, row in each.items()})
        for seed, each in enumerate(draws)
    ]
    support = (-1.0, 1.0)
    expected = stratified_mean([each[FIXED] for each in draws], support=support)
    longer = combined_mean([mean(each[FIXED], support=support) for each in draws])
    row = only(members).rows[0]
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high))
    assert row.high - row.low < 0.5 * (longer.high - longer.low)
    few = only(members[:3]).rows[0]  # 15 values
    longer = combined_mean([mean(each[FIXED], support=support) for each in draws[:3]])
    assert (few.low, few.high) == pytest.approx((longer.low, longer.high))
    # After faults, the intervals of the seeds say what these may have hidden.
    failed = {PLAIN: draws[3][PLAIN].tolist(), FIXED: [OOPS, 0.4, 0.3, 0.5, 0.4]}
    faulty = [*members[:3], member(tmp_path, 9, failed)]
    after = {each.agent: each for each in campaign_scores(faulty)}[FIXED.label]
    assert after.high - after.low > 2 * (row.high - row.low)


def test_bounded_intervals_are_named(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.1] * 12, FIXED: [0.5, 0.4, 0.6, 0.45, 0.55, 0.52] * 2}
    members = [member(tmp_path, seed, payoffs) for seed in (1, 2)]
    known = {score.agent: score for score in campaign_scores(members)}
    assert (known[PLAIN.label].bounded, known[FIXED.label].bounded) == (True, False)
    assert known[PLAIN.label].to_json()["bounded"] is True
    report = gather_campaign(Study("A study", tmp_path, members))
    write_data(report, tmp_path / "data")
    for table in ("scores", "spreads"):
        with (tmp_path / "data" / f"sample-{table}.csv").open() as file:
            written = {row["agent"]: row["bounded"] for row in csv.DictReader(file)}
        assert written[PLAIN.label] == "True"
    svgs = dict.fromkeys((each.name for _, each in report.drawn), "")
    text = Page(render_campaign(report, svgs)).text
    assert "The interval of random-v1 rests, under some of the seeds at least, on nothing" in text
    assert "of the interquartile mean of random-v1" in text


def test_equal_scores_share_a_rank(tmp_path: Path) -> None:
    third = Spec("constant-v1", {"action": 2})
    payoffs = {PLAIN: FIRST[FIXED], FIXED: FIRST[FIXED], third: FIRST[PLAIN]}
    section = only([member(tmp_path, 1, payoffs)])
    assert [row.rank for row in section.rows] == [1, 1, 3]
    sentences = result_sentences([section], 3, 24)
    tied = "constant-v1(action=1) and random-v1"
    assert sentences[1:] == [
        f"{tied} share the best score in sample.",
        "Not decided is which agent is best in sample.",
    ]
    assert [row[1].style for row in overview_table([section]).rows] == ["strong", "strong", "worse"]
    assert overview_table([section] * 7).rows[0][1].text == tied


def test_an_agent_alone_is_not_called_the_best(tmp_path: Path) -> None:
    section = only([member(tmp_path, 1, {PLAIN: FIRST[PLAIN]})])
    sentences = result_sentences([section], 1, 8)
    assert sentences[1].startswith("random-v1 scored 0.038 (95 % interval ")
    assert len(sentences) == 2
    assert result_sentences([section] * 2, 1, 16)[1] == "No test has a second agent."


def test_mean_ranks_are_over_tests_that_all_agents_took(tmp_path: Path) -> None:
    third = Spec("constant-v1", {"action": 2})
    every = {**FIRST, third: [-0.5] * 8}
    members = [
        member(tmp_path, 1, every, test="a"),
        member(tmp_path, 1, every, test="b"),
        member(tmp_path, 1, {PLAIN: [0.9] * 8, third: [0.1] * 8}, test="c"),
    ]
    a, b, c = (section for section, _, _ in sections_of(members))
    table = overview_table([a, b, c])
    assert [row[1].text for row in table.rows] == ["1", "2", "3"]
    assert "Mean rank" not in overview_table([a, c]).headings


def test_privileged_agents_are_no_part_of_the_analysis_of_variance(tmp_path: Path) -> None:
    told = member(tmp_path, 1, FIRST, remarks={"privileged": "foresight"})
    assert only([told]).variance is None
    assert only([member(tmp_path, 2, FIRST)]).variance.agents == 2


def test_the_page_says_what_was_taken_and_what_holds_at_once(pair: list[Member]) -> None:
    report = gather_campaign(Study("A study", pair[0].path.parent, pair))
    svgs = dict.fromkeys((each.name for _, each in report.drawn), "")
    text = " ".join(Page(render_campaign(report, svgs)).text.split())
    assert "Each agent takes 8 exercises of " in text
    assert re.search(r"Payoff: [a-z-]+-v1\. [A-Z]", text)
    assert "It was taken under 2 seeds, which all count alike." in text
    assert "Everything else is a statement of its own with a confidence of 95" in text
    assert "no statement about this test is wrong" not in text
    assert "Compared with the best agent of its test, ▼ is shown to be worse." in text
    assert "▲" not in text
    assert "mark agents that are ranked apart" not in text


def test_differences_are_paired_within_each_seed(tmp_path: Path) -> None:
    # Seeds differ by far more than agents do: only pairs show the difference.
    shifts = [0.8, -0.8]
    gains = (0.1, 0.13, 0.07, 0.09, 0.11, 0.12, 0.08, 0.1)
    members = []
    for seed, shift in enumerate(shifts):
        base = [shift + step for step in (0.0, 0.02, -0.02, 0.01, 0.03, -0.01, 0.02, 0.0)]
        better = [each + gain for each, gain in zip(base, gains, strict=True)]
        members.append(member(tmp_path, seed, {PLAIN: base, FIXED: better}))
    section = only(members)
    (compared,) = section.compared
    assert (compared.agent, compared.verdict) == (PLAIN, Verdict.WORSE)
    assert compared.difference == pytest.approx(-0.1)
    assert compared.count == 16
    assert compared.high - compared.low < 0.1 < section.rows[0].high - section.rows[0].low
    assert section.undecided == []
    (dot,) = figure(section, "differences").dots
    assert (dot.value, dot.low, dot.high) == (compared.difference, compared.low, compared.high)


def test_intervals_of_a_test_hold_at_once(tmp_path: Path) -> None:
    third = Spec("constant-v1", {"action": 2})
    payoffs = {**FIRST, third: [0.1, 0.3, 0.2, 0.0, 0.1, 0.2, 0.1, 0.3]}
    section = only([member(tmp_path, 1, payoffs)])
    assert {each.simultaneous for each in section.compared} == {3}
    (against,) = [each for each in section.compared if each.agent == PLAIN]
    alone = paired_difference(FIRST[PLAIN], FIRST[FIXED], 1 - 0.05 / 3, (-1.0, 1.0))
    assert (against.low, against.high) == pytest.approx((alone.low, alone.high))


def test_spreads_profiles_and_variance_are_over_all_seeds(pair: list[Member]) -> None:
    section = only(pair)
    best, other = section.spreads
    assert best.improvement is None
    assert other.middle.count == 16
    assert other.improvement.value == 0.0  # it wins no exercise
    assert (section.variance.agents, section.variance.units) == (2, 16)
    assert section.variance.effect.p_value < 0.001
    profile = {curve.label: curve for curve in figure(section, "profile").curves}
    curve = profile["random-v1"]
    values = np.array([*FIRST[PLAIN], *SECOND[PLAIN]])
    shares = [float(np.mean(values > place)) for place in curve.places]
    assert curve.values == pytest.approx(shares)
    assert curve.places[0] == -0.2
    assert curve.places[-1] == pytest.approx(0.7)


def test_score_against_complexity(tmp_path: Path) -> None:
    levels = [float(level) for level in range(1, 25)]
    line = [0.9 - 0.05 * level + 0.01 * (-1) ** round(level) for level in levels]
    payoffs = {PLAIN: [0.0, 0.01] * 12, FIXED: line}
    members = [member(tmp_path, seed, payoffs, complexities=levels) for seed in (1, 2)]
    section = only(members)
    means = section.rows[0].complexities
    assert len(means) == 8  # bins of more than twelve complexities
    assert means[0].between == (1.0, 3.0)
    assert sum(each.count for each in means) == 48
    table = tables_of(section)["complexity"]
    assert table.rows[0][1].text == "1 to 3"
    relation = next(each for each in section.relations if each.agent == FIXED)
    assert relation.rank.value < -0.95
    assert relation.line.slope.value == pytest.approx(-0.05, abs=0.002)
    curve = figure(section, "lines").curves[0]
    assert (curve.places[0], curve.places[-1]) == (1.0, 24.0)
    assert curve.values[0] == pytest.approx(0.85, abs=0.02)
    assert all(
        low < value < high
        for low, value, high in zip(curve.lows, curve.values, curve.highs, strict=True)
    )


def test_learning_curves_and_speed(tmp_path: Path) -> None:
    learnt = [0.0] * 10 + [1.0] * 30
    rewards = {PLAIN: [0.0] * 40, FIXED: learnt}
    members = [member(tmp_path, seed, FIRST, rewards=rewards) for seed in (1, 2)]
    section = only(members)
    curves = {curve.label: curve for curve in figure(section, "learning").curves}
    curve = curves["constant-v1(action=1)"]
    assert curve.values[-1] == pytest.approx(0.75)
    assert curve.values[9] == 0.0
    speed = section.speeds["constant-v1(action=1)"]
    assert (speed.value, speed.count, speed.censored) == (10.0, 16, 0)
    assert section.speeds["random-v1"].censored == 16
    assert not section.thinned
    rows = {row[0].text: row for row in tables_of(section)["speeds"].rows}
    assert rows["constant-v1(action=1)"][1].text == "10"
    assert rows["constant-v1(action=1)"][2].text == "8 to 12"
    assert rows["random-v1"][1].text == "∞"
    report = gather_campaign(Study("A study", tmp_path, members))
    write_data(report, tmp_path / "data")
    with (tmp_path / "data" / "sample-speeds.csv").open() as file:
        written = {row["agent"]: row for row in csv.DictReader(file)}
    assert (written["random-v1"]["interactions"], written["random-v1"]["high"]) == ("inf", "inf")
    assert written["random-v1"]["not_learnt"] == "16"
    assert tables_of(section)["speeds"].headings[-1] == "Not learnt"


def test_where_nothing_was_learnt_there_is_a_sentence(tmp_path: Path) -> None:
    rewards = {PLAIN: [0.0] * 40, FIXED: [0.0] * 39 + [-1.0]}
    members = [member(tmp_path, 1, FIRST, rewards=rewards)]
    section = only(members)
    assert {speed.value for speed in section.speeds.values()} == {float("inf")}
    assert "speeds" not in tables_of(section)
    campaign_page.write_campaign_report(Study("A study", tmp_path, members), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    (sentence,) = learning_sentences(section)
    assert "no agent kept 90 %" in sentence
    assert sentence.replace("90 %", "90\N{NO-BREAK SPACE}%") in page
    assert sentence[:40] in (tmp_path / "page-latex" / "report.tex").read_text()


def test_who_stops_when_ahead_has_not_learnt(tmp_path: Path) -> None:
    rewards = {PLAIN: [-1.0] * 15 + [1.0] * 10, FIXED: [0.0] * 10 + [1.0] * 30}
    section = only([member(tmp_path, 1, FIRST, rewards=rewards)])
    speed = section.speeds["random-v1"]
    assert (speed.count, speed.censored) == (8, 8)
    curves = {curve.label: curve for curve in figure(section, "learning").curves}
    assert curves["random-v1"].values[-1] == pytest.approx(-5 / 40)


def test_agents_whose_learning_speed_cannot_be_told_are_named(tmp_path: Path) -> None:
    rewards = {PLAIN: [1.0] * 12, FIXED: [0.0] * 40}
    # A time was over too: this is as long as it lasted.
    section = only([member(tmp_path, 1, FIRST, rewards=rewards, stopping=False)])
    assert section.untold == ["random-v1"]
    assert list(section.speeds) == ["constant-v1(action=1)"]
    first, second = learning_sentences(section)
    assert first.startswith("The learning speed of random-v1 cannot be told")
    assert "none of the others kept" in second


def test_returns_are_paired_within_each_seed_whatever_is_missing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    members = []
    for seed, left in ((1, {PLAIN: 20, FIXED: 40}), (2, {PLAIN: 40, FIXED: 30})):
        problems = rng.uniform(-0.9, 0.8, 40)  # which differ much more than the agents
        own = {PLAIN: problems, FIXED: problems + rng.uniform(0.03, 0.05, 40)}
        rows = {agent: own[agent][: left[agent]].tolist() for agent in AGENTS}
        members.append(member(tmp_path, seed, rows, remarks=remarks(1e-3)))
    timed = only(members).timed
    assert timed is not None
    assert timed.note == (
        "Without bounds, constant-v1(action=1) is the best of 2 algorithms (by simultaneous 95 % "
        "intervals, 50 MDPs). "
        "Only the 50 of 70 MDPs count that all settings have finished."
    )


def test_of_an_agent_with_faults_there_are_only_scores(tmp_path: Path) -> None:
    values = [0.9, OOPS, 0.8, OOPS, 0.7, 0.9, 0.6, 0.9]
    payoffs = {PLAIN: values, FIXED: FIRST[FIXED], Spec("constant-v1", {"action": 2}): FIRST[PLAIN]}
    levels = [float(level) for level in range(1, 9)]
    rewards = {agent: [0.0] * 10 + [1.0] * 30 for agent in payoffs}
    section = only([member(tmp_path, 1, payoffs, rewards=rewards, complexities=levels)])
    sound = ["constant-v1(action=1)", "constant-v1(action=2)"]
    assert [row.name for row in section.rows] == [*sound, "random-v1†"]
    assert section.rows[2].rank is None
    assert section.rows[2].value == pytest.approx(0.8)
    verdicts = {each.name: each.verdict for each in section.compared}
    assert verdicts["random-v1†"] is Verdict.FAULTY
    assert [each.difference for each in section.compared if each.name == "random-v1†"] == [None]
    assert [dot.label for dot in figure(section, "differences").dots] == sound[1:]
    (fault,) = section.faults
    assert (fault.count, fault.fault.message) == (2, OOPS.message)
    assert fault.first.startswith("exercise 1 of sample-1")
    tables = tables_of(section)
    for table in ("spreads", "complexity", "relations", "speeds"):
        assert {row[0].text for row in tables[table].rows} == set(sound)
    assert section.variance.agents == 2
    for name in ("profile", "lines", "learning", "complexity"):
        assert [curve.label for curve in figure(section, name).curves] == sound
    assert tables["scores"].rows[2][-1].text == "2 agent errors"
    assert [row[2].style for row in tables["scores"].rows] == ["strong", "", ""]
    assert "nothing but their scores is told" in remarks_of(section)[0]


def test_an_unfinished_test_has_intervals_that_hold_at_every_moment(tmp_path: Path) -> None:
    whole = {PLAIN: [0.1, -0.1] * 40, FIXED: [0.5, 0.4] * 40}
    first, second = (member(tmp_path, seed, whole) for seed in (1, 2))
    done = only([first, second])
    absent = replace(second, path=tmp_path / "absent", name="absent")
    section = only([first, absent])
    share = 1 - 0.05 / 2  # two seeds are planned, and one pair of agents is compared
    (compared,) = section.compared
    expected = difference_sequence(whole[PLAIN], whole[FIXED], share, (-1.0, 1.0))
    assert (compared.low, compared.high) == pytest.approx((expected.low, expected.high))
    assert (compared.p_value, compared.verdict) == (None, Verdict.WORSE)
    best = mean_sequence(whole[FIXED], share, (-1.0, 1.0))
    assert (section.rows[0].low, section.rows[0].high) == pytest.approx((best.low, best.high))
    assert section.rows[0].high - section.rows[0].low > done.rows[0].high - done.rows[0].low
    assert [(each.low, each.high) for each in campaign_scores([first, absent])] == [
        (row.low, row.high) for row in reversed(section.rows)
    ]
    report = gather_campaign(Study("A", tmp_path, [first, absent]))
    text = Page(render_campaign(report, dict.fromkeys((f.name for _, f in report.drawn), ""))).text
    assert "the intervals of scores and differences hold whenever one stops" in text
    # What has begun without finishing anything counts as little as what has not begun.
    none: Values = {PLAIN: [], FIXED: []}
    begun, other = (member(tmp_path, 3, none, test) for test in ("sample", "other"))
    report = gather_campaign(Study("A", tmp_path, [first, begun, other]))
    assert [section.seeds for section in report.sections] == [(1, 2), (0, 1)]
    assert report.sentences[0] == "2 agents took 1 of 2 tests: 160 exercises."
    assert "The dot is the score" in figure(report.sections[0], "scores").caption
    several = only([first, second, begun])
    assert "the mean of the scores under 2 seeds" in figure(several, "scores").caption
    # What could have been the reason for stopping is not counted: the plan had one seed.
    assert only([first]).compared[0].p_value is not None


def test_the_page_compares_as_the_command_does(tmp_path: Path) -> None:
    """A seed of which nothing but faults is known is not forgotten."""
    failed = {PLAIN: [OOPS] * 8, FIXED: FIRST[FIXED]}
    members = [member(tmp_path, 1, failed), member(tmp_path, 2, SECOND)]
    results = [om.load(each.path).judged for each in members]
    rows = rows_over(results)
    assert [row.name for row in rows] == ["constant-v1(action=1)", "random-v1†"]
    (compared,) = comparisons_over([*map(samples_of, results)], rows, planned=2)
    assert (compared.name, compared.verdict) == ("random-v1†", Verdict.FAULTY)
    assert only(members).compared == [compared]


def test_few_objects_are_made(pair: list[Member], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    objects = StoredOutcomes.objects

    def counting(self, rows):
        made.append(len(rows))
        return objects(self, rows)

    monkeypatch.setattr(StoredOutcomes, "objects", counting)
    only(pair)
    assert sum(made) <= 2 * len(AGENTS) * 2  # one of each kind, where it is looked at


def test_many_tests_have_a_row_each(tmp_path: Path) -> None:
    members = [member(tmp_path, 1, FIRST, test=f"test {place}!") for place in range(7)]
    sections = [section for section, _, _ in sections_of(members)]
    assert len({section.key for section in sections}) == 7
    table = overview_table(sections)
    assert table.headings[0] == "Test"
    assert [row[1].text for row in table.rows] == ["constant-v1(action=1)"] * 7
    assert [row[2].style for row in table.rows] == [""] * 7
    faulty = {PLAIN: [OOPS, *FIRST[PLAIN][1:]], FIXED: FIRST[FIXED]}
    more = only([member(tmp_path, 1, faulty, test="with faults")])
    told = overview_table([*sections, more]).rows[7][4]
    assert told.text == "none; not compared, because of faults: 1 agent"
    assert (told.data["not_shown"], told.data["not_compared"]) == (0, 1)
    few = overview_table(sections[:2])
    assert few.headings == ("Agent", "Mean rank", "test 0!", "test 1!")
    assert few.rows[0][2].style == "strong"
    assert few.rows[1][2].style == "worse"


def test_tests_may_be_called_as_a_column_or_a_formula(tmp_path: Path) -> None:
    members = [member(tmp_path, 1, FIRST, test=name) for name in ("agent", "mean_rank", "=1+1")]
    sections = [section for section, _, _ in sections_of(members)]
    few, many = overview_table(sections), overview_table(sections * 3)
    write_table(few, tmp_path / "few.csv")
    write_table(many, tmp_path / "many.csv")
    with (tmp_path / "few.csv").open() as stream:
        (best, _) = csv.DictReader(stream)
    scores = {f"score_{section.key}": section.rows[0].value for section in sections}
    assert list(best) == ["agent", "mean_rank", *scores]
    assert (best["agent"], best["mean_rank"]) == (FIXED.label, "1.0")
    assert {name: float(best[name]) for name in scores} == scores
    with (tmp_path / "many.csv").open() as stream:
        assert {row["test"] for row in csv.DictReader(stream)} == {"agent", "mean_rank", "'=1+1"}


def test_each_way_of_making_results_tells_its_own_times() -> None:
    old, new = {"versions": {"numpy": "1"}}, {"versions": {"numpy": "2"}}
    days = [(old, "2026-01-02"), (new, "2026-03-01"), (old, "2026-01-01")]
    told = map(dict, ways_of([{**way, "started": day} for way, day in days]))
    seen = [(each["Versions"], each["Started"], each["Sessions"]) for each in told]
    assert seen == [("numpy 1", "2026-01-01 to 2026-01-02", "2"), ("numpy 2", "2026-03-01", "1")]


def test_the_result_has_at_most_three_sentences(pair: list[Member], tmp_path: Path) -> None:
    report = gather_campaign(Study("A study", tmp_path, pair))
    assert report.sentences == [
        "2 agents took 1 test under 2 seeds: 32 exercises.",
        "constant-v1(action=1) is shown to be best in sample.",
        "Every difference from the best agent is shown.",
    ]
    alike = {PLAIN: [0.1, 0.3, 0.2, 0.4], FIXED: [0.3, 0.1, 0.4, 0.21]}
    report = gather_campaign(Study("A study", tmp_path, [member(tmp_path / "x", 1, alike)]))
    assert report.sentences[1:] == [
        "constant-v1(action=1) has the best score in sample.",
        "Not decided is whether constant-v1(action=1) is better than random-v1 in sample.",
    ]


# A campaign that was run.

HOSTILE = """
from omnimeter.contract import Agent

class Rude(Agent):
    def act(self, reward, observation):
        if reward < 0:
            raise ValueError("<script>alert(1)</script> & \\\\input{x} 100 % $x_1^2$")
        return 0
"""

PLAN = """
title = "A <b>study</b> & more_100%"
seeds = [0, 1]
[[agents]]
agent = "random"
[[agents]]
agent = "constant(action=0)"
[[agents]]
agent = 'rude <i>&_.py:Rude'
[[tests]]
class = "cups"
exercises = 6
interactions = 30
complexity = [3, 4]
traces = true
[[tests]]
name = "anytime"
definition = 19
class = "automata"
interactions = 600
[run]
executor = "this-process"
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    (folder / "rude <i>&_.py").write_text(HOSTILE)
    (folder / "study.toml").write_text(PLAN)
    campaign = om.campaign(folder / "study.toml")
    assert campaign.run().complete
    campaign.report()
    return campaign.path


def tree(path: Path) -> dict[str, bytes]:
    folders = [path / "latex", path / "data"]
    known = [path / "report.html", *(each for folder in folders for each in folder.iterdir())]
    return {str(each.relative_to(path)): each.read_bytes() for each in known}


def test_the_page_is_whole_and_safe(finished: Path) -> None:
    source = (finished / "report.html").read_text()
    page = Page(source)  # complains where elements are not closed, or ids not unique
    for outside in ("http", "<link", "@import", "src="):
        assert outside not in source
    assert not {"script", "b:b", "i"} & set(page.tags)
    assert "<script>" not in source
    assert "&lt;script&gt;alert(1)" in source
    assert "A <b>study</b> & more_100%" in page.text
    assert "rude <i>&_.py:Rude†" in page.text
    assert "&amp;_<wbr>.py:<wbr>Rude†" in source  # where a line may end
    assert str(finished) not in source  # no folders of this machine
    for heading in (
        "All tests", "Scores", "Beyond the mean", "Learning", "Score against complexity",
        "In the course of the test", "Faults", "Terms", "How to run it again",
    ):  # fmt: skip
        assert heading in page.text
    assert "omnimeter campaign run campaign.toml --out again" in page.text
    assert 'agent = "constant(action=0)"' in page.text
    assert "Not complete" not in page.text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [1200, 360])
def test_no_table_is_cut(finished: Path, width: int) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        chromium = shutil.which("chromium")
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto((finished / "report.html").as_uri())
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        cut = page.evaluate(
            "[...document.querySelectorAll('.scroll:not(.drawing)')]"
            ".filter((each) => each.scrollWidth > each.clientWidth)"
            ".map((each) => each.innerText)"
        )
        assert cut == []
        browser.close()


def test_every_link_leads_somewhere(finished: Path) -> None:
    source = (finished / "report.html").read_text()
    links = set(re.findall(r'<a [^>]*href="#([^"]+)"', source))
    assert {"cups", "anytime", "terms", "again", "term-difference", "term-anova"} <= links
    assert links <= set(Page(source).names)


def test_the_page_tells_the_same_as_results(finished: Path) -> None:
    told = CliRunner().invoke(app, ["campaign", "results", str(finished), "--json"])
    rows = json.loads(told.stdout)
    text = read(finished / "report.html").text
    files = {"cups": "cups-scores.csv", "anytime": "anytime-scores.csv"}
    for test, name in files.items():
        with (finished / "data" / name).open() as file:
            shown = {row["agent"]: row for row in csv.DictReader(file)}
        own = [row for row in rows if row["test"] == test]
        assert len(own) == len(shown) == 3
        for row in own:
            there = shown[row["agent"]]
            for key, column in (("value", "score"), ("low", "low"), ("high", "high")):
                written = float(there[column]) if there[column] else None
                assert written == row[key]
            assert int(there["exercises"]) == row["exercises"]
            assert int(there["faults"]) == sum(row["faults"].values())
            if row["value"] is not None:
                assert f"{abs(row['value']):.3f}" in text


def test_the_same_campaign_gives_the_same_files(finished: Path, tmp_path: Path) -> None:
    first = tree(finished)
    copy = tmp_path / "elsewhere"
    shutil.copytree(finished, copy)
    for name in ("latex", "data"):
        shutil.rmtree(copy / name)
    (copy / "report.html").unlink()
    Campaign.open(copy).report()
    assert tree(copy) == first


def test_figures_are_data_too(finished: Path) -> None:
    data = {path.stem: json.loads(path.read_text()) for path in finished.glob("data/*.json")}
    drawn = {path.stem for path in finished.glob("latex/*.pdf")}
    assert drawn == set(data)
    assert {"cups-learning", "cups-complexity", "cups-lines", "anytime-course"} <= drawn
    course = data["anytime-course"]
    assert {curve["label"] for curve in course["curves"]} >= {"random-v1", "constant-v1(action=0)"}
    single = [om.load(finished / "evaluations" / f"anytime-seed-{seed}") for seed in (0, 1)]
    ends = [each.scores["random-v1"].value for each in single]
    (curve,) = [each for each in course["curves"] if each["label"] == "random-v1"]
    assert curve["values"][-1] == pytest.approx(sum(ends) / 2)


TEX = shutil.which("pdflatex") or shutil.which("tectonic")


@pytest.mark.skipif(TEX is None, reason="neither pdflatex nor tectonic is installed")
def test_the_latex_compiles(finished: Path, tmp_path: Path) -> None:
    folder = tmp_path / "latex"
    shutil.copytree(finished / "latex", folder)
    source = (folder / "report.tex").read_text()
    tables = [path.stem for path in folder.glob("*.tex") if path.stem != "report"]
    assert all(rf"\input{{{name}}}" in source for name in tables)
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in str(TEX) else []
    done = subprocess.run(
        [str(TEX), *options, "report.tex"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert (folder / "report.pdf").stat().st_size > 10_000
    assert "Overfull" not in done.stdout
    assert "[U+" not in source


@pytest.mark.skipif(TEX is None, reason="neither pdflatex nor tectonic is installed")
def test_rows_that_begin_like_an_argument_compile(tmp_path: Path) -> None:
    names = ["[1cm] x", "* y", "\N{CYRILLIC CAPITAL LETTER BE} z", "[U+0431]", "=1+1"]
    rows = tuple((Cell(name, {}), Cell("0.5", {})) for name in names)
    source = tabular(Table(("[Agent]", "Score"), rows))
    document = f"{PREAMBLE}\\begin{{document}}{source}\n\\end{{document}}"
    (tmp_path / "rows.tex").write_text(document)
    command = [str(TEX), "rows.tex"]
    options = {"cwd": tmp_path, "stdin": subprocess.DEVNULL, "capture_output": True}
    done = subprocess.run(command, **options, text=True, check=False)  # type: ignore[call-overload]
    assert (done.returncode, "Error" in done.stdout) == (0, False), done.stdout[-3000:]


def test_latex_marks_what_the_page_marks() -> None:
    cells = [Cell("0.9", {}, "strong"), Cell("0.1", {}, "worse"), Cell("0.8", {}, "not_shown")]
    row = (Cell("x", {}), *cells, Cell("1.0", {}, "better"))
    source = tabular(Table(("Agent", *"abcd"), (row,)))
    assert (
        r"x & \textbf{0.9} & $\bigtriangledown$ 0.1 & $\approx$ 0.8 & $\bigtriangleup$ 1.0 \\"
        in source
    )


def test_latex_has_titles_and_names_of_any_length() -> None:
    assert plain("sample · cups-v1") == r"sample \textperiodcentered{} cups-v1"
    assert plain("agents.py:Sometimes†") == r"agents.py:\allowbreak{}Sometimes\dag{}"


def test_what_is_missing_is_told(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "study"
    shutil.copytree(finished, copy)
    shutil.rmtree(copy / "evaluations" / "cups-seed-1")
    (copy / "quarantine").mkdir()
    given_up = {
        "evaluation": "cups-seed-1",
        "agents": ["random-v1"],
        "reason": "killed by <signal> 9",
    }
    (copy / "quarantine" / "abc.json").write_text(json.dumps(given_up))
    page = read(Campaign.open(copy).report())
    assert "Not complete." in page.text
    assert "1 unit of work is quarantined" in page.text
    assert "killed by <signal> 9" in page.text
    assert "cups-seed-1random-v10 of 6" in page.text
    assert "1 of 2" in page.text
    assert "Exercises are left in 1 evaluation, and 1 unit of work" in page.text
    assert "It has begun under 1 of 2 seeds. Not all exercises are done." in page.text


def test_a_campaign_that_has_not_begun_has_a_page(finished: Path, tmp_path: Path) -> None:
    copy = tmp_path / "study"
    shutil.copytree(finished, copy)
    shutil.rmtree(copy / "evaluations")
    page = read(Campaign.open(copy).report())
    assert "There is no score yet." in page.text
    assert "Not complete." in page.text


def test_further_tests_have_no_figures(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_page, "DRAWN_TESTS", 1)
    page = tmp_path / "page.html"
    Campaign.open(finished).report(page)
    assert "Only the first 1 tests have figures" in read(page).text
    assert not list(tmp_path.glob("page-latex/anytime*.pdf"))
    assert (tmp_path / "page-data" / "anytime-course.json").exists()


def test_the_command_reports_a_campaign(finished: Path, tmp_path: Path) -> None:
    page = tmp_path / "deep" / "page.html"
    told = CliRunner().invoke(app, ["report", str(finished), "--out", str(page), "--json"])
    data = json.loads(told.stdout)
    assert data["complete"] is True
    assert data["report"] == str(page)
    assert Path(data["latex"]) == page.parent / "page-latex"
    assert "is in the folder page-data as CSV" in read(page).text
    results = json.loads(
        CliRunner().invoke(app, ["campaign", "results", str(finished), "--json"]).stdout
    )
    assert [each["value"] for each in data["scores"]] == [each["value"] for each in results]
    shown = CliRunner().invoke(app, ["report", str(finished), "--out", str(page), "--latex"])
    assert shown.stdout.count(r"\begin{tabular}") == 4
    assert shown.stdout.count(" & p & Verdict") == 2  # p-values of the differences of both tests
    refused = CliRunner().invoke(app, ["report", str(finished), "--payoff", "total"])
    assert isinstance(refused.exception, InvalidInputError)


def test_pages_in_one_folder_keep_apart_and_leave_nothing_behind(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = Campaign.open(finished)
    campaign.report(tmp_path / "a.html")
    first = {path.name for path in (tmp_path / "a-latex").iterdir()}
    own, edited = tmp_path / "a-latex" / "report.pdf", tmp_path / "a-latex" / "cups-lines.pdf"
    own.write_text("mine")
    edited.write_text("mine")
    monkeypatch.setattr(campaign_page, "DRAWN_TESTS", 0)
    campaign.report(tmp_path / "b.html")
    assert {path.name for path in (tmp_path / "a-latex").iterdir()} == {*first, "report.pdf"}
    assert not list((tmp_path / "b-latex").glob("*.pdf"))
    campaign.report(tmp_path / "a.html")
    left = {path.name for path in (tmp_path / "a-latex").glob("*.pdf")}
    assert left == {"report.pdf", "cups-lines.pdf"}  # the files of others, and what they changed


def test_what_is_no_file_of_the_folder_is_not_removed(tmp_path: Path) -> None:
    folder, other = tmp_path / "data", tmp_path / "other.csv"
    folder.mkdir()
    other.write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    (folder / "link.csv").symlink_to(other)
    (folder / "SHA256SUMS").write_text(f"{digest}  ../other.csv\n{digest}  link.csv\nnonsense\n")
    campaign_page.keep_only(folder, [])
    assert other.exists()
    assert (folder / "link.csv").exists()


def test_a_directory_is_no_page(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is a directory"):
        Campaign.open(finished).report(tmp_path)


def test_a_seed_without_a_value_hides_how_good_an_agent_is() -> None:
    """An agent that fails through a whole seed has no interval, rather than that of the others."""
    good = Scored(Score(0.5, Interval(0.45, 0.55), 20), Eligibility(exercises=20), True)
    failed = Scored(Score(None, None, 0, {"agent-error": 10}), Eligibility(10, 10), True)
    row = combined_score(("t", "cups-v1"), PLAIN, [good, failed])
    assert (row.value, row.low, row.high, row.own_faults) == (0.5, None, None, 10)
    assert row.eligibility.mark == "†"
    whole = combined_score(("t", "cups-v1"), PLAIN, [good, good])
    assert whole.low is not None
    assert whole.eligibility.mark == ""


def test_nothing_is_shown_where_others_are_not_compared(tmp_path: Path) -> None:
    faulty = {PLAIN: [OOPS, *FIRST[PLAIN][1:]], FIXED: FIRST[FIXED]}
    section = only([member(tmp_path, 1, faulty)])
    sentences = result_sentences([section], 2, 16)
    assert sentences[1] == "constant-v1(action=1) has the best score in sample."
    assert sentences[2] == "Agents with faults of their own are not compared."
    whole = only([member(tmp_path, 2, FIRST)])
    assert result_sentences([section, whole], 2, 32)[2].startswith("Every other difference")
    assert result_sentences([whole], 2, 16)[2] == "Every difference from the best agent is shown."
