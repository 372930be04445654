"""Journals of exercises under way: whatever happens to the file, no answer is lost in silence."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from omnimeter.contract.errors import StoreError
from omnimeter.results.journal import Entry, Journal, Journals

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"
ENTRIES = [
    Entry(0.0, "ab" * 16, 3, None, 1_234),
    Entry(-0.1, "cd" * 16, 0, 0.25, 5),
    Entry(1 / 3, "ef" * 16, None, None, 10**12),
    Entry(0.5, "01" * 16, -1, None, 0),
]


@pytest.fixture
def journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journals:
    monkeypatch.setattr(os, "fsync", lambda file: None)  # which takes most of the time
    return Journals(str(tmp_path / "journal"))


def written(journals: Journals, key: str = KEY) -> list[bytes]:
    """A journal of all entries; its lines."""
    with journals.open(key, attempt=2) as journal:
        for entry in ENTRIES:
            journal.append(entry)
    return journals.path(key).read_bytes().splitlines(keepends=True)


def past(journals: Journals) -> list[Entry]:
    with journals.open(KEY, attempt=1) as journal:
        return journal.past


def test_what_was_appended_is_read_exactly(journals: Journals) -> None:
    assert not journals.keys()
    written(journals)
    assert past(journals) == ENTRIES
    assert repr(past(journals)) == repr(ENTRIES)
    assert journals.keys() == {KEY}
    assert KEY in journals
    assert journals.attempt(KEY) == 2
    journals.remove([KEY, OTHER])
    assert not journals.keys()
    assert journals.attempt(KEY) is None


def test_truncated_anywhere_it_keeps_all_whole_lines_and_goes_on(journals: Journals) -> None:
    lines = written(journals)
    whole, path = b"".join(lines), journals.path(KEY)
    ends = [len(b"".join(lines[: n + 1])) for n in range(len(lines))]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        kept = max(0, sum(end <= size for end in ends) - 1)
        with journals.open(KEY, attempt=2) as journal:
            assert journal.past == ENTRIES[:kept], size
            for entry in ENTRIES[kept:]:
                journal.append(entry)
        assert path.read_bytes() == whole


@pytest.mark.parametrize("change", [1, 2, 16, 32, 128, ord("\n") ^ ord("1"), 255])
def test_a_changed_byte_is_an_error_except_in_the_last_line(
    journals: Journals, change: int
) -> None:
    lines = written(journals)
    whole, path = b"".join(lines), journals.path(KEY)
    last = len(whole) - len(lines[-1])
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= change
        path.write_bytes(damaged)
        if place < last:
            with pytest.raises(StoreError, match="is damaged at byte"):
                past(journals)
            assert path.read_bytes() == damaged  # nothing is repaired that cannot be
        else:
            assert past(journals) == ENTRIES[:-1], place
            assert path.read_bytes() == whole[:last]


def test_lines_cannot_be_exchanged_left_out_repeated_or_borrowed(journals: Journals) -> None:
    lines = written(journals)
    (_, *others), path = written(journals, OTHER), journals.path(KEY)
    for changed in (
        [*lines[:2], lines[3], lines[2], lines[4]],
        [*lines[:2], *lines[3:]],
        [*lines[:2], lines[1], *lines[2:]],
        [*lines, lines[-1]],
        [*lines[:2], others[1], *lines[3:]],
        lines[1:],
    ):
        path.write_bytes(b"".join(changed))
        with pytest.raises(StoreError, match="is damaged at byte"):
            past(journals)
    path.write_bytes(b"".join([*lines, others[3]]))  # of no use: like an interrupted write
    assert past(journals) == ENTRIES
    journals.path(OTHER).replace(path)
    with pytest.raises(StoreError, match=f"of another exercise, {OTHER}"):
        past(journals)


def test_a_newer_format_is_refused(journals: Journals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnimeter.results.journal.FORMAT", 2)
    written(journals)
    monkeypatch.undo()
    for read in (past, lambda journals: journals.attempt(KEY)):
        with pytest.raises(StoreError, match=r"was written by a newer Omnimeter \(format 2\)"):
            read(journals)


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
def test_there_is_one_writer(journals: Journals) -> None:
    with journals.open(KEY, attempt=1), pytest.raises(StoreError, match="by another process"):
        journals.open(KEY, attempt=1)
    assert past(journals) == []


@pytest.mark.parametrize("size", [0, 1, 40])
def test_a_full_disk_costs_nothing_but_the_line_under_way(
    journals: Journals, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    with journals.open(KEY, attempt=1) as journal:
        journal.append(ENTRIES[0])
        write, left = os.write, [size]

        def full(file: int, content: bytes) -> int:
            if not left:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(file, content[: left.pop()])

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(StoreError, match="no space left"):
            journal.append(ENTRIES[1])
        monkeypatch.undo()
        with pytest.raises(StoreError):  # nothing may follow half a line
            journal.append(ENTRIES[1])
    assert past(journals) == ENTRIES[:1]


def test_every_answer_is_flushed_before_it_counts(
    journals: Journals, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = []
    with journals.open(KEY, attempt=1) as journal:
        monkeypatch.setattr(os, "fsync", lambda file: flushed.append(os.fstat(file).st_size))
        for entry in ENTRIES:
            journal.append(entry)
            assert flushed[-1] == journals.path(KEY).stat().st_size
    assert len(flushed) == len(ENTRIES)


def test_a_link_is_not_followed(journals: Journals, tmp_path: Path) -> None:
    written(journals)
    (tmp_path / "elsewhere").write_bytes(b"")
    journals.path(KEY).unlink()
    journals.path(KEY).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        Journal(journals.path(KEY), KEY, 1)
    assert (tmp_path / "elsewhere").read_bytes() == b""
