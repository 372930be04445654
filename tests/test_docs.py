"""The documentation is true: its commands run, its code works, its tables and links are right."""

import importlib.util
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

import omnimeter as om
import pages
from omnimeter.agents.specialists import CupPresser
from omnimeter.catalogue import forget
from omnimeter.cli import main
from omnimeter.cli.app import app, commands_in
from omnimeter.contract import Budget, Exercise, Instance, Spec
from omnimeter.environments.cups import Cups
from omnimeter.interaction import run_single
from pages import ROOT

DOCS = ROOT / "docs"
ALL = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
OWN_TESTS = {DOCS / "gymnasium.md", DOCS / "wire.md"}
"""Pages that other tests follow, or that show the same as others."""

NEEDED = {DOCS / "stable-baselines3.md": "stable_baselines3"}
"""The library that a page uses; where it is not installed, the page is not followed."""

TYPED = [
    page
    for page in ALL
    if page not in OWN_TESTS
    and any(
        block.name or block.language == "console" or ">>>" in block.text
        for block in pages.blocks(page)
    )
]
COMMANDS = commands_in(typer.main.get_command(app))
PAGES = {command: command.partition(" ")[0] for command in COMMANDS}
"""The page of each command: those of a group share one."""

SLOW = ("omnimeter reproduce payoff-table", "omnimeter reproduce stopping")
"""Commands that take longer than a test may."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def reader(monkeypatch, capsys, tmp_path):
    """Somebody in an empty directory who does what pages say."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "path", list(sys.path))
    site = tmp_path.with_name(tmp_path.name + "-site")

    def omnimeter(words):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *words])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
        return code, *capsys.readouterr()

    def install(source):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        command += ["--no-build-isolation", "--no-compile", "--target", str(site), str(source)]
        subprocess.run(command, check=True)
        monkeypatch.syspath_prepend(str(site))
        forget()

    yield pages.Reader(tmp_path, omnimeter, install, lambda typed: typed.startswith(SLOW))
    forget()


@pytest.mark.parametrize("page", TYPED, ids=name)
def test_page_does_what_it_says(reader, page):
    if page in NEEDED:
        pytest.importorskip(NEEDED[page], reason="see `make test-sb3`")
    for difference in reader.follow(page):
        pytest.fail(f"{name(page)}: {difference}", pytrace=False)


@pytest.mark.slow
def test_long_reproductions_do_what_their_page_says(reader):
    reader.skip = lambda typed: not typed.startswith(SLOW)
    for difference in reader.follow(DOCS / "commands" / "reproduce.md"):
        pytest.fail(difference, pytrace=False)


def test_every_page_is_followed():
    followed = {name(page) for page in TYPED}
    assert {"CONTRIBUTING.md", "docs/tutorial.md", "docs/index.md", "docs/findings.md"} <= followed
    assert "docs/python.md" in followed
    assert {f"docs/commands/{page}.md" for page in PAGES.values()} <= followed


def test_differences_are_noticed(reader):
    page = reader.directory / "page.md"

    def told(text):
        page.write_text(f"```console\n{text}```\n", encoding="utf-8")
        return "".join(reader.follow(page))

    assert told("$ omnimeter --version\nomnimeter ...\n") == ""
    assert "instead of" in told("$ omnimeter --version\nomnimeter 7\n")
    assert "left with 2, not 0" in told("$ omnimeter show cusp\n")
    assert "left with 2, not 3" in told("$ omnimeter show cusp\n$ echo $?\n3\n")
    assert told("$ omnimeter show cusp\nError: ...\n$ echo $?\n2\n") == ""
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n", encoding="utf-8")
    assert "Got:\n    2" in "".join(reader.follow(page))


def option_table(command):
    """The table of a command's arguments and options, as its page must have it."""
    rows = ["| argument or option | default | meaning |", "|---|---|---|"]
    for each in command.params:
        names = each.opts if each.param_type_name == "option" else [each.metavar or each.name]
        shown = ", ".join(f"`{one if one.startswith('-') else one.upper()}`" for one in names)
        default = "" if each.default is None or each.default is False else f"`{each.default}`"
        meaning = each.help.replace("\\", "")  # which keeps Rich from reading brackets as markup
        rows.append(f"| {shown} | {default} | {meaning} |")
    return "\n".join(rows) + "\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_page_of_a_command_has_its_options(command):
    table, page = option_table(COMMANDS[command]), f"commands/{PAGES[command]}.md"
    assert table in pages.read(DOCS / page), f"docs/{page} should have this table:\n\n{table}"
    assert f"({page})" in pages.read(DOCS / "index.md")


def anchors(page: Path) -> set[str]:
    """What can be linked to on a page: its headings, as GitHub makes anchors of them."""
    headings = re.findall(r"^#+ (.+)$", pages.prose(page), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", ALL, ids=name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", pages.prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        assert file.exists(), f"{name(page)} links to {target}, which is not there"
        assert not anchor or anchor in anchors(file), f"{name(page)} links to {target}"


def test_index_leads_to_every_page():
    linked = re.findall(r"\]\(([^)#\s]+)", pages.read(DOCS / "index.md"))
    known = {(DOCS / target).resolve() for target in linked}
    assert {page for page in DOCS.rglob("*.md") if page.name != "index.md"} <= known


def test_the_reference_of_the_python_api_is_that_of_the_docstrings():
    made = runpy.run_path(str(DOCS / "api.py"))["page"]()
    assert made == pages.read(DOCS / "api.md"), "make docs-api writes docs/api.md anew"
    assert "ForwardRef" not in made
    for name in (*om.api.__all__, *om.contract.__all__):
        assert f"\n### {name}\n" in made
    assert "0x" not in made  # addresses in memory


def test_pictures_are_small():
    for picture in (DOCS / "images").iterdir():
        assert picture.stat().st_size < 200_000, f"{picture.name} is too large"


def pictures():
    """The script that takes the pictures of report pages."""
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "images" / "reports.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("picture", ["report.png", "campaign-report.png"])
def test_pictures_of_reports_show_the_numbers_of_today(picture, tmp_path):
    taken = pictures()
    show, _ = taken.PICTURES[picture]
    _, numbers = show(tmp_path)
    with Image.open(DOCS / "images" / picture) as image:
        shown = image.text[taken.KEY]
    assert shown == numbers, f"{picture} shows other numbers: make figures takes it again"


def test_paragraphs_of_the_standard_are_numbered_and_cited_rightly():
    text = pages.read(DOCS / "standard.md")
    chapters = [int(number) for number in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)]
    assert chapters == list(range(1, len(chapters) + 1))
    paragraphs = re.findall(r"^\*\*§(\d+)\.(\d+)\*\* ", text, re.MULTILINE)
    for chapter in chapters:
        numbers = [int(number) for place, number in paragraphs if int(place) == chapter]
        assert numbers == list(range(1, len(numbers) + 1)), f"chapter {chapter}: {numbers}"
    known = {f"{chapter}.{number}" for chapter, number in paragraphs}
    for file in [*ALL, *ROOT.glob("src/**/*.py"), *ROOT.glob("tests/*.py")]:
        cited = set(re.findall(r"§(\d+\.\d+)", pages.read(file)))
        assert cited <= known, f"{name(file)} cites {cited - known}"


def cup_table():
    """The rows of the table of mean rewards in the findings: rule, choice, n, mean."""
    row = re.compile(r"^\| (published|rest) \| (random|first) \| (.+) \|$", re.MULTILINE)
    for rule, choice, means in row.findall(pages.read(DOCS / "findings.md")):
        for cups, mean in enumerate(means.split(" | "), start=3):
            yield rule, choice, cups, float(mean)


@pytest.mark.parametrize(("rule", "choice", "cups", "mean"), list(cup_table()))
def test_cup_agent_gets_what_the_findings_say(rule, choice, cups, mean):
    def exercise(number):
        colours = "".join("BW"[number >> cup & 1] for cup in range(cups))
        instance = Instance({"colours": colours, "rule": rule})
        length = Budget(400_000 // 2**cups)
        return Exercise(Spec("cup-presser-v1"), Spec("cups-v1"), instance, length, 0, number)

    every = [exercise(number) for number in range(2**cups)]
    traces = list(run_single(Cups(), CupPresser(choice), every))
    assert np.mean([trace.rewards.mean() for trace in traces]) == pytest.approx(mean, abs=0.004)
    assert not any((trace.rewards[1000:] < 0).any() for trace in traces)  # never all black again
