"""The live view: what is stored below a folder, growing, and report pages."""

import json
import shutil

import pytest

pytest.importorskip("fastapi", reason="the extra web is not installed")

from starlette.websockets import WebSocketDisconnect

import omnimeter as om
from experimenters import BATTERY, OWN, changes_until, client_of, serving
from omnimeter.api import campaign
from omnimeter.results.files import Layout, locked
from omnimeter.web import live
from omnimeter.web.live import Stored
from omnimeter.web.studies import Design, Study

CAMPAIGN = """
title = "Cups"
seeds = [0, 1]

[[agents]]
agent = "random"

[[agents]]
agent = "q-learning"

[[tests]]
class = "cups"
exercises = 6

[run]
executor = "this-process"
"""


@pytest.fixture
def root(tmp_path):
    """A folder with an evaluation, an anytime test, a campaign, a study, and a report."""
    both = ["random", "q-learning"]
    om.evaluate(both, "cups", exercises=25, interactions=20, out=tmp_path / "run")
    anytime = tmp_path / "sub" / "any"
    om.test("random", "automata", interactions=400, repetitions=20, out=anytime).run()
    (tmp_path / "cups.toml").write_text(CAMPAIGN)
    campaign(tmp_path / "cups.toml", out=tmp_path / "campaign").run()
    Study.create(tmp_path / "study", Design(title="A study", battery=BATTERY)).invite()
    (tmp_path / "run" / "report.html").write_text("<title>report</title><script>alert(1)</script>")
    return tmp_path


def test_what_is_stored_is_listed(root):
    items = Stored(root).items()
    assert {path: item["kind"] for path, item in items.items()} == {
        "run": "evaluation",
        "sub/any": "evaluation",
        "campaign": "campaign",
        "run/report.html": "page",
    }
    assert items["campaign"]["evaluations"] == 2
    assert not any(item.get("running") or item.get("damaged") for item in items.values())
    assert list(Stored(root / "run").items()) == ["report.html", "."]


def test_scores_are_those_of_the_library(root):
    shown, result = Stored(root).item("run"), om.load(root / "run")
    assert (shown["done"], shown["expected"], shown["complete"]) == (50, 50, True)
    rows = {row["agent"]: row for row in shown["tests"][0]["rows"]}
    for agent, score in result.scores.items():
        row = rows[agent]
        assert row["value"] == score.value
        assert (row["low"], row["high"]) == score.interval[:2]
        assert row["points"][-1] == [25, row["value"], row["low"], row["high"]]
        assert [point[0] for point in row["points"]] == [1, 2, 3, 5, 7, 10, 20, 25]
    assert shown["reports"] == ["run/report.html"]


def test_a_score_of_the_past_is_that_of_the_test_stopped_there(root, tmp_path):
    shown = Stored(root).item("run")
    seed = om.load(root / "run").seed
    short = om.evaluate("random", "cups", exercises=10, interactions=20, seed=seed)
    points = {point[0]: point[1:] for point in shown["tests"][0]["rows"][0]["points"]}
    score = short.scores["random-v1"]
    assert points[10] == pytest.approx([score.value, *score.interval[:2]])


def test_an_anytime_test_has_the_course_of_its_moments(root):
    (row,) = Stored(root).item("sub/any")["tests"][0]["rows"]
    result = om.load(root / "sub" / "any")
    (moments,) = result.judged.courses.values()
    assert [point[:2] for point in row["points"]] == [[each.length, each.value] for each in moments]


def test_a_campaign_has_its_scores_and_its_evaluations(root):
    shown = Stored(root).item("campaign")
    scores = om.Campaign.open(root / "campaign").results()
    rows = [row for test in shown["tests"] for row in test["rows"]]
    assert [(row["agent"], row["value"]) for row in rows] == [(s.agent, s.value) for s in scores]
    assert (shown["title"], shown["state"], shown["done"]) == ("Cups", "complete", 24)
    for path in shown["evaluations"]:
        assert Stored(root).item(path)["complete"]
    inside = Stored(root / "campaign").item(".")
    assert inside["evaluations"] == [
        path.removeprefix("campaign/") for path in shown["evaluations"]
    ]


def test_it_grows_while_it_is_looked_at(root, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", 0.05)
    path = root / "growing"
    session = iter(om.test("random", "cups", interactions=1000, repetitions=20, out=path))
    next(session)
    with (
        client_of(root) as client,
        client.websocket_connect("/api/scores/ws?path=growing", headers=OWN) as page,
        client.websocket_connect("/api/stored/ws", headers=OWN) as overview,
    ):
        first = changes_until(page, bool)["growing"]
        assert first["running"]
        assert not first["complete"]
        assert changes_until(overview, lambda all_: all_["growing"]["running"])
        for _ in session:
            pass
        last = changes_until(page, lambda now: now["growing"]["complete"], most=100)["growing"]
        counts = [len(each["tests"][0]["rows"][0]["points"]) for each in (first, last)]
        assert counts[1] > counts[0]
        assert last["done"] > first["done"]
        changes_until(overview, lambda all_: not all_["growing"]["running"], most=100)


def test_a_campaign_has_the_course_since_it_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", -1.0)
    monkeypatch.setattr(live, "REST", -1)
    file = tmp_path / "c.toml"
    file.write_text(CAMPAIGN.replace("seeds = [0, 1]", ""))
    stored = Stored(tmp_path)
    taken = campaign(file, out=tmp_path / "c")
    seen = []
    taken.run(progress=lambda progress: seen.append(stored.item("c")))
    shown = stored.item("c")
    for row in shown["tests"][0]["rows"]:
        assert row["count"] == 6
        assert row["points"][-1][:2] == [6, row["value"]]
    assert any(each.get("running") for each in seen)


def test_files_that_have_not_changed_are_not_read_again(root, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", -1.0)
    monkeypatch.setattr(live, "REST", -1)
    read = []
    load = live.load
    monkeypatch.setattr(
        live, "load", lambda *given, **how: read.append(given) or load(*given, **how)
    )
    stored = Stored(root)
    first = stored.item("run")
    assert stored.item("run") is first
    assert len(read) == 1
    shard = next((root / "run" / "outcomes").glob("*.parquet"))
    shard.unlink()
    assert stored.item("run")["done"] < first["done"]
    assert len(read) == 2


def test_what_is_damaged_is_shown_as_such_and_ends_nothing(root):
    shard = next((root / "run" / "outcomes").glob("*.parquet"))
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 255
    shard.write_bytes(content)
    (root / "sub" / "any" / "spec.json").write_text("{")
    (root / "campaign" / "campaign.json").write_text("[]")
    (root / "campaign" / "progress.json").write_text("{")
    with client_of(root) as client:
        listed = client.get("/api/stored").json()
        assert "spec.json" in listed["sub/any"]["damaged"]
        assert "campaign.json" in listed["campaign"]["damaged"]
        for path in ("run", "sub/any", "campaign"):
            shown = client.get("/api/scores", params={"path": path})
            assert shown.status_code == 200
            assert shown.json()["damaged"], path
        assert client.get("/api/form").status_code == 200
        assert json.loads(client.get("/api/stored").text)["run/report.html"]["kind"] == "page"
        with client.websocket_connect("/api/scores/ws?path=sub/any", headers=OWN) as page:
            assert changes_until(page, bool)["sub/any"]["damaged"]


def test_an_error_that_was_not_thought_of_is_shown_too(root, monkeypatch):
    def fail(*given, **how):
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(live, "load", fail)
    assert "ZeroDivisionError" in Stored(root).item("run")["damaged"]["run"]


def test_what_is_removed_is_gone(root, monkeypatch):
    monkeypatch.setattr(live, "PAUSE", 0.05)
    with (
        client_of(root) as client,
        client.websocket_connect("/api/stored/ws", headers=OWN) as overview,
    ):
        assert "run" in changes_until(overview, bool)
        shutil.rmtree(root / "run")
        gone = next(told["gone"] for _ in range(20) if (told := overview.receive_json())["gone"])
        assert set(gone) >= {"run", "run/report.html"}
        assert client.get("/api/scores", params={"path": "run"}).status_code == 404


def test_code_that_results_name_is_not_imported(tmp_path):
    own = tmp_path / "own.py"
    own.write_text(
        "from omnimeter.environments.cups import Cups\n\n\nclass Mine(Cups):\n    pass\n"
    )
    out = tmp_path / "out"
    om.evaluate("random", f"{own}:Mine", exercises=2, interactions=5, out=out)
    own.write_text("raise SystemExit('imported')\n")
    assert Stored(tmp_path).item("out")["done"] == 2
    out = tmp_path / "paid"
    own.write_text("from omnimeter.payoffs import Total\n\n\nclass Mine(Total):\n    pass\n")
    om.evaluate("random", "cups", exercises=2, interactions=5, payoff=f"{own}:Mine", out=out)
    own.write_text("raise SystemExit('imported')\n")
    shown = Stored(tmp_path).item("paid")  # it may be shown, or not; but nothing is imported
    assert shown.get("done") == 2 or "would have to be imported" in str(shown["damaged"])


def test_looking_writes_nothing(root):
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    stored = Stored(root)
    for path, item in stored.items().items():
        assert item["kind"] == "page" or stored.item(path)["tests"]
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before


def test_a_lock_is_seen(root):
    with locked(Layout(root / "run")):
        stored = Stored(root)
        assert stored.items()["run"]["running"]
        assert stored.item("run")["running"]
    assert not Stored(root).items()["run"]["running"]


def test_a_report_page_is_in_a_sandbox(root):
    with client_of(root) as client:
        answer = client.get("/stored/run/report.html")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"].split("; ")
        assert policy[:2] == ["sandbox", "default-src 'none'"]
        assert not any("script" in each for each in policy)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"].startswith("text/html")
        for path in ("run/spec.json", "run/key.json", "study/study.json", "run", "cups.toml"):
            assert client.get(f"/stored/{path}").status_code == 404


def test_links_to_results_elsewhere_are_not_followed(root, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "run").symlink_to(root / "run")
    stored = Stored(elsewhere)
    assert stored.items() == {}
    assert stored.item("run") == {}
    assert Stored(elsewhere / "run").item(".")["done"] == 50  # as the user named it


def test_many_pages_are_refused(root, monkeypatch):
    monkeypatch.setattr(live, "SOCKETS", 0)
    with (
        client_of(root) as client,
        client.websocket_connect("/api/stored/ws", headers=OWN) as page,
        pytest.raises(WebSocketDisconnect) as closed,
    ):
        page.receive_json()
    assert closed.value.code == 4429


def test_the_live_view_in_a_browser(root, browser):
    with serving(root) as address, locked(Layout(root / "run")):
        page = browser.new_page(viewport={"width": 360, "height": 740})
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        panel = page.get_by_role("region", name="Running: run")
        panel.get_by_role("img", name="Score of random-v1, q-learning-v1").wait_for()
        page.get_by_role("link", name="sub/any", exact=True).click()
        page.get_by_role("heading", name="sub/any").wait_for()
        page.get_by_text("Anytime", exact=False).first.wait_for()
        page.get_by_role("img", name="Score of random-v1").wait_for()
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        page.goto(f"{address}/stored/run/report.html")
        assert page.title() == "report"
        assert not errors
