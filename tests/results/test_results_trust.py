"""Only what this evaluation wrote counts: signatures, disagreements, attempts and older formats."""

from __future__ import annotations

import json
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.contract import Ending, Fault, FaultKind, Outcome
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.spec import fingerprint
from omnimeter.results import Record, Writer, open_writer
from omnimeter.results.files import Layout, read_key
from results_samples import SPEC, exact_trace, make_outcome, make_trace

OLDER = Path(__file__).with_name("format1")
"""An evaluation that was written before there were keys: outcomes 1 to 3 with their traces."""


def append(writer: Writer, *outcomes: Outcome) -> None:
    traces = {each.exercise.key: make_trace(each.exercise.number) for each in outcomes}
    writer.append(outcomes, traces)


def lost(number: int, attempts: int = 1) -> Outcome:
    """An exercise that the infrastructure has failed in."""
    fault = Fault(FaultKind.INFRASTRUCTURE, "No space left on device.")
    return replace(make_outcome(number), payoff=None, fault=fault, attempts=attempts)


def better(outcome: Outcome) -> Outcome:
    return replace(outcome, payoff=0.91)


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    with open_writer(tmp_path / "own", SPEC) as writer:
        append(writer, make_outcome(1), make_outcome(2))
    return tmp_path / "own"


@pytest.fixture
def forged(tmp_path: Path) -> Path:
    """An evaluation of the same spec by another key, with better outcomes."""
    with open_writer(tmp_path / "forged", SPEC) as writer:
        append(writer, better(make_outcome(1)), better(make_outcome(2)))
    return tmp_path / "forged"


@pytest.mark.parametrize("kind", ["outcomes", "traces"])
def test_a_foreign_shard_is_an_error(evaluation: Path, forged: Path, kind: str) -> None:
    (shard,) = (evaluation / kind).iterdir()
    shutil.copy(forged / kind / shard.name, shard)
    record = Record(evaluation)
    with pytest.raises(StoreError) as caught:
        _ = record.outcomes() if kind == "outcomes" else list(record.traces())
    assert caught.value.message == (
        f"{shard} was not written by this evaluation: its signature does not fit the key of this "
        "evaluation."
    )
    assert "Remove that file" in caught.value.advice


@pytest.mark.parametrize("kind", ["outcomes", "traces"])
def test_a_shard_without_a_signature_is_an_error(evaluation: Path, kind: str) -> None:
    """Whoever has an old Omnimeter can write one, but needs no key for it."""
    for shard in (OLDER / kind).iterdir():
        shutil.copy(shard, evaluation / kind)
    record = Record(evaluation)
    with pytest.raises(StoreError, match="it is not signed with the key"):
        _ = record.outcomes() if kind == "outcomes" else list(record.traces())
    if kind == "outcomes":
        with pytest.raises(StoreError, match="not signed"), open_writer(evaluation, SPEC):
            pass


def test_the_key_is_private_and_comes_before_the_spec(tmp_path: Path) -> None:
    directory = tmp_path / "evaluation"
    with open_writer(directory, SPEC):
        mode = stat.S_IMODE((directory / "key.json").stat().st_mode)
        assert (mode, stat.S_IMODE(directory.stat().st_mode)) == (0o600, 0o700)
    first = read_key(Layout(directory))
    assert first is not None
    assert len(first.secret) == 32
    with open_writer(directory, SPEC):
        assert read_key(Layout(directory)) == first
    (directory / "spec.json").unlink()  # as if it had been killed between the two
    for name in ("provenance", "outcomes", "traces"):
        path = directory / name
        _ = shutil.rmtree(path) if path.is_dir() else path.unlink()
    with open_writer(directory, {**SPEC, "seed": 8}) as writer:
        append(writer, make_outcome(1))
    assert Record(directory).outcomes() == [make_outcome(1)]


def test_a_copy_has_the_key_and_a_lost_one_is_noticed(evaluation: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(evaluation, tmp_path / "copy")
    with open_writer(copy, SPEC) as writer:
        append(writer, make_outcome(3))
    assert Record(copy).outcomes() == [make_outcome(number) for number in (1, 2, 3)]
    (copy / "key.json").unlink()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"key\.json.* is missing.*Copy it"):
            Record(copy).outcomes()
        # As if it were an older one.
        spec = (copy / "spec.json").read_text().replace('"format": 2', '"format": 1')
        (copy / "spec.json").write_text(spec)
    for text in ("{", "[]", '{"key": "00", "spec": "", "unsigned": {}}'):
        (copy / "key.json").write_text(text)
        with pytest.raises(StoreError, match=r"key\.json is not as it was written"):
            Record(copy)


@pytest.mark.parametrize("field", ["key", "spec", "unsigned", "fingerprint"])
def test_a_key_with_a_flipped_digit_is_named_and_not_the_shards(
    evaluation: Path, field: str
) -> None:
    key = json.loads((evaluation / "key.json").read_text())
    flipped = (
        {"x": "y"} if field == "unsigned" else f"{int(key[field][0], 16) ^ 1:x}{key[field][1:]}"
    )
    (evaluation / "key.json").write_text(json.dumps({**key, field: flipped}))
    with pytest.raises(DamagedError, match=r"key\.json is not as it was written") as caught:
        Record(evaluation, damaged="skip")
    assert "Restore the file" in caught.value.advice


def test_a_key_without_a_digest_is_read_and_may_be_what_is_wrong(evaluation: Path) -> None:
    key = json.loads((evaluation / "key.json").read_text())
    del key["fingerprint"]  # as older versions wrote it
    (evaluation / "key.json").write_text(json.dumps(key))
    assert Record(evaluation).outcomes()
    key["key"] = "00" * 32
    (evaluation / "key.json").write_text(json.dumps(key))
    with pytest.raises(DamagedError, match="was not written by this evaluation") as caught:
        Record(evaluation).outcomes()
    assert "key.json has changed: restore it from a copy, and remove nothing" in caught.value.advice


def test_the_spec_is_the_one_that_the_key_belongs_to(evaluation: Path) -> None:
    other = {**SPEC, "protocol": {"id": "fixed-v1", "count": 2}}
    content = {"format": 2, "fingerprint": fingerprint(other), "spec": other}
    (evaluation / "spec.json").write_text(json.dumps(content))
    with pytest.raises(StoreError, match=r"spec\.json is not as it was written"):
        Record(evaluation)


def test_an_older_evaluation_is_read_and_goes_on(tmp_path: Path) -> None:
    directory = shutil.copytree(OLDER, tmp_path / "older")
    older = [make_outcome(number) for number in (1, 2, 3)]
    assert Record(directory).outcomes() == older
    assert not (directory / "key.json").exists()
    with open_writer(directory, SPEC) as writer:
        assert writer.outcomes() == older
        append(writer, make_outcome(4))
    record = Record(directory)
    assert record.outcomes() == [*older, make_outcome(4)]
    traces = dict(record.traces())
    expected = [exact_trace(make_trace(number)) for number in (1, 2, 3, 4)]
    given = [exact_trace(traces[make_outcome(number).exercise.key]) for number in (1, 2, 3, 4)]
    assert given == expected

    # From now on a shard without a signature is no older one any more.
    for shard in (OLDER / "outcomes").iterdir():
        shutil.copy(shard, directory / "outcomes")
    key = {**json.loads((directory / "key.json").read_text()), "unsigned": {}}
    del key["fingerprint"]
    (directory / "key.json").write_text(json.dumps(key))
    with pytest.raises(StoreError, match="not signed"):
        Record(directory).outcomes()


def merged(tmp_path: Path, *groups: list[Outcome]) -> Path:
    """A directory in which groups of outcomes were stored that do not know of each other."""
    target = tmp_path / "merged"
    with open_writer(target, SPEC):
        pass
    for number, outcomes in enumerate(groups):
        part = tmp_path / f"part{number}"
        shutil.copytree(target, part)
        for directory in ("outcomes", "traces"):
            for shard in (part / directory).iterdir():
                shard.unlink()
        with open_writer(part, SPEC) as writer:
            append(writer, *outcomes)
        for directory in ("outcomes", "traces"):
            for shard in (part / directory).iterdir():
                shutil.copy(shard, target / directory)
    return target


def test_the_same_content_twice_is_no_error(tmp_path: Path) -> None:
    odd = replace(make_outcome(1), payoff=nan)
    record = Record(merged(tmp_path, [odd, make_outcome(2)], [odd]))
    assert len(record.outcomes()) == len(list(record.traces())) == 2


def test_shards_that_disagree_are_an_error(tmp_path: Path) -> None:
    directory = merged(tmp_path, [make_outcome(1), make_outcome(2)], [better(make_outcome(1))])
    with pytest.raises(StoreError) as caught:
        Record(directory).outcomes()
    first, second = sorted((directory / "outcomes").iterdir())
    assert caught.value.message == (
        f"{first} and {second} disagree on exercise 1 of random-v1(rate=2)."
    )
    assert "Remove the one that is wrong" in caught.value.advice


def test_a_fault_of_the_infrastructure_gives_way_to_a_later_attempt(tmp_path: Path) -> None:
    done = replace(make_outcome(1), attempts=3)
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([lost(1), lost(2), make_outcome(3)])
        append(writer, lost(1, attempts=2), lost(2, attempts=2))
        append(writer, lost(1, attempts=2), better(replace(make_outcome(3), attempts=2)))
        assert writer.outcomes() == [lost(1, 2), lost(2, 2), make_outcome(3)]
        append(writer, done, lost(2, attempts=1))
        append(writer, better(replace(done, attempts=4)))
        assert writer.outcomes() == [done, lost(2, attempts=2), make_outcome(3)]
    record = Record(tmp_path)
    assert len(list((tmp_path / "outcomes").iterdir())) == 3
    assert record.outcomes() == [done, lost(2, attempts=2), make_outcome(3)]
    assert len(record.keys()) == 3
    again = Record(tmp_path)
    assert again.keys() == record.keys()
    assert sorted(key for key, _ in again.traces()) == sorted(
        one.exercise.key for one in (done, lost(2))
    )
    trace = again.trace(done.exercise.key)
    assert trace is not None
    assert exact_trace(trace) == exact_trace(make_trace(1))


def test_the_same_exercises_run_again_get_a_shard_of_their_own(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        for attempts in (1, 2, 3):
            append(writer, lost(1, attempts), lost(2, attempts))
    for kind in ("outcomes", "traces"):
        assert len(list((tmp_path / kind).iterdir())) == 3
    with open_writer(tmp_path, SPEC) as writer:
        assert writer.outcomes() == [lost(1, attempts=3), lost(2, attempts=3)]
        assert len(list(writer.traces())) == 2


@pytest.mark.parametrize(
    "pair",
    [
        (make_outcome(1), replace(make_outcome(1), total=0.75)),
        (lost(1, attempts=2), make_outcome(1), replace(make_outcome(1), ending=Ending.STOPPED)),
        (make_outcome(1), replace(make_outcome(1), attempts=2, interactions=1)),
    ],
)
def test_shards_that_say_different_things_of_an_exercise_are_an_error(
    tmp_path: Path, pair: tuple[Outcome, ...]
) -> None:
    others = [make_outcome(n) for n in range(2, 2 + len(pair))]
    directory = merged(tmp_path, *([each, other] for each, other in zip(pair, others, strict=True)))
    with pytest.raises(StoreError, match="disagree on exercise 1"):
        Record(directory).outcomes()
    with pytest.raises(StoreError, match="disagree on exercise 1"), open_writer(directory, SPEC):
        _ = Writer(directory).append([replace(make_outcome(1), attempts=9)])
    intact = Record(directory, damaged="skip")
    assert intact.outcomes() == others
    assert "disagree on exercise 1" in str(*intact.damaged.values())


@given(st.permutations(range(4)))
def test_an_exercise_that_was_done_several_times_counts_once(order: Sequence[int]) -> None:
    """As when a job of a cluster that seemed lost went on after all."""
    done = replace(make_outcome(1), remarks={"seconds": 0.5})
    several = [done, replace(done, remarks={"seconds": 0.25}), lost(1), lost(1, attempts=5)]
    with tempfile.TemporaryDirectory() as path:
        shards = ([several[place], make_outcome(2 + place)] for place in order)
        (outcome, *others) = Record(merged(Path(path), *shards)).outcomes()
    assert outcome == several[1]
    assert others == [make_outcome(n) for n in range(2, 6)]


@pytest.mark.parametrize("name", ["lock", "outcomes", "provenance", "key.json"])
def test_nothing_is_written_through_links(evaluation: Path, tmp_path: Path, name: str) -> None:
    (evaluation / name).rename(tmp_path / "elsewhere")
    (evaluation / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="is a symbolic link"), open_writer(evaluation, SPEC):
        pass


def test_a_link_under_the_name_of_an_unfinished_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    directory = tmp_path / "evaluation"
    directory.mkdir()
    (directory / "spec.json.writing").symlink_to(tmp_path / "mine")
    with open_writer(directory, SPEC):
        pass
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (directory / "spec.json").is_symlink()
