"""Stored evaluations: one evaluation is one directory.

``Record(path)`` reads it, ``open_writer(path, spec)`` creates or continues it, and ``open(path)``
gives its tables to other programs. Nothing heavy is loaded before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnimeter.results.frames import open_results as open  # noqa: A004
    from omnimeter.results.provenance import current_provenance
    from omnimeter.results.store import Record, Writer, open_writer

__all__ = ["Record", "Writer", "current_provenance", "open", "open_writer"]
_ELSEWHERE = {"current_provenance": "provenance", "open": "frames"}  # than in the store


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'omnimeter.results' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"omnimeter.results.{_ELSEWHERE.get(name, 'store')}")
    return getattr(module, "open_results" if name == "open" else name)
