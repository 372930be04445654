"""Where results come from: versions, revisions, machine, seeds and specs; never who or where."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from omnimeter.contract import Spec

_LIBRARIES = ("omnimeter", "numpy", "numba", "llvmlite", "scipy", "pyarrow", "gymnasium")
_PATIENCE = 5.0
"""Seconds after which a slow ``git`` is not worth waiting for."""


def provenance(seeds: Iterable[int] = (), specs: Iterable[Spec] = ()) -> dict[str, Any]:
    """Everything worth knowing about how results were made, as JSON-able data.

    Host name, user name and paths are left out on purpose.

    Args:
        seeds: The roots of all chance.
        specs: The parts that take part.
    """
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "revisions": _revisions(),
        "machine": _machine(),
        "seeds": list(seeds),
        "specs": [spec.to_json() for spec in specs],
    }


def _versions() -> dict[str, str]:
    """The versions of Python, of what we stand on, and of every package that adds parts."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    for group in metadata.entry_points().groups:
        if group.startswith("omnimeter."):
            packages = (entry.dist for entry in metadata.entry_points(group=group))
            found.update({package.name: package.version for package in packages if package})
    return found


def _machine() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpu_count": os.cpu_count(),
    }


def _processor() -> str:
    """The name of the processor, which Python itself does not know on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _revisions() -> dict[str, Any]:
    """The revisions of our own checkout and of the project in which the user stands."""
    package = Path(__file__).resolve().parents[1]
    found: dict[str, Any] = {}
    # An installed copy may lie inside the user's own repository, which says nothing about ours.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py"):
        found["omnimeter"] = _revision(package)
    found["project"] = _revision(Path())
    return {name: revision for name, revision in found.items() if revision}


def _revision(directory: Path) -> dict[str, Any] | None:
    revision = _git(directory, "rev-parse", "HEAD")
    if not revision:
        return None
    changes = _git(directory, "status", "--porcelain", "--untracked-files=no")
    return {"revision": revision, "modified": None if changes is None else bool(changes)}


def _git(directory: Path, *arguments: str) -> str | None:
    """What git answers, or nothing where there is no git, no repository or no patience."""
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return answer.stdout.strip()
