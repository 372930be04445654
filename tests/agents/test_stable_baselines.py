"""Saved models as agents, as far as it can be told without Stable-Baselines3 (see tests/sb3)."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import omnimeter as om
from omnimeter.catalogue import Kind, files_of, make, parse
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.execution.workers import Isolation, is_isolated


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    path.write_bytes(b"no model")
    return path


def test_an_agent_of_a_file_is_not_trusted(model: Path) -> None:
    agent = parse(Kind.AGENT, Spec("sb3-v1", {"file": str(model)}).label)
    assert is_isolated(agent, Isolation.AUTO)
    assert not is_isolated(agent, Isolation.NONE)
    around = Spec("slowed-v1", {"agent": agent.label, "seconds": 0.1})
    assert is_isolated(parse(Kind.AGENT, around.label), Isolation.AUTO)
    assert not is_isolated(Spec("random-v1"), Isolation.AUTO)


def test_the_file_is_what_it_is_made_of(model: Path) -> None:
    agent = parse(Kind.AGENT, Spec("sb3-v1", {"file": str(model)}).label)
    assert files_of(agent) == [str(model)]
    model.write_bytes(b"another")
    assert parse(Kind.AGENT, Spec("sb3-v1", {"file": str(model)}).label).digest != agent.digest


def test_a_file_that_is_not_there_is_told_before_anything_is_run() -> None:
    with pytest.raises(InvalidInputError, match=r"There is no file no\.zip"):
        om.evaluate(Spec("sb3-v1", {"file": "no.zip"}), "cups", exercises=1, interactions=5, seed=0)
    with pytest.raises(InvalidInputError, match="needs the parameter 'file'"):
        make(Kind.AGENT, Spec("sb3-v1"))


@pytest.mark.skipif(find_spec("stable_baselines3") is not None, reason="it is installed")
def test_a_library_that_is_not_there_is_told_before_anything_is_run(model: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"not installed.* pip install 'omnimeter\[sb3\]'"):
        om.evaluate(
            Spec("sb3-v1", {"file": str(model)}), "cups", exercises=1, interactions=5, seed=0
        )
