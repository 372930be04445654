"""Agents that continue series of letters: Solomonoff induction, n-grams, and PPM."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from omnimeter.agents.shared import require
from omnimeter.contract import Agent, Briefing, Observation
from omnimeter.contract.agent import FloatArray
from omnimeter.series.machine import HORIZON, run
from omnimeter.series.search import MAX_DEPTH, table

Of = Literal["letters", "steps"]

MAX_ORDER = 12


class _Predictor(Agent):
    """Answers with the option whose letter it finds most plausible as the next one."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Read what the task is; know no letter yet."""
        self.actions, self.rng = briefing.actions, rng
        told = briefing.remarks
        self.letters = int(told["letters"]) if told.get("task") == "continue" else 0
        if self.letters:
            self.shown, self.choices = int(told["shown"]), int(told["choices"])
            self.each = told["feedback"] == "each"
        self.series: list[int] = []
        self.begun = False

    def act(self, reward: float, observation: Observation) -> int:  # noqa: ARG002
        """The most plausible option, any of them where several are; elsewhere any action."""
        if not self.letters:
            return int(self.rng.integers(self.actions))
        seen = np.atleast_1d(observation)
        window = seen[: self.shown]
        if not self.begun:
            self.series = [int(each) - 1 for each in window if each]
            self.begun = True
        elif self.each:  # one letter more than before
            self.series.append(int(window[window > 0][-1]) - 1)
        options = np.arange(self.letters)
        if self.choices:
            options = seen[self.shown : self.shown + self.choices]
        plausible = self.plausibility()[options]
        return int(self.rng.choice(np.flatnonzero(plausible == plausible.max())))

    def recall(self, reward: float, observation: Observation, action: int) -> None:  # noqa: ARG002
        """See and draw as before the interruption."""
        self.act(reward, observation)

    @abstractmethod
    def plausibility(self) -> FloatArray:
        """For each letter how plausible it is as the next one; only the order counts."""


class Solomonoff(_Predictor):
    """Predicts by all programs that write what was seen, each weighing 2 to the power of -length.

    This is Solomonoff induction over the programs of the C-test's machine up to a length. It knows
    that machine: it is an upper reference for agents that have to find out what series are like.
    All programs are run once; this is kept. Of those that agree on the first twelve letters it
    follows the simplest. Outside the C-test it acts at random.

    Args:
        depth: The length of the longest programs that it knows, 1 to 11 instructions.
    """

    def __init__(self, depth: int = 9) -> None:
        problem = f"Programs of up to {depth} instructions are not searched."
        require(1 <= depth <= MAX_DEPTH, problem, f"Give a depth from 1 to {MAX_DEPTH}.")
        self.depth = depth

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Read what the task is; know no letter yet."""
        super().begin(briefing, rng)
        self.followed: Iterator[tuple[int, int]] | None = None
        self.expected: list[int] = []

    def plausibility(self) -> FloatArray:
        """The weight of the programs that go on with each letter."""
        known = table(self.depth, self.letters)
        rows = known.begins(self.series[:HORIZON])
        if len(self.series) < HORIZON:
            following = known.letters(len(self.series), rows)
            counted = np.bincount(following, known.weights[rows], self.letters)
            return np.asarray(counted, dtype=np.float64)
        plausible = np.zeros(self.letters)
        if rows.start < rows.stop:
            if self.followed is None:
                self.followed = run(known.program(rows.start), self.letters)
            while len(self.expected) <= len(self.series):
                self.expected.append(next(self.followed)[0])
            if self.expected[:-1] == self.series:
                plausible[self.expected[-1]] = 1.0
        return plausible


class _ContextPredictor(_Predictor):
    """Predicts by what came after the same last symbols before.

    Args:
        order: The largest number of last symbols that are compared, 0 to 12.
        of: Symbols are ``letters``, or the ``steps`` from each letter to the next.
    """

    def __init__(self, order: int = 3, of: Of = "letters") -> None:
        require(0 <= order <= MAX_ORDER, f"The order is {order}.", f"Give 0 to {MAX_ORDER}.")
        require(of in ("letters", "steps"), f"There are no {of!r}.", "Give letters or steps.")
        self.order, self.of = order, of

    def plausibility(self) -> FloatArray:
        """That of each symbol, for the letter that it leads to."""
        if self.of == "letters":
            return self.predict(self.series)
        if not self.series:
            return np.zeros(self.letters)
        steps = np.diff(self.series) % self.letters
        return np.roll(self.predict(steps.tolist()), self.series[-1])

    def followers(self, symbols: Sequence[int], order: int) -> FloatArray:
        """How often each symbol came after the last ones, as many as the order, before."""
        counts = np.zeros(self.letters)
        context = symbols[len(symbols) - order :]
        for end in range(order, len(symbols)):
            if symbols[end - order : end] == context:
                counts[symbols[end]] += 1
        return counts

    @abstractmethod
    def predict(self, symbols: Sequence[int]) -> FloatArray:
        """For each symbol how plausible it is as the next one."""


class NGram(_ContextPredictor):
    """Predicts what came most often after the same last symbols before; an n-gram model.

    The longest context that has come before decides. Among symbols that came as often after it,
    shorter contexts decide. Outside the C-test it acts at random.

    Args:
        order: The largest number of last symbols that are compared, 0 to 12.
        of: Symbols are ``letters``, or the ``steps`` from each letter to the next.
    """

    def predict(self, symbols: Sequence[int]) -> FloatArray:
        """Counts, those of shorter contexts far behind."""
        plausible = np.zeros(self.letters)
        for order in range(min(self.order, len(symbols)) + 1):
            plausible = plausible / (len(symbols) + 1) + self.followers(symbols, order)
        return plausible


class PPM(_ContextPredictor):
    """Predicts by partial matching (PPM, Cleary and Witten 1984) with escape method C.

    The probability of a symbol is that after the longest context; what was not seen there shares
    the probability of an escape to the next shorter one. By method C (Moffat 1990) an escape counts
    as often as there were different symbols. Symbols of longer contexts are excluded from shorter
    ones; below order 0 all symbols are equal. Where none is left there is no escape. Outside the
    C-test it acts at random.

    Args:
        order: The largest number of last symbols that are compared, 0 to 12.
        of: Symbols are ``letters``, or the ``steps`` from each letter to the next.
    """

    def predict(self, symbols: Sequence[int]) -> FloatArray:
        """The probability of each symbol."""
        probabilities = np.zeros(self.letters)
        left = 1.0  # what has been passed on by escapes
        allowed = np.ones(self.letters, dtype=np.bool_)
        for order in range(min(self.order, len(symbols)), -1, -1):
            counts = np.where(allowed, self.followers(symbols, order), 0.0)
            kinds = np.count_nonzero(counts)
            if kinds:
                total = counts.sum() + kinds
                probabilities += left * counts / total
                left *= kinds / total
                allowed &= counts == 0
        if allowed.any():
            probabilities[allowed] += left / np.count_nonzero(allowed)
        normalised: FloatArray = probabilities / probabilities.sum()
        return normalised
