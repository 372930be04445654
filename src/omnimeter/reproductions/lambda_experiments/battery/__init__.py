"""The battery of Table 6.1 taken by the reference agents (Lambda thesis, chapter 6).

The exercises are those of the battery protocol itself: what is found here is what anybody finds who
runs the battery.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.agents.sarsa import ExpectedSarsa, Sarsa
from omnimeter.protocols.battery import Battery
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.lambda_experiments.agents import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    Reference,
)
from omnimeter.reproductions.lambda_experiments.battery.picture import draw
from omnimeter.reproductions.lambda_experiments.battery.results import Results
from omnimeter.reproductions.lambda_experiments.battery.taking import take_battery
from omnimeter.reproductions.lambda_experiments.battery.words import statements
from omnimeter.reproductions.reproduction import Report, Reproduced, silent
from omnimeter.statistics import correlation, mean

BATTERY = "thesis-table-6-1"

FEW = 20
"""Tests in the thesis."""

MANY = 2_000
"""Tests for tight numbers; the first of them are those of the thesis' size."""

AGENTS = (
    RANDOM,
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    Reference("sarsa", "SARSA", Sarsa, "#b5559a", "-.", "v"),
    Reference("expected-sarsa", "Expected SARSA", ExpectedSarsa, "#c28200", "-.", "P"),
)


def reproduce(out: Path, report: Report = silent) -> Reproduced:
    """Give the battery of Table 6.1 to each agent, in 20 tests and in 2,000."""
    return reproduce_with(out, FEW, MANY, min(2, os.cpu_count() or 1), report)


def reproduce_with(
    out: Path, few: int, many: int, workers: int, report: Report = silent
) -> Reproduced:
    """The same with other numbers of tests.

    Args:
        out: Where to write.
        few: Tests as in the thesis, the first of all.
        many: All tests.
        workers: How many processes take them.
        report: Told about progress.
    """
    results = take_battery(Battery(BATTERY, tests=many), AGENTS, workers, report)
    small = results.first(few)
    report("words and figures", 0.95)
    rows = [
        row for agent in AGENTS for row in _rows(agent.name, {"": results, f".{few}-tests": small})
    ]
    files = {
        "table": write_records(out / "table.csv", rows),
        "exercises": write_records(out / "exercises.csv", _exercises(results)),
        **draw(results, small, AGENTS, out),
    }
    return Reproduced(
        name="lambda-battery",
        title=f"The battery of Table 6.1, taken {many:,} times by each reference agent",
        statements=statements(results, few),
        figures={
            **_figures(results, ""),
            **_figures(small, f".{few}-tests"),
        },
        rows=rows,
        files=files,
    )


def _figures(results: Results, ending: str) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, rewards in results.rewards.items():
        figures[f"{name}{ending}.mean"] = float(np.mean(rewards))
        figures[f"{name}{ending}.sd"] = float(np.std(rewards, ddof=1))
        figures[f"{name}{ending}.pearson"] = results.correlation(name).value
    return figures


def _rows(agent: str, parts: dict[str, Results]) -> Iterator[dict[str, Any]]:
    """One row for each number of cells and one for all, with the numbers of each part."""
    cells = next(iter(parts.values())).cells.tolist()
    for place, name in enumerate([*cells, "all"]):
        row: dict[str, Any] = {"agent": agent, "cells": name}
        for ending, results in parts.items():
            chosen = results if name == "all" else results.only(place)
            numbers = _numbers(chosen.complexity.ravel(), chosen.rewards[agent].ravel())
            row.update({key + ending: value for key, value in numbers.items()})
        yield row


def _numbers(complexity: Any, rewards: Any) -> dict[str, float]:
    average, together = mean(rewards, support=(-1.0, 1.0)), correlation(complexity, rewards)
    return {
        "mean": average.value,
        "mean-low": average.low,
        "mean-high": average.high,
        "sd": float(np.std(rewards, ddof=1)),
        "pearson": together.value,
        "pearson-low": together.low,
        "pearson-high": together.high,
        "p": together.probability,
    }


def _exercises(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "test": test + 1,
            "cells": int(cells),
            "complexity": float(results.complexity[test, place]),
            **{name: float(rewards[test, place]) for name, rewards in results.rewards.items()},
        }
        for test in range(results.tests)
        for place, cells in enumerate(results.cells)
    ]
