"""The page of people and agents: its figures as data, what it says, and what it escapes."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from omnimeter.reports.distributions import Box, BoxFigure, HistogramFigure, histograms
from omnimeter.reports.figures import CurveFigure
from omnimeter.reports.people import BOTH, PEOPLE, People, Questions, Taken, Taker
from omnimeter.reports.people_page import (
    comparison_json,
    figures_of,
    legend_of,
    sentences_of,
    tables_of,
    write_people_report,
)

HUMANS = Taker(PEOPLE)
HOSTILE = "<script>alert(1)</script>"


def taken(participants=6, exercises=3, agents=("good",), **changes):
    """Made-up results, in which agents with carried memory are better than with fresh memory."""
    rng = np.random.default_rng(participants)
    shape = participants, exercises
    payoffs = {HUMANS: rng.uniform(-1, 1, shape)}
    for agent in agents:
        fresh = rng.uniform(-1, 0.5, shape)
        payoffs |= {Taker(agent, "carried"): fresh + 0.25, Taker(agent, "fresh"): fresh}
    made = Taken(
        title=f"Study {HOSTILE}",
        participants=tuple(f"p{n:04d}" for n in range(1, participants + 1)),
        absent={"did not finish the test": ("p0099",)},
        withdrawn=2,
        exercises=tuple(f"cells {n}" for n in range(3, 3 + exercises)),
        payoffs=payoffs,
        complexities=rng.uniform(10, 30, shape),
        positions=np.tile(np.arange(1, exercises + 1), (participants, 1)),
        support=(-1.0, 1.0),
        reactions=[[np.full(4, 500.0)] * exercises] * participants,
        questions=[
            Questions("how", "scale", (1, 2, 3), (2, 3), 2),
            Questions("why", "text", (), (HOSTILE,), 2, shown=True),
        ],
    )
    return replace(made, **changes)


def test_a_box_has_the_quartiles_and_the_outliers():
    values = [*range(11), 100.0]
    box = Box.of(values)
    assert (box.first, box.median, box.third) == tuple(np.quantile(values, (0.25, 0.5, 0.75)))
    assert (box.low, box.high, box.outliers) == (0.0, 10.0, (100.0,))
    assert (box.mean, box.count) == (pytest.approx(np.mean(values)), 12)
    one = Box.of([0.5])
    assert {one.low, one.first, one.median, one.third, one.high, one.mean} == {0.5}


def test_histograms_count_all_values_in_the_same_bins():
    figure = histograms({"a": [0.0, 0.1, 1.0], "b": [[0.5, 0.5]]}, "exercise", "Payoff")
    assert (figure.edges[0], figure.edges[-1]) == (0.0, 1.0)
    assert [sum(each.counts) for each in figure.histograms] == [3, 2]
    assert all(len(each.counts) == len(figure.edges) - 1 for each in figure.histograms)
    assert figure.histograms[1].deviation == 0
    constant = histograms({"a": [2.0]}, "exercise", "Payoff")
    assert (sum(constant.histograms[0].counts), constant.histograms[0].deviation) == (1, None)


def test_the_figures_have_all_that_was_measured():
    people = People(taken())
    figures = {figure.name: figure for figure in figures_of(people)}
    assert list(figures) == ["means", "differences", "histograms", "boxes-1", "lines"]
    histogram, boxes, lines = (figures[name] for name in ("histograms", "boxes-1", "lines"))
    assert isinstance(histogram, HistogramFigure)
    assert [sum(each.counts) for each in histogram.histograms] == [18, 18, 18]
    assert isinstance(boxes, BoxFigure)
    assert boxes.places == ("cells 3", "cells 4", "cells 5")
    own = dict(boxes.boxes)
    assert list(own) == ["people", "good, carried", "good, fresh"]
    expected = np.median(people.taken.payoffs[HUMANS], axis=0)
    assert [box.median for box in own["people"]] == pytest.approx(expected)
    assert isinstance(lines, CurveFigure)
    assert [len(curve.points) for curve in lines.curves] == [18, 18, 18]


def test_memory_is_reported_and_merged_where_it_changes_nothing():
    made = taken()
    different = People(made)
    (memory,) = different.memories
    assert memory.estimate.value == pytest.approx(0.25)
    assert (memory.differing, memory.exercises) == (18, 18)
    assert "good, carried minus fresh memory: +0.250" in " ".join(sentences_of(different))
    same = made.payoffs | {Taker("good", "fresh"): made.payoffs[Taker("good", "carried")]}
    merged = People(replace(made, payoffs=same))
    assert merged.agents == [Taker("good", BOTH)]
    assert merged.differences[0].second.name == "good"
    assert merged.memories[0].differing == 0
    assert len(comparison_json(merged)["payoffs"]) == 3


def test_intervals_of_several_agents_hold_at_once():
    one, two = People(taken(agents=("a",))), People(taken(agents=("a", "b")))
    assert one.differences[0].estimate.confidence == pytest.approx(1 - 0.05 / 2)
    assert two.differences[0].estimate.confidence == pytest.approx(1 - 0.05 / 4)
    assert two.memories[0].estimate.confidence == pytest.approx(1 - 0.05 / 2)


def test_an_agent_with_faults_is_compared_where_it_has_none():
    made = taken()
    holes = {taker: values.copy() for taker, values in made.payoffs.items()}
    holes[Taker("good", "fresh")][0] = np.nan
    people = People(replace(made, payoffs=holes))
    assert people.missing == {Taker("good", "fresh"): 1}
    counts = {each.second.memory: each.estimate.count for each in people.differences}
    assert counts == {"carried": 6, "fresh": 5}
    assert "had faults in the place of 1 participant" in " ".join(sentences_of(people))
    json.dumps(comparison_json(people), allow_nan=False)


def test_intervals_of_nothing_but_the_possible_values_are_marked(tmp_path):
    made = taken(participants=3)
    few = {taker: values * 0 + 0.25 for taker, values in made.payoffs.items()}
    few[HUMANS][0, 0] += 0.125
    people = People(replace(made, payoffs=few, complexities=np.full((3, 3), 9.0)))
    assert people.means[1].estimate.bounded
    assert people.differences[0].estimate.bounded
    for table in tables_of(people).values():
        for row in table.rows:
            for cell in row:
                bounded = [value for name, value in cell.data.items() if name.endswith("bounded")]
                assert cell.text.endswith("‡") == (bounded == [True])
    assert ", bounded by the possible values alone): no difference" in " ".join(
        sentences_of(people)
    )
    page = write_people_report(people, tmp_path / "a.html")["report"].read_text()
    assert "‡ This interval rests on nothing but" in page
    with (tmp_path / "a-data/differences.csv").open() as file:
        assert {row["bounded"] for row in csv.DictReader(file)} == {"True"}
    latex = (tmp_path / "a-latex/differences.tex").read_text()
    assert r"\par \ddag{} This interval rests on nothing but" in latex
    assert latex.count(r"\ddag{}") == 2  # in its only row, and below
    many = People(taken(participants=30))
    assert not many.differences[0].estimate.bounded
    assert legend_of(tables_of(many)["differences"]) == ""


def test_participants_who_began_an_exercise_anew_are_named(tmp_path):
    people = People(taken(restarts={"p0002": 1, "p0004": 3}))
    said = " ".join(sentences_of(people))
    assert "2 participants began an exercise anew after an interruption" in said
    assert "p0002 (1 time) and p0004 (3 times). Only the last attempt counts" in said
    page = write_people_report(people, tmp_path / "a.html")["report"].read_text()
    assert "2: p0002 (1 time), p0004 (3 times)" in page
    with (tmp_path / "a-data/restarts.csv").open() as file:
        assert [*csv.reader(file)] == [["participant", "restarts"], ["p0002", "1"], ["p0004", "3"]]
    assert comparison_json(people)["tables"]["restarts"][1] == {
        "participant": "p0004",
        "restarts": 3,
    }
    assert "anew" not in " ".join(sentences_of(People(taken())))


@pytest.mark.parametrize(("participants", "exercises"), [(1, 1), (2, 1), (1, 3), (2, 2), (30, 7)])
@pytest.mark.parametrize("agents", [("a",), ("a", "b", "c", "d")])
def test_every_size_has_a_page(tmp_path, participants, exercises, agents):
    people = People(taken(participants, exercises, agents))
    page = write_people_report(people, tmp_path / "a.html")["report"].read_text()
    drawn = {*re.findall(r'<figure id="([\w-]+)">', page)}
    assert drawn == {figure.name for figure in figures_of(people)}
    assert f"{participants} of {participants + 3} participants" in page
    assert ("Analysis of variance" in page) == (participants > 1)


def test_constant_payoffs_have_a_page(tmp_path):
    made = taken()
    constant = {taker: np.full((6, 3), 0.5) for taker in made.payoffs}
    people = People(replace(made, payoffs=constant, complexities=np.full((6, 3), 9.0)))
    page = write_people_report(people, tmp_path / "a.html")["report"].read_text()
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL)
    assert all(row["pearson"] is None for row in comparison_json(people)["tables"]["relations"])


def test_what_others_wrote_is_escaped_and_the_page_is_alone(tmp_path):
    people = People(taken(agents=(HOSTILE,)))
    page = write_people_report(people, tmp_path / "a.html")["report"].read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r'(?:src|href)="(?!#)', page)
    shown = People(replace(people.measured, questions=[Questions("q", "text", (), ("secret",), 1)]))
    assert "secret" not in write_people_report(shown, tmp_path / "b.html")["report"].read_text()


def test_the_same_comparison_has_the_same_files(tmp_path):
    people = People(taken())
    places = write_people_report(people, tmp_path / "a.html")
    first = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    write_people_report(People(taken()), tmp_path / "a.html")
    assert first == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with (places["data"] / "means.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["mean"]) == pytest.approx(people.taken.payoffs[HUMANS].mean())
    stored = json.loads((places["data"] / "comparison.json").read_text())
    assert stored == json.loads(json.dumps(comparison_json(people)))
    assert (places["latex"] / "variance.tex").read_text().startswith(r"\begin{tabular}")
