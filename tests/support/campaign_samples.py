"""Small campaigns, and what their results are."""

from __future__ import annotations

import json
from pathlib import Path


def small_campaign(
    directory: Path, units: int = 6, seconds: float = 0.02, deadly=None, bayesian=False
) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "standin.json").write_text(
        json.dumps({"units": units, "seconds": seconds, "deadly": deadly})
    )
    return directory


def results_of(directory: Path):
    return sorted((p.name, p.read_text()) for p in (directory / "done").iterdir())


def units_in(directory):
    from omnimeter.execution.units import units_of

    return units_of(directory)
