"""What reproductions share: statements, results, simulated runs, tables and figures."""

from __future__ import annotations

import csv
import hashlib
import multiprocessing
import pickle
import platform
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from importlib import metadata
from math import copysign, inf, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from omnimeter import caching
from omnimeter.agents.opportunists import (
    STEPS,
    THRESHOLD,
    OpportunistState,
    Waiter,
    begin,
    delay,
    random_action,
)
from omnimeter.contract import Budget, EnvironmentClass, Exercise, Spec, Trace, stream
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import fingerprint
from omnimeter.estimation import Estimate, mean
from omnimeter.interaction import KernelAgent, KernelEnvironmentClass, run_single
from omnimeter.kernels import AgentKernels, kernel
from omnimeter.reports.tables import finite

Report = Callable[[str, float], None]
"""Called with what is being done and which share of the whole is finished."""

PUBLISHED_FIELD = ".published"
"""Ends the name of a field of a row that holds what the paper prints for the field before it."""

REWARDS = (-1.0, 1.0)  # the lowest and the highest reward, and therefore average reward


def silent(doing: str, done: float) -> None:
    """Report nothing."""


class Verdict(StrEnum):
    """What our runs say of a claim; the last is the only failure."""

    AGREES = "agrees"
    EXPLAINED = "differs, explained"
    DIFFERS = "differs"


@dataclass(frozen=True)
class Statement:
    """A claim of the paper, and whether our runs agree with it: the verdict.

    Attributes:
        claim: What the paper says, paraphrased.
        evidence: What our runs show, with numbers.
        holds: Whether they agree; ``None`` where the paper gives nothing to compare with.
        reason: Why we differ, where that is known and tested. Such a difference is no failure.
    """

    claim: str
    evidence: str
    holds: bool | None
    reason: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Whether they agree; ``None`` where there is nothing to compare with."""
        if self.holds is None:
            return None
        if self.holds:
            return Verdict.AGREES
        return Verdict.EXPLAINED if self.reason else Verdict.DIFFERS


@dataclass(frozen=True)
class Comparison:
    """A number that the paper prints, beside ours.

    Attributes:
        name: What it is.
        ours: The mean of what our samples gave, each as large as the paper's single one.
        published: The printed number.
        rounding: How far from it the number before rounding may be.
        standard_error: Of the difference, from the spread of our samples.
    """

    name: str
    ours: Estimate
    published: float
    rounding: float
    standard_error: float

    @classmethod
    def of(cls, name: str, values: ArrayLike, published: float, decimals: int = 3) -> Comparison:
        """Compare a printed number with what each of our samples gave.

        Args:
            name: What it is.
            values: One for each sample as large as the paper's, at least two.
            published: The printed number.
            decimals: With how many decimals it is printed.
        """
        ours = mean(values)
        # The paper's sample is one more of the same kind, and ours is a mean of several.
        spread = float(np.std(np.asarray(values, dtype=np.float64), ddof=1))
        error = spread * sqrt(1 + 1 / ours.count)
        return cls(name, ours, published, 0.5 * 10**-decimals, error)

    @property
    def z(self) -> float:
        """The difference that rounding leaves, in standard errors; above 0 where ours is more.

        Infinite where our samples do not differ at all.
        """
        difference = self.ours.value - self.published
        beyond = abs(difference) - self.rounding
        if beyond <= 0:
            return 0.0
        return copysign(beyond / self.standard_error if self.standard_error else inf, difference)

    def record(self) -> dict[str, Any]:
        """All of it as a record."""
        return {
            "number": self.name,
            **fields(self.ours, "ours"),
            "published": self.published,
            "standard-error": self.standard_error,
            "z": round(self.z, 2),
        }


ERROR = 0.05  # the probability with which numbers that are like ours are said to differ


def max_z(count: int) -> float:
    """How many standard errors the farthest of some numbers may be away (Bonferroni)."""
    return NormalDist().inv_cdf(1 - ERROR / 2 / count)


def agree(comparisons: Sequence[Comparison]) -> bool:
    """Whether printed numbers are as near to ours as others of ours would be."""
    return all(abs(each.z) <= max_z(len(comparisons)) for each in comparisons)


def describe(comparisons: Sequence[Comparison]) -> str:
    """Each printed number beside ours, and the rule by which they agree."""
    texts = (
        f"{each.name} {each.ours.value:.3f}, published {each.published:g} ({each.z:+.1f})"
        for each in comparisons
    )
    return (
        f"{'; '.join(texts)}. In brackets: the difference in standard errors. Rule: none is more "
        f"than {max_z(len(comparisons)):.1f} away, as {1 - ERROR:.0%} of sets of "
        f"{len(comparisons)} numbers like ours are."
    )


@dataclass(frozen=True)
class Reproduced:
    """The result of a reproduction.

    Attributes:
        name: Its name.
        title: What it shows, in a line.
        statements: What was compared.
        figures: Named numbers, flat.
        rows: The table, as records with the same fields, where there is one. A field ``x`` may be
            followed by a field ``x.published``.
        files: What was written, by a short name; the rows under ``table``.
        comparisons: The numbers that the paper prints, beside ours.
        columns: The fields of the rows that a terminal shows; all of them by default.
        findings: Where the differences are explained at length: a page and its section.
    """

    name: str
    title: str
    statements: Sequence[Statement]
    figures: Mapping[str, float]
    rows: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Path] = field(default_factory=dict)
    comparisons: Sequence[Comparison] = ()
    columns: Sequence[str] = ()
    findings: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of its statements."""
        given = {each.verdict for each in self.statements}
        return next((each for each in reversed(Verdict) if each in given), Verdict.AGREES)

    @property
    def agrees(self) -> bool:
        """Whether every difference has a written reason."""
        return self.verdict is not Verdict.DIFFERS

    def to_json(self) -> dict[str, Any]:
        """One object for programs."""
        data: dict[str, Any] = {
            "name": self.name,
            "verdict": self.verdict,
            "agrees": self.agrees,
            "figures": dict(self.figures),
            "rows": [dict(row) for row in self.rows],
            "comparisons": [each.record() for each in self.comparisons],
            "statements": [self._statement(each) for each in self.statements],
            "files": {name: str(path) for name, path in self.files.items()},
        }
        return dict(finite(data))

    def _statement(self, statement: Statement) -> dict[str, Any]:
        verdict = statement.verdict
        findings = self.findings if verdict is Verdict.EXPLAINED else ""
        return {**asdict(statement), "verdict": verdict, "findings": findings}


# Steps.

Value = TypeVar("Value")


@dataclass(frozen=True)
class Steps:
    """The finished steps of a reproduction: when it was interrupted, it goes on after them.

    A step is a call of a function. What it gave is kept in a folder until the whole is finished,
    and taken up again by the same call. Each file is signed, like those of the cache: nothing that
    this user's Omnimeter did not write is ever unpickled.

    Attributes:
        out: The folder of the reproduction; nothing is kept without one.
    """

    out: Path | None = None

    def __call__(
        self, function: Callable[..., Value], *arguments: object, **others: object
    ) -> Value:
        """What a function gives, or gave before the interruption.

        Args:
            function: A function of a module.
            arguments: What its value depends on, as plain values: they name the step.
            others: What its value does not depend on, such as a report.
        """
        if self.out is None:
            return function(*arguments, **others)
        key = fingerprint([function.__qualname__, repr(arguments), _code(function)])
        path = self.folder.resolve() / f"{function.__name__}-{key}"
        with writing_to(path):
            content = caching.kept(str(path))
        if content is not None:
            value: Value = pickle.loads(content)
            return value
        value = function(*arguments, **others)
        caching.keep(str(path), pickle.dumps(value))
        return value

    @property
    def folder(self) -> Path:
        """Where they are kept."""
        return (self.out or Path()) / "steps"

    @property
    def count(self) -> int:
        """How many are kept."""
        return sum(1 for _ in self.folder.glob("*-*"))

    def remove(self) -> None:
        """Remove them: the whole is finished, and would begin anew."""
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def _code(function: Callable[..., object]) -> str:
    """What names the code of a step: this package, the file of the function, and versions."""
    package = sorted(Path(caching.__file__).parent.rglob("*.*"))
    files = [each for each in package if each.suffix in (".py", ".json")]
    versions = [platform.python_version(), metadata.version("numpy"), metadata.version("numba")]
    code = hashlib.sha256(" ".join(versions).encode())
    for file in (*files, Path(function.__code__.co_filename)):
        code.update(file.read_bytes())
    return code.hexdigest()


@contextmanager
def processes(workers: int) -> Iterator[Callable[..., Iterator[Any]]]:
    """``map``, carried out by so many processes, which an interruption ends at once.

    Without that an interruption would wait for the steps that are under way.
    """
    if workers < 2:
        yield map
        return
    # A Ctrl-C in a terminal reaches these processes too: this one decides what becomes of them.
    before = multiprocessing.active_children()
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield pool.map
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            if process not in before:
                process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


# Runs.

SIMULATED = Spec("simulated-v1")
"""The spec of every simulated agent, so that all have the same random streams: runs are paired."""


def draw_exercises(
    environment_class: EnvironmentClass, budget: Budget, runs: int, seed: int = 0
) -> list[Exercise]:
    """The same exercises for every agent, each in an environment of its own."""
    return [
        Exercise(
            agent=SIMULATED,
            environment_class=SIMULATED,
            instance=environment_class.draw(stream(seed, "instance", number).generator()),
            budget=budget,
            seed=seed,
            number=number,
        )
        for number in range(runs)
    ]


def simulate(
    environment_class: KernelEnvironmentClass,
    agent: KernelAgent,
    seconds: float,
    runs: int,
    seed: int = 0,
) -> Iterator[Trace]:
    """The traces of one agent over a period of time, run by run, so that memory stays flat."""
    exercises = draw_exercises(environment_class, Budget(seconds=seconds), runs, seed)
    return run_single(environment_class, agent, exercises)


# An agent of its own: what the opportunists of the catalogue do after good rewards, after bad ones.

FOR_EVER = 1e6  # seconds, longer than any test here


@kernel
def sulker_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """A random action, slow when the last one brought less than the threshold."""
    return random_action(state, state.numbers[STEPS] > 0 and reward < state.sums[THRESHOLD])


class Sulker(Waiter):
    """Acts at random, fast, and waits before the next action after a bad reward.

    Args:
        threshold: The reward that the last action must fall short of to be bad.
        rate: Actions per second while it is fast.
        wait: Seconds that the action after a bad reward takes; by default it stops for ever.
    """

    kernels = AgentKernels(OpportunistState, begin=begin, act=sulker_act, delay=delay)

    def __init__(self, threshold: float = 0.0, rate: float = 10.0, wait: float = FOR_EVER) -> None:
        super().__init__(threshold, rate, wait)


# Estimates, in statements and in tables.


def fmt(estimate: Estimate, digits: int = 3) -> str:
    """An estimate with its interval, as text."""
    return f"{estimate.value:.{digits}f} [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"


def join(numbers: Iterable[float], spec: str, last: str = ", ") -> str:
    """Numbers in this format, separated by commas, the last one by another separator."""
    *first, final = (format(number, spec) for number in numbers)
    return last.join([", ".join(first), final]) if first else final


def fields(estimate: Estimate, name: str = "") -> dict[str, float]:
    """An estimate with its interval, as fields of a row: named, or value, low and high."""
    names = (name, f"{name}-low", f"{name}-high") if name else ("value", "low", "high")
    return dict(zip(names, (estimate.value, estimate.low, estimate.high), strict=True))


def contains_zero(estimate: Estimate) -> bool:
    """Whether 0 lies in the interval."""
    return estimate.low <= 0 <= estimate.high


def is_within(estimate: Estimate, distance: float) -> bool:
    """Whether the whole interval is closer to 0 than this."""
    return -distance < estimate.low and estimate.high < distance


def bands(estimates: Iterable[Estimate]) -> FloatArray:
    """Three rows for a curve: the values, the lower and the upper ends of the intervals."""
    return np.array([(each.value, each.low, each.high) for each in estimates]).T


# Files.


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Make the directory; report clearly when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Choose another place with --out."
        ) from error


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write records with the same fields as CSV."""
    with writing_to(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path
