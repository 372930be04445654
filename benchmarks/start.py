"""How long it takes to begin: ``import omnimeter`` and ``omnimeter --help`` in fresh processes.

Run ``python benchmarks/start.py``. It ends with 1 if one of them takes too long or loads a library
that it does not need. Processor time is judged: on a free core it is the time that a person waits.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import requires
from statistics import median

REPEATS = 15
IMPORT = "import omnimeter"
HELP = "import sys; sys.argv = ['omnimeter', '--help']; from omnimeter.cli import main; main()"


@dataclass(frozen=True)
class Beginning:
    """One way to begin.

    Attributes:
        name: What a person types.
        code: The same as a Python program.
        bar: Seconds that it may take.
        needs: The libraries that it may load.
    """

    name: str
    code: str
    bar: float
    needs: frozenset[str] = frozenset()


BEGINNINGS = (
    Beginning("import omnimeter", IMPORT, 0.2),
    Beginning("omnimeter --help", HELP, 0.3, frozenset({"typer", "rich"})),
)


def libraries() -> set[str]:
    """The libraries that Omnimeter stands on."""
    wanted = [line for line in requires("omnimeter") or () if "extra ==" not in line]
    return {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in wanted}


def timed(code: str) -> tuple[float, float]:
    """Seconds of processor time and of waiting for a fresh process."""
    before = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"This ended with {process.returncode}: {code}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - before


def loaded(code: str) -> set[str]:
    """The top-level modules that are there in the end."""
    tell = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    done = subprocess.run([sys.executable, "-c", tell + code], capture_output=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.decode().split()}


def examine(beginning: Beginning) -> bool:
    timed(beginning.code)  # warms the caches of files and of bytecode
    rounds = [timed(beginning.code) for _ in range(REPEATS)]
    processor, waiting = (median(column) for column in zip(*rounds, strict=True))
    quick = processor < beginning.bar
    print(
        f"{beginning.name}: {processor:.3f} s of processor time (waiting {waiting:.3f} s), "
        f"{processor / beginning.bar:.2f} of the bar of {beginning.bar:g} s: "
        f"{'it holds' if quick else 'IT DOES NOT HOLD'}"
    )
    here = loaded(beginning.code)
    late = sorted(libraries() - beginning.needs)
    early = [name for name in late if name in here]
    print(f"  must not be loaded: {', '.join(late)}")
    print(f"  loaded all the same: {', '.join(early) or 'none of them'}")
    return quick and not early


def main() -> int:
    verdicts = [examine(beginning) for beginning in BEGINNINGS]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
