"""Commands without ``--seed``: one is drawn, kept for the next time, and told at the end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_cli import agent, omnimeter, write

__all__ = ["omnimeter"]  # a fixture

SMALL = ("--class", "cups", "-n", "4", "-i", "30")
UNTIMED = ("--class", "cups", "-i", "200", "--repetitions", "2")


@pytest.mark.parametrize("arguments", [("run", *SMALL), ("test", *UNTIMED)], ids=["run", "test"])
def test_the_same_command_goes_on_with_the_same_seed(omnimeter: Any, arguments: Any) -> None:
    code, out, err = omnimeter(*arguments, "-a", "random")
    assert code == 0, err
    (seed,) = re.findall(r"^seed: (\d+), drawn for this evaluation", out, re.MULTILINE)
    assert omnimeter(*arguments, "-a", "random")[1] == out
    _, text, _ = omnimeter(*arguments, "-a", "random", "--json")
    drawn = json.loads(text)
    assert (str(drawn["seed"]), drawn["warnings"]) == (seed, [])
    _, text, _ = omnimeter(*arguments, "-a", "random", "--json", "--seed", seed)
    fixed = json.loads(text)
    assert fixed["scores"] == drawn["scores"]
    assert fixed["directory"] != drawn["directory"]
    _, out, _ = omnimeter("report", drawn["directory"])
    assert f"--seed {seed} repeats it" in out
    assert json.loads(omnimeter("report", drawn["directory"], "--json")[1])["seed"] == int(seed)


def test_a_spec_is_run_with_a_seed(omnimeter: Any) -> None:
    omnimeter("run", "-a", "random", *SMALL, "--out", "one")
    spec = ("run", "--spec", "one/spec.json", "--json", "--out")
    one = json.loads(omnimeter("report", "one", "--json")[1])
    other = json.loads(omnimeter(*spec, "other")[1])
    assert other["seed"] != one["seed"]
    again = json.loads(omnimeter(*spec, "again", "--seed", str(one["seed"]))[1])
    assert again["scores"] == one["scores"]
    code, _, err = omnimeter("compare", "one", "other")
    assert code == 2
    assert "differ in seed" in err
    assert "run them with the same --seed" in err


@pytest.mark.parametrize("arguments", [("run", *SMALL), ("test", *UNTIMED)], ids=["run", "test"])
def test_a_fixed_seed_beside_an_agent_from_a_file_is_warned_of(
    omnimeter: Any, arguments: Any
) -> None:
    write("mine.py", agent("return 0"))
    code, out, err = omnimeter(*arguments, "-a", "mine.py:Mine", "--seed", "0", "--json")
    assert code == 0, err
    (warning,) = json.loads(out)["warnings"]
    assert "seed is fixed" in warning
    assert " ".join(err.split()).count(warning) == 1
    code, out, err = omnimeter(*arguments, "-a", "mine.py:Mine", "--json")
    assert (code, json.loads(out)["warnings"]) == (0, [])
    assert "seed is fixed" not in err
    assert Path(json.loads(out)["directory"], "seed.json").exists()
