"""Shards: Parquet files whose every byte is covered by digests, under a signed footer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from omnimeter.contract import InvalidInputError
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.results.files import Key, newer_format_error, read_error, shard_name

SCHEMA_VERSION = 3  # 1 had neither signatures nor attempts; 2 had each exercise as JSON

_SMALL = 1 << 20  # bytes of a file that is read at once
_FOOTER = b"omnimeter"  # what a shard says of itself, as JSON
_DIGEST = b"omnimeter.digest"  # of that JSON: all that versions before 3 covered
_CHUNKS = b"omnimeter.chunks"  # the digests of all column chunks, as they are in the file
_SEAL = b"omnimeter.seal"  # the digest of the whole Parquet footer
_SIGNATURE = b"omnimeter.signature"  # of the same
_CHUNK, _MARK = 32, 64  # hexadecimal digits of a digest of a chunk, and of a seal or a signature
_DECODING_ERRORS = (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError)


class MissingShardError(StoreError):
    """A shard is not there any more: it was merged with others, or removed."""


class Shard(NamedTuple):
    """A shard that is open for reading.

    Attributes:
        footer: What it says of itself.
        file: The Parquet file.
        source: Its bytes.
        chunks: The digests of its column chunks; a shard before version 3 has none.
    """

    footer: Mapping[str, Any]
    file: pq.ParquetFile
    source: pa.NativeFile
    chunks: str

    @property
    def version(self) -> int:
        """The version of its format."""
        return int(self.footer["version"])

    def read(self, names: Sequence[str], groups: Sequence[int] | None = None) -> pa.Table:
        """Some columns of some row groups, or of all; only what matches its digests is decoded.

        Raises:
            ValueError: Something does not match.
        """
        metadata = self.file.metadata
        groups = range(metadata.num_row_groups) if groups is None else groups
        # Every column of ours has one leaf, so that its place is the same in both schemas.
        places = [self.file.schema_arrow.get_field_index(name) for name in names]
        for group in groups:
            row_group = metadata.row_group(group)
            for place in places:
                self._check(row_group.column(place), group * metadata.num_columns + place)
        table = self.file.read_row_groups(list(groups), list(names), use_threads=False)
        return table.select(list(names))

    def verify(self) -> None:
        """Check all column chunks.

        Raises:
            ValueError: One does not match its digest.
        """
        chunks = (chunk for _, chunk in _chunks(self.file.metadata))
        for place, chunk in enumerate(chunks):
            self._check(chunk, place)

    def _check(self, chunk: Any, place: int) -> None:
        start, size = _extent(chunk)
        self.source.seek(start)
        expected = self.chunks[place * _CHUNK : (place + 1) * _CHUNK]
        if digest(self.source.read(size))[:_CHUNK] != expected:
            raise ValueError(f"its column {chunk.path_in_schema} does not match its digest")


def digest(*pieces: Any) -> str:
    """The SHA-256 of some bytes, in hexadecimal digits."""
    computed = hashlib.sha256()
    for piece in pieces:
        computed.update(piece)
    return computed.hexdigest()


def _chunks(metadata: Any) -> Iterator[tuple[int, Any]]:
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for place in range(metadata.num_columns):
            yield group, row_group.column(place)


def _extent(chunk: Any) -> tuple[int, int]:
    """Where a column chunk begins in its file, and its bytes."""
    start = chunk.data_page_offset
    if chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    return start, chunk.total_compressed_size


def encode(
    name: str,
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    footer: Mapping[str, Any],
    key: Key,
    dictionaries: Sequence[str],
    encodings: Mapping[str, str] | None = None,
) -> bytes:
    """The bytes of a shard; each table becomes a row group, which can be read by itself.

    Args:
        name: The name of the shard, without which a copy under another name would be a second one.
        groups: The row groups, at least one.
        schema: Their columns, each with one leaf.
        footer: What the shard says of itself.
        key: The key of the evaluation.
        dictionaries: The columns, as Parquet names them, whose values repeat.
        encodings: The encodings of others.
    """
    content = json.dumps({"version": SCHEMA_VERSION, "name": name, **footer}).encode()
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=list(dictionaries),
        column_encoding=dict(encodings) if encodings else None,
        write_statistics=False,  # small row groups would consist of them
    ) as writer:
        count = 0
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
            count += len(schema)
        # Marks have their places before there is anything to put there: Parquet writes its
        # footer last and at once.
        blanks = {_CHUNKS: b"0" * (count * _CHUNK), _SEAL: b"0" * _MARK, _SIGNATURE: b"0" * _MARK}
        marks = {_FOOTER: content, _DIGEST: digest(content).encode(), **blanks}
        writer.add_key_value_metadata(marks)
    return _sealed(bytearray(sink.getvalue()), blanks[_CHUNKS], key)


def _sealed(content: bytearray, blank: bytes, key: Key) -> bytes:
    """The bytes of a shard with its marks."""
    view = memoryview(bytes(content))
    parts = []
    for _, chunk in _chunks(pq.read_metadata(pa.BufferReader(view))):
        start, size = _extent(chunk)
        parts.append(digest(view[start : start + size])[:_CHUNK])
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    place = content.rindex(blank, footer)
    content[place : place + len(blank)] = "".join(parts).encode()
    covered = bytes(content[footer:-8])
    for name, mark in ((_SEAL, digest(covered)), (_SIGNATURE, key.sign(covered))):
        place = footer + _place(covered, name)
        content[place : place + _MARK] = mark.encode()
    return bytes(content)


def _place(footer: bytes, name: bytes) -> int:
    """Where a mark is in a Parquet footer; less than 0 if it is not there.

    Thrift writes the length of a text, one byte here, before it, and its type before that.
    """
    place = footer.rfind(name + b"\x18" + bytes([_MARK]))
    return place if place < 0 else place + len(name) + 2


@contextmanager
def decoding_errors(path: Path) -> Iterator[None]:
    """Let an error while a shard is decoded mean that it is damaged.

    Raises:
        StoreError: In place of any such error; the message names the file.
    """
    try:
        yield
    except StoreError:
        raise
    except FileNotFoundError as error:
        message = f"{path} was removed while the evaluation was read."
        raise MissingShardError(message, "Read it again.") from error
    except (OSError, *_DECODING_ERRORS, InvalidInputError) as error:
        # The system's errors have a number; those of a decoder do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise read_error(error, path) from error
        said = " ".join(str(error).split())
        raise DamagedError(f"{path} is damaged ({said}).", _removal(path)) from error


@contextmanager
def open_shard(path: Path, key: Key | None) -> Iterator[Shard]:
    """Open a shard; an error while it is read and decoded inside means that it is damaged.

    Args:
        path: Its file.
        key: The key of its evaluation; an older version wrote none.

    Raises:
        StoreError: The file cannot be read, or is not as it was written by this evaluation; the
            message names it.
    """
    with decoding_errors(path), path.open("rb") as file:
        small = path.stat().st_size <= _SMALL
        source = pa.BufferReader(file.read()) if small else pa.PythonFile(file, mode="r")
        covered, seal, signature = _marks(source)
        source.seek(0)
        with pq.ParquetFile(source, page_checksum_verification=not seal) as data:
            metadata = data.metadata.metadata or {}
            footer = metadata[_FOOTER]
            content = json.loads(footer)
            if content["version"] > SCHEMA_VERSION:
                raise newer_format_error(path, content["version"])
            if content["version"] < SCHEMA_VERSION:
                covered, seal = footer, metadata[_DIGEST]
                signature = metadata.get(_SIGNATURE)
            if seal.decode() != digest(covered):
                raise ValueError("its footer does not match its checksum")
            _check_signature(path, key, covered, signature)
            shard = Shard(content, data, source, metadata.get(_CHUNKS, b"").decode())
            if _name(shard) != path.stem:
                raise ValueError("its name does not match its content")
            yield shard


def _marks(source: pa.NativeFile) -> tuple[bytes, bytes, bytes | None]:
    """The Parquet footer as it was sealed, its seal and its signature, if it has them."""
    size = source.size()
    source.seek(max(0, size - 8))
    length = int.from_bytes(source.read(4), "little")
    source.seek(max(0, size - 8 - length))
    footer = bytearray(source.read(length))
    marks = []
    for place in [_place(bytes(footer), name) for name in (_SEAL, _SIGNATURE)]:
        if place < 0:
            return b"", b"", None
        marks.append(bytes(footer[place : place + _MARK]))
        footer[place : place + _MARK] = b"0" * _MARK
    return bytes(footer), marks[0], marks[1]


def _name(shard: Shard) -> str:
    if shard.version < SCHEMA_VERSION:
        return shard_name(attempts_of_older(shard))
    return str(shard.footer["name"])


def attempts_of_older(shard: Shard) -> dict[str, int]:
    """The exercises of a shard before version 3, by their keys, with how often each was begun."""
    keys = shard.footer["keys"]
    return dict(zip(keys, shard.footer.get("attempts", [1] * len(keys)), strict=True))


def _check_signature(path: Path, key: Key | None, covered: bytes, signature: bytes | None) -> None:
    if key is None and signature is not None:
        message = f"{path} is signed, and the key of its evaluation, key.json, is missing."
        raise DamagedError(message, "Copy it from where the evaluation was made.")
    try:
        if key is not None:
            key.check(path, covered, None if signature is None else signature.decode())
    except ValueError as error:
        message = f"{path} was not written by this evaluation: {error}."
        advice = _removal(path)
        if key is not None and not key.sealed:  # the key itself may be damaged
            whole = "If this is said of every shard, key.json has changed: restore it from a copy"
            advice = f"{whole}, and remove nothing. Otherwise: {advice}"
        raise DamagedError(message, advice) from error


def _removal(path: Path) -> str:
    """The advice to remove a shard that cannot be used."""
    advice = "Remove that file and run the evaluation, or its campaign, again"
    if path.parent.name == "traces":
        advice = (
            "Remove that file to continue without its traces; remove the file of the same name "
            "in 'outcomes' too, if there is one"
        )
    return (
        f"{advice}, and those exercises will be run again. To only read the rest in Python, open "
        'it with damaged="skip".'
    )
