"""Agents with faults of their own or with a privileged view are marked, and ranked apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from omnimeter.contract import FaultKind, Outcome, Spec
from omnimeter.protocols import Result
from omnimeter.protocols.evaluation import judge
from omnimeter.reports import (
    comparisons,
    latex_table,
    result_json,
    score_rows,
    score_table,
    write_report,
)
from omnimeter.reports.figures import difference_figure, score_figure
from omnimeter.reports.summary import (
    characterise,
    comparison_sentence,
    remarks,
    result_sentences,
)
from omnimeter.reports.tables import comparison_table
from reports_samples import (
    FAIR,
    FIXED,
    GOOD,
    OOPS,
    PLAIN,
    POOR,
    a_result,
    a_store,
    an_evaluation,
    read,
)

BROKEN = {GOOD: [0.9, 0.9, None, None], FAIR: [0.5, 0.4, 0.5, 0.4], POOR: [0.1, 0.2, 0.1, 0.1]}
"""The agent with the highest mean failed in half of its exercises."""

SOUND = {agent: [0.9 if each is None else each for each in row] for agent, row in BROKEN.items()}


def changed(result: Result, changes: Mapping[Spec, Mapping[str, object]]) -> Result:
    """The result with other outcomes of some agents."""

    def of(agent: Spec, done: Sequence[Outcome]) -> list[Outcome]:
        return [replace(each, **changes.get(agent, {})) for each in done]  # type: ignore[arg-type]

    outcomes = {agent: of(agent, done) for agent, done in result.outcomes.items()}
    return judge(an_evaluation(tuple(outcomes)).make_protocol(), outcomes, complete=True)


def privileged(*agents: Spec) -> Result:
    """What the sound agents did, some of them with a privileged view."""
    view = {"remarks": {"privileged": "model"}}
    return changed(a_result(SOUND), dict.fromkeys(agents, view))


def names(result: Result) -> list[str]:
    return [row[0].text for row in score_table(result).rows]


def test_an_agent_with_faults_of_its_own_is_last_and_marked_everywhere() -> None:
    result = a_result(BROKEN)
    rows = score_rows(result)
    assert names(result) == ["fair-v1", "poor-v1", "good-v1†"]
    assert [row[1].style for row in score_table(result).rows] == ["strong", "strong", ""]
    _, best, third = result_sentences(rows, comparisons(result), "4 exercises")
    assert best.startswith("fair-v1 ")
    assert "good-v1" not in best + third
    (why,) = remarks(result)
    assert "good-v1†: 2 of 4 exercises ended in faults of its own" in why
    compared = comparisons(result)
    assert {each.reference for each in compared} == {FAIR}
    assert [each.name for each in compared] == ["poor-v1", "good-v1†"]
    figure, differences = score_figure(rows), difference_figure(compared)
    assert figure is not None
    assert differences is not None
    assert [dot.label for dot in figure.dots] == names(result)
    assert [dot.label for dot in differences.dots] == ["poor-v1"]
    (_, faulty) = compared
    assert (faulty.difference, faulty.bounded) == (None, False)
    assert "not compared, because faults" in comparison_sentence(faulty)
    assert [row[0].text for row in comparison_table(result, compared).rows] == [
        "fair-v1",
        "poor-v1",
        "good-v1†\n2 agent errors",
    ]
    latex = latex_table(result)
    assert latex.index("fair-v1 &") < latex.index(r"good-v1\dag{} &")
    assert r"good-v1\dag{}: 2 of 4 exercises ended in faults of its own" in latex


def test_a_program_reads_the_ranks() -> None:
    data = result_json(a_result(BROKEN))
    assert data["ranking"] == ["fair-v1", "poor-v1"]
    assert [each["own_faults"] for each in data["scores"]] == [2, 0, 0]
    assert "faults of its own" in data["remarks"][0]
    seen = result_json(privileged(GOOD))
    assert seen["ranking"] == ["fair-v1", "poor-v1"]
    assert [each.get("privileged") for each in seen["scores"]] == ["model", None, None]


def test_faults_of_the_infrastructure_do_not_change_the_order() -> None:
    result = a_result(BROKEN, FaultKind.INFRASTRUCTURE)
    assert names(result) == ["good-v1", "fair-v1", "poor-v1"]
    assert remarks(result) == []


def test_without_a_sound_agent_there_is_no_best() -> None:
    result = a_result({GOOD: [0.9, 0.8, None], POOR: [0.1, 0.2, None]})
    assert result_sentences(score_rows(result), [], "3 exercises each") == [
        "2 agents took 3 exercises each.",
        "No best score is named, because all agents had faults of their own.",
    ]
    assert comparisons(result) == []
    assert result_json(result)["ranking"] == []
    (chosen,) = comparisons(result, POOR)  # as the user asked for
    assert chosen.verdict.name == "FAULTY"
    assert chosen.marks == ("†", "†")


def test_a_privileged_agent_is_a_reference_and_not_the_best() -> None:
    result = privileged(GOOD)
    assert names(result) == ["fair-v1", "poor-v1", "good-v1*"]
    best = result_sentences(score_rows(result), comparisons(result), "")[1]
    assert best.startswith("fair-v1 ")
    assert {each.reference for each in comparisons(result)} == {FAIR}
    (why,) = remarks(result)
    assert why.startswith("good-v1* had the view model")
    assert "good-v1* &" in latex_table(result)


def test_where_all_agents_are_privileged_the_best_is_marked() -> None:
    result = privileged(GOOD, FAIR, POOR)
    best = result_sentences(score_rows(result), comparisons(result), "")[1]
    assert best.startswith("good-v1* ")
    assert {each.reference_name for each in comparisons(result)} == {"good-v1*"}


def test_an_agent_may_have_both_marks() -> None:
    view = {"remarks": {"privileged": "model"}}
    result = changed(a_result(BROKEN), {GOOD: view, FAIR: view})
    assert names(result) == ["poor-v1", "fair-v1*", "good-v1*†"]


def test_the_page_names_no_broken_agent_as_the_best(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.9, OOPS, OOPS, OOPS], FIXED: [0.1, 0.2, 0.1, 0.3]}
    page = read(write_report(a_store(tmp_path, an_evaluation((PLAIN, FIXED)), payoffs)))
    assert "constant-v1(action=1) has the best score: 0.175" in page.text
    assert "Agents with faults of their own are not compared." in page.text
    assert "random-v1†: 3 of 4 exercises ended in faults of its own" in page.text
    assert "Compared with constant-v1(action=1)" in page.text


def test_agents_without_a_sandbox_and_repeated_attempts_are_remarked() -> None:
    result = changed(
        a_result(SOUND), {GOOD: {"remarks": {"sandbox": "none"}}, FAIR: {"attempts": 2}}
    )
    open_air, again = remarks(result)
    assert open_air.startswith("Without a sandbox: good-v1 could")
    assert again.startswith("4 exercises were attempted again (fair-v1)")
    contained = {GOOD: {"remarks": {"sandbox": "namespaces"}}}
    assert remarks(changed(a_result(SOUND), contained)) == []


def test_faults_of_its_own_say_nothing_about_speed() -> None:
    scores = a_result(BROKEN).scores
    assert characterise(GOOD, scores[GOOD], scores[FAIR]).kind == "cannot be told"
    assert "Faults of its own" in characterise(GOOD, scores[FAIR], scores[GOOD]).reason


def test_the_live_display_marks_scores_that_do_not_count() -> None:
    from rich.console import Console

    from omnimeter.cli.session import AgentProgress, render

    protocol = an_evaluation((GOOD, FAIR)).make_protocol()
    result = changed(a_result(BROKEN), {FAIR: {"remarks": {"privileged": "model"}}})
    shown = [AgentProgress(each, protocol, list(result.outcomes[each])) for each in (GOOD, FAIR)]
    out = Console(width=100, height=40)
    with out.capture() as capture:
        out.print(render(["A test"], shown, out))
    text = capture.get()
    assert "good-v1†   " in text
    assert "fair-v1*   " in text


@pytest.mark.parametrize("agent", [GOOD, FAIR])
def test_a_notebook_and_a_frame_show_the_marks(agent: Spec) -> None:
    from omnimeter.api.result import MemoryRecord
    from omnimeter.api.result import Result as Shown

    evaluation = an_evaluation((GOOD, FAIR, POOR))
    judged = privileged(agent)
    result = Shown(evaluation, MemoryRecord(evaluation.to_json()), judged.outcomes, complete=True)
    assert f"<td>{agent.label}*</td>" in result._repr_html_()
    assert f"{agent.label}* had the view model" in repr(result)
    frame = result.to_pandas()
    assert set(frame[frame.privileged == "model"].agent) == {agent.label}
    assert set(frame.attempts) == {1}


def test_only_the_reference_is_named_so() -> None:
    nothing = {**SOUND, GOOD: [None] * 4}
    result = a_result(nothing)
    rows = comparison_table(result, comparisons(result)).rows
    assert [row[-1].text for row in rows].count("reference") == 1
    assert rows[-1][-1].text != "reference"  # of the agent without a score
