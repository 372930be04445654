r"""LaTeX: tables for papers, and the report of §4 of the Bayesian RL benchmark.

A report needs nothing but the class ``article`` and packages of every TeX distribution.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest
from pathlib import Path

from omnimeter.protocols import Result
from omnimeter.reports.comparisons import comparisons
from omnimeter.reports.decisions import (
    SIMULTANEOUS,
    Decision,
    best_under,
    bounds_grid,
    decision_table,
)
from omnimeter.reports.plotting import save_figure
from omnimeter.reports.scores import eligibilities
from omnimeter.reports.settings import Setting, on_one_machine, time_text
from omnimeter.reports.summary import eligibility_sentences
from omnimeter.reports.tables import (
    Cell,
    Table,
    difference_table,
    score_table,
    settings_table,
    write_table,
)
from omnimeter.reports.text import MINUS, MISSING, counted, printable
from omnimeter.reports.time_figures import bounds_figure, time_figure
from omnimeter.results import files

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    MISSING: "--",
    MINUS: "$-$",
    "∞": r"$\infty$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
}

_SIGNS = {
    "·": r"\textperiodcentered{}",
    "≤": r"$\leq$",
    "µ": r"$\mu$",
    "±": r"$\pm$",
    "…": r"\ldots{}",
}


def escaped(text: str) -> str:
    """Text as LaTeX shows it; letters of other scripts need an engine and a font that have them."""
    return "".join(_LATEX.get(sign, sign) for sign in printable(text)).replace(r" \%", r"\,\%")


_LONGEST_WORD = 19
"""Letters of a word, and of the name of a command, that fit into a column."""


def plain(text: str) -> str:
    """Text as any LaTeX engine shows it: what its first fonts do not have is named.

    A line may end within the name of an agent, after a colon, a slash, a parenthesis or an equals
    sign, and within a word that is too long for a line.
    """

    def one(sign: str) -> str:
        if sign in _SIGNS or sign.isascii():
            return _SIGNS.get(sign, sign)
        # Letters with accents are made of both.
        known = unicodedata.category(sign)[0] == "L" and unicodedata.decomposition(sign)
        return sign if sign == " " or (known and ord(sign) < 0x180) else f"[U+{ord(sign):04X}]"

    shown = "".join(map(one, escaped(text.replace("\N{NO-BREAK SPACE}", " "))))
    return _breakable(shown)


def _breakable(shown: str) -> str:
    shown = re.sub(r"(?<=\w[:/(=])(?=\w)", r"\\allowbreak{}", shown)
    return re.sub(rf"[^\W\d_]{{{_LONGEST_WORD}}}(?=\w)", r"\g<0>\\allowbreak{}", shown)


def latex_table(result: Result) -> str:
    r"""Scores and differences as LaTeX tables, best first; needs ``\usepackage{booktabs}``.

    Where the name of an agent is long, its column has several lines and needs ``array`` too.
    """

    def bare(table: Table) -> str:
        if max(len(row[0].text) for row in table.rows) > _LONGEST_NAME:
            return tabular(table)
        rows = [table.headings, *([cell.text for cell in row] for row in table.rows)]
        head, *body = (_row(map(escaped, row)) for row in rows)
        begin = rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}"
        lines = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        return "\n".join(lines) + "\n"

    text = bare(score_table(result))
    if compared := comparisons(result):
        reference = escaped(compared[0].reference_name)
        text += f"\n% Differences from {reference}\n{bare(difference_table(compared))}"
    for sentence in eligibility_sentences(eligibilities(result)):
        text += f"\n\\par {_breakable(escaped(sentence))}\n"
    return text


_LONGEST_NAME = 40
"""Characters of a name that has a line of its own."""

_WIDE = r">{\raggedright\arraybackslash}p{3.7cm}"
_HEADED = r">{\raggedleft\arraybackslash}p{2.4cm}"
_TEXTS = ("Agent", "Parameters", "Test", "Best", "Not shown to be worse")
_LONGEST_HEADING = 20


def _columns(table: Table) -> str:
    """What the columns of a table are in LaTeX."""

    def column(heading: str) -> str:
        if heading in _TEXTS:
            return _WIDE
        if heading in ("Faults", "Verdict"):
            return "l"
        return _HEADED if max(map(len, heading.split("\n"))) > _LONGEST_HEADING else "r"

    first, *others = table.headings
    return "".join([_WIDE if first in _TEXTS else "l", *map(column, others)])


def _row(cells: Iterable[str]) -> str:
    """A row of LaTeX; a bracket or star at its beginning is no argument of what is before it."""
    row = " & ".join(cells) + r" \\"
    return "{}" + row if row.lstrip().startswith(("[", "*")) else row


VERDICT_MARKS = {
    "better": r"$\bigtriangleup$",
    "worse": r"$\bigtriangledown$",
    "not_shown": r"$\approx$",
    "too_few": "?",
    "faulty": r"$\times$",
}
"""What is before a cell, by its style."""


def _lines(cell: Cell) -> list[str]:
    """The lines of a cell, with what its style says."""
    lines = [plain(line) for line in cell.text.split("\n")]
    if cell.style == "strong":
        return [rf"\textbf{{{line}}}" for line in lines]
    if cell.style in VERDICT_MARKS:
        lines[0] = f"{VERDICT_MARKS[cell.style]} {lines[0]}"
    return lines


def _rows(cells: Iterable[Cell]) -> str:
    """A row of LaTeX for each line of the cells."""
    return "\n".join(map(_row, zip_longest(*map(_lines, cells), fillvalue="")))


def _head(table: Table) -> str:
    return _rows([Cell(heading, {}) for heading in table.headings])


def tabular(table: Table) -> str:
    r"""A table for a paper; needs ``\usepackage{array,booktabs}``."""
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{_columns(table)}}}",
            *(r"\toprule", _head(table), r"\midrule"),
            *map(_rows, table.rows),
            *(r"\bottomrule", r"\end{tabular}", ""),
        ]
    )


def long_table(table: Table, caption: str) -> str:
    """A table that may go over several pages, for the report."""
    head = _head(table)
    space = "\n" + r"\noalign{\smallskip}" if "\n" in head else ""
    return "\n".join(
        [
            rf"\begin{{longtable}}{{{_columns(table)}}}",
            rf"\caption{{{plain(caption)}}}\\",
            *(r"\toprule", head, r"\midrule", r"\endfirsthead"),
            *(r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
            *(_rows(row) + space for row in table.rows),
            r"\end{longtable}",
        ]
    )


PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[margin=1.8cm]{geometry}
\usepackage{array}
\usepackage{graphicx}
\usepackage{longtable}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{%
  \newcommand{\toprule}{\hline\noalign{\smallskip}}%
  \newcommand{\midrule}{\noalign{\smallskip}\hline\noalign{\smallskip}}%
  \newcommand{\bottomrule}{\noalign{\smallskip}\hline}}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\setlength{\emergencystretch}{6em}
\setlength{\tabcolsep}{3pt}
"""


def write_latex_report(
    settings: Sequence[Setting],
    directory: Path,
    *,
    title: str = "Bayesian reinforcement learning: performance and computation time",
    notes: Iterable[str] = (),
    test: str = SIMULTANEOUS,
    held_out: bool | None = None,
    mix: bool = False,
) -> dict[str, Path]:
    """Write a folder with ``report.tex``: the three graphs and the tables of each problem (§4).

    Args:
        settings: Settings of one problem or several.
        directory: Where the files go.
        title: The title of the report.
        notes: Paragraphs at its beginning.
        test: Which test decides (``best_under``).
        held_out: Whether settings are chosen on other MDPs than they are tested on.
        mix: Whether times that were measured on different machines are scaled and mixed.

    Returns:
        The files that were written, by what they are.

    Raises:
        InvalidInputError: The settings cannot be compared; see ``best_under``.
        StoreError: A file could not be written.
    """
    files.make_directory(directory)
    written: dict[str, Path] = {}
    body = [rf"\title{{{plain(title)}}}", r"\author{}", r"\date{}", "", r"\begin{document}"]
    body += [r"\maketitle", *(f"{plain(note)}\n" for note in notes)]
    order = list(dict.fromkeys(each.problem for each in settings))
    ranked = sorted(settings, key=lambda each: order.index(each.problem))
    for problem, group in groupby(ranked, key=lambda each: each.problem):
        members, scaled = on_one_machine(list(group), mix=mix)
        name = f"{order.index(problem) + 1}-" if len(order) > 1 else ""
        name += re.sub(r"[^a-z0-9]+", "-", problem.lower()).strip("-")[:40] or "problem"
        decision = best_under(members, test=test, held_out=held_out)
        grid = bounds_grid(members, test=test, held_out=held_out)
        body += ["", rf"\section{{{plain(problem)}}}", "", _opening(members, decision, scaled), ""]
        for figure in (
            time_figure(members),
            time_figure(members, online=True),
            bounds_figure(grid, members),
        ):
            if figure is None:
                continue
            path = directory / f"{name}-{figure.name}.pdf"
            save_figure(figure, {}, path)
            written[f"{problem}: {figure.title}"] = path
            body += [
                r"\begin{figure}[htbp]\centering",
                rf"\includegraphics[width=0.85\linewidth]{{{path.name}}}",
                rf"\caption{{{plain(f'{problem}. {figure.caption}')}}}",
                r"\end{figure}",
            ]
        table = settings_table(members)
        path = directory / f"{name}-settings.csv"
        write_table(table, path)
        written[f"{problem}: all settings"] = path
        tested = "held-out MDPs" if decision.held_out else "all MDPs"
        best = f"{problem}: the chosen setting of each algorithm, on {tested}."
        body += [r"\clearpage", r"{\footnotesize", long_table(decision_table(decision), best)]
        body += [long_table(table, f"{problem}: all settings, on all MDPs."), r"}", r"\clearpage"]
    text = PREAMBLE + "\n".join([*body, r"\end{document}", ""])
    written["report"] = directory / "report.tex"
    files.write(written["report"], text.encode())
    return written


def _opening(settings: Sequence[Setting], decision: Decision, scaled: str) -> str:
    """What was measured on a problem, and what it says."""
    algorithms = len({each.algorithm for each in settings})
    machines = dict.fromkeys(machine.name for each in settings for machine in each.measured)
    longest = max(each.times.offline for each in settings)
    sentences = [
        f"{counted(len(settings), 'setting')} of {counted(algorithms, 'algorithm')}.",
        decision.sentence,
        *decision.remarks,
        scaled or (f"Times were measured on {', '.join(machines)}." if any(machines) else ""),
        f"The longest offline phase took {time_text(longest)}.",
    ]
    return " ".join(plain(sentence) for sentence in sentences if sentence)
