"""One shard: an immutable Parquet file whose footer says which exercises it holds.

Pages and footer carry checksums, the file is named by its keys, and what is decoded is compared
with a digest, so that damage is noticed and never read as a result.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from omnimeter.contract import StoreError
from omnimeter.results.layout import shard_name
from omnimeter.results.refusals import damaged, too_new, unreadable

SCHEMA_VERSION = 1

_FOOTER = b"omnimeter"
_DIGEST = b"omnimeter.digest"
_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "write_page_checksum": True,
    "write_statistics": False,  # small row groups would consist of them
}


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that is open for reading.

    Attributes:
        keys: The exercises it belongs to.
        notes: What else its footer says.
        file: The Parquet file; its pages are checked as they are read.
    """

    keys: tuple[str, ...]
    notes: Mapping[str, Any]
    file: pq.ParquetFile


def encode(
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    keys: Sequence[str],
    notes: Mapping[str, Any] | None = None,
) -> bytes:
    """The bytes of a shard.

    Args:
        groups: The rows; each table becomes one row group, which can be read by itself.
        schema: The columns.
        keys: The exercises it belongs to.
        notes: Further JSON-able facts for the footer.
    """
    content = {"version": SCHEMA_VERSION, "keys": list(keys), "notes": notes or {}}
    footer = json.dumps(content).encode()
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **_OPTIONS) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
        writer.add_key_value_metadata({_FOOTER: footer, _DIGEST: digest(footer)})
    return bytes(sink.getvalue())


def digest(*pieces: bytes) -> str:
    """What tells whether bytes are still the same."""
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Shard]:
    """Open a shard; whatever goes wrong while it is read and decoded inside is damage.

    Raises:
        StoreError: The file cannot be read or is not as it was written; the message names it.
    """
    try:
        with (
            path.open("rb") as file,
            pq.ParquetFile(file, page_checksum_verification=True) as shard,
        ):
            yield _checked(path, shard)
    except StoreError:
        raise
    except OSError as error:
        # The system's errors carry a number; those of a decoder do not.
        raise (damaged(path, error) if error.errno is None else unreadable(error, path)) from error
    except (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise damaged(path, error) from error


def read_keys(path: Path) -> tuple[str, ...]:
    """The exercises that a shard belongs to, from its footer alone.

    Raises:
        StoreError: The file cannot be read or is damaged.
    """
    with opened(path) as shard:
        return shard.keys


def _checked(path: Path, file: pq.ParquetFile) -> Shard:
    metadata = file.metadata.metadata or {}
    footer = metadata[_FOOTER]
    if metadata[_DIGEST].decode() != digest(footer):
        raise ValueError("its footer does not match its checksum")
    content = json.loads(footer)
    if content["version"] > SCHEMA_VERSION:
        raise too_new(path, content["version"])
    if shard_name(content["keys"]) != path.stem:
        raise ValueError("its name does not match what it holds")
    return Shard(tuple(content["keys"]), content["notes"], file)
