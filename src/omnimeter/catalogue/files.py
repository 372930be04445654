"""Parts in files and modules: loading them, their digests, and errors that name file and line."""

from __future__ import annotations

import difflib
import hashlib
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from omnimeter.contract import InvalidInputError, UnknownNameError

_HERE = str(Path(__file__).parent)


def import_failure(error: BaseException, source: str, path: str = "") -> InvalidInputError:
    """The error of a file or module that raised while it was imported.

    Args:
        error: What it raised.
        source: The file or module, as the person named it.
        path: The absolute path of the file, where the source is one.
    """
    where = _line(error, path)
    if where is None:
        return InvalidInputError(f"{source} cannot be imported: {_raised_at(error)}{_said(error)}.")
    return InvalidInputError(f"{source}, line {where}: {_said(error)}.", "Mend the file.")


def making_failure(error: BaseException, label: str) -> InvalidInputError:
    """The error of a part that raised while it was made."""
    if type(error) is ValueError:  # a check of its own, which needs no more words
        return InvalidInputError(f"{label} cannot be made: {str(error).removesuffix('.')}.")
    return InvalidInputError(f"{label} cannot be made: {_raised_at(error)}{_said(error)}.")


def _line(error: BaseException, path: str) -> int | None:
    """The innermost line of a file that was at work when an error was raised."""
    if isinstance(error, SyntaxError) and str(error.filename).endswith(".py"):
        return error.lineno if error.filename == path else None
    lines = [frame.lineno for frame in _frames(error) if frame.filename == path]
    return lines[-1] if lines else None


def _raised_at(error: BaseException) -> str:
    """``file, line n:`` for an error that came from somebody else's file; else empty."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno or 'unknown'}: "
    frames = _frames(error)
    return f"{frames[-1].filename}, line {frames[-1].lineno}: " if frames else ""


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Where an error passed, without the import machinery and the catalogue itself."""
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and not frame.filename.startswith(_HERE)
    ]


def _said(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {message}".removesuffix(".").removesuffix(": ")


_directories: set[Path] = set()
"""The directories of all files loaded so far."""


def file_digest(path: str) -> str:
    """Sixteen hexadecimal digits that name the present content of a file."""
    return _digest(_read(path))


def load_file(path: str) -> ModuleType:
    """Import a file; the same content at the same path is imported once per process.

    Args:
        path: Absolute, or relative to the current directory.

    Raises:
        InvalidInputError: The file is not there, or it fails while it is imported.
    """
    content = _read(path)
    absolute = Path(path).resolve()
    name = _module_name(absolute, content)
    if name in sys.modules:
        return sys.modules[name]
    loader = _ContentLoader(name, str(absolute), content)
    spec = spec_from_file_location(name, absolute, loader=loader)
    assert spec is not None  # a spec with a given loader is always made
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _siblings(absolute.parent):
            loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, (Exception, SystemExit)):
            raise import_failure(error, path, str(absolute)) from error
        raise
    return module


class _ContentLoader(SourceFileLoader):
    """Runs the content that was hashed.

    The usual loader trusts bytecode of the same size and second, and so may miss an edit.
    """

    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self._content = content

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._content, self.get_filename(fullname))


def _module_name(path: Path, content: bytes) -> str:
    """A name that generated code can write in an import statement."""
    stem = re.sub(r"\W", "_", path.stem)
    return f"omnimeter_file_{_digest(str(path).encode() + content)}_{stem}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        close = difflib.get_close_matches(path, _neighbours(path), n=1, cutoff=0.5)
        advice = f"Did you mean {close[0]!r}?" if close else "Check the path."
        raise InvalidInputError(f"There is no file {path!r}.", advice) from None
    except OSError as error:
        raise InvalidInputError(
            f"The file {path!r} cannot be read: {error.strerror}.", "Check the path."
        ) from error


def _neighbours(path: str) -> list[str]:
    return [str(file) for file in Path(path).parent.glob("*.py")]


@contextmanager
def _siblings(directory: Path) -> Iterator[None]:
    """Let a file import its siblings: before all else for now, and after all else from then on."""
    _forget_namesakes(directory)
    _directories.add(directory)
    known = str(directory) in sys.path
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        with suppress(ValueError):  # the file itself may have tidied up
            sys.path.remove(str(directory))
        if not known:
            sys.path.append(str(directory))


def _forget_namesakes(directory: Path) -> None:
    """Forget the siblings of earlier files that are called like siblings here.

    Otherwise ``import policy`` in ``b/agent.py`` would quietly get ``a/policy.py``. Those who have
    imported them keep them.
    """
    for name in {path.stem for path in directory.iterdir() if not path.name.startswith("_")}:
        origin = getattr(sys.modules.get(name), "__file__", None)
        if origin is None:
            continue
        home = Path(origin).parent
        if Path(origin).name == "__init__.py":
            home = home.parent
        if home != directory and home in _directories:
            for loaded in [other for other in sys.modules if f"{other}.".startswith(f"{name}.")]:
                del sys.modules[loaded]


_MODULE_ADVICE = "Install its package, or name a file: 'path/to/file.py:Name'."


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object is.

    Attributes:
        source: The path of a file, or the dotted name of a module.
        name: The name of the object there, dotted if it is inside another one.
    """

    source: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether the source is a file and not a module."""
        return self.source.endswith(".py") or "/" in self.source or "\\" in self.source

    def __str__(self) -> str:
        return f"{self.source}:{self.name}"


def read_place(text: str) -> Place | None:
    """The place that a text names, or ``None`` when it can only be an id.

    Raises:
        InvalidInputError: It is a place, but does not say all.
    """
    source, colon, name = text.rpartition(":")
    place = Place(source, name) if colon else Place(text, "")
    if not colon and not place.is_file:
        return None
    if not source or not all(part.isidentifier() for part in name.split(".")):
        example = place.source or "my_agent.py"
        raise InvalidInputError(
            f"{text!r} does not say which object is meant.",
            f"Write the file or module, a colon and a name: '{example}:Name'.",
        )
    return place


def find_object(place: Place) -> Any:
    """Import the source of a place and take the object from it.

    Raises:
        InvalidInputError: The source is not there, cannot be imported, or defines nothing.
        UnknownNameError: There is no object of that name in it.
    """
    module = load_file(place.source) if place.is_file else _load_module(place)
    try:
        return reduce(getattr, place.name.split("."), module)
    except AttributeError:
        pass
    if known := _own_names(module):
        raise UnknownNameError(f"object in {place.source} called", place.name, known)
    raise InvalidInputError(
        f"There is no object in {place.source} called {place.name!r}.", "It defines nothing."
    )


def _own_names(module: ModuleType) -> list[str]:
    """What a module says it offers, or else what it defines itself, or else all that it has."""
    if offered := getattr(module, "__all__", None):
        return [str(name) for name in offered]
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = [
        name
        for name, value in public.items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    return own or list(public)


def _load_module(place: Place) -> ModuleType:
    try:
        return import_module(place.source)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place.source}.".startswith(f"{error.name}."):
            raise import_failure(error, place.source) from error
        path = Path(*place.source.split(".")).with_suffix(".py")
        advice = f"Did you mean '{path}:{place.name}'?" if path.is_file() else _MODULE_ADVICE
        raise InvalidInputError(f"There is no module {place.source!r}.", advice) from error
    except (Exception, SystemExit) as error:
        raise import_failure(error, place.source) from error
