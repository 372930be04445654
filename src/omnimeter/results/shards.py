"""One shard: an immutable Parquet file whose footer says which exercises it holds.

Every page carries a checksum, and the file is named by its keys, so that damage is noticed and
never read as a result.
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
    schema = schema.with_metadata({_FOOTER: footer, _DIGEST: _digest(footer)})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, compression="zstd", write_page_checksum=True) as writer:
        for group in groups:
            writer.write_table(group.cast(schema), row_group_size=max(1, len(group)))
    return bytes(sink.getvalue())


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
    metadata = file.metadata.metadata
    footer = metadata[_FOOTER]
    if metadata[_DIGEST] != _digest(footer):
        raise ValueError("its footer does not match its checksum")
    content = json.loads(footer)
    if content["version"] > SCHEMA_VERSION:
        raise too_new(path, content["version"])
    if shard_name(content["keys"]) != path.stem:
        raise ValueError("its name does not match what it holds")
    return Shard(tuple(content["keys"]), content["notes"], file)


def _digest(footer: bytes) -> bytes:
    return hashlib.sha256(footer).hexdigest().encode()
