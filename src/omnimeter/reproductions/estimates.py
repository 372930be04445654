"""Estimates as reproductions say them: in words, and as the fields of a row."""

from __future__ import annotations

from collections.abc import Mapping

from omnimeter.statistics import Estimate

REWARDS = (-1.0, 1.0)
"""The lowest and the highest reward, and so average."""


def said(estimate: Estimate, digits: int = 3) -> str:
    """An estimate with its interval, for a reader."""
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def fields(estimate: Estimate) -> Mapping[str, float]:
    """An estimate with its interval, as fields of a row."""
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}
