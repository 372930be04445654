"""The user's cache: what is kept there comes back only if this user's Omnimeter wrote it.

Compiled kernels are pickles, which can do anything when they are loaded. So each file begins with a
signature, whose key no other user can read and no agent can see; nothing else is ever unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import secrets
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

announcements: list[Callable[[str], None]] = []
"""Told before something is compiled for the first time, and when it cannot be compiled or kept."""

_told: set[str] = set()


def announce(message: str, *, warn: bool = False) -> None:
    """Tell all that listen to announcements; if none does, it can be a Python warning instead."""
    for tell in announcements:
        tell(message)
    if warn and not announcements:
        warnings.warn(message, stacklevel=2)


def _announce_once(message: str) -> None:
    if message not in _told:
        _told.add(message)
        announce(message, warn=True)


def cache_directory() -> Path:
    """Where compiled kernels are kept: ``OMNIMETER_CACHE_DIR``, or the user's cache."""
    if chosen := os.environ.get("OMNIMETER_CACHE_DIR"):
        return Path(chosen) / "kernels"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "omnimeter" / "kernels"


def temporary_directory() -> Path:
    """A directory for temporary files that only this user can use."""
    return _private(Path(tempfile.gettempdir()) / f"omnimeter-{os.getuid()}")


def _private(path: Path) -> Path:
    """A directory that only this user can use; it is made, or closed to others, if it is not.

    Raises:
        OSError: It belongs to another user, or cannot be made.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":  # which has other means than owners and modes
        return path
    if {path.lstat().st_uid, path.stat().st_uid} != {os.getuid()}:
        raise PermissionError(f"{path} belongs to another user")
    if path.stat().st_mode & 0o077:
        if path.is_symlink():
            raise PermissionError(f"{path} is open to other users")
        path.chmod(0o700)
    return path


class _Place(NamedTuple):
    """A directory for what is kept, and the key that its files are signed with."""

    root: Path
    key: bytes

    def sign(self, name: str, content: bytes) -> bytes:
        """The signature of a file, which depends on its name: none can stand for another."""
        signed = f"{name}\n".encode() + content
        return hmac.new(self.key, signed, hashlib.sha256).hexdigest().encode()


def _place() -> _Place | None:
    """The user's cache or, where that cannot be used, a directory for temporary files."""
    reasons = []
    for chosen in (True, False):
        try:
            root = cache_directory().parent if chosen else temporary_directory()
            place = _Place(root, _key(_private(root / "kernels") / "key"))
        except OSError as error:
            reasons.append(error.strerror or str(error))
            continue
        if reasons:
            _announce_once(
                f"The cache {cache_directory()} cannot be used ({reasons[0]}); {place.root} is "
                "used instead. Set OMNIMETER_CACHE_DIR to a directory of your own."
            )
        return place
    _announce_unkept(cache_directory(), reasons[0])
    return None


def _announce_unkept(directory: Path, reason: str) -> None:
    _announce_once(
        f"What is compiled or prepared cannot be kept in {directory} ({reason}), and is made again "
        "next time. Free some space, or set OMNIMETER_CACHE_DIR to another directory."
    )


def _key(path: Path) -> bytes:
    """The key in a file, which is made where there is none that can be used.

    Raises:
        OSError: There is none, and none can be made.
    """
    for _ in range(2):
        if path.exists():
            status = path.lstat()
            own = os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
            key = path.read_bytes() if own and stat.S_ISREG(status.st_mode) else b""
            if len(key) == 32:
                return key
            path.unlink()  # what was signed with it is made again
        handle, temporary = tempfile.mkstemp(dir=path.parent)  # which only this user can read
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(32))
            if not path.exists():
                os.link(temporary, path)  # fails where another process was faster
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)
    raise PermissionError(f"{path} cannot be used as a key")


def kept(name: str) -> bytes | None:
    """What was kept under a name, such as ``prepared/NAME.json``; ``None`` if it is not there.

    The name may be an absolute path, of a file that is signed but not in the cache.

    Neither is it there if it was not written by ``keep``, by this user, or is damaged.
    """
    place = _place()
    if place is None:
        return None
    path = place.root / name
    try:
        signature, _, content = path.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        signature, reason = b"", f" ({error.strerror})"
    else:
        reason = ""
    if not reason and hmac.compare_digest(signature, place.sign(name, content)):
        return content
    announce(f"{path} is damaged or not from this cache{reason}; it is made again.")
    return None


def keep(name: str, content: bytes) -> None:
    """Keep something under a name, if there is a place; several processes may do so at once."""
    place = _place()
    if place is None:
        return
    path = place.root / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(place.sign(name, content) + b"\n" + content)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        _announce_unkept(place.root, error.strerror or str(error))


def discard(name: str) -> None:
    """Keep no longer what was kept under a name; nothing happens where it is not there."""
    place = _place()
    if place is not None:
        with suppress(OSError):
            (place.root / name).unlink(missing_ok=True)


def directory_of(module: str) -> Path | None:
    """Where the compiled code of a generated module is kept; nowhere if there is no place."""
    place = _place()
    return None if place is None else place.root / "kernels" / module


class KernelCache:
    """Keeps what Numba compiles of one function.

    It takes the place of Numba's own cache, which unpickles whatever lies in its directory. What
    the function calls must be part of the name of its module, as in generated ones.
    """

    cache_path = None  # Numba shows it in statistics

    def __init__(self, function: Any) -> None:
        self._function = function

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """What was compiled for these types and this processor, or ``None``."""
        from numba.core import compiler

        rebuild: Callable[..., Any] = compiler.CompileResult._rebuild
        target_context.refresh()
        key = self._key(signature, target_context.codegen())
        content = kept(self._name(key))
        if content is None:
            return None
        known, compiled = pickle.loads(content)  # it is signed
        return rebuild(target_context, *compiled) if known == key else None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled for these types."""
        from numba.core import serialize

        dumps: Callable[..., bytes] = serialize.dumps
        if compiled.library.has_dynamic_globals or compiled.lifted:
            name = f"{self._function.__module__}.{self._function.__name__}"
            _announce_once(f"The code of {name} refers to places in memory and cannot be kept.")
            return
        key = self._key(signature, compiled.codegen)
        keep(self._name(key), dumps((key, compiled._reduce())))

    def flush(self) -> None:
        """Do nothing: what is compiled again takes the place of what was kept."""

    def _key(self, signature: Any, codegen: Any) -> tuple[Any, ...]:
        """Types, processor, versions and code: the same key has the same compiled code."""
        import numba

        code = self._function.__code__
        versions = (numba.__version__, sys.version)
        return (
            signature,
            codegen.magic_tuple(),
            versions,
            code.co_code,
            code.co_names,
            (repr(code.co_consts)),
        )

    def _name(self, key: tuple[Any, ...]) -> str:
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self._function.__name__}-{digest}.compiled"
        return f"kernels/{self._function.__module__}/{name}"


def compiled(function: Any, *types: Any, **options: Any) -> Any:
    """A function compiled by Numba, from the cache if it is there.

    Args:
        function: A function of a generated module, or one that calls no other.
        types: The types of its arguments; with them it is ready at once, not after its first call.
        options: The options of ``numba.njit``.
    """
    import numba
    from numba.core.compiler import CompileResult
    from numba.core.typeinfer import register_dispatcher

    dispatcher = numba.njit(**options)(function)
    if dispatcher is function:  # compiling is switched off
        return function
    parts = [(dispatcher, "_cache"), (CompileResult, "_reduce"), (CompileResult, "_rebuild")]
    if all(hasattr(owner, name) for owner, name in parts):
        dispatcher._cache = KernelCache(function)
    else:
        _announce_once(
            f"Numba {numba.__version__} keeps compiled code in a way that is not known here; "
            "kernels are compiled again each time. Update Omnimeter."
        )
    if types:
        with register_dispatcher(dispatcher):
            dispatcher.compile(types)
            dispatcher.disable_compile()
    return dispatcher


class Usage(NamedTuple):
    """What is kept: how many kernels and offline phases, and how many bytes each take."""

    kernels: int
    kernel_bytes: int
    prepared: int
    prepared_bytes: int


def usage() -> Usage:
    """What the cache holds now; other processes may change it meanwhile."""
    sizes: dict[str, list[int]] = {".compiled": [], ".json": []}
    for path in cache_directory().glob("*/*"):
        if path.suffix in sizes:
            with suppress(OSError):
                sizes[path.suffix].append(path.lstat().st_size)
    kernels, prepared = sizes.values()
    return Usage(len(kernels), sum(kernels), len(prepared), sum(prepared))


def clear() -> None:
    """Remove all compiled kernels, which are compiled again when they are needed.

    What agents prepared stays: it may have taken days.

    Raises:
        OSError: Something cannot be removed.
    """
    for path in cache_directory().glob("*/*.compiled"):
        path.unlink(missing_ok=True)
    for folder in cache_directory().glob("*/"):
        with suppress(OSError):  # it holds something else
            folder.rmdir()
