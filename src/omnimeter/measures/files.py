"""Overlays and knowledge bases from table files: CSV or Parquet.

A row says what holds in a square. Squares are named in the column ``square``, or placed in a grid
by whole numbers in the columns ``x``, ``y``, ``z``, or ``x1``, ``x2``, and so on. In a column
``time``, counted from 1, the row says what holds from that time on. Every other column is a
proposition (``true``, ``false``) or a named value; where it is empty or ``false``, it does not
hold. Each cell is read for itself: as true or false, a number, or text. A knowledge base is such a
table too, but where it is empty, nothing is believed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, zip_longest
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.overlay import Belief, Graph, Lattice, Overlay, Value

COORDINATE = re.compile(r"[xyz]|x[1-9]\d*")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LARGEST = 10**15
"""The largest coordinate or time that is read."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a table file.

    Attributes:
        names: The names of squares, each once.
        squares: The number of each row's square among them.
        places: The coordinates of each named square, where squares are placed in a grid.
        times: The time of each row.
        columns: All other columns.
    """

    names: list[str]
    squares: NDArray[np.int64]
    places: NDArray[np.int64] | None
    times: NDArray[np.int64]
    columns: dict[str, Any]


def read_overlay(
    path: str | Path, *, torus: bool = False, edges: str | Path | None = None
) -> Overlay:
    """The overlay of a table file.

    Args:
        path: The file, CSV or Parquet (``.parquet``).
        torus: Whether the last square of the grid along an axis is adjacent to the first.
        edges: For named squares, a table file with the columns ``from`` and ``to``, each row of
            which says that one action can lead from a square to another.

    Raises:
        InvalidInputError: It cannot be read, or is not such a table; the message says where.
    """
    rows = _read(path)
    adjacency: Lattice | Graph
    squares, names = rows.squares, rows.names
    if rows.places is None:
        if edges is None or torus:
            message = f"{path} does not say which squares are adjacent: it has no coordinates."
            raise InvalidInputError(message, "Give edges=, a file with the columns from and to.")
        adjacency = Graph(_successors(edges, names))
    else:
        if edges is not None:
            message = f"{path} places squares in a grid, and edges are given too."
            raise InvalidInputError(message, "Name squares in a column 'square' for edges.")
        shape = tuple((np.ptp(rows.places, axis=0) + 1).tolist())
        if len(names) < prod(shape):
            places = (_name(rows.places.min(axis=0) + _place(k, shape)) for k in count())
            absent = next(place for place, name in zip_longest(places, names) if place != name)
            message = f"{path} has no row for the square {absent} of a grid of {shape}."
            raise InvalidInputError(message, "Give every square of the grid a row.")
        adjacency = Lattice(shape, torus)
    columns, codes = {}, np.zeros((len(squares), len(rows.columns)), dtype=np.int64)
    for number, (name, column) in enumerate(rows.columns.items()):
        columns[name], codes[:, number] = _encoded(column)
    order = np.lexsort((squares, rows.times))
    squares, times, codes = squares[order], rows.times[order], codes[order]
    twice = np.flatnonzero((np.diff(squares) == 0) & (np.diff(times) == 0))
    if len(twice):
        message = f"{path} has two rows for the square {names[squares[twice[0]]]} at one time."
        raise InvalidInputError(message, "Give each square one row at a time.")
    first = times == 1
    if missing := sorted(set(range(len(names))) - set(squares[first].tolist())):
        message = f"{path} does not say what holds in {len(missing)} of {len(names)} squares at "
        message += f"time 1, such as {names[missing[0]]}."
        raise InvalidInputError(message, "Give every square a row at time 1.")
    initial = codes[first]  # in the order of squares
    current = initial.copy()
    changes: list[tuple[Any, ...]] = []
    for time, square, row in zip(times[~first], squares[~first], codes[~first], strict=True):
        differs = np.flatnonzero(current[square] != row)
        changes += [(time, square, column, row[column]) for column in differs]
        current[square] = row
    changed = np.array(changes, dtype=np.int64).reshape(-1, 4)
    return Overlay(adjacency, columns, initial.astype(np.int32), changed, int(times[-1]), names)


def read_knowledge(path: str | Path, overlay: Overlay) -> list[Belief]:
    """The beliefs in a table file about the squares of an overlay.

    Raises:
        InvalidInputError: It cannot be read, or has a square that the overlay does not have.
    """
    rows = _read(path)
    numbers = {overlay.name(square): square for square in range(overlay.adjacency.size)}
    for name in rows.names:
        if name not in numbers:
            message = f"{path} has beliefs about the square {name}, which does not exist."
            raise InvalidInputError(message, f"The overlay has {overlay.name(0)}, for example.")
    return [
        Belief(numbers[rows.names[square]], name, value)
        for name, column in rows.columns.items()
        for square, value in zip(rows.squares, _values(column), strict=True)
        if value is not None
    ]


def _table(path: str | Path) -> Any:
    """A table file."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if Path(path).suffix.lower() == ".parquet":
            table = parquet.read_table(path)
        else:
            with csv.open_csv(path) as file:
                texts = dict.fromkeys(file.schema.names, pa.string())
            options = csv.ConvertOptions(strings_can_be_null=True, column_types=texts)
            table = csv.read_csv(path, convert_options=options)
        table.validate(full=True)  # that texts are UTF-8, for example
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}."
        raise InvalidInputError(message, "Check the path.") from error
    except (pa.ArrowException, ValueError) as error:
        message = f"{path} is not a table: {error}"
        raise InvalidInputError(message, "Give a CSV or Parquet file.") from error
    names = table.column_names
    if twice := [name for name in names if names.count(name) > 1]:
        message = f"{path} has {names.count(twice[0])} columns with the name {twice[0]!r}."
        raise InvalidInputError(message, "Give each column a name of its own.")
    if table.num_rows == 0:
        raise InvalidInputError(f"{path} has no rows.", "Give each square a row.")
    return table


def _read(path: str | Path) -> _Rows:
    """The rows of a table file of squares."""
    table = _table(path)
    columns = {name: table.column(name) for name in table.column_names}
    axes = [name for name in columns if COORDINATE.fullmatch(name)]
    axes.sort(key=lambda name: (len(name), name))
    times = np.ones(table.num_rows, dtype=np.int64)
    if "time" in columns:
        times = _whole(columns.pop("time"), "time", path)
        if times.min() < 1:
            raise InvalidInputError(f"{path} has the time {times.min()}.", "Count times from 1.")
    if "square" in columns:
        given = columns.pop("square").to_pylist()
        if None in given:
            message = f"{path}, row {given.index(None) + 1}: the square has no name."
            raise InvalidInputError(message, "Name the square of every row.")
        numbers = {name: k for k, name in enumerate(dict.fromkeys(map(str, given)))}
        squares = np.array([numbers[str(name)] for name in given], dtype=np.int64)
        return _Rows(list(numbers), squares, None, times, columns)
    if not axes:
        message = f"{path} does not name squares: it has the columns {', '.join(columns)}."
        raise InvalidInputError(message, "Give a column 'square', or coordinates x, y, ...")
    every = np.stack([_whole(columns.pop(axis), axis, path) for axis in axes], axis=1)
    places, squares = np.unique(every, axis=0, return_inverse=True)
    return _Rows([_name(each) for each in places], squares.reshape(-1), places, times, columns)


def _name(place: NDArray[np.int64]) -> str:
    return f"({', '.join(map(str, place.tolist()))})"


def _place(number: int, shape: Sequence[int]) -> NDArray[np.int64]:
    """Where a square of a grid is, which may be too large for NumPy."""
    place = []
    for length in reversed(shape):
        number, here = divmod(number, length)
        place.append(here)
    return np.array(place[::-1])


def _whole(column: Any, name: str, path: str | Path) -> NDArray[np.int64]:
    """A column of whole numbers."""
    values = _values(column)
    for row, value in enumerate(values, start=1):
        if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
            message = f"{path}, row {row}: {name} is {value!r}, not a whole number."
            raise InvalidInputError(message, f"Give {name} in every row as a whole number.")
        if abs(value) > LARGEST:
            message = f"{path}, row {row}: {name} is {value}."
            raise InvalidInputError(message, f"Give {name} as a number of up to {LARGEST:.0e}.")
    return np.array(values, dtype=np.int64)


def _values(column: Any) -> list[Value | None]:
    """The values of a column; ``None`` where it is empty or not a number."""
    return [_value(each) for each in column.to_pylist()]


def _value(given: Any) -> Value | None:
    if given is None or given != given:  # noqa: PLR0124 - NaN differs from itself
        return None
    if isinstance(given, bool | int | float):
        return given
    text = str(given)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if not NUMBER.fullmatch(text):
        return text
    try:
        return int(text)
    except ValueError:
        return float(text)


def _encoded(column: Any) -> tuple[list[Value], NDArray[np.int64]]:
    """The labels of a column, in the order in which they occur, and the code of each row."""
    labels: dict[Value, int] = {}
    codes = [
        0 if value is None or value is False else labels.setdefault(value, len(labels) + 1)
        for value in _values(column)
    ]
    return list(labels), np.array(codes, dtype=np.int64)


def _successors(path: str | Path, names: Sequence[str]) -> list[list[int]]:
    """The successors of each square, from a table of edges."""
    table = _table(path)
    if not {"from", "to"} <= set(table.column_names):
        message = f"{path} has the columns {', '.join(table.column_names)}."
        raise InvalidInputError(message, "Give the columns 'from' and 'to'.")
    numbers = {name: number for number, name in enumerate(names)}
    successors: list[list[int]] = [[] for _ in names]
    ends = (table.column(name).to_pylist() for name in ("from", "to"))
    for row, edge in enumerate(zip(*ends, strict=True), start=1):
        for name in map(str, edge):
            if name not in numbers:
                message = f"{path}, row {row}: there is no square {name!r}."
                raise InvalidInputError(message, "Name squares as in the table of squares.")
        successors[numbers[str(edge[0])]].append(numbers[str(edge[1])])
    return successors
