"""What the tests of the Gymnasium adapter share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import gymnasium
import matplotlib
import pytest

from omnimeter.catalogue import Kind, listing
from omnimeter.gymnasium_adapter import register

OURS = [f"omnimeter/{entry.id}" for entry in listing(Kind.ENVIRONMENT)]
THIRD_PARTY = ["omnimeter/sample-walk-v1", "omnimeter/sample-plain-walk-v1"]
matplotlib.use("Agg")  # no windows, where there is a display

BANANAS = {"example": "bananas"}  # a single space, and random observations


@pytest.fixture
def third_party(plugin: str) -> Iterator[None]:
    before = dict(gymnasium.registry)
    register()
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


def python(source: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
