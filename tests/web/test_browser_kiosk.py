"""A kiosk in a real browser: one participant after the other, and none sees another's session."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")
pytest.importorskip("uvicorn", reason="the extra web is not installed")

from experimenters import BATTERY, serving
from omnimeter.web.experimenter import set_kiosk
from omnimeter.web.studies import Design, Study
from screenshots import keep

NO_DOUBLE_CLICK = 400
"""Milliseconds between clicks, so that they are not taken for a double click."""


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "study", Design("Small worlds", BATTERY, consent="Agree?"))


@pytest.fixture
def kiosk(study, browser):
    """A device at the kiosk, whose clock the test can turn on."""
    token = set_kiosk(study, is_open=True)
    with serving(study.path.parent) as address:
        page = browser.new_page()
        wrong = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.clock.install()
        page.goto(f"{address}/kiosk/{token}")
        yield page
        assert wrong == []


def begin(page):
    """The next participant begins; the path of their page."""
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/p/*?kiosk=1")
    page.get_by_role("button", name="I agree", exact=True).wait_for()
    return page.url


def test_back_leads_to_no_earlier_session(kiosk):
    keep(kiosk, "kiosk")
    entries = kiosk.evaluate("history.length")
    first = begin(kiosk)
    kiosk.get_by_role("button", name="I do not agree").click()
    kiosk.get_by_role("button", name="Next participant").click()
    second = begin(kiosk)
    assert second != first
    assert kiosk.evaluate("history.length") == entries
    kiosk.go_back()
    assert "/p/" not in kiosk.url


def test_the_last_page_leads_back_by_itself(kiosk):
    home = kiosk.url
    begin(kiosk)
    kiosk.get_by_role("button", name="I do not agree").click()
    kiosk.get_by_text("goes back to the beginning by itself in 60 s").wait_for()
    keep(kiosk, "kiosk-declined")
    kiosk.wait_for_timeout(NO_DOUBLE_CLICK)
    kiosk.get_by_role("button", name="I agree after all").click()
    kiosk.get_by_role("heading", name="Instructions").wait_for()
    kiosk.clock.fast_forward(61_000)
    assert kiosk.get_by_role("heading", name="Instructions").is_visible()
    kiosk.get_by_role("button", name="Withdraw from the study").click()
    kiosk.get_by_role("button", name="Withdraw and delete everything").click()
    kiosk.get_by_role("heading", name="You have withdrawn").wait_for()
    kiosk.clock.fast_forward(61_000)
    kiosk.wait_for_url(home)


def test_who_is_gone_makes_room_for_the_next(kiosk, study):
    home = kiosk.url
    session = begin(kiosk)
    kiosk.get_by_role("button", name="I agree", exact=True).click()
    kiosk.get_by_role("heading", name="Instructions").wait_for()
    there = kiosk.get_by_role("dialog", name="Are you still there?")
    kiosk.clock.fast_forward(170_000)
    kiosk.keyboard.press("Shift")
    kiosk.clock.fast_forward(170_000)
    assert not there.is_visible()
    kiosk.clock.fast_forward(11_000)
    there.get_by_text("in 60 s").wait_for()
    keep(kiosk, "kiosk-idle")
    kiosk.get_by_role("button", name="I am still here").click()
    kiosk.locator("[aria-labelledby=idle]:empty").wait_for(state="attached")
    kiosk.clock.fast_forward(170_000)
    assert not there.is_visible()
    kiosk.clock.fast_forward(11_000)
    there.wait_for()
    kiosk.clock.fast_forward(61_000)
    kiosk.wait_for_url(home)
    kiosk.goto(session)  # which goes on where it was
    kiosk.get_by_role("heading", name="Instructions").wait_for()
    assert len(study.participants) == 1


def test_a_page_that_is_no_kiosk_asks_nothing(study, browser):
    (person,) = study.invite(1)
    with serving(study.path.parent) as address:
        page = browser.new_page()
        page.clock.install()
        page.goto(f"{address}/p/{person.token}")
        page.get_by_role("button", name="I do not agree").click()
        page.get_by_role("heading", name="You do not take part").wait_for()
        page.clock.fast_forward(600_000)
        assert not page.get_by_role("dialog").count()
        assert page.url == f"{address}/p/{person.token}"


def test_a_kiosk_speaks_the_language_of_the_study(tmp_path, browser):
    study = Study.create(tmp_path / "study", Design("Mundos", BATTERY, language="es"))
    token = set_kiosk(study, is_open=True)
    with serving(tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}/kiosk/{token}")
        page.get_by_role("button", name="Empezar").wait_for()
        assert page.locator("html").get_attribute("lang") == "es"
        set_kiosk(study, is_open=False)
        page.get_by_role("button", name="Empezar").click()
        page.get_by_role("heading", name="Este quiosco está cerrado").wait_for()
        assert not page.get_by_role("button").count()


@pytest.mark.parametrize("path", ["kiosk", "kiosk/guess"])
def test_a_closed_kiosk_says_so_in_the_language_of_the_browser(study, browser, path):
    with serving(study.path.parent) as address:
        page = browser.new_context(locale="es-ES").new_page()
        answer = page.goto(f"{address}/{path}")
        assert answer.status == 404
        page.get_by_role("heading", name="Este quiosco está cerrado").wait_for()
        page.get_by_text("avise a la persona responsable").wait_for()
        assert page.title() == "Este quiosco está cerrado"
        assert page.locator("html").get_attribute("lang") == "es"
        keep(page, "kiosk-closed")
