"""Who may reach what: the login, the guard before every request, and what studies must not name."""

import asyncio
import json

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.websockets import WebSocketDisconnect

from experimenters import BATTERY, OWN, TestClient, client_of
from omnimeter.contract import InvalidInputError
from omnimeter.web import security, serving
from omnimeter.web.experimenter import FormError, checked
from omnimeter.web.live import Stored
from omnimeter.web.security import Access, Guard, Rate, is_loopback, refused_names
from omnimeter.web.server import application
from omnimeter.web.studies import Design, Study


@pytest.fixture
def study(tmp_path):
    return Study.create(tmp_path / "study", Design(title="A study", battery=BATTERY))


@pytest.fixture
def client(tmp_path, study):
    with client_of(tmp_path) as client:
        yield client


def with_login(root, **options):
    return client_of(root, "0.0.0.0", **options)


def test_every_answer_has_its_headers(client, study):
    @client.app.get("/mistake")
    async def mistake():
        raise RuntimeError("secret")

    token = study.invite()[0].token
    asked = {
        "/": 200,
        "/login": 200,
        f"/p/{token}": 200,
        "/p/unknown": 404,
        "/static/experimenter.js": 200,
        "/static/missing.js": 404,
        "/api/form": 200,
        "/api/studies/missing": 404,
        "/kiosk": 404,
        "/mistake": 500,
    }
    for path, status in asked.items():
        answer = client.get(path)
        assert answer.status_code == status, path
        for name in security.HEADERS:
            assert name in answer.headers, (path, name)
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'"), path
        assert "unsafe" not in policy, path
    assert "secret" not in client.get("/mistake").text
    large = client.post("/api/studies", content=b" " * (security.LARGEST_BODY + 1))
    assert large.headers["X-Content-Type-Options"] == "nosniff"


def test_another_name_does_not_reach_the_experimenter_on_loopback(tmp_path, study):
    token = study.invite()[0].token
    with TestClient(application(tmp_path), base_url="http://rebound.example") as client:
        assert client.get("/api/form").status_code == 421
        assert client.get("/").status_code == 421
        assert (
            client.get(f"/p/{token}").status_code == 200
        )  # a link is secret, and may be forwarded
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/studies/ws"):
            pass
    for name in ("localhost:8000", "127.0.0.1:1", "[::1]:80"):
        with client_of(tmp_path) as client:
            assert client.get("/api/form", headers={"host": name}).status_code == 200


@pytest.mark.parametrize("header", security.FORWARDED)
def test_a_proxy_does_not_open_the_experimenters_side(client, header):
    assert client.get("/api/form", headers={header: "203.0.113.5"}).status_code == 401


def test_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "192.168.1.5", "example.org")))


def test_a_login_is_needed_elsewhere(tmp_path, study):
    token = study.invite()[0].token
    with with_login(tmp_path) as client:
        access = client.app.state.access
        assert access.needs_login
        for path in (
            "/api/form",
            "/api/stored",
            "/openapi.json",
            "/stored/x.html",
            "/api/studies/study",
        ):
            assert client.get(path).status_code == 401, path
        page = client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        with pytest.raises(WebSocketDisconnect):
            client.websocket_connect("/api/studies/ws", headers=OWN).__enter__()
        for path in ("/login", f"/p/{token}", f"/p/{token}/texts", "/static/login.js"):
            assert client.get(path).status_code == 200, path
        for wrong in ("", "x", None, 5, access.token[:-1]):
            assert client.post("/login", json={"token": wrong}).status_code == 403
        entered = client.post("/login", json={"token": access.token})
        assert entered.status_code == 200
        cookie = entered.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert access.token.lower() not in cookie
        assert client.get("/api/form").status_code == 200
        assert client.get("/").status_code == 200
    with with_login(tmp_path) as other:  # a token and a cookie are of one run of the server
        assert other.app.state.access.token != access.token
        assert other.get("/api/form", headers={"cookie": cookie}).status_code == 401


def test_attempts_to_log_in_are_limited(tmp_path):
    with with_login(tmp_path) as client:
        token = client.app.state.access.token
        for _ in range(security.ATTEMPTS):
            assert client.post("/login", json={"token": "guess"}).status_code == 403
        assert client.post("/login", json={"token": token}).status_code == 429


def test_the_address_has_the_token_where_it_is_in_no_log(tmp_path):
    assert Access("127.0.0.1").address(8000) == "http://127.0.0.1:8000/"
    access = Access("192.0.2.1")
    assert access.address(80) == f"http://192.0.2.1:80/login#{access.token}"
    assert len(access.token) >= 32
    assert Access("::1", login=True).address(1).startswith("http://[::1]:1/login#")
    assert "0.0.0.0" not in Access("0.0.0.0").address(8000)


def test_changes_come_from_own_pages_only(client):
    asked = ("/api/studies", "/api/studies/study/invite", "/api/studies/study/kiosk")
    for path in asked:
        plain = client.post(path, content="{}", headers={"content-type": "text/plain"})
        assert plain.status_code == 415
        assert client.post(path).status_code == 415
        for headers in (
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
        ):
            assert client.post(path, json={}, headers=headers).status_code == 403, headers
    own = {"origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
    made = client.post("/api/studies/study/invite", json={"count": 1}, headers=own)
    assert made.status_code == 200
    evil = {**OWN, "origin": "https://evil.example"}
    with pytest.raises(WebSocketDisconnect):
        client.websocket_connect("/api/studies/ws", headers=evil).__enter__()


def test_participants_reach_their_own_session_only(tmp_path, study):
    one, other = study.invite(2)
    with with_login(tmp_path) as client:
        for path in (f"/p/{one.name}", f"/p/{one.token[:-1]}", f"/p/{one.token}x", "/p/", "/p"):
            assert client.get(path).status_code in (401, 404), path
        texts = client.get(f"/p/{one.token}/texts").text
        assert other.token not in texts
        assert str(study.seed) not in texts
        for path in ("events.log", "..%2f..%2fstudy.json", "%2e%2e/study.json", "participant.json"):
            assert client.get(f"/p/{one.token}/{path}").status_code in (401, 404)
        assert client.get(f"/p/{one.token}/../../api/form").status_code == 401


TRAVERSALS = (
    "../secret.html",
    "a/../../secret.html",
    "/etc/passwd",
    "..\\secret.html",
    "%2e%2e/secret.html",
    "....//secret.html",
    "linked.html",
    "linked/page.html",
    "study/study.json",
    "plain.txt",
    "",
)


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_file_but_stored_pages_is_served(tmp_path, path):
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
    (tmp_path / "secret.html").write_text("secret")
    (outside / "page.html").write_text("secret")
    (root / "linked.html").symlink_to(tmp_path / "secret.html")
    (root / "linked").symlink_to(outside)
    (root / "plain.txt").write_text("secret")
    Study.create(root / "study", Design(title="A study", battery=BATTERY))
    stored = Stored(root)
    assert stored.page(path) is None
    assert stored.item(path) == {}
    with client_of(root) as client:
        answer = client.get(f"/stored/{path}")
        assert answer.status_code == 404
        assert client.get("/api/scores", params={"path": path}).status_code == 404
        assert client.get(f"/static/{path.replace('..', '%2e%2e')}").status_code in (404, 405)


def receive_from(messages):
    iterator = iter(messages)

    async def receive():
        await asyncio.sleep(0)
        return next(iterator)

    return receive


def guarded(messages, path="/api/studies", headers=()):
    """The statuses of the answers to a raw request, and what of it came through."""
    came, sent = [], []

    async def app(scope, receive, send):
        came.append(await receive())

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), *headers],
    }
    guard = Guard(app, Access("127.0.0.1"))
    asyncio.run(guard(scope, receive_from(messages), send))
    return [each["status"] for each in sent if each["type"] == "http.response.start"], came


def endless():
    while True:
        yield {"type": "http.request", "body": b"x" * 60_000, "more_body": True}


def test_bodies_are_bounded_that_do_not_say_how_long_they_are():
    assert guarded(endless()) == ([413], [])
    assert guarded(endless(), "/p/token/withdraw") == ([413], [])
    told = [(b"content-length", str(security.LARGEST_BODY + 1).encode())]
    assert guarded([], headers=told) == ([413], [])
    parts = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"c"},
    ]
    statuses, came = guarded(parts)
    assert (statuses, came[0]["body"]) == ([], b"abc")


def test_bodies_do_not_take_for_ever(monkeypatch):
    monkeypatch.setattr(security, "SLOWEST_BODY", 0.05)

    def slowly():
        while True:
            yield {"type": "http.request", "body": b"", "more_body": True}

    assert guarded(slowly()) == ([408], [])


def test_bodies_that_never_come_hold_no_places_of_others(monkeypatch):
    monkeypatch.setattr(security, "SLOWEST_BODY", 0.3)
    monkeypatch.setattr(security, "AT_ONCE", 1)
    monkeypatch.setattr(security, "BODIES", 3)

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    guard = Guard(app, Access("127.0.0.1"))

    async def request(address, *, comes):
        statuses = []

        async def receive():
            if not comes:
                await asyncio.sleep(10)
            return {"type": "http.request", "body": b"{}"}

        async def send(message):
            statuses.append(message.get("status"))

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/p/token/withdraw",
            "client": (address, 1),
            "headers": [(b"host", b"localhost")],
        }
        await guard(scope, receive, send)
        return statuses[0]

    async def all_at_once():
        slow = [asyncio.create_task(request("10.0.0.1", comes=False)) for _ in range(5)]
        await asyncio.sleep(0.05)
        others = [await request("10.0.0.2", comes=True) for _ in range(4)]
        return others, sorted([await each for each in slow])

    assert asyncio.run(all_at_once()) == ([200] * 4, [408, 408, 408, 429, 429])
    assert not guard._awaited


def test_a_proxy_that_is_known_says_who_asks_and_how():
    seen = []

    async def inner(scope, receive, send):
        seen.append((scope["client"][0], scope["scheme"]))

    for proxy in (None, "127.0.0.1"):
        served = serving.server(inner, proxy).config
        served.load()
        scope = {
            "type": "http",
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "headers": [(b"x-forwarded-for", b"10.1.2.3"), (b"x-forwarded-proto", b"https")],
        }
        asyncio.run(served.loaded_app(scope, None, None))
    assert seen == [("127.0.0.1", "http"), ("10.1.2.3", "https")]
    serving.check_proxy("::1")
    for wrong in ("*", "proxy", "10.0.0.0/8"):
        with pytest.raises(InvalidInputError, match="not the address"):
            serving.check_proxy(wrong)


def test_requests_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(security, "REQUESTS", 5)
    with client_of(tmp_path) as client:
        statuses = [client.get("/api/form").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2


def test_the_server_says_that_it_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(security, "AT_ONCE", 0)
    with client_of(tmp_path) as client:
        assert client.get("/api/form").status_code == 503


def test_rates_forget_addresses(monkeypatch):
    monkeypatch.setattr(security, "MOST_ADDRESSES", 10)
    rate = Rate(1, 1000.0)
    assert [rate.allows("a"), rate.allows("a"), rate.allows("b")] == [True, False, True]
    assert all(rate.allows(str(number)) for number in range(100))
    assert len(rate._spans) <= 10
    assert all(Rate(1, 0.0).allows("a") for _ in range(3))


def test_large_messages_close_a_socket(client, study):
    token = study.invite()[0].token
    with client.websocket_connect(f"/p/{token}/ws", headers=OWN) as socket:
        assert socket.receive_json()["type"] == "state"
        socket.send_text("x" * (security.LARGEST_MESSAGE + 1))
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1009


NAMES = (
    "evil.py:Agent",
    "os:system",
    "python:thing",
    "http://example.org/battery",
    "../../etc/passwd",
    "C:\\battery.json",
    "my.json",
    "mdp-v1(file=data.csv)",
    "mdp-v1(file = x)",
    "joint-v1(first=evil.py)",
    "libevil.so",
)


@pytest.mark.parametrize("name", NAMES)
def test_studies_of_a_page_name_no_code_and_no_files(tmp_path, name):
    assert refused_names({"exercises": [{"environment_class": name}]})
    assert refused_names({"x": {"y": [name]}})
    exercise = {"environment_class": name, "interactions": 3}
    nested = {"id": "lambda-v1", "parameters": {"first": {"id": name}}}
    for battery in (
        name,
        {"title": "t", "exercises": [exercise]},
        {"title": "t", "exercises": [{**exercise, "environment_class": {"id": name}}]},
        {"title": "t", "exercises": [{**exercise, "environment_class": nested}]},
        {
            "title": "t",
            "exercises": [{**exercise, "environment_class": {"id": name, "digest": "x"}}],
        },
    ):
        with pytest.raises(FormError):
            checked({"title": "A study", "battery": battery})
    for test in (
        {"class": name, "interactions": 100},
        {"class": "lambda", "interactions": 100, "payoff": name},
    ):
        with pytest.raises(FormError):
            checked({"title": "A study", "test": test})
    assert refused_names({"file": "x"})
    assert not refused_names(BATTERY)


@pytest.mark.parametrize("name", ["out", "isolation", "workers", "sandbox", "agents", "traces"])
def test_a_page_does_not_set_how_a_test_runs(tmp_path, name):
    with pytest.raises(FormError) as error:
        checked({"title": "A", "test": {"class": "lambda", "interactions": 100, name: "x"}})
    assert list(error.value.errors) == [f"test.{name}"]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
data = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*Design.__dataclass_fields__, "x", "class"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data)
def test_odd_forms_are_refused_and_make_nothing(client, sent):
    content = json.dumps(sent)
    headers = {"content-type": "application/json"}
    for path in ("/api/studies", "/api/studies/study/invite", "/login"):
        answer = client.post(path, content=content, headers=headers)
        made = isinstance(sent, dict) and path.endswith("invite") and "count" not in sent
        assert answer.status_code in ((200,) if made else (400, 403, 422, 429))
