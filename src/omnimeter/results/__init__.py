"""Stored evaluations: one evaluation is one directory.

``Record(path)`` reads it, ``open_writer(path, spec)`` creates or continues it. Nothing heavy is
loaded before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnimeter.results.provenance import current_provenance
    from omnimeter.results.store import Record, Writer, open_writer

__all__ = ["Record", "Writer", "current_provenance", "open_writer"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'omnimeter.results' has no attribute {name!r}")
    from importlib import import_module

    module = "provenance" if name == "current_provenance" else "store"
    return getattr(import_module(f"omnimeter.results.{module}"), name)
