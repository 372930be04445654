"""What an array task calls here: ``array_task.py campaign work DIR --part 0/2 --group NAME``.

The environment variable ``DEADLY_UNIT`` names a unit that kills its worker.
"""

import os
import signal
import sys
from pathlib import Path

from omnimeter.execution import slurm
from omnimeter.execution.units import Receipt, Unit, carry_out


def interrupt(number: int, frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def carefully(unit: Unit) -> Receipt:
    if unit.key == os.environ.get("DEADLY_UNIT"):
        print("This unit is deadly.", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return carry_out(unit)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    slurm.carry_out = carefully
    _, _, _, directory, _, part, _, group = sys.argv
    number, parts = map(int, part.split("/"))
    sys.exit(slurm.work(Path(directory), number, parts, group))
