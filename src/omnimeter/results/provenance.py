"""The spec of an evaluation on disk and its provenance: versions, revisions and machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from omnimeter.catalogue import listing, unhashed
from omnimeter.contract import Spec
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.spec import canonical_json, fingerprint
from omnimeter.results import files
from omnimeter.results.files import Layout, newer_format_error, read_error

FORMAT = 2  # the version of the layout that this package writes; 1 had no key
_COPY = "Copy it from where the evaluation was made."
_ABSENT = object()


def current_provenance(seeds: Iterable[int] = (), specs: Iterable[Spec] = ()) -> dict[str, Any]:
    """How results are made, without host name, user name and paths, as JSON-able data.

    Args:
        seeds: The root seeds.
        specs: The specs of the parts that are used.
    """
    specs = list(specs)
    not_hashed = sorted({text for spec in specs for text in unhashed(spec)})
    revisions = {"omnimeter": _own_revision(), "project": _revision(Path())}
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        # Of other packages: those that add parts.
        "versions": _versions()
        | {entry.package: entry.version for entry in listing() if entry.version},
        "revisions": {name: revision for name, revision in revisions.items() if revision},
        "machine": {
            "platform": platform.platform(),
            "processor": processor(),
            "cpu_count": os.cpu_count(),
        },
        "seeds": list(seeds),
        "specs": [spec.to_json() for spec in specs],
        **({"unhashed": not_hashed} if not_hashed else {}),
    }


@cache  # reading the metadata of packages takes milliseconds
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in ("omnimeter", "numpy", "numba", "llvmlite", "scipy", "pyarrow", "gymnasium"):
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


@cache  # of the code that this process has loaded
def _own_revision() -> dict[str, Any] | None:
    package = Path(__file__).resolve().parents[1]
    # An installed copy may be inside the user's own repository, which says nothing about ours.
    own = git_output(package, "ls-files", "--error-unmatch", "__init__.py")
    return _revision(package) if own else None


@cache
def processor() -> str:
    """The name of the machine's processor."""
    lines: list[str] = []
    with suppress(OSError):  # Python itself does not know it on Linux
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _revision(directory: Path) -> dict[str, Any] | None:
    revision = git_output(directory, "rev-parse", "HEAD")
    if not revision:
        return None
    changes = git_output(directory, "status", "--porcelain", "--untracked-files=no")
    return {"revision": revision, "modified": None if changes is None else bool(changes)}


def git_output(directory: Path, *arguments: str) -> str | None:
    """The output of git, or ``None`` where there is no git, no repository or no answer in time."""
    try:
        result = subprocess.run(
            ["git", "--no-optional-locks", *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=5.0,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return result.stdout.strip()


def write_spec(layout: Layout, spec: Mapping[str, Any], secret: int | None = None) -> None:
    """Write the spec of a new evaluation and, before it, the seed that was drawn for it.

    The spec only says that there is such a seed, so that it is missed where it gets lost.

    Raises:
        StoreError: It could not be written.
    """
    plain = json.loads(canonical_json(spec))
    content = {"format": FORMAT, "fingerprint": fingerprint(plain), "spec": plain}
    if secret is None:
        layout.seed.unlink(missing_ok=True)  # of an evaluation that never began
    else:
        seed = {"seed": secret, "fingerprint": fingerprint(secret)}
        files.write(layout.seed, (json.dumps(seed, indent=2) + "\n").encode(), mode=0o600)
        content["secret_seed"] = True
    files.write(layout.spec, (json.dumps(content, indent=2) + "\n").encode())


def read_spec(layout: Layout) -> dict[str, Any]:
    """The spec of an evaluation.

    Raises:
        StoreError: There is none, it is not as it was written, or it has no key or that of another.
    """
    try:
        content = json.loads(layout.spec.read_bytes())
        version, spec = int(content["format"]), dict(content["spec"])
        intact = content["fingerprint"] == fingerprint(spec)
    except (FileNotFoundError, NotADirectoryError) as error:
        if layout.has_begun:
            message = f"{layout.spec} is missing, which says what the results are of."
            raise DamagedError(message, _COPY) from error
        message = f"{layout.root} is not an evaluation: it has no file spec.json."
        advice = "Check the path; an evaluation is made by 'omnimeter run' with --out."
        if (layout.root / "campaign.json").is_file():
            message = f"{layout.root} is a campaign, and not an evaluation."
            advice = f"Give it alone, or one of its evaluations: {layout.root}/evaluations/NAME"
        raise StoreError(message, advice) from error
    except OSError as error:
        raise read_error(error, layout.spec) from error
    except (ValueError, KeyError, TypeError, RecursionError):
        version, spec, intact = FORMAT, {}, False
    if version > FORMAT:
        raise newer_format_error(layout.spec, version)
    key = files.read_key(layout)
    if not intact or (key is not None and fingerprint(spec) not in (key.spec, key.next)):
        advice = "Restore the original file, or choose another directory with --out."
        raise DamagedError(f"{layout.spec} is not as it was written.", advice)
    if key is None and version > 1:
        message = f"{layout.key} is missing, which the results are verified by."
        raise DamagedError(message, _COPY)
    return spec


def read_seed(layout: Layout) -> int | None:
    """The seed that was drawn for an evaluation whose spec can be read; ``None`` if none was.

    Raises:
        StoreError: It is missing, cannot be read, or is not as it was written.
    """
    drawn = json.loads(layout.spec.read_bytes()).get("secret_seed", False)
    if not drawn and not layout.seed.exists():
        return None
    try:
        content = json.loads(layout.seed.read_bytes())
        seed = int(content["seed"])
        intact = drawn is True and content["fingerprint"] == fingerprint(seed)
    except OSError as error:
        raise read_error(error, layout.seed) from error
    except (ValueError, KeyError, TypeError):
        seed, intact = 0, False
    if not intact:
        advice = "Restore the original file: the exercises of this evaluation depend on it."
        raise DamagedError(f"{layout.seed} or spec.json is not as it was written.", advice)
    return seed


def check_same(layout: Layout, spec: Mapping[str, Any]) -> None:
    """Check that a directory holds the evaluation of this spec.

    Raises:
        StoreError: It holds another one; the message names what differs.
    """
    stored, wanted = read_spec(layout), json.loads(canonical_json(spec))
    if fingerprint(stored) == fingerprint(wanted):
        return
    before, now = (
        {name: value for name, value in each.items() if name not in ("extended", "seed_told")}
        for each in (stored, wanted)
    )
    differences = list(_differences(before, now, ""))
    if len(differences) > 3:
        differences[3:] = ["and more"]
    raise StoreError(
        f"{layout.root} holds another evaluation: {'; '.join(differences)}.",
        "Choose another directory with --out, or give the same settings to continue this one, with "
        "all of its agents and perhaps others, and as many exercises or more.",
    )


def _differences(stored: object, wanted: object, path: str) -> Iterator[str]:
    """Where two pieces of JSON data differ, one sentence each, in order."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for name in sorted({*stored, *wanted}):
            inner = f"{path}.{name}" if path else name
            yield from _differences(stored.get(name, _ABSENT), wanted.get(name, _ABSENT), inner)
    elif isinstance(stored, list) and isinstance(wanted, list) and len(stored) == len(wanted):
        for number, (old, new) in enumerate(zip(stored, wanted, strict=True)):
            yield from _differences(old, new, f"{path}[{number}]")
    else:
        texts = ["absent" if x is _ABSENT else canonical_json(x) for x in (stored, wanted)]
        old, new = (text if len(text) <= 60 else f"{text[:57]}..." for text in texts)
        if texts[0] != texts[1]:
            yield f"{path} is {old} there and {new} here"
