"""Faults as JSON, the same for outcomes and traces."""

from __future__ import annotations

from collections.abc import Mapping

from omnimeter.contract import Fault, FaultKind


def to_json(fault: Fault | None) -> dict[str, str] | None:
    """The fault as plain data."""
    if fault is None:
        return None
    return {"kind": str(fault.kind), "message": fault.message, "detail": fault.detail}


def from_json(data: Mapping[str, str] | None) -> Fault | None:
    """The fault that ``to_json`` wrote."""
    if data is None:
        return None
    return Fault(FaultKind(data["kind"]), data["message"], data["detail"])
