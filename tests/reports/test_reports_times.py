"""Graphs, tables and the LaTeX report of settings with computation times."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from math import isfinite
from pathlib import Path

import pytest

import omnimeter as om
from brl_samples import a_setting, a_stored_campaign, campaign, campaign_settings, remarks
from omnimeter.cli import main
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.protocols.times import Machine
from omnimeter.reports.decisions import BoundsGrid, bounds_grid
from omnimeter.reports.latex import write_latex_report
from omnimeter.reports.page import gather, render
from omnimeter.reports.plotting import inline_svg, matplotlib_figure
from omnimeter.reports.tables import settings_table, write_table
from omnimeter.reports.text import MISSING
from omnimeter.reports.time_figures import (
    Region,
    bounds_figure,
    largest_rectangle,
    time_figure,
    time_report,
)
from reports_samples import Page, a_result

ODD = 'gdl (é, "quoted", 中, 50 % & #1_x ~ ^ | \\ {y} $ <z>)'


# Graphs


def test_scores_against_times() -> None:
    settings = campaign_settings(40)
    offline, online = time_figure(settings), time_figure(settings, online=True)
    assert offline is not None
    assert online is not None
    assert [each.label for each in online.series][:3] == ["random", "e-greedy", "soft-max"]
    assert sum(len(each.points) for each in online.series) == 40
    assert [sum(point.best for point in each.points) for each in online.series] == [1] * 8
    bamcp = online.series[4]
    assert bamcp.points[0].time == pytest.approx(4e-6)
    assert [point.time for point in bamcp.points] == sorted(point.time for point in bamcp.points)
    assert all(p.low < p.value < p.high for p in bamcp.points if p.low and p.high)
    assert online.across == "Mean online time per decision"
    assert online.instant == 0.0
    assert offline.instant == 1e-3
    assert "up to 1 ms are left of the line" in offline.caption
    quantile = time_figure(settings, online=True, phi="p99")
    assert quantile is not None
    assert quantile.across == "99 % quantile of online times per decision"


def test_a_graph_without_times_is_not_drawn() -> None:
    bare = a_setting("a-v1", [0.0, 1.0], measured={})
    assert time_figure([bare]) is None
    assert time_figure([bare], online=True) is None
    assert time_figure([a_setting("a-v1", [0.0, 1.0], offline=0.0)]) is None
    same = a_setting("a-v1", [1.0, 1.0])
    figure = time_figure([same], online=True)
    assert figure is not None
    assert figure.series[0].points[0].low is None  # an infinite interval
    assert same.score is not None
    assert not isfinite(same.score.low)


@pytest.mark.parametrize("ends", [(230e-9, 304e-9), (1.01e-3, 1.99e-3), (0.3, 1.2), (1e-6, 1.0)])
def test_two_places_or_more_of_a_time_axis_are_labelled(ends: tuple[float, float]) -> None:
    settings = [a_setting(f"{n}-v1", [0.0, 1.0], online=time) for n, time in enumerate(ends)]
    figure = time_figure(settings, online=True)
    assert figure is not None
    (axes,) = matplotlib_figure(figure, {}).axes
    low, high = axes.get_xlim()
    shown = [each.get_text() for each in axes.get_xticklabels()]
    assert len(set(shown)) == len(shown) >= 2
    assert all(low <= tick <= high for tick in axes.get_xticks())


def test_regions_of_the_grid() -> None:
    first, both = ("a-v1",), ("b-v1", "a-v1")
    grid = BoundsGrid(
        "gc",
        (1e-3, 5e-3, 25e-3),
        (1e-6, 5e-6),
        ((first, first, ()), (first, both, tuple(reversed(both)))),
        ("offline time", "mean online time per decision"),
        "z-one-sided",
        ("Remark.",),
    )
    figure = bounds_figure(grid, [a_setting(each, [0.0, 1.0]) for each in ("a-v1", "b-v1")])
    assert figure.regions == (
        Region(("a",), frozenset({(0, 0), (0, 1), (1, 0)})),
        Region((), frozenset({(0, 2)})),
        Region(("a", "b"), frozenset({(1, 1), (1, 2)})),
    )
    assert figure.columns == ("1 ms", "5 ms", "25 ms")
    assert "by the z-one-sided test" in figure.caption
    assert figure.caption.endswith("Remark.")
    assert largest_rectangle(figure.regions[0].cells) == (0, 0, 1, 2)
    assert largest_rectangle(frozenset({(2, 3)})) == (2, 3, 1, 1)


def test_graphs_are_drawn_the_same_each_time() -> None:
    settings = campaign_settings(60)
    figures = [time_figure(settings), time_figure(settings, online=True)]
    for figure in (*figures, bounds_figure(bounds_grid(settings), settings)):
        assert figure is not None
        svg = inline_svg(figure, {})
        assert svg == inline_svg(figure, {})
        for name in ("opps-ds", "beb", "sboss"):
            assert name in svg


# Tables


def test_the_table_of_settings(tmp_path: Path) -> None:
    known = a_setting(Spec("a-v1", {"x": 0.5}), [1.0, 2.0, 3.5], 2e-3, 1500.0, published=(2.5, 0.1))
    settings = [a_setting("b-v1", [1.0, 2.0]), known]
    table = settings_table(settings)
    assert table.headings[-1] == "Published"
    first, second = ([cell.text for cell in row] for row in table.rows)
    assert first[:3] == ["a-v1", "x=0.5", "2.17"]
    assert first[4:] == ["3", "1500", "2", "2.5 ± 0.1"]
    assert second[-1] == MISSING
    assert len(settings_table(settings[:1]).headings) == 7
    write_table(table, tmp_path / "settings.csv")
    lines = (tmp_path / "settings.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert rows[0]["parameters"] == '{"x":0.5}'
    assert float(rows[0]["online_s"]) == pytest.approx(2e-3)
    assert float(rows[0]["half_width"]) == pytest.approx(known.half_width)
    assert rows[1]["published"] == ""
    assert str(table).splitlines()[0].startswith("Algorithm")


# LaTeX


@pytest.fixture(scope="module")
def odd_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two problems, one of which has a name of signs that LaTeX has other uses for."""
    settings = campaign_settings(60)[:14]
    settings[3] = replace(settings[3], published=(40.62, 1.55))
    others = [replace(each, problem=ODD, algorithm=f"{each.algorithm}_%") for each in settings]
    directory = tmp_path_factory.mktemp("report")
    return write_latex_report([*settings, *others], directory, title=ODD, notes=[ODD])


def test_the_report_gathers_graphs_and_tables_of_each_problem(
    odd_report: dict[str, Path],
) -> None:
    text = odd_report["report"].read_text(encoding="utf-8")
    for path in odd_report.values():
        assert path.exists()
        assert path.suffix in (".tex", ".csv") or rf"{{{path.name}}}" in text
    assert text.count(r"\includegraphics") == 6
    assert text.count(r"\begin{longtable}") == 4
    assert " &  &  &  & p &  &  &" in text  # of differences, below their intervals
    assert r"40.62 $\pm$ 1.55" in text
    assert "[U+4E2D]" in text
    assert r"\#1\_x" in text
    packages = re.findall(r"^\\usepackage.*{(\w+)}$", text, re.MULTILINE)
    assert packages == ["geometry", "array", "graphicx", "longtable"]


TEX = shutil.which("pdflatex") or shutil.which("tectonic")


@pytest.mark.skipif(TEX is None, reason="neither pdflatex nor tectonic is installed")
def test_the_report_compiles(odd_report: dict[str, Path]) -> None:
    directory = odd_report["report"].parent
    assert TEX is not None
    options = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in TEX else []
    done = subprocess.run(
        [TEX, *options, "report.tex"],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-2000:]
    assert (directory / "report.pdf").stat().st_size > 10_000


# Pages, Python and commands


def test_the_page_has_the_graphs_and_the_table(tmp_path: Path) -> None:
    record = a_stored_campaign(tmp_path / "all", campaign(60), ("beb-v1", "opps-ds-v1"))
    contents = gather(record)
    assert {"offline", "online", "bounds"} <= {each.name for each in contents.figures}
    page = Page(render(contents))
    assert "Settings and their computation times" in page.text
    assert "chosen on 30 even-numbered MDPs" in page.text
    assert "Online, ms per decision" in page.text


def test_a_page_of_agents_that_were_not_timed_says_nothing_of_times() -> None:
    assert time_report(a_result({Spec("a-v1"): [0.0, 1.0]})) is None


def test_a_page_scales_times_and_says_so() -> None:
    result = campaign(60)
    agents = list(result.outcomes)
    elsewhere = {"name": "Processor B", "calibration_us": 60.0}
    moved = [
        replace(each, remarks=remarks(1e-3, 0.1, elsewhere)) for each in result.outcomes[agents[0]]
    ]
    report = time_report(replace(result, outcomes={**result.outcomes, agents[0]: moved}))
    assert report is not None
    assert "scaled by the calibrations" in report.note
    assert len(report.figures) == 3
    bare = {"name": "Processor C", "calibration_us": 0.0}
    lost = [replace(each, remarks=remarks(1e-3, 0.1, bare)) for each in moved]
    report = time_report(replace(result, outcomes={**result.outcomes, agents[0]: lost}))
    assert report is not None
    assert report.figures == ()
    assert "no calibration" in report.note
    early = {agent: done[:1] for agent, done in result.outcomes.items()}
    report = time_report(replace(result, outcomes=early))
    assert report is not None
    assert [each.name for each in report.figures] == ["offline", "online"]


def test_python_decides_over_several_evaluations(tmp_path: Path) -> None:
    result = campaign(60)
    a_stored_campaign(tmp_path / "one", result, ("beb-v1",))
    a_stored_campaign(tmp_path / "two", result, ("e-greedy-v1", "bfs3-v1"))
    both = om.compare(tmp_path / "one", tmp_path / "two")
    decision = both.decide(online=1e-3)
    assert decision.best[0].algorithm == "beb-v1"
    assert decision.held_out
    assert len(decision.candidates) == 3
    assert not both.decide(held_out=False).held_out
    assert both.decide(online=1e-3, feature=lambda times: 1.0).best == []
    assert len(both.settings) == 17
    assert both.plot("bounds") is not None
    assert both.settings[0].measured.keys() == {Machine("Processor A", 30.0)}


def test_the_command_decides_under_bounds(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    result = campaign(60)
    a_stored_campaign(Path("one"), result, ("beb-v1", "random-v1"))
    a_stored_campaign(Path("two"), result, ("opps-ds-v1",))

    def omnimeter(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["omnimeter", "compare", "one", "two", *words])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        return code, *capsys.readouterr()

    code, out, _ = omnimeter("--offline-bound", "1", "--online-bound", "0.001")
    assert code == 0
    assert "Under offline time ≤ 1 s and mean online time per decision ≤ 1 ms" in out
    assert "Discarded settings: 4 (4 for offline time above the bound)." in out
    assert "30 odd-numbered ones" in out
    code, out, _ = omnimeter("--test", "z-one-sided", "--all-mdps", "--json")
    data = json.loads(out)["decision"]
    assert (code, data["test"], data["mdps"], data["offline_bound"]) == (0, "z-one-sided", 60, None)
    code, out, _ = omnimeter("--online-bound", "1e-12")
    assert "no setting is left" in out
    assert "mean online time per decision 40 ns" in " ".join(out.split())
    for words, message in (
        (("--online-bound", "-1"), "bounds are"),
        (("--online-bound", "1", "--reference", "beb"), "--reference cannot be given"),
        (("--test", "z-one-side"), "Did you mean 'z-one-sided'"),
        (("--online-time", "p95", "--mix-machines"), "Did you mean 'p99'"),
    ):
        code, _, err = omnimeter(*words)
        assert code == 2
        assert message in err


def test_a_report_refuses_mixed_machines(tmp_path: Path) -> None:
    settings = [
        a_setting("a-v1", [0.0, 1.0, 3.0]),
        a_setting("b-v1", [0.0, 1.0, 2.0], machine=Machine("Processor B", 31.0)),
    ]
    with pytest.raises(InvalidInputError, match="Processor B"):
        write_latex_report(settings, tmp_path)
    written = write_latex_report(settings, tmp_path, mix=True)
    assert "scaled by the calibrations" in written["report"].read_text(encoding="utf-8")
