"""The report page is safe, whole and repeatable; old records can be judged anew."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from omnimeter.catalogue import Kind, parse
from omnimeter.contract import Fault, FaultKind, InvalidInputError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.estimation import mean
from omnimeter.execution import Options, evaluate
from omnimeter.protocols import Evaluation, Result
from omnimeter.reports import (
    comparisons,
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

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")


def test_the_page_tells_the_numbers(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.0, 0.125, 0.0, 0.125], FIXED: [0.5, 0.75, 0.5, 0.75]}
    record = a_store(tmp_path, an_evaluation((PLAIN, FIXED)), payoffs)
    path = write_report(record)
    assert path == tmp_path / "report.html"
    text = read(path).text
    assert "2 agents in cups-v1(rule=rest)" in text
    assert (
        "2 agents took 4 exercises of 40 interactions each in cups-v1(rule=rest). "
        "constant-v1(action=1) is shown to be best: 0.625 (95 % interval 0.395 to 0.855). "
        "Every difference from the best agent is shown." in text
    )
    assert "\N{MINUS SIGN}0.562" in text
    measured = text.split("What was measured")[1]
    assert "sample-v1" not in text.split("What was measured")[0]
    assert "planned-average-v1. The average reward" in measured
    assert "payoffWhat an exercise is worth" in measured  # behind a click
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
    assert "Not decided is whether constant-v1(action=1) is better than random-v1." in page.text
    assert "too few exercises" in page.text
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
    assert "or 8 others" in page.text or "is shown to be best" in page.text
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
    assert f"Payoff{spec.label}. " in page.text


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
        r"odd\_v1(a={''}50\%\&\#\$\textasciicircum{}\textasciitilde{}"
        r"\textbackslash{}\textbackslash{}{''})\dag{} & $-$0.375"
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


TEX = shutil.which("pdflatex") or shutil.which("tectonic")


@pytest.mark.skipif(TEX is None, reason="neither pdflatex nor tectonic is installed")
@pytest.mark.parametrize("long", [False, True])
def test_tables_for_latex_compile(tmp_path: Path, long: bool) -> None:
    odd = Spec("it_r/50%#$&{}~^\\.py:A", {"note": "x" * 80} if long else {})
    result = a_result({GOOD: [1.0, 0.5] * 8, FAIR: [0.5, 0.25] * 8, odd: [0.1, None] * 8})
    tables = latex_table(result)
    assert "In common & p & Verdict" in tables
    (row,) = (
        line for line in tables.splitlines() if line.startswith("fair-v1") and "worse" in line
    )
    p = text.p_value(comparisons(result)[0].p_value).replace("<", r"\textless{}")
    assert f"& 16 & {p} & " in row
    preamble = (
        r"\documentclass{article}\usepackage{array,booktabs}\usepackage[margin=2cm]{geometry}"
    )
    preamble += r"\begin{document}\footnotesize\sloppy "
    (tmp_path / "a.tex").write_text(preamble + tables + r"\end{document}", encoding="utf-8")
    done = subprocess.run(
        [str(TEX), "a.tex"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="latin-1",
        check=False,
    )
    assert (done.returncode, "Error" in done.stdout) == (0, False), done.stdout[-2000:]
    assert "Overfull" not in done.stdout


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


def a_battery(agents: tuple[Spec, ...], tests: int) -> Evaluation:
    part = {"environment_class": "cups", "interactions": 20}
    exercises = [{**part, "complexity": 3}, {**part, "environment_class": "cups(rule=rest)"}]
    plan = {"title": "Two of a kind", "exercises": exercises}
    return Evaluation(Spec("battery-v1", {"battery": plan, "tests": tests}), agents)


def test_a_battery_has_its_title_and_a_table_of_its_exercises(tmp_path: Path) -> None:
    payoffs = {PLAIN: [0.0, 0.5, 0.25, 0.5], FIXED: [0.5, 0.75, 0.75, OOPS]}
    record = a_store(tmp_path, a_battery((PLAIN, FIXED), 2), payoffs)
    page = read(write_report(record))
    assert "Two of a kind: 2 agents" in page.text
    assert "2 agents took 4 exercises of 20 interactions each in Two of a kind." in page.text
    contents = gather(record)
    table = contents.tables["battery"]
    assert table.headings == (
        "Exercise",
        "Class",
        "Complexity",
        "random-v1",
        "constant-v1(action=1)†",
    )
    first, second = table.rows
    assert [cell.text for cell in first[:3]] == ["1", "cups-v1", "3"]
    assert second[1].text == "cups-v1(rule=rest)"
    expected = mean([0.0, 0.25], support=(-1, 1))
    assert first[3].data["score random-v1"] == expected.value == 0.125
    assert first[3].data["low random-v1"] == expected.low
    assert first[3].text.startswith("0.125\n")
    # Which of its exercises count is decided by its faults.
    assert first[4].text == "0.625"
    assert second[4].data["count constant-v1(action=1)"] == 1
    assert "The mean payoff of the tests in each exercise" in page.text


def test_means_of_as_many_exercises_are_told_by_one_number(tmp_path: Path) -> None:
    page = read(write_report(a_store(tmp_path, a_battery((PLAIN,), 1), {PLAIN: [0.25, 0.5]})))
    assert "Each mean is from 1 exercise." in page.text


def test_one_test_of_a_battery_has_no_intervals_of_exercises(tmp_path: Path) -> None:
    record = a_store(tmp_path, a_battery((PLAIN,), 1), {PLAIN: [0.25, 0.5]})
    rows = gather(record).tables["battery"].rows
    assert [row[3].text for row in rows] == ["0.250", "0.500"]
    assert "One test alone has no interval" in read(write_report(record)).text
    assert "battery" not in gather(a_store(tmp_path / "b", an_evaluation((PLAIN,)), {})).tables


@pytest.fixture(scope="module")
def page_of_long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a battery whose agents have names of two hundred characters."""
    agents = tuple(
        Spec(f"agents/one_of_many.py:{name}", {"remark": "x" * 80, "rate": 0.5})
        for name in ("AnAgentWithANameThatIsLong", "AnotherAgentWithAnEvenLongerName", "short")
    )
    payoffs: dict[Spec, list[float | Fault]] = {
        agent: [0.1 * n, 0.2 * n, 0.1 * n, 0.1] for n, agent in enumerate(agents)
    }
    message = "It raised an error whose message is longer than a line of a telephone."
    payoffs[agents[-1]][0] = Fault(FaultKind.AGENT_ERROR, message, "y" * 300)
    folder = tmp_path_factory.mktemp("long")
    return write_report(
        a_store(folder, a_battery((PLAIN, *agents), 2), {PLAIN: [0.0] * 4, **payoffs})
    )


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [1200, 736, 360])
def test_no_table_is_cut_and_no_name_breaks_within_a_word(
    page_of_long_names: Path, width: int
) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(page_of_long_names.as_uri())
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        tables = page.evaluate(
            "[...document.querySelectorAll('.scroll:not(.drawing)')]"
            ".map((each) => each.scrollWidth - each.clientWidth)"
        )
        assert len(tables) >= 4
        assert set(tables) == {0}
        words = page.evaluate(BROKEN)
        assert words == []
        browser.close()


BROKEN = """
[...document.querySelectorAll(
  'tbody .agent, td.words, .faults summary, h1, .summary b'
)].flatMap((element) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    for (const match of node.data.matchAll(/[A-Za-z][a-z]+|x+/g)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      if (new Set([...range.getClientRects()].map((each) => Math.round(each.top))).size > 1)
        broken.push(match[0]);
    }
  return broken;
})
"""
"""The words of names that go over more than one line."""
