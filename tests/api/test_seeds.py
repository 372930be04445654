"""Seeds that are drawn: kept out of reach of agents, kept for resuming, told at the end."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnimeter as om
from omnimeter.api.evaluation import Session
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.protocols import Evaluation
from omnimeter.reports.page import write_report
from omnimeter.results import Record, open_writer

SMALL: dict[str, Any] = {"exercises": 6, "interactions": 40}
THIRD_PARTY = Path(__file__).parents[1] / "support" / "third_party_protocol.py"


class Guesser(om.Agent):
    """Acts at random; a person ends the evaluation in its fourth exercise, if told to."""

    begun, stops = 0, False

    def begin(self, briefing: om.Briefing, rng: np.random.Generator) -> None:
        self.rng, self.actions = rng, briefing.actions
        Guesser.begun += 1

    def act(self, reward: float, observation: om.Observation) -> int:
        del reward, observation
        if Guesser.stops and Guesser.begun > 3:
            raise KeyboardInterrupt
        return int(self.rng.integers(self.actions))


def payoffs(result: om.Result) -> list[float | None]:
    return [each.payoff for done in result.judged.outcomes.values() for each in done]


def test_each_evaluation_gets_a_seed_that_repeats_it() -> None:
    one, other = (om.evaluate("random", "cups", **SMALL) for _ in range(2))
    assert one.seed is not None
    assert one.seed != other.seed
    assert payoffs(one) != payoffs(other)
    assert one.evaluation == other.evaluation
    assert payoffs(om.evaluate("random", "cups", **SMALL, seed=one.seed)) == payoffs(one)


@pytest.mark.parametrize(
    "given",
    [
        {"battery": "thesis-table-6-1"},
        {"environment_class": "gc", "prior": "gc", "exercises": 2, "interactions": 5},
        {"environment_class": "gc", "at": 10, "exercises": 2},
    ],
    ids=["battery", "prior", "change"],
)
def test_every_kind_of_evaluation_gets_one(given: dict[str, Any]) -> None:
    result = om.evaluate("random", **given)
    assert result.seed is not None
    assert payoffs(om.evaluate("random", **given, seed=result.seed)) == payoffs(result)


def test_a_universal_test_gets_one() -> None:
    test = om.test("random", "cups", interactions=200, repetitions=2)
    assert "secret seed" in test.setting
    result = test.run()
    again = om.test("random", "cups", interactions=200, repetitions=2, seed=result.seed)
    assert f"seed {result.seed}" in again.setting
    assert again.run().scores == result.scores


def test_it_is_in_one_file_for_the_owner_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "e"
    monkeypatch.setattr(Guesser, "stops", True)
    stopped = om.evaluate(Guesser, "cups", **SMALL, out=out)
    assert not stopped.complete
    assert stopped.seed is None
    secret = str(json.loads((out / "seed.json").read_text())["seed"])
    assert (out / "seed.json").stat().st_mode & 0o777 == 0o600
    page = write_report(Record(out)).read_text()
    assert "kept secret until all exercises are done" in page
    telling = [path for path in out.rglob("*") if path.suffix in (".json", ".html", "")]
    assert [path.name for path in telling if path.is_file() and secret in path.read_text()] == [
        "seed.json"
    ]
    assert om.load(out).seed is None
    assert f"{secret}" not in repr(stopped)

    monkeypatch.setattr(Guesser, "stops", False)
    result = om.evaluate(Guesser, "cups", **SMALL, out=out)
    assert result.complete
    assert str(result.seed) == secret
    assert payoffs(result) == payoffs(om.evaluate(Guesser, "cups", **SMALL, seed=result.seed))
    loaded = om.load(out)
    assert loaded.complete
    assert loaded.seed == result.seed
    assert loaded.scores == result.scores
    assert f"--seed {secret} repeats it" in result.report().read_text()


def test_it_is_written_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "e"
    seen: list[set[str]] = []
    real = os.replace

    def kept(source: Any, target: Any) -> None:
        seen.append({path.name for path in out.iterdir()})
        real(source, target)

    monkeypatch.setattr(Path, "replace", kept)
    om.evaluate("random", "cups", **SMALL, out=out)
    spec = next(names for names in seen if any(n.startswith("spec.json.") for n in names))
    assert "seed.json" in spec


def test_one_that_was_killed_before_its_spec_was_there_begins_anew(tmp_path: Path) -> None:
    out = tmp_path / "e"
    om.evaluate("random", "cups", **SMALL, out=tmp_path / "other")
    out.mkdir()
    (tmp_path / "other" / "seed.json").rename(out / "seed.json")
    assert om.evaluate("random", "cups", **SMALL, out=out, seed=3).seed == 3
    assert om.load(out).seed == 3


@pytest.mark.parametrize("damage", ["lost", "changed", "cut", "not said"])
def test_a_seed_that_is_lost_or_changed_is_noticed(tmp_path: Path, damage: str) -> None:
    out = tmp_path / "e"
    om.evaluate("random", "cups", **SMALL, out=out)
    file = out / "seed.json"
    text = file.read_text()
    if damage == "lost":
        file.unlink()
    elif damage == "changed":
        digit = next(each for each in text if each.isdecimal())
        file.write_text(text.replace(digit, "1" if digit != "1" else "2", 1))
    elif damage == "cut":
        file.write_text(text[:10])
    else:
        spec = out / "spec.json"
        spec.write_text(spec.read_text().replace("secret_seed", "secret_seee"))
    with pytest.raises(StoreError, match=r"seed\.json"):
        om.load(out)
    with pytest.raises(StoreError, match=r"seed\.json"):
        om.evaluate("random", "cups", **SMALL, out=out)


def test_an_evaluation_of_an_older_version_goes_on_as_it_began(tmp_path: Path) -> None:
    protocol = Spec("sample-v1", {"environment_class": {"id": "cups-v1"}, "interactions": 40})
    evaluation = Evaluation(protocol, (Spec("random-v1"),))
    with open_writer(tmp_path / "e", evaluation.to_json()):
        pass  # without a seed, which was 0 then
    session = Session(evaluation, out=tmp_path / "e")
    result = session.run()
    assert {each.exercise.seed for each in result.record.outcomes()} == {0}
    assert om.load(tmp_path / "e").complete


def test_a_test_that_takes_no_seed_is_left_alone() -> None:
    protocol = Spec(f"{THIRD_PARTY}:Staircase")
    result = Session(Evaluation(protocol, (Spec("random-v1"),))).run()
    assert result.complete
    assert result.seed is None


def test_a_third_party_test_that_takes_one_gets_one(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from omnimeter.protocols.sample import Sample\n\n\n"
        "class Own(Sample):\n"
        '    """A test of two exercises."""\n\n'
        "    def __init__(self, seed: int = 7) -> None:\n"
        '        super().__init__("cups-v1", exercises=2, interactions=9, seed=seed)\n'
    )
    protocol = Spec(f"{tmp_path / 'own.py'}:Own")
    result = Session(Evaluation(protocol, (Spec("random-v1"),))).run()
    assert {each.exercise.seed for each in result.record.outcomes()} == {result.seed}


def test_what_is_in_memory_is_stored_with_it(tmp_path: Path) -> None:
    result = om.evaluate("random", "cups", **SMALL)
    saved = result.save(tmp_path / "e")
    assert saved.seed == result.seed
    assert om.load(tmp_path / "e").scores == result.scores
    with pytest.raises(StoreError, match="another seed"):
        om.evaluate("random", "cups", **SMALL).save(tmp_path / "e")


def test_agents_are_compared_under_the_same_seed_only() -> None:
    one = om.evaluate("random", "cups", **SMALL)
    with pytest.raises(InvalidInputError, match="differ in seed") as error:
        om.compare(one, om.evaluate("cup-presser", "cups", **SMALL))
    assert "run them with the same --seed" in error.value.advice
    both = om.compare(one, om.evaluate("cup-presser", "cups", **SMALL, seed=one.seed))
    assert both.seed == one.seed
    assert both.scores["random-v1"] == one.scores["random-v1"]


IDLE = """
from omnimeter import Agent

class Idle(Agent):
    def act(self, reward, observation):
        return 0
"""


def descendants() -> list[Path]:
    """The directories in /proc of the processes that this one has started, and they in turn."""
    parents: dict[str, str] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parents[path.name] = (path / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            continue
    own, new = set(), {str(os.getpid())}
    while new:
        own |= new
        new = {child for child, parent in parents.items() if parent in new} - own
    return [Path("/proc") / each for each in own - {str(os.getpid())}]


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="Linux tells of processes")
@pytest.mark.parametrize("workers", [1, 2])
def test_no_process_has_it_among_its_arguments_variables_and_files(
    tmp_path: Path, workers: int
) -> None:
    (tmp_path / "idle.py").write_text(IDLE)
    seen: dict[str, bytes] = {}
    over, own = threading.Event(), Path("/proc/self/cmdline").read_bytes()

    def watch() -> None:
        while not over.wait(0.02):
            for path in descendants():
                try:
                    texts = [(path / name).read_bytes() for name in ("cmdline", "environ")]
                    texts += [os.fsencode(os.readlink(each)) for each in (path / "fd").iterdir()]
                except OSError:  # it has ended
                    continue
                if texts[0] == own:  # a copy of this process that is about to be another one
                    continue
                seen[path.name] = seen.get(path.name, b"") + b"\0".join(texts)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        settings = {"exercises": 4, "interactions": 2000, "workers": workers}
        out = tmp_path / "results"
        result = om.evaluate(f"{tmp_path / 'idle.py'}:Idle", "cups", **settings, out=out)
    finally:
        over.set()
        watching.join()
    assert result.seed is not None
    assert any(b"omnimeter" in text for text in seen.values()), "an agent's process was seen"
    written = (str(result.seed).encode(), f"{result.seed:x}".encode())
    assert not [text for text in seen.values() for each in written if each in text]
    agents = [text for text in seen.values() if b"pool import serve" not in text]  # workers store
    assert agents
    assert not [text for text in agents if os.fsencode(out) in text]


def test_a_fixed_seed_beside_an_agent_from_a_file_is_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text(IDLE)
    agent = f"{tmp_path / 'idle.py'}:Idle"
    short = {"exercises": 1, "interactions": 5}
    (warning,) = om.evaluate(agent, "cups", **short, seed=0).warnings
    assert "seed is fixed" in warning
    assert warning in repr(
        om.evaluate(f"slowed(agent={agent}, seconds=1)", "cups", **short, seed=0)
    )
    assert om.evaluate(agent, "cups", **short).warnings == []
    assert om.evaluate("random", "cups", **short, seed=0).warnings == []
