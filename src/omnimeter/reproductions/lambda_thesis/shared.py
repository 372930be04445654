"""What the experiments of chapter 5 share: the four agents, their runs, curves and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.lambda_agents import Follower, Oracle
from omnimeter.agents.simple import RandomAgent
from omnimeter.agents.temporal_difference import QLearning
from omnimeter.contract import Agent, Budget, Exercise, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.estimation import Estimate, bootstrap, mean
from omnimeter.interaction import run, run_single
from omnimeter.payoffs.functions import running_averages
from omnimeter.reports.style import MUTED
from omnimeter.reproductions import shared
from omnimeter.reproductions.shared import REWARDS, End, name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Reference:
    """One of the agents.

    Attributes:
        name: In figures and rows of programs.
        title: For a reader.
        make: A new one, with the parameters of the text.
        colour: Of its lines and points; told apart by colour-blind people.
        line: The style of its lines.
        marker: The shape of its points.
    """

    name: str
    title: str
    make: Callable[[], Agent]
    colour: str
    line: str
    marker: str

    @property
    def spec(self) -> Spec:
        """Its name in the catalogue."""
        return Spec(f"{self.name}-v1")


ORACLE = Reference("oracle", "Oracle", Oracle, "#009e73", "-", "^")
Q_LEARNING = Reference("q-learning", "Q-learning", QLearning, "#d55e00", "-", "o")
FOLLOWER = Reference("follower", "Trivial follower", Follower, "#0072b2", "--", "s")
RANDOM = Reference("random", "Random", RandomAgent, "#6f7683", ":", "D")

REFERENCES = (ORACLE, Q_LEARNING, FOLLOWER, RANDOM)


INTERACTIONS = 10_000
"""How long each exercise of chapter 5 lasts."""

SPACE = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|"
    "12+3++++++|1-----23-------|1++++++2-------3++|1----2+++3+"
)
"""The eight cells of Figure 5.1."""

PATTERN = "203210200"
"""What Good and Evil do there."""


def points_along(interactions: int = INTERACTIONS) -> IntArray:
    """After which interactions a curve is kept: closer together at first, where it changes most."""
    early = np.geomspace(1, interactions, 100)
    evenly = np.linspace(0, interactions, 201)[1:]
    return np.unique(np.ceil(np.concatenate([early, evenly])).astype(np.int64))


def exercises(
    environment_class: Lambda, runs: int, interactions: int = INTERACTIONS, seed: int = 0
) -> list[Exercise]:
    """The same exercises, with the same chances, for every agent."""
    return shared.exercises(environment_class, Budget(interactions=interactions), runs, seed=seed)


def alone(
    environment_class: Lambda, agent: Reference, taken: Sequence[Exercise], points: IntArray
) -> FloatArray:
    """The average reward of an agent alone: one row per exercise, one column per point."""
    traces = run_single(environment_class, agent.make, taken)
    return np.array([averages(trace, points) for trace in traces])


def joint(
    environment_class: Lambda,
    agents: Sequence[Reference],
    taken: Sequence[Exercise],
    points: IntArray,
) -> dict[str, FloatArray]:
    """What ``alone`` gives, for each of some agents who are in the same environment at once."""
    specs = tuple(agent.spec for agent in agents)
    exercises = [replace(exercise, agent=specs[0], joint=specs) for exercise in taken]
    runs = run(environment_class, [agent.make for agent in agents], exercises)
    kept = np.array([[averages(trace, points) for trace in traces] for traces in runs])
    return {agent.name: kept[:, seat] for seat, agent in enumerate(agents)}


def averages(trace: Trace, points: IntArray) -> FloatArray:
    """The average reward of a run after some numbers of interactions.

    Raises:
        RuntimeError: The run did not come to its end.
    """
    if trace.fault is not None:
        raise RuntimeError(f"a reference agent failed: {trace.fault.message}")
    return running_averages(trace.rewards)[points]


RESAMPLES = 999


@dataclass(frozen=True)
class Curve:
    """The mean of many runs' averages along the way.

    Attributes:
        points: After how many interactions.
        value: The mean at each point.
        low: The lower end of its 95 % interval.
        high: The upper end of it.
    """

    points: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


def curve_of(points: IntArray, averages: FloatArray) -> Curve:
    """The mean curve of many runs, with its band."""
    estimates = [mean(column, support=REWARDS) for column in averages.T]
    return Curve(
        points,
        np.array([each.value for each in estimates]),
        np.array([each.low for each in estimates]),
        np.array([each.high for each in estimates]),
    )


def final(averages: FloatArray) -> Estimate:
    """The mean of the runs' averages at the end."""
    return mean(averages[:, -1], support=REWARDS)


def settled_after(points: IntArray, averages: FloatArray, within: float = 0.02) -> int:
    """After how many interactions the mean curve stays this close to its end."""
    curve = averages.mean(axis=0)
    away = np.flatnonzero(np.abs(curve - curve[-1]) > within)
    return int(points[away[-1] + 1]) if len(away) else int(points[0])


def passes(
    points: IntArray, first: FloatArray, second: FloatArray, rng: np.random.Generator
) -> Estimate:
    """After how many interactions the first mean curve is above the second for good.

    The interval is that of the bootstrap over the runs, which belong together row by row. A curve
    that does not pass counts as if it did so at the very end.
    """
    differences = first - second
    runs = len(differences)

    def crossing(chosen: FloatArray, axis: int = -1) -> Any:
        rows = np.moveaxis(chosen, axis, -1)
        # How often each run was chosen, so that resampled curves need not be copied out.
        counts = (rows[..., np.newaxis] == np.arange(runs)).sum(axis=-2)
        return _last_crossing(points, counts @ differences)

    whole = (float(points[0]), float(points[-1]))
    return bootstrap(np.arange(runs), crossing, rng, resamples=RESAMPLES, support=whole)


def _last_crossing(points: IntArray, curves: FloatArray) -> FloatArray:
    """Where each curve is above 0 from then on, between two points on a straight line."""
    below = curves <= 0
    last = below.shape[-1] - 1 - np.argmax(below[..., ::-1], axis=-1)
    after = np.minimum(last + 1, len(points) - 1)
    under = np.take_along_axis(curves, last[..., np.newaxis], axis=-1)[..., 0]
    over = np.take_along_axis(curves, after[..., np.newaxis], axis=-1)[..., 0]
    rise = np.where(over > under, over - under, 1.0)
    between = points[last] - under / rise * (points[after] - points[last])
    crossed = np.where(after > last, between, points[-1])
    found: FloatArray = np.where(below.any(axis=-1), crossed, points[0]).astype(np.float64)
    return found


LOWEST, HIGHEST = -0.12, 1.0
"""Average rewards that are shown; a single run may begin outside of them."""

HEIGHT_OF_LINE = 0.062
"""Of a panel."""


def draw_curves(axes: Axes, curves: Mapping[str, Curve], *, band: bool = True) -> None:
    """The mean average reward of each agent along the interactions, named at its end."""
    for agent in REFERENCES:
        curve = curves[agent.name]
        if band:
            axes.fill_between(
                curve.points, curve.low, curve.high, color=agent.colour, alpha=0.16, lw=0
            )
        axes.plot(curve.points, curve.value, agent.line, color=agent.colour, lw=1.7)
    longest = max(int(curve.points[-1]) for curve in curves.values())
    axes.set(xlim=(0, longest), ylim=(LOWEST, HIGHEST))
    axes.set(xlabel="interactions", ylabel="average reward")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    name_agents(axes, {name: float(curve.value[-1]) for name, curve in curves.items()})


def name_agents(axes: Axes, ends: Mapping[str, float]) -> None:
    """The name of each agent and its last value, at the right of a panel."""
    named = [
        End(ends[each.name], f"{each.title}\n{written(ends[each.name])}", each.colour)
        for each in REFERENCES
    ]
    name_ends(axes, named, 2 * HEIGHT_OF_LINE)


def written(value: float, digits: int = 2) -> str:
    """A number for a reader, with a real minus sign and without a minus nought."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
