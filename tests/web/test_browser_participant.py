"""Participants in a real browser: by mouse, keyboard and touch, and where something goes wrong."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from experimenters import serving
from omnimeter import results
from omnimeter.api.result import MemoryRecord
from omnimeter.contract import Spec, Trace
from omnimeter.execution import evaluate
from omnimeter.protocols import Evaluation
from omnimeter.results.journal import Journals
from omnimeter.web.studies import Design, Participant, Question, Study
from screenshots import keep
from study_server import StudyServer

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
WHY_NOT = "Playwright is not installed: `make setup` brings it" * (
    find_spec("playwright") is None
) or "there is no Chromium: `apt-get install chromium` brings it" * (not BROWSER)
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

SWITCHES = [
    "--no-sandbox",  # which a browser of root needs
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
STEPS = (4, 3)
BATTERY = {
    "title": "Small",
    "exercises": [
        {"environment_class": "lambda-v1(cells=3)", "interactions": STEPS[0]},
        {"environment_class": "cups-v1", "interactions": STEPS[1]},
    ],
}
NO_DOUBLE_CLICK = 400
"""Milliseconds between clicks, so that they are not taken for a double click."""

PHONE: dict[str, Any] = {
    "viewport": {"width": 360, "height": 700},
    "is_mobile": True,
    "has_touch": True,
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    asked = (
        Question("liked", "Did you like it?", "scale", required=True),
        Question("device", "What did you use?", "choice", ("mouse", "keyboard", "finger")),
        Question("strategy", ""),
    )
    design = Design(
        "Small worlds", BATTERY, consent="You take part.\n\nAll is stored.", breaks=(1,),
        questionnaire=asked,
    )  # fmt: skip
    return Study.create(tmp_path_factory.mktemp("studies") / "small", design)


@pytest.fixture(scope="module")
def people(study: Study) -> Iterator[Participant]:
    return iter(study.invite(20))


@pytest.fixture(scope="module")
def server(study: Study, people: Iterator[Participant]) -> Iterator[StudyServer]:
    """A server of the study, whose links are made before it starts."""
    running = StudyServer(study.path.parent)
    yield running
    running.kill()


@pytest.fixture
def person(people: Iterator[Participant]) -> Participant:
    return next(people)


@pytest.fixture
def opened(chromium: Any, server: StudyServer) -> Iterator[Callable[..., Any]]:
    """Opens the page of a participant; a mistake in a page's script fails the test."""
    contexts, mistakes = [], []

    def open_page(token: str, **device: Any) -> Any:
        context = chromium.new_context(**device)
        context.set_default_timeout(60_000)  # kernels may have to be compiled first
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: mistakes.append(str(error)))
        page.goto(f"{server.url}/p/{token}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not mistakes


def press(page: Any, *texts: str) -> None:
    for text in texts:
        page.wait_for_timeout(NO_DOUBLE_CLICK)
        page.get_by_role("button", name=text, exact=True).click()


def enter(page: Any) -> None:
    """Come to the first exercise."""
    press(page, "I agree", "I have read this", "Start")
    wait_for_step(page, 1)


def wait_for_step(page: Any, exercise: int) -> None:
    page.get_by_role("heading", name=f"Exercise {exercise} of 2").wait_for()
    page.locator(".part[aria-disabled=false]").first.wait_for()


def seq(study: Study, person: Participant) -> int:
    """How many actions are recorded."""
    return sum(event["kind"] == "act" for event in study.events(person))


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def act(page: Any, study: Study, person: Participant, do: Callable[[Any], None]) -> None:
    """Do something with the second possible choice, and wait until what it brought is shown."""
    before = seq(study, person)
    choices = page.locator(".part[aria-disabled=false]")
    choices.first.wait_for()
    page.wait_for_timeout(NO_DOUBLE_CLICK)
    scene = page.locator("svg.scene").element_handle()
    do(choices.nth(min(1, choices.count() - 1)))
    until(lambda: not scene.evaluate("scene => scene.isConnected"))
    assert seq(study, person) == before + 1


def traces(study: Study, person: Participant) -> list[Trace]:
    return in_order(results.Record(study.folder(person) / "evaluation"))


def in_order(record: Any) -> list[Trace]:
    stored = dict(record.traces())
    return [stored[outcome.exercise.key] for outcome in record.outcomes()]


def check_replay(study: Study, person: Participant) -> None:
    """An agent that does what the participant did gets the same."""
    kept = traces(study, person)
    told = [event["action"] for event in study.events(person) if event["kind"] == "act"]
    assert [action for trace in kept for action in trace.actions] == told
    for number, (trace, steps) in enumerate(zip(kept, STEPS, strict=True)):
        assert trace.actions is not None
        assert len(trace.actions) == steps
        script = Spec("scripted-v1", {"actions": trace.actions.tolist(), "repeat": True})
        evaluation = study.design.evaluation(script, study.seed, person.number)
        again = in_order(run(evaluation))[number]
        np.testing.assert_array_equal(again.actions, trace.actions)
        np.testing.assert_array_equal(again.rewards, trace.rewards)
        np.testing.assert_array_equal(again.observations, trace.observations)


def run(evaluation: Evaluation) -> MemoryRecord:
    record = MemoryRecord(evaluation.to_json())
    evaluate(evaluation, record)
    return record


def fill(page: Any) -> None:
    page.locator(".scale label").nth(3).click()
    page.get_by_label("finger").check()
    page.get_by_label("What did you do").fill("I counted.")
    press(page, "Send the answers")
    page.get_by_role("heading", name="Thank you!").wait_for()


def test_a_session_by_mouse(opened, study, person):
    page = opened(person.token)
    page.get_by_role("heading", name="Your consent").wait_for()
    keep(page, "consent")
    press(page, "I do not agree")
    page.get_by_role("heading", name="You do not take part").wait_for()
    press(page, "I agree after all")
    page.get_by_role("heading", name="Instructions").wait_for()
    keep(page, "instructions")
    press(page, "I have read this")
    page.get_by_role("heading", name="Are you ready?").wait_for()
    keep(page, "ready")
    press(page, "Start")
    wait_for_step(page, 1)
    assert not page.locator(".reward").count()  # nothing has been done yet
    page.locator(".part").first.hover()
    assert page.locator(".part").first.locator(".inner-border").is_visible()
    keep(page, "exercise")
    for _ in range(STEPS[0]):
        act(page, study, person, lambda choice: choice.click())
    page.get_by_role("heading", name="Take a break").wait_for()
    assert page.locator(".last .reward").count() == 1
    keep(page, "break")
    press(page, "Go on")
    wait_for_step(page, 2)
    keep(page, "cups")
    for _ in range(STEPS[1]):
        act(page, study, person, lambda choice: choice.click())
    page.get_by_role("heading", name="Some questions").wait_for()
    press(page, "Send the answers")  # the browser tells that an answer is missing
    page.get_by_label("What did you do").fill("I tried.")
    page.reload()
    assert page.get_by_label("What did you do").input_value() == "I tried."
    keep(page, "questionnaire")
    fill(page)
    keep(page, "thanks")
    events = study.events(person)
    kinds = [event["kind"] for event in events]
    assert [kinds.count(each) for each in ("declined", "consented", "instructed")] == [1, 1, 1]
    acts = [event for event in events if event["kind"] == "act"]
    assert all(0 <= each["reaction"] < 20_000 for each in acts)
    assert all(each["shown"] > 0 for each in acts)
    answers = next(event["answers"] for event in events if event["kind"] == "answered")
    assert answers == {"liked": 4, "device": "finger", "strategy": "I counted."}
    check_replay(study, person)


def test_a_session_by_keyboard_alone(opened, study, person):
    page = opened(person.token)
    page.get_by_role("heading", name="Your consent").wait_for()

    def go_to(name: str) -> None:
        for _ in range(20):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                "document.activeElement.getAttribute('aria-label')"
                " ?? document.activeElement.innerText"
            )
            if focused.startswith(name):
                return
        raise AssertionError(f"{name} cannot be reached by Tab")

    for stage in ("I agree", "I have read this", "Start"):
        page.get_by_role("button", name=stage, exact=True).wait_for()
        go_to(stage)
        page.keyboard.press("Enter")
    wait_for_step(page, 1)
    go_to("Cell")
    assert page.locator(".part:focus .focus-ring").is_visible()
    keep(page, "keyboard")
    act(page, study, person, lambda _: page.keyboard.press("Space"))
    page.locator(".part:focus").wait_for()  # the focus stays in the picture
    told = page.locator("[aria-live=polite]", has_text="reward")
    told.wait_for(state="attached")
    for _ in range(STEPS[0] - 1):
        number = page.locator(".part .key").first.inner_html()
        act(page, study, person, lambda _, number=number: page.keyboard.press(number))
    page.get_by_role("heading", name="Take a break").wait_for()
    go_to("Go on")
    page.keyboard.press("Enter")
    wait_for_step(page, 2)
    for key in ("1", "2", "1"):
        act(page, study, person, lambda _, key=key: page.keyboard.press(key))
    page.get_by_role("heading", name="Some questions").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # the first step of the scale
    go_to("Send the answers")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Thank you!").wait_for()
    assert [each.actions.tolist() for each in traces(study, person)][1] == [0, 1, 0]
    check_replay(study, person)


def test_a_session_on_a_phone(opened, study, person):
    page = opened(person.token, **PHONE, color_scheme="dark")
    too_wide = "document.documentElement.scrollWidth > innerWidth"
    page.get_by_role("heading", name="Your consent").wait_for()
    for stage in ("I agree", "I have read this", "Start"):
        page.wait_for_timeout(NO_DOUBLE_CLICK)
        assert not page.evaluate(too_wide)
        keep(page, f"phone-{stage.lower().replace(' ', '-')}")
        page.get_by_role("button", name=stage, exact=True).tap()
    wait_for_step(page, 1)
    assert not page.evaluate(too_wide)
    size = page.locator(".part").first.bounding_box()
    assert min(size["width"], size["height"]) >= 44
    keep(page, "phone-exercise")
    for _ in range(STEPS[0]):
        act(page, study, person, lambda choice: choice.tap())
    keep(page, "phone-break")
    page.wait_for_timeout(NO_DOUBLE_CLICK)
    page.get_by_role("button", name="Go on").tap()
    wait_for_step(page, 2)
    keep(page, "phone-cups")
    for _ in range(STEPS[1]):
        act(page, study, person, lambda choice: choice.tap())
    page.get_by_role("heading", name="Some questions").wait_for()
    assert not page.evaluate(too_wide)
    keep(page, "phone-questionnaire")
    fill(page)
    check_replay(study, person)


def test_a_page_tells_nothing_that_is_not_seen(opened, study, person):
    page = opened(person.token)
    enter(page)
    act(page, study, person, lambda choice: choice.click())
    page.locator(".reward").wait_for()
    content = page.content().lower()
    for word in ("good", "evil", "colour", "average", "total"):
        assert word not in content
    assert len(page.locator(".reward").all()) == 1


def test_rewards_are_shown_as_the_study_says(opened, person):
    page = opened(person.token)
    shown = page.evaluate(
        """async () => {
            const { drawReward } = await import("/static/scene.js");
            const texts = { "reward-up": "good", "reward-down": "bad", "reward-neutral": "none" };
            const drawn = (reward) => drawReward(reward, texts, "es");
            const told = ({ children, textContent, ariaLabel, firstElementChild }) =>
                [children.length, textContent, ariaLabel, firstElementChild.classList[1]];
            return [
                { sign: "up" },
                { sign: "down", steps: -3 },
                { sign: "neutral", steps: 0 },
                { sign: "up", number: 0.25 },
            ].map((reward) => told(drawn(reward)));
        }"""
    )
    assert shown == [
        [1, "", "good", "up"],
        [3, "", "bad: -3", "down"],
        [1, "", "none: 0", "neutral"],
        [2, "+0,25", "good: +0,25", "up"],
    ]


def test_a_reload_goes_on_at_the_exact_step(opened, study, person):
    page = opened(person.token)
    enter(page)
    for _ in range(2):
        act(page, study, person, lambda choice: choice.click())
    page.locator(".reward").wait_for()
    before = page.locator("svg.scene").inner_html(), page.locator(".outcome").inner_html()
    page.reload()
    wait_for_step(page, 1)
    after = page.locator("svg.scene").inner_html(), page.locator(".outcome").inner_html()
    assert after == before
    assert seq(study, person) == 2
    for _ in range(STEPS[0] - 2):
        act(page, study, person, lambda choice: choice.click())
    page.get_by_role("heading", name="Take a break").wait_for()


def test_a_killed_server_costs_no_step(opened, study, person, server):
    page = opened(person.token)
    enter(page)
    for _ in range(STEPS[0]):
        act(page, study, person, lambda choice: choice.click())
    press(page, "Go on")
    wait_for_step(page, 2)
    act(page, study, person, lambda choice: choice.click())
    page.wait_for_timeout(NO_DOUBLE_CLICK)
    server.kill()
    page.get_by_text("The connection is lost.").wait_for()
    page.locator(".part[aria-disabled=true]").first.wait_for()
    keep(page, "lost-connection")
    server.start()
    page.get_by_text("The connection is lost.").wait_for(state="hidden")
    for _ in range(STEPS[1] - 1):
        act(page, study, person, lambda choice: choice.click())
    page.get_by_role("heading", name="Some questions").wait_for()
    assert seq(study, person) == sum(STEPS)
    check_replay(study, person)


def test_an_action_while_the_server_fails_is_sent_again(opened, study, person, server):
    page = opened(person.token)
    enter(page)
    act(page, study, person, lambda choice: choice.click())
    page.wait_for_timeout(NO_DOUBLE_CLICK)
    # What the page sends is lost with the server.
    swallow = (
        "() => { window.kept = WebSocket.prototype.send; WebSocket.prototype.send = () => {}; }"
    )
    page.evaluate(swallow)
    page.locator(".part[aria-disabled=false]").first.click()
    page.locator(".part[aria-disabled=true]").first.wait_for()
    server.kill()
    page.get_by_text("The connection is lost.").wait_for()
    assert seq(study, person) == 1
    page.evaluate("() => { WebSocket.prototype.send = window.kept; }")
    server.start()
    until(lambda: seq(study, person) == 2)
    page.locator(".part[aria-disabled=false]").first.wait_for()
    assert [event["step"] for event in study.events(person) if event["kind"] == "act"] == [0, 1]


def test_double_clicks_and_two_tabs_do_not_count_twice(opened, study, person):
    first = opened(person.token)
    enter(first)
    second = opened(person.token)
    wait_for_step(second, 1)
    act(first, study, person, lambda choice: choice.dblclick())
    first.wait_for_timeout(300)
    assert seq(study, person) == 1
    second.locator(".reward").wait_for()  # the other tab has followed
    assert second.locator("svg.scene").inner_html() == first.locator("svg.scene").inner_html()
    # Both answer the same question; the answer of the second is late, and does not count.
    delay = "window.kept = WebSocket.prototype.send; WebSocket.prototype.send = function (content)"
    second.evaluate(f"() => {{ {delay} {{ window.late = [this, content]; }}; }}")
    second.locator(".part[aria-disabled=false]").first.click()
    act(first, study, person, lambda choice: choice.click())
    second.evaluate("() => { const [to, content] = window.late; window.kept.call(to, content); }")
    first.wait_for_timeout(300)
    assert seq(study, person) == 2
    assert second.locator("svg.scene").inner_html() == first.locator("svg.scene").inner_html()


def test_an_expired_link(opened, study, chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expired")
    old = Study.create(folder / "old", Design("Old", BATTERY, language="es"))
    (person,) = old.invite(1, days=1e-9)
    late = StudyServer(folder)
    try:
        page = chromium.new_page()
        page.goto(f"{late.url}/p/{person.token}")
        page.get_by_role("heading", name="Este enlace ha caducado").wait_for()
        assert not old.events(person)
        page.goto(f"{late.url}/p/{person.token}x")
        page.get_by_role("heading", name="This link does not lead to a test").wait_for()
        page.close()
    finally:
        late.kill()


def test_what_is_stored_and_cannot_be_used_is_told_once(opened, study, person):
    folder = study.folder(person)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.log").write_bytes(b"no log\n")
    page = opened(person.token)
    page.get_by_role("heading", name="Something went wrong").wait_for()
    keep(page, "trouble")
    sockets = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.wait_for_timeout(1_500)  # in which a lost connection would be made again
    assert not sockets
    assert page.locator("#notice").inner_text() == ""


def test_a_browser_that_was_silent_too_long_comes_back(opened, study, person):
    page = opened(person.token)
    page.get_by_role("heading", name="Your consent").wait_for()
    sockets = []

    def between(socket: Any) -> None:
        sockets.append(socket)
        if len(sockets) == 1:
            socket.close(code=4408)
        else:
            socket.connect_to_server()

    page.route_web_socket(re.compile(".*/ws$"), between)
    page.reload()
    press(page, "I agree")
    page.get_by_role("heading", name="Instructions").wait_for()
    assert len(sockets) == 2


def test_what_the_last_action_of_a_test_brought_is_shown_once(opened, study, person):
    page = opened(person.token)
    enter(page)
    for steps, after in zip(STEPS, ("Take a break", "Some questions"), strict=True):
        for _ in range(steps):
            act(page, study, person, lambda choice: choice.click())
        page.get_by_role("heading", name=after).wait_for()
        if after == "Take a break":
            press(page, "Go on")
            wait_for_step(page, 2)
    last = page.locator(".last")
    assert last.get_by_role("heading", name="What your last action brought").is_visible()
    assert last.get_by_role("img", name="reward").count() == 1
    assert last.locator("svg.scene").is_visible()
    above = "last => last.compareDocumentPosition(document.querySelector('form')) & 4"
    assert last.evaluate(above)  # the questions follow it
    keep(page, "questionnaire-last")
    fill(page)
    assert not page.locator(".last").count()


def test_why_the_first_exercise_has_to_be_waited_for_is_told(opened, person):
    page = opened(person.token)
    press(page, "I agree", "I have read this")
    page.get_by_role("heading", name="Are you ready?").wait_for()

    def between(socket: Any) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda told: '"ready"' in told or server.send(told))

    page.route_web_socket(re.compile(".*/ws$"), between)
    page.reload()
    press(page, "Start")
    page.wait_for_timeout(1_000)
    notice = page.get_by_text("The first time this can take up to half a minute.")
    assert not notice.count()
    notice.wait_for()
    keep(page, "wait")


def test_that_time_counts_is_told_where_it_does(chromium, tmp_path):
    timed = Design("Timed", test={"class": "lambda", "time": 60.0})
    (person,) = Study.create(tmp_path / "timed", timed).invite(1)
    with serving(tmp_path) as address:
        page = chromium.new_page()
        page.goto(f"{address}/p/{person.token}")
        page.get_by_text("Time counts: every exercise ends by itself").wait_for()
        assert not page.get_by_text("Speed is not measured").count()
        press(page, "I have read this")
        page.get_by_text("Time counts from then on.").wait_for(timeout=60_000)
        page.close()


def test_a_withdrawal_that_fails_says_so(opened, study, person):
    page = opened(person.token)
    page.route("**/withdraw", lambda route: route.fulfill(status=404, json={"detail": "?"}))
    press(page, "Withdraw from the study", "Withdraw and delete everything")
    page.get_by_text("That did not work").wait_for()
    page.unroute("**/withdraw")
    press(page, "Withdraw and delete everything")
    page.get_by_role("heading", name="You have withdrawn").wait_for()
    assert not study.folder(person).exists()


def test_withdrawal_deletes_everything(opened, study, person):
    page = opened(person.token)
    enter(page)
    act(page, study, person, lambda choice: choice.click())
    folder = study.folder(person)
    journals = Journals(str(folder / "evaluation" / "journal"))
    assert journals.keys()
    press(page, "Withdraw from the study", "Stay in the study")
    assert folder.exists()
    press(page, "Withdraw from the study")
    keep(page, "withdrawal")
    press(page, "Withdraw and delete everything")
    page.get_by_role("heading", name="You have withdrawn").wait_for()
    assert not folder.exists()
    page.reload()
    page.get_by_role("heading", name="This link does not lead to a test").wait_for()
    keep(page, "unknown-link")
