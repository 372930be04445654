"""The reference agents in the universal class: what is drawn, how it is judged, what is written."""

import csv
import json

import numpy as np
import pytest

from omnimeter.contract import Instance
from omnimeter.environments.universal import UniversalLambda
from omnimeter.environments.universal.inhabitants import pattern_program
from omnimeter.reproductions.lambda_thesis import universal
from omnimeter.reproductions.lambda_thesis.universal import KINDS, Sample
from omnimeter.reproductions.shared import Verdict

BITS = 20
BANDS = ((30, 40), (40, 55))


@pytest.mark.parametrize(
    ("perception", "program", "kind"),
    [
        ("cell", "", "still"),
        ("cell", "π → s", "still"),
        ("cell", "→· l", "one action"),
        ("nothing", pattern_program([0, 1, 1], 3), "one action"),
        ("cell", "→· lr", "several actions"),
        ("cell", "π →· l\n→· r", "reactive"),
        ("cell", "π → l", "reactive"),
    ],
)
def test_what_good_and_evil_do_is_known_by_running_their_program(perception, program, kind):
    data = {"actions": 3, "max_steps": 64}
    data["behaviour"] = {"perception": perception, "program": program}
    assert KINDS[universal.kind_of(Instance(data), np.random.default_rng(0))] == kind


def test_drawn_patterns_come_into_the_same_space_with_their_own_complexity():
    made = UniversalLambda(table_bits=BITS)
    instance = made.draw(np.random.default_rng(1))
    changed = universal._with_pattern(instance, 0)
    assert changed.data["space"] == instance.data["space"]
    assert KINDS[universal.kind_of(changed, np.random.default_rng(0))] in KINDS[:2]
    own = UniversalLambda(
        actions=instance.data["actions"],
        cells=instance.data["space"].count("|") + 1,
        space_program=instance.data["space_program"],
        behaviour="reads nothing\n" + changed.data["behaviour"]["program"],
        table_bits=BITS,
    ).draw(np.random.default_rng(0))
    assert made.complexity(changed) == pytest.approx(made.complexity(own))


def sample(oracle, learner, follower, highest, simple=False):
    """Forty environments with these mean rewards, of ten complexities."""
    rng = np.random.default_rng(0)
    means = {"oracle": oracle, "q-learning": learner, "follower": follower, "highest": highest}
    rewards = {name: value + rng.normal(0, 0.02, 40) for name, value in means.items()}
    rewards["random"] = rng.normal(0, 0.02, 40)
    kinds = np.ones(40, dtype=np.int64) if simple else np.arange(40) % 4
    shares = np.full(40, 0.9)
    return Sample(np.repeat(np.arange(10.0), 4), kinds + 2, kinds, rewards, shares, shares)


THESIS, REVERSED = sample(0.8, 0.5, 0.3, 0.8), sample(0.2, 0.5, 0.3, 0.4)


@pytest.mark.parametrize(
    ("variant", "whole", "simple", "verdict"),
    [
        ("implemented", THESIS, THESIS, Verdict.AGREES),
        ("implemented", REVERSED, THESIS, Verdict.EXPLAINED),
        ("implemented", REVERSED, REVERSED, Verdict.DIFFERS),
        ("conceptual", REVERSED, THESIS, Verdict.EXPLAINED),
        ("conceptual", sample(0.2, 0.5, 0.3, 0.2), THESIS, Verdict.DIFFERS),
    ],
)
def test_an_order_that_does_not_survive_needs_a_tested_reason(variant, whole, simple, verdict):
    assert universal._order(variant, "some rules", [whole], whole, simple).verdict is verdict


def test_a_small_version_writes_what_it_found_and_is_the_same_again(tmp_path):
    small = {"environments": 8, "interactions": 200, "bands": BANDS, "table_bits": BITS}
    result, again = (universal.reproduce(tmp_path / each, **small) for each in "ab")
    assert repr(result.to_json()).replace("/a/", "/b/") == repr(again.to_json())
    assert json.loads(json.dumps(result.to_json()))["name"] == "universal-lambda"
    for path in result.files.values():
        assert path.stat().st_size > 0
    with result.files["points"].open() as file:
        points = list(csv.DictReader(file))
    assert len(points) == 3 * 2 * 8
    assert all(float(each["complexity"]) <= 55 for each in points[: 2 * 2 * 8])
    assert result.figures["implemented.random"] == pytest.approx(0, abs=0.1)
