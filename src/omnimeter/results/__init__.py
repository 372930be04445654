"""What is written down, and where: one evaluation is one directory.

``Record(path)`` reads it, ``writing(path, spec)`` creates or continues it. Nothing heavy is loaded
before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnimeter.results.provenance import current_provenance
    from omnimeter.results.store import Record, Writer, writing

__all__ = ["Record", "Writer", "current_provenance", "writing"]

_PLACES = {
    "Record": "store",
    "Writer": "store",
    "writing": "store",
    "current_provenance": "provenance",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'omnimeter.results' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"omnimeter.results.{_PLACES[name]}"), name)
