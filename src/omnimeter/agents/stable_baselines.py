"""Models of Stable-Baselines3 as agents: ``sb3-v1``."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from omnimeter.contract import Agent, Briefing, InvalidInputError, Observation, Space


class StableBaselines(Agent):
    """A model that Stable-Baselines3 has saved; it does not learn any more.

    Such a file may do anything when it is loaded. So this agent is not trusted: it has a process of
    its own, as agents from files have, and the file is loaded there only. An environment must have
    the actions and observations that the model was trained with.

    Args:
        file: The file that ``model.save`` wrote.
        algorithm: The algorithm that it was trained with.
        deterministic: Whether it takes the action that it thinks best. Otherwise it draws among
            them as in its training; a model of ``dqn`` then explores.
    """

    def __init__(
        self, file: str, algorithm: Literal["a2c", "dqn", "ppo"] = "ppo", deterministic: bool = True
    ) -> None:
        if not Path(file).is_file():
            message = f"There is no file {file}."
            raise InvalidInputError(message, "Name the file that model.save wrote, with its .zip.")
        if find_spec("stable_baselines3") is None:
            message = "Stable-Baselines3 is not installed, which sb3-v1 needs."
            raise InvalidInputError(message, "Install it: pip install 'omnimeter[sb3]'.")
        self._file, self._algorithm, self._deterministic = file, algorithm, deterministic
        self._model: Any = None

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Load the model, once in a process, and check that it fits."""
        path = Path(self._file)
        self._model = model = _loaded(str(path.resolve()), self._algorithm)
        theirs = _described(model.observation_space), getattr(model.action_space, "n", None)
        if theirs != (briefing.space, briefing.actions):
            raise InvalidInputError(
                f"The model in {path.name} was trained for {_shown(model.action_space)} and "
                f"{_shown(model.observation_space)}; this environment has {briefing.actions} "
                f"actions and observations of {_sizes(briefing.space)}.",
                "Give the class the parameters that it had in training.",
            )
        # Not by set_random_seed, which seeds the generators of Python and NumPy for all (§10.4).
        import torch

        seed = int(rng.integers(2**31))
        torch.manual_seed(seed)
        model.action_space.seed(seed)

    def act(self, reward: float, observation: Observation) -> int:  # noqa: ARG002
        """Take the action that the model predicts."""
        action, _ = self._model.predict(observation, deterministic=self._deterministic)
        return int(action)


@lru_cache(maxsize=4)
def _loaded(path: str, algorithm: str) -> Any:
    import stable_baselines3

    try:
        return getattr(stable_baselines3, algorithm.upper()).load(path, device="cpu")
    except Exception as error:
        raise InvalidInputError(
            f"{Path(path).name} cannot be loaded as a model of {algorithm}: "
            f"{type(error).__name__}: {error}.",
            "Give the algorithm that it was trained with, and a file that model.save wrote.",
        ) from error


def _described(space: Any) -> Space | None:
    """A space of Gymnasium as ours; ``None`` where the adapter makes none such."""
    if hasattr(space, "nvec"):
        return Space(tuple(int(size) for size in np.ravel(space.nvec)))
    return Space((int(space.n),), single=True) if hasattr(space, "n") else None


def _shown(space: Any) -> str:
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:100]}..."


def _sizes(space: Space) -> str:
    sizes = ", ".join(map(str, space.sizes[:20])) + ", ..." * (len(space.sizes) > 20)
    return f"{sizes} values" if space.single else f"the sizes {sizes}"
