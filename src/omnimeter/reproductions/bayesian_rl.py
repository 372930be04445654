"""The experiments of the Bayesian RL benchmark (section 5): eight algorithms, three problems.

Every setting is an evaluation in a directory of its own, so that a campaign can be interrupted and
goes on, and single settings can be added. All settings of a problem meet the same MDPs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import hypot
from operator import itemgetter
from pathlib import Path
from typing import Any

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import InvalidInputError, Outcome, Spec, UnknownNameError
from omnimeter.execution import Observer, Options, evaluate
from omnimeter.execution.workers import cores, is_isolated
from omnimeter.protocols import Evaluation
from omnimeter.reports.decisions import LEAST_PAIRS, SIMULTANEOUS, best_under
from omnimeter.reports.latex import write_latex_report
from omnimeter.reports.settings import Setting, settings_of
from omnimeter.reproductions import shared
from omnimeter.reproductions.shared import Report, Reproduced, Statement, silent
from omnimeter.results import open_writer

PROBLEMS = {"gc": "gc(variant=library)", "gdl": "gdl", "grid": "grid(variant=library)"}
"""The test distributions as the authors' files have them (docs/classes/mdp.md)."""

UNIFORM = {
    "gc": "gc(variant=uniform)",
    "gdl": "gdl(variant=uniform)",
    "grid": "grid(variant=library-uniform)",
}
"""The priors of the inaccurate case, with rewards and actions as in the test distributions."""

MDPS, STEPS, GAMMA = 500, 250, 0.95
"""N, T and gamma of all experiments of the paper."""

QUICK_MDPS = 20

CHEAP_SBOSS = 1e-3  # the smallest epsilon of the cheap campaign, whose delta is at least 1
CHEAP_OPPS = 10_000  # its largest budget


def grid() -> Iterator[str]:
    """All settings of section 5.1, those of the authors' scripts where these have fewer."""
    yield "random"
    for tenths in range(11):
        yield f"e-greedy(epsilon={tenths / 10:g})"
    for tau in (0.05, 0.1, 0.2, 0.33, 0.5, 1, 2, 3, 5, 25):
        yield f"soft-max(tau={tau})"
    for beta in (0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 8, 16):
        yield f"beb(beta={beta})"
    coarse, fine = (1, 0.1, 0.01, 0.001), (1e-4, 1e-5, 1e-6)
    deltas = (9, 7, 5, 3, 1, 0.1, 0.01, 0.001)
    for epsilon, delta in (*product(coarse, deltas), *product(fine, fine)):
        yield f"sboss(epsilon={epsilon:g}, delta={delta:g})"
    budgets = (50, 500, 1250, 2500, 5000, 10_000, 100_000, 1_000_000)
    for formulas, least in (("F2", 50), ("F3", 50), ("F4", 1250), ("F5", 1250), ("F6", 10_000)):
        for budget in budgets:
            if budget >= least:
                yield f"opps-ds(formulas={formulas}, budget={budget})"
    yield "opps-ds(formulas=F6, budget=7500)"
    for k, depth in product((1, 500, 1250, 2500, 5000, 10_000, 25_000), (15, 25, 50)):
        yield f"bamcp(k={k}, depth={depth})"
    for k, c, depth in product((1, 500, 1250, 2500, 5000, 10_000), (2, 5, 10, 15), (15, 25, 50)):
        yield f"bfs3(k={k}, c={c}, depth={depth})"


def short_name(agent: Spec) -> str:
    """The id of an agent without its version."""
    return re.sub(r"-v\d+$", "", agent.id)


def is_cheap(agent: Spec) -> bool:
    """Whether a setting belongs to the cheap campaign, which takes less than an hour."""
    name, given = short_name(agent), agent.parameters
    if name == "sboss":
        return bool(given["epsilon"] >= CHEAP_SBOSS and given["delta"] >= 1)
    if name == "opps-ds":
        return "formula" in given or bool(given["budget"] <= CHEAP_OPPS)
    return name not in ("bamcp", "bfs3")


@dataclass(frozen=True)
class Published:
    """A score of Figure 9.

    Attributes:
        problem: The problem.
        agent: The agent that is compared with it, with the variant that can explain it.
        score: The printed mean and half-width.
        reason: Why ours may differ, where that is known and was tested.
    """

    problem: str
    agent: str
    score: tuple[float, float]
    reason: str = ""


FIGURE_9 = (
    Published("gc", "random", (31.12, 0.9)),
    Published("gc", "e-greedy(epsilon=0)", (40.62, 1.55)),
    Published("gc", "soft-max(tau=0.1, variant=library)", (34.73, 1.74)),
    Published("gc", 'opps-ds(formula="X0 X2 DIV")', (42.47, 1.91)),
    Published("gc", "bamcp(k=2500, depth=15)", (35.56, 1.27)),
    Published("gc", "bfs3(k=500, c=15, depth=15, variant=library)", (39.84, 1.74)),
    Published("gc", "sboss(epsilon=0.001, delta=7, variant=library)", (35.9, 1.89)),
    Published("gc", "beb(beta=2.5, variant=library)", (41.72, 1.63)),
    Published("gdl", "random", (2.79, 0.07)),
    Published("gdl", "e-greedy(epsilon=0.1)", (3.05, 0.07)),
    Published("gdl", "soft-max(tau=0.1, variant=library)", (2.79, 0.1)),
    Published("gdl", 'opps-ds(formula="X0 X2 MAX")', (3.1, 0.07)),
    Published("gdl", "bamcp(k=10000, depth=15)", (3.11, 0.07)),
    Published("gdl", "bfs3(k=1, c=15, depth=25, variant=library)", (2.9, 0.07)),
    Published("gdl", "sboss(epsilon=1, delta=1, variant=library)", (2.81, 0.1)),
    Published("gdl", "beb(beta=0.5, variant=library)", (3.09, 0.07)),
    Published("grid", "random", (0.22, 0.06)),
    Published("grid", "e-greedy(epsilon=0)", (6.9, 0.31)),
    Published("grid", "soft-max(tau=0.05, variant=library)", (0, 0)),
    Published("grid", 'opps-ds(formula="X0 X2 ADD")', (7.03, 0.3)),
    Published("grid", "bamcp(k=25000, depth=15)", (6.43, 0.3)),
    Published("grid", "bfs3(k=500, c=15, depth=50, variant=library)", (3.46, 0.23)),
    Published("grid", "sboss(epsilon=0.1, delta=7, variant=library)", (4.5, 0.33)),
    Published("grid", "beb(beta=0.5, variant=library)", (6.76, 0.3)),
)


def wanted(only: Sequence[str], *, quick: bool, cheap: bool) -> list[tuple[str, Spec]]:
    """The settings to run, problem by problem: pairs of a problem and an agent.

    Args:
        only: ``PROBLEM``, ``PROBLEM AGENT`` or ``PROBLEM AGENT(PARAMETERS)``; an agent without
            parameters stands for all its settings. All settings by default.
        quick: Only those of Figure 9, and for each the agent that follows the original paper.
        cheap: Only those of the cheap campaign.

    Raises:
        UnknownNameError: There is no such problem or agent.
    """
    printed = [(each.problem, parse(Kind.AGENT, each.agent)) for each in FIGURE_9]
    originals = [(problem, _without_variant(agent)) for problem, agent in printed]
    settings = [*printed, *originals]
    if not quick:
        agents = [parse(Kind.AGENT, each) for each in grid()]
        settings += [pair for problem in PROBLEMS for pair in product([problem], agents)]
    if cheap:
        settings = [pair for pair in settings if is_cheap(pair[1])]
    settings = sorted(dict.fromkeys(settings), key=lambda pair: list(PROBLEMS).index(pair[0]))
    if not only:
        return settings
    chosen: dict[tuple[str, Spec], None] = {}
    for text in only:
        problem, _, name = text.strip().partition(" ")
        if problem not in PROBLEMS:
            raise UnknownNameError("problem", problem, PROBLEMS)
        known = [pair for pair in settings if pair[0] == problem]
        if name.strip():
            agent = parse(Kind.AGENT, name)
            alike = [pair for pair in known if pair[1].id == agent.id]
            known = [(problem, agent)] if agent.parameters or not alike else alike
        chosen |= dict.fromkeys(known)
    return list(chosen)


def _without_variant(agent: Spec) -> Spec:
    given = {name: value for name, value in agent.parameters.items() if name != "variant"}
    return replace(agent, parameters=given)


@dataclass(frozen=True)
class Campaign:
    """Settings, and how they are run.

    Attributes:
        accurate: Whether the prior is the test distribution, or else uniform.
        mdps: The number of MDPs.
        settings: The settings, as pairs of a problem and an agent.
        options: How to run them.
    """

    accurate: bool
    mdps: int
    settings: Sequence[tuple[str, Spec]]
    options: Options = Options()

    def evaluation(self, problem: str, agent: Spec) -> Evaluation:
        """One setting."""
        test = parse(Kind.ENVIRONMENT, PROBLEMS[problem])
        prior = test if self.accurate else parse(Kind.ENVIRONMENT, UNIFORM[problem])
        parameters = {
            "environment_class": test.to_json(),
            "prior": prior.to_json(),
            "exercises": self.mdps,
            "interactions": STEPS,
            "gamma": GAMMA,
        }
        return Evaluation(Spec("bayesian-rl-v1", parameters), (agent,))

    def run(self, out: Path, report: Report) -> list[Setting]:
        """Run what is not finished yet, and give all settings."""
        for _, agent in self.settings:
            if not is_isolated(agent, self.options.isolation):
                make(Kind.AGENT, agent)  # a wrong parameter is found before anything is run
        done = []
        for place, (problem, agent) in enumerate(self.settings):
            watched = _Progress(report, place, len(self.settings), f"{problem} {agent.label}")
            evaluation = self.evaluation(problem, agent)
            folder = re.sub(r"[^\w.=]+", "-", agent.label).strip("-")
            with open_writer(
                out / problem / folder, evaluation.to_json(), specs=[evaluation.protocol, agent]
            ) as writer:
                result = evaluate(evaluation, writer, self.options, watched)
            if not result.complete:
                raise KeyboardInterrupt  # the same command goes on
            (setting,) = settings_of(result, problem)
            algorithm = short_name(agent)
            if variant := agent.parameters.get("variant"):
                algorithm += f" ({variant})"
            printed = published_score(problem, agent, self.accurate)
            done.append(replace(setting, algorithm=algorithm, published=printed))
        return done


def published_score(problem: str, agent: Spec, accurate: bool) -> tuple[float, float] | None:
    """What Figure 9 prints for a setting; the inaccurate case is withheld."""
    return next(
        (
            each.score
            for each in FIGURE_9
            if accurate and each.problem == problem and parse(Kind.AGENT, each.agent) == agent
        ),
        None,
    )


class _Progress(Observer):
    """Tells which share of all settings is done."""

    def __init__(self, report: Report, place: int, settings: int, doing: str) -> None:
        self._report, self._place, self._settings, self._doing = report, place, settings, doing
        self._done, self._expected = 0, 1

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:  # noqa: ARG002
        self._expected = expected or 1
        self._report(self._doing, self._place / self._settings)

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:  # noqa: ARG002
        self._done += len(outcomes)
        share = (self._place + self._done / self._expected) / self._settings
        self._report(self._doing, share)


def rows(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """A record for each setting."""
    records = []
    for each in settings:
        score, times = each.score, each.times
        printed = each.published or (None, None)
        records.append(
            {
                "problem": each.problem,
                "agent": short_name(each.agent),
                "parameters": dict(each.agent.parameters),
                "variant": each.agent.parameters.get("variant", "original"),
                "n": len(each.returns),
                "mean": None if score is None else score.value,
                "half_width": each.half_width,
                "offline_s": times.offline,
                "online_s": times.mean,
                "online_cpu_s": times.mean_cpu,
                "published": printed[0],
                "published_half_width": printed[1],
                "faults": each.faults,
            }
        )
    return records


def _write_table(path: Path, settings: Sequence[Setting]) -> Path:
    """Write the rows as CSV; those of settings that were run before stay."""
    written = [
        {name: "" if value is None else value for name, value in row.items()}
        | {"parameters": setting.parameters}
        for row, setting in zip(rows(settings), settings, strict=True)
    ]
    identity = itemgetter("problem", "agent", "parameters", "n")
    known = {tuple(map(str, identity(row))) for row in written}
    earlier: list[dict[str, Any]] = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            if table.fieldnames == list(written[0]):
                earlier = [row for row in table if identity(row) not in known]
    return shared.write_records(path, [*earlier, *written])


def agrees(setting: Setting) -> bool:
    """Whether ours and the printed score differ by at most the root of both half-widths squared."""
    assert setting.published is not None
    assert setting.score is not None
    printed, half_width = setting.published
    return abs(setting.score.value - printed) <= hypot(setting.half_width or 0.0, half_width) + 5e-3


def score_statements(settings: Sequence[Setting]) -> list[Statement]:
    """Each printed score beside ours."""
    reasons = {(each.problem, each.score): each.reason for each in FIGURE_9}
    statements = []
    for each in settings:
        if each.published is None or each.score is None:
            continue
        printed, width = each.published
        holds = agrees(each)
        statements.append(
            Statement(
                f"{each.problem}: {each.agent.label} has {printed:g} ± {width:g}.",
                f"{each.score.value:.3g} ± {each.half_width or 0:.2g} in {len(each.returns)} MDPs. "
                "Rule: apart by at most the root of the sum of both half-widths squared.",
                holds,
                "" if holds else reasons[each.problem, each.published],
            )
        )
    return statements


TOPS = {
    "gc": ("opps-ds", "beb", "e-greedy", "bfs3"),
    "gdl": ("opps-ds", "beb", "e-greedy", "bamcp"),
    "grid": ("opps-ds", "beb", "e-greedy"),
}
"""The best algorithms with the most time: the last lists of section 5.3.1, and OPPS-DS, which that
section calls best in every experiment."""

TOPS_REASON = (
    "in the paper each agent has its own random transitions, in ours all have the same, so that "
    "differences are more certain. On GC, Z of BEB against BFS3 is 2.2 with common and 1.7 with "
    "independent random numbers (--noise independent), where only Z above 1.96 would count"
)


def top_statements(settings: Sequence[Setting]) -> list[Statement]:
    """Which algorithms are best without bounds, by the library's test on the printed settings."""
    statements = []
    for problem, named in TOPS.items():
        printed = [each for each in settings if each.problem == problem and each.published]
        if len(printed) < len([each for each in FIGURE_9 if each.problem == problem]):
            continue
        few = len(printed[0].returns) < LEAST_PAIRS
        test = SIMULTANEOUS if few else "z-two-sided"
        decision = best_under(printed, test=test, held_out=False, mix=True)
        ours = [short_name(each.agent) for each in decision.best]
        holds = None if few else set(ours) == set(named)
        statements.append(
            Statement(
                f"{problem}: without bounds on time the best are {', '.join(named)}; Soft-max "
                "never is.",
                f"Ours: {', '.join(ours)} ({test}, {decision.mdps} MDPs). Rule: the same set"
                + (" (not decided in so few MDPs)." if few else "."),
                holds,
                "" if holds is not False else TOPS_REASON,
            )
        )
    return statements


DURATIONS = {
    "e-greedy": (("epsilon=0.1", "epsilon=0.9"), "falls with epsilon"),
    "bamcp": (("k=100, depth=15", "k=500, depth=15", "k=500, depth=50"), "grows with both"),
    "bfs3": (
        ("k=50, c=5, depth=15", "k=250, c=5, depth=15", "k=250, c=5, depth=50"),
        "grows with K and depth",
    ),
    "sboss": (
        ("epsilon=0.1, delta=7", "epsilon=0.001, delta=7", "epsilon=0.001, delta=0.1"),
        "grows as epsilon and delta fall",
    ),
    "beb": (("beta=0.25", "beta=16"), "is constant"),
    "opps-ds": (("formulas=F2, budget=50", "formulas=F2, budget=500"), "offline grows with beta"),
}
"""Settings whose times show what Table 1 says of each algorithm."""

DURATION_MDPS = 5
CONSTANT = 2.0  # the factor within which times that do not depend on a parameter lie


def duration_statements(out: Path, accurate: bool, report: Report) -> list[Statement]:
    """Table 1, how durations depend on parameters, by our processor times on GC."""
    agents = [
        parse(Kind.AGENT, f"{name}({each})")
        for name, (parameters, _) in DURATIONS.items()
        for each in parameters
    ]
    campaign = Campaign(accurate, DURATION_MDPS, [("gc", agent) for agent in agents])
    measured = iter(campaign.run(out, report))
    statements = []
    for name, (parameters, claim) in DURATIONS.items():
        times = [next(measured).times for _ in parameters]
        offline = name == "opps-ds"
        seconds = [(each.offline_cpu if offline else each.mean_cpu) or 0.0 for each in times]
        if name == "beb":
            holds = max(seconds) <= CONSTANT * min(seconds)
            rule = f"within a factor of {CONSTANT:g}"
        else:
            ordered = seconds[::-1] if name == "e-greedy" else seconds
            holds = all(first < second for first, second in pairwise(ordered))
            rule = "in this order" if name != "e-greedy" else "in the reverse order"
        texts = (
            f"{text}: {1e3 * time:.3g} ms" for text, time in zip(parameters, seconds, strict=True)
        )
        where = "offline" if offline else "per decision"
        statements.append(
            Statement(
                f"Table 1: the time of {name} {claim}.",
                f"{where} {'; '.join(texts)}. Rule: {rule}.",
                holds,
            )
        )
    return statements


def _reproduce(
    accurate: bool,
    out: Path,
    report: Report,
    *,
    quick: bool,
    only: Sequence[str],
    cheap: bool,
    workers: int | None,
) -> Reproduced:
    workers = cores() if workers is None else workers
    if workers < 1:
        raise InvalidInputError(f"There cannot be {workers} workers.", "Give 1 or more.")
    chosen = wanted(only, quick=quick, cheap=cheap)
    mdps = QUICK_MDPS if quick else MDPS
    settings = Campaign(accurate, mdps, chosen, Options(workers)).run(out / f"{mdps}-mdps", report)
    statements = score_statements(settings) + top_statements(settings)
    if not only:
        statements += duration_statements(out / "durations", accurate, report)
    records = rows(settings)
    note = f"The {'accurate' if accurate else 'inaccurate'} case."
    written = write_latex_report(settings, out / "report", notes=[note], mix=True)
    case = "accurate" if accurate else "inaccurate"
    figures: Mapping[str, float] = {
        f"{each.problem}.{each.agent.label}": each.score.value
        for each in settings
        if each.score is not None
    }
    return Reproduced(
        name=f"brl-{case}",
        title=f"Bayesian RL agents with {'an' if case[0] in 'ai' else 'a'} {case} prior: mean "
        f"discounted return in {mdps} MDPs",
        findings="docs/findings.md#bayesian-rl",
        statements=statements,
        figures=figures,
        rows=records,
        columns=("problem", "agent", "parameters", "mean", "half_width", "published", "online_s"),
        files={
            "table": _write_table(out / "settings.csv", settings),
            "LaTeX report": written["report"],
        },
    )


def accurate(
    out: Path,
    report: Report = silent,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    cheap: bool = False,
    workers: int | None = None,
) -> Reproduced:
    """Run the accurate case: agents are told the distribution that MDPs are drawn from.

    Args:
        out: Where it is written, and goes on after an interruption.
        report: Told of the progress.
        quick: Only the settings of Figure 9, in 20 MDPs.
        only: Only these settings: ``gc e-greedy(epsilon=0)``, ``gc e-greedy``, ``gc``.
        cheap: Only the settings that take less than an hour together.
        workers: Processes that work at once; as many as there are cores by default.
    """
    return _reproduce(True, out, report, quick=quick, only=only, cheap=cheap, workers=workers)


def inaccurate(
    out: Path,
    report: Report = silent,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    cheap: bool = False,
    workers: int | None = None,
) -> Reproduced:
    """Run the inaccurate case: agents are told that any transition is as likely as any other.

    Args:
        out: Where it is written, and goes on after an interruption.
        report: Told of the progress.
        quick: Only the settings of Figure 9, in 20 MDPs.
        only: Only these settings: ``gc e-greedy(epsilon=0)``, ``gc e-greedy``, ``gc``.
        cheap: Only the settings that take less than an hour together.
        workers: Processes that work at once; as many as there are cores by default.
    """
    return _reproduce(False, out, report, quick=quick, only=only, cheap=cheap, workers=workers)
