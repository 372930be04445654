"""Reading and writing an evaluation: immutable, signed shards of columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from omnimeter.contract import Budget, Outcome, Outcomes, Spec, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.exercise import supersedes
from omnimeter.contract.spec import canonical_json, fingerprint
from omnimeter.results import files, merging, sealing, tables
from omnimeter.results.agreement import Disagreement, one_of_each
from omnimeter.results.columns import Columns, Objects, StoredOutcomes
from omnimeter.results.files import Layout, read_error, write_errors
from omnimeter.results.journal import Journals
from omnimeter.results.provenance import (
    check_same,
    current_provenance,
    read_seed,
    read_spec,
    write_spec,
)
from omnimeter.results.traces import StoredTraces, encode_traces, read_traces, stored_traces

_TRIES = 10  # readings of a directory whose shards are merged meanwhile
_DIGITS = "0123456789abcdef"
_FIELDS = ("versions", "revisions", "machine")  # fields of a provenance that are tables


class Record:
    """One evaluation on disk, for reading only, also while others write it.

    It takes no lock and writes nothing. Each call sees what is stored at that moment.

    Args:
        path: The directory of the evaluation.
        shards: Only these shards of outcomes are looked at; all by default.
        damaged: What is done with a damaged shard: it is an error, or it is left out.

    Attributes:
        path: The directory of the evaluation.
        spec: What is evaluated, as plain JSON data.
        seed: The secret seed that was drawn for it when it began, if one was.
        damaged: The files that were left out, as far as they were looked at, and why.

    Raises:
        StoreError: Also from its methods: a file is missing, damaged or cannot be read.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        shards: Collection[str] | None = None,
        damaged: Literal["error", "skip"] = "error",
    ) -> None:
        self.path = Path(path)
        self._layout = Layout(self.path)
        self.spec: dict[str, Any] = read_spec(self._layout)
        self.seed: int | None = read_seed(self._layout)
        self.damaged: dict[Path, StoreError] = {}
        self._skips = damaged == "skip"
        self._only = None if shards is None else set(shards)
        self._key = files.read_key(self._layout)
        self._columns, self._made = Columns(), Objects(self._layout, self._key, self._again)
        self._known: StoredOutcomes | None = None
        self._traced: dict[str, StoredTraces] = {}

    @classmethod
    def intact(cls, path: str | PathLike[str], damaged: dict[Path, StoreError]) -> Self | None:
        """What can be read of an evaluation; ``None`` if nothing can.

        Args:
            path: Its directory.
            damaged: Where what is left out is noted, now and while more is read.

        Raises:
            StoreError: There is none, or something but damage keeps it from being read.
        """
        try:
            record = cls(path, damaged="skip")
            record.damaged = damaged
            record.outcomes()
        except DamagedError as error:
            damaged[Path(path)] = error
            return None
        return record

    @property
    def fingerprint(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.spec)

    def keys(self) -> set[str]:
        """The keys of all exercises that have an outcome."""
        return {f"{key:016x}" for key in self.outcomes().keys.tolist()}

    def outcomes(self) -> StoredOutcomes:
        """All outcomes, ordered by agent, number of the exercise and key.

        Of an exercise that was run again after a fault of the infrastructure, the last attempt.
        """
        for turn in range(1, _TRIES + 1):
            present = self._present()
            if self._known is not None and present == sorted(self._columns.shards):
                return self._known
            known = set(self._columns.shards)
            if not known <= set(present):  # some were merged, or removed
                self._columns, known = Columns(), set()
                self._made = Objects(self._layout, self._key, self._again)
            new = [name for name in present if name not in known]
            damaged = self.damaged if self._skips else None
            try:
                self._columns = self._columns.extended(self._layout, new, self._key, damaged)
                break
            except sealing.MissingShardError:  # merged since the directory was read
                if turn == _TRIES:
                    raise
        self._known = StoredOutcomes(self._columns, self._last_attempts(), self._made)
        return self._known

    def _again(self) -> Outcomes:
        """The outcomes as another reader finds them now."""
        return Record(self.path, damaged="skip" if self._skips else "error").outcomes()

    def _present(self) -> list[str]:
        """The shards that are looked at."""
        # A directory that changes while it is listed may hide a merged shard that is already there
        # and those in it, which are already gone.
        if self._only is not None:  # a merged one is not among them
            again = {name for name in self._only if self._layout.outcome_shard(name).exists()}
        else:
            names, again = set(self._layout.shards()), set(self._layout.shards())
            while not names <= again:
                names, again = again, set(self._layout.shards())
        return sorted(
            name for name in again if self._layout.outcome_shard(name) not in self.damaged
        )

    def _last_attempts(self) -> IntArray:
        """The rows that count, in order.

        Raises:
            StoreError: Two shards disagree on an exercise. If damage is left out, it is noted, and
                such exercises are left out.
        """
        columns = self._columns
        rows = columns.order
        if columns.superseded:
            left_over = [name in columns.superseded for name in columns.shards]
            rows = rows[~np.array(left_over)[columns.arrays["shard"][rows]]]
        if not len(rows):
            return rows
        key = columns.arrays["key"][rows]
        again = np.flatnonzero(key[1:] == key[:-1])
        if not len(again):
            return rows
        several = np.union1d(again, again + 1)
        outcomes = StoredOutcomes(columns, rows[several], self._made)
        chosen, disagreements = one_of_each(outcomes)
        if disagreements:
            error = self._disagreement(outcomes, disagreements[0])
            if not self._skips:
                raise error
            self.damaged[self._layout.outcomes] = error
            disputed = np.concatenate([outcomes.keys[each.rows] for each in disagreements])
            chosen = chosen[~np.isin(outcomes.keys[chosen], disputed)]
        return np.delete(rows, np.setdiff1d(several, several[chosen]))

    def _disagreement(self, outcomes: StoredOutcomes, difference: Disagreement) -> DamagedError:
        pair = [int(difference.rows[0]), int(difference.others[0])]
        shards = sorted({name for row in pair for name in outcomes.take(np.array([row])).shards})
        where = " and ".join(str(self._layout.outcome_shard(name)) for name in shards)
        number, label = int(outcomes.numbers[pair[0]]), outcomes.label(pair[0])
        return DamagedError(
            f"{where} disagree on exercise {number} of {label}.",
            "Remove the one that is wrong, or both, and run the evaluation again: exercises that "
            "are missing then will be run again.",
        )

    def trace(self, key: str) -> Trace | None:
        """The trace of one exercise, if it was stored."""
        return next((trace for _, trace in self._traces(key)), None)

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All stored traces with the keys of their exercises, one at a time."""
        return self._traces()

    def _traces(self, only: str | None = None) -> Iterator[tuple[str, Trace]]:
        """The traces of the last attempts, or ``only`` that of one exercise."""
        outcomes = self.outcomes()
        order = np.argsort(outcomes.keys)
        keys, attempts = outcomes.keys[order], outcomes.attempts[order]
        wanted = np.ones(len(keys), dtype=np.bool_)
        if only is not None:
            codes = [int(only, 16)] if len(only) == 16 and not set(only) - set(_DIGITS) else []
            wanted = np.isin(keys, np.array(codes, dtype=np.uint64))

        def budget(key: str) -> Budget:
            place = int(np.searchsorted(keys, np.uint64(int(key, 16))))
            return outcomes[int(order[place])].exercise.budget

        for _ in range(_TRIES):
            complete = True
            for shard in self._layout.trace_shards():
                path = self._layout.trace_shard(shard)
                if path in self.damaged or not wanted.any():
                    continue
                try:
                    if shard not in self._traced:
                        self._traced[shard] = stored_traces(path, self._key)
                    stored = self._traced[shard]
                    places = np.minimum(np.searchsorted(keys, stored.keys), len(keys) - 1)
                    chosen = wanted[places] & (keys[places] == stored.keys)
                    chosen &= attempts[places] == stored.attempts
                    if chosen.any():
                        pairs = zip(stored.keys[chosen], stored.attempts[chosen], strict=True)
                        these = {(f"{int(key):016x}", int(count)) for key, count in pairs}
                        for (key, _), trace in read_traces(path, self._key, these, budget):
                            yield key, trace
                        wanted[places[chosen]] = False
                except sealing.MissingShardError:
                    complete = False
                except DamagedError as error:
                    if not self._skips:
                        raise
                    self.damaged[path] = error
            if complete:  # otherwise some were merged since the directory was read
                return

    def provenance(self) -> list[dict[str, Any]]:
        """How the results were made, once for each time that the evaluation was written."""
        provenance = []
        for path in self._layout.provenance_files():
            try:
                made = dict(json.loads(path.read_bytes()))
                if not all(isinstance(made.get(name, {}), dict) for name in _FIELDS):
                    raise ValueError("its fields are not those that were written")
                provenance.append(made)
            except OSError as error:
                raise read_error(error, path) from error
            except (ValueError, TypeError, RecursionError) as error:
                advice = "Remove that file; no result depends on it."
                self.damaged[path] = DamagedError(f"{path} is damaged ({error}).", advice)
                if not self._skips:
                    raise self.damaged[path] from error
        return provenance


class Writer(Record):
    """A record that can also be written.

    ``open_writer`` makes it and holds its lock. Workers that share the work of its holder make
    their own: shards are immutable and named by what they hold, so that several may write at once.

    Args:
        path: The directory of the evaluation.
        shards: As for ``Record``: those with exercises that this writer may be given again.

    Attributes:
        written: The shards that it has written, each with how many outcomes are in it.
    """

    def __init__(self, path: str | PathLike[str], shards: Collection[str] | None = None) -> None:
        super().__init__(path, shards)
        self.written: dict[str, int] = {}
        self._closed = False
        self._stored = np.sort(self.outcomes().keys)
        self._added: set[int] = set()

    def keep_provenance(self, made: Iterable[Mapping[str, Any]]) -> None:
        """Write down how outcomes were made that are stored here and were made elsewhere.

        Raises:
            StoreError: It could not be written.
        """
        known = self.provenance()
        numbers = [int(p.stem) for p in self._layout.provenance_files() if p.stem.isdecimal()]
        new = [dict(each) for each in made if dict(each) not in known]
        for number, each in enumerate(new, max(numbers, default=0) + 1):
            content = json.dumps(each, indent=2, sort_keys=True) + "\n"
            files.write(self._layout.provenance / f"{number:04d}.json", content.encode())

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Store outcomes in one new shard, which survives a crash once this returns.

        Exercises that already have an outcome are left as they are, unless it was a fault of the
        infrastructure and the new one has more attempts.

        Args:
            outcomes: The outcomes.
            traces: The traces to store with them, by the keys of their exercises.

        Raises:
            StoreError: They could not be stored; what was stored before is safe.
            ValueError: A trace belongs to none of the outcomes, or the writer is closed.
        """
        if self._closed:
            raise ValueError("this evaluation is no longer open for writing")
        assert self._key is not None  # open_writer has made one
        given: dict[str, Outcome] = {}
        for outcome in outcomes:
            first = given.setdefault(outcome.exercise.key, outcome)
            if supersedes(outcome, first):
                given[outcome.exercise.key] = outcome
        traces = traces or {}
        if extra := traces.keys() - given.keys():
            raise ValueError(f"traces without an outcome: {sorted(extra)}")
        codes = {key: int(key, 16) for key in given}
        new = {key: each for key, each in given.items() if not self._has(codes[key])}
        again = {codes[k] for k, each in given.items() if k not in new and each.attempts > 1}
        if again:
            stored = self.outcomes()
            for earlier in stored.where(np.isin(stored.keys, np.array([*again], np.uint64))):
                key = earlier.exercise.key
                if supersedes(given[key], earlier):
                    new[key] = given[key]
        if not new:
            return
        shard, content = tables.encode_outcomes(*tables.outcome_table(new.values()), self._key)
        # The traces come first: a shard of outcomes on disk is what makes its exercises finished.
        if new_traces := {
            (key, new[key].attempts): trace for key, trace in traces.items() if key in new
        }:
            encoded = encode_traces(shard, new_traces, self._key)
            files.write(self._layout.trace_shard(shard), encoded)
        try:
            files.write(self._layout.outcome_shard(shard), content)
        except StoreError:
            if new_traces:
                with suppress(OSError):
                    self._layout.trace_shard(shard).unlink()
            raise
        if self._only is not None:
            self._only.add(shard)
        self._added.update(codes[key] for key in new)
        self.written[shard] = len(new)

    def _has(self, code: int) -> bool:
        place = int(np.searchsorted(self._stored, np.uint64(code)))
        return code in self._added or (
            place < len(self._stored) and int(self._stored[place]) == code
        )

    @property
    def journals(self) -> Journals:
        """The journals of exercises that are under way."""
        return Journals(str(self._layout.journal.absolute()))

    def begin(self, keys: Iterable[str]) -> None:
        """Keep that exercises are begun now, so that later attempts are known as such.

        It survives the death of this process, though not a crash of the machine.

        Raises:
            StoreError: It could not be written.
        """
        # What a killed writer had begun to write cannot run into the next key.
        text = "".join(f"\n{key}" for key in keys)
        with (
            write_errors(self._layout.begun),
            self._layout.begun.open("a", encoding="ascii") as file,
        ):
            file.write(text)

    def begun(self) -> dict[str, int]:
        """How often exercises were begun, by their keys, as far as ``begin`` was told.

        Raises:
            StoreError: It cannot be read.
        """
        try:
            return dict(Counter(self._layout.begun.read_text(encoding="ascii").split()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            message = f"{self._layout.begun} cannot be read ({error})."
            raise DamagedError(message, "Remove that file; no result depends on it.") from error


@contextmanager
def open_writer(
    path: str | PathLike[str],
    spec: Mapping[str, Any],
    seeds: Iterable[int] = (),
    specs: Iterable[Spec] = (),
    secret: int | None = None,
    replaces: Mapping[str, Any] | None = None,
) -> Iterator[Writer]:
    """Create an evaluation or continue it; no other process can write it meanwhile.

    Args:
        path: The directory of the evaluation.
        spec: What is evaluated, as JSON-able data.
        seeds: The root seeds, for the provenance, as far as they are not secret.
        specs: The specs of the parts that are used, for the provenance.
        secret: The seed that was drawn for it, if it is new; one that goes on has its own.
        replaces: The spec of a smaller evaluation with which this one goes on, if it is there.

    Raises:
        StoreError: The directory is in use, damaged, of something else or cannot be written.
    """
    layout = Layout(Path(path))
    with write_errors(layout.root):
        names = {file.name for file in layout.root.iterdir()} if layout.root.exists() else set()
    begun = {layout.lock.name, layout.key.name, layout.seed.name}
    begun |= {name for name in names if name.endswith(files.UNFINISHED)}
    if layout.spec.name not in names and names - begun:
        message = f"{layout.root} is not empty and holds no evaluation."
        raise StoreError(message, "Choose another directory with --out.")
    files.make_directory(layout.root, mode=0o700)
    files.refuse_links(layout)
    with files.locked(layout):
        if replaces is not None:
            _replace(layout, replaces, spec)
        _begin(layout, spec, secret)
        for directory in (layout.root, layout.provenance, layout.outcomes, layout.traces):
            files.make_directory(directory)
            files.remove_unfinished(directory)
        with write_errors(layout.root):  # of an older version
            for name in ("index.sqlite", "index.sqlite-journal"):
                layout.root.joinpath(name).unlink(missing_ok=True)
        writer = Writer(layout.root)
        assert writer._key is not None  # of any evaluation that has begun
        if merging.tidy(layout, writer._key, writer.outcomes()):
            writer = Writer(layout.root)
        numbers = [int(path.stem) for path in layout.provenance_files() if path.stem.isdecimal()]
        provenance = {"spec": writer.fingerprint, **current_provenance(seeds, specs)}
        content = json.dumps(provenance, indent=2, sort_keys=True) + "\n"
        name = f"{max(numbers, default=0) + 1:04d}.json"
        files.write(layout.provenance / name, content.encode())
        try:
            yield writer
        finally:
            writer._closed = True


def _replace(layout: Layout, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Put the spec of a larger evaluation in the place of a smaller one's, if that is there.

    At every moment the key is that of the spec: whatever interrupts this, either evaluation is
    whole.
    """
    plain = [fingerprint(json.loads(canonical_json(each))) for each in (old, new)]
    key = files.read_key(layout)
    if key is None or fingerprint(read_spec(layout)) != plain[0]:
        return
    files.change_key(layout, key, *plain)
    write_spec(layout, new, read_seed(layout))
    files.change_key(layout, key, plain[1])


def _begin(layout: Layout, spec: Mapping[str, Any], secret: int | None) -> None:
    """Write the key and the spec of a new evaluation, or check those of one that goes on.

    One of an older version gets a key, which lists the shards that are there; from then on it is
    one of this version.
    """
    exists = layout.spec.exists()
    if exists:
        check_same(layout, spec)
    if not exists or files.read_key(layout) is None:
        files.write_key(layout, fingerprint(json.loads(canonical_json(spec))))
        write_spec(layout, spec, None if exists else secret)
