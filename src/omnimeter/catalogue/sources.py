"""Loads a person's own Python file as a module, exactly as its bytes are now."""

from __future__ import annotations

import difflib
import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from omnimeter.catalogue.failures import import_failure
from omnimeter.contract import InvalidInputError

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
