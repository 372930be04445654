"""Kt complexity weighting interaction steps: how long to say, and how long to wait for."""

from __future__ import annotations

from math import log2


def kt_max(bits: int, steps: int) -> float:
    """The length of a description plus the logarithm of its longest response time.

    Anytime test, Definition 9. Sums that are equal are equal to the last digit: powers of two
    among the steps are counted as bits before anything is rounded.

    Args:
        bits: How many bits describe the environment.
        steps: The largest number of machine steps from an action to its answer.

    Raises:
        ValueError: There is no such description.
    """
    if bits < 0 or steps < 1:
        raise ValueError(f"there is no description of {bits} bits that answers in {steps} steps")
    doublings = (steps & -steps).bit_length() - 1
    return bits + doublings + log2(steps >> doublings)
