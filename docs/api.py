"""The reference of the Python API, from signatures and docstrings: ``make docs-api`` writes it."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import omnimeter
from omnimeter import api, contract

PAGE = Path(__file__).with_suffix(".md")

INTRODUCTION = """# Reference of the Python API

All that `import omnimeter` offers, with the signatures and docstrings of version {version}.
`make docs-api` writes this page. [Omnimeter in Python](python.md) shows how it is used.
"""

SECTIONS = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Returns": "Returns",
    "Yields": "Yields",
    "Raises": "Raises",
}


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION.format(version=omnimeter.__version__)]
    for title, names in (
        ("What it does", api.__all__),
        ("Types of the contract", contract.__all__),
    ):
        parts.append(f"## {title}\n")
        for name in sorted(names, key=str.lower):
            parts += described(name, getattr(omnimeter, name))
    return "\n".join(parts)


def described(name: str, thing: Any) -> Iterator[str]:
    """The entry of one name."""
    yield f"### {name}\n"
    if inspect.isclass(thing):
        if not issubclass(thing, enum.Enum | BaseException):
            yield signature(name, thing)
        yield text_of(thing)
        if issubclass(thing, enum.Enum):
            yield "".join(f"- `{each.name}`: `{each.value!r}`\n" for each in thing)
        for member, of in own_members(thing):
            if isinstance(of, property):
                yield f"**`{name}.{member}`**\n"
                yield text_of(of.fget)
            else:
                function = of.__func__ if isinstance(of, classmethod | staticmethod) else of
                yield signature(f"{name}.{member}", function)
                yield text_of(function)
    elif inspect.isfunction(thing):
        yield signature(name, thing)
        yield text_of(thing)
    else:
        yield f"`{name} = {plain(thing)}`\n"


def own_members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class says something about."""
    for name, value in vars(cls).items():
        function = getattr(value, "fget", getattr(value, "__func__", value))
        if not name.startswith("_") and inspect.isfunction(function) and function.__doc__:
            yield name, value


def signature(name: str, thing: Any) -> str:
    """How it is called, one parameter in each line where it is long."""
    try:
        given = inspect.signature(thing)
    except ValueError:
        return ""
    parameters = [each for each in given.parameters.values() if each.name not in ("self", "cls")]
    shown = given.replace(parameters=parameters)
    if inspect.isclass(thing):
        shown = shown.replace(return_annotation=inspect.Signature.empty)
    text = name + plain(shown)
    if len(text) > 100:
        texts, keyword = [], False
        for each in parameters:
            if each.kind is each.KEYWORD_ONLY and not keyword:
                texts.append("*")
                keyword = True
            keyword = keyword or each.kind is each.VAR_POSITIONAL
            texts.append(plain(each))
        _, arrow, after = plain(shown).rpartition(") ->")
        text = f"{name}(\n" + "".join(f"    {each},\n" for each in texts) + ")"
        text += f" ->{after}" if arrow else ""
    return f"```python\n{text}\n```\n"


def plain(thing: object) -> str:
    """A signature or a value without quotes around annotations, and without addresses."""
    text = re.sub(r"ForwardRef\(('[^']+')\)", r"\1", str(thing))  # of named tuples
    text = re.sub(r"(?<=: )'([^']+)'|(?<=-> )'([^']+)'", lambda m: m[1] or m[2], text)
    return re.sub(r"<[^<>]*(<lambda>)?[^<>]* at 0x[0-9a-f]+>", "...", text)


def text_of(thing: Any) -> str:
    """A docstring as Markdown: its sections become lists."""
    doc = inspect.cleandoc(thing.__doc__ or "")
    lines, section = [], ""
    for line in doc.splitlines():
        words = line.strip().rstrip(":")
        if line.endswith(":") and words in SECTIONS and not line.startswith(" "):
            section = words
            lines.append(f"{SECTIONS[section]}:\n")
        elif section and line.startswith("    "):
            entry = re.match(r"    (\*{0,2}\w+): ?(.*)", line)
            if entry and section in ("Args", "Attributes", "Raises"):
                lines.append(f"- `{entry[1]}`: {entry[2]}")
            else:
                lines.append("  " + line.strip() if line.startswith("     ") else line.strip())
        else:
            section = "" if line.strip() else section
            lines.append(line)
    return re.sub(r"``([^`]+)``", r"`\1`", "\n".join(lines)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
