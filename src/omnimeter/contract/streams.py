"""Named random streams: a draw depends on its name, never on the order of work."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True)
class Stream:
    """One named source of randomness; the same name always gives the same draws.

    Attributes:
        name: The root seed, then the path, for example ``(1, "exercise", 7, "environment")``.
    """

    name: tuple[int | str, ...]

    @property
    def seed(self) -> int:
        """A 64-bit number that depends on the whole name."""
        digest = hashlib.blake2b(digest_size=8)
        for part in self.name:
            encoded = f"{type(part).__name__}:{part}".encode()
            digest.update(len(encoded).to_bytes(4, "little") + encoded)
        return int.from_bytes(digest.digest(), "little")

    def generator(self) -> np.random.Generator:
        """A fresh NumPy generator at the beginning of this stream."""
        return seeded(self.seed)

    def child(self, *path: int | str) -> Stream:
        """The stream named by this name and a further path."""
        return Stream((*self.name, *path))


def seeded(seed: int) -> np.random.Generator:
    """The NumPy generator of a stream, given no more than its seed."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(seed))


def stream(root: int, *path: int | str) -> Stream:
    """Name a stream, for example ``stream(root, "exercise", 7, "environment")``."""
    return Stream((root, *path))
