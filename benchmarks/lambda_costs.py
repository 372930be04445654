"""What whole evaluations in Lambda environments cost: time with two processes, and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from time import perf_counter

from lambda_evaluation import cost
from measuring import verdict

SPEED_UP = 1.8
LARGE = (500, 2_000_000)
"""Exercises, and interactions in each: long enough for the start of processes to be forgotten."""

GROWTH = 1.1
FEW, MANY, INTERACTIONS = 300, 3_000, 10_000

GENERATED_SECONDS = 10.0
TURNS = 3


def processes() -> bool:
    """The same evaluation with one process and with two, in turn; the quickest of each counts."""
    print(f"an evaluation of {LARGE[0]} exercises of {LARGE[1]} interactions")
    if len(os.sched_getaffinity(0)) < 2:
        print("There is only one core here, so two processes were not compared with one.")
        return True
    cost(8, 100, 1)  # compiles the loop
    turns = [[cost(*LARGE, workers) for workers in (1, 2)] for _ in range(TURNS)]
    one, two = (min(each.seconds for each in column) for column in zip(*turns, strict=True))
    alone, shared = (min(each.busy for each in column) for column in zip(*turns, strict=True))
    print(f"  with one process {one:.1f} s, with two {two:.1f} s")
    print(
        f"  of processor time {alone:.1f} s, and {shared:.1f} s one after the other: "
        f"{alone / shared:.2f}x on idle cores"
    )
    return verdict("  two processes", one / two, at_least=SPEED_UP)


def memory() -> bool:
    """The largest memory with few exercises and with ten times as many, in fresh processes."""
    cost(8, 100, 1)  # compiles the loop, which takes more memory than anything after it
    few, many = (cost(count, INTERACTIONS, 1).memory for count in (FEW, MANY))
    print(f"the largest memory of an evaluation with exercises of {INTERACTIONS} interactions")
    print(f"  {FEW} exercises {few / 1e6:.0f} MB, {MANY} exercises {many / 1e6:.0f} MB")
    each = (many - few) / (MANY - FEW) / 1e3
    traces = INTERACTIONS * 16 / 1e3
    print(f"  {each:.1f} kB for each further one, whose trace alone has {traces:.0f} kB")
    return verdict("  ten times as many", many / few, at_most=GROWTH)


def generated() -> bool:
    """The reproduction of 300 environments for four agents, after one that compiles."""
    with tempfile.TemporaryDirectory() as directory:
        turns = [_reproduce(f"{directory}/{turn}") for turn in range(TURNS + 1)]
    waiting, busy = (min(column) for column in zip(*turns[1:], strict=True))
    print("omnimeter reproduce lambda-generated, from the command to its end")
    print(f"  {waiting:.1f} s, of processor time {busy:.1f} s in all processes")
    return verdict("  of 10 s", waiting / GENERATED_SECONDS, at_most=1)


def _reproduce(directory: str) -> tuple[float, float]:
    """Seconds of waiting and of processor time."""
    command = [sys.executable, "-m", "omnimeter", "reproduce", "lambda-generated"]
    before, used = perf_counter(), _children()
    done = subprocess.run(
        [*command, "--out", directory], capture_output=True, text=True, check=False
    )
    if done.returncode > 1:  # 1 says that a figure differs from the text
        raise SystemExit(done.stderr)
    return perf_counter() - before, _children() - used


def _children() -> float:
    """Processor seconds of all processes that were started from here and are over."""
    times = os.times()
    return times.children_user + times.children_system
