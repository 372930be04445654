"""Names that were removed stay removed: modules, identifiers, options and words of the prose."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "omnimeter"
CODE = sorted(p for d in ("src", "examples", "benchmarks") for p in (ROOT / d).rglob("*.py"))
TESTS = sorted(p for p in (ROOT / "tests").rglob("*.py") if p != Path(__file__))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

MODULES = frozenset(
    """
    audits.examination audits.finding audits.lookahead audits.playing audits.positions
    catalogue.coercion catalogue.failures catalogue.places catalogue.resolution cli.auditing
    cli.evaluating cli.examining cli.meaning cli.sitting cli.standing cli.taking
    cli.watching contract.streams environments.automata.marks
    environments.lambda_class.building environments.lambda_class.observing execution.conduct
    execution.workforce gymnasium_face interaction.borrowing interaction.children
    interaction.indices interaction.joint_template interaction.members interaction.reach
    interaction.remote interaction.seats interaction.together protocols.adaptive
    protocols.choosing protocols.sittings reports.beside reports.curves_ink reports.gallery
    reports.ink reports.look reports.placing reports.rejudging reports.setting
    reproductions.anytime_experiments reproductions.lambda_experiments results.durable
    results.ledger results.origin results.refusals statistics testing.global_chance
    testing.made_up testing.seating
    """.split()
)
"""Some of the former modules and packages."""

IDENTIFIERS = frozenset(
    """
    Chance InProcess Patience Seat Sittings Standing as_seen_by chance_of check_company
    company found founds has_joint_kernels key_in_any_folder lasting left_to_chance luck
    patience refuse_unbalanced run_batch run_together seating settled sitting sittings
    start_together step_together surroundings take_together together used_up words_of
    """.split()
)
"""Former names of classes, functions, parameters, attributes and variables."""

OPTIONS = {"--both", "--level", "--memory", "--patience", "--sittings", "--together"}

WORDS = frozenset(
    """
    laurels luck mend mended mends nobody sitting sittings somebody stranger strangers
    surroundings whoever
    """.split()
)
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
                yield name, line


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*CODE, *TESTS], ids=relative)
def test_removed_identifiers_are_not_used(path):
    used = identifiers(ast.parse(path.read_text(encoding="utf-8")))
    assert not [f"line {line}: {name}" for name, line in used if name in IDENTIFIERS]


def test_removed_modules_are_gone():
    places = [SOURCE.joinpath(*name.split(".")) for name in MODULES]
    assert not [p for p in places if p.with_suffix(".py").exists() or (p / "__init__.py").exists()]


@pytest.mark.parametrize("path", [*CODE, *PAGES], ids=relative)
def test_removed_words_and_options_are_not_written(path):
    text = path.read_text(encoding="utf-8")
    assert not OPTIONS.intersection(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    assert not WORDS.intersection(re.findall(r"[a-z]+", text.lower()))


def test_the_checks_notice():
    source = "def f(found): return x.company(sitting=1)"
    assert {name for name, _ in identifiers(ast.parse(source))} & IDENTIFIERS == {
        "found",
        "company",
        "sitting",
    }
