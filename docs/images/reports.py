"""Takes ``report.png`` and ``campaign-report.png``: pages of a run and of docs/reports.md.

``make figures`` runs it, where Playwright and Chromium are. Each picture carries the numbers that
it shows, so that a test can tell whether they are still those of the command.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import which

from omnimeter.api import campaign as opened
from omnimeter.reports.campaign_page import gather_campaign
from omnimeter.reports.page import gather
from omnimeter.results import Record

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KEY = "Numbers"
"""Under which text of a PNG file its numbers are."""


def omnimeter(arguments: list[str], directory: Path) -> None:
    """Run a command of Omnimeter in a directory."""
    command = [sys.executable, "-m", "omnimeter", *arguments]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)


RUN = (
    "run --class cups --set rule=rest --complexity 3 --complexity 5 --complexity 7 "
    "--agent random --agent 'constant(action=0)' --agent cup-presser "
    "--agent 'cup-presser(choice=first)' --exercises 60 --interactions 2000 --seed 0 --out run"
)
"""Four agents in one class: what the page of a run looks like."""


def run(directory: Path) -> tuple[Path, str]:
    """The page of a run, and what it says."""
    omnimeter(shlex.split(RUN), directory)
    contents = gather(Record(directory / "run"))
    tables = [contents.tables["scores"], contents.tables["differences"]]
    return directory / "run" / "report.html", "\n\n".join([contents.summary, *map(str, tables)])


def campaign(directory: Path) -> tuple[Path, str]:
    """The page of the campaign of docs/reports.md, and what its beginning says."""
    text = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    plan = re.search(r"^```toml (\S+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert plan is not None, "docs/reports.md has no campaign"
    (directory / plan[1]).write_text(plan[2], encoding="utf-8")
    omnimeter(["campaign", "run", plan[1]], directory)
    folder = directory / Path(plan[1]).stem
    page = opened(folder).report()
    report = gather_campaign(opened(folder).study)
    first = report.tables[report.sections[0].key]["scores"]
    return page, "\n\n".join([" ".join(report.sentences), str(report.overview), str(first)])


PICTURES: dict[str, tuple[Callable[[Path], tuple[Path, str]], int]] = {
    "report.png": (run, 1110),
    "campaign-report.png": (campaign, 1450),
}
"""What each picture shows, and how much of the page."""


def take(page: Path, numbers: str, height: int, target: Path) -> None:
    """Take a picture of the beginning of a page, with its numbers."""
    from PIL import Image, PngImagePlugin
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = started.chromium.launch(executable_path=which("chromium"), args=options)
        tab = browser.new_page(viewport={"width": 960, "height": height}, color_scheme="light")
        tab.goto(page.as_uri())
        tab.screenshot(path=target)
        browser.close()
    written = PngImagePlugin.PngInfo()
    written.add_itxt(KEY, numbers, zip=True)
    with Image.open(target) as picture:
        picture.convert("RGB").save(target, pnginfo=written, optimize=True)


def main() -> None:
    """Take all of them, or those that are named."""
    for name in sys.argv[1:] or PICTURES:
        show, height = PICTURES[name]
        with tempfile.TemporaryDirectory() as directory:
            page, numbers = show(Path(directory))
            take(page, numbers, height, HERE / name)
        print(HERE / name)


if __name__ == "__main__":
    main()
