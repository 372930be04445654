"""The files that a part is made of: its source, the modules that this imports, and its data.

Sources are read, never imported. A module counts if it comes from the part's own folder: that of
its file or, for ``package.module:Name``, the one that contains the package. Data is what a class
declares as ``files``, and what parameters name.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from glob import glob
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from os.path import basename, dirname, isdir, isfile, join, realpath
from typing import Any

from omnimeter.catalogue.loading import Location, file_digest, place_of, read_location, read_source
from omnimeter.catalogue.objects import is_object
from omnimeter.catalogue.programs import files_of_program, is_program
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.spec import fingerprint, is_spec

_LOADERS = {"spec_from_file_location", "SourceFileLoader", "run_path", "run_module"}
"""Functions that run a source whose name is known only then."""

DECLARATION = "files"
"""The attribute of a class, or the constant of a module, that names the data it reads."""

_LARGE = 1 << 20  # bytes from which on a digest is kept as long as the file's status is the same
_MOST_STEPS = 20  # from a name through imports and base classes to a declaration


@dataclass
class Contents:
    """What a part is made of.

    Attributes:
        files: Paths by names that do not depend on where the folder is.
        unhashed: What may change the part without changing its digest.
    """

    files: dict[str, str] = field(default_factory=dict)
    unhashed: list[str] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """A hash of all names and contents; of a single file, that of its content."""
        digests = {name: _digest(path) for name, path in self.files.items()}
        if len(digests) <= 1:
            return next(iter(digests.values()), "")
        return fingerprint(sorted(digests.items()))


def files_of(spec: Spec) -> list[str]:
    """The files that a part is made of, with those of the parts in its parameters.

    Raises:
        InvalidInputError: A file that it declares does not exist.
    """
    every = (path for part in parts_in(spec) for path in contents(part).files.values())
    return list(dict.fromkeys(every))


def unhashed(spec: Spec) -> list[str]:
    """What may change a part, or the parts in its parameters, without changing a digest.

    Raises:
        InvalidInputError: A file that it declares does not exist.
    """
    return list(dict.fromkeys(text for part in parts_in(spec) for text in contents(part).unhashed))


def parts_in(spec: Spec) -> Iterator[Spec]:
    """A spec, and those of other parts in its parameters."""
    yield spec
    values: list[Any] = list(spec.parameters.values())
    while values:
        value = values.pop()
        if isinstance(value, Mapping):
            if is_spec(value):
                yield Spec(value["id"], value.get("parameters", {}), value.get("digest", ""))
            values += value.values()
        elif isinstance(value, list | tuple):
            values += value


def contents(spec: Spec, *, parameters: bool = True) -> Contents:
    """What a part itself is made of: no files for a part of the catalogue that reads no data.

    Args:
        spec: The part.
        parameters: Whether files count that parameters name.

    Raises:
        InvalidInputError: A file does not exist, or a declaration cannot be read.
    """
    if is_program(spec):
        return Contents(files_of_program(spec))
    made_of = Contents()
    location = None if is_object(spec.id) else read_location(spec.id)
    if location is not None:
        sources = _sources(location)
        if sources is None:
            made_of.unhashed.append(f"{location.source} has no source file")
        else:
            made_of = sources.contents(location.name)
    for name, value in spec.parameters.items() if parameters else ():
        if location is None and name != "file":
            continue
        several = isinstance(value, list | tuple)
        for place, each in enumerate(value if several else [value]):
            # A file that does not exist is left to the part, except after it was hashed.
            hashed = name == "file" and not several and bool(spec.digest)
            if isinstance(each, str) and (hashed or isfile(place_of(each))):
                made_of.files[f"{name}[{place}]=" if several else f"{name}="] = place_of(each)
    return made_of


def _sources(location: Location) -> _Sources | None:
    """The sources of a location; ``None`` for a module that exists without a source file."""
    if location.is_file:
        # The folder of a link is that of the file which it leads to, as when it is loaded.
        path = place_of(location.source)
        real = dirname(realpath(path))
        folder = dirname(path) if realpath(dirname(path)) == real else real
        return _Sources(folder, [basename(path)], path)
    top, *rest = location.source.split(".")
    try:
        module = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        module = None
    if module is None or top == "omnimeter":  # the first fails when it is loaded
        return _Sources("", [])
    places = list(module.submodule_search_locations or ()) or [module.origin or ""]
    for place in places:
        sources = _Sources(dirname(place), [])
        first = sources.modules((top, *rest))
        if first and first[-1].startswith("/".join((top, *rest))):
            return _Sources(dirname(place), first)
    # Without a file it is part of the interpreter, or does not exist, which is said on loading.
    return None if not any(isdir(place) for place in places) else _Sources("", [])


class _Sources:
    """Source files in a folder, and those that they import from there.

    Args:
        root: The folder that modules are imported from.
        first: The names of the files to begin with, relative to the folder; the last is the part's.
        path: Where that last one is, if not there.
    """

    def __init__(self, root: str, first: list[str], path: str = "") -> None:
        self._root, self._first, self._path = root, first, path
        # Next to an installed package there are others, which are none of its own.
        installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
        if basename(root) in ("site-packages", "dist-packages") or root in installed:
            self._only = first[-1].split("/")[0].partition(".")[0] if first else ""
        else:
            self._only = ""

    def contents(self, name: str) -> Contents:
        """The files that are loaded with the object of a name, and what is not known."""
        made_of, waiting = Contents(), list(self._first)
        while waiting:
            file = waiting.pop()
            if file in made_of.files:
                continue
            made_of.files[file] = self._place(file)
            for level, module, names, line in _imports(self._tree(file)):
                if names is None:
                    text = f"{self._place(file)}, line {line}, imports a module of a computed name"
                    made_of.unhashed.append(text)
                for each in ("", *(names or ())):
                    waiting += self._imported(file, level, module, each)
        if self._first:
            made_of.files |= self._declared(name)
        return made_of

    def modules(self, dotted: tuple[str, ...]) -> list[str]:
        """The files, relative to the folder, that importing a dotted name from it executes."""
        if dotted[0] == "omnimeter" or (self._only and dotted[0] != self._only):
            return []
        result = []
        for count in range(1, len(dotted) + 1):
            base = "/".join(dotted[:count])
            endings = (*(f"/__init__{end}" for end in _ENDINGS), *_ENDINGS)
            file = next((base + end for end in endings if isfile(join(self._root, base + end))), "")
            if file:
                result.append(file)
            if not isdir(join(self._root, base)) or (file and "/__init__" not in file):
                break
        return result

    def _imported(self, file: str, level: int, module: str, name: str) -> list[str]:
        """The files that an import statement in a file executes."""
        package = tuple(file.split("/")[:-1])
        if level > len(package):  # of a file that is in no package
            return []
        base = package[: len(package) - level + 1] if level else ()
        dotted = (*base, *filter(None, module.split(".")), *filter(None, [name]))
        return self.modules(dotted) if dotted else []

    def _declared(self, name: str) -> dict[str, str]:
        """The files that the object of a name declares, as paths by relative names."""
        file, value = self._declaration(self._first[-1], name.split("."), _MOST_STEPS)
        if value is None:
            return {}
        place = self._place(file)
        try:
            names = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            names = None
        names = [names] if isinstance(names, str) else names
        if not isinstance(names, list | tuple) or not all(isinstance(each, str) for each in names):
            message = f"{place}, line {value.lineno}: the declaration of files cannot be read."
            advice = f'Write the names out: {DECLARATION} = ("model.zip", "weights/*.npz").'
            raise InvalidInputError(message, advice)
        folder = dirname(place)
        result: dict[str, str] = {}
        for each in names:
            pattern = join(each, "**") if isdir(join(folder, each)) else each
            known = {each} if isfile(join(folder, each)) else set()
            if not known and not os.path.isabs(each) and "\0" not in each:
                matching = glob(pattern, root_dir=folder or ".", recursive=True)
                known = {match for match in matching if isfile(join(folder, match))}
            if not known or os.path.isabs(each):
                message = f"{place} declares the file {each!r}, which does not exist in its folder."
                raise InvalidInputError(message, f"Put it there, or correct {DECLARATION} = (...).")
            inside = dirname(file)
            result |= {join(inside, match): join(folder, match) for match in known}
        return dict(sorted(result.items()))

    def _declaration(self, file: str, names: list[str], steps: int) -> tuple[str, ast.expr | None]:
        """Where the data of an object is declared: in its class or a base class, or its module."""
        body, (first, *inner) = self._tree(file).body, names
        for node in body if steps else ():
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == first:
                        source = self._imported(file, node.level, node.module or "", "")
                        if source and source[-1].endswith(".py"):
                            return self._declaration(source[-1], [alias.name, *inner], steps - 1)
            if not (isinstance(node, ast.ClassDef) and node.name == first):
                continue
            for each in inner:
                classes = [below for below in node.body if isinstance(below, ast.ClassDef)]
                node = next((below for below in classes if below.name == each), node)  # noqa: PLW2901 - goes down
            if value := _assigned(node.body):
                return file, value
            for base in node.bases:
                if isinstance(base, ast.Name) and base.id != first:
                    inherited = self._declaration(file, [base.id], steps - 1)
                    if inherited[1] is not None:
                        return inherited
        return file, _assigned(body)

    def _place(self, file: str) -> str:
        own = self._path and file == self._first[-1]
        return self._path if own else join(self._root, *file.split("/"))

    def _tree(self, file: str) -> ast.Module:
        if file.endswith(tuple(EXTENSION_SUFFIXES)) or file.endswith(".pyc"):
            return ast.Module([], [])
        return _parsed(read_source(self._place(file)))


_ENDINGS = (*EXTENSION_SUFFIXES, ".py", ".pyc")
"""How the files of a module end, in the order in which Python tries them."""

_Import = tuple[int, str, tuple[str, ...] | None, int]
"""Level, module, names and line of an import; no names where only running it would tell."""


@lru_cache(maxsize=128)
def _parsed(content: bytes) -> ast.Module:
    """The statements of a source; none when it cannot be parsed, which is said on loading."""
    try:
        return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _imports(tree: ast.Module) -> Iterator[_Import]:
    """The imports in a source, wherever they stand."""
    importers = {"__import__", "import_module"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "importlib":
            importers |= {each.asname for each in node.names if each.asname}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name, (), node.lineno
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names if alias.name != "*")
            yield node.level, node.module or "", names, node.lineno
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in _LOADERS:
                yield 0, "", None, node.lineno
            elif name in importers and node.args:
                module = getattr(node.args[0], "value", None)
                known = isinstance(module, str) and not module.startswith(".")
                yield 0, str(module) if known else "", () if known else None, node.lineno


def _assigned(body: list[ast.stmt]) -> ast.expr | None:
    """What the statements of a class or a module assign to the declaration of files."""
    value = None
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = any(isinstance(each, ast.Name) and each.id == DECLARATION for each in targets)
        if named and isinstance(node, ast.Assign | ast.AnnAssign):
            value = node.value or value
    return value


def _digest(path: str) -> str:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return file_digest(path)  # says what is wrong
    if status.st_size < _LARGE:
        return file_digest(path)
    times = status.st_mtime_ns, status.st_ctime_ns
    return _large_digest(path, (status.st_dev, status.st_ino, status.st_size, *times))


@lru_cache(maxsize=256)
def _large_digest(path: str, status: tuple[int, ...]) -> str:  # noqa: ARG001 - the key
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as error:
        message = f"The file {path!r} cannot be read: {error.strerror}."
        raise InvalidInputError(message, "Check the path.") from error
