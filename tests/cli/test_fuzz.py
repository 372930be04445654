"""Malformed commands and files: one message each, no traceback, an end. See ``fuzzing``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


def fuzzed(seed: int, count: int) -> dict[str, Any]:
    """What came of malformed commands, in a process whose memory is limited."""
    command = [sys.executable, str(SUPPORT / "fuzzing.py"), str(seed), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_some_malformed_commands() -> None:
    result = fuzzed(seed=0, count=40)
    assert result["commands"] == 40
    assert result["failures"] == []
    assert result["codes"]["2"] > 13


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_malformed_commands(seed: int) -> None:
    result = fuzzed(seed, count=1000)
    assert result["commands"] == 1000
    assert result["failures"] == []
    assert result["codes"]["0"] > 100  # those that were correct after all
    assert result["codes"]["2"] > 400


def test_fuzzer_notices_what_it_is_for() -> None:
    sys.path.insert(0, str(SUPPORT))
    from fuzzing import failure

    assert failure(["run"], -1, "") == "never ends"
    assert failure(["run"], 2, "Traceback (most recent call last):") == "traceback"
    assert failure(["run"], 1, "This is a bug of Omnimeter") == "bug"
    assert failure(["run"], 1, "") == "exit code"
    assert failure(["audit"], 1, "") == ""
    assert failure(["run"], 2, "Error: ...") == ""


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["show", "cups"], ["--help"]])
def test_reader_that_has_left(arguments: list[str]) -> None:
    """As in ``omnimeter list | head -1``."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "omnimeter", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_output_that_cannot_be_written() -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "omnimeter", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith("Error: The system reports: No space left on device.")


def test_name_of_any_bytes_can_be_shown() -> None:
    command = [sys.executable, "-m", "omnimeter", "show", b"\xff\xfe"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
