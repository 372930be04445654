"""What every environment class answers is written down, and stays so."""

from __future__ import annotations

import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

from omnimeter.catalogue import Kind, listing
from omnimeter.contract import EnvironmentClass, Spec, stream
from omnimeter.environments.buttons import Buttons
from omnimeter.environments.cups import Cups
from omnimeter.testing.playthrough import playthrough

GOLDEN = Path(__file__).parents[1] / "golden"
OURS = [entry.id for entry in listing(Kind.ENVIRONMENT) if entry.package == "omnimeter"]
NEEDED = {"switch-v1": {"at": 5}}
"""Parameters of classes that cannot be made without."""


@pytest.mark.parametrize("name", OURS)
def test_playthrough_is_what_was_written_down(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    spec = Spec(name, NEEDED.get(name, {}))
    renewal = f"python -m omnimeter.testing.playthrough '{spec.label}' > tests/golden/{name}.txt"
    assert path.exists(), f"{name} has no golden playthrough. Make one and read it:\n{renewal}"
    kept = path.read_text(encoding="utf-8").splitlines()
    now = playthrough(spec).splitlines()
    pairs = enumerate(zip_longest(kept, now), 1)
    line = next((number for number, (old, new) in pairs if old != new), None)
    assert kept == now, (
        f"{name} behaves differently from line {line} of {path.name} on. A change of behaviour is "
        f"a new version of its id. If the text itself is to change, renew it on purpose:\n{renewal}"
    )


def test_every_golden_playthrough_has_its_class() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(OURS)
    assert {"buttons-v1", "cups-v1"} <= set(OURS)


def test_rules_that_differ_have_blocks_of_their_own() -> None:
    heads = [line for line in playthrough(Spec("cups-v1")).splitlines() if line.startswith("#")]
    assert heads == ["# cups-v1(rule=published)", "# cups-v1(rule=rest)"]
    assert playthrough(Spec("cups-v1", {"rule": "rest"})).count("#") == 1


def test_rules_that_say_the_same_share_a_block() -> None:
    lines = playthrough(Spec("lambda-v1")).splitlines()
    assert lines[:2] == ["# lambda-v1(variant=implemented)", "# lambda-v1(consumption=after)"]
    blocks = [line for line in lines if line.startswith("instance ")]
    assert len(blocks) < sum(line.startswith("#") for line in lines)


@pytest.mark.parametrize(
    ("environment_class", "complexity"),
    [(Cups(3, 3), 3.0), (Cups(7, 7), 7.0), (Buttons("balanced"), 4.0)],
)
def test_complexities_stay_too(environment_class: EnvironmentClass, complexity: float) -> None:
    """Playthroughs leave complexities out: those of lambda-v1 depend on a library that
    compresses.
    """
    drawn = environment_class.draw(stream(0).generator())
    assert environment_class.complexity(drawn) == complexity


def test_the_writer_prints_the_text_and_explains_a_wrong_name() -> None:
    command = [sys.executable, "-m", "omnimeter.testing.playthrough"]
    good = subprocess.run([*command, "cups-v1"], capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stderr
    assert good.stdout == (GOLDEN / "cups-v1.txt").read_text(encoding="utf-8")
    bad = subprocess.run([*command, "cusp-v1"], capture_output=True, text=True, check=False)
    assert bad.returncode == 1
    assert "cups-v1" in bad.stderr
    assert "Traceback" not in bad.stderr
