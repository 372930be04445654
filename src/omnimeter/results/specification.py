"""The spec of an evaluation on disk: written once, and compared ever after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from omnimeter.contract import StoreError, canonical, fingerprint
from omnimeter.results import durable
from omnimeter.results.layout import Layout
from omnimeter.results.refusals import too_new, unreadable

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
    plain = json.loads(canonical(spec))
    content = {"format": FORMAT, "fingerprint": fingerprint(plain), "spec": plain}
    durable.write(layout.spec, (json.dumps(content, indent=2) + "\n").encode())


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
    stored, wanted = read_spec(layout), json.loads(canonical(spec))
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
    return "absent" if value is _ABSENT else canonical(value)


def _shown(value: object) -> str:
    text = _long(value)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _changed(layout: Layout) -> StoreError:
    return StoreError(
        f"{layout.spec} is not as it was written.",
        "Bring back the original file, or choose another directory with --out.",
    )
