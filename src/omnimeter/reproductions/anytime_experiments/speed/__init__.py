"""The same agent, slower and slower, by the tests with time and those without (section 7.2)."""

from __future__ import annotations

from pathlib import Path

from omnimeter.reproductions.anytime_experiments.speed.found import Found, find
from omnimeter.reproductions.anytime_experiments.speed.picture import draw
from omnimeter.reproductions.anytime_experiments.speed.plan import AGENTS, DEFINITIONS, Sizes
from omnimeter.reproductions.anytime_experiments.speed.words import statements
from omnimeter.reproductions.estimates import fields
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.reproduction import Report, Reproduced, silent

USUAL = Sizes(environments=400, sittings=60)


def reproduce(out: Path, report: Report = silent, *, sizes: Sizes = USUAL) -> Reproduced:
    """Let copies of agents, each slower than the one before, take the tests of four definitions."""
    found = find(sizes, report)
    records = _rows(found)
    return Reproduced(
        name="anytime-speed",
        title="The same agent, slower and slower: its score with time and without",
        statements=statements(found),
        figures=_figures(found),
        rows=records,
        files={
            "table": write_records(out / "speed.csv", records),
            "intervals": write_records(out / "intervals.csv", _intervals(found)),
            **draw(found, out),
        },
    )


def _rows(found: Found) -> list[dict[str, object]]:
    """A row for each copy of each agent, a column for each definition."""
    return [
        {
            "agent": agent.name,
            "times-slower": slowness,
            **{
                f"definition-{each.number}": found.of(agent, each.number).score(slowness).value
                for each in DEFINITIONS
            },
        }
        for agent in AGENTS
        for slowness in found.slowness
    ]


def _intervals(found: Found) -> list[dict[str, object]]:
    return [
        {
            "agent": each.agent.name,
            "definition": each.definition.number,
            "times-slower": slowness,
            **fields(each.score(slowness)),
        }
        for each in found.series
        for slowness in each.values
    ]


def _figures(found: Found) -> dict[str, float]:
    return {
        f"{each.agent.name}.definition-{each.definition.number}.{slowness}": each.score(
            slowness
        ).value
        for each in found.series
        for slowness in each.values
    }
