"""Evaluations of other versions: older ones are read, migrated and go on; newer are refused."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from omnimeter.contract.errors import StoreError
from omnimeter.results import Record, files, open_writer, sealing, store, tables
from omnimeter.results.provenance import FORMAT
from results_samples import SPEC, exact_outcome, exact_trace, make_outcome, make_trace

FORMAT2 = Path(__file__).with_name("format2")
"""What the last version with format 2 wrote, and what it reported then (``expected.json``)."""


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(step: int, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """End at the n-th time that a file is written, renamed or removed, before it or after it."""
    steps = itertools.count()

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                raise Killed
            answer = function(*arguments, **options)
            if next(steps) == step:
                raise Killed
            return answer

        return stepping

    with patch.context() as inner:
        inner.setattr(files, "write", around(files.write))
        inner.setattr(Path, "replace", around(Path.replace))
        inner.setattr(Path, "unlink", around(Path.unlink))
        yield


def contents(directory: Path) -> tuple[list[Any], dict[str, Any]]:
    record = Record(directory)
    outcomes = [exact_outcome(each) for each in record.outcomes()]
    return outcomes, {key: exact_trace(trace) for key, trace in record.traces()}


def copied(tmp_path: Path, name: str = "copy") -> Path:
    directory = Path(shutil.copytree(FORMAT2, tmp_path / name))
    (directory / "expected.json").unlink()
    return directory


def versions(directory: Path) -> set[int]:
    paths = [*(directory / "outcomes").iterdir(), *(directory / "traces").iterdir()]
    return {json.loads(pq.read_metadata(path).metadata[b"omnimeter"])["version"] for path in paths}


def reported(directory: Path) -> Any:
    shown = subprocess.run(
        [sys.executable, "-m", "omnimeter", "report", directory.name, "--json"],
        cwd=directory.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(shown.stdout)


def test_format_2_is_read_migrated_and_goes_on(tmp_path: Path) -> None:
    directory = copied(tmp_path, "format2")
    expected = json.loads((FORMAT2 / "expected.json").read_text())
    before = contents(directory)
    assert (len(before[0]), len(before[1])) == (24, 24)
    assert reported(directory) == expected
    assert versions(directory) == {2}

    spec = Record(directory).spec
    with open_writer(directory, spec) as writer:
        assert [exact_outcome(each) for each in writer.outcomes()] == before[0]
        first = writer.outcomes()[0]
        more = replace(first, exercise=replace(first.exercise, number=99))
        writer.append([more], {more.exercise.key: make_trace(1)})
    assert versions(directory) == {3}
    assert not (directory / "index.sqlite").exists()
    (added,) = [each for each in Record(directory).outcomes() if each.exercise.number == 99]
    assert added == more
    after = contents(directory)
    assert len(after[0]) == 25
    assert after[1].items() > before[1].items()
    for kind in ("outcomes", "traces"):
        newest = [p for p in (directory / kind).iterdir() if len(pq.read_table(p)) == 1]
        assert len(newest) == 1
        newest[0].unlink()
    assert contents(directory) == before
    assert reported(directory) == expected


def test_a_migration_may_be_killed_at_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "current_provenance", lambda *_: {})
    before, spec = contents(FORMAT2), Record(FORMAT2).spec
    survived = False
    for step in itertools.count():
        directory = copied(tmp_path, str(step))
        try:
            with killed_at(step, monkeypatch), open_writer(directory, spec):
                survived = True
        except Killed:
            assert contents(directory) == before
        with open_writer(directory, spec):
            pass
        assert contents(directory) == before
        assert versions(directory) == {3}
        assert not list(directory.rglob("*.writing"))
        if survived:
            break
    assert step > 15


@pytest.mark.parametrize(
    ("kind", "module", "function"),
    [("outcomes", tables, "encode_outcomes"), ("traces", store, "encode_traces")],
)
def test_a_shard_of_a_newer_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, module: Any, function: str
) -> None:
    encode = getattr(module, function)

    def newer(*arguments: Any, **options: Any) -> Any:
        with monkeypatch.context() as inner:
            inner.setattr(sealing, "SCHEMA_VERSION", 4)
            return encode(*arguments, **options)

    with monkeypatch.context() as patch, open_writer(tmp_path, SPEC) as writer:
        patch.setattr(module, function, newer)
        outcome = make_outcome(1)
        writer.append([outcome], {outcome.exercise.key: make_trace(1)})
    (shard,) = (tmp_path / kind).iterdir()
    for record in (Record(tmp_path), Record(tmp_path, damaged="skip")):
        with pytest.raises(StoreError) as caught:
            _ = list(record.traces()) if kind == "traces" else record.outcomes()
        assert caught.value.message == f"{shard} was written by a newer Omnimeter (format 4)."
        assert caught.value.advice == "Update Omnimeter."
    if kind == "outcomes":
        with pytest.raises(StoreError, match="newer Omnimeter"), open_writer(tmp_path, SPEC):
            pass


def test_a_newer_evaluation_is_refused(tmp_path: Path) -> None:
    directory = copied(tmp_path)
    content = json.loads((directory / "spec.json").read_text())
    (directory / "spec.json").write_text(json.dumps({**content, "format": FORMAT + 1}))
    for opened in (lambda: Record(directory), lambda: open_writer(directory, {}).__enter__()):
        with pytest.raises(StoreError, match=r"newer Omnimeter \(format 3\)\. Update Omnimeter"):
            opened()
