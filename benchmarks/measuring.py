"""How the benchmarks measure: processor time, rivals in turn, the fastest of several rounds.

Processor time does not count while others have the core. Rivals that take turns meet the same
weather, and the fastest round is the one that was disturbed least.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import process_time_ns
from typing import Any

ROUNDS = 15


def fastest(rivals: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """The processor nanoseconds of each rival's fastest round, after one that is not counted."""
    best = dict.fromkeys(rivals, float("inf"))
    for turn in range(rounds + 1):
        for name, rival in rivals.items():
            before = process_time_ns()
            rival()
            taken = process_time_ns() - before
            if turn:
                best[name] = min(best[name], taken)
    return best


class Stopwatch:
    """A function that knows how much processor time was spent inside it.

    Args:
        function: The function.

    Attributes:
        best: The nanoseconds of the fastest round so far.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._spent = 0
        self.best = float("inf")

    def __call__(self, *arguments: Any) -> Any:
        """Call the function, and look at the clock before and after."""
        before = process_time_ns()
        result = self._function(*arguments)
        self._spent += process_time_ns() - before
        return result

    def end_round(self) -> None:
        """Begin the next round."""
        self.best = min(self.best, self._spent)
        self._spent = 0


def verdict(what: str, ratio: float, *, at_most: float = float("inf"), at_least: float = 0) -> bool:
    """Print a ratio beside its bar, and say whether it holds."""
    holds = at_least <= ratio <= at_most
    bar = f"at least {at_least:g}x" if at_least else f"at most {at_most:g}x"
    print(f"{what}: {ratio:.2f}x, the bar is {bar}: {'it holds' if holds else 'IT DOES NOT HOLD'}")
    return holds


def examine_parts(parts: Mapping[str, Callable[[], bool]], wanted: list[str]) -> int:
    """Do the wanted parts of a benchmark, or all of them; 0 if the bars of all hold."""
    if unknown := set(wanted) - set(parts):
        raise SystemExit(f"Unknown: {', '.join(unknown)}. Parts: {', '.join(parts)}.")
    verdicts = [parts[name]() for name in wanted or parts]
    return 0 if all(verdicts) else 1
