"""When the disk refuses or a file is damaged: one clear message, and nothing stored is lost."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omnimeter import results
from omnimeter.contract.errors import StoreError
from omnimeter.results import Record, Writer, open_writer, provenance
from results_samples import SPEC, exact_trace, make_outcome, make_trace

FULL = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG]
FORBIDDEN = [errno.EACCES, errno.EPERM, errno.EROFS]


def append(writer: Writer, *numbers: int) -> None:
    outcomes = [make_outcome(number) for number in numbers]
    writer.append(outcomes, {one.exercise.key: make_trace(one.exercise.number) for one in outcomes})


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_a_file_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        events.append(("fsync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        fsync(descriptor)

    def noted_replace(path: Path, target: Path) -> Path:
        events.append(("rename", target.name))
        return replace(path, target)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to see which file is meant")
    with open_writer(tmp_path, SPEC) as writer:
        monkeypatch.setattr(os, "fsync", noted_fsync)
        monkeypatch.setattr(Path, "replace", noted_replace)
        append(writer, 1)
    (shard,) = (path.name for path in (tmp_path / "outcomes").iterdir())
    names = [re.sub(r"\.[0-9a-f]{8}\.writing$", ".writing", name) for _, name in events]
    assert [(event, name) for (event, _), name in zip(events, names, strict=True)] == [
        event
        for directory in ("traces", "outcomes")
        for event in (("fsync", f"{shard}.writing"), ("rename", shard), ("fsync", directory))
    ]


@pytest.mark.parametrize("number", [*FULL, *FORBIDDEN, errno.EIO])
@pytest.mark.parametrize("moment", ["write", "traces", "outcomes"])
def test_a_disk_that_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, moment: str
) -> None:
    fsync, replace = os.fsync, Path.replace

    def refuse() -> None:
        raise OSError(number, os.strerror(number))

    def refusing_fsync(descriptor: int) -> None:
        if moment == "write":
            refuse()
        fsync(descriptor)

    def refusing_replace(path: Path, target: Path) -> Path:
        if target.parent.name == moment:
            refuse()
        return replace(path, target)

    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1)
        before = files(tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", refusing_fsync)
            patch.setattr(Path, "replace", refusing_replace)
            with pytest.raises(StoreError) as caught:
                append(writer, 2, 3)
        assert files(tmp_path) == before
        assert writer.outcomes() == [make_outcome(1)]
        append(writer, 2, 3)
    assert os.strerror(number) in caught.value.message
    assert "Everything stored so far is safe." in caught.value.advice
    if number in FULL:
        assert "no space" in caught.value.message
        assert "run the same command again" in caught.value.advice
    if number in FORBIDDEN:
        assert "--out" in caught.value.advice
    assert Record(tmp_path).outcomes() == [make_outcome(number) for number in (1, 2, 3)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system with very little space."""
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root on Linux can mount a small disk")
    directory = tmp_path / "disk"
    directory.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(directory)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_disk_that_is_really_full(small_disk: Path) -> None:
    directory, number = small_disk / "evaluation", 0
    with open_writer(directory, SPEC) as writer:
        with pytest.raises(StoreError, match="no space") as caught:  # noqa: PT012 - until it is full
            for number in range(1000):
                append(writer, number)
        assert "safe" in caught.value.advice
        assert not list(directory.rglob("*.writing"))
        stored = [make_outcome(done) for done in range(number)]
        assert writer.outcomes() == stored
    assert number > 3
    assert Record(directory).outcomes() == stored
    subprocess.run(["mount", "-o", "remount,size=2m", str(small_disk)], check=True)
    with open_writer(directory, SPEC) as writer:
        assert writer.outcomes() == stored
        append(writer, number, number + 1)
    record = Record(directory)
    assert record.outcomes() == [*stored, make_outcome(number), make_outcome(number + 1)]
    assert len(list(record.traces())) == number + 2


def test_a_disk_that_can_only_be_read(small_disk: Path) -> None:
    directory = small_disk / "evaluation"
    with open_writer(directory, SPEC) as writer:
        append(writer, 1)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    record = Record(directory)
    assert record.outcomes() == [make_outcome(1)]
    assert len(list(record.traces())) == len(record.keys()) == 1
    for where in (directory, small_disk / "other"):
        with pytest.raises(StoreError, match="may not be written"), open_writer(where, SPEC):
            pass


LIMITED = """
import resource, sys
from results_samples import SPEC, make_outcome
from omnimeter.contract.errors import StoreError
from omnimeter.results import open_writer
with open_writer(sys.argv[1], SPEC) as writer:
    writer.append([make_outcome(1)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))
    try:
        writer.append([make_outcome(number) for number in range(2, 500)])
    except StoreError as error:
        print(error.message)
    writer.append([make_outcome(500)])
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_limit_on_the_size_of_files(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "There is no space left to write" in shown.stdout
    assert Record(tmp_path).outcomes() == [make_outcome(1), make_outcome(500)]
    assert not list(tmp_path.rglob("*.writing"))


@pytest.fixture
def unprivileged(tmp_path: Path) -> Iterator[Path]:
    """A directory that every user can reach, for a user without privileges."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions of POSIX")
    with open_writer(
        tmp_path / "warm-up", SPEC
    ) as writer:  # everything is imported while it may be
        append(writer, 1)
    root = os.geteuid() == 0
    parents = [each for each in tmp_path.parents if root and each.stat().st_uid == 0]
    closed = [(each, each.stat().st_mode) for each in parents if not each.stat().st_mode & 1]
    for each, mode in closed:
        each.chmod(mode | 0o111)
    tmp_path.chmod(0o777)
    if root:
        os.seteuid(65534)
    try:
        yield tmp_path
    finally:
        if root:
            os.seteuid(0)
        for each, mode in closed:
            each.chmod(mode)


def test_a_directory_that_may_not_be_written(unprivileged: Path) -> None:
    evaluation = unprivileged / "evaluation"
    with open_writer(evaluation, SPEC) as writer:
        append(writer, 1, 2)
    directories = [evaluation, *(path for path in evaluation.iterdir() if path.is_dir())]
    for directory in directories:
        directory.chmod(0o555)
    (evaluation / "lock").chmod(0o444)
    record = Record(evaluation)
    assert record.outcomes() == [make_outcome(1), make_outcome(2)]
    assert len(list(record.traces())) == len(record.keys()) == 2
    for where in (evaluation, evaluation / "new"):
        with (
            pytest.raises(StoreError, match=r"may not be written .*--out"),
            open_writer(where, SPEC),
        ):
            pass
    (evaluation / "outcomes").chmod(0o000)
    with pytest.raises(StoreError, match="outcomes cannot be read"):
        record.keys()
    for directory in directories:
        directory.chmod(0o755)


@pytest.mark.parametrize("inside", [".", "deeper"])
def test_a_file_where_the_directory_should_be(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").write_text("mine")
    directory = tmp_path / "file" / inside
    with pytest.raises(StoreError, match="a file has that name"), open_writer(directory, SPEC):
        pass
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("kept", [0, 3, 100, -1])
@pytest.mark.parametrize("kind", ["outcomes", "traces"])
def test_a_shard_that_was_cut_short(tmp_path: Path, kind: str, kept: int) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1)
        append(writer, 2)
    shard = min((tmp_path / kind).iterdir())
    shard.write_bytes(shard.read_bytes()[:kept])
    with pytest.raises(StoreError) as caught:
        _ = Record(tmp_path).outcomes() if kind == "outcomes" else list(Record(tmp_path).traces())
    assert str(shard) in caught.value.message
    assert "is damaged" in caught.value.message
    assert "Remove that file" in caught.value.advice
    if kind == "outcomes":
        with pytest.raises(StoreError, match=shard.name), open_writer(tmp_path, SPEC):
            pass
    shard.unlink()
    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1, 2)
        assert writer.outcomes() == [make_outcome(1), make_outcome(2)]
    assert len(list(Record(tmp_path).traces())) == (2 if kind == "outcomes" else 1)


def test_no_flipped_bit_is_ever_read_as_a_result(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1, 2, 3)
    record = Record(tmp_path)
    outcomes = list(record.outcomes())
    traces = [(key, exact_trace(trace)) for key, trace in record.traces()]
    rng = random.Random(1)
    for kind in ("outcomes", "traces"):
        (shard,) = (tmp_path / kind).iterdir()
        content = shard.read_bytes()
        complaints: list[str] = []
        for _ in range(300):
            flipped = bytearray(content)
            flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            shard.write_bytes(flipped)
            try:
                record = Record(tmp_path)
                assert record.outcomes() == outcomes
                assert [(key, exact_trace(trace)) for key, trace in record.traces()] == traces
            except StoreError as error:
                complaints.append(error.message)
        shard.write_bytes(content)
        assert len(complaints) > 100
        assert all(str(shard) in complaint for complaint in complaints)


@pytest.mark.parametrize(("kind", "column"), [("outcomes", "payoff"), ("traces", "rewards")])
def test_an_edited_shard_is_noticed(tmp_path: Path, kind: str, column: str) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1)
    (shard,) = (tmp_path / kind).iterdir()
    table, footer = pq.read_table(shard), pq.read_metadata(shard).metadata
    place = table.schema.get_field_index(column)
    better = pa.array([1.0 if kind == "outcomes" else [1.0] * 10])
    table = table.set_column(place, table.schema.field(column), better)
    with pq.ParquetWriter(shard, table.schema.remove_metadata()) as editor:
        editor.write_table(table.replace_schema_metadata(None))
        editor.add_key_value_metadata({name: footer[name] for name in footer if b"omn" in name})
    with pytest.raises(StoreError, match="does not match"):
        _ = Record(tmp_path).outcomes() if kind == "outcomes" else list(Record(tmp_path).traces())


def test_a_shard_under_a_wrong_name_is_noticed(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1)
    (shard,) = (tmp_path / "outcomes").iterdir()
    shard.rename(shard.with_name("0123456789abcdef.parquet"))
    with pytest.raises(StoreError, match="name does not match"):
        Record(tmp_path).outcomes()


@pytest.mark.parametrize("damage", ["flipped", "cut"])
@pytest.mark.parametrize("kind", ["outcomes", "traces"])
def test_the_rest_of_a_damaged_evaluation_can_be_read(
    tmp_path: Path, kind: str, damage: str
) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        append(writer, 1, 2)
        append(writer, 3)
    whole = Record(tmp_path)
    intact = list(whole.outcomes())
    (lost,) = [shard for shard in (tmp_path / kind).iterdir() if len(pq.read_table(shard)) == 2]
    content = bytearray(lost.read_bytes())
    content[len(content) // 3] ^= 16  # in columns that are only read where objects are asked for
    lost.write_bytes(content[:-100] if damage == "cut" else content)

    record = Record(tmp_path)
    with pytest.raises(StoreError) as caught:
        _ = [*record.outcomes(), *record.traces()]
    assert str(lost) in caught.value.message
    assert 'damaged="skip"' in caught.value.advice

    record = Record(tmp_path, damaged="skip")
    traces = [key for key, _ in record.traces()]
    assert traces == [intact[2].exercise.key]
    assert list(record.outcomes()) == (intact[2:] if kind == "outcomes" else intact)
    assert list(record.damaged) == [lost]
    assert "is damaged" in record.damaged[lost].message
    opened = results.open(tmp_path, damaged="skip")
    assert opened.to_arrow().read_all()["number"].to_pylist() == [
        each.exercise.number for each in record.outcomes()
    ]
    assert list(opened.damaged) == ([lost] if kind == "outcomes" else [])

    lost.unlink()  # as the message says; what was lost is run again
    (tmp_path / "outcomes" / lost.name).unlink(missing_ok=True)
    with open_writer(tmp_path, SPEC) as writer:
        assert writer.outcomes() == intact[2:]
        append(writer, 1, 2, 3)
    assert Record(tmp_path).outcomes() == intact
    assert len(list(Record(tmp_path).traces())) == 3


def test_a_foreign_shard_is_left_out_too(tmp_path: Path) -> None:
    for name, number in (("own", 1), ("other", 2)):
        with open_writer(tmp_path / name, SPEC) as writer:
            append(writer, number)
    (foreign,) = (tmp_path / "other" / "outcomes").iterdir()
    shutil.copy(foreign, tmp_path / "own" / "outcomes")
    record = Record(tmp_path / "own", damaged="skip")
    assert record.outcomes() == [make_outcome(1)]
    (error,) = record.damaged.values()
    assert "was not written by this evaluation" in error.message


def test_nothing_depends_on_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock steps back by years between two writers, and files are older than the first."""
    for turn, (year, number) in enumerate(((2030, 1), (1999, 2), (2015, 3))):

        class Clock(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Clock:
                return cls(year, 1, 1, tzinfo=tz)  # noqa: B023 - used within this turn only

        monkeypatch.setattr(provenance, "datetime", Clock)
        with open_writer(tmp_path, SPEC) as writer:
            assert len(writer.outcomes()) == turn
            append(writer, number)
        for path in tmp_path.rglob("*"):
            os.utime(path, (1000 - turn, 1000 - turn))
    record = Record(tmp_path)
    assert [made["started"][:4] for made in record.provenance()] == ["2030", "1999", "2015"]
    assert record.outcomes() == [make_outcome(number) for number in (1, 2, 3)]
    assert len(list(record.traces())) == 3
