"""The random generators that belong to everybody, which no part may touch or listen to."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded_globally(seed: int) -> Iterator[None]:
    """Seed the global generators of Python and NumPy for a while."""
    ours, numpys = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)


@contextmanager
def left_alone() -> Iterator[None]:
    """Fail if the global generators are used meanwhile."""
    before = _states()
    yield
    assert _states() == before, (
        "The global generators of random or numpy.random were used. "
        "All chance must come from the generator that is given."
    )


def _states() -> tuple[object, ...]:
    kind, keys, place, *rest = np.random.get_state(legacy=True)
    return random.getstate(), kind, bytes(keys), place, tuple(rest)  # type: ignore[arg-type]
