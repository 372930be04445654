"""Omnimeter measures agents: one scale, honest error bars, stoppable at any time.

The public API (``evaluate``, ``test``, ``compare``, ...) and the types of the contract can be
imported from here; nothing heavy is loaded before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnimeter.api import *  # noqa: F403 - the same names, for type checkers
    from omnimeter.contract import *  # noqa: F403

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from importlib import import_module

    for module in map(import_module, ("omnimeter.contract", "omnimeter.api")):
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module 'omnimeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    from omnimeter import api, contract

    return sorted([*globals(), *api.__all__, *contract.__all__])
