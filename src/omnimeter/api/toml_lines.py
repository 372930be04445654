"""The line of every key in a TOML text, which the parser of the standard library does not tell."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left

Where = tuple[str | int, ...]
"""Where a key is: ``("tests", 0, "exercises")``."""


def key_lines(text: str) -> dict[Where, int]:
    """The line of every key and table in a TOML text that can be read."""
    return _Scanner(text).lines


class _Scanner:
    """Finds where keys are; it may rely on the text being TOML."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self.lines: dict[Where, int] = {}
        self._counts: dict[Where, int] = {}
        table: Where = ()
        while self._skip("\n"):
            if text.startswith("[[", self._place):
                self._place += 2
                name = self._resolved(self._key())
                number = self._counts[name] = self._counts.get(name, -1) + 1
                table = (*name, number)
                self._place = text.index("]]", self._place) + 2
                self.lines.setdefault(name, self._line())
                self._mark(table)
            elif text[self._place] == "[":
                self._place += 1
                table = self._resolved(self._key())
                self._place = text.index("]", self._place) + 1
                self._mark(table)
            else:
                self._assignment(table)

    def _resolved(self, name: Where) -> Where:
        """The path of a header; a name of an array of tables means the last one of it."""
        path: Where = ()
        for place, part in enumerate(name):
            path = (*path, part)
            if path in self._counts and place < len(name) - 1:
                path = (*path, self._counts[path])
        return path

    def _line(self) -> int:
        return bisect_left(self._ends, self._place) + 1

    def _mark(self, path: Where) -> None:
        line = self._line()
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def _skip(self, spaces: str = "") -> bool:
        """Go over white space and comments; whether anything follows."""
        while self._place < len(self._text):
            sign = self._text[self._place]
            if sign == "#":
                end = self._text.find("\n", self._place)
                self._place = len(self._text) if end < 0 else end
            elif sign in " \t\r" or sign in spaces:
                self._place += 1
            else:
                return True
        return False

    def _key(self) -> Where:
        """A key, with its dots."""
        path: list[str | int] = []
        while True:
            self._skip()
            begun = self._place
            if self._text[begun] in "\"'":
                self._string()
                path.append(tomllib.loads(f"k = {self._text[begun : self._place]}")["k"])
            else:
                while re.match(r"[\w-]", self._text[self._place]):
                    self._place += 1
                path.append(self._text[begun : self._place])
            self._skip()
            if self._text[self._place] != ".":
                return tuple(path)
            self._place += 1

    def _assignment(self, table: Where) -> None:
        self._skip()
        begun = self._place
        path = (*table, *self._key())
        after, self._place = self._place, begun
        self._mark(path)
        self._place = self._text.index("=", after) + 1
        self._value(path)

    def _value(self, path: Where) -> None:
        self._skip()
        sign = self._text[self._place]
        if sign in "\"'":
            self._string()
        elif sign == "[":
            self._place += 1
            number = 0
            while self._skip("\n,") and self._text[self._place] != "]":
                self._mark((*path, number))
                self._value((*path, number))
                number += 1
            self._place += 1
        elif sign == "{":
            self._place += 1
            while self._skip("\n,") and self._text[self._place] != "}":
                self._assignment(path)
            self._place += 1
        else:
            while self._place < len(self._text) and self._text[self._place] not in ",]}#\n":
                self._place += 1

    def _string(self) -> None:
        """Go over a text in quotes."""
        quote = self._text[self._place]
        if self._text.startswith(quote * 3, self._place):
            self._place += 3
            while not self._text.startswith(quote * 3, self._place):
                self._place += 2 if quote == '"' and self._text[self._place] == "\\" else 1
            self._place += 3
            while self._text.startswith(quote, self._place):  # one or two that belong to the text
                self._place += 1
            return
        self._place += 1
        while self._text[self._place] != quote:
            self._place += 2 if quote == '"' and self._text[self._place] == "\\" else 1
        self._place += 1
