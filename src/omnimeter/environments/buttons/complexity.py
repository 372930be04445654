"""How buttons are graded: by the number of scenes to be told apart."""

from __future__ import annotations

from omnimeter.contract import Instance


def complexity(instance: Instance) -> float:
    """The number of scenes; the papers do not grade these examples."""
    return float(len(instance.data["scenes"]))
