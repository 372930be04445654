"""Measures of environment classes, from Python and from the command line."""

import json

import numpy as np
import pytest

import omnimeter as om
from omnimeter.cli import main
from omnimeter.contract import InvalidInputError
from omnimeter.environments.buttons import Buttons
from omnimeter.estimation import mean
from omnimeter.measures import MEASURES, Belief, measure


@pytest.fixture
def omnimeter(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words):
        monkeypatch.setattr("sys.argv", ["omnimeter", "measure", *words])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
        return code, *capsys.readouterr()

    return run


def test_a_class_has_the_means_of_its_instances():
    result = om.measure("cups(max_cups=5)", exercises=8, steps=3, seed=5)
    assert len(result.instances) == 8
    sizes = [each.size for each in result.instances]
    assert len(set(sizes)) > 1
    assert result.estimates["size"] == mean(sizes)
    assert om.measure("cups", exercises=5, steps=1).estimates["size"].low >= 1
    assert set(result.estimates) == set(MEASURES)
    assert result.undefined["difference"] == (8, "No other overlay was given.")
    again = om.measure("cups(max_cups=5)", exercises=8, steps=3, seed=5)
    assert again.estimates == result.estimates
    assert om.measure("cups(max_cups=5)", exercises=8, seed=6).estimates != result.estimates
    sums = om.measure("cups(max_cups=5)", exercises=8, steps=3, seed=5, form="sum", combine="sum")
    assert sums.estimates["variability"].value > result.estimates["variability"].value


def test_an_overlay_and_a_python_class_can_be_given():
    overlay = om.Overlay.of(om.Lattice((3,)), [{"p": True}, {}, {"p": True}])
    result = om.measure(overlay, knowledge=[Belief(1, "p", True)])
    assert result == measure(overlay, [Belief(1, "p", True)])
    assert om.measure(Buttons, exercises=2).estimates["size"].value == 4


def test_wrong_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="0 exercises"):
        om.measure("gc", exercises=0)
    with pytest.raises(InvalidInputError, match="form"):
        om.measure("gc", form="median")


def test_one_table_of_several_classes(omnimeter):
    code, out, _ = omnimeter("gc", "buttons(example=fate)", "--exercises", "2")
    assert code == 0
    assert "Means over 2 instances of 50 time steps" in out
    assert "gc-v1" in out
    assert "undefined in 2 of 2 instances" in out
    code, out, _ = omnimeter("gc", "--exercises", "2", "--json", "--weight", "size=0")
    (data,) = json.loads(out)["classes"]
    assert data["measures"]["size"] == {"value": 5.0, "low": None, "high": None}
    values = {name: each and each["value"] for name, each in data["measures"].items()}
    assert values["complexity"] == pytest.approx(values["density"] * values["variability"])


def test_files_are_measured(omnimeter, tmp_path):
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        rows = [f"{x},{y},{rng.integers(3)}" for x in range(6) for y in range(5)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["x,y,height", *rows]))
    (tmp_path / "kb.csv").write_text("x,y,height\n0,0,7\n")
    files = ("--file", "one.csv", "--other", "two.csv", "--knowledge", "kb.csv")
    code, out, _ = omnimeter(*files, "--sample", "10", "--form", "sum")
    assert code == 0
    assert "95 % interval" in out
    assert "100.00% of beliefs" in out
    code, out, _ = omnimeter(*files, "--json", "--torus")
    data = json.loads(out)
    assert (data["size"], data["density"], data["inconsistency"]["of_beliefs"]) == (30, 1, 1)
    (tmp_path / "three.csv").write_text("x,height\n1,2\n")
    code, _, err = omnimeter("--file", "one.csv", "--other", "three.csv")
    assert code == 2
    assert "30 and 1 squares" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "CLASS or --file is missing"),
        (("gc", "--torus"), "--torus cannot be given together with classes"),
        (("gc", "--file", "a.csv"), "--file cannot be given together with a class"),
        (("--file", "a.csv", "--steps", "3"), "--steps cannot be given together with --file"),
        (("gc", "--weight", "size"), "'size' is not a name and a number"),
        (("gc", "--weight", "sise=1"), "Did you mean 'size'"),
    ],
)
def test_wrong_options_are_refused(omnimeter, words, message):
    code, _, err = omnimeter(*words)
    assert code == 2
    assert message in err
