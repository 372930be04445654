"""What journaling costs for each answer, beside flushing it to the disk.

Run ``python benchmarks/journal.py``. The bar is 100 microseconds of processor time. The same
exercise runs step by step with a journal and without one. Flushing is left out, and measured by
itself by the clock on the wall.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from tempfile import TemporaryDirectory
from time import perf_counter

from measuring import fastest, verdict

from omnimeter.contract import Budget, Exercise, Spec, stream
from omnimeter.environments.cups import Cups
from omnimeter.execution.journaling import JournaledAgent
from omnimeter.interaction.loop import run_stepwise
from omnimeter.interaction.process import NoOp
from omnimeter.results.journal import Entry, Journals

ANSWERS, BAR, FLUSHES = 1000, 100.0, 50


def main() -> int:
    cups = Cups()
    instance = cups.draw(stream(0, "instance").generator())
    spec, budget = Spec("no-op"), Budget(interactions=ANSWERS)
    exercise = Exercise(spec, Spec("cups-v1"), instance, budget, seed=0, number=0)
    numbers = count()
    with TemporaryDirectory() as directory:
        journals = Journals(directory)

        def journaled() -> None:
            agent = JournaledAgent(NoOp(), partial(journals.open, f"{next(numbers):016x}", 1))
            (trace,) = run_stepwise(cups, [agent], exercise)
            agent.close()
            assert len(trace) == ANSWERS
            assert trace.fault is None

        flush: Callable[[int], None] = os.fsync
        os.fsync = int  # does nothing
        try:
            rivals = {
                "journaled": journaled,
                "plain": lambda: run_stepwise(cups, [NoOp()], exercise),
            }
            taken = fastest(rivals)
        finally:
            os.fsync = flush
        with journals.open(f"{next(numbers):016x}", 1) as journal:
            before = perf_counter()
            for _ in range(FLUSHES):
                journal.append(Entry(0.0, "0" * 32, 0, None, 0))
            flushing = (perf_counter() - before) / FLUSHES
    own = (taken["journaled"] - taken["plain"]) / ANSWERS / 1e3
    print(f"an answer in a journal: {own:.1f} us of processor time; on the disk {flushing:.2g} s")
    return 0 if verdict(f"of {BAR:g} us", own / BAR, at_most=1) else 1


if __name__ == "__main__":
    sys.exit(main())
