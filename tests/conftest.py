"""What several tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from omnimeter.catalogue import forget

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None)
settings.load_profile("repeatable")  # `make test-slow` looks for new examples


@pytest.fixture(scope="session")
def plugin_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory where the sample package is installed as a stranger's would be.

    It is on nobody's path: put it on ``sys.path`` or ``PYTHONPATH``, or use ``plugin``.
    """
    target = tmp_path_factory.mktemp("plugin")
    source = Path(__file__).parent / "plugin"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--no-build-isolation", "--no-compile", "--target", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return str(target)


@pytest.fixture
def plugin(plugin_path: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The sample package, installed for this test."""
    monkeypatch.syspath_prepend(plugin_path)
    forget()
    yield plugin_path
    forget()


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(pytestconfig: pytest.Config) -> None:
    """Keep compiled kernels with pytest's own cache: warm the next time, and not in the home."""
    if cache := getattr(pytestconfig, "cache", None):  # it can be switched off
        os.environ.setdefault("OMNIMETER_CACHE_DIR", str(cache.mkdir("kernels")))
