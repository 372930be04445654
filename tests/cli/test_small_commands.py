"""``omnimeter export``, ``explain``, ``cache`` and ``list --complexities``."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import omnimeter as om
from omnimeter import caching
from omnimeter.cli import main
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.environments.cups import Cups
from omnimeter.protocols.sample import complexities_of, draw

HOW: dict[str, Any] = {"exercises": 4, "interactions": 10, "seed": 3}


@pytest.fixture
def typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["omnimeter", *words])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        return code, *capsys.readouterr()

    return run


def test_an_evaluation_is_exported(typed: Any) -> None:
    om.evaluate(["random as any", "constant"], "cups", out="there", **HOW)
    code, told, _ = typed("export", "there")
    assert (code, told) == (0, "8 exercises: there/outcomes.csv\n")
    rows = list(csv.DictReader(Path("there/outcomes.csv").read_text().splitlines()))
    assert [row["agent"] for row in rows].count("any") == 4
    assert {row["seed"] for row in rows} == {"3"}
    code, told, _ = typed("export", "there", "--out", "x.parquet", "--json")
    assert json.loads(told) == {"rows": 8, "file": "x.parquet", "damaged": []}
    assert pq.read_table("x.parquet").num_rows == 8
    assert om.load("there").complete  # the table does not disturb the record


def test_a_campaign_is_exported(typed: Any) -> None:
    Path("plan.toml").write_text(
        '[[agents]]\nagent = "random"\n[[tests]]\nclass = "cups"\nexercises = 2\n'
        "interactions = 10\n"
    )
    assert typed("campaign", "run", "plan.toml", "--out", "done")[0] == 0
    assert typed("export", "done", "--out", "all.csv")[0] == 0
    [first, *_] = csv.DictReader(Path("all.csv").read_text().splitlines())
    assert first["test"] == "cups"


def test_what_cannot_be_exported(typed: Any) -> None:
    code, _, told = typed("export", "nowhere")
    assert code == 4
    assert "nowhere is not an evaluation" in told
    code, _, told = typed("export", "nowhere", "--out", "x.txt")
    assert code == 2
    assert "ends in .csv or .parquet" in told


def test_words_are_explained(typed: Any) -> None:
    code, told, _ = typed("explain", "Potential")
    assert code == 0
    assert told.startswith("potential: The mean of the average rewards")
    assert "docs/tests.md#time" in told
    assert "slot, spread, stability" in typed("explain")[1]
    assert json.loads(typed("explain", "slot", "--json")[1])[0]["name"] == "slot"
    code, _, told = typed("explain", "stabilty")
    assert (code, "Did you mean 'stability'" in told) == (2, True)


def test_tables_say_once_where_words_are_explained(typed: Any) -> None:
    words = ("test", "--agent", "random", "--class", "automata", "--interactions", "300")
    code, told, aside = typed(*words, "--seed", "0", "--out", "anytime")
    assert code == 0
    assert "explain" not in told
    assert aside.count("omnimeter explain stability tells more") == 1
    _, _, aside = typed("run", "--agent", "random", "--class", "cups", "-n", "2", "-i", "9")
    assert "explain" not in aside  # there are no unusual words
    page = Path("anytime/report.html").read_text()
    assert page.count("What these words mean") == 1
    assert "<dt>repetition</dt>" in page


def test_the_cache_is_told_and_cleared(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", "cache")
    root = Path("cache/kernels")
    (root / "module").mkdir(parents=True)
    (root / "prepared").mkdir()
    (root / "key").write_bytes(b"key")
    (root / "module" / "run-1.compiled").write_bytes(b"x" * 100)
    (root / "prepared" / "agent.json").write_bytes(b"y" * 10)
    assert caching.usage() == (1, 100, 1, 10)
    data = json.loads(typed("cache", "--json")[1])
    assert (data["kernels"], data["kernel_bytes"], data["cleared"]) == (1, 100, False)
    code, told, _ = typed("cache", "--clear")
    assert code == 0
    assert "removed    1 kernels" in told
    assert caching.usage() == (0, 0, 1, 10)
    assert sorted(path.name for path in root.iterdir()) == ["key", "prepared"]
    assert typed("cache", "--clear")[0] == 0


def test_a_cache_that_was_never_made(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", "nowhere")
    assert "kernels    0, 0.0 MB" in typed("cache", "--clear")[1]
    assert not Path("nowhere").exists()


def test_complexities_are_listed(typed: Any) -> None:
    code, told, _ = typed("list", "environments", "--complexities")
    assert code == 0
    assert [line.split()[:2] for line in told.splitlines() if line.startswith("gc-")] == [
        ["gc-v1", "33"]
    ]
    data = {each["id"]: each for each in json.loads(typed("list", "--complexities", "--json")[1])}
    assert data["cups-v1"]["drawn"] == [3, 4, 5, 6, 7, 8]
    assert (data["cups-v1"]["lowest"], data["cups-v1"]["highest"]) == (3, 1000)
    code, _, told = typed("list", "agent", "--complexities")
    assert (code, "have no complexities" in told) == (2, True)


def test_complexities_are_those_that_are_drawn() -> None:
    known = complexities_of(Cups())
    assert known == complexities_of(Cups())
    rng = np.random.default_rng(1)
    assert {Cups().complexity(Cups().draw(rng)) for _ in range(20)} <= {*known.drawn}


@pytest.mark.parametrize(("wanted", "near"), [(7.3, "7 and 8"), (0.5, "3"), (2000, "1000")])
def test_the_nearest_complexities_are_named(wanted: float, near: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"The nearest: {near}\.$"):
        draw(Cups(), Spec("cups-v1"), 0, 0, wanted)
