"""The experimenter's side: studies are made and seen arriving, by requests and in a browser."""

import csv
import io
import time

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")
pytest.importorskip("uvicorn", reason="the extra web is not installed")

from starlette.websockets import WebSocketDisconnect

from experimenters import BATTERY, OWN, changes_until, client_of, play, serving
from omnimeter.web import experimenter
from omnimeter.web.studies import STANDARD, Design, Study

GIVEN = {
    "title": "Small worlds",
    "battery": BATTERY,
    "consent": "Do you agree?",
    "order": "balanced",
}


@pytest.fixture
def client(tmp_path):
    with client_of(tmp_path) as client:
        yield client


def post(client, path, data, status=200):
    answer = client.post(path, json=data)
    assert answer.status_code == status, answer.text
    return answer.json()


def rows_of(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.DictReader(io.StringIO(answer.text)))


def test_a_study_is_made_as_the_form_says(client, tmp_path):
    form = client.get("/api/form").json()
    assert form["batteries"] == {"thesis-table-6-1": 7}
    assert "lambda-v1" in form["classes"]
    assert "en" in form["languages"]
    questions = [{"name": "age", "text": "How old?", "kind": "choice", "options": ["a", "b"]}]
    own = {**GIVEN, "breaks": [1], "questionnaire": questions, "rewards": "steps", "colours": False}
    name = post(client, "/api/studies", own)["name"]
    assert name == "small-worlds"
    stored = Study(tmp_path / name).design
    assert (stored.title, stored.breaks, stored.rewards, stored.colours) == (
        "Small worlds",
        (1,),
        "steps",
        False,
    )
    assert [each.name for each in stored.questions] == ["age"]
    assert client.get(f"/api/studies/{name}").json()["design"]["breaks"] == [1]
    assert post(client, "/api/studies", GIVEN)["name"] == "small-worlds-2"
    test = {"class": "lambda", "interactions": 100}
    assert post(client, "/api/studies", {"title": "¡Ñandú!", "test": test})["name"] == "nandu"
    assert post(client, "/api/studies", {"title": "世界", "test": test})["name"] == "study"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"battery": "thesis-table-6-2"}, "battery"),
        ({"battery": {"title": "t", "exercises": []}}, "battery"),
        ({"battery": None}, "battery"),
        ({"order": "any"}, "order"),
        ({"rewards": 3}, "rewards"),
        ({"breaks": [0]}, "breaks.0"),
        ({"language": "english"}, "language"),
        ({"language": "fr"}, "language"),
        ({"after_interruption": "stop"}, "after_interruption"),
        ({"minutes_away": -1}, "minutes_away"),
        ({"consent": "x" * 20_001}, "consent"),
        ({"questionnaire": [{"name": "A", "text": "?"}]}, "questionnaire.0.name"),
        ({"questionnaire": [{"name": "a", "text": "?"}] * 2}, "questionnaire"),
        ({"battery": None, "test": {"class": "lambda"}, "order": "fixed"}, "test"),
        ({"battery": None, "test": {"class": "lambda", "out": "/x"}}, "test.out"),
        ({"battery": None, "test": {"class": "nothing", "time": 9.0}, "order": "fixed"}, "test"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_errors_are_told_at_their_fields(client, tmp_path, change, field):
    told = post(client, "/api/studies", {**GIVEN, **change}, 422)
    assert list(told["errors"]) == [field]
    assert told["errors"][field]
    assert not list(tmp_path.iterdir())


def test_invitations(client, tmp_path):
    name = post(client, "/api/studies", GIVEN)["name"]
    links = post(client, f"/api/studies/{name}/invite", {"count": 3, "days": 2})["links"]
    assert [each["name"] for each in links] == ["p0001", "p0002", "p0003"]
    assert all(client.get(each["path"]).status_code == 200 for each in links)
    rows = rows_of(client, f"/api/studies/{name}/links.csv")
    assert [row["link"] for row in rows] == [f"http://127.0.0.1{each['path']}" for each in links]
    until = time.mktime(time.strptime(rows[0]["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.timezone
    assert until == pytest.approx(time.time() + 2 * 86_400, abs=60)
    for wrong, field in (
        ({"count": 0}, "count"),
        ({"count": 1001}, "count"),
        ({"count": 1.5}, "count"),
        ({"count": True}, "count"),
        ({"days": -1}, "days"),
        ({"days": "2"}, "days"),
    ):
        assert list(post(client, f"/api/studies/{name}/invite", wrong, 422)["errors"]) == [field]
    assert len(Study(tmp_path / name).participants) == 3
    assert client.post("/api/studies/other/invite", json={}).status_code == 404


def test_sessions_are_seen_arriving(client):
    name = post(client, "/api/studies", GIVEN)["name"]
    links = post(client, f"/api/studies/{name}/invite", {"count": 2})["links"]
    with client.websocket_connect(f"/api/studies/{name}/ws", headers=OWN) as table:
        shown = changes_until(table, bool)
        assert {each["stage"] for each in shown.values()} == {"invited"}
        with client.websocket_connect(f"{links[0]['path']}/ws", headers=OWN) as page:
            play(page, until=2)
            row = changes_until(table, lambda rows: rows.get("p0001", {}).get("step") == 2)["p0001"]
            assert (row["stage"], row["exercise"], row["browsers"]) == ("test", 1, 1)
            assert row["seen"] == pytest.approx(time.time(), abs=10)
        row = changes_until(table, lambda rows: rows.get("p0001", {}).get("browsers") == 0)["p0001"]
        assert (row["exercise"], row["step"], row["interruptions"]) == (1, 2, 0)
        with client.websocket_connect(f"{links[0]['path']}/ws", headers=OWN) as page:
            answers = {"motivation": 4, "strategy": "=1+1"}
            assert play(page, answers=answers)["stage"] == "thanks"
        over = changes_until(table, lambda rows: rows.get("p0001", {}).get("stage") == "thanks")
        assert over["p0001"]["interruptions"] == 1
    with client.websocket_connect("/api/studies/ws", headers=OWN) as studies:
        summary = changes_until(studies, lambda rows: rows[name]["here"] == 0)[name]
    assert (summary["invited"], summary["begun"], summary["over"]) == (2, 1, 1)
    answered = rows_of(client, f"/api/studies/{name}/answers.csv")
    assert [each["participant"] for each in answered] == ["p0001"]
    assert answered[0]["motivation"] == "4"
    assert answered[0]["strategy"] == "'=1+1"  # no formula in a spreadsheet
    assert set(answered[0]) == {"participant", "answered", *(each.name for each in STANDARD)}
    events = rows_of(client, f"/api/studies/{name}/events.csv")
    kinds = [each["event"] for each in events]
    assert kinds[:3] == ["joined", "consented", "instructed"]
    assert kinds.count("act") == 5
    assert client.get(f"/api/studies/{name}/secrets.csv").status_code == 404


def test_the_table_says_the_same_after_a_restart_of_the_server(tmp_path):
    study = Study.create(tmp_path / "study", Design(title="A", battery=BATTERY, consent="?"))
    one, gone, old, unread = study.invite(4)
    with client_of(tmp_path) as client:
        with client.websocket_connect(f"/p/{one.token}/ws", headers=OWN) as page:
            play(page, until=4)
        with client.websocket_connect(f"/p/{gone.token}/ws", headers=OWN) as page:
            page.receive_json()
            page.send_json({"type": "consent", "given": False})
            page.receive_json()
    (study.folder(old) / "events.log").write_bytes(b"no log\n")
    (study.folder(unread) / "participant.json").write_bytes(b"\xff")
    with (
        client_of(tmp_path) as client,
        client.websocket_connect("/api/studies/study/ws", headers=OWN) as table,
    ):
        shown = changes_until(table, bool)
        for what in ("events", "answers"):
            path = f"/api/studies/study/{what}.csv"
            assert "p0003" not in {each["participant"] for each in rows_of(client, path)}
            disposition = client.get(path).headers["content-disposition"]
            assert f'"study-{what}-incomplete.csv"' in disposition
    assert (shown["p0001"]["exercise"], shown["p0001"]["step"]) == (2, 1)
    assert shown["p0002"]["stage"] == "declined"
    assert shown["p0003"]["stage"] == "damaged"
    assert "damaged" in shown["p0003"]["damaged"]
    assert "participant.json cannot be read" in shown["p0004"]["damaged"]


def test_studies_that_are_made_beside_it_are_shown_and_damaged_ones_too(client, tmp_path):
    with client.websocket_connect("/api/studies/ws", headers=OWN) as studies:
        assert changes_until(studies, lambda rows: True) == {}
        Study.create(tmp_path / "beside", Design(title="Beside", battery=BATTERY))
        (tmp_path / "torn").mkdir()
        (tmp_path / "torn" / "study.json").write_text("{")
        shown = changes_until(studies, lambda rows: len(rows) == 2)
    assert shown["beside"]["title"] == "Beside"
    assert "study.json" in shown["torn"]["damaged"]
    assert client.get("/api/studies/beside").status_code == 200


def test_the_experimenter_revokes_a_link_and_withdraws_participants(client, tmp_path):
    name = post(client, "/api/studies", GIVEN)["name"]
    study = Study(tmp_path / name)
    links = post(client, f"/api/studies/{name}/invite", {"count": 3})["links"]
    paths = [f"/api/studies/{name}/participants/p000{number}" for number in (1, 2, 3)]
    assert post(client, f"{paths[0]}/revoke", {}) == {"revoked": True}
    with (
        client.websocket_connect(f"{links[0]['path']}/ws", headers=OWN) as page,
        pytest.raises(WebSocketDisconnect) as closed,
    ):
        page.receive_json()
    assert closed.value.code == 4410
    with client.websocket_connect(f"/api/studies/{name}/ws", headers=OWN) as table:
        assert changes_until(table, bool)["p0001"]["expired"]
        with client.websocket_connect(f"{links[1]['path']}/ws", headers=OWN) as page:
            play(page, until=1)
            assert post(client, f"{paths[1]}/withdraw", {}) == {"withdrawn": True}
            while page.receive_json()["stage"] != "withdrawn":
                pass
        assert post(client, f"{paths[2]}/withdraw", {}) == {"withdrawn": True}
        gone: set[str] = set()
        while gone != {"p0002", "p0003"}:
            gone |= set(table.receive_json()["gone"])
    assert [path.name for path in (study.path / "participants").iterdir()] == ["p0001"]
    assert study.withdrawn == 2
    for path in (*paths[1:], "/api/studies/other/participants/p0001"):
        for action in ("revoke", "withdraw"):
            assert client.post(f"{path}/{action}", json={}).status_code == 404


def test_a_study_holds_no_other_study(tmp_path):
    Study.create(tmp_path, Design(title="A", battery=BATTERY))
    with client_of(tmp_path) as client:
        assert "holds no others" in post(client, "/api/studies", GIVEN, 400)["detail"]


def test_a_kiosk_invites_one_participant_after_the_other(client, tmp_path):
    name = post(client, "/api/studies", GIVEN)["name"]
    assert client.get(f"/api/studies/{name}").json()["kiosk"] is None
    path = post(client, f"/api/studies/{name}/kiosk", {"open": True})["kiosk"]
    assert post(client, f"/api/studies/{name}/kiosk", {"open": True})["kiosk"] == path
    for closed in ("/kiosk", "/kiosk/guess"):  # this device has been at none yet
        answer = client.get(closed)
        assert answer.status_code == 404
        assert answer.headers["content-type"].startswith("text/html")
        assert "set-cookie" not in answer.headers
    page = client.get(path)
    assert page.status_code == 200
    assert "httponly" in page.headers["set-cookie"].lower()
    assert client.get(f"{path}/texts").json() == {"title": "Small worlds", "language": "en"}
    assert not Study(tmp_path / name).participants  # looking at it invites no participant
    first, second = (post(client, f"{path}/next", {})["path"] for _ in range(2))
    assert first != second
    assert first.endswith("?kiosk=1")
    assert client.get(first).status_code == 200
    assert len(Study(tmp_path / name).participants) == 2
    client.cookies.set("kiosk", path.rsplit("/", 1)[1])  # of a browser, by the path of the cookie
    back = client.get("/kiosk", follow_redirects=False)
    assert (back.status_code, back.headers["location"]) == (303, path)
    client.cookies.set("kiosk", "../evil")
    assert client.get("/kiosk", follow_redirects=False).status_code == 404
    assert post(client, f"/api/studies/{name}/kiosk", {"open": False})["kiosk"] is None
    assert client.get(path).status_code == 404
    assert client.post(f"{path}/next", json={}).status_code == 404


def test_a_kiosk_does_not_invite_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(experimenter, "KIOSK", 2)
    with client_of(tmp_path) as client:
        name = post(client, "/api/studies", GIVEN)["name"]
        path = post(client, f"/api/studies/{name}/kiosk", {"open": True})["kiosk"]
        statuses = [client.post(f"{path}/next", json={}).status_code for _ in range(4)]
    assert statuses == [200, 200, 429, 429]


def test_a_kiosk_needs_no_login_and_gives_none(tmp_path):
    study = Study.create(tmp_path / "study", Design(title="A", battery=BATTERY))
    token = experimenter.set_kiosk(study, is_open=True)
    with client_of(tmp_path, "0.0.0.0") as client:
        assert client.get(f"/kiosk/{token}").status_code == 200
        assert client.post(f"/kiosk/{token}/next", json={}).status_code == 200
        assert client.get("/api/studies/study").status_code == 401


def take_part(page):
    """Take part by the protocol, beside the participant's page that is open."""
    page.evaluate(
        """() => new Promise((resolve, reject) => {
          const { host, pathname } = location;
          const socket = new WebSocket(`ws://${host}${pathname}/ws`);
          const send = (data) => socket.send(JSON.stringify(data));
          socket.onclose = () => reject(new Error("closed"));
          socket.onmessage = ({ data }) => {
            const { stage, phase, seq } = JSON.parse(data);
            if (stage === "consent") send({ type: "consent", given: true });
            if (stage === "instructions") send({ type: "instructed" });
            if (phase === "ready") send({ type: "ready", seq });
            if (phase === "asked") send({ type: "act", seq, action: 0, reaction: 1, shown: 1 });
            if (stage === "questionnaire") send({ type: "answers", answers: {} });
            if (stage === "thanks") resolve();
          };
        })"""
    )


def test_a_wrong_token_is_told(tmp_path, browser):
    with serving(tmp_path, login=True) as address:
        page = browser.new_page(viewport={"width": 360, "height": 740})
        page.goto(address)
        assert page.url == f"{address}/login"
        page.get_by_label("Token").fill("guess")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("That is not the token of this server.").wait_for()
        assert page.get_by_label("Token").get_attribute("aria-invalid") == "true"


def test_a_study_is_made_in_the_form_and_its_session_arrives(tmp_path, browser):
    with serving(tmp_path) as address:
        context = browser.new_context(viewport={"width": 1200, "height": 900})
        page = context.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.get_by_role("link", name="New study").first.click()
        page.get_by_role("heading", name="New study").wait_for()
        page.get_by_label("A battery of your own").check()
        page.get_by_label("Battery as JSON").fill('{"title": "t", "exercises": [')
        page.get_by_role("button", name="Make the study").click()
        page.get_by_text("This is not JSON").wait_for()
        page.get_by_label("Battery as JSON").fill(
            '{"title": "t", "exercises": [{"environment_class": "cups-v1", "interactions": 3}]}'
        )
        page.get_by_label("Breaks").fill("1, 2")
        page.get_by_label("What participants agree to").fill("Do you agree?")
        page.get_by_label("Your own questions").check()
        page.get_by_role("button", name="Add a question").click()
        page.get_by_label("Name in tables").fill("Mood")
        page.get_by_label("What is asked").fill("How are you?")
        page.get_by_role("button", name="Make the study").click()
        title = page.get_by_label("Title")
        title.and_(page.locator("[aria-invalid=true]")).wait_for()
        assert title.evaluate("each => each === document.activeElement")
        name = page.get_by_label("Name in tables")
        assert name.get_attribute("aria-invalid") == "true"
        title.fill("Made here")
        name.fill("mood")
        page.get_by_role("button", name="Make the study").click()
        page.get_by_role("heading", name="Made here").wait_for()
        page.get_by_label("How many").fill("2")
        page.get_by_role("button", name="Invite").click()
        link = page.get_by_role("link", name=f"{address}/p/").first
        link.wait_for()
        row = page.get_by_role("row").filter(has_text="p0001")
        row.get_by_text("invited").wait_for()
        tab = context.new_page()
        tab.goto(link.inner_text())
        take_part(tab)
        row.get_by_text("finished").wait_for()
        command = f"omnimeter study export {tmp_path / 'made-here'} --out made-here.parquet"
        assert page.get_by_text("All interactions and answers: ").inner_text().endswith(command)
        assert "1 connected" in page.get_by_text("2 invited, 1 begun").inner_text()
        page.get_by_role("button", name="Open a kiosk").click()
        kiosk = page.get_by_role("link", name=f"{address}/kiosk/").inner_text()
        device = browser.new_context().new_page()
        device.goto(kiosk)
        device.get_by_role("button", name="Begin").click()
        device.wait_for_url(f"{address}/p/*?kiosk=1")
        take_part(device)
        device.get_by_role("button", name="Next participant").click()
        device.get_by_role("button", name="Begin").wait_for()
        assert device.url == kiosk
        page.get_by_role("row").filter(has_text="p0003").wait_for()
        assert not errors
    study = Study(tmp_path / "made-here")
    assert study.design.breaks == (1, 2)
    assert [each.name for each in study.design.questions] == ["mood"]
    assert [event["kind"] for event in study.events(study.participants[0])].count("act") == 3


def test_the_token_of_the_address_logs_in(tmp_path, browser):
    from omnimeter.web import security

    token = "a-token-that-is-known-to-the-test"
    tokens = iter([token, "the-secret-of-the-cookie"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(security.secrets, "token_urlsafe", lambda size: next(tokens))
        with serving(tmp_path, login=True) as address:
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{address}/login#{token}")
            page.get_by_role("heading", name="Overview").wait_for()
            assert token not in page.url
            assert "cookie" not in page.evaluate("document.cookie")
            (cookie,) = context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
