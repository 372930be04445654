"""The C-test in a real browser: letters in boxes, and options that are clicked or pressed."""

from __future__ import annotations

import pytest
from test_browser_participant import (
    act,
    chromium,
    enter,
    opened,
    people,
    person,
    pytestmark,
    server,
)

from omnimeter.web.studies import Design, Study
from screenshots import keep

__all__ = ["chromium", "opened", "people", "person", "pytestmark", "server"]  # fixtures

BATTERY = {
    "title": "Series",
    "exercises": [
        {"environment_class": 'c-test-v1(series="a,a,z,c,y,e,x",feedback=end)', "interactions": 4},
        {"environment_class": "c-test-v1(choices=0)", "interactions": 3},
    ],
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    design = Design("Series of letters", BATTERY, consent="All is stored.", questionnaire=())
    return Study.create(tmp_path_factory.mktemp("studies") / "series", design)


def test_series_are_continued_by_mouse_and_keyboard(opened, study, person):
    page = opened(person.token)
    enter(page)
    options = page.locator(".part[aria-disabled=false]")
    assert options.count() == 4
    labels = [options.nth(place).get_attribute("aria-label") for place in range(4)]
    right = next(place for place, label in enumerate(labels) if ": g." in label)
    assert labels[right] == f"Option {right + 1}: g. Can be chosen."
    assert page.get_by_label("Letter 8: the next letter is asked for.").count() == 1
    keep(page, "series-question")
    act(page, study, person, lambda _: page.keyboard.press(str(right + 1)))
    assert page.get_by_label("Letter 8: answered.").count() == 1
    keep(page, "series-answered")
    act(page, study, person, lambda choice: choice.click())  # which changes nothing any more
    assert page.get_by_label("Letter 8: answered.").count() == 1
    told = [event["action"] for event in study.events(person) if event["kind"] == "act"]
    assert told == [right, 1]
