"""Whether it pays to fail on purpose in a test that adapts (anytime test, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omnimeter.reproductions.anytime_experiments.cheat.found import Played, find, gain
from omnimeter.reproductions.anytime_experiments.cheat.picture import draw
from omnimeter.reproductions.anytime_experiments.cheat.rules import MOST, RULES, play
from omnimeter.reproductions.anytime_experiments.cheat.words import (
    A_LITTLE,
    MANY,
    limited_rows,
    rows,
    statements,
)
from omnimeter.reproductions.files import write_records
from omnimeter.reproductions.reproduction import Report, Reproduced, silent

SITTINGS = 100
ROUNDS = 22


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    sittings: int = SITTINGS,
    rounds: int = ROUNDS,
) -> Reproduced:
    """Let cheats and honest agents take both anytime tests, and model the rules for the level.

    Args:
        out: Where to write.
        report: Told what is being done.
        sittings: How many each of them takes.
        rounds: How many exercises each sitting has.
    """
    found = find(sittings, rounds, report)
    return describe(found, out)


def describe(found: Sequence[Played], out: Path) -> Reproduced:
    """Say and draw what the tests have shown."""
    records = rows(found)
    return Reproduced(
        name="anytime-cheat",
        title="Failing on purpose, to be given easy environments again",
        statements=statements(found),
        figures=_figures(found),
        rows=records,
        files={
            "table": write_records(out / "gains.csv", records),
            "limited": write_records(out / "limited.csv", limited_rows(found)),
            **draw(found[0], out),
        },
    )


def _figures(found: Sequence[Played]) -> dict[str, float]:
    figures = {"most": MOST}
    for played in found:
        name, end = played.trial.name, played.honest.rounds
        figures[f"{name}.honest"] = float(played.honest.scores(end).mean())
        for easy, cheat in played.cheats.items():
            figures[f"{name}.cheat-{easy}"] = float(cheat.scores(end).mean())
            figures[f"{name}.cheat-{easy}.gain"] = gain(cheat, played.honest, end).value
            figures[f"{name}.cheat-{easy}.level"] = cheat.level(end).value
            limited = played.limited[easy]
            figures[f"{name}.limited-{easy}"] = float(limited.scores(end).mean())
            figures[f"{name}.cheat-{easy}.gain-over-limited"] = gain(cheat, limited, end).value
    for name, rule in RULES.items():
        for failing in (A_LITTLE, 1.0):
            score = float(play(rule, failing, MANY).mean())
            figures[f"model.{name.replace(' ', '-')}.{failing:g}"] = score
    return figures
