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
    agents.actions agents.apprentice agents.cheat agents.choices agents.cup_presser
    agents.durations agents.exits agents.follower agents.keys agents.nothing agents.oracle
    agents.policy agents.q_learning agents.random_agent agents.rates agents.sarsa
    agents.scripted agents.slowed agents.steady agents.torus_agent audits.agreement
    audits.balance audits.examination audits.finding audits.graph audits.lookahead
    audits.playing audits.positions audits.ranges audits.repeatability catalogue.coercion
    catalogue.descriptions catalogue.failures catalogue.ids catalogue.kinds catalogue.listings
    catalogue.notation catalogue.places catalogue.resolution catalogue.sources
    catalogue.summaries cli.auditing cli.definitions cli.entry cli.evaluating cli.examining
    cli.listing cli.live cli.meaning cli.plot cli.reporting cli.reproducing cli.running
    cli.showing cli.sitting cli.sitting_tables cli.standing cli.taking cli.watching
    complexity.compression complexity.kt complexity.paths complexity.prefix_codes
    contract.budget contract.spaces contract.streams contract.trace
    environments.automata.automaton environments.automata.description
    environments.automata.examples environments.automata.family environments.automata.marks
    environments.automata.normal_form environments.automata.parts environments.automata.scene
    environments.automata.stationary environments.automata.symbols
    environments.automata.transitions environments.buttons.complexity
    environments.buttons.dynamics environments.buttons.examples environments.buttons.generator
    environments.buttons.scene environments.cups.complexity environments.cups.dynamics
    environments.cups.generator environments.cups.scene environments.lambda_class.building
    environments.lambda_class.description environments.lambda_class.objects
    environments.lambda_class.observing environments.lambda_class.rules
    environments.lambda_class.scene environments.lambda_class.space_drawing
    environments.lambda_class.strings environments.lambda_class.topologies
    environments.lambda_class.validity environments.torus.drawing environments.torus.expressions
    environments.torus.scene execution.conduct execution.progress execution.running
    execution.timing execution.workforce gymnasium_face interaction.batch interaction.borrowing
    interaction.children interaction.conversation interaction.events interaction.indices
    interaction.joint_template interaction.kernel_parts interaction.layout interaction.limits
    interaction.members interaction.messages interaction.randomness interaction.reach
    interaction.remote interaction.seats interaction.together payoffs.adjustments
    payoffs.running payoffs.summation protocols.adaptive protocols.balance
    protocols.battery_files protocols.battery_plan protocols.choosing protocols.drawing
    protocols.history protocols.scoring protocols.sittings protocols.specs
    protocols.universal_base protocols.universal_subset reports.adaptive reports.beside
    reports.contents reports.course_figures reports.curves_ink reports.faults reports.gallery
    reports.ink reports.labels reports.learning reports.levels reports.look reports.placing
    reports.rejudging reports.reliability reports.rows_ink reports.scales_ink reports.setting
    reports.shapes reports.sittings reports.wording reproductions.anytime_experiments
    reproductions.estimates reproductions.files reproductions.lambda_experiments
    reproductions.payoff_table.columns reproductions.payoff_table.features
    reproductions.payoff_table.laboratory reproductions.payoff_table.picture
    reproductions.payoff_table.published reproductions.pictures reproductions.reproduction
    reproductions.simulation results.durable results.faults results.layout results.ledger
    results.lock results.origin results.outcome_table results.record results.refusals
    results.shards results.specification results.trace_table results.writer statistics
    testing.adjustments testing.bands testing.drawing testing.global_chance testing.made_up
    testing.percepts testing.probes testing.seating testing.variants
    """.split()
)
"""Former modules and packages; those inside a former package are not repeated."""

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
