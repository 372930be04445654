"""Third-party parts: compiled, stepwise and plain runs give one and the same trace."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Budget, Ending, Exercise, Instance, Spec, Trace
from omnimeter.interaction import interact, run_single

WALKS = ["sample-walk-v1", "sample-plain-walk-v1"]
AGENTS = ["sample-table-v1", "sample-plain-v1"]

PLAIN = """
import sys
sys.path[:0] = sys.argv[1:]
from test_catalogue_plugin_runs import digest, exercises, stepwise
print(digest([stepwise(exercise) for exercise in exercises("sample-walk-v1", "sample-table-v1")]))
"""


def exercises(walk: str, agent: str, interactions: int = 300) -> list[Exercise]:
    """Exercises on rings of different sizes."""
    environment_class = make(Kind.ENVIRONMENT, Spec(walk))
    rng = np.random.default_rng(5)
    return [
        Exercise(
            agent=Spec(agent),
            environment_class=Spec(walk),
            instance=environment_class.draw(rng, complexity=3 + number),
            budget=Budget(interactions),
            seed=11,
            number=number,
        )
        for number in range(6)
    ]


def stepwise(exercise: Exercise) -> Trace:
    environment_class = make(Kind.ENVIRONMENT, exercise.environment_class)
    agent = make(Kind.AGENT, exercise.agent)
    environment = environment_class.build(exercise.instance)
    return interact(environment, agent, exercise.budget, exercise.stream, record=True)


def compiled(taken: list[Exercise]) -> list[Trace]:
    walk = make(Kind.ENVIRONMENT, taken[0].environment_class)
    return list(run_single(walk, make(Kind.AGENT, taken[0].agent), taken, record=True))


def digest(traces: list[Trace]) -> str:
    """The bits of everything that happened."""
    result = hashlib.sha256()
    for trace in traces:
        for column in (trace.rewards, trace.times, trace.actions, trace.observations):
            result.update(np.ascontiguousarray(column).tobytes())
    return result.hexdigest()


def test_compiled_stepwise_and_plain_runs_are_the_same(plugin: str) -> None:
    taken = exercises("sample-walk-v1", "sample-table-v1")
    expected = digest(compiled(taken))
    assert digest([stepwise(exercise) for exercise in taken]) == expected
    plain = subprocess.run(
        [sys.executable, "-c", PLAIN, plugin, str(Path(__file__).parent)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert plain.stdout.strip() == expected, plain.stderr


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(("walk", "agent"), list(product(WALKS, AGENTS)))
def test_any_two_parts_meet(walk: str, agent: str) -> None:
    for exercise in exercises(walk, agent, interactions=50):
        trace = stepwise(exercise)
        assert (trace.ending, len(trace), trace.fault) == (Ending.BUDGET, 50, None)
        assert set(trace.rewards) <= {-1.0, 0.0, 1.0}


@pytest.mark.usefixtures("plugin")
def test_table_learner_learns() -> None:
    traces = compiled(exercises("sample-walk-v1", "sample-table-v1", interactions=2000))
    assert np.mean([trace.rewards[-1000:].mean() for trace in traces]) > 0.5


def test_kernels_in_a_file_of_the_user(
    plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path))
    shutil.copy(Path(plugin, "omnimeter_sample", "table.py"), "my-learner.py")
    taken = exercises("sample-walk-v1", "my-learner.py:TableLearner")
    assert digest([stepwise(exercise) for exercise in taken]) == digest(compiled(taken))


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("walk", WALKS)
def test_walk_is_balanced(walk: str) -> None:
    """Over all starting cells and all sequences of actions, the rewards sum to 0."""
    environment_class = make(Kind.ENVIRONMENT, Spec(walk))
    environment = environment_class.build(Instance({"size": 4, "good": 1, "bad": 2}))
    environment.start(np.random.default_rng(0))
    total = 0.0
    for start, actions in product(range(4), product(range(3), repeat=3)):
        _put(environment, start)
        total += sum(environment.step(action).reward for action in actions)
    assert total == 0.0


def _put(environment: object, cell: int) -> None:
    if hasattr(environment, "state"):
        environment.state.position[0] = cell
    else:
        environment.position = cell  # type: ignore[attr-defined] # the plain walk
