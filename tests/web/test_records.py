"""What is known of participants while their tests go on."""

from __future__ import annotations

import pytest

from omnimeter.contract.errors import StoreError
from omnimeter.web.records import answers, attended, happened, interactions
from omnimeter.web.session import Phase
from participants import LENGTHS, answer, session_of, study_in, traces_of
from played import a_study
from played import answer as answer_questions


def test_tests_under_way_are_in_the_table(tmp_path):
    study, (one,) = study_in(tmp_path / "s")
    session, views = session_of(study, one)
    session.start()
    for number in range(LENGTHS[0] + 2 + 3):
        view = views.wait(Phase.READY, Phase.ASKED)
        answer(session.desk, view, number)
    views.wait(Phase.ASKED)
    early = list(interactions(study))
    assert [(row["exercise"], row["step"]) for row in early] == [
        *((1, step) for step in range(1, LENGTHS[0] + 1)),
        *((2, step) for step in range(1, 4)),
    ]
    assert {row["exercise"]: row["environment_class"] for row in early} == {
        1: "lambda-v1(cells=3)",
        2: "cups-v1",
    }
    assert session.stop()

    session, views = session_of(study, one)
    session.start()
    while (view := views.wait(Phase.ASKED, Phase.OVER)).phase is not Phase.OVER:
        answer(session.desk, view, 0)
    session.stop()
    late = list(interactions(study))
    assert [row["action"] for row in late[: len(early)]] == [row["action"] for row in early]
    known = [
        (row, again) for row, again in zip(early, late, strict=False) if row["reward"] is not None
    ]
    assert len(known) == len(early) - 2
    assert all(row["reward"] == again["reward"] for row, again in known)
    brought = [float(reward) for trace in traces_of(study, one) for reward in trace.rewards]
    assert [row["reward"] for row in late] == brought


def test_how_far_participants_are(tmp_path):
    study, (one, other) = study_in(tmp_path / "s", 2)
    told = [
        {"kind": "joined"},
        {"kind": "instructed"},
        *({"kind": "act", "exercise": 1, "step": step} for step in range(6)),
        {"kind": "act", "exercise": 2, "step": 0},
        {"kind": "left"},
        {"kind": "resumed", "away": 3.0},
    ]
    with study.open_events(one) as log:
        for second, event in enumerate(told):
            log.add({**event, "time": float(second)})
    now = attended(study, one)
    assert (now.stage, now.exercises, now.interruptions) == ("test", 1, 1)
    assert (now.exercise, now.step) == (2, 1)
    assert now.seen == len(told) - 1
    never = attended(study, other)
    assert (never.stage, never.exercises, never.seen) == ("invited", 0, None)


def test_damaged_logs_are_left_out_of_tables_and_named(tmp_path):
    study, invited = a_study(tmp_path / "s", 2)
    for each in invited:
        answer_questions(study, each, strategy="all")
    (study.folder(invited[1]) / "events.log").write_text("garbage\n")
    for table in (interactions, happened, answers):
        damaged = {}
        assert {row["participant"] for row in table(study, damaged)} == {"p0001"}
        assert list(damaged) == [study.folder(invited[1])]
        with pytest.raises(StoreError, match=r"events\.log"):
            list(table(study))
