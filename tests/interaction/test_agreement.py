"""Compiled, stepwise and plain runs give the same trace, for every pair of the catalogue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time_ns
from typing import Any

import pytest

from agreement import Pair, compiled, digest, pairs, stepwise
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Budget, Ending, Exercise, Spec, stream
from omnimeter.interaction import dispatch, run_single

HERE = Path(__file__).parents[1] / "support"


@pytest.fixture
def everybody(plugin: str) -> dict[str, Pair]:
    """All pairs, by name."""
    return dict(pairs())


def elsewhere(plugin: str, beginning: str = "", **variables: str) -> dict[str, str]:
    """What comes of all pairs, or of those whose label begins so, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / "agreement.py"), plugin, beginning],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_all_runs_of_all_pairs_are_the_same(everybody: dict[str, Pair], plugin: str) -> None:
    expected = {label: digest(stepwise(pair)) for label, pair in everybody.items()}
    assert elsewhere(plugin, NUMBA_DISABLE_JIT="1") == expected
    found = {label: digest(compiled(pair)) for label, pair in everybody.items() if pair.compiles}
    assert found == {label: expected[label] for label in found}


@pytest.mark.parametrize("beginning", ["random-v1", pytest.param("", marks=pytest.mark.slow)])
def test_no_kernel_reads_outside_its_arrays(
    everybody: dict[str, Pair], plugin: str, beginning: str
) -> None:
    """All environments with the random agent; everybody, compiled anew, where time allows."""
    expected = {
        label: digest(compiled(pair) if pair.compiles else stepwise(pair))
        for label, pair in everybody.items()
        if label.startswith(beginning)
    }
    assert len(expected) > 5
    assert elsewhere(plugin, beginning, NUMBA_BOUNDSCHECK="1") == expected


def test_all_parts_take_part(everybody: dict[str, Pair]) -> None:
    """Without them nothing above is tested."""
    assert sum(pair.compiles for pair in everybody.values()) > 80
    assert not all(pair.compiles for pair in everybody.values())
    ours = {pair.agent.id for pair in everybody.values()}
    assert {"apprentice-v1", "random-v1", "sample-table-v1", "sample-plain-v1"} <= ours
    places = {pair.exercises[0].environment_class for pair in everybody.values()}
    assert {Spec("cups-v1", {"rule": "rest"}), Spec("sample-walk-v1")} <= places


def test_pairs_with_kernels_are_really_compiled(
    everybody: dict[str, Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_stepwise = dispatch.run_stepwise
    fallen_back = []

    def watched(*arguments: Any, **conditions: Any) -> Any:
        traces = run_stepwise(*arguments, **conditions)
        fallen_back.extend(traces)
        return traces

    monkeypatch.setattr(dispatch, "run_stepwise", watched)
    for label, pair in everybody.items():
        if pair.compiles:
            fallen_back.clear()
            traces = compiled(pair)
            assert len(traces) == len(pair.exercises)
            for trace in fallen_back:  # only agents that did not accept the environment
                assert trace.ending is Ending.FAULT, label
                assert "when beginning" in trace.fault.message, label


@pytest.mark.usefixtures("plugin")
def test_parts_of_third_parties_run_at_full_speed() -> None:
    """In the compiled loop, and about as fast as our own parts."""
    calls, costs = {}, {}
    for name, sides in {
        "ours": ("cups-v1", "random-v1"),
        "third-party": ("sample-walk-v1", "sample-table-v1"),
    }.items():
        calls[name], costs[name] = measured(*sides)
    assert calls == {"ours": 1, "third-party": 1}
    assert costs["third-party"] < 3 * costs["ours"]


def measured(place: str, who: str) -> tuple[int, float]:
    """How often the compiled loop is called for some exercises, and how long it takes at best."""
    environment_class, agent = make(Kind.ENVIRONMENT, Spec(place)), make(Kind.AGENT, Spec(who))
    rng = stream(1).generator()
    exercises = [
        Exercise(Spec(who), Spec(place), environment_class.draw(rng), Budget(20_000), 1, number)
        for number in range(10)
    ]
    costs: list[int] = []
    runner = dispatch.runner

    def timed(*sides: Any) -> Callable[..., None]:
        run = runner(*sides)

        def call(*arguments: Any) -> None:
            before = process_time_ns()
            run(*arguments)
            costs.append(process_time_ns() - before)

        return call

    rounds = 6
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "runner", timed)
        for _ in range(rounds):
            assert all(
                len(trace) == 20_000 for trace in run_single(environment_class, agent, exercises)
            )
    return len(costs) // rounds, min(costs)
