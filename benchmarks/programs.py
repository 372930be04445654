"""Round trips to programs, as ratios to a Python agent from a file: benchmarks/programs.py.

All are in processes of their own, in the best sandbox of this machine. The agents of
examples/programs learn in their answers, and the Python agent does nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from measuring import verdict

from omnimeter.catalogue import Kind, parse
from omnimeter.contract import Briefing, single
from omnimeter.interaction.process import NO_OP, AgentProcess
from omnimeter.interaction.sandbox import Sandboxing, sandbox_for

EXAMPLES = Path(__file__).parents[1] / "examples" / "programs"
ROUNDS, TRIPS = 7, 2_000
PROGRAMS = {"C": "./agent", "JavaScript": "node agent.js"}
BARS = {"C": 1.0, "JavaScript": 3.0}


def round_trip(process: AgentProcess) -> float:
    """The median nanoseconds of a message and its answer."""
    times = []
    process.begin(Briefing(4, single(8)), 0)
    for number in range(TRIPS):
        before = perf_counter_ns()
        process.ask(0.5, number % 8, None)
        times.append(perf_counter_ns() - before)
    process.finish(0.0, 0)
    return median(times)


def ratios() -> dict[str, float]:
    """How many times as long as a Python agent each program takes, of those that can run here."""
    tools = {"C": "cc", "JavaScript": "node"}
    known = {name: run for name, run in PROGRAMS.items() if shutil.which(tools[name])}
    sandbox = sandbox_for(Sandboxing.AUTO)
    measured: dict[str, list[float]] = {name: [] for name in known}
    if "C" in known:
        subprocess.run(["cc", "-O2", "-o", "agent", str(EXAMPLES / "agent.c")], check=True)
    shutil.copy(EXAMPLES / "agent.js", ".")
    specs = {name: parse(Kind.AGENT, f'command(run="{run}")') for name, run in known.items()}
    for _ in range(ROUNDS):  # in turn, so that what disturbs one disturbs the other
        with AgentProcess(NO_OP, sandbox=sandbox) as reference:
            python = round_trip(reference)
        for name, spec in specs.items():
            with AgentProcess(spec, sandbox=sandbox) as process:
                measured[name].append(round_trip(process) / python)
    return {name: median(each) for name, each in measured.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        measured = ratios()
        os.chdir("/")
    holds = [
        verdict(f"round trip of the agent in {name} and in Python", ratio, at_most=BARS[name])
        for name, ratio in measured.items()
    ]
    sys.exit(not all(holds))
