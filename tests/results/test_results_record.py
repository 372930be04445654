"""One evaluation is one directory: created, continued, read meanwhile, never mixed up."""

from __future__ import annotations

import getpass
import json
import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from omnimeter.contract import Spec
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import fingerprint
from omnimeter.results import Record, current_provenance, open_writer
from results_samples import SPEC, make_outcome, make_trace


def test_appending_again_changes_nothing(tmp_path: Path) -> None:
    first = [make_outcome(number) for number in range(3)]
    with open_writer(tmp_path, SPEC) as writer:
        writer.append(first)
        writer.append(first)
        writer.append([*first, make_outcome(3), make_outcome(3)])
        writer.append([])
    assert len(list((tmp_path / "outcomes").iterdir())) == 2
    with open_writer(tmp_path, SPEC) as writer:
        writer.append(first, {first[0].exercise.key: make_trace(0)})
    assert len(list((tmp_path / "outcomes").iterdir())) == 2
    assert Record(tmp_path).outcomes() == [make_outcome(number) for number in range(4)]
    assert list(Record(tmp_path).traces()) == []


def test_a_second_outcome_of_one_exercise_is_ignored(tmp_path: Path) -> None:
    first = make_outcome(1)
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([first, replace(first, payoff=99.0)])
        writer.append([replace(first, payoff=98.0), make_outcome(2)])
        assert writer.outcomes() == [first, make_outcome(2)]


def test_the_same_spec_continues(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "evaluation"
    with open_writer(directory, SPEC) as writer:
        writer.append([make_outcome(1)])
    with open_writer(directory, dict(reversed(SPEC.items()))) as writer:
        assert writer.keys() == {make_outcome(1).exercise.key}
        writer.append([make_outcome(2)])
    record = Record(directory)
    assert record.spec == SPEC
    assert record.fingerprint == fingerprint(SPEC)
    assert record.outcomes() == [make_outcome(1), make_outcome(2)]
    assert json.loads((directory / "spec.json").read_text())["fingerprint"] == fingerprint(SPEC)


def test_another_spec_is_an_error_and_the_difference_named(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([make_outcome(1)])
    other = {**SPEC, "agents": [{"id": "greedy-v1"}], "protocol": {"id": "fixed-v1"}, "seed": 8}
    with pytest.raises(StoreError) as caught, open_writer(tmp_path, other):
        pass
    assert caught.value.message == (
        f'{tmp_path} holds another evaluation: agents[0].id is "random-v1" there and "greedy-v1" '
        "here; protocol.count is 10 there and absent here; seed is 7 there and 8 here."
    )
    assert "--out" in caught.value.advice
    with pytest.raises(StoreError, match=r"; and more"), open_writer(tmp_path, {"x": "y" * 99}):
        pass
    assert Record(tmp_path).outcomes() == [make_outcome(1)]


def test_long_values_that_differ_at_their_end_are_still_different(tmp_path: Path) -> None:
    with open_writer(tmp_path, {"text": "y" * 99}):
        pass
    with (
        pytest.raises(StoreError, match="text is"),
        open_writer(tmp_path, {"text": "y" * 99 + "z"}),
    ):
        pass


def test_an_edited_spec_is_noticed(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC):
        pass
    spec = tmp_path / "spec.json"
    for text in (spec.read_text().replace("7", "8"), "{", "[]", '{"format": "x"}'):
        spec.write_text(text)
        with pytest.raises(StoreError, match=r"spec\.json is not as it was written"):
            Record(tmp_path)


def test_a_newer_format_is_an_error(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC):
        pass
    spec = tmp_path / "spec.json"
    spec.write_text(spec.read_text().replace('"format": 2', '"format": 3'))
    with pytest.raises(StoreError, match=r"newer Omnimeter .*Update"):
        Record(tmp_path)


@pytest.mark.parametrize("missing", ["nowhere", "empty", "file"])
def test_what_is_no_evaluation_cannot_be_read(tmp_path: Path, missing: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=f"{missing} is not an evaluation"):
        Record(tmp_path / missing)


def test_another_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(StoreError, match="holds no evaluation"), open_writer(tmp_path, SPEC):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_creation_that_was_killed_can_be_repeated(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1")
    (tmp_path / "spec.json.writing").write_text("{")
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([make_outcome(1)])
    assert not list(tmp_path.rglob("*.writing"))


def test_a_reader_sees_what_is_stored_while_another_process_writes(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        record = Record(tmp_path)
        for number in range(4):
            outcome = make_outcome(number)
            writer.append([outcome], {outcome.exercise.key: make_trace(number)})
            assert len(record.keys()) == len(record.outcomes()) == number + 1
            trace = record.trace(outcome.exercise.key)
            assert trace is not None
            assert trace.same_as(make_trace(number))


def test_a_closed_writer_writes_no_more(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        pass
    with pytest.raises(ValueError, match="no longer open"):
        writer.append([make_outcome(1)])


def test_a_trace_needs_its_outcome(tmp_path: Path) -> None:
    with (
        open_writer(tmp_path, SPEC) as writer,
        pytest.raises(ValueError, match="without an outcome"),
    ):
        writer.append([make_outcome(1)], {"unknown": make_trace(1)})


def test_errors_of_the_user_pass_through_and_the_lock_is_released(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(OSError, match="mine"), open_writer(tmp_path, SPEC):
            raise OSError("mine")


def test_every_session_leaves_its_provenance(tmp_path: Path) -> None:
    for seed in (7, 8):
        with open_writer(tmp_path, SPEC, seeds=[seed], specs=[Spec("random-v1", {"rate": 2})]):
            pass
    assert sorted(path.name for path in (tmp_path / "provenance").iterdir()) == [
        "0001.json",
        "0002.json",
    ]
    first, second = Record(tmp_path).provenance()
    assert (first["seeds"], second["seeds"]) == ([7], [8])
    assert first["specs"] == [{"id": "random-v1", "parameters": {"rate": 2}}]
    assert first["spec"] == fingerprint(SPEC)
    assert first["versions"]["omnimeter"]
    assert first["machine"]["cpu_count"] == os.cpu_count()


def test_damaged_provenance_is_named(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC):
        pass
    (tmp_path / "provenance" / "0001.json").write_text("{")
    with pytest.raises(StoreError, match=r"0001\.json is damaged .*no result depends on it"):
        Record(tmp_path).provenance()


def test_what_is_not_json_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    outcome = replace(make_outcome(1), remarks={"odd": object()})
    with open_writer(tmp_path, SPEC) as writer, pytest.raises(TypeError, match="not JSON"):
        writer.append([outcome], {outcome.exercise.key: make_trace(1)})
    assert not list((tmp_path / "traces").iterdir())


def test_provenance_names_neither_host_nor_user_nor_path() -> None:
    provenance = current_provenance()
    assert {"python", "omnimeter", "numpy", "numba", "pyarrow"} <= provenance["versions"].keys()
    assert provenance["started"].endswith("+00:00")
    text = json.dumps(provenance)
    assert str(Path.cwd()) not in text
    values = set(text.replace('"', " ").split())
    assert platform.node() not in values
    assert getpass.getuser() not in values


def test_provenance_knows_the_revision_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "project" not in current_provenance()["revisions"]
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    try:
        subprocess.run(["git", "init", "-q"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("there is no git here")
    (tmp_path / "file").write_text("1")
    subprocess.run(["git", "add", "file"], check=True)
    subprocess.run(["git", *who, "commit", "-qm", "first"], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    expected = {"revision": head.stdout.strip(), "modified": False}
    assert current_provenance()["revisions"]["project"] == expected
    (tmp_path / "file").write_text("2")
    assert current_provenance()["revisions"]["project"] == {**expected, "modified": True}


def test_the_package_loads_nothing_heavy_before_it_is_used() -> None:
    code = (
        "import omnimeter.results, sys; print('pyarrow' in sys.modules, 'sqlite3' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert shown.stdout.split() == ["False", "False"]
