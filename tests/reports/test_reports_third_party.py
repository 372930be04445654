"""An adaptive test of a third party gets the same displays, figures and tables as our own."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

import third_party_protocol
from omnimeter.cli.scores import print_scores
from omnimeter.cli.session import Display
from omnimeter.contract import Spec
from omnimeter.execution import Options, evaluate
from omnimeter.protocols import Evaluation, Result
from omnimeter.reports import comparisons, write_csv
from omnimeter.reports.page import Contents, gather, render
from omnimeter.reports.summary import estimate_sentence, hints
from omnimeter.results import Record, open_writer
from omnimeter.testing import ProtocolSuite
from reports_samples import FIXED, PLAIN, Page

STAIRCASE = Spec(f"{third_party_protocol.__file__}:Staircase", {"repetitions": 3})


class TestStaircase(ProtocolSuite):
    protocol = third_party_protocol.Staircase()


def evaluated(path: Path, spec: Spec = STAIRCASE) -> tuple[Contents, Result]:
    evaluation = Evaluation(spec, (PLAIN, FIXED))
    with open_writer(path, evaluation.to_json()) as writer:
        result = evaluate(evaluation, writer, Options())
    return gather(Record(path)), result


def test_its_page_has_the_course_and_the_columns_of_repetitions(tmp_path: Path) -> None:
    contents, _ = evaluated(tmp_path)
    names = [figure.name for figure in contents.figures]
    assert names[:4] == ["scores", "differences", "course", "level"]
    course = contents.figures[2]
    assert [len(curve.places) for curve in course.curves] == [4, 4]
    assert "Repetitions" in contents.tables["scores"].headings
    assert contents.tables["metrics"].headings == ("Agent", "Successes")
    settings = dict(contents.setting)
    assert settings["Repetitions"] == "3 repetitions of 40 interactions each, side by side"
    assert settings["Staircase"] == "one cup more or fewer after each exercise"
    text = Page(render(contents)).text
    assert "The share of successes." in text
    assert "Repetitions are compared in pairs" in text
    assert "a repetition of 40 interactions in cups-v1" in text


def test_its_progress_is_shown_live(tmp_path: Path) -> None:
    evaluation = Evaluation(STAIRCASE, (PLAIN,))
    out = Console(file=io.StringIO(), force_terminal=True, width=90, height=30, color_system=None)
    with Live(console=out, auto_refresh=False) as live:
        seen = Display(evaluation.make_protocol(), ("Staircase",), live, pause=0)
        with open_writer(tmp_path, evaluation.to_json()) as writer:
            evaluate(evaluation, writer, Options(), seen)
        seen.draw()
    text = out.file.getvalue()
    assert "30 of 120" in text or "60 of 120" in text
    assert "120 of 120 · 12 exercises" in text
    assert "95 % interval" in text


def test_its_tables_have_repetitions_and_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    _, result = evaluated(tmp_path / "a")
    print_scores(result, comparisons(result))
    printed = capsys.readouterr().out
    assert "repetitions" in printed
    assert "successes" in printed
    write_csv(result, tmp_path / "scores.csv")
    with (tmp_path / "scores.csv").open(newline="") as file:
        first = next(csv.DictReader(file))
    assert first["repetitions"] == "3"
    assert 0 <= float(first["successes"]) <= 1


def test_it_is_interpreted_like_our_own(tmp_path: Path) -> None:
    _, result = evaluated(tmp_path, Spec(STAIRCASE.id, {"repetitions": 1}))
    assert "a repetition of 40 interactions in cups-v1" in estimate_sentence(result)
    assert "One repetition has no interval" in next(iter(hints(result)))
