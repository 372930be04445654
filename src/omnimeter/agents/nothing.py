"""Kernels that do nothing, for agents that need not get ready and do not learn."""

from __future__ import annotations

from typing import Any

from omnimeter.contract import kernel


@kernel
def begin(state: Any) -> None:
    """Nothing to get ready."""


@kernel
def finish(state: Any, reward: Any, observation: Any) -> None:
    """Nothing is learnt."""
