"""Participants at a real server that is killed: nothing is lost, nothing counts twice."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from starlette.websockets import WebSocketDisconnect
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from omnimeter import scenes
from omnimeter.contract.errors import StoreError
from omnimeter.results.journal import Journal, Journals
from omnimeter.web import attendance, server
from omnimeter.web.records import attended, interactions
from omnimeter.web.server import application
from omnimeter.web.simulation import Chooser, RandomChooser, SimulatedParticipant, simulate
from omnimeter.web.studies import Study
from participants import (
    LENGTHS,
    TOTAL,
    TestClient,
    free_port,
    is_same,
    scripted_traces,
    server_process,
    start_server,
    study_in,
    traces_of,
)


def acts(study, participant):
    return [event for event in study.events(participant) if event["kind"] == "act"]


class Counter(Chooser):
    """Chooses 0, 1, 2 ... in turn, and remembers which action was chosen at which step."""

    def __init__(self):
        self.chosen = {}

    def choose(self, state, actions):
        place = state["exercise"], state["step"]
        assert place not in self.chosen, "asked twice for the same action"
        self.chosen[place] = actions[len(self.chosen) % len(actions)]
        return self.chosen[place]


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 3))])
def test_a_server_that_is_killed_loses_nothing(tmp_path, seed):
    study, (participant,) = study_in(tmp_path / "s", consent="Yes?")
    port, rng = free_port(), random.Random(seed)
    process = start_server(study.path, port)
    chooser, acknowledged = Counter(), []
    client = SimulatedParticipant(
        f"http://127.0.0.1:{port}", participant.token, chooser, np.random.default_rng(0),
        acknowledged.append,
    )  # fmt: skip
    stages = []
    playing = threading.Thread(target=lambda: stages.append(asyncio.run(client.play())))
    playing.start()
    kills = 0
    try:
        while playing.is_alive() and kills < 3:
            seen = len(acknowledged)
            while playing.is_alive() and len(acknowledged) == seen:
                time.sleep(0.005)
            time.sleep(rng.random() * 0.06)  # somewhere between an action and the next
            process.kill()
            process.communicate()
            kills += 1
            process = start_server(study.path, port)
        playing.join(60)
        assert stages == ["thanks"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert kills >= 2
    traces = traces_of(study, participant)
    done = [int(action) for trace in traces for action in trace.actions]
    assert done == [chooser.chosen[place] for place in sorted(chooser.chosen)]
    assert len(acknowledged) == TOTAL
    last = {(each["exercise"], each["step"]): each["action"] for each in acts(study, participant)}
    assert [last[place] for place in sorted(last)] == done
    for number, trace in enumerate(traces):
        script = trace.actions.tolist()
        again = scripted_traces(study, participant, script, tmp_path / f"again{number}")[number]
        assert is_same(trace, again)
    assert attended(study, participant).interruptions >= 1


class Browser:
    """A browser of a participant at an application in this process."""

    def __init__(self, client, token):
        self._context = client.websocket_connect(f"/p/{token}/ws")
        self.socket = self._context.__enter__()

    def close(self):
        self._context.__exit__(None, None, None)

    def send(self, **message):
        self.socket.send_json(message)

    def state(self, **wanted):
        """The next state with these entries."""
        while True:
            state = self.socket.receive_json()
            if all(state.get(name) == value for name, value in wanted.items()):
                return state

    def begin(self):
        """Come to the first action."""
        state = self.state(type="state")
        if state["stage"] == "instructions":
            self.send(type="instructed")
        while state.get("phase") not in ("ready", "asked"):
            state = self.state(type="state")
        if state["phase"] == "ready":
            self.send(type="ready", seq=state["seq"])
            state = self.state(phase="asked")
        return state

    def act(self, state, action=0):
        self.send(type="act", seq=state["seq"], action=action, reaction=7, shown=9)
        return self.state(phase="asked", step=state["step"] + 1)


def test_reloading_goes_on_at_the_exact_step(tmp_path):
    study, (one,) = study_in(tmp_path / "s")
    with TestClient(application(study.path)) as client:
        first = Browser(client, one.token)
        state = first.act(first.act(first.begin()))
        first.close()
        again = Browser(client, one.token)
        shown = again.state(phase="asked")
        assert shown == state
        again.act(shown)
        again.close()
    assert [each["step"] for each in acts(study, one)] == [0, 1, 2]
    assert all(each["reaction"] == 7 and each["received"] > 0 for each in acts(study, one))


def test_two_tabs_and_double_clicks_count_once(tmp_path):
    study, (one,) = study_in(tmp_path / "s")
    with TestClient(application(study.path)) as client:
        left = Browser(client, one.token)
        state = left.begin()
        right = Browser(client, one.token)
        assert right.state(phase="asked") == state
        for tab in (left, right, left):
            tab.send(type="act", seq=state["seq"], action=1)
        assert left.state(step=1, phase="asked") == right.state(step=1, phase="asked")
        left.close()
        right.close()
    assert [each["action"] for each in acts(study, one)] == [1]


@pytest.mark.parametrize(
    ("policy", "minutes", "kind", "stage", "step"),
    [
        ("resume", 0.0, "resumed", "test", 2),
        ("restart", 0.0, "restarted", "test", 0),
        ("restart", 60.0, "resumed", "test", 2),
        ("block", 0.0, "blocked", "blocked", None),
        ("block", 60.0, "resumed", "test", 2),
    ],
)
def test_what_the_study_says_of_those_who_were_away(tmp_path, policy, minutes, kind, stage, step):
    study, (one,) = study_in(tmp_path / "s", after_interruption=policy, minutes_away=minutes)
    with TestClient(application(study.path)) as client:
        browser = Browser(client, one.token)
        state = browser.act(browser.act(browser.begin()))
        browser.close()
        time.sleep(0.05)
        browser = Browser(client, one.token)
        if stage == "test":
            back = browser.begin()
            assert back["step"] == step
            if kind == "restarted":
                assert back["seq"] != state["seq"] - 2  # what was answered before is stale
        else:
            browser.state(type="state", stage=stage)
        browser.close()
    events = study.events(one)
    assert [event["kind"] for event in events if "away" in event] == [kind]
    assert attended(study, one).stage == stage


@pytest.mark.parametrize("policy", ["restart", "block"])
def test_between_two_exercises_a_participant_may_rest_for_any_time(tmp_path, policy):
    study, (one,) = study_in(tmp_path / "s", after_interruption=policy, minutes_away=0.0)
    with TestClient(application(study.path)) as client:
        browser = Browser(client, one.token)
        state = browser.begin()
        for _ in range(LENGTHS[0] - 1):
            state = browser.act(state)
        browser.send(type="act", seq=state["seq"], action=0)
        browser.state(phase="ready", exercise=2)
        browser.close()
        time.sleep(0.05)
        browser = Browser(client, one.token)
        assert browser.state(phase="ready")["exercise"] == 2
        browser.close()
    assert not [event for event in study.events(one) if "away" in event]


def test_two_tabs_answer_the_questionnaire_once(tmp_path):
    study, (one,) = study_in(tmp_path / "s")
    app = application(study.path)
    with TestClient(app) as client:
        browser = Browser(client, one.token)
        browser.begin()
        attended_now = app.state.there.now()[one.token]
        for _ in range(2):
            client.portal.call(attended_now.note, "answered")
        browser.close()
    assert [event["kind"] for event in study.events(one)].count("answered") == 1


def test_a_browser_without_a_sign_of_life_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "SILENT", 0.3)
    study, (one,) = study_in(tmp_path / "s")
    app = application(study.path)
    with TestClient(app) as client:
        browser = Browser(client, one.token)
        browser.begin()
        browser.send(type="alive")
        with pytest.raises(WebSocketDisconnect) as closed:
            browser.state(type="none")
        assert closed.value.code == server.GONE
        browser.close()
    assert "lost" in [event["kind"] for event in study.events(one)]


def test_events_that_browsers_bring_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(attendance, "MOST_PASSING", 5)
    study, (one,) = study_in(tmp_path / "s")
    for _ in range(2):  # also after the server has begun anew
        with TestClient(application(study.path)) as client:
            browser = Browser(client, one.token)
            state = browser.begin()
            for hidden in (True, False) * 5:
                browser.send(type="hidden", hidden=hidden)
            browser.act(state)
            browser.close()
    kinds = [event["kind"] for event in study.events(one)]
    assert sum(kind in attendance.PASSING for kind in kinds) == 5
    assert kinds.count("many") == 1
    assert kinds.count("act") == 2


@pytest.mark.parametrize("asked", [True, False])
def test_what_the_last_action_brought_is_told_after_the_test(tmp_path, asked):
    given = {} if asked else {"questionnaire": ()}
    study, (one,) = study_in(tmp_path / "s", **given)
    with (
        TestClient(application(study.path)) as client,
        closing(Browser(client, one.token)) as browser,
    ):
        state = browser.begin()
        for number, length in enumerate(LENGTHS, 1):
            for _ in range(length - 1):
                state = browser.act(state)
            browser.send(type="act", seq=state["seq"], action=0)
            if number < len(LENGTHS):
                ready = browser.state(phase="ready")
                assert "last" not in ready
                browser.send(type="ready", seq=ready["seq"])
                state = browser.state(phase="asked")
        state = browser.state(stage="questionnaire" if asked else "thanks")
        assert state["last"]["exercise"] == len(LENGTHS)
        reward = float(traces_of(study, one)[-1].rewards[-1])
        assert state["last"]["reward"] == {"sign": scenes.sign_of(reward)}
        assert state["last"]["scene"]["parts"]
        if asked:
            browser.send(type="answers", answers={})
            assert "last" not in browser.state(stage="thanks")


def test_participants_who_are_away_are_forgotten_and_come_back(tmp_path, monkeypatch):
    study, (one,) = study_in(tmp_path / "s")
    app = application(study.path)
    with TestClient(app) as client:
        browser = Browser(client, one.token)
        state = browser.act(browser.begin())
        browser.close()
        monkeypatch.setattr(attendance, "KEPT", -1.0)
        while not app.state.there.now()[one.token].is_idle:
            time.sleep(0.01)
        client.portal.call(app.state.there.forget, one.token)
        assert not app.state.there.now()
        browser = Browser(client, one.token)
        assert browser.state(phase="asked") == state
        browser.close()


def test_withdrawal_ends_the_test_and_deletes_it(tmp_path):
    study, (one, other) = study_in(tmp_path / "s", 2)
    with TestClient(application(study.path)) as client:
        browser = Browser(client, one.token)
        state = browser.act(browser.begin())
        assert client.post(f"/p/{one.token}/withdraw").json() == {"withdrawn": True}
        browser.state(stage="withdrawn")
        browser.send(type="act", seq=state["seq"], action=0)  # too late, and without effect
        browser.send(type="instructed")
        browser.close()
        assert client.get(f"/p/{one.token}").status_code == 404
        assert client.get(f"/p/{other.token}").status_code == 200
        # A second request, as after an answer that was lost.
        assert client.post(f"/p/{one.token}/withdraw").json() == {"withdrawn": True}
        assert client.post("/p/none/withdraw").status_code == 404
    assert not study.folder(one).exists()
    assert [each.name for each in study.participants] == [other.name]


@pytest.mark.parametrize("beside", [True, False])
def test_a_link_that_is_revoked_ends_the_test(tmp_path, beside, monkeypatch):
    study, (one, other) = study_in(tmp_path / "s", 2)
    app = application(study.path)
    with TestClient(app) as client:
        browser = Browser(client, one.token)
        browser.act(browser.begin())
        if beside:  # by another process
            monkeypatch.setattr(attendance, "WATCH", 0.1)
            Study(study.path).revoke(one)
        else:
            client.portal.call(app.state.there.revoke, one.token)
        browser.state(stage="expired")
        browser.close()
        browser = Browser(client, one.token)
        with pytest.raises(WebSocketDisconnect) as closed:
            browser.state(type="state")
        assert closed.value.code == server.EXPIRED
        browser.close()
        browser = Browser(client, other.token)
        browser.begin()
        browser.close()
    assert len(acts(study, one)) == 1  # what was done is kept


def test_a_test_that_could_not_be_stored_goes_on_once_it_can_be(tmp_path, monkeypatch):
    study, (one,) = study_in(tmp_path / "s")
    with TestClient(application(study.path)) as client:
        with closing(Browser(client, one.token)) as browser:
            state = browser.begin()
            with monkeypatch.context() as full:
                full.setattr(Journal, "append", refuse)
                browser.send(type="act", seq=state["seq"], action=0)
                assert browser.state(phase="closed")["trouble"]
        with closing(Browser(client, one.token)) as browser:
            browser.act(browser.state(phase="asked", step=0))


def refuse(*_):
    raise StoreError("The disk is full.", "Make room.")


def test_a_damaged_test_is_told_as_trouble(tmp_path):
    study, (one, other) = study_in(tmp_path / "s", 2)
    with TestClient(application(study.path)) as client:
        for each in (one, other):
            with closing(Browser(client, each.token)) as browser:
                browser.act(browser.begin())
        (study.folder(one) / "evaluation" / "spec.json").write_text("{")
    with TestClient(application(study.path)) as client:
        with (
            closing(Browser(client, one.token)) as browser,
            pytest.raises(WebSocketDisconnect) as closed,
        ):
            browser.state(type="none")
        assert closed.value.code == server.TROUBLE
        with closing(Browser(client, other.token)) as browser:
            browser.state(phase="asked", step=1)


def test_coming_back_while_a_test_is_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr(attendance, "KEPT", 0.0)
    monkeypatch.setattr(attendance, "WATCH", 0.0)
    study, (one,) = study_in(tmp_path / "s")
    with TestClient(application(study.path)) as client:
        with closing(Browser(client, one.token)) as browser:
            browser.begin()
        for _ in range(40):
            with closing(Browser(client, one.token)) as browser:
                assert browser.state(phase="asked")["step"] == 0


def test_absence_in_an_exercise_whose_time_is_over_is_recorded(tmp_path):
    test = {"class": "cups", "time": 60.0, "slot": 3.0}
    study, (one,) = study_in(tmp_path / "s", battery=None, test=test)
    with TestClient(application(study.path)) as client:
        with closing(Browser(client, one.token)) as browser:
            browser.begin()
        time.sleep(3.5)  # the exercise is over meanwhile
        with closing(Browser(client, one.token)) as browser:
            browser.state(type="state")
    told = [event for event in study.events(one) if event["kind"] in ("left", "resumed")]
    assert told[0]["exercise"] == 1
    assert told[1]["away"] >= 3.5
    assert attended(study, one).interruptions == 1


def test_a_restart_that_was_interrupted_is_finished(tmp_path, monkeypatch):
    study, (one,) = study_in(tmp_path / "s", after_interruption="restart", minutes_away=0.0)
    with (
        TestClient(application(study.path)) as client,
        closing(Browser(client, one.token)) as browser,
    ):
        browser.act(browser.begin())
    with monkeypatch.context() as killed, TestClient(application(study.path)) as client:
        killed.setattr(Journals, "remove", lambda *_: None)  # as if it ended before
        with closing(Browser(client, one.token)) as browser:
            browser.state(type="state")
    assert [event["kind"] for event in study.events(one)].count("restarted") == 1
    with (
        TestClient(application(study.path)) as client,
        closing(Browser(client, one.token)) as browser,
    ):
        assert browser.state(phase="ready")["exercise"] == 1


def test_studies_that_are_made_while_it_serves_are_found(tmp_path, monkeypatch):
    with TestClient(application(tmp_path)) as client:
        monkeypatch.setattr(attendance, "LOOK", 0.0)
        study, (one,) = study_in(tmp_path / "s")
        assert client.get(f"/p/{one.token}").status_code == 200
        browser = Browser(client, one.token)
        browser.begin()
        browser.close()
    assert study.events(one)


def test_consent_is_asked_again_and_recorded_with_its_text(tmp_path):
    study, (one,) = study_in(tmp_path / "s", consent="Do you agree?")
    with TestClient(application(study.path)) as client:
        browser = Browser(client, one.token)
        assert browser.state(type="state")["stage"] == "consent"
        browser.send(type="instructed")  # which nothing leads to yet
        browser.state(stage="consent")
        browser.send(type="consent", given=False)
        browser.state(stage="declined")
        browser.send(type="consent", given=True)
        browser.state(stage="instructions")
        browser.close()
    told = [(each["kind"], each.get("text")) for each in study.events(one)]
    assert ("consented", "Do you agree?") in told
    assert ("declined", "Do you agree?") in told


@pytest.mark.parametrize("rewards", ["signs", "steps", "number"])
def test_no_more_of_a_reward_is_told_than_the_study_shows(tmp_path, rewards):
    study, (one,) = study_in(tmp_path / "s", rewards=rewards)
    with TestClient(application(study.path)) as client:
        browser = Browser(client, one.token)
        state = browser.act(browser.begin())
        browser.close()
    assert set(state["reward"]) == {"sign"} | ({rewards} & {"steps", "number"})
    drawn = json.dumps(state["scene"]).lower()
    assert "good" not in drawn
    assert "evil" not in drawn


def test_many_simulated_at_once(tmp_path):
    study, invited = study_in(tmp_path / "s", 8, order="balanced")
    told = []
    with server_process(study.path) as address:
        stages = simulate(study, address, invited, "learner", lambda *now: told.append(now))
    assert stages == ["thanks"] * 8
    assert told[-1] == (8, 8 * TOTAL)
    rows = list(interactions(study))
    assert len(rows) == 8 * TOTAL
    assert sorted({tuple(study.design.places(study.seed, each.number)) for each in invited}) == [
        (0, 1),
        (1, 0),
    ]
    assert {(row["exercise"], row["step"]) for row in rows} == {
        (n, s) for order in (LENGTHS, LENGTHS[::-1]) for n, length in enumerate(order, 1)
        for s in range(1, length + 1)
    }  # fmt: skip
    assert all(row["reaction_ms"] is not None and row["received"] > 0 for row in rows)


def read(socket):
    while True:
        socket.recv(timeout=10)


def test_pages_are_asked_for_no_faster_than_the_server_allows(tmp_path):
    study, (one, other) = study_in(tmp_path / "s", 2)
    with server_process(study.path) as address:
        start = f"ws{address.removeprefix('http')}/p/"
        with connect(f"{start}{other.token}/ws") as flood:
            for _ in range(400):
                flood.send('{"type":"alive"}')
            with pytest.raises(ConnectionClosed, match="4429"):
                read(flood)
        with connect(f"{start}{one.token}/ws") as large:
            large.send(json.dumps({"type": "answers", "answers": "x" * 600_000}))
            with pytest.raises(ConnectionClosed, match="1009"):
                read(large)
        client = SimulatedParticipant(
            address, one.token, RandomChooser(np.random.default_rng(0)), np.random.default_rng(0)
        )
        assert asyncio.run(client.play()) == "thanks"
