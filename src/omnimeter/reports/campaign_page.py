"""The report of a campaign: tables, one HTML file, and a folder for LaTeX, each also as data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from omnimeter.contract import InvalidInputError
from omnimeter.contract.errors import StoreError
from omnimeter.contract.text import clean
from omnimeter.reports import style
from omnimeter.reports.campaign import CampaignScore, Member
from omnimeter.reports.campaign_sections import (
    LISTED,
    FaultCount,
    Pending,
    Section,
    Tell,
    distinct_sessions,
    sections_of,
)
from omnimeter.reports.campaign_tables import (
    bounded_differences,
    bounded_spreads,
    learning_sentences,
    overview_table,
    remarks_of,
    result_sentences,
    tables_of,
)
from omnimeter.reports.figures import Figure
from omnimeter.reports.latex import PREAMBLE, VERDICT_MARKS, long_table, plain, tabular
from omnimeter.reports.page import SIGNS, damage_notes, headline, session_pairs, templates
from omnimeter.reports.plotting import inline_svg_and_pdf
from omnimeter.reports.summary import mark_sentences
from omnimeter.reports.tables import Table, finite, write_table
from omnimeter.reports.text import counted, listed, printable, readable_names
from omnimeter.results import files

DRAWN_TESTS = 40
"""Tests of which there are figures; of further ones there are tables, and the figures' data."""

SHOWN_TESTS = 200
"""Tests that the page shows one by one; further ones are in the data only."""

MOST_FAULTS, LONGEST_MESSAGE = 20, 4_000
"""Messages of faults that a test shows, and characters of each."""

LONGEST_TABLE = 40
"""Rows of a table from which on LaTeX breaks it over pages."""


@dataclass(frozen=True)
class GivenUp:
    """A unit of a campaign that was given up: its worker died again and again."""

    evaluation: str
    agents: tuple[str, ...]
    reason: str
    file: str


@dataclass(frozen=True)
class Study:
    """A campaign as its report needs it.

    Attributes:
        title: What people call it.
        path: Its directory.
        members: Its evaluations, in the order of the plan.
        given_up: What is quarantined.
        fingerprint: A short name that depends on all that is evaluated.
        damaged: The files that are left out, as far as they were looked at, and why.
    """

    title: str
    path: Path
    members: Sequence[Member]
    given_up: Sequence[GivenUp] = ()
    fingerprint: str = ""
    damaged: Mapping[Path, StoreError] = field(default_factory=dict)

    @property
    def plan_file(self) -> str:
        """The user's file, of which a campaign has a copy; empty where it has none."""
        path = self.path / "campaign.toml"
        try:
            return path.read_text(encoding="utf-8-sig", errors="replace")
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise files.read_error(error, path) from error


@dataclass(frozen=True)
class CampaignReport:
    """What a report of a campaign says, as data.

    Attributes:
        sentences: The result, in at most three.
        overview: All tests in one table.
        sections: What each test says.
        pending: What is not complete.
        sessions: The different ways in which results were made, as pairs of names and texts.
        tables: The tables of each test, by its key and their names.
    """

    study: Study
    sentences: Sequence[str]
    overview: Table
    sections: Sequence[Section]
    pending: Sequence[Pending]
    sessions: Sequence[Sequence[tuple[str, str]]]
    tables: Mapping[str, Mapping[str, Table]]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return all(section.complete for section in self.sections)

    @property
    def drawn(self) -> list[tuple[Section, Figure]]:
        """The figures that are drawn, with their tests."""
        return [(each, figure) for each in self.sections[:DRAWN_TESTS] for figure in each.figures]

    @property
    def scores(self) -> list[CampaignScore]:
        """The scores, as ``campaign results`` tells them."""
        return [score for section in self.sections for score in section.scores.values()]


def gather_campaign(
    study: Study, *, trust: bool = False, tell: Tell = lambda *_: None
) -> CampaignReport:
    """Gather all that a report says.

    Args:
        study: The campaign.
        trust: Import code that its tests name.
        tell: Told how far it is.

    Raises:
        StoreError: An evaluation is damaged.
        InvalidInputError: Code is named that is not trusted.
    """
    sections, pending, provenance = [], [], []
    for section, left, sessions in sections_of(study.members, trust=trust, tell=tell):
        sections.append(section)
        pending += left
        provenance += sessions
    rows = [row for section in sections for row in section.rows if row.eligibility.exercises]
    agents, exercises = {r.label for r in rows}, sum(r.eligibility.exercises for r in rows)
    return CampaignReport(
        study,
        result_sentences(sections, len(agents), exercises),
        overview_table(sections),
        sections,
        pending,
        list(ways_of(provenance)),
        {section.key: tables_of(section) for section in sections},
    )


def ways_of(provenance: Sequence[Mapping[str, Any]]) -> Iterator[list[tuple[str, str]]]:
    """How results were made, once for each way."""
    for session, started in distinct_sessions(provenance):
        span = " to ".join(dict.fromkeys(filter(None, (started[0], started[-1]))))
        yield [*session_pairs({**session, "started": span}), ("Sessions", str(len(started)))]


# The page.


def render_campaign(
    report: CampaignReport, svgs: Mapping[str, str], latex: str = "latex", data: str = "data"
) -> str:
    """The page as text; everything that agents wrote is escaped.

    Args:
        report: What it says.
        svgs: The figures that it has, by their names.
        latex: The name of the folder with its tables and figures for LaTeX.
        data: The name of the folder with its data.
    """
    from markupsafe import Markup

    shown = report.sections[:SHOWN_TESTS]
    labels = _labels(report.study)
    signs: dict[str, tuple[int, str]] = {}
    if style.few(len(labels)):
        for label, sign in zip(labels, enumerate(SIGNS, 1), strict=False):
            signs |= {label + mark: sign for mark in ("", "*", "†", "*†")}
    tables = {section.key: report.tables[section.key] for section in shown}
    secret = any(member.needs_seed for member in report.study.members)
    names = sorted({name for section in shown for name in section.places}, key=len, reverse=True)
    environment = templates()
    environment.filters["printable"] = _readable(labels)
    page: str = environment.get_template("campaign.html.j2").render(
        report=report,
        study=report.study,
        damaged=damage_notes(report.study.damaged, report.study.path),
        shown=shown,
        tables={key: {n: _bounded(t) for n, t in own.items()} for key, own in tables.items()},
        cut={
            key: sorted(n for n, t in own.items() if len(t.rows) > LISTED)
            for key, own in tables.items()
        },
        with_figures={section.key for section in shown[:DRAWN_TESTS]},
        drawn={name: Markup(svg) for name, svg in svgs.items()},
        signs=signs,
        overview=_bounded(report.overview),
        legend=_legend(report.overview, _SIGNS),
        marked=any(mark_sentences(row[0].text[-2:] for row in report.overview.rows)),
        faults={each.key: list(map(_shortened, each.faults[:MOST_FAULTS])) for each in shown},
        headline=headline,
        limits={
            "tests": SHOWN_TESTS,
            "figures": DRAWN_TESTS,
            "rows": LISTED,
            "pending": LISTED,
        },
        secret=secret,
        summary=[_cut_at(sentence, names) for sentence in report.sentences],
        remarks={each.key: remarks_of(each) for each in shown},
        bounded_differences={each.key: bounded_differences(each) for each in shown},
        bounded_spreads={each.key: bounded_spreads(each) for each in shown},
        folders={"latex": latex, "data": data},
        plan=clean(report.study.plan_file),
        learning={each.key: learning_sentences(each) for each in shown},
    )
    return page


def _labels(study: Study) -> list[str]:
    """The labels of all agents, in the order of the plan."""
    return list(dict.fromkeys(a.label for m in study.members for a in m.evaluation.agents))


def _readable(labels: Iterable[str]) -> Callable[[str], str]:
    """What makes texts printable: agents of files without folders that are not needed."""
    named = readable_names(labels)

    def readable(text: str) -> str:
        text = named(text)
        return printable(re.sub(r"(?<=\d) (?=\d{3}(?!\d)|%)", "\N{NO-BREAK SPACE}", text))

    return readable


def _bounded(table: Table) -> Table:
    return replace(table, rows=table.rows[:LISTED])


def _cut_at(sentence: str, names: Sequence[str]) -> list[str]:
    """A sentence cut around the names of agents, which are at the odd places."""
    return re.split(f"({'|'.join(map(re.escape, names))})", sentence) if names else [sentence]


def _shortened(row: FaultCount) -> FaultCount:
    """A fault with texts that a page has room for."""
    message, detail = row.fault.message[:LONGEST_MESSAGE], row.fault.detail[-LONGEST_MESSAGE:]
    return replace(row, fault=replace(row.fault, message=message, detail=detail))


# Files.


def write_campaign_report(
    study: Study,
    path: Path | None = None,
    *,
    trust: bool = False,
    tell: Tell = lambda *_: None,
) -> tuple[CampaignReport, dict[str, Path]]:
    """Write the report of a campaign: the page, a folder for LaTeX, and the data of both.

    The same campaign always gives the same files, byte for byte.

    Args:
        study: The campaign.
        path: The file of the page; by default ``report.html`` in the directory of the campaign. The
            folders ``latex`` and ``data`` are beside it. Elsewhere they are named after the page:
            beside ``a.html`` are ``a-latex`` and ``a-data``. What an earlier report wrote into them
            and this one does not is removed.
        trust: Import code that its tests name.
        tell: Told how far it is.

    Returns:
        What it says, and where: ``report``, ``latex`` and ``data``.

    Raises:
        StoreError: An evaluation is damaged, or a file cannot be written.
        InvalidInputError: Code is named that is not trusted, or the path is a directory.
    """
    own = study.path / "report.html"
    target = own if path is None else path
    if target.is_dir():
        raise InvalidInputError(f"{target} is a directory.", "Name the file of the page.")
    report = gather_campaign(study, trust=trust, tell=tell)
    before = "" if target.resolve() == own.resolve() else f"{target.stem}-"
    latex, data = (target.parent / f"{before}{name}" for name in ("latex", "data"))
    files.make_directory(latex)
    svgs, steps = {}, report.drawn
    for done, (section, figure) in enumerate(steps):
        tell("Drawing", done, len(steps))
        svgs[figure.name], pdf = inline_svg_and_pdf(figure, section.places)
        files.write(latex / f"{figure.name}.pdf", pdf)
    page = render_campaign(report, svgs, latex.name, data.name)
    files.write(target, page.encode("utf-8", "replace"))
    drawn = [f"{figure.name}.pdf" for _, figure in steps]
    keep_only(latex, [*drawn, *write_latex(report, latex)])
    keep_only(data, write_data(report, data))
    tell("Drawing", len(steps), len(steps))
    return report, {"report": target, "latex": latex, "data": data}


WRITTEN = "SHA256SUMS"
"""The file of a folder that names what a report has written there, as ``sha256sum`` does."""


def keep_only(directory: Path, names: Iterable[str]) -> None:
    """Remove what an earlier report wrote into a folder and this one did not.

    Files of others stay, and so do those that were changed since.

    Args:
        directory: The folder.
        names: The files that this report has written there.
    """
    now = {name: _digest(directory / name) for name in names}
    listing = directory / WRITTEN
    with files.write_errors(listing):
        known = listing.read_text(encoding="utf-8", errors="replace") if listing.is_file() else ""
        for line in known.splitlines():
            digest, _, name = line.partition("  ")
            path = directory / name
            if name in now or not name or Path(name).name != name or path.is_symlink():
                continue
            if path.is_file() and _digest(path) == digest:
                path.unlink()
    content = "".join(f"{digest}  {name}\n" for name, digest in sorted(now.items()))
    files.write(listing, content.encode())


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_data(report: CampaignReport, directory: Path) -> list[str]:
    """Write every table as CSV, with all digits, and every figure as JSON; the names of these."""
    files.make_directory(directory)
    tables = {"overview.csv": report.overview}
    figures: dict[str, Figure] = {}
    for section in report.sections:
        own = report.tables[section.key]
        tables |= {f"{section.key}-{name}.csv": table for name, table in own.items()}
        figures |= {f"{figure.name}.json": figure for figure in section.figures}
    for name, table in tables.items():
        write_table(table, directory / name)
    for name, figure in figures.items():
        content = json.dumps(figure_data(figure), indent=1, ensure_ascii=True) + "\n"
        files.write(directory / name, content.encode())
    return [*tables, *figures]


def figure_data(figure: Figure) -> Any:
    """What a figure shows, as JSON-able data."""
    return _plain_data(asdict(figure))


def _plain_data(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain_data(each) for name, each in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(_plain_data(each) for each in value)
    if isinstance(value, list | tuple):
        return [_plain_data(each) for each in value]
    if isinstance(value, Enum):
        return str(value)
    return finite(value.encode("utf-8", "replace").decode() if isinstance(value, str) else value)


def write_latex(report: CampaignReport, directory: Path) -> list[str]:
    """Write ``report.tex`` and a file for each table; a PDF of each figure is there.

    Returns:
        The names of these files, without those of the figures.
    """
    short = _readable(_labels(report.study))

    def said(text: str) -> str:
        return plain(short(text))

    body = [_FLOATS, rf"\title{{{said(report.study.title)}}}", r"\author{}", r"\date{}", ""]
    body += [r"\begin{document}", r"\maketitle", *(f"{said(each)}\n" for each in report.sentences)]
    if not report.complete:
        body.append("This campaign is not complete.\n")
    if damaged := len(report.study.damaged):
        body.append(f"What was in {counted(damaged, 'damaged file')} is left out.\n")
    tables = [("overview", report.overview, "The score in each test.")]
    written = ["report.tex", "overview.tex"]
    body += _included(directory, tables, short)
    if report.overview.headings[0] == "Agent":
        marks = mark_sentences(row[0].text[-2:] for row in report.overview.rows)
        legend = ["The best score of a test is bold.", _legend(report.overview, VERDICT_MARKS)]
        body += [" ".join(filter(None, [*legend, *map(plain, marks)])), ""]
    drawn, done = {figure.name for _, figure in report.drawn}, 0
    for section in report.sections:
        body += ["", r"\clearpage", rf"\section{{{said(section.title)}}}", ""]
        body += [f"{said(each)}\n" for each in (*section.setting, *remarks_of(section))]
        tables = []
        for name, table in report.tables[section.key].items():
            caption = f"{section.title}: {_CAPTIONS[name]}"
            if name == "differences":
                first = section.compared[0]
                caption += f" {first.reference_name}, paired within each seed."
                if not section.complete:
                    caption += " Intervals hold whenever one stops."
                if first.simultaneous > 1:
                    caption += f" Intervals hold at once for {first.simultaneous} pairs of agents."
            tables.append((f"{section.key}-{name}", table, caption))
        written += [f"{name}.tex" for name, _, _ in tables]
        body += _included(directory, tables, short)
        further = (bounded_differences(section), bounded_spreads(section))
        body += [f"{said(each)}\n" for each in further if each]
        body += [f"{said(each)}\n" for each in learning_sentences(section)]
        for figure in (each for each in section.figures if each.name in drawn):
            done += 1
            body += [
                r"\begin{figure}[htbp]\centering",
                rf"\includegraphics[width=0.8\linewidth]{{{figure.name}.pdf}}",
                rf"\caption{{{said(f'{section.title}: {figure.title}. {figure.caption}')}}}",
                r"\end{figure}",
            ]
            if done % 12 == 0:
                body.append(r"\clearpage")  # LaTeX holds so many figures at most
    source = PREAMBLE + "\n".join([*body, r"\end{document}", ""])
    files.write(directory / "report.tex", source.encode())
    return written


_FLOATS = r"""\renewcommand{\topfraction}{0.95}
\renewcommand{\bottomfraction}{0.95}
\renewcommand{\textfraction}{0.05}
\renewcommand{\floatpagefraction}{0.7}
\setcounter{topnumber}{6}
\setcounter{bottomnumber}{6}
\setcounter{totalnumber}{8}
"""

_SIGNS = {"better": "▲", "worse": "▼", "not_shown": "≈", "too_few": "?", "faulty": "✕"}
_MEANINGS = {
    "better": "is shown to be better (which agents that are ranked apart can be)",
    "worse": "is shown to be worse",
    "not_shown": "is not shown to differ",
    "too_few": "has too little in common with it",
    "faulty": "is not compared, because of faults",
}


def _legend(overview: Table, signs: Mapping[str, str]) -> str:
    """What the signs mean that are in the table of all tests; empty without any."""
    styles = {cell.style for row in overview.rows for cell in row}
    meant = [f"{signs[style]} {_MEANINGS[style]}" for style in signs if style in styles]
    return f"Compared with the best agent of its test, {listed(meant)}." if meant else ""


_CAPTIONS = {
    "scores": "scores over all seeds.",
    "metrics": "secondary metrics.",
    "differences": "differences from",
    "variance": "repeated-measures analysis of variance of the agents on the same exercises, "
    "without those that had faults of their own or a privileged view.",
    "spreads": "interquartile means, and probabilities of a higher value than the best agent's.",
    "complexity": "mean payoff by complexity.",
    "relations": "payoff against complexity, as rank correlation and slope.",
    "speeds": "interactions until an agent had learnt.",
    "settings": "settings and their computation times.",
}


def _included(
    directory: Path, tables: Iterable[tuple[str, Table, str]], short: Callable[[str], str]
) -> list[str]:
    """Write tables into their files; what includes them."""
    lines = []
    for name, table, caption in tables:
        rows = tuple(
            tuple(cell._replace(text=short(cell.text)) for cell in row) for row in table.rows
        )
        shown = Table(tuple(map(short, table.headings)), rows)
        long = len(shown.rows) > LONGEST_TABLE
        content = long_table(shown, short(caption)) + "\n" if long else tabular(shown)
        files.write(directory / f"{name}.tex", content.encode())
        if long:
            lines.append(rf"{{\footnotesize\input{{{name}}}}}")
            continue
        lines += [
            r"\begin{table}[htbp]\centering\footnotesize",
            rf"\caption{{{plain(short(caption))}}}\medskip",
            rf"\input{{{name}}}",
            r"\end{table}",
        ]
    return lines
