"""Sessions: a participant's test in a thread, interrupted anywhere, is the same test."""

from __future__ import annotations

import threading
import time
from math import inf

import pytest

from omnimeter.contract.errors import StoreError
from omnimeter.results import Record
from omnimeter.web.session import ParticipantDesk, Phase
from omnimeter.web.studies import Design, Study
from participants import (
    LENGTHS,
    TOTAL,
    Views,
    answer,
    is_same,
    scripted_traces,
    session_of,
    study_in,
    traces_of,
)

WAITING = (Phase.READY, Phase.ASKED, Phase.OVER, Phase.CLOSED)


def play(study, participant, interrupt_at=()):
    """Take the test with the actions 0, 1, 2 ...; the answers in which it is interrupted."""
    done, told = 0, []
    session, views = session_of(study, participant)
    session.start()
    while True:
        view = views.wait(*WAITING)
        if view.phase in (Phase.OVER, Phase.CLOSED):
            assert not view.trouble
            assert session.stop()
            return told + views.told
        if view.phase is Phase.ASKED:
            assert view.step == (done if done < LENGTHS[0] else done - LENGTHS[0])
            if done in interrupt_at:
                interrupt_at = tuple(each for each in interrupt_at if each != done)
                assert session.stop()
                told += views.told
                session, views = session_of(study, participant)
                session.start()
                continue
        assert answer(session.desk, view, done)
        done += view.phase is Phase.ASKED


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole")
    study, (participant,) = study_in(path / "s")
    play(study, participant)
    return study, participant, traces_of(study, participant)


def test_the_test_is_that_of_the_agent_with_the_same_actions(uninterrupted, tmp_path):
    study, participant, traces = uninterrupted
    assert [len(each) for each in traces] == list(LENGTHS)
    for number, trace in enumerate(traces):
        script = trace.actions.tolist()
        again = scripted_traces(study, participant, script, tmp_path / str(number))[number]
        assert is_same(trace, again)


@pytest.mark.parametrize("places", [*[(place,) for place in range(TOTAL)], tuple(range(TOTAL))])
def test_an_interruption_at_any_step_changes_nothing(uninterrupted, tmp_path, places):
    study, _, traces = uninterrupted
    other, (same,) = study_in(tmp_path / "s")
    other.seed = study.seed
    told = play(other, same, places)
    assert all(map(is_same, traces, traces_of(other, same)))
    steps = [(each["exercise"], each["step"]) for each in told]
    assert steps == [(n, s) for n, length in enumerate(LENGTHS, 1) for s in range(length)]


def test_the_number_of_what_is_asked_survives_an_interruption(tmp_path):
    study, (participant,) = study_in(tmp_path / "s")
    session, views = session_of(study, participant)
    session.start()
    for _ in range(LENGTHS[0] + 4):  # with two wishes to go on: two steps into the second exercise
        last = views.wait(*WAITING)
        answer(session.desk, last, 0)
    last = views.wait(*WAITING)
    assert session.stop()
    again, views = session_of(study, participant)
    again.start()
    view = views.wait(*WAITING)
    assert (view.seq, view.exercise, view.step) == (last.seq, 2, 2)
    assert not again.desk.answer(view.seq - 1, 0)
    assert again.stop()


def test_participants_of_two_studies_with_one_name_do_not_meet(tmp_path):
    (one, (first,)), (other, (second,)) = (study_in(tmp_path / name) for name in "ab")
    assert first.name == second.name
    waiting, views = session_of(one, first)
    waiting.start()
    answer(waiting.desk, views.wait(*WAITING), 0)
    view = views.wait(*WAITING)
    play(other, second)  # from its beginning to its end
    assert waiting.desk.view == view
    assert answer(waiting.desk, view, 0)
    assert views.wait(*WAITING).step == 1
    assert waiting.stop()
    assert [len(each) for each in traces_of(other, second)] == list(LENGTHS)


def test_a_log_that_cannot_be_written_is_an_interruption_and_no_fault(tmp_path):
    study, (participant,) = study_in(tmp_path / "s")
    session, views = session_of(study, participant)

    def fail(told):
        raise StoreError("The disk is full.")

    session.desk._record = fail
    session.start()
    for _ in range(2):
        answer(session.desk, views.wait(*WAITING), 0)
    assert views.wait(Phase.CLOSED).trouble == "The disk is full."
    assert session.stop()
    play(study, participant)
    assert [trace.fault for trace in traces_of(study, participant)] == [None, None]


def test_only_the_time_in_which_a_participant_is_asked_counts(tmp_path):
    study = Study.create(
        tmp_path / "s", Design("x", test={"class": "cups", "time": 1, "slot": 0.4})
    )
    (participant,) = study.invite()
    session, views = session_of(study, participant)
    session.start()
    exercises = study.evaluation(participant).make_protocol().expected()
    assert exercises == 2
    ready = views.wait(Phase.READY)
    for number in range(1, exercises + 1):
        assert ready.exercise == number
        time.sleep(1.1)  # longer than the whole test
        assert session.desk.answer(ready.seq, None)
        for step in range(number):
            view = views.wait(Phase.ASKED)
            assert (view.exercise, view.step) == (number, step)
            assert answer(session.desk, view, step)
        left = views.wait(Phase.ASKED)  # and no answer any more: time goes on without it
        ready = views.wait(Phase.READY, Phase.OVER)
        assert not session.desk.answer(left.seq, 0)
    assert ready.phase is Phase.OVER
    assert session.stop()
    done = Record(study.folder(participant) / "evaluation").outcomes()
    assert [each.exercise.budget.seconds for each in done] == [0.4, pytest.approx(0.6)]
    assert [len(trace) for trace in traces_of(study, participant)] == [1, 2]
    assert all(each.fault is None for each in done)


def test_time_goes_on_from_where_an_interruption_was(tmp_path):
    study = Study.create(tmp_path / "s", Design("x", test={"class": "cups", "time": 1, "slot": 1}))
    (participant,) = study.invite()
    session, views = session_of(study, participant)
    session.start()
    assert answer(session.desk, views.wait(Phase.READY), 0)
    view = views.wait(Phase.ASKED)
    time.sleep(0.6)
    assert answer(session.desk, view, 0)
    views.wait(Phase.ASKED)
    assert session.stop()
    time.sleep(0.6)  # in which the server is not there
    session, views = session_of(study, participant)
    begun = time.monotonic()
    session.start()
    assert views.wait(Phase.ASKED).step == 1
    views.wait(Phase.OVER)
    assert 0.2 < time.monotonic() - begun < 0.8
    assert session.stop()
    (trace,) = traces_of(study, participant)
    assert len(trace) == 1
    assert 0.6e9 <= trace.times[0] < 0.8e9


@pytest.fixture
def asked():
    """A desk at which an action is awaited in another thread, and what that thread got."""
    views, got = Views(), []
    desk = ParticipantDesk(changed=views.changed, record=views.record)

    def take():
        try:
            desk.begin(3)
            got.append(desk.ask({"kind": "x"}, 0.0, inf))
        except KeyboardInterrupt:
            got.append("interrupted")

    thread = threading.Thread(target=take)
    thread.start()
    ready = views.wait(Phase.READY)
    assert desk.answer(ready.seq, None)
    view = views.wait(Phase.ASKED)
    yield desk, view, thread, got, views
    desk.close()
    thread.join(10)
    assert not thread.is_alive()


def test_only_the_first_of_many_answers_counts(asked):
    desk, view, thread, got, views = asked
    counts = []
    barrier = threading.Barrier(8)

    def click(action):
        barrier.wait()
        counts.append(desk.answer(view.seq, action % 3, {"by": action}))

    clicks = [threading.Thread(target=click, args=(each,)) for each in range(8)]
    for each in clicks:
        each.start()
    for each in clicks:
        each.join()
    thread.join(10)
    assert sum(counts) == 1
    assert len(views.told) == 1
    assert got == [views.told[0]["by"] % 3]


def test_stale_answers_do_not_count(asked):
    desk, view, thread, got, _ = asked
    assert not desk.answer(view.seq - 1, 0)
    assert not desk.answer(view.seq + 1, 0)
    assert not desk.answer(view.seq, None)
    assert not got
    assert desk.answer(view.seq, 2)
    thread.join(10)
    assert got == [2]
    assert not desk.answer(view.seq, 1)


@pytest.mark.parametrize("action", [-1, 3, 2**31])
def test_there_is_no_such_action(asked, action):
    desk, view, *_ = asked
    with pytest.raises(ValueError, match="no action"):
        desk.answer(view.seq, action)
    assert desk.view.phase is Phase.ASKED


def test_closing_while_it_waits_interrupts(asked):
    desk, view, thread, got, _ = asked
    desk.close()
    thread.join(10)
    assert got == ["interrupted"]
    assert desk.view.phase is Phase.CLOSED
    assert not desk.answer(view.seq, 0)
