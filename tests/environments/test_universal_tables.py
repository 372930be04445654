"""Tables of the shortest programs: against plain Python, interrupted, kept and damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from markov_oracle import PlainBehaviour, alike, cells_of, is_space, memories_of, run
from omnimeter.caching import announcements
from omnimeter.environments.universal import tables
from omnimeter.environments.universal.coding import encode, programs_of_length
from omnimeter.environments.universal.generator import key_of_paths
from omnimeter.environments.universal.inhabitants import MAX_MEMORIES, behaviour_of, inputs_of
from omnimeter.environments.universal.language import Program, expand
from omnimeter.environments.universal.spaces import SPACE_LENGTH, SPACE_STEPS, write_space
from omnimeter.environments.universal.tables import COLUMNS, MAX_TABLE_CELLS, Question, Table, table

SPACES, BEHAVIOURS = Question(2), Question(3, "moves", True, 20)
BITS = 19


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables in a place of their own; kernels are those that were loaded before."""
    for question in (SPACES, BEHAVIOURS):
        table(question, 8)
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tables, "_tables", {})
    return tmp_path


def contents(known: Table) -> dict[str, list[int]]:
    return {name: getattr(known, name).tolist() for name in COLUMNS} | {
        "numbers": [known.longest, known.tried]
    }


def programs_up_to(longest: int, alphabet: tuple[str, ...]) -> Iterator[Program]:
    for bits in range(longest + 1):
        yield from programs_of_length(bits, alphabet)


# Against plain Python


@pytest.mark.parametrize(
    ("actions", "longest"), [(2, 18), pytest.param(3, 21, marks=pytest.mark.slow)]
)
def test_spaces_are_those_of_plain_python(actions: int, longest: int, own_cache: Path) -> None:
    question = Question(actions)
    known = table(question, longest)
    letters = "lrud"[: actions - 1]
    results: dict[tuple[tuple[int, ...], ...], tuple[int, int, int]] = {}
    tried = 0
    for program in programs_up_to(longest, question.alphabet):
        # So many symbols cannot all be used, and a program with fewer of them is no longer.
        if not program.rules or len(program.auxiliaries) >= len(encode(program)):
            continue
        tried += 1
        text, _, steps, _ = run(
            expand(program), [], [], max_steps=SPACE_STEPS, max_length=SPACE_LENGTH
        )
        word = "".join(
            name if len(name) == 1 else "x" for name in map(program.symbols.__getitem__, text)
        )
        for cells in range(2, MAX_TABLE_CELLS + 1):
            written, paths = cells_of(word, letters, cells)
            if written < cells:
                break
            if is_space(paths):
                code = encode(program)
                space = tuple(map(tuple, paths))
                results.setdefault(space, (len(code), int(code, 2), steps))
    assert len(known) == len(results) > 20
    columns = (known.bits, known.codes, known.steps)
    for space, columns_of_it in results.items():
        place = known.places[key_of_paths(np.array(space))]
        assert tuple(int(column[place]) for column in columns) == columns_of_it
        assert known.cells[place] == len(space)
        again = write_space(str(known.program(place)), actions, len(space))
        assert again.space.successors().tolist() == [list(row) for row in space]
        assert again.steps == columns_of_it[2]
    assert known.bits.tolist() == sorted(known.bits.tolist())
    assert known.tried == tried


@pytest.mark.parametrize(
    ("question", "longest"),
    [
        (Question(2, "nothing", True, 20), 18),
        (Question(2, "cell", False, 20), 17),
        (BEHAVIOURS, 16),
        pytest.param(Question(2, "nothing", True, 20), 21, marks=pytest.mark.slow),
        pytest.param(Question(2, "cell", False, 20), 20, marks=pytest.mark.slow),
        pytest.param(BEHAVIOURS, 20, marks=pytest.mark.slow),
    ],
)
def test_behaviours_are_those_of_plain_python(question: Question, longest: int) -> None:
    assert question.perception is not None
    known = table(question, longest)
    inputs = inputs_of(question.perception, question.actions, special=question.special)
    assert inputs is not None
    results: list[PlainBehaviour] = []
    first: list[tuple[int, int, int]] = []
    for program in programs_up_to(longest, question.alphabet):
        behaviour = PlainBehaviour(program, question.actions, question.special, question.max_steps)
        if memories_of(behaviour, inputs) > MAX_MEMORIES:
            continue
        if not any(alike(behaviour, other, inputs) for other in results):
            results.append(behaviour)
            code = encode(program)
            first.append((len(code), int(code, 2), behaviour.most))
    assert sorted(zip(known.bits, known.codes, known.steps, strict=True)) == sorted(first)
    for place in range(len(known)):
        behaviour_again = behaviour_of(
            known.program(place), inputs, question.actions, special=question.special,
            max_steps=question.max_steps,
        )  # fmt: skip
        assert behaviour_again == (known.keys[place], known.steps[place])


def test_a_part_of_a_longer_table_is_the_shorter_one() -> None:
    longer, shorter = table(SPACES, BITS), table(SPACES, 18)
    assert shorter.longest == 18
    for name in COLUMNS:
        column = getattr(longer, name)
        assert getattr(shorter, name).tolist() == column[longer.bits <= 18].tolist()
    assert len(table(SPACES, 6)) == 0


# Kept, interrupted, damaged


@pytest.mark.parametrize("question", [SPACES, BEHAVIOURS])
def test_a_table_that_was_interrupted_goes_on(
    question: Question, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = contents(table(question, BITS))
    (file,) = own_cache.glob("tables/*.npz")
    monkeypatch.setattr(tables, "FIRST_REPORT", -1.0)
    monkeypatch.setattr(tables, "PART", 500)
    for interrupted_at in (1, 7, 20):
        file.unlink(missing_ok=True)
        tables._tables.clear()
        told = 0

        def interrupt(_: str) -> None:
            nonlocal told
            told += 1
            if told == interrupted_at:  # noqa: B023
                raise KeyboardInterrupt

        announcements.append(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                table(question, BITS)
        finally:
            announcements.remove(interrupt)
        begun = Table.load(question)
        assert begun is None or begun.longest < BITS
        assert contents(table(question, BITS)) == whole


def test_a_table_whose_process_was_killed_goes_on(own_cache: Path) -> None:
    script = textwrap.dedent(f"""
        import os, signal
        from omnimeter.caching import announcements
        from omnimeter.environments.universal import tables
        def kill(message):
            if "Searching" in message and " {BITS} bits, " in message:
                os.kill(os.getpid(), signal.SIGKILL)
        announcements.append(kill)
        tables.FIRST_REPORT = -1.0
        tables.table(tables.Question(2), {BITS})
    """)
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    begun = Table.load(SPACES)
    assert begun is not None
    assert begun.longest == BITS - 1
    resumed = contents(table(SPACES, BITS))
    (file,) = own_cache.glob("tables/*.npz")
    file.unlink()
    tables._tables.clear()
    assert contents(table(SPACES, BITS)) == resumed


def test_a_kept_table_is_read_again(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = contents(table(SPACES, BITS))
    tables._tables.clear()
    monkeypatch.setattr(tables, "_search", lambda *_: pytest.fail("it was searched for again"))
    assert contents(table(SPACES, BITS)) == whole
    assert table(SPACES, 18).longest == 18


def test_longer_tables_go_on_from_shorter_ones(own_cache: Path) -> None:
    whole = contents(table(SPACES, BITS))
    (file,) = own_cache.glob("tables/*.npz")
    file.unlink()
    tables._tables.clear()
    table(SPACES, 17)
    tables._tables.clear()
    assert contents(table(SPACES, BITS)) == whole


def test_a_damaged_table_is_searched_for_anew(own_cache: Path) -> None:
    whole = contents(table(SPACES, BITS))
    (file,) = own_cache.glob("tables/*.npz")
    content = file.read_bytes()
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    heard: list[str] = []
    announcements.append(heard.append)
    try:
        for each in (bytes(damaged), content[:-1], b"", b"neither"):
            file.write_bytes(each)
            tables._tables.clear()
            assert contents(table(SPACES, BITS)) == whole
            assert "is damaged or not from this cache" in heard.pop()
        assert file.read_bytes()[:64] != b"neither"
    finally:
        announcements.remove(heard.append)


def test_questions_have_files_of_their_own() -> None:
    questions = [
        Question(2), Question(3), Question(2, "nothing"), Question(2, "cell"),
        Question(2, "cell", False), Question(2, "cell", False, 20),
    ]  # fmt: skip
    assert len({each.name for each in questions}) == len(questions)
