"""Numbers, names and lists as people read them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from math import ceil, isfinite, log10

from omnimeter.contract import FaultKind

MINUS = "\N{MINUS SIGN}"
MISSING = "\N{EN DASH}"
"""Written where there is no number."""

FAULTS: Mapping[str, tuple[str, str]] = {
    FaultKind.AGENT_ERROR: ("agent error", "agent errors"),
    FaultKind.TIME_OUT: ("time-out", "time-outs"),
    FaultKind.SEATED: ("fault of a seated agent", "faults of seated agents"),
    FaultKind.INFRASTRUCTURE: ("infrastructure fault", "infrastructure faults"),
}
"""One and many faults of each kind."""


def decimals(numbers: Iterable[float | None]) -> int:
    """How many decimals show about three digits of the largest of some numbers."""
    sizes = [abs(number) for number in numbers if number is not None and isfinite(number)]
    largest = max(sizes, default=0.0)
    wanted = 3 - ceil(log10(largest)) if largest > 0 else 3
    return min(max(wanted, 0), 9)


def number(value: float | None, places: int, *, signed: bool = False) -> str:
    """A number with so many decimals and a proper minus sign."""
    if value is None:
        return MISSING
    if not isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = f"{value + 0.0:{'+' if signed else ''},.{places}f}"
    if not text.strip("+-0.,"):  # neither -0 nor +0
        text = text.lstrip("+-")
    return text.replace(",", " ").replace("-", MINUS)


def range_texts(ranges: Iterable[tuple[float, float]]) -> list[str]:
    """Ranges in ascending order, in as few digits as tell all their ends apart: ``16 to 18``."""
    pairs = list(ranges)
    distinct = set(chain.from_iterable(pairs))
    enough = (n for n in range(17) if len({f"{e:.{n}f}" for e in distinct}) == len(distinct))
    places = next(enough, 17)
    places = max(places, decimals(distinct)) if any(e % 1 for e in distinct) else 0
    shown = ((f"{low:,.{places}f}", f"{high:,.{places}f}") for low, high in pairs)
    texts = (low if low == high else f"{low} to {high}" for low, high in shown)
    return [text.replace(",", " ").replace("-", MINUS) for text in texts]


def interval(low: float | None, high: float | None, places: int, *, signed: bool = False) -> str:
    """Both ends of an interval."""
    if low is None or high is None:
        return MISSING
    return f"{number(low, places, signed=signed)} to {number(high, places, signed=signed)}"


def p_value(value: float | None) -> str:
    """A p-value in three decimals."""
    if value is None:
        return MISSING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def percent(confidence: float) -> str:
    """A confidence as a percentage."""
    return f"{confidence * 100:g} %"


def metric(value: float | None, kind: str) -> str:
    """A secondary metric, written as its kind says (``Metric.kind``)."""
    if value is None:
        return MISSING
    if kind == "percent":
        return f"{value * 100:.0f} %"
    if kind == "amount":
        return grouped(float(f"{value:.3g}"))
    return duration(value) if kind == "seconds" else number(value, 3)


def counted(amount: int, one: str, many: str | None = None) -> str:
    """So many of something: ``1 agent``, ``3 agents``, ``no agents``."""
    plural = many or f"{one}s"
    if amount == 0:
        return f"no {plural}"
    return f"{amount:,} ".replace(",", " ") + (one if amount == 1 else plural)


def duration(seconds: float) -> str:
    """A time in a unit that suits it: ``1.5 µs``, ``20 ms``, ``3 s``."""
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size * (1 - 1e-9):
            return f"{grouped(seconds / size)} {name}"
    return f"{grouped(seconds / 1e-9)} ns"


def grouped(value: float) -> str:
    """A number in three digits, or as many as stand before the point: ``0.25``, ``12 300``."""
    text = f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"
    return text.replace(",", " ").replace("-", MINUS)


def fault_counts(faults: Mapping[str, int]) -> str:
    """How many faults of which kind; empty without faults."""
    present = [(kind, amount) for kind, amount in faults.items() if amount]
    return ", ".join(counted(amount, *FAULTS.get(kind, (kind, kind))) for kind, amount in present)


def listed(items: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *front, last = items
    return f"{', '.join(front)} and {last}" if front else last


WIDTH = 28
"""How many characters a line of a label has at the most."""


def printable(text: str) -> str:
    """The text without characters that no page or figure can show."""
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return "".join("�" if unicodedata.category(sign) in ("Cc", "Cn") else sign for sign in valid)


_FOLDERS = re.compile(
    r"^[^(\"]*[/\\](?=[^/\\(]+:)"  # of the file that has the part
    # Of a file in a parameter, which has an extension: not of a URL, of an id or of a program.
    r"|(?<=[\s\"'=])(?:[^\s\"'/\\=(),:]*/)+(?=[^\s\"'/\\=(),:]+\.[A-Za-z]\w*(?![\w/]))"
)


def without_folders(labels: Collection[str]) -> dict[str, str]:
    """Labels of parts with files, without the folders that are not needed to tell them apart.

    Only those that become shorter: ``/home/me/agents/mine.py:Mine`` is ``mine.py:Mine`` unless
    there is another of that name, and then ``agents/mine.py:Mine``. Files in parameters lose theirs
    too, as in ``command-v1(run="node agent.js")``.
    """
    most = {
        label: max(len(re.findall(r"[/\\]", match)) for match in found)
        for label in labels
        if (found := _FOLDERS.findall(label))
    }
    kept = dict.fromkeys(most, 0)

    def name(label: str) -> str:
        def last(folders: re.Match[str]) -> str:
            every = re.findall(r"[^/\\]*[/\\]", folders[0])
            return "".join(every[max(0, len(every) - kept[label]) :])

        return _FOLDERS.sub(last, label)

    while True:
        counts = Counter([*map(name, most), *(each for each in labels if each not in most)])
        alike = [each for each in most if counts[name(each)] > 1 and kept[each] < most[each]]
        if not alike:
            return {label: name(label) for label in most if name(label) != label}
        for label in alike:
            kept[label] += 1


def readable_names(labels: Iterable[str]) -> Callable[[str], str]:
    """What replaces labels in texts by those ``without_folders``."""
    shorter = sorted(without_folders(list(labels)).items(), key=lambda pair: -len(pair[0]))

    def readable(text: str) -> str:
        for label, name in shorter:
            text = text.replace(label, name)
        return text

    return readable


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """A name of at most two short lines for each label; different labels get different names."""
    names: dict[str, str] = {}
    every = list(labels)
    cut = without_folders(every)
    for label in every:
        short = _short(printable(cut.get(label, label)))
        name, number = short, 1
        while name in names.values():
            number += 1
            name = f"{short} #{number}"
        names[label] = name
    return names


def _short(label: str) -> str:
    if len(label) <= WIDTH:
        return label
    place = WIDTH
    for characters in ("(", " ,/:", "-=_"):  # after which a label is best broken, in this order
        if places := [n for n in range(8, WIDTH) if label[n - 1] in characters]:
            place = places[-1]
            break
    first, second = label[:place].rstrip(), label[place:].lstrip()
    if len(second) > WIDTH:  # without its middle: what differs is often at the end
        second = second[: WIDTH - WIDTH // 2 - 1] + "…" + second[-(WIDTH // 2) :]
    return f"{first}\n{second}"
