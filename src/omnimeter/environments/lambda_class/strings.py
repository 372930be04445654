"""Observations as the text that the thesis writes (Lambda thesis, sections 3.6.4 and 4.6)."""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.environments.lambda_class.observing import (
    EITHER,
    FIRST_OTHER,
    MINUS,
    NEXT_CELL,
    PLUS,
    SELF,
)

SYMBOLS = {NEXT_CELL: ":", SELF: "π", PLUS: "⊕", MINUS: "⊖", EITHER: "⊙"}


def string_of(codes: Sequence[int], actions: int) -> str:
    """An observation of a string form as text.

    Its own symbol comes first in a cell, then Good and Evil, then the other agents and objects by
    number, then the actions that lead there. The actions are A1 (which stays), A2 and so on, as in
    the text. ``πω2A1:⊖:⊕ω1A2:`` says that the agent and object 2 are in the first of four cells.

    Args:
        codes: The observation.
        actions: The number of actions.
    """
    written = [int(code) for code in codes]
    cells = written.count(NEXT_CELL) + 1
    others = len(written) - (cells - 1) - actions - 3  # without the agent, Good and Evil
    return "".join(_symbol(code, others) for code in written)


def _symbol(code: int, others: int) -> str:
    if code in SYMBOLS:
        return SYMBOLS[code]
    number = code - FIRST_OTHER
    return f"ω{number + 1}" if number < others else f"A{number - others + 1}"


def state_key(places: Sequence[int], cells: int) -> str:
    """Who is in which cell, as the states of the Q matrix are written: ``101|000|010``.

    Args:
        places: The cells of Good, of Evil, of the agent and of others, counted from 0.
        cells: The number of cells.
    """
    return "|".join("".join(str(int(place == cell)) for place in places) for cell in range(cells))
