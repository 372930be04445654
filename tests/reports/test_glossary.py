"""Every word of the tables is explained, and every explanation leads to its page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnimeter.contract import UnknownNameError
from omnimeter.reports.glossary import TERMS, explained, plain, term_of, terms_in

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "omnimeter"
TABLES = [
    *(SOURCE / "reports" / f"{name}.py" for name in ("tables", "degrees", "decisions")),
    SOURCE / "reports" / "between_text.py",
    *sorted((SOURCE / "cli").glob("*.py")),
    *sorted((SOURCE / "protocols").glob("*.py")),
]


def texts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield from (part.strip() for part in each.value.split("\n") if len(part.strip()) > 0)


def heads(file: Path) -> Iterator[str]:
    """The heads of columns in a module: of tables, of metrics, and of lists of them."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name == "Metric":
                yield from texts(node.args[1])
            elif name == "Table" and node.args:
                yield from texts(node.args[0])
            elif name in ("add_column", "_print_table", "_print_section"):
                for each in node.args[:2]:
                    yield from texts(each) if isinstance(each, ast.Constant | ast.Tuple) else ()
        elif isinstance(node, ast.Assign | ast.AugAssign):
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            yield from texts(node.value) if "heading" in getattr(target, "id", "") else ()
        elif isinstance(node, ast.For) and getattr(node.target, "id", "") == "heading":
            yield from texts(node.iter)


HEADS = sorted({head for file in TABLES for head in heads(file)})


def test_heads_are_collected() -> None:
    """Of each way in which the modules write them."""
    assert {"Score", "Slot", "Exercises", "Verdict", "seeds", "loss", "Z", "id", "check"} <= {
        *HEADS
    }
    assert len(HEADS) > 50


@pytest.mark.parametrize("head", HEADS)
def test_every_head_of_a_column_is_explained(head: str) -> None:
    assert term_of(head) is not None, f"reports/glossary.py does not explain {head!r}"


def test_terms_are_short_and_unique() -> None:
    words = [plain(word) for term in TERMS for word in (term.name, *term.also)]
    assert len(set(words)) == len(words)
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(names)
    for term in TERMS:
        assert 1 <= len(re.findall(r"[.](?=\s|$)", term.text)) <= 3, term.name


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_every_term_leads_to_its_page(term) -> None:  # type: ignore[no-untyped-def]
    page, _, anchor = term.page.partition("#")
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
    assert not anchor or anchor in anchors


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Definition 18", "Definition 18"), ("definition  18", "Definition 18"), ("slots", "slot"),
        ("95\N{NO-BREAK SPACE}% interval", "interval"), ("KT-MAX", "Kt"), ("†", "agent"),
    ],
)  # fmt: skip
def test_words_are_looked_up(word: str, name: str) -> None:
    assert explained(word).name == name


def test_the_nearest_word_is_named() -> None:
    with pytest.raises(UnknownNameError, match="stability"):
        explained("stabilty")


def settings_of_pages() -> Iterator[str]:
    """What the modules of tests, and the page itself, call their settings."""
    for file in (*sorted((SOURCE / "protocols").glob("*.py")), SOURCE / "reports" / "page.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name in ("settings", "_setting"):
                for each in ast.walk(node):
                    keys = each.keys if isinstance(each, ast.Dict) else []
                    keys += [each.slice] if isinstance(each, ast.Subscript) else []
                    yield from (
                        key.value
                        for key in keys
                        if isinstance(key, ast.Constant) and isinstance(key.value, str)
                    )


def test_every_setting_of_a_page_is_explained() -> None:
    names = {*settings_of_pages()}
    assert {"Payoff", "Battery", "Discount factor", "Change", "Slots", "Precision"} <= names
    assert [name for name in sorted(names) if term_of(name) is None] == []


def test_heads_of_a_table() -> None:
    names = [
        term.name for term in terms_in(["Agent", "Difference\nSimultaneous 95 %", "Slots", "p"])
    ]
    assert names == ["agent", "difference", "simultaneous interval", "slot", "p"]
