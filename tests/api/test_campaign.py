"""Campaigns: made, carried out, interrupted, gone on with, read and exported."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

import omnimeter as om
from omnimeter import results
from omnimeter.api.campaign import Campaign
from omnimeter.api.campaign_status import Progress, TimeLeft
from omnimeter.api.workload import workload
from omnimeter.catalogue import files_in
from omnimeter.contract import InvalidInputError
from omnimeter.contract.errors import StoreError
from omnimeter.execution.units import Receipt, Unit, carry_out, this_process
from omnimeter.results import Record
from omnimeter.results.files import Layout, is_locked, locked

TEXT = """
title = "Small"
seeds = [0, 1]
[[agents]]
agent = "random"
[[agents]]
agent = "q-learning(alpha=0.1|0.3)"
[[tests]]
class = "cups"
exercises = 5
interactions = 20
traces = true
[[tests]]
name = "other"
class = "buttons"
exercises = 3
interactions = 10
[run]
executor = "this-process"
"""

Tell = Callable[[Receipt], None]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(TEXT)
    return file


def contents(directory: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def scores(campaign: Campaign) -> list[tuple[object, ...]]:
    return [(r.test, r.agent, r.value, r.low, r.high, r.exercises) for r in campaign.results()]


def test_a_campaign_is_many_ordinary_evaluations(study: Path) -> None:
    campaign = om.campaign(study)
    told: list[Progress] = []
    status = campaign.run(told.append)
    assert status.complete
    assert status.sentence == "complete"
    assert not status.running
    assert campaign.path == study.with_suffix("")
    assert (campaign.path / "campaign.toml").read_text() == TEXT
    assert {each.done for each in told} == set(range(told[0].units + 1))
    names = [entry.name for entry in campaign.entries]
    assert names == ["cups-seed-0", "cups-seed-1", "other-seed-0", "other-seed-1"]
    by_hand = om.evaluate(
        ["random", "q-learning(alpha=0.1|0.3)"],
        "cups", exercises=5, interactions=20, seed=1, traces=True,
    )  # fmt: skip
    one = om.load(campaign.directory(campaign.entries[1]))
    assert one.scores == by_hand.scores
    assert one.evaluation == by_hand.evaluation
    assert len(list(Record(campaign.directory(campaign.entries[1])).traces())) == 15
    assert {each.finished for each in status.agents if "cups" in each.evaluation} == {5}
    assert all(each.finished == each.expected for each in status.agents)


def test_a_universal_test_is_the_same_as_alone(study: Path) -> None:
    text = 'definition = 19\nclass = "automata"\ninteractions = 300\n'
    study.write_text(f'seeds = [4]\n[[agents]]\nagent = "random"\n[[tests]]\n{text}')
    campaign = om.campaign(study).with_running(executor="this-process")
    status = campaign.run()
    (entry,) = campaign.entries
    alone = om.test("random", "automata", interactions=300, definition=19, seed=4).run()
    assert om.load(campaign.directory(entry)).scores == alone.scores
    (agent,) = status.agents
    assert agent.finished == agent.expected == len(alone.outcomes[entry.evaluation.agents[0]])


def test_results_are_over_all_seeds(study: Path) -> None:
    campaign = om.campaign(study)
    campaign.run()
    rows = campaign.results()
    assert [(row.test, row.evaluations, row.expected) for row in rows] == [
        *[("cups", 2, 2)] * 3, *[("other", 2, 2)] * 3,
    ]  # fmt: skip
    singles = [om.load(campaign.directory(entry)).scores for entry in campaign.entries[:2]]
    values = [each["random-v1"] for each in singles]
    assert rows[0].value == pytest.approx((values[0].value + values[1].value) / 2)
    assert rows[0].exercises == 10
    assert rows[0].low < rows[0].value < rows[0].high
    length = max(each.interval.high - each.interval.low for each in values)
    assert rows[0].high - rows[0].low < length


def test_nothing_is_done_again(study: Path) -> None:
    campaign = om.campaign(study)
    campaign.run()
    before = scores(campaign)

    def never(units: Sequence[Unit], tell: Tell) -> None:
        raise AssertionError("nothing is left")

    again = om.campaign(study)
    assert again.run(executor=never).complete
    assert scores(again) == before
    assert scores(om.campaign(campaign.path)) == before


@pytest.mark.parametrize("survivors", [0, 1, 4])
def test_an_interrupted_campaign_goes_on(study: Path, survivors: int, tmp_path: Path) -> None:
    def interrupted(units: Sequence[Unit], tell: Tell) -> None:
        this_process(units[:survivors], tell)
        raise KeyboardInterrupt

    campaign = om.campaign(study)
    status = campaign.run(executor=interrupted)
    assert status.interrupted
    assert not status.complete
    assert status.sentence == ("not complete" if survivors else "not begun")
    done = [each.agent for each in status.agents if each.finished]
    assert len(done) == survivors
    begun: list[int] = []

    def counted(units: Sequence[Unit], tell: Tell) -> None:
        begun.append(len(units))
        this_process(units, tell)

    again = Campaign.open(campaign.path)
    assert again.run(executor=counted).complete
    assert begun == [12 - survivors]
    whole = om.campaign(study, out=tmp_path / "whole")
    whole.run()
    assert scores(again) == scores(whole)


def test_secret_seeds_are_kept(study: Path) -> None:
    study.write_text(TEXT.replace("seeds = [0, 1]", "repetitions = 2"))
    campaign = om.campaign(study)

    def interrupted(units: Sequence[Unit], tell: Tell) -> None:
        this_process(units[:1], tell)
        raise KeyboardInterrupt

    campaign.run(executor=interrupted)
    directories = [campaign.directory(entry) for entry in campaign.entries]
    seeds = [Record(directory).seed for directory in directories]
    assert len(set(seeds)) == 4
    assert str(seeds[0]) not in (campaign.path / "campaign.json").read_text()
    om.campaign(study).run()
    assert [Record(directory).seed for directory in directories] == seeds
    result = om.load(directories[0])
    numbers = {agent: [o.exercise.seed for o in each] for agent, each in result.outcomes.items()}
    assert {seed for each in numbers.values() for seed in each} == {seeds[0]}


def test_another_plan_that_was_faster_stays_as_it_is(study: Path) -> None:
    slower = om.campaign(study)
    other = study.with_name("other.toml")
    other.write_text(TEXT.replace("exercises = 5", "exercises = 6"))
    om.campaign(other, out=slower.path).run()
    before = contents(slower.path)
    with pytest.raises(StoreError, match="belongs to another plan"):
        slower.run()
    del before[str(slower.path / "lock")]
    assert before.items() <= contents(slower.path).items()


def test_what_was_removed_is_not_complete(study: Path) -> None:
    campaign = om.campaign(study)
    assert campaign.run().complete
    for shard in campaign.directory(campaign.entries[0]).glob("outcomes/*"):
        shard.unlink()
    status = Campaign.open(campaign.path).status()
    assert not status.complete
    assert status.sentence == "not complete"
    assert campaign.run().complete
    assert campaign.status().complete


def test_a_unit_is_quarantined_with_its_reason(study: Path) -> None:
    victims: list[Unit] = []

    def dying(units: Sequence[Unit], tell: Tell) -> None:
        victims.append(units[0])
        tell(Receipt(units[0].key, 0, 0.1, "quarantined", reason="The worker was killed.\nKilled"))
        this_process(units[1:], tell)

    campaign = om.campaign(study)
    status = campaign.run(executor=dying)
    assert status.complete
    assert status.sentence == "complete with 1 quarantined"
    (given_up,) = status.quarantined
    assert given_up.evaluation == "cups-seed-0"
    assert given_up.agents == (victims[0].agents[0].label,)
    assert json.loads(Path(given_up.file).read_text())["reason"].endswith("Killed")
    assert Campaign.open(campaign.path).status().sentence == "complete with 1 quarantined"
    rows = campaign.results()
    assert [row.complete for row in rows] == [False, False, False, True, True, True]
    assert om.campaign(study).run(executor=this_process).quarantined == status.quarantined
    Path(given_up.file).unlink()  # it is tried again
    assert om.campaign(study).status().sentence == "not complete"
    assert om.campaign(study).run().sentence == "complete"


def test_two_runs_on_one_campaign_are_refused(study: Path) -> None:
    campaign = om.campaign(study)
    refused: list[str] = []

    def meanwhile(units: Sequence[Unit], tell: Tell) -> None:
        assert Campaign.open(campaign.path).status().running
        with pytest.raises(StoreError) as caught:
            om.campaign(study).run()
        refused.append(str(caught.value))
        this_process(units, tell)

    assert campaign.run(executor=meanwhile).complete
    assert f"is being written by another process (pid {os.getpid()})" in refused[0]


def test_looking_at_the_lock_does_not_hold_it(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert not is_locked(layout)
    with locked(layout):
        assert is_locked(layout)
        assert layout.lock.read_text() == str(os.getpid())
    assert not is_locked(layout)
    with locked(layout):
        assert is_locked(layout)


def test_status_writes_nothing(study: Path) -> None:
    campaign = om.campaign(study)
    seen: list[str] = []

    def looking(units: Sequence[Unit], tell: Tell) -> None:
        before = contents(campaign.path)
        status = Campaign.open(campaign.path).status()
        seen.append(status.sentence)
        assert contents(campaign.path) == before
        this_process(units, tell)

    campaign.run(executor=looking)
    before = contents(campaign.path)
    assert Campaign.open(campaign.path).status().complete
    assert contents(campaign.path) == before
    assert seen == ["running"]


def test_another_plan_is_refused_with_what_differs(study: Path) -> None:
    om.campaign(study).run(executor=lambda units, tell: None)
    for old, new in (
        ("exercises = 5", "exercises = 4"),
        ("interactions = 20", "interactions = 30"),
    ):
        study.write_text(TEXT.replace(old, new))
        with pytest.raises(StoreError, match=f"cups-seed-0 the file has other {old.split()[0]}"):
            om.campaign(study)
    # No interval over seeds allows for their number to be decided by what was seen.
    study.write_text(TEXT.replace("[0, 1]", "[0, 1, 2]"))
    with pytest.raises(StoreError, match="cups-seed-2 and 1 more"):
        om.campaign(study)


def test_it_goes_on_with_more_exercises_agents_and_tests(study: Path) -> None:
    om.campaign(study).run()
    more = TEXT.replace("exercises = 5", "exercises = 8").replace(
        "[[tests]]", '[[agents]]\nagent = "sarsa"\n[[tests]]', 1
    )
    more = more.replace("[run]", '[[tests]]\nname = "new"\nclass = "cups"\nexercises = 2\n[run]')
    study.write_text(more)
    grown = om.campaign(study)
    assert not grown.status().complete
    assert grown.run().complete
    stored = [om.load(grown.directory(entry)) for entry in grown.entries]
    assert [each.evaluation.extended for each in stored] == [(5,)] * 2 + [()] * 4
    whole = om.campaign(study, out=study.parent / "whole")
    whole.run()
    for entry, each in zip(grown.entries, stored, strict=True):
        alone = om.load(whole.directory(entry))
        assert {a: list(o) for a, o in alone.outcomes.items()} == {
            a: list(o) for a, o in each.outcomes.items()
        }
    # The intervals over seeds are longer, too, and there are no p-values.
    rows = list(zip(grown.results(), whole.results(), strict=True))
    for row, at_once in rows[:4]:
        assert row.test == "cups"
        assert row.value == at_once.value
        assert row.high - row.low > at_once.high - at_once.low
        assert row.extended == (5,)
    assert all(row == at_once for row, at_once in rows[4:])
    assert all(each.p_value is None for each in grown.compare()["cups"])
    page = grown.report().read_text(encoding="utf-8")
    assert "This test had 5 exercises before it was extended" in page
    # It is the same campaign from now on; the smaller file is another plan.
    before = contents(grown.path / "evaluations")
    assert om.campaign(study).run().complete
    assert om.campaign(grown.path).run().complete
    assert contents(grown.path / "evaluations") == before
    study.write_text(TEXT)
    with pytest.raises(StoreError, match="belongs to another plan"):
        om.campaign(study)


def test_an_interrupted_extension_goes_on(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study.write_text(TEXT.replace("seeds = [0, 1]", "repetitions = 2"))  # drawn ones
    first = om.campaign(study)
    first.run()
    study.write_text(study.read_text().replace("exercises = 5", "exercises = 8"))
    with monkeypatch.context() as patch:
        patch.setattr(Campaign, "_begin", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            om.campaign(study).run()
    grown = om.campaign(study)
    assert grown.run().complete
    stored = [om.load(grown.directory(entry)) for entry in grown.entries]
    assert [each.evaluation.extended for each in stored] == [(5,)] * 2 + [()] * 2
    assert [each.evaluation.seed_told for each in stored] == [True] * 2 + [False] * 2


def test_how_it_runs_may_change(study: Path) -> None:
    campaign = om.campaign(study)
    campaign.run(executor=lambda units, tell: None)
    study.write_text(TEXT + "workers = 2\n[limits]\nmemory_limit = 900\n")
    seen: list[int | None] = []

    def look(units: Sequence[Unit], tell: Tell) -> None:
        seen.extend(unit.options.limits.memory_mb for unit in units)
        assert all(str(campaign.path.absolute()) in unit.options.hidden for unit in units)
        this_process(units, tell)

    assert om.campaign(study).run(executor=look).complete
    assert set(seen) == {900}
    stored = Campaign.open(campaign.path)
    assert (stored.plan.limits, stored.plan.workers) == ({"": {"memory_limit": 900}}, 2)
    with pytest.raises(InvalidInputError, match="no executor 'x'"):
        stored.with_running(executor="x")
    with pytest.raises(InvalidInputError, match="workers=4 has no effect in this process"):
        stored.with_running(workers=4, executor="this-process")


def test_what_is_chosen_for_one_run_is_not_kept(study: Path) -> None:
    chosen = om.campaign(study).with_running(executor="ray", address="head:6379", workers=3)
    chosen = chosen.with_running(workers=1)
    assert (chosen.plan.executor, chosen.plan.address, chosen.workers) == ("ray", "head:6379", 1)
    chosen.run(executor=lambda units, tell: None)
    again = om.campaign(chosen.path).plan
    assert again == om.campaign(study).plan
    assert (again.executor, again.address) == ("this-process", None)
    om.campaign(chosen.path).with_running(workers=1).run()
    assert Campaign.open(chosen.path).plan == again


def test_directories_that_hold_something_else(study: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="it has no file"):
        om.campaign(tmp_path)
    with pytest.raises(StoreError, match="holds no campaign"):
        om.campaign(study, out=tmp_path)
    with pytest.raises(InvalidInputError, match="has no effect"):
        om.campaign(tmp_path, out="x")
    killed = tmp_path / "killed"  # before there was a plan
    killed.mkdir()
    (killed / "lock").touch()
    (killed / "campaign.json.writing").write_text("{")
    assert om.campaign(study, out=killed).run().complete


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace('"format": 1', '"format": 2'), "a newer Omnimeter (format 2)"),
        (lambda text: text.replace("cups-seed-0", "cups-seed-9"), "is not as it was written"),
        (lambda text: text[:100], "is not as it was written"),
        (lambda text: "[]", "is not as it was written"),
        (lambda text: text.replace('"title"', '"titel"'), "is not as it was written"),
    ],
)
def test_damaged_and_newer_plans(study: Path, change: Callable[[str], str], said: str) -> None:
    campaign = om.campaign(study)
    campaign.run(executor=lambda units, tell: None)
    file = campaign.path / "campaign.json"
    file.write_text(change(file.read_text()))
    with pytest.raises(StoreError) as caught:
        Campaign.open(campaign.path)
    assert said in str(caught.value)
    with pytest.raises(StoreError):
        om.campaign(study)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"[]", b'{"units": "1"}'])
def test_nothing_depends_on_what_was_told_of_the_progress(study: Path, content: bytes) -> None:
    campaign = om.campaign(study)
    campaign.run()
    (campaign.path / "progress.json").write_bytes(content)
    assert campaign.status().progress == Progress()
    assert campaign.run().complete
    assert campaign.status().complete


def test_what_killed_runs_had_begun_to_write_is_removed(study: Path) -> None:
    campaign = om.campaign(study)
    campaign.run(executor=lambda units, tell: None)
    (campaign.path / "quarantine").mkdir()
    names = ("campaign.json", "campaign.toml", "progress.json", "quarantine/0.json")
    for name in names:
        (campaign.path / f"{name}.0123abcd.writing").write_text("{")
    of_others = campaign.path / "report.html.0123abcd.writing"  # who do not hold the lock
    of_others.write_text("")
    assert campaign.run().complete
    assert list(campaign.path.rglob("*.writing")) == [of_others]


@pytest.mark.parametrize("lost", ["begun", "seed.json", "spec.json"])
def test_a_damaged_evaluation_is_named_and_the_others_are_carried_out(
    study: Path, lost: str
) -> None:
    study.write_text(TEXT.replace("seeds = [0, 1]", "repetitions = 2"))
    campaign = om.campaign(study)

    def begin(units: Sequence[Unit], tell: Tell) -> None:
        tell(carry_out(units[0]))

    campaign.run(executor=begin)
    first, *others = campaign.entries
    directory = campaign.directory(first)
    before = (directory / lost).read_bytes() if lost != "begun" else b""
    if lost == "begun":
        (directory / lost).write_bytes(b"\xff")
    else:
        (directory / lost).unlink()
    status = campaign.run()
    assert not status.complete
    (error,) = campaign.damaged.values()
    assert str(Path(first.name) / lost) in error.message
    assert list(campaign.damaged) == [directory]
    assert list(status.damaged) == [str(directory)]
    finished = {each.evaluation: each.finished == each.expected for each in status.agents}
    assert finished == {first.name: False} | {each.name: True for each in others}
    if before:
        (directory / lost).write_bytes(before)
    else:  # as it says
        (directory / lost).unlink()
    status = campaign.run()
    assert status.complete
    assert not campaign.damaged


def test_mistakes_are_found_before_anything_is_stored(study: Path) -> None:
    wrong = [*range(3, 23), 2]  # more than are drawn when the file is read
    study.write_text(TEXT.replace("exercises = 5", f"exercises = 42\ncomplexity = {wrong}"))
    campaign = om.campaign(study)
    with pytest.raises(InvalidInputError, match="No cups have complexity 2"):
        campaign.run()
    assert not campaign.path.exists()


def test_where_real_time_counts_there_is_one_worker(study: Path) -> None:
    test = 'definition = 18\nclass = "automata"\ntime = 0.5\nslot = 0.01\n'
    study.write_text(f'[[agents]]\nagent = "random"\n[[tests]]\n{test}')
    campaign = om.campaign(study)
    with pytest.raises(InvalidInputError, match="Real time counts in automata: several workers"):
        campaign.with_running(workers=2).run()
    with pytest.raises(InvalidInputError, match="several workers"):
        campaign.with_running(executor="ray", address="head:6379").run()
    with pytest.raises(InvalidInputError, match="several workers") as caught:
        campaign.with_running(executor="slurm").submit()
    assert '"--exclusive"' in caught.value.advice
    assert not campaign.path.exists()
    assert campaign.with_running(workers=1, executor="this-process").run().complete


def test_agents_that_are_not_contained(study: Path) -> None:
    (study.parent / "mine.py").write_text("def act(observation):\n    raise ValueError\n")
    text = TEXT.replace('agent = "random"', 'agent = "mine.py:act"')
    study.write_text(text + "[limits]\nfault_limit = 2\n")
    limits: list[int] = []

    def look(units: Sequence[Unit], tell: Tell) -> None:
        limits.extend(unit.options.fault_limit for unit in units)
        this_process(units, tell)

    status = om.campaign(study).run(executor=look)
    assert set(limits) == {2}
    (first, *_) = status.agents
    assert first.agent.endswith("mine.py:act")
    assert 2 <= first.finished == first.faults == first.own_faults
    assert status.complete


OWN = """
from omnimeter.environments.cups import Cups
from omnimeter.protocols.sample import Sample
from choosing import chosen

def act(observation):
    return chosen(observation)
"""
MOVED = """
seeds = [0]
agents = [{ agent = "sub/own.py:act" }, { agent = "slowed(agent=sub/own.py:act, seconds=1e-6)" }]
run = { executor = "this-process" }
[[tests]]
class = "mdp(file=two.toml)"
exercises = 3
interactions = 10
[[tests]]
protocol = "sub/own.py:Sample"
set = { environment_class = "sub/own.py:Cups", exercises = 1, interactions = 5 }
"""
TWO = """
theta = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]
rewards = [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.0]]]
"""


def moving(folder: Path) -> Path:
    """A campaign's file with files of agents and tests beside it."""
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "own.py").write_text(OWN)
    (folder / "sub" / "choosing.py").write_text("def chosen(observation):\n    return 1\n")
    (folder / "two.toml").write_text(TWO)
    file = folder / "study.toml"
    file.write_text(MOVED)
    return file


def test_a_moved_campaign_goes_on_with_the_files_that_moved_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(units: Sequence[Unit], tell: Tell) -> None:
        this_process(units[:3], tell)
        raise KeyboardInterrupt

    whole = om.campaign(moving(tmp_path / "whole"))
    whole.run()
    assert whole.run().complete
    om.campaign(moving(tmp_path / "first")).run(executor=interrupted)
    (tmp_path / "first").rename(tmp_path / "second")
    monkeypatch.chdir(tmp_path)
    moved = om.campaign(tmp_path / "second" / "study")
    assert moved.plan.agents[0].label == "sub/own.py:act"
    assert moved.run().complete
    assert moved.results(trust=True) == whole.results(trust=True)
    assert moved.report(trust=True).is_file()
    own = om.load(moved.directory(moved.entries[0]), trust=True)
    assert own.report().is_file()
    assert om.campaign("second/study.toml").run().complete

    # Its directory alone, with the files in it; and without them, or with others.
    shutil.copytree("second/study", "alone")
    shutil.rmtree("alone/evaluations/mdp-seed-0")
    Path("alone/progress.json").unlink()
    Path("second").rename("third")
    with pytest.raises(InvalidInputError, match=r"There is no file .*put them into"):
        om.campaign("alone").run()
    assert om.campaign("alone").status().agents[-1].finished
    shutil.copytree("third/sub", "alone/sub")
    shutil.copy("third/two.toml", "alone")
    Path("alone/sub/choosing.py").write_text("def chosen(observation):\n    return 0\n")
    with pytest.raises(InvalidInputError, match=r"choosing.py.* has changed .*put them into"):
        om.campaign("alone").run()
    shutil.copy("third/sub/choosing.py", "alone/sub")
    assert om.campaign("alone").run().complete
    assert om.campaign("alone").results(trust=True) == whole.results(trust=True)


def test_a_campaign_whose_plan_has_paths_goes_on(tmp_path: Path) -> None:
    file = moving(tmp_path / "one")
    older = MOVED.replace("sub/own.py", str(tmp_path / "one" / "sub" / "own.py"))
    file.write_text(older)
    earlier = om.campaign(file)
    before = earlier.run().agents
    file.write_text(MOVED)
    assert om.campaign(file).plan.agents == earlier.plan.agents
    assert om.campaign(file).run().agents == before
    assert om.campaign(file.with_suffix("")).run().agents == before
    agent = om.campaign(file).compare("own.py:act", trust=True)
    assert {each.reference for own in agent.values() for each in own} == {earlier.plan.agents[0]}


def test_export(study: Path, tmp_path: Path) -> None:
    campaign = om.campaign(study)
    campaign.run()
    count = campaign.export(tmp_path / "o.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "o.parquet")
    assert count == len(table) == sum(each.finished for each in campaign.status().agents)
    cups = [row for row in table.to_pylist() if row["test"] == "cups"]
    assert {row["seed"] for row in cups} == {"0", "1"}
    assert {row["evaluation"] for row in cups} == {"cups-seed-0", "cups-seed-1"}
    first = om.load(campaign.directory(campaign.entries[0]))
    payoffs = [each.payoff for each in first.outcomes[first.evaluation.agents[0]]]
    same = [r for r in cups if r["seed"] == "0" and r["agent"] == "random-v1"]
    assert [row["payoff"] for row in same] == payoffs
    campaign.export(tmp_path / "o.csv")
    assert pyarrow.csv.read_csv(tmp_path / "o.csv").column("payoff").to_pylist()[:5] == [
        row["payoff"] for row in table.to_pylist()[:5]
    ]
    assert campaign.export(tmp_path / "t.data", "parquet", traces=True) == 2 * 3 * 5 * 20
    steps = pyarrow.parquet.read_table(tmp_path / "t.data").to_pylist()
    key = cups[0]["exercise"]
    rewards = [row["reward"] for row in steps if row["exercise"] == key]
    assert sum(rewards) == cups[0]["total"]
    with pytest.raises(InvalidInputError, match="no format 'txt'"):
        campaign.export(tmp_path / "o.txt")
    assert not list(tmp_path.glob("*.writing"))


def test_exercises_after_the_stop_of_an_agent_are_counted_nowhere(study: Path) -> None:
    (study.parent / "mine.py").write_text("def act(observation):\n    raise ValueError\n")
    study.write_text("""
        seeds = [0]
        agents = [{ agent = "mine.py:act" }]
        tests = [{ class = "cups", exercises = 12, interactions = 20_000, traces = true }]
        limits = { fault_limit = 2 }
    """)

    def backwards(units: Sequence[Unit], tell: Tell) -> None:
        for unit in reversed(units):  # as if they were taken at the same time
            this_process([unit], tell)

    campaign = om.campaign(study)
    (agent,) = campaign.run(executor=backwards).agents
    (directory,) = map(campaign.directory, campaign.entries)
    assert len(Record(directory).outcomes()) > agent.finished == 2
    assert campaign.export(study.with_name("o.csv")) == 2
    rows = pyarrow.csv.read_csv(study.with_name("o.csv")).column("number").to_pylist()
    assert rows == [0, 1]
    steps = results.open(directory).to_arrow("traces").read_all()
    assert set(steps.column("number").to_pylist()) <= {0, 1}


def test_the_work_is_counted_and_its_time_estimated(study: Path) -> None:
    counted = om.campaign(study).workload()
    assert (counted.evaluations, counted.units, counted.unknown) == (4, 12, 0)
    assert (counted.pairs, counted.tried, counted.workers) == (6, 6, 1)
    cups, other = 2 * 3 * 5, 2 * 3 * 3
    assert counted.exercises == cups + other
    assert counted.interactions == cups * 20 + other * 10
    assert counted.seconds is not None
    assert 0 < counted.seconds < 30
    longer = TEXT.replace("interactions = 20", "interactions = 200000000")
    study.write_text(longer)
    more = om.campaign(study).workload()
    assert more.seconds is not None
    assert more.seconds > 10 * counted.seconds
    assert not study.with_suffix("").exists()


ASKED = """\
import time
from pathlib import Path
from omnimeter import Agent
class Mine(Agent):
    costly = {costly}
    def begin(self, briefing, rng):
        pass
    def act(self, reward, observation):
        with open({file!r}, "a") as file:
            file.write("x")
        time.sleep({pause})
        return 0
"""


def asked(study: Path, pause: float = 0.0, costly: bool = False) -> Path:
    """A campaign of an agent that notes in a file that it was asked."""
    file = study.with_name("asked")
    program = ASKED.format(costly=costly, file=str(file), pause=pause)
    study.with_name("mine.py").write_text(program)
    test = 'class = "cups"\nexercises = 3\ninteractions = 200\n'
    limits = '[limits]\nsandbox = "none"\n'
    study.write_text(f'[[agents]]\nagent = "mine.py:Mine"\n[[tests]]\n{test}{limits}')
    return file


def test_costly_agents_are_not_asked_to_estimate_the_time(study: Path) -> None:
    file = asked(study, costly=True)
    alone = om.campaign(study).workload()
    assert (alone.pairs, alone.tried, alone.costly, alone.seconds) == (1, 0, 1, None)
    study.write_text('agents = [{ agent = "random" }, { agent = "mine.py:Mine" }]\n'
                     'tests = [{ class = "cups", exercises = 3, interactions = 200 }]\n'
                     'limits = { sandbox = "none" }')  # fmt: skip
    beside = om.campaign(study).workload()
    assert (beside.pairs, beside.tried, beside.costly) == (2, 1, 1)
    assert beside.seconds is not None
    assert not file.exists()


@pytest.mark.parametrize(("seconds", "answers"), [(0.3, 1), (1.1, 2)])
def test_slow_agents_are_asked_no_more_than_there_is_time_for(
    study: Path, seconds: float, answers: int
) -> None:
    file = asked(study, pause=0.5)
    campaign = om.campaign(study)
    with files_in(campaign.folder):
        counted = workload(campaign.plan, 1, campaign.path, seconds)
    assert file.read_text() == answers * "x"
    assert counted.seconds is not None
    assert 0.5 * 600 < counted.seconds < 2 * 600


def test_storing_is_in_the_estimate(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = om.campaign(study).workload().seconds
    module = sys.modules[workload.__module__]
    monkeypatch.setattr(module, "_storing", lambda beside: module._Storing(100.0, 10.0))
    after = om.campaign(study).workload()
    assert before is not None
    assert after.seconds is not None
    assert 0 < before < 100
    assert 4 * 100 + 12 * 10 <= after.seconds < 4 * 100 + 12 * 10 + 30
    assert [each.name for each in study.parent.iterdir()] == ["study.toml"]


def test_the_time_left_needs_no_clock_that_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    module = sys.modules[TimeLeft.__module__]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    units = [Unit(f"/{name}", (), part) for name in "ab" for part in range(4)]
    left = TimeLeft(units)
    assert left.seconds is None
    for unit in units[:2]:
        now[0] += 3.0
        monkeypatch.setattr(time, "time", lambda: -now[0])  # the clock steps back
        left.add(Receipt(unit.key, 1, 3.0, "done"))
    assert left.seconds == pytest.approx(6 * 3.0)
    now[0] += 3.0
    for unit in units[4:6]:  # two at once
        left.add(Receipt(unit.key, 1, 1.5, "done"))
    parallel = (6.0 + 3.0) / 9.0
    assert left.seconds == pytest.approx((2 * 3.0 + 2 * 1.5) / parallel)
    for unit in units:
        left.add(Receipt(unit.key, 1, 3.0, "done"))
    assert left.seconds == 0
