"""Evaluations that go on with more exercises or further agents, and what is said of intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnimeter as om
from omnimeter.api.evaluation import Session, plan
from omnimeter.api.result import seed_warning
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import fingerprint
from omnimeter.reports import comparisons
from omnimeter.reports.summary import extension_sentence
from omnimeter.results import Record, files
from omnimeter.results.files import Layout

HOW: dict[str, Any] = {"interactions": 50, "seed": 1, "out": "there"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_more_exercises_give_the_outcomes_of_the_whole() -> None:
    first = om.evaluate("random", "buttons", exercises=8, **HOW)
    grown = om.evaluate("random", "buttons", exercises=16, **HOW)
    whole = om.evaluate("random", "buttons", exercises=16, **{**HOW, "out": "other"})
    assert grown.complete
    assert grown.scores["random-v1"].value == whole.scores["random-v1"].value
    [grown_outcomes], [outcomes] = grown.outcomes.values(), whole.outcomes.values()
    assert list(grown_outcomes) == list(outcomes)
    assert first.evaluation.extended == ()
    assert grown.evaluation.extended == (8,)
    assert om.load("there").evaluation.extended == (8,)


def test_an_extended_test_has_intervals_that_hold_at_every_number() -> None:
    agents = ["random", "q-learning"]
    om.evaluate(agents, "buttons", exercises=8, **HOW)
    grown = om.evaluate(agents, "buttons", exercises=30, **HOW)
    whole = om.evaluate(agents, "buttons", exercises=30, **{**HOW, "out": "other"})
    for name in grown.agents:
        longer, fixed = grown.scores[name], whole.scores[name]
        assert longer.value == fixed.value
        assert longer.interval is not None
        assert fixed.interval is not None
        assert (longer.interval.low, longer.interval.high) == fixed.parts["watched"]
        assert longer.interval.high - longer.interval.low > fixed.interval.high - fixed.interval.low
    [difference], [fixed_difference] = comparisons(grown.judged), comparisons(whole.judged)
    assert difference.p_value is None
    assert fixed_difference.p_value is not None
    assert (difference.low, difference.high) == difference.watched
    assert "This test had 8 exercises before it was extended" in extension_sentence(grown.judged)
    assert extension_sentence(whole.judged) == ""
    assert "hold at every number" in grown.report("page.html").read_text()


def test_it_is_extended_again_and_again() -> None:
    for exercises in (4, 6, 6, 9):
        result = om.evaluate("random", "buttons", exercises=exercises, **HOW)
    assert result.evaluation.extended == (4, 6)
    assert "had 4 and 6 exercises" in extension_sentence(result.judged)


def test_payoffs_without_bounds_are_said_to_have_no_such_interval() -> None:
    for exercises in (4, 6):
        result = om.evaluate(
            "random", "buttons", exercises=exercises, payoff="total", clock="virtual",
            **{key: HOW[key] for key in ("seed", "out")}, seconds=20,
        )  # fmt: skip
    bounded = all("watched" in score.parts for score in result.scores.values())
    assert ("payoffs are not bounded" in extension_sentence(result.judged)) is not bounded


def test_nothing_was_seen_of_an_evaluation_that_had_no_outcome() -> None:
    om.evaluate("random", "buttons", exercises=4, **HOW)
    for shard in Layout(Path("there")).outcomes.iterdir():
        shard.unlink()
    grown = om.evaluate("random", "buttons", exercises=8, **HOW)
    assert grown.evaluation.extended == ()


def test_further_agents_take_the_same_exercises() -> None:
    first = om.evaluate("random", "buttons", exercises=8, **HOW)
    grown = om.evaluate(["q-learning", "random"], "buttons", exercises=8, **HOW)
    assert grown.agents == ["q-learning-v1", "random-v1"]
    assert grown.scores["random-v1"] == first.scores["random-v1"]
    assert grown.evaluation.extended == ()
    assert grown.complete


def test_a_universal_test_takes_further_agents() -> None:
    how: dict[str, Any] = {"interactions": 300, "seed": 1, "out": "there"}
    first = om.test("random", "automata", **how).run()
    grown = om.test(["random", "q-learning"], "automata", **how).run()
    assert grown.scores["random-v1"] == first.scores["random-v1"]
    with pytest.raises(StoreError, match="holds another evaluation"):
        om.test(["random", "q-learning"], "automata", **{**how, "interactions": 600}).run()


@pytest.mark.parametrize(
    ("agents", "changes"),
    [
        ("random", {"exercises": 4}),
        ("q-learning", {}),
        ("random", {"seed": 2}),
        ("random", {"interactions": 60, "exercises": 16}),
        ("random", {"traces": True, "exercises": 16}),
        ("random", {"memory": "carried", "exercises": 16}),
        ("random", {"precision": 0.1, "exercises": 16}),
    ],
)
def test_what_is_refused(agents: str, changes: dict[str, Any]) -> None:
    om.evaluate("random", "buttons", exercises=8, **HOW)
    with pytest.raises(StoreError, match="holds another evaluation") as refused:
        om.evaluate(agents, "buttons", **{"exercises": 8, **HOW, **changes})
    assert "extended" not in refused.value.message
    assert len(Record("there").outcomes()) == 8


def test_a_carried_sequence_does_not_grow() -> None:
    om.evaluate("random", "buttons", exercises=4, memory="carried", **HOW)
    with pytest.raises(StoreError, match="holds another evaluation"):
        om.evaluate("random", "buttons", exercises=8, memory="carried", **HOW)


def test_a_drawn_seed_stays_and_is_known_to_have_been_told(folder: Path) -> None:
    (folder / "mine.py").write_text("def act(observation):\n    return 0\n")
    how = {**HOW, "seed": None}
    first = om.evaluate("mine.py:act", "buttons", exercises=4, **how)
    assert seed_warning(first.evaluation) == ""
    grown = om.evaluate("mine.py:act", "buttons", exercises=6, **how)
    assert grown.seed == first.seed
    assert "The seed is fixed" in seed_warning(grown.evaluation)
    evaluation, _ = plan("random", "buttons", None, {"exercises": 4, "interactions": 9})
    begun = Session(evaluation, out="begun")
    for _ in begun:
        break
    assert not om.load("begun").complete or om.load("begun").seed is not None


def test_several_processes_go_on_too() -> None:
    om.evaluate("random", "buttons", exercises=8, **HOW)
    grown = om.evaluate(["random", "q-learning"], "buttons", exercises=40, workers=2, **HOW)
    whole = om.evaluate(
        ["random", "q-learning"], "buttons", exercises=40, **{**HOW, "out": "other"}
    )
    values = [[score.value for score in each.scores.values()] for each in (grown, whole)]
    assert values[0] == values[1]


@pytest.mark.parametrize("writes", [0, 1, 2, 3])
def test_whatever_interrupts_it_either_evaluation_is_whole(
    writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    how = {**HOW, "seed": None}
    om.evaluate("random", "buttons", exercises=4, **how)
    spec = fingerprint(Record("there").spec)
    write, done = files.write, []

    def failing(path: Path, content: bytes, **more: Any) -> None:
        if path.name in (Layout(Path("there")).key.name, "spec.json", "seed.json"):
            if len(done) >= writes:
                raise KeyboardInterrupt
            done.append(path)
        write(path, content, **more)

    with monkeypatch.context() as patch:
        patch.setattr(files, "write", failing)
        with pytest.raises(KeyboardInterrupt):
            om.evaluate("random", "buttons", exercises=8, **how)
    assert len(Record("there").outcomes()) == 4
    assert (fingerprint(Record("there").spec) == spec) is (writes < 3)
    grown = om.evaluate("random", "buttons", exercises=8, **how)
    assert grown.complete
    assert grown.evaluation.extended == (4,)
    [outcomes] = grown.outcomes.values()
    assert np.array_equal(outcomes.numbers, np.arange(8))


def test_merged_parts_say_what_one_of_them_says() -> None:
    for exercises in (4, 8):
        om.evaluate("random", "buttons", exercises=exercises, **HOW)
    other = om.evaluate("q-learning", "buttons", exercises=8, **{**HOW, "out": "other"})
    assert om.merge("there", other).evaluation.extended == (4,)
