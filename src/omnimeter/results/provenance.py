"""The spec of an evaluation on disk and its provenance: versions, revisions and machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any

from omnimeter.contract import Spec
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import canonical_json, fingerprint
from omnimeter.results import files
from omnimeter.results.errors import too_new, unreadable
from omnimeter.results.files import Layout

_LIBRARIES = ("omnimeter", "numpy", "numba", "llvmlite", "scipy", "pyarrow", "gymnasium")
_PATIENCE = 5.0
"""Seconds after which a slow ``git`` is not worth waiting for."""


def current_provenance(seeds: Iterable[int] = (), specs: Iterable[Spec] = ()) -> dict[str, Any]:
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


FORMAT = 1
"""The version of the layout that this room writes."""

_SHOWN = 3
_WIDTH = 60
_ABSENT = object()


def write_spec(layout: Layout, spec: Mapping[str, Any]) -> None:
    """Write the spec of a new evaluation.

    Raises:
        StoreError: It could not be written.
    """
    plain = json.loads(canonical_json(spec))
    content = {"format": FORMAT, "fingerprint": fingerprint(plain), "spec": plain}
    files.write(layout.spec, (json.dumps(content, indent=2) + "\n").encode())


def read_spec(layout: Layout) -> dict[str, Any]:
    """The spec of an evaluation.

    Raises:
        StoreError: There is none, or it is not as it was written.
    """
    try:
        content = json.loads(layout.spec.read_bytes())
        version, spec, name = int(content["format"]), content["spec"], content["fingerprint"]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreError(
            f"{layout.root} is not an evaluation: it has no file spec.json.",
            "Check the path; an evaluation is made by 'omnimeter run' with --out.",
        ) from error
    except OSError as error:
        raise unreadable(error, layout.spec) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _changed(layout) from error
    if version > FORMAT:
        raise too_new(layout.spec, version)
    if fingerprint(spec) != name:
        raise _changed(layout)
    return dict(spec)


def check_same(layout: Layout, spec: Mapping[str, Any]) -> None:
    """Make sure that a directory holds the evaluation of this spec.

    Raises:
        StoreError: It holds another one; the message names what differs.
    """
    stored, wanted = read_spec(layout), json.loads(canonical_json(spec))
    if fingerprint(stored) == fingerprint(wanted):
        return
    found = list(islice(_differences(stored, wanted, ""), _SHOWN + 1))
    listed = "; ".join(found[:_SHOWN]) + ("; and more" if len(found) > _SHOWN else "")
    raise StoreError(
        f"{layout.root} holds another evaluation: {listed}.",
        "Choose another directory with --out, or give the same settings to continue this one.",
    )


def _differences(there: object, here: object, place: str) -> Iterator[str]:
    """Where two pieces of JSON data differ, one sentence each, in order."""
    if isinstance(there, dict) and isinstance(here, dict):
        for name in sorted({*there, *here}):
            inner = f"{place}.{name}" if place else name
            yield from _differences(there.get(name, _ABSENT), here.get(name, _ABSENT), inner)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for number, (old, new) in enumerate(zip(there, here, strict=True)):
            yield from _differences(old, new, f"{place}[{number}]")
    elif _shown(there) != _shown(here) or _long(there) != _long(here):
        yield f"{place} is {_shown(there)} there and {_shown(here)} here"


def _long(value: object) -> str:
    return "absent" if value is _ABSENT else canonical_json(value)


def _shown(value: object) -> str:
    text = _long(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _changed(layout: Layout) -> StoreError:
    return StoreError(
        f"{layout.spec} is not as it was written.",
        "Bring back the original file, or choose another directory with --out.",
    )
