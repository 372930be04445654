"""Research mode in a real browser: edit, step, rewind, let an agent act, save a battery."""

import json
import re
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from socket import socket
from threading import Thread
from time import monotonic, sleep

import pytest

import omnimeter as om

uvicorn = pytest.importorskip("uvicorn", reason="the extra web is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from omnimeter.web.server import application  # noqa: E402 - only where the extra is
from screenshots import keep  # noqa: E402 - likewise

CHROMIUM = which("chromium") or which("chromium-browser")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

expect = getattr(playwright, "expect", None)


@contextmanager
def served(folder):
    """The address of a server of a folder."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = uvicorn.Config(application(folder), host="127.0.0.1", port=port, log_level="error")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    until = monotonic() + 30
    while not server.started and monotonic() < until:
        sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(tmp_path_factory.mktemp("studies")) as known:
        yield known


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(params=[1200, 360], ids=["wide", "narrow"])
def page(chromium, address, request):
    """A page that is ready, on which nothing goes wrong unseen."""
    context = chromium.new_context(viewport={"width": request.param, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Policy" in said.text else None)
    page.goto(f"{address}/research")
    expect(page.locator("#step")).to_have_text("0 of 0", timeout=60_000)
    yield page
    assert wrong == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()


def use(page, description, pattern="12"):
    """Play in a space of one's own."""
    page.fill("#space", description)
    page.fill("#pattern", pattern)
    expect(page.locator("#verdict")).to_contain_text("Valid", timeout=60_000)
    page.click("#use")
    expect(page.locator("#use")).to_be_disabled()


def arrows(page):
    return {
        each.get_attribute("data-edge"): each.locator("text").inner_html()
        for each in page.locator(".graph .edge").all()
    }


def test_the_graph_and_the_description_are_in_step(page):
    page.fill("#space", "1+2-|1+2-|1+2-|1+2-")
    expect(page.locator(".graph .cell")).to_have_count(4)
    assert arrows(page)["0 1"] == "1"
    for name, chosen in (("action", "2"), ("from", "0"), ("to", "2")):
        page.select_option(f"#{name}", chosen)
    page.click("#connect")
    expect(page.locator("#space")).to_have_value("1+2++|1+2-|1+2-|1+2-")
    expect(page.locator('[data-edge="0 2"] text')).to_have_text("2")
    page.locator('[data-cell="1"]').press("Enter")  # by keyboard too
    page.locator('[data-cell="3"]').press("Enter")
    expect(page.locator("#space")).to_have_value("1+2++|1+2++|1+2-|1+2-")
    page.click("#more-cells")
    expect(page.locator(".graph .cell")).to_have_count(5)
    page.click("#fewer-cells")
    expect(page.locator(".graph .cell")).to_have_count(4)


def test_cells_can_be_dragged(page):
    page.fill("#space", "ring-5")
    expect(page.locator(".graph .cell")).to_have_count(5)
    cell = page.locator('[data-cell="0"]')
    before = cell.get_attribute("transform")
    cell.scroll_into_view_if_needed()
    box = cell.locator("circle").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 40, steps=4)
    page.mouse.up()
    assert cell.get_attribute("transform") != before
    assert "chosen" not in cell.get_attribute("class")
    now = cell.get_attribute("transform")
    cell.press("ArrowRight")
    assert cell.get_attribute("transform") != now


def test_errors_are_shown_where_they_are(page):
    page.fill("#space", "1+|1x|1+")
    expect(page.locator("#verdict mark")).to_have_text("x")
    expect(page.locator("#space")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#use")).to_be_disabled()
    page.fill("#space", "1+|1-|1")
    expect(page.locator(".graph .cell.wrong")).to_have_count(1)
    page.fill("#space", "1+|1+|1+")
    page.fill("#pattern", "0130")
    expect(page.locator("#verdict mark")).to_have_text("3")


def test_stepping_rewinding_and_handing_over(page):
    use(page, "1+2-|1+2-|1+2-|1+2-")
    page.locator("#stage .part").first.click()
    expect(page.locator("#step")).to_have_text("1 of 1")
    page.select_option("#who", "q-learning-v1")
    for step in range(2, 5):
        page.click("#one")
        expect(page.locator("#step")).to_have_text(f"{step} of {step}", timeout=60_000)
    reward, facts = (page.locator(each).inner_text() for each in ("#reward", "#facts"))
    page.click("#back")
    expect(page.locator("#step")).to_have_text("3 of 4")
    page.click("#one")  # the agent does the same again
    expect(page.locator("#step")).to_have_text("4 of 4")
    assert [page.locator(each).inner_text() for each in ("#reward", "#facts")] == [reward, facts]
    page.click("#mind summary")
    expect(page.locator("#values")).to_contain_text("action 2:")
    page.select_option("#speed", "500")
    page.click("#run")
    expect(page.locator("#step")).to_have_text(re.compile(r"\d{3,} of"), timeout=60_000)
    page.click("#run")
    expect(page.locator("#run")).to_have_attribute("aria-pressed", "false")
    page.click("#views summary")
    expect(page.locator("#observations")).to_contain_text("foresight", timeout=60_000)
    keep(page, "research" if page.viewport_size["width"] > 360 else "research-phone")


def test_a_battery_of_edited_environments_is_saved_and_runs(page, tmp_path):
    use(page, "1+2-|1+2-|1+2-", "0121")
    page.fill("#interactions", "30")
    page.click("#battery button")
    expect(page.locator("#battery-list li")).to_have_count(1)
    page.select_option("#class", "torus-v1")
    page.click("#setup .main")
    expect(page.locator("#label")).to_have_text("torus-v1")
    expect(page.locator("#space-editor")).to_be_hidden()
    page.click("#battery button")
    expect(page.locator("#battery-list li")).to_have_count(2)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.evaluate("setTimeout(() => location.reload())")
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
    expect(page.locator("#battery-list li")).to_have_count(2)
    with page.expect_download() as saved:
        page.click("#save-battery")
    page.reload()
    expect(page.locator("#battery-list li")).to_have_count(0)
    assert asked == ["beforeunload"]  # it was saved
    path = tmp_path / "battery.json"
    path.write_bytes(Path(saved.value.path()).read_bytes())
    first = json.loads(path.read_text())["exercises"][0]
    assert first["instance"]["data"]["space"] == "1+2-|1+2-|1+2-"
    assert first["interactions"] == 30
    assert om.evaluate("random", battery=path, seed=0).complete


@pytest.mark.parametrize("name", ["pworld-v1", "automata-v1", "gc-v1"])
def test_other_classes_are_drawn_and_edited_as_entries(page, name):
    page.select_option("#class", name)
    page.click("#setup .main")
    expect(page.locator("#label")).to_have_text(name, timeout=60_000)
    assert page.locator("#stage .scene").is_visible()
    page.locator("#stage .actions button").first.click()
    expect(page.locator("#step")).to_have_text("1 of 1")
    page.keyboard.press("2")
    expect(page.locator("#step")).to_have_text("2 of 2")
    page.locator("summary", has_text="As JSON").click()
    page.fill("#json", "{}")
    expect(page.locator("#verdict .error")).to_be_visible()
    expect(page.locator("#use")).to_be_disabled()
