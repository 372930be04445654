"""The reproduction of the C-test: printed answers, statements, and the same files each time."""

from __future__ import annotations

import pytest

from omnimeter.reproductions import c_test
from omnimeter.reproductions.c_test import MODES, PRINTED, Mode, measure, reproduce, statements

SMALL = (Mode("end", "One question", 1, 40), Mode("each", "Every letter", 15, 4))


@pytest.fixture
def without_the_third(monkeypatch):
    """The third printed series takes all programs of eleven instructions."""
    monkeypatch.setattr(c_test, "PRINTED", PRINTED[:2] + PRINTED[:1])


def test_small_runs_give_the_same_files_twice(tmp_path, without_the_third):
    first = reproduce(tmp_path / "first", modes=SMALL)
    second = reproduce(tmp_path / "second", modes=SMALL)
    assert set(first.files) == {"table", "printed series", "figure", "figure (vector)"}
    for name, path in first.files.items():
        assert path.read_bytes() == second.files[name].read_bytes()
    assert len(first.rows) == 2 * 6 * 5
    answers = [each for each in first.statements if "goes on with" in each.claim]
    assert len(answers) == 3
    assert all(each.holds for each in answers)
    assert first.findings == "docs/findings.md#the-c-test"


def test_a_random_agent_that_gains_and_a_fall_that_is_none_differ():
    results = dict(measure(SMALL[:1]))
    results["end", "random"] = [[0.9, 1.0, 0.8, 0.9] * 10] * 5
    results["end", "n-gram, steps"] = [[0.5] * 20] * 5
    verdicts = {each.claim: each for each in statements(results, SMALL[0])}
    (random,) = (each for claim, each in verdicts.items() if "random" in claim)
    assert random.verdict == "differs"
    (flat,) = (each for claim, each in verdicts.items() if "n-gram, steps" in claim)
    assert flat.verdict == "differs"


@pytest.mark.slow
def test_all_of_it_agrees_or_is_explained(tmp_path):
    result = reproduce(tmp_path)
    assert result.agrees, [each for each in result.statements if each.verdict == "differs"]
    assert sum(each.holds is True for each in result.statements) >= 12
    assert [result.figures[name] for name in result.figures] == [20.49, 29.25, 38.09]
    assert len(MODES) == 2
