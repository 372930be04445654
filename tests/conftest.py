"""What several tests share."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

import scripted_slurm
from omnimeter.catalogue import forget
from private_network import PrivateNetwork, private_network, slurm, why_not

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


@pytest.fixture(autouse=True)
def same_path() -> Iterator[None]:
    """Take off the module path again what files of agents have put there."""
    before = list(sys.path)
    yield
    sys.path[:] = before


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(pytestconfig: pytest.Config) -> None:
    """Keep compiled kernels with pytest's own cache: warm the next time, and not in the home."""
    if cache := getattr(pytestconfig, "cache", None):  # it can be switched off
        os.environ.setdefault("OMNIMETER_CACHE_DIR", str(cache.mkdir("kernels")))


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the scripted SLURM's jobs; its commands are on the path."""
    folder, commands = tmp_path / "jobs", tmp_path / "commands"
    folder.mkdir()
    commands.mkdir()
    for name in ("sbatch", "squeue", "scontrol"):
        command = commands / name
        command.write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{scripted_slurm.__file__}" {name} "$@"\n'
        )
        command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("SCRIPTED_SLURM", str(folder))
    yield folder
    for runner in folder.glob("*.runner"):
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(int(runner.read_text()), signal.SIGKILL)


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateNetwork]:
    """SLURM with one node, in a private network; its commands are on the path."""
    if reason := why_not("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"):
        pytest.skip(reason)
    folder = tmp_path / "slurm"
    folder.mkdir()
    with private_network(folder) as network, slurm(network, folder) as commands:
        monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
        yield network


@pytest.fixture
def network(tmp_path: Path) -> Iterator[PrivateNetwork]:
    """A private network for Ray, where that is installed."""
    reason = None if find_spec("ray") else "Ray is not installed: see `make test-cluster`"
    if reason := reason or why_not("ss"):
        pytest.skip(reason)
    before = set(Path("/tmp").glob("omnimeter-ray-*"))
    with private_network(tmp_path) as entered:
        yield entered
    for left in set(Path("/tmp").glob("omnimeter-ray-*")) - before:  # of a driver that was killed
        shutil.rmtree(left)
