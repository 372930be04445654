"""Studies: their designs, their invitations, and what is stored of them."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.contract import InvalidInputError, OmnimeterError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.web import studies
from omnimeter.web.studies import Design, Question, Study, latin_row, read_design, studies_in
from participants import BATTERY, design, study_in


@given(st.integers(1, 12))
def test_orders_are_balanced_latin_squares(count):
    rows = [latin_row(count, number) for number in range(count * (1 + count % 2))]
    assert all(sorted(row) == list(range(count)) for row in rows)
    for column in zip(*rows, strict=True):
        assert {column.count(each) for each in range(count)} == {len(rows) // count}
    follows = [pair for row in rows for pair in pairwise(row)]
    pairs = [(one, other) for one in range(count) for other in range(count) if one != other]
    assert len({follows.count(pair) for pair in pairs}) <= 1


@given(st.integers(0, 2**40), st.integers(0, 10**6))
def test_a_random_order_is_of_all_exercises_and_repeatable(seed, number):
    shuffled = design(order="random")
    assert sorted(shuffled.places(seed, number)) == [0, 1]
    assert shuffled.places(seed, number) == shuffled.places(seed, number)


@pytest.mark.parametrize("order", ["fixed", "random", "balanced"])
def test_the_same_environments_are_the_same_in_every_order(order):
    study = design(order=order, environments="same")
    kinds = set()
    for number in range(6):
        evaluation = study.evaluation(Spec("random-v1"), 5, number)
        proposed = evaluation.make_protocol().propose(evaluation.agents[0], [])
        places = study.places(5, number)
        drawn = {place: each.instance for place, each in zip(places, proposed, strict=True)}
        kinds.add(tuple(str(drawn[place]) for place in sorted(drawn)))
    assert len(kinds) == 1


def test_the_order_is_that_of_the_evaluation():
    study = design(order="balanced")
    orders = set()
    for number in range(2):
        evaluation = study.evaluation(Spec("random-v1"), 3, number)
        exercises = evaluation.protocol.parameters["battery"]["exercises"]
        lengths = [each["interactions"] for each in exercises]
        assert lengths == [(6, 5)[place] for place in study.places(3, number)]
        orders.add(tuple(lengths))
    assert len(orders) == 2


def test_participants_get_environments_of_their_own_or_the_same():
    seeds = {
        which: {
            design(environments=which).evaluation(Spec("random-v1"), 3, number).protocol.key
            for number in range(4)
        }
        for which in ("own", "same")
    }
    assert {which: len(each) for which, each in seeds.items()} == {"own": 4, "same": 1}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"title": "x"}, "either a battery or a test"),
        ({"title": "x", "battery": BATTERY, "test": {"class": "lambda"}}, "either a battery"),
        ({"title": "x", "test": {"class": "lambda"}, "order": "random"}, "order has no effect"),
        ({"title": "x", "battery": BATTERY, "questionnaire": (Question("a", "?"),) * 2}, "same"),
    ],
)
def test_designs_that_contradict_themselves_are_refused(given, told):
    with pytest.raises(InvalidInputError, match=told):
        Design(**given)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title = ", "is not TOML"),
        ('title = "x"\nbattery = "thesis-table-6-2"', "thesis-table-6-1"),
        ('title = "x"\nbattery = "thesis-table-6-1"\nrewards = "stars"', "rewards"),
        ('title = "x"\nbattery = "thesis-table-6-1"\ncolor = true', "color"),
        ('title = "x"\n[test]\nclass = "lambda"\ntimes = 3', "test"),
    ],
)
def test_mistakes_in_a_file_are_told(tmp_path, text, told):
    file = tmp_path / "study.toml"
    file.write_text(text)
    with pytest.raises(OmnimeterError) as caught:
        read_design(file)
    assert told in str(caught.value)


def test_an_anytime_test_begins_with_ten_seconds():
    parameters = Design(title="x", test={"class": "automata", "time": 300}).evaluation(
        Spec("random-v1"), 0, 0
    )
    assert parameters.protocol.parameters["slot"] == 10.0


answers = (
    st.none() | st.integers(-3, 15) | st.text(max_size=5) | st.lists(st.integers(), max_size=2)
)


@given(st.sampled_from(["scale", "choice", "text"]), answers, st.booleans())
def test_an_answer_is_kept_as_it_is_or_refused(kind, given_answer, required):
    question = Question("q", "?", kind, ("a", "b"), 5, required)
    try:
        kept = question.check(given_answer)
    except ValueError:
        return
    assert kept == (None if given_answer == "" else given_answer)
    assert kept is not None or not required


def test_answers_that_are_no_text_are_refused():
    question = Question("strategy", "", "text")
    assert question.check("ñ 漢 🙂") == "ñ 漢 🙂"
    for wrong in ("\ud800", "x" * 4_001):
        with pytest.raises(ValueError, match=r"surrogates|no such answer"):
            question.check(wrong)


def test_in_a_test_with_time_no_exercise_is_restarted():
    timed = {"class": "cups", "time": 60}
    with pytest.raises(InvalidInputError, match="ends without its participant"):
        design(battery=None, test=timed, after_interruption="restart")
    design(battery=None, test=timed, after_interruption="block")


def test_links_are_unguessable_and_lead_to_their_participant(tmp_path):
    study, invited = study_in(tmp_path / "s", 20)
    assert len({each.token for each in invited}) == 20
    assert all(len(each.token) >= 22 for each in invited)
    assert [study.find(each.token) for each in invited] == invited
    assert study.find("") is None
    assert study.find(invited[0].token[:-1]) is None
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0


def test_invitations_of_another_process_are_seen(tmp_path):
    study, _ = study_in(tmp_path / "s")
    (new,) = Study(tmp_path / "s").invite()
    assert study.find(new.token) == new
    assert [each.number for each in study.invite(2)] == [2, 3]


def test_links_expire(tmp_path):
    study, (forever,) = study_in(tmp_path / "s")
    (short,) = study.invite(days=0.5)
    assert forever.expires == 0
    assert short.expires == pytest.approx(time.time() + 43_200, abs=5)


def _invite(path, barrier, times):
    study = Study(path)
    barrier.wait()
    for _ in range(times):
        study.invite(2)


def test_two_processes_invite_at_once(tmp_path):
    study, _ = study_in(tmp_path / "s")
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    both = [context.Process(target=_invite, args=(study.path, barrier, 20)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [each.exitcode for each in both] == [0, 0]
    assert [each.number for each in study.participants] == list(range(81))
    assert not list((study.path / "participants").glob(".p*"))


@pytest.mark.parametrize("damage", [b'{"name": "p00', b"\xff\xfe"])
def test_one_damaged_participant_stops_no_other(tmp_path, damage):
    study, (first, bad, last) = study_in(tmp_path / "s", 3)
    (study.folder(bad) / "participant.json").write_bytes(damage)
    again = Study(study.path)
    assert again.participants == [first, last]
    assert again.find(last.token) == last
    assert list(again.damaged) == [study.folder(bad)]
    assert again.invite()[0].number == 3


@pytest.mark.parametrize("count", [0, -1, 100_001])
def test_numbers_of_invitations_are_bounded(tmp_path, count):
    study, _ = study_in(tmp_path / "s")
    with pytest.raises(InvalidInputError, match="cannot be invited"):
        study.invite(count)


def test_a_link_is_revoked_and_what_was_done_is_kept(tmp_path):
    study, (one, other) = study_in(tmp_path / "s", 2)
    elsewhere = Study(study.path)  # of a server, which has read the participants before
    assert elsewhere.find(one.token) == one
    revoked = study.revoke(one)
    assert revoked.is_revoked
    assert revoked.is_expired
    assert not other.is_expired
    assert (revoked.name, revoked.token, revoked.number) == (one.name, one.token, one.number)
    for each in (study, elsewhere, Study(study.path)):
        assert each.find(one.token) == revoked
        assert each.participants == [revoked, other]


def test_withdrawal_deletes_everything_and_the_number_is_not_given_again(tmp_path):
    study, (first, last) = study_in(tmp_path / "s", 2)
    with study.open_events(last) as log:
        log.add({"kind": "joined", "time": 1.0})
    (other,) = study.invite()
    study.withdraw(other)
    study.withdraw(last)
    assert study.find(last.token) is None
    left = "".join(str(each) for each in (tmp_path / "s").rglob("*"))
    assert last.name not in left
    content = b"".join(
        each.read_bytes() for each in (tmp_path / "s").rglob("*.*") if each.is_file()
    )
    assert last.token.encode() not in content
    assert [each.number for each in study.invite()] == [3]
    assert study.participants[0] == first


@pytest.mark.parametrize("stopped_at", ["before", "renamed", "half"])
def test_a_withdrawal_that_was_interrupted_is_finished(tmp_path, monkeypatch, stopped_at):
    study, (gone, stays) = study_in(tmp_path / "s", 2)
    folder = study.folder(gone)
    (folder / "evaluation").mkdir()

    def stop(*_):
        raise KeyboardInterrupt

    if stopped_at == "before":
        monkeypatch.setattr(Study, "_delete", stop)
    else:
        monkeypatch.setattr(studies, "rmtree", stop)
    with pytest.raises(KeyboardInterrupt):
        study.withdraw(gone)
    monkeypatch.undo()
    if stopped_at == "half":
        (folder.with_name(f".{folder.name}-withdrawn") / "participant.json").unlink()
    again = Study(study.path)
    again.finish_withdrawals()
    assert [each.name for each in folder.parent.iterdir()] == [stays.name]
    assert again.participants == [stays]
    assert again.has_withdrawn(gone.token)
    assert not again.has_withdrawn(stays.token)


def test_who_is_there_is_not_deleted_by_another_process(tmp_path):
    study, (one,) = study_in(tmp_path / "s")
    with study.open_events(one), pytest.raises(StoreError, match="written by another process"):
        Study(study.path).withdraw(one)
    assert study.participants == [one]
    (study.folder(one) / "events.log").write_bytes(b"damaged\n")
    study.withdraw(one)
    assert study.participants == []


def test_a_study_is_made_once(tmp_path):
    study, _ = study_in(tmp_path / "s")
    assert Study.create(tmp_path / "s", study.design).seed == study.seed
    with pytest.raises(StoreError, match="another design"):
        Study.create(tmp_path / "s", design(title="Other"))
    with pytest.raises(StoreError, match="holds no study"):
        Study.create(tmp_path, study.design)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[1]",
        lambda text: text.replace('"Test"', '"Other"'),
        lambda text: json.dumps({**json.loads(text), "format": 99}),
    ],
)
def test_a_damaged_study_is_noticed(tmp_path, damage):
    study, _ = study_in(tmp_path / "s")
    file = study.path / "study.json"
    text = file.read_text()
    assert damage(text) != text
    file.write_text(damage(text))
    with pytest.raises(StoreError):
        Study(study.path)


def test_a_folder_of_studies_and_that_of_one(tmp_path):
    study_in(tmp_path / "a")
    study_in(tmp_path / "b")
    assert sorted(studies_in(tmp_path)[0]) == ["a", "b"]
    assert list(studies_in(tmp_path / "b")[0]) == ["b"]
    shutil.copytree(tmp_path / "a", tmp_path / "a-backup")
    (tmp_path / "b" / "study.json").write_text("{")
    known, damaged = studies_in(tmp_path)
    assert list(known) == ["a"]
    assert "is a copy of a" in damaged["a-backup"]
    assert "study.json" in damaged["b"]
    with pytest.raises(StoreError, match=r"study\.json"):
        studies_in(tmp_path / "b")
    with pytest.raises(StoreError, match=r"no file study\.json"):
        Study(tmp_path)
