"""The report page is safe, whole and repeatable; old records can be judged anew."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from omnimeter.catalogue import Kind, parse
from omnimeter.contract import Fault, FaultKind, InvalidInputError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.execution import Options, evaluate
from omnimeter.protocols import Result
from omnimeter.reports import (
    latex_table,
    rejudge,
    score_rows,
    score_table,
    text,
    write_csv,
    write_figures,
    write_report,
)
from omnimeter.reports.page import gather
from omnimeter.results import Record, open_writer
from reports_samples import (
    FAIR,
    FIXED,
    GOOD,
    OOPS,
    PLAIN,
    POOR,
    Page,
    a_result,
    a_store,
    an_evaluation,
    read,
)


def test_the_page_tells_the_numbers(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.0, 0.125, 0.0, 0.125], FIXED: [0.5, 0.75, 0.5, 0.75]}
    record = a_store(tmp_path, an_evaluation((PLAIN, FIXED)), payoffs)
    path = write_report(record)
    assert path == tmp_path / "report.html"
    text = read(path).text
    assert "2 agents in cups-v1(rule=rest)" in text
    assert "8 exercises of 40 interactions in all, judged by the payoff planned-average-v1" in text
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
    assert f'constant-v1(action="{evil}")† scored 0.417' in page.text


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
    assert f"{text.MINUS}∞ to ∞" in page.text
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


def an_evaluated_store(path: Path, **parameters: object) -> tuple[Record, Result]:
    agents = (parse(Kind.AGENT, "random"), parse(Kind.AGENT, "cup-presser(choice=first)"))
    evaluation = an_evaluation(agents, traces=True, **parameters)
    with open_writer(path, evaluation.to_json()) as writer:
        result = evaluate(evaluation, writer, Options())
    return Record(path), result


@pytest.mark.parametrize("payoff", ["total-v1", "discounted-v1(parameter=0.9)"])
def test_rejudging_equals_running_with_that_payoff(tmp_path: Path, payoff: str) -> None:
    record, before = an_evaluated_store(tmp_path / "old")
    spec = parse(Kind.PAYOFF, payoff)
    _, wanted = an_evaluated_store(tmp_path / "new", payoff=spec.to_json())
    rejudged = rejudge(record, spec)
    assert rejudged.scores == wanted.scores
    assert rejudged.outcomes == wanted.outcomes
    assert rejudged.complete
    assert rejudged.scores != before.scores
    page = read(write_report(record, tmp_path / "page.html", payoff=spec))
    assert f"judged by the payoff {spec.label}" in page.text


def test_rejudging_with_the_same_payoff_changes_nothing(tmp_path: Path) -> None:
    record, before = an_evaluated_store(tmp_path)
    for same in (Spec("planned-average-v1"), Spec("average-v1")):  # these agents never stop
        assert rejudge(record, same).scores == before.scores
        assert gather(record).rows == gather(record, same).rows


def test_the_page_warns_of_a_payoff_that_can_be_exploited(tmp_path: Path) -> None:
    record, _ = an_evaluated_store(tmp_path)
    warning = "keeps that average"
    assert warning not in read(write_report(record)).text
    page = read(write_report(record, tmp_path / "page.html", payoff=Spec("average-v1")))
    assert warning in page.text


def test_faults_stay_without_payoff(tmp_path: Path) -> None:
    evaluation = an_evaluation((PLAIN,), traces=True)
    record = a_store(tmp_path, evaluation, {PLAIN: [0.5, OOPS, 0.25, 0.0]}, traces=True)
    rejudged = rejudge(record, Spec("total-v1"))
    assert [each.payoff for each in rejudged.outcomes[PLAIN]] == [20.0, None, 10.0, 0.0]


def test_rejudging_needs_traces(tmp_path: Path) -> None:
    without = a_store(tmp_path / "a", an_evaluation((PLAIN,)), {PLAIN: [0.5, 0.25]})
    with pytest.raises(InvalidInputError, match="kept no traces"):
        rejudge(without, Spec("total-v1"))
    lost = a_store(tmp_path / "b", an_evaluation((PLAIN,), traces=True), {PLAIN: [0.5, 0.25]})
    with pytest.raises(StoreError, match="2 of 2 traces are missing"):
        write_report(lost, payoff=Spec("total-v1"))


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
    assert lines[4] == r"good-v1 & 0.750 & $-$0.726 to 0.997 & 2 & none \\"
    assert lines[5].startswith(
        r"odd\_v1(a=\textquotedbl{}50\%\&\#\$\textasciicircum{}\textasciitilde{}"
        r"\textbackslash{}\textbackslash{}\textquotedbl{})\dag{} & $-$0.375"
    )
    assert lines[6] == r"poor-v1\dag{} & -- & -- & 0 & 1 agent error \\"
    assert lines[7:9] == [r"\bottomrule", r"\end{tabular}"]


def test_differences_for_latex() -> None:
    text = latex_table(a_result({GOOD: [1.0, 0.5], FAIR: [0.5, 0.25], POOR: [0.0, 0.0]}))
    _, differences = text.split("% Differences from good-v1\n")
    lines = differences.splitlines()
    head = r"Agent & Difference & Simultaneous 95\,\% & In common & p & Verdict \\"
    assert lines[2] == head
    assert [line.split(" & ")[0] for line in lines[4:6]] == ["fair-v1", "poor-v1"]
    assert lines[4].endswith(r"& 2 & 1.000 & no difference shown \\")


def test_a_table_as_plain_text() -> None:
    table = score_table(a_result({GOOD: [1.0, 0.5], POOR: [None]}))
    assert str(table).splitlines() == [
        "Agent     Score    95 % interval  Exercises         Faults",
        f"good-v1   0.750  {text.MINUS}0.726 to 0.997          2           none",
        f"poor-v1†      {text.MISSING}                {text.MISSING}          0  1 agent error",
    ]


def test_a_table_for_spreadsheets(tmp_path: Path) -> None:
    agent = Spec('a,"b"-v1')
    result = a_result({agent: [0.1, 0.2, None], POOR: [None]})
    write_csv(result, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    row = score_rows(result)[0]
    assert first["agent"] == agent.label
    assert float(first["score"]) == row.value
    assert (float(first["low"]), float(first["high"])) == (row.low, row.high)
    assert (first["exercises"], first["agent-error"], first["time-out"]) == ("2", "1", "0")
    assert (second["score"], second["agent-error"]) == ("", "1")


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    code = """
import sys
import omnimeter.reports
heavy = ("matplotlib", "jinja2", "pyarrow", "scipy", "numba")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
