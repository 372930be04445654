"""The basic measures of an overlay, and its complexity (perturbation tolerance, equations 1 to 4).

Size, information density and variability are those of time 1, as equation (1) has no time. D_p of
two squares is the number of columns in which they differ: a named value that differs counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import fsum, inf, isfinite, prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.errors import InvalidInputError, UnknownNameError
from omnimeter.contract.overlay import Belief, Lattice, Overlay, Value, plain
from omnimeter.measures.distances import UndefinedError, Variability, variability

Form = Literal["mean", "sum"]
Combine = Literal["product", "sum"]
Flags = NDArray[np.bool_]

FACTORS = ("size", "density", "variability", "volatility", "inconsistency")
"""What complexity (4) is made of."""

MEASURES = (*FACTORS, "difference", "complexity")
"""All measures, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Volatility:
    """The volatility of an overlay (2).

    Attributes:
        total: The sum of D_p(s_i,1, s_i,j) / j over squares and times, as equation (2) has it.
        mean: The mean form: D_p between time 1 and later times, averaged over squares and, with
            the weights 1 / j, over times. It is ``total / (n (1/2 + ... + 1/t))``, or 0 for t = 1.
    """

    total: float
    mean: float


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Direct contradictions between an overlay and initial beliefs.

    Attributes:
        of_beliefs: The share of beliefs that are contradicted at time 1.
        of_propositions: The share of the propositions of the overlay that contradict a belief then.
        mean_of_beliefs: The first share, averaged over time; the beliefs stay the initial ones.
        mean_of_propositions: The second share, averaged over time.
    """

    of_beliefs: float
    of_propositions: float
    mean_of_beliefs: float
    mean_of_propositions: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference D_o between two overlays at time 1 (3).

    Attributes:
        total: The sum of D_p over corresponding squares.
        only_first: The propositions that only the first overlay has.
        only_second: The propositions that only the second overlay has.
    """

    total: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Measures:
    """All basic measures of an overlay, and its complexity.

    Attributes:
        size: The number n of squares.
        density: The information density, the mean number of propositions that hold in a square.
        variability: The variability (1), if all squares are connected.
        volatility: The volatility (2).
        inconsistency: The inconsistency with a knowledge base, if one was given.
        difference: The difference to another overlay (3), if one was given.
        complexity: The complexity (4), if all that it is made of is defined.
        form: Which form of variability and volatility the complexity is made of.
        reasons: Why a measure is ``None``, by its name.
    """

    size: int
    density: float
    variability: Variability | None
    volatility: Volatility
    inconsistency: Inconsistency | None
    difference: Difference | None
    complexity: float | None
    form: Form = "mean"
    reasons: Mapping[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, float | None]:
        """Each measure as one number, variability and volatility in the chosen form."""
        varies, believed, apart = self.variability, self.inconsistency, self.difference
        sums = self.form == "sum"
        values: dict[str, float | None] = dict.fromkeys(MEASURES)
        values["size"], values["density"] = float(self.size), self.density
        if varies is not None:
            values["variability"] = varies.total if sums else varies.ratio
        values["volatility"] = self.volatility.total if sums else self.volatility.mean
        if believed is not None:
            values["inconsistency"] = believed.mean_of_beliefs
        if apart is not None:
            values["difference"] = float(apart.total)
        values["complexity"] = self.complexity
        return values


def measure(
    overlay: Overlay,
    knowledge: Iterable[Belief] | None = None,
    other: Overlay | None = None,
    *,
    form: Form = "mean",
    combine: Combine = "product",
    weights: Mapping[str, float] | None = None,
    sample: int | None = None,
    rng: np.random.Generator | None = None,
) -> Measures:
    """All basic measures of an overlay, and its complexity.

    Args:
        overlay: The overlay.
        knowledge: Initial beliefs of an agent, for the inconsistency; by default those that the
            environment tells.
        other: Another overlay with as many squares, for the overlay difference.
        form: Whether complexity is made of the mean forms of variability and volatility, or of
            the sums (1) and (2), which grow with the size.
        combine: Whether complexity is the product of what is not zero, or the sum.
        weights: Exponents of the factors in the product, coefficients in the sum, by the names
            ``size``, ``density``, ``variability``, ``volatility`` and ``inconsistency``.
        sample: From how many squares to estimate the variability.
        rng: What draws these squares.

    Raises:
        InvalidInputError: Beliefs contradict each other, overlays differ in size, or an option is
            not known.
    """
    if form not in ("mean", "sum"):
        raise InvalidInputError(f"There is no form {form!r}.", "Choose 'mean' or 'sum'.")
    reasons: dict[str, str] = {}
    varies: Variability | None = None
    try:
        varies = variability(overlay, sample, rng)
    except UndefinedError as error:
        reasons["variability"] = error.message
        reasons["complexity"] = "The variability is undefined."
    changes = volatility(overlay)
    knowledge = overlay.knowledge if knowledge is None else knowledge
    believed = None if knowledge is None else inconsistency(overlay, knowledge)
    if believed is None:
        reasons["inconsistency"] = "No knowledge base was given."
    if other is None:
        reasons["difference"] = "No other overlay was given."
    n, density = overlay.adjacency.size, information_density(overlay)
    apart = None if other is None else overlay_difference(overlay, other)
    result = Measures(n, density, varies, changes, believed, apart, None, form, reasons)
    values = {name: result.values()[name] or 0.0 for name in FACTORS}
    combined = complexity(values, combine, weights)
    return result if varies is None else replace(result, complexity=combined)


def information_density(overlay: Overlay) -> float:
    """The mean number of propositions that hold in a square."""
    return float(np.count_nonzero(overlay.codes)) / overlay.adjacency.size


def volatility(overlay: Overlay) -> Volatility:
    """The volatility of an overlay (2): how much squares differ from what they are at time 1."""
    square, column, code, begin, end = _spells(overlay)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, overlay.duration + 1))])
    differs = code != overlay.codes[square, column]
    total = fsum((harmonic[end - 1] - harmonic[begin - 1])[differs])
    later = overlay.adjacency.size * (harmonic[-1] - 1)
    return Volatility(total, total / float(later) if overlay.duration > 1 else 0.0)


def _spells(overlay: Overlay) -> NDArray[np.int64]:
    """Rows of square, column, code, the time it begins and the time after its end, of all changes.

    What holds before the first change of a square and column has no entry.
    """
    time, square, column, code = overlay.changes.T
    order = np.lexsort((np.arange(len(time)), column, square))
    time, square, column, code = (each[order] for each in (time, square, column, code))
    end = np.full(len(time), overlay.duration + 1)
    same = (square[1:] == square[:-1]) & (column[1:] == column[:-1])
    end[:-1][same] = time[1:][same]
    return np.stack([square, column, code, time, end])


def inconsistency(overlay: Overlay, knowledge: Iterable[Belief]) -> Inconsistency:
    """The direct contradictions between an overlay and initial beliefs.

    The world is closed: what the overlay does not state does not hold. A belief is contradicted if
    it says that a proposition or value holds and it does not, or that it does not hold and it does.
    Without beliefs nothing is contradicted.

    Raises:
        InvalidInputError: The beliefs contradict each other, or are of squares that do not exist.
    """
    beliefs = _checked(overlay, knowledge)
    names = {name: column for column, name in enumerate(overlay.columns)}
    codes = [{value: k for k, value in enumerate(each, 1)} for each in overlay.columns.values()]
    believed = np.full(overlay.codes.shape, -1, dtype=np.int64)  # -1 is no belief
    elsewhere = 0  # beliefs that something holds which holds nowhere in this overlay
    for (square, name), value in beliefs.items():
        column = names.get(name)
        if column is None:
            elsewhere += value is not False
        elif value is False:
            believed[square, column] = 0
        else:  # a value that is no label differs from that of every square
            believed[square, column] = codes[column].get(value, len(codes[column]) + 1)
    square, column, code, begin, end = _spells(overlay)

    def over_time(flags: Flags, later: Flags) -> NDArray[np.int64]:
        """How many flags are set at each time: those of time 1, and those of each spell."""
        number = np.zeros(overlay.duration + 2, dtype=np.int64)
        number[1] = np.count_nonzero(flags)
        gain = later.astype(np.int64) - flags[square, column]
        np.add.at(number, begin, gain)
        np.subtract.at(number, end, gain)
        return np.cumsum(number)[1:-1]

    expected = believed[square, column]
    wrong = (believed >= 0) & (believed != overlay.codes)
    wrong_later = (expected >= 0) & (expected != code)
    holds, holds_later = overlay.codes > 0, code > 0
    contradicted = over_time(wrong, wrong_later) + elsewhere
    contradicting = over_time(wrong & holds, wrong_later & holds_later)
    of_beliefs = contradicted / max(1, len(beliefs))
    of_propositions = contradicting / np.maximum(1, over_time(holds, holds_later))
    return Inconsistency(
        float(of_beliefs[0]),
        float(of_propositions[0]),
        float(of_beliefs.mean()),
        float(of_propositions.mean()),
    )


def _checked(overlay: Overlay, knowledge: Iterable[Belief]) -> dict[tuple[int, str], Value]:
    """What is believed of each square, if no two beliefs contradict each other."""
    beliefs: dict[tuple[int, str], Value] = {}
    for square, name, given in knowledge:
        value = plain(name, given)
        if not 0 <= square < overlay.adjacency.size:
            message = (
                f"There is a belief about square {square} of {overlay.adjacency.size} squares."
            )
            raise InvalidInputError(message, "Number squares from 0.")
        before = beliefs.setdefault((square, name), value)
        if before != value or (before is False) != (value is False):
            said = " and ".join(
                f"{name} does not hold" if each is False else f"{name} is {each}"
                for each in (before, value)
            )
            message = "The knowledge base contradicts itself about the square "
            message += f"{overlay.name(square)}: {said}."
            raise InvalidInputError(message, "Keep one of the two beliefs.")
    return beliefs


def overlay_difference(first: Overlay, second: Overlay) -> Difference:
    """The difference D_o between two overlays at time 1 (3).

    Squares correspond by name where both overlays have names, and by number otherwise. A
    proposition that one of them does not have does not hold there.

    Raises:
        InvalidInputError: They do not have the same squares.
    """
    one, two, message = first.adjacency, second.adjacency, ""
    if one.size != two.size:
        message = f"The overlays have {one.size} and {two.size} squares."
    elif isinstance(one, Lattice) and isinstance(two, Lattice) and one.shape != two.shape:
        message = f"The overlays are lattices of the shapes {one.shape} and {two.shape}."
    order = np.arange(one.size)
    if not message and first.names and second.names:
        if apart := sorted(set(first.names) ^ set(second.names)):
            message = f"Only one of the overlays has the square {apart[0]}."
        else:
            order[np.argsort(first.names, kind="stable")] = np.argsort(second.names, kind="stable")
    if message:
        raise InvalidInputError(message, "Compare overlays whose squares correspond to each other.")
    total = 0
    absent = np.zeros(first.adjacency.size, dtype=np.int64)
    for name in dict.fromkeys([*first.columns, *second.columns]):
        numbers: dict[Value | None, int] = {None: 0}
        columns = []
        for overlay, places in ((first, slice(None)), (second, order)):
            column = absent
            if name in overlay.columns:
                labels = [None, *overlay.columns[name]]
                common = np.array([numbers.setdefault(each, len(numbers)) for each in labels])
                column = common[overlay.codes[places, list(overlay.columns).index(name)]]
            columns.append(column)
        total += int(np.count_nonzero(columns[0] != columns[1]))
    return Difference(
        total,
        tuple(name for name in first.columns if name not in second.columns),
        tuple(name for name in second.columns if name not in first.columns),
    )


def complexity(
    values: Mapping[str, float],
    combine: Combine = "product",
    weights: Mapping[str, float] | None = None,
) -> float:
    """The complexity of an environment (4), n x density x variability x volatility x (I + 1).

    Measures that are 0 are left out of the product. The paper leaves weights and addition open; in
    the sum, inconsistency is added as I, because the 1 only makes I = 0 neutral in a product.

    Args:
        values: The measures, by the names of ``FACTORS``; what is missing counts as 0.
        combine: Product or sum.
        weights: Exponents in the product, coefficients in the sum; 1 where not given.

    Raises:
        InvalidInputError: A weight of something else or that is not finite, another way to
            combine, or a complexity that is too large for a number.
    """
    for name in [*values, *(weights or {})]:
        if name not in FACTORS:
            raise UnknownNameError("factor of complexity", name, FACTORS)
    if combine not in ("product", "sum"):
        raise InvalidInputError(
            f"Complexity cannot be combined as {combine!r}.", "Choose 'product' or 'sum'."
        )
    weight = dict.fromkeys(FACTORS, 1.0) | dict(weights or {})
    for name, number in weight.items():
        if not isfinite(number):
            raise InvalidInputError(f"The weight of {name} is {number}.", "Give a finite number.")
    factors = dict(values) | {"inconsistency": values.get("inconsistency", 0.0) + 1}
    try:
        if combine == "sum":
            result = fsum(weight[name] * value for name, value in values.items())
        else:
            powers = (value ** weight[name] for name, value in factors.items() if value != 0)
            result = float(prod(powers))
    except (OverflowError, ValueError):  # the sum of opposite infinities is a ValueError
        result = inf
    if not isfinite(result):
        message = f"The complexity with the weights {dict(weights or {})} is too large."
        raise InvalidInputError(message, "Give smaller weights.")
    return result
