"""Drawing spaces and patterns at random (Lambda thesis, 4.1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import IntArray
from omnimeter.environments.lambda_class.space import (
    CellSpace,
    check_number_of_cells,
    is_strongly_connected,
)

DIGITS = "0123456789"
LONGEST = 10_000_000


def parse_pattern(text: str, actions: int) -> IntArray:
    """The actions of a pattern.

    Args:
        text: Digits, or numbers separated by commas if there are more than ten actions.
        actions: How many actions there are, staying included.

    Raises:
        InvalidInputError: The pattern is empty, or something in it is not one of the actions.
    """
    known = {str(action): action for action in range(actions)}
    separator = _separator(actions)
    symbols = text.split(separator) if separator else list(text) or [""]
    try:
        return np.array([known[symbol] for symbol in symbols], dtype=np.int64)
    except KeyError:
        raise _fault(symbols, known, separator) from None


def format_pattern(pattern: Iterable[int], actions: int) -> str:
    """The text of a pattern.

    Args:
        pattern: The numbers of the actions.
        actions: How many actions there are, staying included.
    """
    return _separator(actions).join(str(int(action)) for action in pattern)


def pattern_length(text: str, actions: int) -> int:
    """How many actions a pattern has.

    Args:
        text: The pattern.
        actions: How many actions there are, staying included.
    """
    separator = _separator(actions)
    return text.count(separator) + 1 if separator else len(text)


def draw_pattern(rng: np.random.Generator, actions: int, stop: float) -> IntArray:
    """A random pattern: an action, all alike; then an end with probability ``stop``, or on.

    Args:
        rng: Where chance comes from.
        actions: How many actions there are, staying included.
        stop: The probability that the pattern ends after an action.

    Raises:
        InvalidInputError: ``stop`` is not a probability above 0, or so small that patterns do not
            fit into memory.
    """
    check_stop(stop)
    length = int(rng.geometric(stop))
    if length > LONGEST:
        raise InvalidInputError(
            f"With a probability of stopping of {stop:g} a pattern of {length:,} actions was "
            f"drawn; {LONGEST:,} is the most.",
            "Ask for a greater probability of stopping.",
        )
    return rng.integers(actions, size=length, dtype=np.int64)


def check_stop(stop: float) -> None:
    """Refuse what is not a probability above 0.

    Raises:
        InvalidInputError: ``stop`` is not in (0, 1].
    """
    if not 0 < stop <= 1:
        raise InvalidInputError(
            f"The probability of stopping (stop) is {stop:g}, which is not in (0, 1].",
            "Give a probability above 0, such as 0.01 for patterns of 100 actions on average.",
        )


def _separator(actions: int) -> str:
    return "," if actions > len(DIGITS) else ""


def _fault(symbols: Sequence[str], known: Mapping[str, int], separator: str) -> InvalidInputError:
    """What is wrong with the first of the symbols that is no action."""
    wrong = next(number for number, symbol in enumerate(symbols) if symbol not in known)
    position = 1 + sum(len(symbol) + len(separator) for symbol in symbols[:wrong])
    symbol, actions = symbols[wrong], len(known)
    return InvalidInputError(
        f"The pattern is wrong at character {position}: found "
        f"{repr(symbol) if symbol else 'nothing'}, expected an action from 0 to {actions - 1}.",
        _advice(actions),
    )


def _advice(actions: int) -> str:
    if actions > len(DIGITS):
        return "With more than ten actions a pattern is numbers and commas, such as 2,0,11."
    return f"A pattern is a row of digits from 0 to {actions - 1}."


TRIES = 100_000
FEWEST = 2  # cells, and actions with the one that stays
MOST_CELLS = 1000  # a description has a sign for each cell that an action passes


def draw_space(
    rng: np.random.Generator,
    cells: int | None = None,
    most_cells: int = 9,
    actions: int | None = None,
    *,
    keep_sizes: bool = False,
) -> CellSpace:
    """A random valid space; what turns out invalid is drawn again.

    Args:
        rng: Where chance comes from.
        cells: How many cells; left out, geometric with p = 1/2 from 2 on.
        most_cells: Up to which number of cells; it takes the probability of all above it.
        actions: How many actions with the one that stays; left out, geometric with p = 1/2 from 2
            up to the number of cells, in the same way.
        keep_sizes: Whether the sizes that are drawn are kept when the rest is drawn again.

    Raises:
        InvalidInputError: A number is out of range, or no valid space was found.
    """
    _check(cells, most_cells, actions)
    number, arrows = _sizes(rng, cells, most_cells, actions)
    fixed = keep_sizes or (cells is not None and actions is not None)
    for _ in range(TRIES):
        # A valid space has a way into every cell. With nothing but the targets to draw, drawing
        # only among those that have one changes no valid space's probability, and spares the many
        # tries that fail in sparse spaces.
        draw = _draw_entered if fixed else _draw_targets
        targets = draw(rng, number, arrows)
        if is_strongly_connected(targets.tolist()):
            return _describe(rng, targets)
        if not fixed:
            number, arrows = _sizes(rng, cells, most_cells, actions)
    raise InvalidInputError(
        f"No valid space was found in {TRIES:,} tries.", "Ask for fewer cells or more actions."
    )


def _sizes(
    rng: np.random.Generator, cells: int | None, most_cells: int, actions: int | None
) -> tuple[int, int]:
    """How many cells there are, and how many arrows leave each."""
    number = _geometric(rng, most_cells) if cells is None else cells
    return number, (_geometric(rng, number) if actions is None else actions) - 1


def _draw_targets(rng: np.random.Generator, cells: int, arrows: int) -> IntArray:
    return rng.integers(cells, size=(cells, arrows))


def check_drawn_cells(cells: int) -> None:
    """Refuse a number of cells with which no space is drawn.

    Raises:
        InvalidInputError: There are fewer than two cells, or too many.
    """
    check_number_of_cells(cells)
    if cells > MOST_CELLS:
        raise InvalidInputError(
            f"Spaces are drawn with at most {MOST_CELLS:,} cells, not with {cells:,}.",
            "Ask for fewer cells, or give a space such as torus-50x50.",
        )


def _check(cells: int | None, most_cells: int, actions: int | None) -> None:
    check_drawn_cells(most_cells if cells is None else cells)
    if actions is not None and actions < FEWEST:
        raise InvalidInputError(
            f"A space needs at least {FEWEST} actions, staying included, but {actions} was asked "
            "for.",
            "Ask for more actions.",
        )


def _geometric(rng: np.random.Generator, most: int) -> int:
    """2 with probability 1/2, 3 with 1/4 and so on; the most takes the rest."""
    return min(FEWEST - 1 + int(rng.geometric(0.5)), most)


def _draw_entered(rng: np.random.Generator, cells: int, arrows: int) -> IntArray:
    """Targets of each cell's arrows, alike among all choices that enter every cell.

    How often the cells are entered are independent Poisson numbers above zero with a known sum,
    whatever their rate; the arrows are then dealt out in random order.
    """
    rate = _rate(arrows)
    while True:
        # The first of some events within the time ``rate``, and how many follow it.
        first = -np.log1p(rng.random(cells) * np.expm1(-rate))
        entries = 1 + rng.poisson(np.maximum(rate - first, 0))
        if entries.sum() == cells * arrows:
            break
    targets = np.repeat(np.arange(cells, dtype=np.int64), entries)
    return rng.permutation(targets).reshape(cells, arrows)


def _rate(arrows: int) -> float:
    """The rate with which a Poisson number above zero is ``arrows`` on average."""
    if arrows == 1:
        return 0.0
    rate = float(arrows)
    for _ in range(60):
        rate = arrows * (1 - exp(-rate))
    return rate


def _describe(rng: np.random.Generator, targets: IntArray) -> CellSpace:
    """The space with these targets, each reached forward or backward alike."""
    cells = len(targets)
    forward = (targets - np.arange(cells)[:, np.newaxis]) % cells
    backward = rng.random(targets.shape) < 0.5
    # Without a step there is no way round: a whole turn back would be staying once more.
    steps = np.where(backward & (forward > 0), forward - cells, forward)
    return CellSpace(tuple(tuple(row) for row in steps.tolist()))
