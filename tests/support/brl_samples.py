"""Results of Bayesian RL agents with given returns and computation times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import log2
from pathlib import Path

import numpy as np

from omnimeter.contract import Outcome, Spec
from omnimeter.protocols import Result
from omnimeter.protocols.evaluation import judge
from omnimeter.protocols.times import Machine, Times
from omnimeter.reports.settings import Setting, settings_of
from omnimeter.results import Record, open_writer
from reports_samples import an_evaluation, an_outcome

HOME = {"name": "Processor A", "calibration_us": 30.0}
DECISIONS = 250
MACHINE = Machine("Processor A", 30.0)


def remarks(
    online: float, offline: float | None = None, machine: Mapping[str, object] = HOME
) -> dict[str, object]:
    """What a measured trajectory says of its times; every decision takes equally long."""
    place = str(round(8 * log2(online * 1e9)))
    said: dict[str, object] = {
        "online": {
            "decisions": DECISIONS,
            "wall_s": online * DECISIONS,
            "cpu_s": online * DECISIONS * 0.9,
            "max_s": online,
            "histogram": {place: DECISIONS},
        },
        "machine": dict(machine),
    }
    if offline is not None:
        said["offline"] = {"key": "k", "wall_s": offline, "cpu_s": offline}
    return said


def outcomes(
    agent: Spec, returns: Sequence[float], online: float, offline: float | None = None
) -> list[Outcome]:
    return [
        replace(an_outcome(agent, number, value), remarks=remarks(online, offline))
        for number, value in enumerate(returns)
    ]


def a_setting(
    agent: Spec | str,
    returns: Sequence[float],
    online: float = 1e-3,
    offline: float = 0.0,
    machine: Machine = MACHINE,
    **more: object,
) -> Setting:
    spec = Spec(agent) if isinstance(agent, str) else agent
    times = Times(offline, offline, 250, 250 * online, 250 * online, online, {160: 250})
    made = Setting("gc", spec, dict(enumerate(returns)), {machine: times})
    return replace(made, **more)  # type: ignore[arg-type]


GRID: Mapping[str, tuple[float, Sequence[Mapping[str, object]], float, float | None]] = {
    # algorithm: mean return, parameters, seconds per decision of the first setting, offline
    "random-v1": (31.0, [{}], 4e-8, None),
    "e-greedy-v1": (40.0, [{"epsilon": e / 10} for e in range(6)], 6e-6, 2e-5),
    "soft-max-v1": (37.0, [{"tau": t} for t in (0.05, 0.1, 0.5, 1.0, 2.5)], 7e-6, 2e-5),
    "opps-ds-v1": (
        41.5,
        [{"formulas": 3, "budget": b} for b in (50, 500, 2500, 10**4, 10**5, 10**6)],
        1.2e-5,
        0.1,
    ),
    "bamcp-v1": (36.0, [{"depth": 15, "k": k} for k in (1, 10, 100, 500, 2500, 10000)], 4e-6, 3e-5),
    "bfs3-v1": (39.0, [{"c": 15, "depth": 15, "k": k} for k in (1, 5, 50, 250, 500)], 4e-5, 3e-5),
    "sboss-v1": (
        36.0,
        [{"delta": 1, "epsilon": e} for e in (1, 0.1, 0.01, 1e-3, 1e-4)],
        2e-6,
        2e-5,
    ),
    "beb-v1": (41.3, [{"beta": b} for b in (0.25, 0.5, 1, 1.5, 2.5, 4)], 9e-6, 2e-5),
}


@cache
def campaign(mdps: int = 200, seed: int = 1) -> Result:
    """Eight algorithms in forty settings, on the same MDPs; later settings take longer."""
    rng = np.random.default_rng(seed)
    difficulty = rng.normal(0, 12, mdps)
    done = {}
    for algorithm, (level, settings, online, offline) in GRID.items():
        for place, parameters in enumerate(settings):
            agent = Spec(algorithm, parameters)
            slower = 6.0**place if algorithm in ("bamcp-v1", "bfs3-v1", "sboss-v1") else 1.05**place
            start = None if offline is None else offline * rng.uniform(0.8, 1.2)
            if algorithm == "opps-ds-v1":
                start = 0.1 * 7.0**place
            mean = level - 6 * abs(place / len(settings) - 0.6)
            returns = mean + difficulty + rng.normal(0, 4, mdps)
            done[agent] = outcomes(agent, returns.tolist(), online * slower, start)
    protocol = an_evaluation(tuple(done)).make_protocol()
    return judge(protocol, done, complete=True)


def campaign_settings(mdps: int = 200, seed: int = 1) -> list[Setting]:
    return settings_of(campaign(mdps, seed), "gc")


def a_stored_campaign(path: Path, result: Result, algorithms: Sequence[str] = ()) -> Record:
    """Some algorithms of a campaign, or all of them, on disk."""
    agents = tuple(each for each in result.outcomes if not algorithms or each.id in algorithms)
    mdps = len(result.outcomes[agents[0]])
    with open_writer(path, an_evaluation(agents, mdps).to_json()) as writer:
        writer.append([outcome for agent in agents for outcome in result.outcomes[agent]])
    return Record(path)
