"""Compiled kernels are kept by content: an edit anywhere is noticed, and nothing else compiles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from threading import Thread
from typing import Any

import numpy as np
import pytest

from odd_kernels import KERNELS, Boxes, BoxState, LateTeller, box
from omnimeter.contract import InvalidInputError, Space
from omnimeter.interaction import compilation
from omnimeter.interaction.compilation import environment_entries, runner
from omnimeter.kernels import EnvironmentKernels, KernelEnvironment, kernel

PAYING = """
    import numpy as np
    from omnimeter.contract import kernel
    from prices import BONUS, Table
    import fees

    @kernel
    def paid(action):
        return action + BONUS + Table.BASE + fees.FEE + fees.SCALE[1]
"""
MOVES = """
    from typing import Any, NamedTuple
    import numpy as np
    from omnimeter.contract import EnvironmentKernels, kernel
    from paying import paid

    class State(NamedTuple):
        count: Any

    @kernel
    def reset(state):
        state.count[0] = 0
        return 0.0

    @kernel
    def step(state, action):
        return paid(action)

    @kernel
    def observe(state, out):
        out[0] = state.count[0]

    KERNELS = EnvironmentKernels(State, reset, step, observe)
"""
PRICES = """
    from enum import IntEnum
    BONUS = 10

    class Table(IntEnum):
        BASE = 0
"""
FEES = """
    import numpy as np
    FEE = 0.5
    SCALE = np.arange(2000) * 0
"""
RUN = """
    import json
    import numpy as np
    from moves import KERNELS, State
    from omnimeter.contract import single
    from omnimeter.interaction import KernelEnvironment
    from omnimeter.interaction.compilation import announcements

    said = []
    announcements.append(said.append)
    environment = KernelEnvironment(KERNELS, State(np.zeros(1, dtype=np.int64)), 3, single(2))
    environment.start(1)
    entries = environment._lent.entries
    stats = [entries.start.stats, entries.advance.stats]
    print(json.dumps({
        "reward": environment.step(2).reward,
        "place": entries.__file__,
        "said": said,
        "loaded": sum(sum(each.cache_hits.values()) for each in stats),
        "compiled": sum(sum(each.cache_misses.values()) for each in stats),
    }))
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """A third party's kernels over several files."""
    files = {"paying": PAYING, "moves": MOVES, "prices": PRICES, "fees": FEES, "run": RUN}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(dedent(text))
    return tmp_path


def start(workshop: Path, **variables: str) -> subprocess.Popen[str]:
    own = {"OMNIMETER_CACHE_DIR": str(workshop / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "run.py"],
        cwd=workshop,
        env={**os.environ, **own, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    result: dict[str, Any] = json.loads(output)
    return result


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_kept_until_something_changes(workshop: Path) -> None:
    first = end(start(workshop))
    assert (first["reward"], first["loaded"], first["compiled"]) == (12.5, 0, 2)
    assert first["said"] == ["Compiling environment kernels of moves (once; kept for next time)"]
    assert first["place"].startswith(str(workshop / "cache"))

    again = end(start(workshop))
    assert again == {**first, "loaded": 2, "compiled": 0, "said": []}

    places = {first["place"]}
    for file, old, new, reward in [
        ("paying.py", "action + BONUS", "2 * action + BONUS", 14.5),  # a kernel in another file
        ("prices.py", "BONUS = 10", "BONUS = 20", 24.5),  # a constant imported by its name
        ("prices.py", "BASE = 0", "BASE = 5", 29.5),  # a class of constants
        ("fees.py", "FEE = 0.5", "FEE = 0.25", 29.25),  # a constant in a module
        ("fees.py", "np.arange(2000) * 0", "np.arange(2000) * 0 + (np.arange(2000) == 1)", 30.25),
    ]:
        edit(workshop / file, old, new)
        changed = end(start(workshop))
        assert changed["reward"] == reward
        assert changed["place"] not in places
        places.add(changed["place"])


def test_two_processes_at_once(workshop: Path) -> None:
    both = [end(process) for process in [start(workshop), start(workshop)]]
    assert [each["reward"] for each in both] == [12.5, 12.5]
    assert both[0]["place"] == both[1]["place"]
    assert end(start(workshop))["loaded"] == 2


def test_where_nothing_can_be_written(workshop: Path) -> None:
    (workshop / "cache").write_text("a file where a directory should be")
    (workshop / "tmp").mkdir()
    result = end(start(workshop, TMPDIR=str(workshop / "tmp")))
    assert result["reward"] == 12.5
    assert result["place"].startswith(str(workshop / "tmp" / f"omnimeter-{os.getuid()}"))


def test_nowhere_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(InvalidInputError, match="cannot be kept") as error:
        environment_entries(KERNELS, ("int8", "float64", "float64", "uint64", "bool", "int64"))
    assert "OMNIMETER_CACHE_DIR" in error.value.advice


def test_a_directory_of_another_user_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert compilation.temporary_directory().stat().st_mode & 0o077 == 0
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (tmp_path / "omnimeter-12345").mkdir()
    with pytest.raises(PermissionError, match="another user"):
        compilation.temporary_directory()


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"OMNIMETER_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a/kernels"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/omnimeter/kernels"),
        ({"HOME": "/c"}, "/c/.cache/omnimeter/kernels"),
    ],
)
def test_place_of_the_cache(
    variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMNIMETER_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert compilation.cache_directory() == Path(place)


# Kernels that cannot be


def closed_over(bonus: float) -> Any:
    @kernel
    def step(state, action):
        return bonus

    return step


def ordinary(state, action):
    return 0.0


made_again = kernel(ordinary)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (closed_over(1.0), "'closed_over.<locals>.step' of test_kernel_cache cannot be imported"),
        (kernel(lambda state, action: 0.0), "'<lambda>' of test_kernel_cache cannot be imported"),
        (made_again, "'ordinary' of test_kernel_cache cannot be imported by its name"),
        (ordinary, "'ordinary' of test_kernel_cache is an ordinary function"),
    ],
)
def test_kernels_that_cannot_be_found(step: Any, said: str) -> None:
    kernels = EnvironmentKernels(BoxState, KERNELS.reset, step, KERNELS.observe)
    with pytest.raises(InvalidInputError, match=said) as error:
        runner(kernels, LateTeller.kernels)
    assert error.value.advice


def test_threads_wait_for_what_one_of_them_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path))
    rewards = []

    def play() -> None:
        state = Boxes().build(box(0.1, 0.2)).state
        rare = state._replace(luggage=np.zeros(1, dtype=np.uint16))  # so it is compiled only now
        environment = KernelEnvironment(KERNELS, rare, 2, Space((10_000, 7)))
        environment.start(1)
        rewards.append(environment.step(1).reward)

    threads = [Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rewards == [0.2] * 3
