"""What the experiments share: the agents, readings of the text, runs, curves and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.lambda_agents import Follower, Oracle
from omnimeter.agents.simple import RandomAgent
from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import Budget, Exercise, Instance, InvalidInputError, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.estimation import Estimate, bootstrap, mean
from omnimeter.interaction import KernelAgent, run, run_single
from omnimeter.payoffs.functions import running_averages
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import REWARDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Reference:
    """A reference agent with the parameters of the thesis, and how it is drawn."""

    name: str  # in figures and rows
    title: str  # in texts
    make: Callable[[], KernelAgent]
    colour: str
    line: str
    marker: str

    @property
    def spec(self) -> Spec:
        """Its spec in the catalogue."""
        return Spec(f"{self.name}-v1")


ORACLE = Reference("oracle", "Oracle", Oracle, "#009e73", "-", "^")
Q_LEARNING = Reference("q-learning", "Q-learning", QLearning, "#d55e00", "-", "o")
FOLLOWER = Reference("follower", "Trivial follower", Follower, "#0072b2", "--", "s")
RANDOM = Reference("random", "Random", RandomAgent, "#6f7683", ":", "D")

REFERENCES = (ORACLE, Q_LEARNING, FOLLOWER, RANDOM)

INTERACTIONS = 10_000  # how long each exercise of chapter 5 lasts

SPACE = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|"
    "12+3++++++|1-----23-------|1++++++2-------3++|1----2+++3+"
)
"""The eight cells of Figure 5.1."""

PATTERN = "203210200"  # what Good and Evil do there


class WholeTurns(Lambda):
    """Displacements are drawn from 0 to the number of cells, which is staying once more."""

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw descriptions until one is that of a valid space."""
        cells = self.cells or self.max_cells
        while True:
            actions = min(1 + int(rng.geometric(0.5)), cells)  # from 2 on
            shape = (cells, actions - 1)
            steps = rng.integers(cells + 1, size=shape) * rng.choice((-1, 1), size=shape)
            description = "|".join(
                "".join(f"{action}{'+' * step}{'-' * -step}" for action, step in enumerate(cell, 1))
                for cell in steps.tolist()
            )
            try:
                return Lambda(space=description, stop=self.stop).draw(rng, complexity)
            except InvalidInputError:
                continue


READINGS: dict[str, Callable[..., Lambda]] = {
    "usual": Lambda,
    "no-swaps": partial(Lambda, cycle="never"),
    "swaps-by-product": partial(Lambda, cycle="product"),
    "three-actions": partial(Lambda, actions=3),
    "connections-drawn-anew": partial(Lambda, redraw="connections"),
    "whole-turns": WholeTurns,
}
"""What the text leaves open. First as everywhere else: an invalid space is drawn anew with its
number of actions, Good and Evil change places after at most cells to the power of actions, and
displacements are shorter than a whole turn. Then with one change at a time."""

USUAL, NO_SWAPS, PRODUCT_SWAPS, THREE_ACTIONS, CONNECTIONS, WHOLE_TURNS = READINGS


def checkpoints(interactions: int = INTERACTIONS) -> IntArray:
    """The points of a curve, in interactions: denser at first, where it changes most."""
    early = np.geomspace(1, interactions, 100)
    evenly = np.linspace(0, interactions, 201)[1:]
    return np.unique(np.ceil(np.concatenate([early, evenly])).astype(np.int64))


def draw_exercises(
    environment_class: Lambda, runs: int, interactions: int = INTERACTIONS, seed: int = 0
) -> list[Exercise]:
    """The same exercises, with the same random streams, for every agent."""
    return shared.draw_exercises(environment_class, Budget(interactions=interactions), runs, seed)


def alone_averages(
    environment_class: Lambda,
    agents: Sequence[Reference],
    exercises: Sequence[Exercise],
    points: IntArray,
) -> dict[str, FloatArray]:
    """The average reward of each agent alone: one row per exercise, one column per point."""
    runs = {agent.name: run_single(environment_class, agent.make(), exercises) for agent in agents}
    return {
        name: np.array([averages(trace, points) for trace in traces])
        for name, traces in runs.items()
    }


def joint_averages(
    environment_class: Lambda,
    agents: Sequence[Reference],
    exercises: Sequence[Exercise],
    points: IntArray,
) -> dict[str, FloatArray]:
    """The same for each of several agents that are in the same environment at once."""
    specs = tuple(agent.spec for agent in agents)
    joint = [replace(exercise, agent=specs[0], joint=specs) for exercise in exercises]
    runs = run(environment_class, [agent.make() for agent in agents], joint)
    table = np.array([[averages(trace, points) for trace in traces] for traces in runs])
    return {agent.name: table[:, seat] for seat, agent in enumerate(agents)}


def averages(trace: Trace, points: IntArray) -> FloatArray:
    """The average reward of a run after some numbers of interactions.

    Raises:
        RuntimeError: The run failed.
    """
    if trace.fault is not None:
        raise RuntimeError(f"a reference agent failed: {trace.fault.message}")
    return running_averages(trace.rewards)[points]


def final(averages: FloatArray) -> Estimate:
    """The mean of the runs' averages at the end."""
    return mean(averages[:, -1], support=REWARDS)


def converged_after(points: IntArray, averages: FloatArray, within: float = 0.02) -> int:
    """The number of interactions after which the mean curve stays this close to its last value."""
    curve = averages.mean(axis=0)
    away = np.flatnonzero(np.abs(curve - curve[-1]) > within)
    return int(points[away[-1] + 1]) if len(away) else int(points[0])


def crossing(
    points: IntArray, first: FloatArray, second: FloatArray, rng: np.random.Generator
) -> Estimate:
    """The number of interactions after which the first mean curve stays above the second.

    The interval is that of the bootstrap over runs, which are paired row by row. A curve that does
    not cross counts as if it did so at the very end.
    """
    differences = first - second
    runs = len(differences)

    def statistic(chosen: FloatArray, axis: int = -1) -> Any:
        rows = np.moveaxis(chosen, axis, -1)
        # How often each run was chosen, so that resampled curves need not be copied out.
        counts = (rows[..., np.newaxis] == np.arange(runs)).sum(axis=-2)
        return _last_crossing(points, counts @ differences)

    whole = (float(points[0]), float(points[-1]))
    return bootstrap(np.arange(runs), statistic, rng, resamples=999, support=whole)


def _last_crossing(points: IntArray, curves: FloatArray) -> FloatArray:
    """Where each curve is above 0 from then on, interpolated linearly between two points."""
    below = curves <= 0
    last = below.shape[-1] - 1 - np.argmax(below[..., ::-1], axis=-1)
    after = np.minimum(last + 1, len(points) - 1)
    under = np.take_along_axis(curves, last[..., np.newaxis], axis=-1)[..., 0]
    over = np.take_along_axis(curves, after[..., np.newaxis], axis=-1)[..., 0]
    rise = np.where(over > under, over - under, 1.0)
    between = points[last] - under / rise * (points[after] - points[last])
    crossed = np.where(after > last, between, points[-1])
    return np.asarray(np.where(below.any(axis=-1), crossed, points[0]), dtype=np.float64)


def draw_curves(axes: Axes, points: IntArray, curves: Mapping[str, FloatArray]) -> None:
    """Draw the average reward of each agent against the interactions, labelled at its end.

    Args:
        axes: The panel.
        points: The numbers of interactions.
        curves: By agent three rows (values, lower ends, upper ends), or the values of one run.
    """
    ends = []
    for agent in REFERENCES:
        curve = curves[agent.name]
        if curve.ndim == 1:
            axes.plot(points, curve, agent.line, color=agent.colour, lw=1.7)
        else:
            plots.plot_band(axes, points, curve, agent.colour, ls=agent.line)
        last = float(np.atleast_2d(curve)[0, -1])
        text = f"{last:z.2f}".replace("-", "\N{MINUS SIGN}")
        ends.append((last, f"{agent.title}\n{text}", agent.colour))
    # A single run may begin outside of these limits.
    axes.set(xlim=(0, int(points[-1])), ylim=(-0.12, 1.0))
    axes.set(xlabel="interactions", ylabel="average reward")
    axes.xaxis.set_major_formatter(plots.THOUSANDS)
    plots.grid_and_zero(axes)
    plots.label_ends(axes, ends, height=0.124)
