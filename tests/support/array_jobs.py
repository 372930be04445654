"""What tests see of the array jobs of a campaign while they run."""

from __future__ import annotations

import json
import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from omnimeter.execution.slurm import Collected, collect
from private_network import until


def begun(directory: Path) -> list[dict[str, object]]:
    """The attempts that are under way or ended in a death, as they were noted."""
    notes = []
    for path in (directory / "attempts").glob("*"):
        for line in path.read_text().split("\n"):
            with suppress(ValueError):
                notes.append(json.loads(line))
    return [note for note in notes if note["event"] == "begun"]


def ended(seconds: float = 90) -> None:
    """Wait until all jobs of the scripted SLURM have ended."""
    jobs = Path(os.environ["SCRIPTED_SLURM"])
    until(lambda: not any(jobs.glob("*.state")), seconds, "the end of all jobs")


def really_collected(study: Path) -> Collected:
    """What became of real jobs; tasks that were queued again do not wait their two minutes."""
    since: dict[str, float] = {}
    end = time.monotonic() + 240
    while active := collect(study).active:
        assert time.monotonic() < end, active
        for task, state in active.items():
            if state != "PENDING":
                since.pop(task, None)
            elif time.monotonic() - since.setdefault(task, time.monotonic()) > 5:
                scontrol("update", f"JobId={task}", "StartTime=now")
                del since[task]
        time.sleep(0.5)
    return collect(study)


def scontrol(*words: str) -> None:
    subprocess.run(["scontrol", *words], check=True, capture_output=True)
