"""The journal of worlds: any moment is rebuilt, and nothing that is written gets lost."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from omnimeter.api import evaluate
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.environments.pworld import Event, Journal, PWorld, World, replay
from omnimeter.environments.pworld.elements import Walker, Weather

WRITER = """
import sys
from test_pworld_journal import advance, begun
from omnimeter.environments.pworld import Journal

journal = Journal(sys.argv[1], batch=64)
world, source = begun(journal)
for turn in range(int(sys.argv[2])):
    advance(world, source)
    print(journal.committed, world.turn, flush=True)
journal.close()
"""


THIEF = """
import os
from pathlib import Path
from omnimeter import Agent


class Thief(Agent):
    def __init__(self, folder: str) -> None:
        self.place = Path(folder) / "world.db"

    def begin(self, briefing, rng):
        self.rng, self.turn = rng, 0

    def act(self, reward, observation):
        self.turn += 1
        wanted = self.place.parent / "steal"
        if self.turn == 400 and wanted.exists() and self.place.exists():
            wanted.unlink()
            self.place.rename(self.place.parent / "away.db")
        return int(self.rng.integers(6))
"""


def begun(journal: Journal | None) -> tuple[World, np.random.Generator]:
    """A world in which much happens."""
    source = np.random.default_rng(5)
    columns = {"ground-1": (True,), "ground-2": ("a", "b"), **Walker.columns}
    codes = source.integers(2, size=(25, 3)).astype(np.int32) * [1, 2, 0]
    world = World(5, columns, codes)
    if journal is not None:
        journal.begin(world, "a world")
    world.add_element("weather", Weather(0.2), source)
    for number in range(3):
        world.add_element(f"walker-{number}", Walker(), source)
    return world, source


def advance(world: World, source: np.random.Generator, turns: int = 1) -> None:
    for _ in range(turns):
        world.advance()
        world.act(source)


def written(path: Path, turns: int) -> list[Event]:
    """The events of a world that was not disturbed."""
    journal = Journal(path)
    advance(*begun(journal), turns)
    journal.commit()
    return list(journal.events())


def test_any_moment_is_rebuilt(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "world.db", batch=50)
    world, source = begun(journal)
    codes, positions = [world.codes.copy()], [dict(world.positions)]
    for _ in range(30):
        advance(world, source)
        codes.append(world.codes.copy())
        positions.append(dict(world.positions))
    journal.commit()
    overlay = journal.overlay()
    assert overlay.duration == 31
    assert dict(overlay.columns) == {name: list(each) for name, each in world.columns.items()}
    for turn in range(31):
        assert (overlay.at(turn + 1) == codes[turn]).all()
    middle = journal.overlay(until=12)
    assert middle.duration == 13
    assert (middle.at(13) == codes[12]).all()
    moments = list(replay(tmp_path / "world.db"))
    assert [each.turn for each in moments] == list(range(31))
    for turn, moment in enumerate(moments):
        assert (moment.codes == codes[turn]).all()
        shown = {
            name: 5 * cell["row"] + cell["column"]
            for cell in moment.scene["cells"]
            for name in cell["elements"]
        }
        assert shown == positions[turn]
    assert moments[-1].scene == world.scene()


def test_the_environment_writes_all_that_happens_and_behaves_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "world.db")
    percepts = []
    for journal in (path, None):
        world = PWorld("gather", volatility=0.1, elements=["walker"], journal=journal)
        instance = world.draw(np.random.default_rng(0))
        environment = world.build(instance)
        actions = np.random.default_rng(1).integers(5, size=40).tolist()
        seen = [environment.start(np.random.default_rng(2))]
        seen += [environment.step(action) for action in actions]
        percepts.append([(each.reward, np.atleast_1d(each.observation).tolist()) for each in seen])
    assert percepts[0] == percepts[1]
    last = environment.world  # type: ignore[attr-defined]
    events = list(Journal(path).events())
    assert [each.code for each in events if each.kind == "act"] == actions
    assert (Journal(path).overlay().at(41) == last.codes).all()


def test_a_run_that_is_repeated_is_written_once_and_another_course_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "world.db"
    first = written(path, 20)
    assert written(path, 20) == first
    assert written(path, 30)[: len(first)] == first
    journal = Journal(path, batch=32)
    assert len(journal.runs()) == 1
    world, source = begun(journal)
    advance(world, source, 10)
    world.add_proposition(0, "ground-2", "a")
    world.add_proposition(0, "ground-2", "b")
    advance(world, source, 10)
    journal.commit()
    assert [name for _, name, _ in journal.runs()] == ["a world", "a world"]
    assert list(journal.events(1))[: len(first)] == first
    other = list(journal.events(2))
    assert (other == first[: len(other)]) is False
    assert (journal.overlay(run=2).at(21) == world.codes).all()
    assert len(written(path, 30)) == journal.runs()[1][2]  # events() shows the last run
    assert len(journal.runs()) == 2


def test_killing_the_writer_loses_nothing_that_was_written(tmp_path: Path) -> None:
    expected = written(tmp_path / "undisturbed.db", 60)
    path = tmp_path / "world.db"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]
    code = f"import sys; sys.path += {paths}\n{WRITER}"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), "100000"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            committed, turn = map(int, line.split())
            if turn >= 40:
                process.send_signal(signal.SIGKILL)
                break
        process.wait()
    assert process.returncode == -signal.SIGKILL
    assert committed > 0
    kept = list(Journal(path).events())
    assert len(kept) >= committed
    shorter = min(len(kept), len(expected))
    assert kept[:shorter] == expected[:shorter]
    journal = Journal(path)
    advance(*begun(journal), 60)
    journal.commit()
    assert len(journal.runs()) == 1
    assert list(journal.events(until=60)) == expected


@pytest.mark.parametrize("trouble", ["vanished", "locked", "replaced"])
def test_a_database_that_fails_stops_the_run_and_is_resumed(tmp_path: Path, trouble: str) -> None:
    expected = written(tmp_path / "undisturbed.db", 40)
    path, away = tmp_path / "world.db", tmp_path / "away.db"
    journal = Journal(path, batch=100, timeout=0.05)
    world, source = begun(journal)
    while not journal.committed:
        advance(world, source)
    if trouble == "locked":
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
    else:
        path.rename(away)
    if trouble == "replaced":
        written(path, 3)
    with pytest.raises(StoreError, match=rf"{journal.committed} events of this run are in it") as e:
        advance(world, source, 100)
    assert "goes on after its last event" in e.value.advice
    assert ("locked" if trouble == "locked" else "vanished") in e.value.message
    with pytest.raises(StoreError):
        journal.commit()
    if trouble == "locked":
        lock.close()
    else:
        path.unlink(missing_ok=True)
        away.rename(path)
    journal.commit()  # what waited in memory
    stored = list(journal.events())
    assert len(stored) == journal.committed > 100
    assert stored == (expected + stored[len(expected) :])[: len(stored)]
    journal = Journal(path)
    advance(*begun(journal), 40)
    journal.commit()
    assert list(journal.events(until=40)) == expected


def test_a_database_that_vanishes_before_the_first_commit_is_not_made_anew(tmp_path: Path) -> None:
    path, away = tmp_path / "world.db", tmp_path / "away.db"
    expected = written(path, 20)
    journal = Journal(path)
    advance(*begun(journal), 20)  # which is the same run
    path.rename(away)
    for problem in ("vanished", "no such file"):
        with pytest.raises(StoreError, match=problem):
            journal.commit()
    assert not path.exists()
    away.rename(path)
    journal.commit()
    assert list(journal.events()) == expected
    assert len(journal.runs()) == 1


def test_it_is_seen_in_the_next_turn_that_a_database_vanished(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "world.db")
    world, source = begun(journal)
    advance(world, source, 2)
    assert not journal.committed
    (tmp_path / "world.db").unlink()
    with pytest.raises(StoreError, match="vanished"):
        advance(world, source)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_evaluation_stops_when_the_database_vanishes_and_goes_on_when_it_is_back(
    tmp_path: Path, workers: int
) -> None:
    path, away = tmp_path / "world.db", tmp_path / "away.db"
    (tmp_path / "thief.py").write_text(THIEF)
    world = Spec("pworld-v1", {"volatility": 0.1, "variability": 4.0, "journal": str(path)})
    thief = Spec(f"{tmp_path / 'thief.py'}:Thief", {"folder": str(tmp_path)})
    again = partial(
        evaluate, thief, world, exercises=6, interactions=800, out=tmp_path / "out",
        isolation="none", workers=workers,
    )  # fmt: skip
    (tmp_path / "steal").touch()
    with pytest.raises(StoreError, match=r"vanished|no such file"):
        again()
    assert not path.exists()
    kept = {run: list(Journal(away).events(run)) for run, *_ in Journal(away).runs()}
    away.rename(path)
    (outcomes,) = again().outcomes.values()
    assert [each.fault for each in outcomes] == [None] * 6
    journal = Journal(path)
    assert len(journal.runs()) == 6
    for run, events in kept.items():
        assert list(journal.events(run))[: len(events)] == events
    keys = {each.exercise.instance.key for each in outcomes}
    assert {name.split("-")[0] for _, name, _ in journal.runs()} == keys


def test_journals_that_cannot_be_used_are_explained(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="unable to open"):
        begun(Journal(tmp_path / "no" / "world.db"))
    (tmp_path / "text.db").write_text("This is not a database, but it is long enough for one.")
    with pytest.raises(StoreError, match="not a database"):
        Journal(tmp_path / "text.db").runs()
    begun(Journal(tmp_path / "short.db"))
    with pytest.raises(StoreError, match=r"has no run 7.*Runs in it: 1"):
        Journal(tmp_path / "short.db").overlay(run=7)
    with pytest.raises(InvalidInputError, match="batch is 0"):
        Journal(tmp_path / "world.db", batch=0)


def test_reading_makes_no_database(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    readers: list[Callable[[], object]] = [
        Journal(path).overlay,
        Journal(path).runs,
        lambda: list(replay(path)),
    ]
    for read in readers:
        with pytest.raises(StoreError, match="no such file"):
            read()
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match=r"no such table.*the journal of a run"):
        Journal(path).runs()
    assert path.stat().st_size == 0


@pytest.mark.parametrize(
    "url", ["postgresql://me:secret@host/db", "mysql://me@host/d?password=secret"]
)
def test_a_password_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidInputError, match="PGPASSFILE") as error:
        PWorld(journal=url)
    assert "secret" not in str(error.value)
    assert PWorld(journal=url.replace(":secret", "").split("?")[0])


def test_other_databases_are_named_by_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path / 'world.db'}"
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "sqlalchemy", None)
        with pytest.raises(InvalidInputError, match=r"omnimeter\[database\]"):
            Journal(url).runs()
    journal = Journal(url, batch=40)
    world, source = begun(journal)
    advance(world, source, 20)
    journal.close()
    assert list(journal.events()) == written(tmp_path / "own.db", 20)
    again = Journal(url)
    advance(*begun(again), 20)
    again.commit()
    assert len(again.runs()) == 1
