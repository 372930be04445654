"""Tables for other programs: what they hold, that they stream, and what spreadsheets make of it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import omnimeter.results
from omnimeter.contract import Ending, Fault, FaultKind, InvalidInputError, Outcome, Trace
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.results import frames, open_writer
from results_samples import SPEC, make_outcome, make_trace


def broken(number: int, message: str) -> Outcome:
    fault = Fault(FaultKind.AGENT_ERROR, message)
    return replace(make_outcome(number), payoff=None, ending=Ending.FAULT, fault=fault)


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    with open_writer(tmp_path / "one", SPEC) as writer:
        for number in (3, 1):
            outcome = make_outcome(number)
            writer.append([outcome], {outcome.exercise.key: make_trace(number)})
        writer.append([broken(2, "=HYPERLINK(1)"), make_outcome(0, "a-v1")])
    return tmp_path / "one"


def test_outcomes_are_a_data_frame(evaluation: Path) -> None:
    frame = omnimeter.results.open(evaluation).outcomes()
    assert frame["agent"].tolist() == ["a-v1(rate=2)", *["random-v1(rate=2)"] * 3]
    assert frame["number"].tolist() == [0, 1, 2, 3]
    assert frame["environment_class"].unique().tolist() == ["cups-v1"]
    assert frame["complexity"].tolist() == [2.0, 3.0, 4.0, 5.0]
    assert frame["seed"].unique().tolist() == ["7"]
    assert frame["payoff"].isna().tolist() == [False, False, True, False]
    assert frame["payoff"].dropna().tolist() == [0.0, 1 / 7, 3 / 7]
    assert frame["fault_kind"].dropna().to_dict() == {2: "agent-error"}
    assert frame["fault_message"][2] == "=HYPERLINK(1)"
    assert [json.loads(text) for text in frame["remarks"]] == [{"path": "compiled"}] * 4
    assert frame["exercise"][1] == make_outcome(1).exercise.key
    assert "evaluation" not in frame


@pytest.mark.parametrize("inside", [[], ["evaluations"], ["evaluations", "evaluations/e"]])
def test_a_campaign_that_has_no_evaluation_yet_has_no_rows(
    tmp_path: Path, inside: list[str]
) -> None:
    (tmp_path / "campaign.json").write_text('{"plan": {"entries": []}}')
    for name in inside:
        (tmp_path / name).mkdir()
    opened = omnimeter.results.open(tmp_path)
    assert opened.outcomes().columns[0] == "evaluation"
    assert opened.export("csv", tmp_path / "o.csv") == 0
    assert opened.export("parquet", tmp_path / "o.parquet", "traces") == 0


def test_an_evaluation_that_has_lost_its_spec_is_damaged(evaluation: Path) -> None:
    campaign = evaluation.parent / "campaign"
    shutil.copytree(evaluation, campaign / "evaluations" / "whole")
    lost = shutil.copytree(evaluation, campaign / "evaluations" / "lost")
    (lost / "spec.json").unlink()
    with pytest.raises(DamagedError, match=r"spec\.json is missing"):
        omnimeter.results.open(campaign)
    opened = omnimeter.results.open(campaign, damaged="skip")
    assert opened.outcomes()["evaluation"].unique().tolist() == ["whole"]
    assert list(opened.damaged) == [lost]


def test_a_seed_that_was_drawn_is_not_told(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC, secret=7) as writer:
        writer.append([make_outcome(1)])
    assert omnimeter.results.open(tmp_path).outcomes()["seed"].isna().all()


def test_traces_have_a_row_for_each_interaction(evaluation: Path) -> None:
    frame = omnimeter.results.open(evaluation).traces()
    assert len(frame) == 20
    for number, own in frame.groupby("number"):
        trace = make_trace(int(str(number)))
        assert trace.actions is not None
        assert trace.observations is not None
        assert own["index"].tolist() == list(range(10))
        assert own["reward"].tolist() == trace.rewards.tolist()
        assert own["time_ns"].tolist() == trace.times.tolist()
        assert own["action"].tolist() == trace.actions.tolist()
        assert [list(each) for each in own["observation"]] == trace.observations[:-1].tolist()
        assert own["wall_ns"].isna().all()


def test_a_campaign_names_its_evaluations(evaluation: Path, tmp_path: Path) -> None:
    campaign = tmp_path / "study"
    (campaign / "evaluations" / "unfinished").mkdir(parents=True)
    evaluation.rename(campaign / "evaluations" / "b")
    with open_writer(campaign / "evaluations" / "a", SPEC) as writer:
        writer.append([make_outcome(5)])
    opened = omnimeter.results.open(campaign)
    assert opened.outcomes()["evaluation"].tolist() == ["a", *"bbbb"]
    assert set(opened.traces()["evaluation"]) == {"b"}


def test_an_empty_evaluation_has_empty_tables(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC):
        pass
    opened = omnimeter.results.open(tmp_path)
    assert len(opened.outcomes()) == len(opened.traces()) == 0
    assert "payoff" in opened.outcomes()
    opened.export("csv", tmp_path / "outcomes.csv")
    assert (tmp_path / "outcomes.csv").read_text().startswith('"agent"')


@pytest.mark.parametrize("table", ["outcomes", "traces"])
def test_exports_hold_the_same_as_the_frames(
    evaluation: Path, tmp_path: Path, table: frames.TableName
) -> None:
    opened = omnimeter.results.open(evaluation)
    expected = opened.outcomes() if table == "outcomes" else opened.traces()
    opened.export("parquet", tmp_path / "table.parquet", table)
    opened.export("csv", tmp_path / "table.csv", table)
    pd.testing.assert_frame_equal(pq.read_table(tmp_path / "table.parquet").to_pandas(), expected)
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["exercise"] for row in rows] == expected["exercise"].tolist()
    assert list(rows[0]) == list(expected)
    if table == "outcomes":
        assert [row["payoff"] for row in rows] == ["0", repr(1 / 7), "", repr(3 / 7)]
        assert rows[2]["fault_message"] == "'=HYPERLINK(1)"
    else:
        trace = make_trace(int(rows[0]["number"]))
        assert trace.observations is not None
        assert rows[0]["observation"] == " ".join(map(str, trace.observations[0]))


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@SUM(1)", "\t=1", "\uff1d1"])
def test_no_text_of_an_agent_becomes_a_formula(tmp_path: Path, text: str) -> None:
    with open_writer(tmp_path / "own", SPEC) as writer:
        writer.append([broken(1, text), make_outcome(2, text)])
    omnimeter.results.open(tmp_path / "own").export("csv", tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert sum(cell.startswith("'") for cell in cells) >= 1
    assert not [cell for cell in cells if cell[:1] in tuple("=+@\t\uff1d\uff0b\uff0d\uff20")]


def test_long_tables_come_in_pieces(
    evaluation: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened = omnimeter.results.open(evaluation)
    whole = [opened.to_arrow(table).read_all() for table in ("outcomes", "traces")]
    monkeypatch.setattr(frames, "ROWS", 3)
    for table, expected in zip(("outcomes", "traces"), whole, strict=True):
        batches = list(opened.to_arrow(table))
        assert len(batches) > 1
        assert all(len(batch) <= 4 for batch in batches)
        assert pa.Table.from_batches(batches).equals(expected)


def test_observations_of_any_shape_and_missing_columns(tmp_path: Path) -> None:
    traces = [
        Trace(np.zeros(2), np.arange(2), 2, observations=np.arange(12).reshape(3, 2, 2)),
        Trace(np.zeros(0), np.zeros(0, np.int64), 2, observations=np.zeros((0, 1), np.int64)),
        Trace(np.zeros(1), np.zeros(1, np.int64), 2, wall_ns=np.array([5]), cpu_ns=np.array([6])),
    ]
    outcomes = [make_outcome(number) for number in range(3)]
    with open_writer(tmp_path, SPEC) as writer:
        kept = zip((one.exercise.key for one in outcomes), traces, strict=True)
        writer.append(outcomes, dict(kept))
    rows = omnimeter.results.open(tmp_path).to_arrow("traces").read_all().to_pylist()
    rows.sort(key=lambda row: (row["number"], row["index"]))
    assert [row["observation"] for row in rows] == [[0, 1, 2, 3], [4, 5, 6, 7], None]
    assert (rows[2]["wall_ns"], rows[2]["cpu_ns"], rows[2]["action"]) == (5, 6, None)


def test_a_failed_export_leaves_the_file_as_it_was(evaluation: Path, tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("mine")
    opened = omnimeter.results.open(evaluation)
    for shard in (evaluation / "outcomes").iterdir():
        shard.write_bytes(shard.read_bytes()[:-9])
    with pytest.raises(StoreError, match="is damaged"):
        opened.export("csv", target)
    assert target.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "table.csv"]


def test_without_pandas_the_error_says_what_to_do(
    evaluation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInputError, match=r"needs? pandas.*pip install"):
        omnimeter.results.open(evaluation).outcomes()


def test_reading_outcomes_does_not_load_pandas(evaluation: Path) -> None:
    code = (
        "import sys; from omnimeter.results import Record; "
        f"print(Record({str(evaluation)!r}).outcomes().payoffs.sum(), 'pandas' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
    )
    assert shown.stdout.split() == ["nan", "False"]
