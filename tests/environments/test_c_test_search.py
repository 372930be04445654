"""The search over all programs: against plain Python, interrupted, and from the cache."""

from __future__ import annotations

from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest

from omnimeter.contract import InvalidInputError
from omnimeter.series import search
from omnimeter.series.machine import HORIZON, INSTRUCTIONS, read, run
from omnimeter.series.search import Table, key_of, table


def brute_force(
    depth: int, letters: int, shown: tuple[int, ...] = ()
) -> dict[int, tuple[float, ...]]:
    """For each series the least cost, its program and all weights, by running every text."""
    results: dict[int, tuple[float, ...]] = {}
    for length in range(1, depth + 1):
        for number, text in enumerate(product(INSTRUCTIONS, repeat=length)):
            try:
                read("".join(text))
            except InvalidInputError:
                continue
            out = list(islice(run("".join(text), letters), HORIZON))
            series = tuple(letter for letter, _ in out)
            if series[: len(shown)] != shown:
                continue
            bits = 3 * (length + 1)
            rank = out[-1][1] * 2**bits, length, number
            key = key_of(series)
            if key not in results:
                results[key] = *rank, 0.0
            best = min(results[key][:3], rank)
            results[key] = *best, results[key][3] + 2.0**-bits
    return results


def program_of(length: int, number: int) -> str:
    text = ""
    for _ in range(length):
        number, digit = divmod(number, len(INSTRUCTIONS))
        text = INSTRUCTIONS[digit] + text
    return text


@pytest.mark.parametrize(
    ("depth", "letters", "shown"),
    [(1, 26, ""), (2, 26, ""), (4, 26, ""), (5, 3, ""), (5, 26, "ab")],
)
def test_the_table_is_what_plain_python_finds(depth: int, letters: int, shown: str) -> None:
    ours = table(depth, letters, shown)
    expected = brute_force(depth, letters, tuple(ord(each) - ord("a") for each in shown))
    assert ours.keys.tolist() == sorted(expected)
    for row, key in enumerate(ours.keys.tolist()):
        cost, length, number, weight = expected[key]
        assert ours.costs[row] == cost
        assert ours.program(row) == program_of(int(length), int(number))
        assert ours.weights[row] == weight  # sums of powers of two are exact


def test_all_that_begins_with_some_letters_is_found_at_once() -> None:
    whole, part = table(6, 26), table(6, 26, "abd")
    rows = whole.begins([0, 1, 3])
    assert part.keys.tolist() == whole.keys[rows].tolist()
    assert part.costs.tolist() == whole.costs[rows].tolist()
    assert part.weights.tolist() == whole.weights[rows].tolist()
    assert set(part.letters(2).tolist()) == {3}
    assert whole.begins([]) == slice(0, len(whole.keys))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table(1, 26)  # what is compiled stays in the usual cache
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(tmp_path))
    table.cache_clear()
    yield tmp_path / "c-test"
    table.cache_clear()


def test_an_interrupted_search_goes_on_and_finds_the_same(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = table(7, 26).to_bytes()
    (kept,) = own_cache.iterdir()
    kept.unlink()
    table.cache_clear()
    keep, done = search.keep, []

    def interrupted(name: str, content: bytes) -> None:
        if len(done) == 20:
            raise KeyboardInterrupt
        keep(name, content)
        done.append(name)

    monkeypatch.setattr(search, "keep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        table(7, 26)
    assert len(list(own_cache.glob("*.part"))) == 20
    again: list[str] = []
    monkeypatch.setattr(search, "keep", lambda *each: (again.append(each[0]), keep(*each)))
    assert table(7, 26).to_bytes() == expected
    assert not set(again) & set(done)  # nothing was searched twice
    assert len(again) == 1 + 1 + len(INSTRUCTIONS) ** 2 - 20
    assert [each.name for each in own_cache.iterdir()] == ["1-26-7.table"]


def test_a_damaged_table_is_searched_again(own_cache: Path) -> None:
    expected = table(4, 26).to_bytes()
    (kept,) = own_cache.iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    table.cache_clear()
    assert table(4, 26).to_bytes() == expected


def test_tables_are_the_same_after_they_were_written() -> None:
    whole = table(5, 26)
    again = Table.from_bytes(whole.to_bytes())
    for name in ("keys", "costs", "programs", "weights"):
        assert np.array_equal(getattr(whole, name), getattr(again, name))
    empty = table(3, 26, "qwerty")
    assert len(empty.keys) == 0
    assert len(Table.from_bytes(empty.to_bytes()).keys) == 0


@pytest.mark.slow
def test_where_nothing_is_compiled_another_process_searches(own_cache: Path) -> None:
    content = search._elsewhere(5, 26, "")
    assert content == table(5, 26).to_bytes()


def test_the_numbers_of_series_that_pages_tell() -> None:
    """``docs/classes/c-test.md`` has this table."""
    counts = {depth: len(table(depth, 26).keys) for depth in range(1, 9)}
    assert counts == {1: 1, 2: 5, 3: 19, 4: 70, 5: 277, 6: 1119, 7: 4541, 8: 18329}
