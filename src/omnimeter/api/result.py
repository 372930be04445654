"""What an evaluation says, for scripts and notebooks: scores, differences, tables and figures."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.catalogue import Kind, files_in, objects, parse, without_consent
from omnimeter.contract import (
    InvalidInputError,
    Outcome,
    Outcomes,
    Protocol,
    Score,
    Spec,
    Trace,
    UnknownNameError,
)
from omnimeter.contract.errors import StoreError
from omnimeter.contract.exercise import supersedes
from omnimeter.contract.outcomes import ENDINGS, FAULTS
from omnimeter.contract.spec import fingerprint
from omnimeter.execution.workers import Isolation, is_isolated
from omnimeter.protocols import Evaluation
from omnimeter.protocols import Result as Judged
from omnimeter.protocols.evaluation import judge

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from omnimeter.protocols.times import Times
    from omnimeter.reports import Comparison, Decision, Setting
    from omnimeter.reports.between import Between
    from omnimeter.results import Record


class MemoryRecord:
    """Outcomes that are not on disk; reads and writes like ``omnimeter.results.Writer``."""

    path = Path()
    journals = None  # nothing goes on after a crash

    def __init__(self, spec: Mapping[str, Any], seed: int | None = None) -> None:
        self.spec = dict(spec)
        self.seed = seed
        self._outcomes: dict[str, Outcome] = {}
        self._traces: dict[str, Trace] = {}
        self._begun: Counter[str] = Counter()

    @property
    def fingerprint(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.spec)

    @property
    def damaged(self) -> Mapping[Path, StoreError]:
        """The files that were left out, and why; in memory there are none."""
        return {}

    def outcomes(self) -> Outcomes:
        """All outcomes so far."""
        return Outcomes(self._outcomes.values())

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All traces that were kept, with the keys of their exercises."""
        yield from self._traces.items()

    def provenance(self) -> list[dict[str, Any]]:
        """How the results were made: in this process, now."""
        from omnimeter.results import current_provenance

        return [current_provenance()]

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Keep outcomes and traces; see ``omnimeter.results.Writer``."""
        traces = traces or {}
        for outcome in outcomes:
            key = outcome.exercise.key
            earlier = self._outcomes.get(key)
            if earlier is None or supersedes(outcome, earlier):
                self._outcomes[key] = outcome
                self._traces.pop(key, None)
                if key in traces:
                    self._traces[key] = traces[key]

    def begin(self, keys: Iterable[str]) -> None:
        """Keep that some exercises are begun now; see ``omnimeter.results.Writer``."""
        self._begun.update(keys)

    def begun(self) -> dict[str, int]:
        """How often exercises were begun; see ``omnimeter.results.Writer``."""
        return dict(self._begun)


class MergedRecord(MemoryRecord):
    """The outcomes of several records as those of one evaluation; they stay where they are.

    Args:
        spec: What is evaluated.
        seed: The seed that was drawn for it, if one was.
        outcomes: All outcomes.
        sources: The records, each with the keys of the exercises that are taken from it.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        seed: int | None,
        outcomes: Outcomes,
        sources: Sequence[tuple[Record | MemoryRecord, NDArray[np.uint64]]],
    ) -> None:
        super().__init__(spec, seed)
        self._joined, self._sources = outcomes, sources

    @property
    def damaged(self) -> Mapping[Path, StoreError]:
        """The files of all records that were left out, and why."""
        return {path: why for each, _ in self._sources for path, why in each.damaged.items()}

    def outcomes(self) -> Outcomes:
        """All outcomes."""
        return self._joined

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """The traces of all outcomes, if each record has kept its own."""
        if self.spec.get("traces"):
            for record, keys in self._sources:
                known = set(keys.tolist())
                yield from (each for each in record.traces() if int(each[0], 16) in known)

    def provenance(self) -> list[dict[str, Any]]:
        """How the outcomes of each record were made."""
        made = [each for record, _ in self._sources for each in record.provenance()]
        return [each for place, each in enumerate(made) if each not in made[:place]]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What an evaluation says, or said at some moment.

    In a notebook it is shown as a table.

    Attributes:
        evaluation: The test and its agents.
        record: The outcomes with their provenance, on disk or in memory.
        outcomes: What came of each agent's exercises.
        complete: Whether all exercises are done.
        objects: Agents and environment class that were given as Python objects, by their ids.
        payoff: The payoff that its traces were judged by anew, if they were.
        trusted: Whether code that its record names may be imported.
    """

    evaluation: Evaluation
    record: Record | MemoryRecord
    outcomes: Mapping[Spec, Sequence[Outcome]]
    complete: bool
    objects: Mapping[str, Any] = field(default_factory=dict)
    payoff: Spec | None = None
    trusted: bool = True

    @cached_property
    def judged(self) -> Judged:
        """The result as the packages below the API use it."""
        protocol = self.protocol
        with consented(self.record, self.payoff, trust=self.trusted):
            return replace(judge(protocol, self.outcomes, self.complete), seed=self.seed)

    @property
    def protocol(self) -> Protocol:
        """The protocol, which can propose exercises."""
        objects.use(self.objects)
        with consented(self.record, self.payoff, trust=self.trusted):
            return self.seeded.make_protocol()

    @property
    def seeded(self) -> Evaluation:
        """The evaluation with the seed that was drawn for it, if one was."""
        return self.evaluation.with_seed(self.record.seed)

    @property
    def seed(self) -> int | None:
        """The root of all random numbers; one that was drawn is secret until it is complete."""
        fixed: int | None = self.evaluation.protocol.parameters.get("seed")
        return self.record.seed if fixed is None and self.complete else fixed

    @property
    def warnings(self) -> list[str]:
        """What a reader of its scores should know of how it was made."""
        warning = seed_warning(self.evaluation)
        return [warning] if warning else []

    @property
    def directory(self) -> Path | None:
        """Where the evaluation is stored, if it is."""
        return None if isinstance(self.record, MemoryRecord) else self.record.path

    @property
    def agents(self) -> list[str]:
        """The labels of the agents, in the order in which they were given."""
        return [agent.label for agent in self.evaluation.agents]

    @property
    def scores(self) -> dict[str, Score]:
        """The score of each agent, with its interval, by the label of the agent."""
        return {agent.label: score for agent, score in self.judged.scores.items()}

    @property
    def differences(self) -> list[Comparison]:
        """Every agent against the best one, on the same exercises; see ``compare``."""
        return self.compare()

    @property
    def memory(self) -> str:
        """What agents kept from one exercise to the next: ``fresh`` or ``carried``."""
        return self.judged.memory

    def compare(self, reference: str | Spec | None = None) -> list[Comparison]:
        """Every agent against one of them, on the same exercises or repetitions.

        Args:
            reference: The agent to compare with; by default the best without faults of its own,
                and without a privileged view if there is one. With a reference that was chosen
                beforehand there are fewer comparisons, so intervals are shorter.

        Raises:
            InvalidInputError: The reference took no part.
        """
        from omnimeter.reports import comparisons

        chosen = None if reference is None else agent_of(self.evaluation, reference)
        return comparisons(self.judged, chosen)

    def between(self, agent: str | Spec, reference: str | Spec) -> Between:
        """All that is known of the difference between two agents.

        Whether one is better, on what, by how much, and how many more exercises would decide it.
        The two are one comparison that was chosen beforehand; other agents do not matter.

        Args:
            agent: The one agent.
            reference: The other one.

        Raises:
            InvalidInputError: One took no part, or both are the same.
        """
        from omnimeter.reports.between import Taken, between

        agents = (agent_of(self.evaluation, each) for each in (agent, reference))
        with consented(self.record, self.payoff, trust=self.trusted):
            return between([Taken("", [self.judged])], *agents)

    @property
    def settings(self) -> list[Setting]:
        """Each agent with its returns and its computation times, where these were measured."""
        from omnimeter.reports import settings_of

        return settings_of(self.judged)

    def decide(
        self,
        offline: float = inf,
        online: float = inf,
        *,
        test: str = "simultaneous",
        held_out: bool | None = None,
        mix_machines: bool = False,
        feature: str | Callable[[Times], float | None] = "mean",
    ) -> Decision:
        """Which agents are best under bounds on their computation times.

        Of each algorithm the setting with the highest mean is chosen, and the best are those that
        are not shown to be worse than the best of them (``omnimeter.reports.best_under``).

        Args:
            offline: The longest offline phase, in seconds.
            online: The longest online time of a decision, in seconds.
            test: ``simultaneous``, ``z-one-sided`` or ``z-two-sided``.
            held_out: Whether settings are chosen on other MDPs than they are tested on; by default
                if there are 60 MDPs or more.
            mix_machines: Whether times that were measured on different machines are scaled.
            feature: Which online time is bounded: ``mean``, ``cpu``, ``max``, ``median``, ``p90``,
                ``p99``, or a function of ``omnimeter.reports.settings.Times``.

        Raises:
            InvalidInputError: There are too few MDPs, machines differ, or a bound is negative.
        """
        from omnimeter.reports import best_under

        return best_under(
            self.settings,
            offline,
            online,
            test=test,
            held_out=held_out,
            mix=mix_machines,
            online=feature,
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row per agent and exercise. Needs the extra ``pandas``.

        Raises:
            InvalidInputError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InvalidInputError(
                "to_pandas() needs pandas, which is not installed.",
                "pip install 'omnimeter[pandas]'",
            ) from error
        frames = []
        for agent, done in self.judged.outcomes.items():
            classes = list({each.environment_class: None for each in done.distinct_exercises()})
            labels = [each.label for each in classes]
            if len(classes) > 1:
                labels = [each.exercise.environment_class.label for each in done]
            views = np.full(len(done), "", dtype=object)
            for view, rows in done.remarks("privileged"):
                views[rows] = view
            frames.append(
                pd.DataFrame(
                    {
                        "agent": agent.label,
                        "exercise": done.numbers,
                        "environment_class": labels * len(done) if len(labels) == 1 else labels,
                        "instance": [f"{key:016x}" for key in done.instances.tolist()],
                        "complexity": done.complexities,
                        "payoff": done.payoffs,
                        "interactions": done.interactions,
                        "total_reward": done.totals,
                        "seconds": done.last_times / 1e9,
                        "ending": np.array(ENDINGS, dtype=object)[done.endings],
                        "fault": np.array([None, *FAULTS[1:]], dtype=object)[done.faults],
                        "privileged": views,
                        "attempts": done.attempts,
                    }
                )
            )
        known = [frame for frame in frames if len(frame)]
        return pd.concat(known, ignore_index=True) if known else pd.DataFrame()

    def plot(self, name: str = "scores") -> Figure:
        """A figure of the report page, as a Matplotlib figure.

        Args:
            name: Which figure: ``scores``, or another one of the page (``differences``,
                ``complexity``, ``learning``; ``offline``, ``online`` and ``bounds`` where decisions
                were measured; ...).

        Raises:
            InvalidInputError: There is no such figure of this evaluation.
        """
        from omnimeter.reports import score_rows
        from omnimeter.reports.page import figures_of
        from omnimeter.reports.plotting import matplotlib_figure
        from omnimeter.reports.time_figures import time_report

        record: Any = self.record
        judged = self.judged
        timed = time_report(judged)
        rows = score_rows(judged)
        with consented(self.record, self.payoff, trust=self.trusted):
            drawn = figures_of(judged, record, rows, self.differences, timed)
        figures = {each.name: each for each in drawn}
        if name not in figures:
            raise InvalidInputError(
                f"This evaluation has no figure {name!r}.", f"Known: {', '.join(figures)}."
            )
        names = {row.label: row.name for row in rows}
        places = {names[label]: place for place, label in enumerate(self.agents)}
        return matplotlib_figure(figures[name], places)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the report page, one HTML file.

        Args:
            path: The file to write. An evaluation on disk has a default place in its directory.

        Raises:
            InvalidInputError: No path was given for an evaluation that is not on disk.
        """
        from omnimeter.reports import write_report

        if path is None and self.directory is None:
            raise InvalidInputError(
                "The report of an evaluation that is not stored needs a file name.",
                'For example result.report("page.html").',
            )
        objects.use(self.objects)
        readable: Any = self.record
        with consented(self.record, self.payoff, trust=self.trusted):
            return write_report(readable, None if path is None else Path(path), self.payoff)

    def save(self, directory: str | Path) -> Result:
        """Store the evaluation in a directory, as ``out=`` would have done.

        Raises:
            StoreError: The directory holds something else, or cannot be written.
        """
        from omnimeter.results import Record

        with opened(self.evaluation, Path(directory), self.record.seed) as writer:
            if writer.seed != self.record.seed:
                message = f"{directory} holds the same evaluation with another seed."
                raise StoreError(message, "Choose another directory.")
            done = [outcome for outcomes in self.outcomes.values() for outcome in outcomes]
            keys = {outcome.exercise.key for outcome in done}
            writer.append(done, {key: each for key, each in self.record.traces() if key in keys})
            if type(self.record) is not MemoryRecord:  # whose outcomes were made here
                writer.keep_provenance(self.record.provenance())
        return replace(self, record=Record(directory), payoff=None)

    def __repr__(self) -> str:
        from omnimeter.reports import score_table

        return "\n".join([str(score_table(self.judged)), *self._remarks()])

    def _repr_html_(self) -> str:
        """The table of scores, for a notebook."""
        from omnimeter.reports import score_table

        def line(cells: Iterable[str], tag: str) -> str:
            written = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
            return f"<tr>{written}</tr>"

        table = score_table(self.judged)
        body = "".join(line([cell.text for cell in row], "td") for row in table.rows)
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks())
        head = line(table.headings, "th")
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{remarks}"

    def _remarks(self) -> list[str]:
        from omnimeter.reports import summary

        remarks = [self.judged.design.warning] * bool(self.judged.design.warning) + self.warnings
        remarks += summary.remarks(self.judged)
        remarks += ["Memory is carried from exercise to exercise."] * (self.memory == "carried")
        return remarks + ["Not all exercises are done."] * (not self.complete)


def consented(
    record: Record | MemoryRecord, payoff: Spec | None, *, trust: bool
) -> AbstractContextManager[None]:
    """Import code that a record names only if it is trusted; that of a given payoff is."""
    if trust:
        study = record.path.absolute().parent.parent
        if payoff is None and record.path.name and (study / "campaign.json").exists():
            from omnimeter.api.campaign import Campaign

            return files_in(Campaign.open(study).folder)
        return nullcontext()
    given = set() if payoff is None else {payoff.id}
    return without_consent(str(record.path), record.spec, given)


def agent_of(evaluation: Evaluation, name: str | Spec) -> Spec:
    """The agent of an evaluation that has a label or an id.

    Raises:
        InvalidInputError: It takes no part.
    """
    return agent_among(evaluation.agents, name)


def agent_among(agents: Sequence[Spec], name: str | Spec) -> Spec:
    """The one of some agents that has a label or an id, or whose label alone ends so after a slash.

    Raises:
        InvalidInputError: It takes no part.
    """
    known = {agent.label: agent for agent in agents}
    label = name if isinstance(name, str) else name.label
    if isinstance(name, str) and name not in known and not objects.is_object(name):
        with suppress(UnknownNameError, InvalidInputError):  # which may still be near to one
            label = parse(Kind.AGENT, name).label
    if label not in known:
        endings = [each for each in known if re.search(rf"[/\\:]{re.escape(str(name))}$", each)]
        if len(endings) == 1:
            return known[endings[0]]
        close = endings or get_close_matches(label[:100], list(known), n=3, cutoff=0.5)
        advice = f"Compare with one of: {', '.join(known)}."
        if close and len(known) > 1:
            advice = f"Did you mean {' or '.join(close)}? {advice}"
        raise InvalidInputError(f"{label} takes no part in this evaluation.", advice)
    return known[label]


FIXED_SEED = (
    "The seed is fixed, so an agent that knows it could rebuild its environments. Where no seed is "
    "given, a secret one is drawn."
)


def seed_warning(evaluation: Evaluation) -> str:
    """What a fixed seed means beside an agent that is not trusted; empty where there is none."""
    fixed = "seed" in evaluation.protocol.parameters or evaluation.seed_told
    if fixed and any(is_isolated(agent, Isolation.AUTO) for agent in evaluation.members):
        return FIXED_SEED
    return ""


def opened(
    evaluation: Evaluation,
    directory: Path,
    secret: int | None = None,
    replaces: Mapping[str, Any] | None = None,
) -> Any:
    """The store of an evaluation in a directory, for writing; a context manager.

    ``secret`` is the seed that was drawn for it, if it is new; one that goes on has its own.
    ``replaces`` is the spec of a smaller evaluation with which it goes on.
    """
    from omnimeter.results import open_writer

    fixed = evaluation.protocol.parameters.get("seed")
    seeds = [] if fixed is None else [fixed]
    specs = (evaluation.protocol, *evaluation.agents)
    return open_writer(directory, evaluation.to_json(), seeds, specs, secret, replaces)
