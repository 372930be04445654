"""Small campaigns, and what their results are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from omnimeter.contract import Outcome, Spec
from omnimeter.execution.units import Unit, this_process, units_of
from omnimeter.protocols import Evaluation
from omnimeter.results import Record, open_writer

SLOW = f"{Path(__file__).parent / 'slow_agents.py'}:Sleeper"


def small_campaign(
    directory: Path,
    seconds: float = 0.0,
    *,
    seeds: int = 2,
    exercises: int = 3,
    interactions: int = 4,
) -> Path:
    """A campaign of two agents for each seed; one is slow, if seconds are given."""
    other = Spec(SLOW, {"seconds": seconds}) if seconds else Spec("constant-v1", {"action": 0})
    for seed in range(seeds):
        given = {"environment_class": "cups-v1", "exercises": exercises, "seed": seed}
        protocol = Spec("sample-v1", {**given, "interactions": interactions})
        begin(directory, f"cups-{seed}", Evaluation(protocol, (Spec("random-v1"), other)))
    return directory


def bayesian_campaign(directory: Path) -> Path:
    """A campaign of one agent that has an offline phase, and one that has none."""
    given = {"environment_class": "gc-v1", "exercises": 2, "interactions": 5}
    agents = Spec("opps-ds-v1", {"budget": 20}), Spec("random-v1")
    begin(directory, "chains", Evaluation(Spec("bayesian-rl-v1", given), agents))
    return directory


def begin(directory: Path, name: str, evaluation: Evaluation) -> None:
    path = directory / "evaluations" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_writer(path, evaluation.to_json()):
        pass


def units_in(directory: Path) -> list[Unit]:
    places = sorted((directory / "evaluations").iterdir())
    return [unit for place in places if place.name != "cluster" for unit in units_of(place)]


def results_of(directory: Path) -> dict[str, list[Outcome]]:
    """All outcomes by the names of evaluations, however often exercises were begun."""
    places = sorted({Path(unit.directory) for unit in units_in(directory)})
    return {
        place.name: [replace(each, attempts=1) for each in Record(place).outcomes()]
        for place in places
    }


def expected(directory: Path, seconds: float = 0.0, *, seeds: int = 2) -> dict[str, list[Outcome]]:
    """The results of a small campaign, carried out in this process."""
    small_campaign(directory, seconds, seeds=seeds)
    this_process(units_in(directory), lambda receipt: None)
    return results_of(directory)
