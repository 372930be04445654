"""Campaigns on clusters: the executors by their names, and the table ``[slurm]``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from omnimeter.contract import InvalidInputError
from omnimeter.execution import units
from omnimeter.execution.cluster import ray_executor
from omnimeter.execution.slurm import Group, Resources, Settings
from omnimeter.execution.workers import cores
from omnimeter.interaction.handles import shown

if TYPE_CHECKING:
    from omnimeter.api.campaign_plan import Plan
    from omnimeter.execution.units import Executor, Unit

SLURM = "slurm"
"""What is submitted, and does not wait: no executor of units."""

EXECUTORS = (*units.EXECUTORS, "ray", SLURM)
"""What can carry out a campaign."""

MOST_TASKS = 100_000
"""Tasks of an array job; clusters admit fewer."""

_OWN = "array dependency job-name no-requeue open-mode output parsable requeue signal wrap"
_MEANT = {"mem": "memory", "time": "minutes"}


def executor_named(name: str, workers: int | None, address: str | None) -> Executor:
    """What carries out the units of a campaign; of Ray, on the cluster at an address."""
    if name == "ray":
        return ray_executor(workers, address)
    return units.EXECUTORS[name](workers or cores())


def check_address(address: Any) -> None:
    """Check the address of a Ray cluster.

    Raises:
        InvalidInputError: It is no text.
    """
    if not isinstance(address, str) or not address.strip():
        message = f"address={shown(address)} cannot be used."
        raise InvalidInputError(message, 'Give the address of a Ray cluster: "head:6379".')


def slurm_settings(
    tasks: int = 10,
    running: int | None = None,
    warning: int = 300,
    options: Sequence[str] = (),
) -> Settings:
    """How array jobs are submitted.

    Raises:
        InvalidInputError: A value cannot be used.
    """
    _check_counts({"tasks": tasks, "running": running}, MOST_TASKS)
    _check_counts({"warning": warning}, 65_535)  # which SLURM keeps in two bytes
    if isinstance(options, str) or not isinstance(options, Sequence):
        message = f"options={shown(options)} cannot be used."
        raise InvalidInputError(message, 'Give a list: ["--partition=long"].')
    for each in options:
        name = re.fullmatch(r"--([a-z][\w-]*)(=[^\n\r]*)?", each) if isinstance(each, str) else None
        if name is None:
            message = f"The options cannot have {shown(each)}."
            raise InvalidInputError(message, 'Write each as sbatch takes it: "--partition=long".')
        if name[1] in _OWN.split():
            message = f"The options cannot have --{name[1]}: Omnimeter gives it itself."
            raise InvalidInputError(message, "Leave it out.")
        if name[1] in _MEANT:
            message = f"The options cannot have --{name[1]}."
            raise InvalidInputError(message, f"Give {_MEANT[name[1]]} in this table instead.")
    return Settings(tasks, running, warning, tuple(options))


def slurm_resources(
    memory: int | None = None,
    minutes: int | None = None,
    offline_memory: int | None = None,
    offline_minutes: int | None = None,
) -> tuple[Resources, Resources | None]:
    """What tasks may take: for exercises, and for offline phases, where these have their own.

    Raises:
        InvalidInputError: A value cannot be used.
    """
    counts = {"memory": memory, "offline_memory": offline_memory}
    counts |= {"minutes": minutes, "offline_minutes": offline_minutes}
    _check_counts(counts, 1 << 31)
    if offline_memory is None and offline_minutes is None:
        return Resources(memory, minutes), None
    return Resources(memory, minutes), Resources(
        offline_memory or memory, offline_minutes or minutes
    )


SETTINGS = frozenset(inspect.signature(slurm_settings).parameters)
"""The keys of ``[slurm]`` that are those of all jobs."""

RESOURCES = frozenset(inspect.signature(slurm_resources).parameters)
"""The keys of ``[slurm]`` that groups can have too."""


def _check_counts(counts: dict[str, Any], most: int) -> None:
    for name, value in counts.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int):
            message = f"{name}={shown(value)} cannot be used."
            raise InvalidInputError(message, "Give a whole number.")
        if not 1 <= value <= most:
            message = f"{name}={value} cannot be used."
            raise InvalidInputError(message, f"Give a number from 1 to {most:,}.")


def settings_in(plan: Plan) -> Settings:
    """How the array jobs of a campaign are submitted."""
    given = plan.slurm.get("", {})
    return slurm_settings(**{name: each for name, each in given.items() if name in SETTINGS})


def resources_in(plan: Plan, group: str) -> tuple[Resources, Resources | None]:
    """What the tasks of a group of agents may take; those without a group have ``""``.

    Raises:
        InvalidInputError: A task would be warned before it begins.
    """
    given = {**plan.slurm.get("", {}), **plan.slurm.get(group, {})}
    both = slurm_resources(**{name: each for name, each in given.items() if name in RESOURCES})
    warning = settings_in(plan).warning
    for name, each in zip(("minutes", "offline_minutes"), both, strict=True):
        if each and each.minutes is not None and 60 * each.minutes <= warning:
            message = f"{name}={each.minutes} is no more than the warning, {warning} seconds."
            raise InvalidInputError(message, "Give more minutes, or a shorter warning.")
    return both


def array_jobs(plan: Plan, given: Sequence[Unit]) -> list[Group]:
    """Units by the groups of agents that have limits of their own; these become array jobs."""
    limited = plan.limits.keys() | plan.slurm.keys()
    by_group: dict[str, list[Unit]] = {}
    for unit in given:
        group = plan.groups.get(unit.agents[0].label, "")
        by_group.setdefault(group if group in limited else "", []).append(unit)
    names: dict[str, str] = {}
    for group in by_group:
        name = re.sub(r"[^A-Za-z0-9_.]+", "-", group).strip("-.") or "all"
        while name in names.values():
            name += "-2"
        names[group] = name
    return [Group(names[group], own, *resources_in(plan, group)) for group, own in by_group.items()]
