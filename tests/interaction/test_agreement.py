"""Compiled, stepwise and plain runs give the same trace, for every pair of the catalogue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from time import process_time_ns
from typing import Any

import pytest

from agreement import Pair, compiled, digest, pairs, parts, stepwise
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Budget, Ending, Exercise, Spec, stream
from omnimeter.interaction import dispatch, run_single

HERE = Path(__file__).parents[1] / "support"

PARTS = 15
"""Compiling all pairs takes minutes: so many tests share them, which can run on several cores."""


@pytest.fixture
def all_pairs(plugin: str) -> dict[str, Pair]:
    """All pairs, by label."""
    return cached_pairs()


@cache
def cached_pairs() -> dict[str, Pair]:
    return dict(pairs())


def digests_elsewhere(plugin: str, *labels: str, **variables: str) -> dict[str, str]:
    """The digests of these pairs, or of all, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / "agreement.py"), plugin, *labels],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    digests: dict[str, str] = json.loads(done.stdout)
    return digests


@pytest.fixture(scope="module")
def plain_digests(plugin_path: str) -> dict[str, str]:
    """The digests of all pairs in a Python that compiles no kernels."""
    return digests_elsewhere(plugin_path, NUMBA_DISABLE_JIT="1")


@pytest.mark.parametrize("part", range(PARTS))
def test_all_runs_of_all_pairs_are_the_same(
    all_pairs: dict[str, Pair],
    plain_digests: dict[str, str],
    part: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_stepwise = dispatch.run_stepwise
    fallen_back = []

    def watched(*arguments: Any, **conditions: Any) -> Any:
        traces = run_stepwise(*arguments, **conditions)
        fallen_back.extend(traces)
        return traces

    chosen = parts(all_pairs, PARTS)[part]
    expected = {label: digest(stepwise(pair)) for label, pair in chosen.items()}
    assert {label: plain_digests[label] for label in chosen} == expected
    monkeypatch.setattr(dispatch, "run_stepwise", watched)
    for label, pair in chosen.items():
        if pair.compiles:
            fallen_back.clear()
            assert digest(compiled(pair)) == expected[label], label
            for trace in fallen_back:  # only of agents that did not accept the environment
                assert trace.ending is Ending.FAULT, label
                assert "when beginning" in trace.fault.message, label


@pytest.mark.parametrize(
    ("agent", "part", "count"),
    [("random-v1", part, 4) for part in range(4)]
    + [pytest.param("", part, PARTS, marks=pytest.mark.slow) for part in range(PARTS)],
)
def test_no_kernel_reads_outside_its_arrays(
    all_pairs: dict[str, Pair], plugin: str, agent: str, part: int, count: int
) -> None:
    """All environments with the random agent; all pairs, compiled anew, where time allows."""
    chosen = {label: pair for label, pair in all_pairs.items() if label.startswith(agent)}
    expected = {label: digest(stepwise(pair)) for label, pair in parts(chosen, count)[part].items()}
    assert expected
    assert digests_elsewhere(plugin, *expected, NUMBA_BOUNDSCHECK="1") == expected


def test_all_parts_take_part(all_pairs: dict[str, Pair]) -> None:
    """Otherwise the tests above would leave some out."""
    assert sum(map(len, parts(all_pairs, PARTS))) == len(all_pairs)
    assert all(parts(all_pairs, PARTS))
    assert sum(pair.compiles for pair in all_pairs.values()) > 80
    assert not all(pair.compiles for pair in all_pairs.values())
    ours = {pair.agent.id for pair in all_pairs.values()}
    assert {"apprentice-v1", "random-v1", "sample-table-v1", "sample-plain-v1"} <= ours
    places = {pair.exercises[0].environment_class for pair in all_pairs.values()}
    assert {Spec("cups-v1", {"rule": "rest"}), Spec("sample-walk-v1")} <= places


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

    def timed(*sides: Any, **options: Any) -> Callable[..., None]:
        run = runner(*sides, **options)

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
