"""MDP distributions and MDPs from files: TOML, JSON, NumPy, and those of the authors' library.

A distribution file of the library (BBRL 2.0) is text with a value per line: the header ``HEADER``
with two names, then the number of states, the number of actions, the initial state (-1 for any),
theta action by action, each a table with a row per state, 0 or 1 for constant or Gaussian rewards,
the rewards as theta, and 0, or 1 and the variances as theta. A file whose name ends in ``.zz`` is
such a file as a zlib stream.

Of its experiment files it is known that they hold texts of MDPs, each after its length, then the
simulations per MDP, times, and flags, transitions or rewards of what was played already, and at the
end gamma, the horizon and a flag. What is inferred: the length stands alone on a line and counts
bytes, the text of an MDP begins like that of a distribution, and its values are those of a
distribution file with probabilities in the place of theta. That every row is a distribution and
that no number is left over is checked, so that a file of another layout is refused.
"""

from __future__ import annotations

import difflib
import re
import tomllib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from omnimeter.contract import InvalidInputError, MDPDistribution
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.spec import read_bytes, read_json

KEYS = ("theta", "rewards", "initial", "variances")
"""What a TOML, JSON or NumPy file may hold; the first two it must."""

HEADER = ("Serializable", "0", "IMDPDistribution", "2", None, None, "MDPDistribution", "0",
          "DirMultiDistribution")  # fmt: skip
"""The first lines of a distribution file of the library; in the place of ``None`` are its names.
A number of values follows."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredMDPs:
    """The MDPs of an experiment file, in their order.

    Attributes:
        transitions: The transition probabilities of each, ``[state, action, successor]``.
        shared: What they have in common: rewards, initial states and, as theta, a 1 for each
            transition that is possible in any of them.
        gamma: The discount factor of the experiment.
        horizon: The number of steps of its trajectories.
    """

    transitions: Sequence[FloatArray]
    shared: MDPDistribution
    gamma: float
    horizon: int


def read_file(path: str) -> MDPDistribution | StoredMDPs:
    """The distribution, or the MDPs of an experiment, in a file of any of the formats.

    Raises:
        InvalidInputError: It cannot be read; the message says where.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npz":
        return _from_keys(_read_arrays(path), path)
    if suffix == ".json":
        return _from_keys(read_json(path), path)
    content = read_bytes(path)
    if suffix == ".toml":
        return _from_keys(_read_toml(content, path), path)
    if suffix == ".zz":
        try:
            content = zlib.decompress(content)
        except zlib.error as error:
            message = f"{path} is not a whole zlib stream: {error}."
            raise InvalidInputError(message, "Get the file again.") from error
    text = content.decode("latin-1")  # a character for each byte, as lengths count them
    lines = text.splitlines()
    header = _header(lines)
    if header and header[-1].strip() == HEADER[-1]:
        return _read_distribution(lines, path)
    return _read_experiment(text, path)


# Files with keys


def _read_toml(content: bytes, path: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, or too deep
        raise InvalidInputError(f"{path} is not TOML: {error}.", "Fix the file.") from error


def _read_arrays(path: str) -> Mapping[str, Any]:
    read_bytes(path)  # for the message
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name].tolist() for name in arrays.files}
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error, NotImplementedError) as error:
        message = f"{path} is not a whole NumPy file of arrays: {error}."
        raise InvalidInputError(message, "Write it with numpy.savez.") from error


def _from_keys(data: Any, path: str) -> MDPDistribution:
    if not isinstance(data, Mapping):
        message = f"{path} does not hold a table of {', '.join(KEYS)}."
        raise InvalidInputError(message, 'Write {"theta": [...], "rewards": [...]}.')
    for name in data:
        if name not in KEYS:
            close = difflib.get_close_matches(str(name), KEYS, n=1, cutoff=0.5)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            message = f"{path} has an unknown key {name!r}."
            raise InvalidInputError(message, f"{hint}Known: {', '.join(KEYS)}.")
    for name in KEYS[:2]:
        if name not in data:
            raise InvalidInputError(f"{path} has no {name}.", f"Give {' and '.join(KEYS[:2])}.")
    try:
        return MDPDistribution.of(**data)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error.message}", error.advice) from error


# Files of the authors' library


class _Numbers:
    """The numbers of a text, taken one after the other."""

    def __init__(self, lines: Sequence[str], where: str, first: int) -> None:
        self.where, self.taken = where, 0
        self.values: list[float] = []
        for number, line in enumerate(lines[first:], start=first + 1):
            for word in line.split():
                try:
                    self.values.append(float(word))
                except ValueError as error:
                    message = f"{where}, line {number}: {word!r} is not a number."
                    raise InvalidInputError(message, "Fix the file.") from error

    def take(self, count: int, what: str) -> list[float]:
        """The next numbers.

        Raises:
            InvalidInputError: There are not so many.
        """
        numbers = self.values[self.taken : self.taken + count]
        self.taken += count
        if len(numbers) < count:
            message = f"{self.where} is truncated: it ends after {len(numbers)} of {count} numbers "
            raise InvalidInputError(f"{message}of {what}.", "Get the file again.")
        return numbers

    def whole(self, what: str, low: int, high: int | None = None) -> int:
        """The next number, a whole one in some range."""
        [number] = self.take(1, what)
        if number != int(number) or number < low or (high is not None and number > high):
            wanted = f"from {low} up" if high is None else f"from {low} to {high}"
            message = f"{self.where}: {what} is {number:g}."
            raise InvalidInputError(message, f"A whole number {wanted} is expected there.")
        return int(number)

    def table(self, states: int, actions: int, what: str) -> FloatArray:
        """The next table, ``[state, action, successor]``; it is stored action by action."""
        numbers = np.array(self.take(states * actions * states, what))
        return numbers.reshape(actions, states, states).swapaxes(0, 1)


def _header(lines: Sequence[str]) -> Sequence[str]:
    """The lines up to the last one that is not made of numbers."""
    names = [place for place, line in enumerate(lines) if not re.fullmatch(r"[-+.\deE\s]*", line)]
    return lines[: names[-1] + 1] if names else []


def _read_values(numbers: _Numbers, what: str) -> tuple[FloatArray, dict[str, Any]]:
    """The weights of all transitions, and the rest of a distribution."""
    numbers.take(1, "the number of values")  # in a unit that is not known
    states = numbers.whole("the number of states", 1)
    actions = numbers.whole("the number of actions", 1)
    initial = numbers.whole("the initial state", -1, states - 1)
    weights = numbers.table(states, actions, what)
    gaussian = numbers.whole("the type of the rewards", 0, 1)
    rewards = numbers.table(states, actions, "the rewards")
    variances = None
    if numbers.whole("the flag of the variances", 0, 1):
        variances = numbers.table(states, actions, "the variances")
    if left := len(numbers.values) - numbers.taken:
        message = f"{numbers.where} goes on after its last number, with {left} more."
        raise InvalidInputError(message, "Its layout is not the one that is known.")
    if bool(gaussian) != (variances is not None):
        message = f"{numbers.where} has Gaussian rewards without variances, or the reverse."
        raise InvalidInputError(message, "Fix the type of the rewards, or the flag.")
    return weights, {"rewards": rewards, "initial": initial, "variances": variances}


def _read_distribution(lines: Sequence[str], path: str) -> MDPDistribution:
    for number, (line, wanted) in enumerate(zip(lines, HEADER, strict=False), start=1):
        if wanted is not None and line.strip() != wanted:
            message = f"{path}, line {number}: the header has {line.strip()!r}, not {wanted!r}."
            raise InvalidInputError(message, _KNOWN)
    theta, rest = _read_values(_Numbers(lines, path, len(HEADER)), "theta")
    try:
        return MDPDistribution.of(theta, **rest)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error.message}", error.advice) from error


_KNOWN = (
    "Known are .toml, .json and .npz files, and the distribution and experiment files of the "
    "library BBRL, whose first line is 'Serializable'."
)


def _read_experiment(text: str, path: str) -> StoredMDPs:
    length = re.compile(rf"^(\d+)\s*\n(?={HEADER[0]}\s)", re.MULTILINE)
    stored: list[tuple[FloatArray, dict[str, Any]]] = []
    end = 0
    while prefix := length.search(text, end):
        where = f"{path}, MDP {len(stored)}"
        end = prefix.end() + int(prefix[1])
        if end > len(text):
            message = (
                f"{where} is truncated: it ends after {len(text) - prefix.end()} of {prefix[1]}"
            )
            raise InvalidInputError(f"{message} characters.", "Get the file again.")
        lines = text[prefix.end() : end].splitlines()
        numbers = _Numbers(lines, where, len(_header(lines)))
        transitions, rest = _read_values(numbers, "the probabilities")
        off = np.abs(transitions.sum(axis=2) - 1) + (transitions < 0).any(axis=2)
        if (off > 1e-6).any():
            x, u = (int(each) for each in np.argwhere(off > 1e-6)[0])
            message = f"{where}: the probabilities of state {x}, action {u} do not sum to 1."
            raise InvalidInputError(message, "Its layout is not the one that is known.")
        stored.append((transitions, rest))
    if not stored:
        first_line = text.partition("\n")[0].strip()[:40]
        message = f"{path} begins with {first_line!r}, and holds neither a distribution nor MDPs."
        raise InvalidInputError(message, _KNOWN)
    gamma, horizon = _read_end(text[end:], path)
    _, rest = stored[0]
    for number, (transitions, other) in enumerate(stored):
        if transitions.shape != stored[0][0].shape or not all(
            np.array_equal(rest[name], other[name]) for name in rest
        ):
            message = f"{path}: MDP {number} differs from MDP 0 in its states, actions or rewards."
            raise InvalidInputError(message, "The MDPs of an experiment share all but transitions.")
    matrices = [transitions for transitions, _ in stored]
    possible = np.any([each > 0 for each in matrices], axis=0)
    return StoredMDPs(matrices, MDPDistribution.of(possible, **rest), gamma, horizon)


def _read_end(text: str, path: str) -> tuple[float, int]:
    """The discount factor and the horizon, before the last flag of an experiment."""
    try:
        gamma, horizon, safe = (float(word) for word in text.split()[-3:])
        complete = 0 < gamma < 1 and horizon >= 1 and horizon == int(horizon) and safe in (0, 1)
    except ValueError:
        complete = False
    if not complete:
        message = f"{path} is truncated: it does not end in gamma, the horizon and a flag."
        raise InvalidInputError(message, "Get the file again.")
    return gamma, int(horizon)
