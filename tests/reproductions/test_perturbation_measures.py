"""The worked example of the paper on perturbation tolerance."""

import json

import pytest

from omnimeter.reproductions.perturbation.measures import reproduce


def test_the_8_x_8_world(tmp_path):
    result = reproduce(tmp_path)
    figures = result.figures
    assert (figures["n"], figures["density"], figures["volatility"]) == (64, 3, 0)
    assert figures["difference"] == pytest.approx(1.840, abs=5e-4)
    assert figures["distance"] == pytest.approx(16 / 3)
    assert figures["variability"] == pytest.approx(0.345, abs=5e-4)
    assert figures["variability.of-printed-means"] == pytest.approx(0.364, abs=5e-4)
    assert figures["inconsistency.initial"] == 0
    assert figures["inconsistency.of-beliefs"] == 2 / 64
    assert figures["inconsistency.of-propositions"] == 2 / 192
    assert [statement.holds for statement in result.statements].count(False) == 4
    assert all(statement.reason for statement in result.statements if not statement.holds)
    assert result.agrees
    assert json.dumps(result.to_json())
