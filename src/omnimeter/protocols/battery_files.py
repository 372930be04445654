"""Where batteries are found: those that come with the package, and people's own files.

A battery comes with the package when its file lies in the folder ``batteries``; its name is that of
the file. The content of a name never changes: a changed battery gets another name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from omnimeter.contract import InvalidInputError, UnknownNameError, canonical
from omnimeter.protocols.battery_plan import Plan, read_plan

_ENDING = ".json"


def battery_names() -> list[str]:
    """The batteries that come with the package."""
    found = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING))


def find_battery(given: str | Mapping[str, Any]) -> Plan:
    """The battery of a name, of a file, or of the data of one.

    Args:
        given: A name of ``battery_names``, the path of a JSON file, or what such a file holds.

    Raises:
        UnknownNameError: There is no battery of that name.
        InvalidInputError: The file cannot be read, or is no battery.
    """
    if not isinstance(given, str):
        title = given.get("title")
        return read_plan(given, f"The battery {title!r}" if title else "The battery")
    if is_file(given):
        return read_plan(_read(Path(given)), given)
    names = battery_names()
    if given not in names:
        raise UnknownNameError("battery", given, names)
    return read_plan(json.loads((_folder() / f"{given}{_ENDING}").read_text("utf-8")), given)


def lasting(given: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """What to write down of a battery: its name, or the whole content of a file.

    A file may change or get lost. Its content does not, and can be taken again elsewhere.

    Raises:
        OmnimeterError: As for ``find_battery``.
    """
    plan = find_battery(given)
    return given if isinstance(given, str) and not is_file(given) else plan.to_json()


def is_file(given: str) -> bool:
    """Whether a text is a path, and not a name."""
    return given.endswith(_ENDING) or "/" in given or "\\" in given


def _folder() -> Any:
    return files("omnimeter.protocols") / "batteries"


def _read(path: Path) -> Any:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        canonical(data)  # refuses infinities
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error.strerror}.",
            f"Give the JSON file of a battery, or one of: {', '.join(battery_names())}.",
        ) from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}, line {error.lineno}, column {error.colno}: this is not JSON: {error.msg}.",
            "Mend the file.",
        ) from error
    except ValueError as error:  # not UTF-8, or a number that is none
        raise InvalidInputError(f"{path} is not JSON: {error}.", "Mend the file.") from error
    return data
