"""Nothing heavy is loaded before it is needed; ``benchmarks/start.py`` measures the time."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"gymnasium", "jinja2", "matplotlib", "numba", "pyarrow", "scipy"}
NOT_FOR_HELP = HEAVY | {"numpy", "pydantic"}
COMMAND = "import sys; from omnimeter.cli import main; sys.argv[0] = 'omnimeter'; main()"


def loaded(code: str, *arguments: str) -> set[str]:
    """The top-level modules that a fresh process has loaded when it ends."""
    tell = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    command = [sys.executable, "-c", tell + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split()}


def test_importing_the_package_loads_nothing_from_outside() -> None:
    new = loaded("import omnimeter") - loaded("pass")
    assert new - set(sys.stdlib_module_names) == {"omnimeter"}


def test_the_words_of_the_contract_need_numpy_at_the_most() -> None:
    new = loaded("from omnimeter import Agent, Budget, Environment, kernel") - loaded("pass")
    assert "numpy" in new
    assert not new & (HEAVY | {"pydantic", "rich", "typer"})


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_only_what_prints_it(arguments: list[str]) -> None:
    modules = loaded(COMMAND, *arguments)
    assert {"omnimeter", "typer"} <= modules
    assert not modules & NOT_FOR_HELP


@pytest.mark.parametrize("arguments", [["list"], ["run", "--help"], ["report", "--help"]])
def test_a_list_or_the_help_of_a_command_loads_nothing_heavy(arguments: list[str]) -> None:
    assert not loaded(COMMAND, *arguments) & HEAVY


def test_the_check_would_notice() -> None:
    assert "scipy" in loaded("import scipy")
    assert "numba" in loaded("import omnimeter.environments.cups")
