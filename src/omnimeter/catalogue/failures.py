"""What a person is told when somebody else's code fails: the file, the line and the error."""

from __future__ import annotations

import traceback
from pathlib import Path

from omnimeter.contract import InvalidInputError

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
