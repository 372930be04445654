"""Parts in files and modules: loading them, their digests, and errors that name file and line."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import reduce
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from omnimeter.contract import InvalidInputError, Spec, UnknownNameError
from omnimeter.contract.errors import BrokenPartError
from omnimeter.contract.spec import read_bytes

_HERE = str(Path(__file__).parent)
_folder: ContextVar[str] = ContextVar("folder", default="")
_FILE = "omnimeter_file_"  # how the names of modules begin that were imported from files


@contextmanager
def files_in(folder: str | Path) -> Iterator[None]:
    """Let relative names of files begin in a folder meanwhile, and not where the process is."""
    token = _folder.set(str(folder))
    try:
        yield
    finally:
        _folder.reset(token)


def place_of(file: str = "") -> str:
    """Where a file is whose name may be relative; without a name, where such names begin."""
    return os.path.join(_folder.get(), file)


class Location(NamedTuple):
    """Where an object is: a file or the dotted name of a module, and the object's name there."""

    source: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether the source is a file and not a module."""
        return self.source.endswith(".py") or "/" in self.source or "\\" in self.source


def read_location(text: str) -> Location | None:
    """The location that a text names, or ``None`` when it can only be an id.

    Raises:
        InvalidInputError: It is a location, but incomplete.
    """
    source, colon, name = text.rpartition(":")
    location = Location(source, name) if colon else Location(text, "")
    if not colon and not location.is_file:
        return None
    if not source or not all(part.isidentifier() for part in name.split(".")):
        example = f"'{location.source or 'my_agent.py'}:Name'"
        advice = f"Write the file or module, a colon and a name: {example}."
        raise InvalidInputError(f"{text!r} does not say which object is meant.", advice)
    return location


def load_object(location: Location) -> Any:
    """Import the source of a location and take the object from it.

    Raises:
        InvalidInputError: The source does not exist, cannot be imported, or defines nothing.
        UnknownNameError: There is no object of that name in it.
    """
    source, name = location
    try:
        module = None if location.is_file else import_module(source)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is None or not f"{source}.".startswith(f"{missing}."):
            raise _import_error(error, source) from error
        path = Path(*source.split(".")).with_suffix(".py")
        advice = "Install its package, or name a file: 'path/to/file.py:Name'."
        if path.is_file():
            advice = f"Did you mean '{path}:{name}'?"
        raise InvalidInputError(f"There is no module {source!r}.", advice) from error
    module = module or _load_file(source)
    try:
        return reduce(getattr, name.split("."), module)
    except AttributeError:
        pass
    # The nearest name among what the module exports, or else defines itself, or else contains.
    public = {key: value for key, value in vars(module).items() if not key.startswith("_")}
    own = [key for key in public if getattr(public[key], "__module__", None) == module.__name__]
    known = [str(each) for each in getattr(module, "__all__", None) or own or public]
    if known:
        raise UnknownNameError(f"object in {source} called", name, known)
    message = f"There is no object in {source} called {name!r}."
    raise InvalidInputError(message, "It defines nothing.")


_directories: set[Path] = set()  # of all files loaded so far


def file_digest(path: str) -> str:
    """Sixteen hexadecimal digits that name the present content of a file."""
    return _digest(read_source(path))


def _load_file(path: str) -> ModuleType:
    """Import a file; the same content at the same path is imported once per process."""
    path = place_of(path)
    content = read_source(path)
    absolute = Path(path).resolve()
    # A name that generated code can write in an import statement.
    stem = re.sub(r"\W", "_", absolute.stem)
    name = f"{_FILE}{_digest(str(absolute).encode() + content)}_{stem}"
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
            raise _import_error(error, path, str(absolute)) from error
        raise
    return module


def loaded_files() -> list[str]:
    """The files that parts of this process were imported from, as far as they are still there."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_FILE)]
    paths = [Path(str(module.__file__)) for module in modules]
    return [str(path) for path in dict.fromkeys(paths) if path.is_file()]


def load_files(paths: Iterable[str]) -> None:
    """Import files as another process did, so that what it pickles can be unpickled here.

    One that can no longer be imported may not be needed; unpickling tells if it is.
    """
    for path in paths:
        with suppress(InvalidInputError):
            _load_file(path)


class _ContentLoader(SourceFileLoader):
    """Runs the content that was hashed; bytecode of the same size and second may miss an edit."""

    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self._content = content

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self._content, self.get_filename(fullname))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def read_source(path: str) -> bytes:
    """The content of a source file.

    Raises:
        InvalidInputError: It cannot be read; the advice gives the nearest name.
    """
    try:
        return read_bytes(path)
    except InvalidInputError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise
    files = [str(file) for file in Path(path).parent.glob("*.py")]
    close = difflib.get_close_matches(path, files, n=1, cutoff=0.5)
    advice = f"Did you mean {close[0]!r}?" if close else "Check the path."
    raise InvalidInputError(f"There is no file {path!r}.", advice)


@contextmanager
def _siblings(directory: Path) -> Iterator[None]:
    """Let a file import its siblings: before all else for now, and after all else from then on.

    Siblings of earlier files that have the name of a sibling here are forgotten: otherwise ``import
    policy`` in ``b/agent.py`` would get ``a/policy.py``. Modules that imported them keep them.
    """
    for name in {path.stem for path in directory.iterdir() if not path.name.startswith("_")}:
        file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
        parent = file.parent.parent if file.name == "__init__.py" else file.parent
        if parent != directory and parent in _directories:
            for loaded in [other for other in sys.modules if f"{other}.".startswith(f"{name}.")]:
                del sys.modules[loaded]
    _directories.add(directory)
    known = str(directory) in sys.path
    sys.path.insert(0, str(directory))
    try:
        yield
    finally:
        with suppress(ValueError):  # the file itself may have removed it
            sys.path.remove(str(directory))
        if not known:
            sys.path.append(str(directory))


def _import_error(error: BaseException, source: str, path: str = "") -> BrokenPartError:
    """The error for a source that raised while it was imported; the path of a file is absolute."""
    lines = [frame.lineno for frame in _frames(error) if frame.filename == path]
    if isinstance(error, SyntaxError) and str(error.filename).endswith(".py"):
        lines = [error.lineno] if error.filename == path else []
    if not lines or lines[-1] is None:
        return BrokenPartError(f"{source} cannot be imported: {_description(error)}.")
    message = f"{source}, line {lines[-1]}: {_type_and_message(error)}."
    return BrokenPartError(message, "Fix the file.")


def construction_error(error: BaseException, spec: Spec) -> InvalidInputError:
    """The error for a part that raised while it was constructed.

    A ``ValueError`` of a part that was given parameters is its check of them.
    """
    own_check = type(error) is ValueError  # needs no traceback
    reason = str(error).removesuffix(".") if own_check else _description(error)
    kind = InvalidInputError if own_check and spec.parameters else BrokenPartError
    return kind(f"{spec.label} cannot be made: {reason}.")


def _description(error: BaseException) -> str:
    """``file, line n: ValueError: message``, where the file is known."""
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f"{error.filename}, line {error.lineno or 'unknown'}: "
    elif frames := _frames(error):
        where = f"{frames[-1].filename}, line {frames[-1].lineno}: "
    return where + _type_and_message(error)


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The traceback of an error, without the import machinery and the catalogue itself."""
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and not frame.filename.startswith(_HERE)
    ]


def _type_and_message(error: BaseException) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {message}".removesuffix(".").removesuffix(": ")
