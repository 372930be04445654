"""Compiled kernels are kept by content: an edit anywhere is noticed, and nothing else compiles.

What comes back from the cache is what this user's Omnimeter put there, or it is compiled again.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from threading import Thread
from typing import Any

import numpy as np
import pytest

from odd_kernels import KERNELS, Boxes, BoxState, LateTeller, box
from omnimeter import caching
from omnimeter.contract import InvalidInputError, Space
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
    from omnimeter.caching import announcements

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


def start(workshop: Path, script: str = "run.py", **variables: str) -> subprocess.Popen[str]:
    own = {"OMNIMETER_CACHE_DIR": str(workshop / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, script],
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
    assert len(compiled_files(workshop / "cache")) == 2

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
    assert len(compiled_files(workshop / "tmp" / f"omnimeter-{os.getuid()}")) == 2
    assert "is used instead. Set OMNIMETER_CACHE_DIR" in result["said"][0]
    again = end(start(workshop, TMPDIR=str(workshop / "tmp")))
    assert (again["loaded"], again["compiled"], len(again["said"])) == (2, 0, 1)


def test_nowhere_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    said: list[str] = []
    monkeypatch.setattr(caching, "announcements", [said.append])
    types = ("int8", "float64", "float64", "uint64", "bool", "int64")
    assert environment_entries(KERNELS, types).advance.stats.cache_misses
    (unkept, compiling) = said
    assert "cannot be kept" in unkept
    assert "OMNIMETER_CACHE_DIR" in unkept
    assert compiling == "Compiling environment kernels of odd_kernels"


def compiled_files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.compiled"))


class Canary:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.mark,)


FORGERIES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "empty": lambda content, canary: b"",
    "truncated": lambda content, canary: content[:-100],
    "one bit": lambda content, canary: content[:-5] + bytes([content[-5] ^ 1]) + content[-4:],
    "no signature": lambda content, canary: canary,
    "signature of other content": lambda content, canary: content[:65] + canary,
    "wrong signature": lambda content, canary: b"0" * 64 + b"\n" + canary,
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_only_what_was_kept_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgery: str
) -> None:
    said: list[str] = []
    monkeypatch.setattr(caching, "announcements", [said.append])
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path))
    name, content = "kernels/module/function.compiled", bytes(range(256))
    assert caching.kept(name) is None
    caching.keep(name, content)
    assert caching.kept(name) == content
    path = tmp_path / name
    path.write_bytes(FORGERIES[forgery](path.read_bytes(), b"other"))
    assert not said
    assert caching.kept(name) is None
    assert said == [f"{path} is damaged or not from this cache; it is made again."]


def test_forged_kernels_are_compiled_again_and_never_loaded(workshop: Path) -> None:
    assert end(start(workshop))["compiled"] == 2
    first, second = compiled_files(workshop / "cache")
    mark = workshop / "mark"
    first.write_bytes(
        FORGERIES["signature of other content"](first.read_bytes(), pickle.dumps(Canary(mark)))
    )
    second.write_bytes(b"")
    result = end(start(workshop))
    assert (result["reward"], result["loaded"], result["compiled"]) == (12.5, 0, 2)
    assert len([text for text in result["said"] if "is made again" in text]) == 2
    assert not mark.exists()
    first.unlink()
    first.mkdir()  # cannot be read, nor replaced
    result = end(start(workshop))
    assert (result["reward"], result["loaded"], result["compiled"]) == (12.5, 1, 1)
    assert [text for text in result["said"] if "cannot be kept" in text]
    assert pickle.loads(pickle.dumps(Canary(mark))) is None
    assert mark.exists()  # so that it would have been seen


def test_a_kept_file_does_not_stand_for_another(workshop: Path) -> None:
    end(start(workshop))
    first, second = compiled_files(workshop / "cache")
    shutil.copy(first, second)
    result = end(start(workshop))
    assert (result["reward"], result["loaded"], result["compiled"]) == (12.5, 1, 1)


def test_another_key_makes_all_of_it_another_users(workshop: Path) -> None:
    end(start(workshop))
    key = workshop / "cache" / "kernels" / "key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    key.chmod(0o644)  # others may have read it
    assert end(start(workshop))["compiled"] == 2
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert end(start(workshop))["loaded"] == 2
    key.write_bytes(b"short")
    assert end(start(workshop))["compiled"] == 2


def test_a_cache_that_others_can_write_is_closed(workshop: Path) -> None:
    directory = workshop / "cache" / "kernels"
    directory.mkdir(parents=True)
    directory.chmod(0o777)
    end(start(workshop))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_generated_source_is_never_read_from_the_cache(workshop: Path) -> None:
    place = Path(end(start(workshop))["place"])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("raise SystemExit('read')")
    assert end(start(workshop))["reward"] == 12.5


@pytest.fixture
def small_disk(workshop: Path) -> Iterator[Path]:
    """A cache on a file system with very little space."""
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("only root on Linux can mount a small disk")
    directory = workshop / "cache"
    directory.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", str(directory)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def test_a_full_disk_costs_only_time(workshop: Path, small_disk: Path) -> None:
    for _ in range(2):
        result = end(start(workshop))
        assert (result["reward"], result["compiled"]) == (12.5, 2)
        (unkept,) = [text for text in result["said"] if "cannot be kept" in text]
        assert "No space left" in unkept
    assert compiled_files(small_disk) == []
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    assert end(start(workshop))["compiled"] == 2
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert end(start(workshop))["loaded"] == 2  # what is there can still be used


def test_a_limit_on_the_size_of_files_costs_only_time(workshop: Path) -> None:
    code = "import resource, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
    (workshop / "limited.py").write_text(f"{code}runpy.run_path('run.py')")
    result = end(start(workshop, script="limited.py"))
    assert (result["reward"], result["compiled"]) == (12.5, 2)
    assert [text for text in result["said"] if "File too large" in text]


def test_a_numba_that_keeps_code_in_another_way_is_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from numba.core.compiler import CompileResult

    said: list[str] = []
    monkeypatch.setattr(caching, "announcements", [said.append])
    monkeypatch.setattr(caching, "_told", set())
    monkeypatch.delattr(CompileResult, "_rebuild")
    assert [caching.compiled(each)(2) for each in (doubled, doubled)] == [4, 4]
    (message,) = said
    assert "kernels are compiled again each time" in message


def doubled(number):
    return 2 * number


def test_a_directory_of_another_user_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert caching.temporary_directory().stat().st_mode & 0o077 == 0
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    (tmp_path / "omnimeter-12345").mkdir()
    with pytest.raises(PermissionError, match="another user"):
        caching.temporary_directory()


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
    assert caching.cache_directory() == Path(place)


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
