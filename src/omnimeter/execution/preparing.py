"""Offline phases, kept by their identity, and how long agents and this machine take to compute."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from omnimeter.catalogue import Kind, make, objects
from omnimeter.contract import Agent, EnvironmentClass, Fault, OmnimeterError, Prior, Spec, Trace
from omnimeter.contract.prior import Preparation
from omnimeter.contract.spec import JsonData, fingerprint
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.compilation import announce, cache_directory, yardsticks
from omnimeter.interaction.handles import AgentFault, prepared_by, restore
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.protocols.times import STEPS
from omnimeter.results.provenance import processor


@cache
def machine() -> dict[str, Any]:
    """The processor, and the microseconds that a fixed computation takes on it.

    Value iteration, 266 sweeps over 25 states, 4 actions and 25 successors: the shortest of some
    runs, by which times of different machines can be compared.
    """
    rng = np.random.Generator(np.random.PCG64(0))
    rewards = rng.random(100)
    transitions = rng.dirichlet(np.ones(25), size=100).ravel() * 0.95
    runs = [yardsticks().calibrate(rewards, transitions, np.zeros(25), 266) for _ in range(20)]
    return {"name": processor(), "calibration_us": round(min(runs) / 1000, 1)}


def computation(trace: Trace) -> dict[str, Any]:
    """The computation time of the decisions of a trace that was measured, in seconds.

    Returns:
        Their number, total wall and processor time (``None`` where it is not known), the longest
        wall time, and a histogram: bucket b holds the decisions of about 2^(b / 8) nanoseconds.
    """
    assert trace.wall_ns is not None  # measured
    wall, cpu = trace.wall_ns, trace.cpu_ns
    buckets = np.rint(STEPS * np.log2(np.maximum(wall, 1))).astype(np.int64)
    return {
        "decisions": len(wall),
        "wall_s": max(0, int(wall.sum())) / 1e9,
        "cpu_s": None if cpu is None else max(0, int(cpu.sum())) / 1e9,
        "max_s": int(wall.max(initial=0)) / 1e9,
        "histogram": {
            str(bucket): count for bucket, count in sorted(Counter(buckets.tolist()).items())
        },
    }


@dataclass(frozen=True)
class Prepared(JsonData):
    """What an agent prepared in its offline phase.

    Attributes:
        agent: The agent.
        preparation: For what.
        content: What it prepared.
        wall_s: The seconds that it took.
        cpu_s: Its processor time; ``None`` where the agent has a process of its own.
        machine: Where.
        fault: Why it could not prepare, if it could not; its exercises then end in this fault.
    """

    agent: Spec
    preparation: Preparation
    content: Mapping[str, Any]
    wall_s: float
    cpu_s: float | None
    machine: Mapping[str, Any]
    fault: Fault | None = None

    @property
    def key(self) -> str:
        """Its identity."""
        return self.preparation.key(self.agent)

    @cached_property
    def digest(self) -> str:
        """A name of what was prepared, by which agent and for what."""
        return fingerprint([self.key, dict(self.content)])

    def remark(self) -> dict[str, Any]:
        """What outcomes say of it."""
        times = {"wall_s": self.wall_s, "cpu_s": self.cpu_s}
        made = {"digest": self.digest, "machine": dict(self.machine)}
        return {"key": self.key, **made, **times}


def prior_of(preparation: Preparation) -> Prior:
    """What an agent is told, from its description."""
    return _prior(preparation, objects.generation())


@cache
def _prior(preparation: Preparation, generation: int) -> Prior:  # noqa: ARG001
    made: EnvironmentClass = make(Kind.ENVIRONMENT, preparation.prior)
    return Prior(made.distribution(), preparation.gamma, preparation.horizon)


def prepare(
    agent: Spec, preparation: Preparation, *, isolated: bool, limits: Limits, again: bool = False
) -> Prepared:
    """What an agent prepares, from where it was kept, or by its offline phase.

    Args:
        agent: The agent.
        preparation: For what.
        isolated: Whether it has a process of its own.
        limits: What it may take there.
        again: Whether to carry out the offline phase even if its result was kept.

    Raises:
        InvalidInputError: There is no such agent or prior, or they do not fit.
    """
    path = kept_at(agent, preparation)
    if path is not None and not again and path.exists():
        with suppress(OmnimeterError, OSError, ValueError):
            kept = Prepared.from_json(path.read_text(encoding="utf-8"), str(path))
            if (kept.agent, kept.preparation) == (agent, preparation):
                return kept
    announce(f"Preparing {agent.label} for {preparation.prior.label}")
    prepared = _carry_out(agent, preparation, isolated, limits)
    if path is not None and prepared.fault is None:
        with suppress(OSError):  # a cache: without it the phase is carried out again
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f"{path.name}.{os.getpid()}")
            temporary.touch(mode=0o600)  # the seed in it may be secret
            temporary.write_text(json.dumps(prepared.to_json()), encoding="utf-8")
            os.replace(temporary, path)
    return prepared


def kept_at(agent: Spec, preparation: Preparation) -> Path | None:
    """Where what an agent prepared is kept; nowhere for Python objects, which have no identity."""
    if objects.is_object(agent.id) or objects.is_object(preparation.prior.id):
        return None
    return cache_directory().parent / "prepared" / f"{preparation.key(agent)}.json"


def _carry_out(agent: Spec, preparation: Preparation, isolated: bool, limits: Limits) -> Prepared:
    prior, seed = prior_of(preparation), preparation.stream(agent).seed
    content: Mapping[str, Any] = {}
    fault, cpu, instant = None, None, False
    begun = perf_counter()
    try:
        if isolated:
            with AgentProcess(agent, limits) as process:
                process.view  # noqa: B018 - starts it and loads the agent, which is not timed
                begun = perf_counter()
                content = process.prepare(prior, seed)
        else:
            made = adapt(make(Kind.AGENT, agent))
            instant = type(made).prepare is Agent.prepare  # there is no offline phase to measure
            if warm_up := getattr(made, "warm_up", None):  # compiling is not learning
                warm_up()
            begun, cpu_begun = perf_counter(), thread_time()
            content = prepared_by(made, prior, seed)
            cpu = thread_time() - cpu_begun
        wall = perf_counter() - begun
        if not isolated:  # what fails here would fail in every exercise
            restore(adapt(make(Kind.AGENT, agent)), prior, content)
    except AgentFault as trouble:
        fault, wall = trouble.fault, perf_counter() - begun
    if instant:
        wall = cpu = 0.0
    return Prepared(agent, preparation, content, wall, cpu, machine(), fault)
