"""A scripted SLURM: its commands run the tasks of array jobs as processes on this machine.

``scripted_slurm.py NAME ARGUMENTS...`` is the command NAME. Jobs are files in the folder that the
environment variable ``SCRIPTED_SLURM`` names. A task whose file says ``REQUEUE`` when its script
has ended is started again.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


def jobs() -> Path:
    return Path(os.environ["SCRIPTED_SLURM"])


def options_of(script: Path) -> dict[str, str]:
    given = re.findall(r"^#SBATCH (.*)$", script.read_text(), re.MULTILINE)
    words = [word for line in given for word in shlex.split(line)]
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def sbatch(*arguments: str) -> None:
    """Submit a script: a process of its own runs its tasks."""
    script, job = Path(arguments[-1]), len(list(jobs().glob("*.args"))) + 1
    (jobs() / f"{job}.args").write_text("\n".join(arguments))
    first, last = options_of(script)["--array"].split("%")[0].split("-")
    for task in range(int(first), int(last) + 1):
        (jobs() / f"{job}_{task}.state").write_text("PENDING")
    command = [sys.executable, __file__, "run", str(job), str(script)]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    runner = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL, **quiet)
    (jobs() / f"{job}.runner").write_text(str(runner.pid))
    print(f"{job};cluster")


def run(job: str, script: str) -> None:
    """Run the tasks of a job, one after the other."""
    output = options_of(Path(script))["--output"]
    for state in sorted(jobs().glob(f"{job}_*.state")):
        task, restart = state.stem.split("_")[1], 0
        own = {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": task}
        while state.read_text() in {"PENDING", "REQUEUE"}:
            state.write_text("RUNNING")
            with Path(output.replace("%a", task).replace("%%", "%")).open("ab") as log:
                environment = {**os.environ, **own, "SLURM_RESTART_COUNT": str(restart)}
                both = {"stdout": log, "stderr": log}
                process = subprocess.Popen(["bash", script], env=environment, **both)
                (jobs() / f"{job}_{task}.pid").write_text(str(process.pid))
                while process.poll() is None:
                    if state.read_text() == "REQUEUE":  # it is ended, as by SLURM
                        process.send_signal(signal.SIGTERM)
                        with suppress(subprocess.TimeoutExpired):
                            process.wait(5)
                        process.kill()
                    time.sleep(0.05)
            restart += 1
        state.unlink()


def squeue(*arguments: str) -> None:
    for state in sorted(jobs().glob("*.state")):
        print(*state.stem.split("_"), state.read_text().replace("REQUEUE", "PENDING"))


def scontrol(verb: str, task: str) -> None:
    assert verb == "requeue"
    (jobs() / f"{task}.state").write_text("REQUEUE")


if __name__ == "__main__":
    name, *given = sys.argv[1:]
    {"sbatch": sbatch, "run": run, "squeue": squeue, "scontrol": scontrol}[name](*given)
