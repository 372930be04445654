"""The pages of the documentation as instructions: files to write, commands to type, code to run.

A block whose fence names a file (`` ```python my_agent.py ``) is that file. In a ``console`` block
every line that begins with ``$`` is typed. What follows is what it prints, with ``...`` for what is
left out; ``$ echo $?`` shows its exit code. A ``python`` block without a name is run, as doctest if
it has prompts. Blocks of other languages are only to be read.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent

MATCHING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_FENCE = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^\$ ((?:.*\\\n)*.*)\n?", re.MULTILINE)
"""A line to be typed, which goes on as long as lines end in a backslash."""

_CODE = "echo $?"

Typed = tuple[int, str, str]
"""The exit code, the output and the errors of a command."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file it is, if it is one, and its text."""

    language: str
    name: str | None
    text: str


@dataclass(frozen=True)
class Command:
    """What is typed, what the page shows of its output, and the exit code that it must have."""

    typed: str
    shown: str
    code: int = 0


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    return [Block(*match.groups()) for match in _FENCE.finditer(read(page))]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", read(page))


def commands(block: Block) -> list[Command]:
    """What a console block tells to type."""
    result: list[Command] = []
    before, *pieces = _PROMPT.split(block.text)
    assert not before.strip(), f"a console block begins with output: {before!r}"
    for typed, shown in zip(pieces[::2], pieces[1::2], strict=True):
        if typed == _CODE:
            result[-1] = Command(result[-1].typed, result[-1].shown, int(shown))
        else:
            result.append(Command(typed.replace("\\\n", " "), shown))
    return result


def matches(shown: str, printed: str) -> bool:
    """Whether a command printed what the page shows; a page may show nothing of it."""
    return not shown.strip() or doctest.OutputChecker().check_output(shown, printed, MATCHING)


class Reader:
    """Does what a page says, in an empty directory.

    Args:
        directory: The directory.
        omnimeter: Types an ``omnimeter`` command there.
        install: Installs the package in a directory.
        skip: Says which commands not to type.
    """

    def __init__(
        self,
        directory: Path,
        omnimeter: Callable[[list[str]], Typed],
        install: Callable[[Path], None],
        skip: Callable[[str], bool],
    ) -> None:
        self.directory = directory
        self.omnimeter = omnimeter
        self.install = install
        self.skip = skip
        self._names: dict[str, object] = {"__name__": "page"}

    def follow(self, page: Path) -> Iterator[str]:
        """Do it all, and yield each difference between the page and what happens."""
        for block in blocks(page):
            if block.name is not None:
                file = self.directory / block.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            elif block.language == "console":
                for command in commands(block):
                    if not self.skip(command.typed):
                        yield from self._compare(command)
            elif block.language == "python":
                yield from self._run(block.text)

    def _compare(self, command: Command) -> Iterator[str]:
        code, out, err = self._type_in(shlex.split(command.typed))
        if code != command.code:
            yield f"$ {command.typed}\nleft with {code}, not {command.code}:\n{out}{err}"
        elif not matches(command.shown, out or err):
            yield f"$ {command.typed}\nprinted\n{out or err}instead of\n{command.shown}"

    def _type_in(self, arguments: list[str]) -> Typed:
        match arguments:
            case ["omnimeter", *rest]:
                return self.omnimeter(rest)
            case ["pip", "install", source]:
                self.install(self.directory / source)
                return 0, "", ""
            case ["cp" | "ls" | "pytest" | "python", *_]:
                environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
                done = subprocess.run(
                    arguments, cwd=self.directory, env=environment, capture_output=True, text=True,
                    check=False,
                )  # fmt: skip
                return done.returncode, done.stdout, done.stderr
        raise AssertionError(f"a page says to type {arguments[0]!r}, which no test can do")

    def _run(self, text: str) -> Iterator[str]:
        if ">>>" not in text:
            exec(compile(text, "page", "exec"), self._names)
            return
        test = doctest.DocTestParser().get_doctest(text, self._names, "page", None, None)
        differences: list[str] = []
        doctest.DocTestRunner(optionflags=MATCHING).run(
            test, out=differences.append, clear_globs=False
        )
        self._names = test.globs
        if differences:
            yield "".join(differences)
