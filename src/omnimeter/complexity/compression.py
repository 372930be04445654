"""How much there is to say about a text: its length after compression.

An approximation of Kolmogorov complexity from above, as the Lambda thesis uses it (section 5.4).
"""

from __future__ import annotations

import zlib


def compressed_length(text: str) -> int:
    """How many bytes zlib makes of a text, at its default level.

    Builds of zlib differ by a byte here and there, so lengths found on different machines may.
    """
    return len(zlib.compress(text.encode()))
