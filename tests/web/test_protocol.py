"""What browsers may send: nothing of it breaks the server, and everything has a limit."""

from __future__ import annotations

import json
import time
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.websockets import WebSocketDisconnect

from omnimeter.web import server
from omnimeter.web.server import application
from participants import TestClient, study_in

WORDS = st.sampled_from(
    ["act", "ready", "consent", "instructed", "answers", "hidden", "alive", "state", "", "x" * 99]
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, 1, -1, 2**53, 2**64, 10**30])
PLAIN = st.none() | st.booleans() | NUMBERS | st.text(max_size=9) | WORDS
ANY = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ("seq", "action", "reaction", "shown", "given", "answers", "hidden", "consent")
FIELDS = dict.fromkeys(NAMES, ANY)
MESSAGES = st.fixed_dictionaries({"type": WORDS | ANY}, optional=FIELDS)
TEXTS = MESSAGES.map(json.dumps) | ANY.map(json.dumps) | st.text(max_size=30)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    study, invited = study_in(tmp_path_factory.mktemp("fuzz") / "s", 3, consent="Yes?")
    app = application(study.path)
    with TestClient(app) as client:
        yield study, invited, client


def connect(client, one, **headers):
    return client.websocket_connect(f"/p/{one.token}/ws", headers=headers)


def lead(socket, stage):
    """Bring a participant to a stage, or further."""
    state = socket.receive_json()
    while state["stage"] not in (stage, "test"):
        if state["stage"] == "consent":
            socket.send_json({"type": "consent", "given": True})
        elif state["stage"] == "instructions":
            socket.send_json({"type": "instructed"})
        state = socket.receive_json()


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(0, 2))
def test_no_message_breaks_a_session(served, contents, which):
    _, invited, client = served
    with connect(client, invited[which]) as socket:
        lead(socket, ("consent", "instructions", "test")[which])
        for content in contents:
            socket.send_text(content)
        socket.send_json({"type": "no such message"})  # which is refused: everything was read
        while (told := socket.receive_json()) != REFUSED:
            assert told["type"] in ("state", "refused")


REFUSED = {"type": "refused", "why": "there is no such message"}


@pytest.fixture
def one(tmp_path):
    study, (participant,) = study_in(tmp_path / "s")
    return study, participant


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("no JSON", "Expecting value"),
        ("[1]", "a message is an object"),
        ("[" * 5000, "recursion"),
        ('{"type": "act"}', "a number is missing"),
        ('{"type": "act", "seq": 10000001, "action": 1e3}', "a number is missing"),
        ('{"type": "act", "seq": true, "action": 0}', "a number is missing"),
        ('{"type": "act", "seq": 10000001, "action": 0, "reaction": -5}', "a number is missing"),
        ('{"type": "act", "seq": 10000001, "action": 99}', "there is no action 99"),
    ],
)
def test_wrong_messages_are_refused_with_a_reason(one, message, why):
    study, participant = one
    with TestClient(application(study.path)) as client, connect(client, participant) as socket:
        lead(socket, "test")
        state = socket.receive_json()
        while state.get("phase") != "asked":
            if state.get("phase") == "ready":
                socket.send_json({"type": "ready", "seq": state["seq"]})
            state = socket.receive_json()
        socket.send_text(message)
        told = socket.receive_json()
        assert told["type"] == "refused"
        assert why in told["why"]
        socket.send_json({"type": "act", "seq": state["seq"], "action": 0})
        while (state := socket.receive_json()).get("step") != 1:
            assert state["type"] == "state"


def code_of(client, one, **headers):
    """Why the server closes a socket at once."""
    with connect(client, one, **headers) as socket:
        try:
            socket.receive_json()
        except WebSocketDisconnect as closed:
            return closed.code
    return None


def test_links_that_lead_nowhere_or_are_too_old(one):
    study, participant = one
    (old,) = study.invite(days=1e-9)
    (used,) = study.invite()
    time.sleep(0.01)
    with TestClient(application(study.path)) as client:
        assert code_of(client, participant) is None
        assert code_of(client, old) == server.EXPIRED
        study.withdraw(used)
        assert code_of(client, used) == server.NOT_FOUND
        assert client.get("/p/none").status_code == 404
        assert client.get("/p/none/texts").status_code == 404


def test_pages_of_other_sites_open_no_socket(one):
    study, participant = one
    with TestClient(application(study.path)) as client:
        refused = code_or_error(client, participant, origin="http://elsewhere.example")
        assert refused
        assert code_of(client, participant, origin="http://testserver") is None


def code_or_error(client, participant, **headers):
    try:
        return code_of(client, participant, **headers)
    except WebSocketDisconnect as closed:  # before it was accepted
        return closed.code


def test_browsers_of_a_participant_are_bounded(one):
    study, participant = one
    with TestClient(application(study.path)) as client:
        opened = [connect(client, participant) for _ in range(server.BROWSERS)]
        for each in opened:
            each.__enter__().receive_json()
        assert code_of(client, participant) == server.TOO_MANY
        for each in opened:
            each.__exit__(None, None, None)
        assert code_of(client, participant) is None


def test_messages_are_bounded_in_their_rate(one, monkeypatch):
    study, participant = one
    monkeypatch.setattr(server, "MESSAGES", 20)
    with TestClient(application(study.path)) as client, connect(client, participant) as socket:
        socket.receive_json()
        for _ in range(21):
            socket.send_json({"type": "alive"})
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == server.TOO_MANY
        with connect(client, participant) as another:  # a new socket does not help
            another.receive_json()
            another.send_json({"type": "alive"})
            with pytest.raises(WebSocketDisconnect) as closed:
                another.receive_json()
        assert closed.value.code == server.TOO_MANY


def test_what_is_stored_cannot_be_read(one):
    study, participant = one
    log = study.folder(participant) / "events.log"
    log.write_text("7 " + "0" * 32 + " damaged\n")
    with TestClient(application(study.path)) as client:
        assert code_of(client, participant) == server.TROUBLE


SEGMENTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=12)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_request_breaks_the_server(served, data):
    _, invited, client = served
    description = client.app.openapi()["paths"]
    path = data.draw(st.sampled_from(sorted(description)))
    method = data.draw(st.sampled_from(sorted({"get", "head", "post", "put", *description[path]})))
    token = data.draw(SEGMENTS | st.just(invited[2].token))
    if "withdraw" in path:
        token += "x"  # the others still need them
    filled = path.replace("{token}", quote(token, safe="") or "-")
    content = data.draw(st.binary(max_size=40) | ANY.map(json.dumps).map(str.encode))
    headers = data.draw(
        st.dictionaries(st.sampled_from(["accept", "content-type", "range"]), ASCII, max_size=2)
    )
    answer = client.request(method, filled, content=content, headers=headers)
    assert answer.status_code < 500
    assert "default-src 'none'" in answer.headers["content-security-policy"]


ASCII = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)


def test_requests_are_bounded_in_their_size(served):
    _, invited, client = served
    answer = client.post(f"/p/{invited[0].token}/withdraw", content=b"x" * (2 << 20))
    assert answer.status_code in (400, 413, 415)
    assert client.get(f"/p/{invited[0].token}").status_code == 200
