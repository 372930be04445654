"""Names that were removed stay removed: modules, identifiers, options and words of the prose."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = sorted(
    p for place in ("src", "examples", "benchmarks") for p in (ROOT / place).rglob("*.py")
)
TESTS = sorted(p for p in (ROOT / "tests").rglob("*.py") if p != Path(__file__))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

MODULES = [
    "adaptive",
    "auditing",
    "battery_files",
    "battery_plan",
    "beside",
    "borrowing",
    "children",
    "choosing",
    "coercion",
    "conduct",
    "contents",
    "conversation",
    "course_figures",
    "curves_ink",
    "descriptions",
    "docstrings",
    "durable",
    "durations",
    "evaluating",
    "examination",
    "examining",
    "exits",
    "failures",
    "finding",
    "found",
    "gallery",
    "global_chance",
    "gymnasium_face",
    "ids",
    "indices",
    "ink",
    "joint_template",
    "keys",
    "kernel_parts",
    "laboratory",
    "labels",
    "lasting",
    "layout",
    "learning",
    "ledger",
    "levels",
    "limits",
    "listings",
    "live",
    "look",
    "lookahead",
    "made_up",
    "marks",
    "meaning",
    "measuring_up",
    "members",
    "messages",
    "nothing",
    "notation",
    "observing_form",
    "opportunist",
    "origin",
    "outcome_table",
    "parts_of",
    "picture",
    "pictures",
    "places",
    "placing",
    "playing",
    "plot",
    "positions",
    "probes",
    "progress",
    "rates",
    "reach",
    "reading",
    "reasons",
    "record",
    "refusals",
    "rejudging",
    "relations_picture",
    "relations_words",
    "remote",
    "reproducing",
    "resolution",
    "rows_ink",
    "running",
    "scales_ink",
    "scoring",
    "seating",
    "seats",
    "setting",
    "shapes",
    "showing",
    "sitting",
    "sitting_tables",
    "sittings",
    "space_picture",
    "standing",
    "statistics",
    "streams",
    "subset",
    "summaries",
    "summation",
    "surroundings",
    "taking",
    "timing",
    "together",
    "trace_table",
    "universal_base",
    "universal_subset",
    "variants",
    "vector_input",
    "watching",
    "wording",
    "words",
    "workforce",
]
"""Former modules; a package may use such a word for something else only in another sense."""

IDENTIFIERS = [
    "Chance",
    "InProcess",
    "Patience",
    "Seat",
    "Sittings",
    "Standing",
    "check_company",
    "company",
    "found",
    "key_in_any_folder",
    "lasting",
    "left_to_chance",
    "patience",
    "run_together",
    "seated",
    "settled",
    "sitting",
    "sittings",
    "sittings_words",
    "start_together",
    "step_together",
    "surroundings",
    "take_together",
    "together",
]
"""Former names of classes, functions, parameters, attributes and variables."""

OPTIONS = ["--both", "--level", "--patience", "--sittings", "--together"]

WORDS = [
    "laurels",
    "luck",
    "mend",
    "mended",
    "mends",
    "nobody",
    "sitting",
    "sittings",
    "somebody",
    "stranger",
    "strangers",
    "surroundings",
    "whoever",
]
"""Words that the prose of the code and of the pages does without."""


def identifiers(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """All names that a module defines or uses, with their lines."""
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name, line
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, line
            case ast.keyword(arg=str(name)):
                yield name, node.value.lineno


@pytest.mark.parametrize("path", [*CODE, *TESTS], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_removed_identifiers_are_not_used(path):
    removed = set(IDENTIFIERS)
    used = [
        f"{name} (line {line})"
        for name, line in identifiers(ast.parse(path.read_text()))
        if name in removed
    ]
    assert not used


def test_removed_modules_are_gone():
    stems = {p.stem for p in (ROOT / "src").rglob("*.py")} | {
        p.name for p in (ROOT / "src" / "omnimeter").iterdir()
    }
    assert not stems & set(MODULES)


@pytest.mark.parametrize("path", [*CODE, *PAGES], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_removed_words_and_options_are_not_written(path):
    text = path.read_text(encoding="utf-8")
    written = set(re.findall(r"--[a-z][a-z-]*", text)) & set(OPTIONS)
    written |= {word for word in re.findall(r"[a-z]+", text.lower()) if word in set(WORDS)}
    assert not written


def test_the_checks_notice():
    names = {
        name for name, _ in identifiers(ast.parse("def f(found): return x.company(sitting=1)"))
    }
    assert {"found", "company", "sitting"} <= names
