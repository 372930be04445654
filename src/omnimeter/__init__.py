"""Omnimeter measures agents: one scale, honest error bars, stoppable at any time.

The words of the contract can be imported from here; nothing heavy is loaded before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnimeter.contract import *  # noqa: F403 - the same names, for type checkers

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from importlib import import_module

    contract = import_module("omnimeter.contract")
    if name in contract.__all__:
        return getattr(contract, name)
    raise AttributeError(f"module 'omnimeter' has no attribute {name!r}")


def __dir__() -> list[str]:
    from omnimeter.contract import __all__ as words

    return sorted([*globals(), *words])
