"""What the tests of the Gymnasium face share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import gymnasium
import pytest

from omnimeter.catalogue import Kind, listing
from omnimeter.gymnasium_adapter import register

OURS = [f"omnimeter/{entry.id}" for entry in listing(Kind.ENVIRONMENT)]
STRANGERS = ["omnimeter/sample-walk-v1", "omnimeter/sample-plain-walk-v1"]
BANANAS = {"example": "bananas"}  # a single space, and scenes by chance


@pytest.fixture
def strangers(plugin: str) -> Iterator[None]:
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
