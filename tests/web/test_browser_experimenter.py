"""The experimenter's pages in a real browser: what is shown, and what can be done with a link."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")
pytest.importorskip("uvicorn", reason="the extra web is not installed")

import omnimeter as om
from experimenters import BATTERY, client_of, play, serving
from omnimeter.results.files import Layout, locked
from omnimeter.web.studies import Design, Study
from screenshots import keep

SIZES = {"wide": (1280, 800), "phone": (360, 740)}


@pytest.fixture
def root(tmp_path):
    """A study with a participant who has begun, and a stored evaluation."""
    study = Study.create(tmp_path / "small", Design("Small worlds", BATTERY))
    links = [f"/p/{one.token}" for one in study.invite(3)]
    with (
        client_of(tmp_path) as client,
        client.websocket_connect(f"{links[0]}/ws", headers={"host": "127.0.0.1"}) as page,
    ):
        play(page, until=2)
    om.evaluate(
        ["random", "q-learning"], "cups", exercises=40, interactions=40, seed=0,
        out=tmp_path / "learners",
    )  # fmt: skip
    return tmp_path


@pytest.fixture
def opened(root, browser):
    """Opens a page of the server, in which nothing goes wrong, and which fits the window."""
    with serving(root) as address:
        pages, wrong = [], []

        def open_page(path="/", size="wide", **device):
            width, height = SIZES[size]
            context = browser.new_context(viewport={"width": width, "height": height}, **device)
            page = context.new_page()
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto(f"{address}{path}")
            pages.append(page)
            return page

        yield open_page
        for page in pages:
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert wrong == []


@pytest.mark.parametrize("size", SIZES)
def test_what_the_pages_show(opened, root, size):
    with locked(Layout(root / "learners")):
        page = opened(size=size, color_scheme="dark" if size == "phone" else "light")
        page.get_by_role("img", name="Score of random-v1, q-learning-v1").wait_for()
        keep(page, f"overview-{size}")
        page.get_by_role("link", name="Small worlds").click()
        page.get_by_role("row").filter(has_text="takes the test").wait_for()
        keep(page, f"study-{size}")
    page = opened("/#/results/learners", size)
    page.get_by_role("table", name="Scores").get_by_text("q-learning-v1").wait_for()
    keep(page, f"live-evaluation-{size}")
    page = opened("/#/new", size)
    page.get_by_role("button", name="Make the study").wait_for()
    keep(page, f"new-study-{size}")
    assert page.get_by_role("heading", name="New study").is_visible()


def test_the_link_of_a_participant_is_copied(opened, root):
    page = opened("/#/study/small", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link: p0002").click()
    page.get_by_text("Link copied.").wait_for()
    token = Study(root / "small").participants[1].token
    assert page.evaluate("navigator.clipboard.readText()").endswith(f"/p/{token}")


def test_a_participant_is_revoked_and_withdrawn_once_that_is_confirmed(opened, root):
    study = Study(root / "small")
    page = opened("/#/study/small")
    for label in ("Revoke link", "Withdraw and delete"):
        page.get_by_role("button", name=f"{label}: p0002").click()
        keep(page, f"study-{label.split()[0].lower()}")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert study.participants[1].expires == 0
    for label in ("Revoke link", "Withdraw and delete"):
        page.get_by_role("button", name=f"{label}: p0002").press("Enter")
        page.get_by_role("dialog").get_by_role("button", name=label, exact=True).click()
        page.get_by_role("dialog").wait_for(state="detached")
        if label == "Revoke link":
            page.get_by_role("row").filter(has_text="p0002").get_by_text("link revoked").wait_for()
            assert study.participants[1].is_revoked
    page.get_by_role("row").filter(has_text="p0002").wait_for(state="detached")
    assert [each.name for each in study.participants] == ["p0001", "p0003"]
    assert study.withdrawn == 1


def test_what_the_server_cannot_do_is_told_in_the_dialog(opened, root):
    page = opened("/#/study/small")
    page.route(  # a failure that no real server has at will
        "**/revoke", lambda route: route.fulfill(status=400, json={"detail": "The disk is full."})
    )
    page.get_by_role("button", name="Revoke link: p0002").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke link", exact=True).click()
    page.get_by_role("dialog").get_by_text("The disk is full.").wait_for()
    assert Study(root / "small").participants[1].expires == 0


def test_a_row_that_changes_keeps_the_focus(opened):
    page = opened("/#/study/small")
    row = page.get_by_role("row").filter(has_text="p0001")
    button = row.get_by_role("button", name="Withdraw and delete: p0001")
    button.focus()
    shown = row.inner_text()
    page.wait_for_function("before => !document.body.innerText.includes(before)", arg=shown)
    assert button.evaluate("each => each === document.activeElement")
