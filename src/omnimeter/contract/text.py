"""Text that agents and third parties wrote, made safe to print, to store and to show on a page."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor movements, modes
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles
    "|\x1b[ -/]*[0-~]?"
)
"""The control sequences of terminals, in seven and in eight bits (ECMA-48)."""

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")

_QUOTED = re.compile(r"""(?<=(["'`]))(?:/|[A-Za-z]:[\\/])(?:(?!\1)[^\n])*[/\\]""")
"""The folders of an absolute path in quotation marks, which may have spaces in it."""

_BARE = re.compile(
    r"""(?<![\w/\\.~])(?:file:/+|(?<!:)//+|/(?!/)|\\\\|[A-Za-z]:[\\/])[^\s"'`<>|:;,()]*[/\\]"""
)
"""The folders of any other absolute path."""

FORMULA = "^[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]"
"""How a text begins that spreadsheets take for a formula."""

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Written in the place of what cannot be shown."""

LONGEST_MESSAGE = 2_000
"""Characters of a message that are kept: its beginning."""

LONGEST_DETAIL = 16_000
"""Characters of a traceback or of an output that are kept: the end."""


def clean(text: str) -> str:
    """The text without anything but what can be seen, tabs and ends of lines.

    Control sequences of terminals and invisible characters, such as those that change the direction
    of writing, are left out. Other control characters, halves of surrogate pairs and characters
    that do not exist become a replacement character. Cleaning twice changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _BREAKS.sub("\n", _SEQUENCES.sub("", text))
    return "".join(map(_shown, text))


def _shown(sign: str) -> str:
    if sign in "\n\t":
        return sign
    category = unicodedata.category(sign)
    if category == "Cf":
        return ""
    return UNKNOWN if category in ("Cc", "Cs", "Cn") else sign


def clean_line(text: str) -> str:
    """A name or another text of one line, clean: ends of lines and tabs become spaces."""
    return re.sub("[\n\t]", " ", clean(text))


def without_folders(text: str) -> str:
    """The text with the names of files in the place of their absolute paths."""
    while (shorter := _BARE.sub("", _QUOTED.sub("", text))) != text:
        text = shorter
    return text


def clean_message(text: str) -> str:
    """What an agent or an environment said went wrong: clean, bounded, without folders."""
    text = clean(text)
    if len(text) > LONGEST_MESSAGE:
        text = text[: LONGEST_MESSAGE - 1] + "…"
    return without_folders(text)


def clean_detail(text: str) -> str:
    """The end of a traceback or of an output: clean, bounded, without folders."""
    text = clean(text)
    if len(text) > LONGEST_DETAIL:
        text = "…" + text[1 - LONGEST_DETAIL :]
    return without_folders(text)


def no_formula(value: Any) -> Any:
    """A value for a CSV file, with an apostrophe before what spreadsheets take for a formula."""
    return f"'{value}" if isinstance(value, str) and re.match(FORMULA, value) else value
