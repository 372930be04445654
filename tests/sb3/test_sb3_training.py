"""Real trainers: Stable-Baselines3 by its standard entry points, and the example in plain PyTorch.

``make test-sb3`` runs these; elsewhere they are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

sb3 = pytest.importorskip("stable_baselines3", reason="see `make test-sb3`")
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402 - after the check
from stable_baselines3.common.vec_env import SubprocVecEnv  # noqa: E402

import omnimeter as om  # noqa: E402
import omnimeter.gymnasium_adapter  # noqa: E402 - registers the environments
from omnimeter.catalogue import Kind, make, parse  # noqa: E402
from omnimeter.contract import Agent, InvalidInputError, Spec  # noqa: E402
from omnimeter.environments.cups import Cups  # noqa: E402
from omnimeter.testing import AgentSuite  # noqa: E402

ROOT = Path(__file__).parents[2]
CUPS = {"complexity": 4, "rule": "rest"}
CLASS = Spec("cups-v1", {"rule": "rest"})


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model of each algorithm, after some thousand steps."""
    folder = tmp_path_factory.mktemp("models")
    how = {**CUPS, "interactions": 100}
    settings: dict[str, dict[str, Any]] = {
        "ppo": {"n_steps": 256},
        "a2c": {},
        "dqn": {"learning_starts": 100},
    }
    for algorithm, steps in {"ppo": 4096, "a2c": 500, "dqn": 2000}.items():
        vector = make_vec_env("omnimeter/cups-v1", n_envs=2, seed=0, env_kwargs=how)
        trainer = getattr(sb3, algorithm.upper())
        model = trainer("MlpPolicy", vector, seed=0, device="cpu", **settings[algorithm])
        model.learn(steps).save(folder / f"{algorithm}.zip")
    return folder


def label(models: Path, model: str, **parameters: Any) -> Spec:
    given = {"algorithm": model, **parameters, "file": str(models / f"{model}.zip")}
    return parse(Kind.AGENT, Spec("sb3-v1", given).label)


def scores(*agents: Spec, **given: Any) -> Any:
    how: dict[str, Any] = {"complexity": 4, "exercises": 4, "interactions": 60, "seed": 0} | given
    return om.evaluate(list(agents), CLASS, **how)


# Training


@pytest.mark.parametrize("kind", [None, SubprocVecEnv])
def test_vectors_of_stable_baselines_render(kind: Any) -> None:
    # The module before the id, because new processes have imported nothing.
    name = "omnimeter.gymnasium_adapter:omnimeter/cups-v1"
    vector = make_vec_env(name, n_envs=2, env_kwargs=CUPS, vec_env_cls=kind)
    vector.reset()
    assert [frame.shape for frame in vector.get_images()] == [(360, 480, 3)] * 2
    tiles = vector.render("rgb_array")
    assert tiles is not None
    assert tiles.any()
    vector.close()


@pytest.mark.parametrize("name", ["cups-v1", "lambda-v1", "automata-v1", "gymnasium-v1"])
def test_a_trainer_is_given_an_id(name: str) -> None:
    model = sb3.PPO("MlpPolicy", f"omnimeter/{name}", n_steps=32, batch_size=32, device="cpu")
    assert model.learn(64).num_timesteps == 64


def test_training_helps(models: Path) -> None:
    """Measured 0.20 for the model, and 0 for the random agent, whose standard error is 0.02."""
    result = scores(label(models, "ppo"), Spec("random-v1"), exercises=8, interactions=200)
    model, random = (each.value for each in result.scores.values())
    assert model > 0.1 > random


# Models as agents


@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "dqn"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_models_are_repeatable_in_the_process_of_their_own(
    models: Path, algorithm: str, deterministic: bool
) -> None:
    agent = label(models, algorithm, deterministic=deterministic)
    first, second = (scores(agent, exercises=2, traces=True) for _ in range(2))
    (one,), (other,) = (list(each.outcomes.values()) for each in (first, second))
    assert [each.payoff for each in one] == [each.payoff for each in other]
    assert all(each.fault is None for each in one)


def test_the_file_is_part_of_the_record(models: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model.zip"
    shutil.copy(models / "ppo.zip", copy)
    first = parse(Kind.AGENT, Spec("sb3-v1", {"file": str(copy)}).label)
    assert first.digest
    assert first.digest == label(models, "ppo").digest
    shutil.copy(models / "a2c.zip", copy)
    assert parse(Kind.AGENT, Spec("sb3-v1", {"file": str(copy)}).label).digest != first.digest
    with pytest.raises(InvalidInputError, match="has changed since"):
        make(Kind.AGENT, first)


def test_a_file_is_loaded_in_the_process_of_the_agent_only(models: Path, tmp_path: Path) -> None:
    """The pickle in this file tells in which process it was loaded, and writes where it can."""
    import base64
    import pickle

    class Payload:
        def __reduce__(self) -> Any:
            source = (
                f"import os; os.path.exists({str(tmp_path)!r}) and "
                f"open({str(tmp_path / 'canary')!r}, 'w').write(str(os.getpid()))"
            )
            return exec, (source,)

    bad = tmp_path / "bad.zip"
    with zipfile.ZipFile(models / "ppo.zip") as good, zipfile.ZipFile(bad, "w") as written:
        for name in good.namelist():
            content = good.read(name)
            if name == "data":
                data = json.loads(content)
                text = base64.b64encode(pickle.dumps(Payload())).decode()
                data["lr_schedule"] = {":type:": "<class 'function'>", ":serialized:": text}
                content = json.dumps(data).encode()
            written.writestr(name, content)
    agent = parse(Kind.AGENT, Spec("sb3-v1", {"file": str(bad)}).label)
    scores(agent, exercises=1, sandbox="none")
    assert int((tmp_path / "canary").read_text()) != os.getpid()  # the payload works
    (tmp_path / "canary").unlink()
    scores(agent, exercises=1)
    inner = Spec("slowed-v1", {"agent": agent.label, "seconds": 0.01})
    scores(parse(Kind.AGENT, inner.label), exercises=1)
    assert not (tmp_path / "canary").exists()


def test_a_model_of_other_spaces_or_another_algorithm_says_so(models: Path) -> None:
    result = scores(label(models, "ppo"), complexity=5, exercises=1)
    (outcomes,) = result.outcomes.values()
    assert "trained for Discrete(4)" in outcomes[0].fault.message
    assert "this environment has 5 actions" in outcomes[0].fault.message
    wrong = label(models, "ppo", algorithm="dqn")
    (outcomes,) = scores(wrong, exercises=1).outcomes.values()
    assert "cannot be loaded as a model of dqn" in outcomes[0].fault.message


class TestModel(AgentSuite):
    """The conformance suite, in the environments that the model was trained for."""

    @pytest.fixture(autouse=True)
    def _model(self, models: Path) -> None:
        type(self).file = str(models / "ppo.zip")

    file = ""

    def make(self) -> Agent:
        agent: Agent = make(Kind.AGENT, Spec("sb3-v1", {"file": self.file}))
        return agent

    def environments(self) -> list[Any]:
        return [Cups(4, 4, rule="rest")]


# A trainer in one file


def test_the_example_learns_and_is_scored(tmp_path: Path) -> None:
    example = tmp_path / "plain_ppo.py"
    shutil.copy(ROOT / "examples" / "plain_ppo.py", example)
    done = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    means = [float(line.split()[-1]) for line in done.stdout.splitlines() if "reward" in line]
    assert means[0] < 0.2 < means[-1]
    agent = parse(Kind.AGENT, f"{example}:Trained")
    (value,) = (each.value for each in scores(agent, exercises=6, interactions=200).scores.values())
    assert value > 0.1
