r"""LaTeX: tables for papers, and the report of §4 of the Bayesian RL benchmark.

A report needs nothing but the class ``article`` and packages of every TeX distribution.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from omnimeter.protocols import Result
from omnimeter.reports.comparisons import comparisons
from omnimeter.reports.decisions import (
    SIMULTANEOUS,
    Decision,
    best_under,
    bounds_grid,
)
from omnimeter.reports.plotting import save_figure
from omnimeter.reports.settings import Setting, on_one_machine, time_text
from omnimeter.reports.tables import (
    Cell,
    Table,
    difference_table,
    score_table,
    settings_table,
    write_table,
)
from omnimeter.reports.text import MINUS, MISSING, counted, decimals, interval, number, printable
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
    '"': r"\textquotedbl{}",
    MISSING: "--",
    MINUS: "$-$",
    "∞": r"$\infty$",
}

_SIGNS = {"≤": r"$\leq$", "µ": r"$\mu$", "±": r"$\pm$", "…": r"\ldots{}"}


def escaped(text: str) -> str:
    """Text as LaTeX shows it; letters of other scripts need an engine and a font that have them."""
    return "".join(_LATEX.get(sign, sign) for sign in printable(text)).replace(r" \%", r"\,\%")


def _plain(text: str) -> str:
    """Text as any LaTeX engine shows it: what its first fonts do not have is named."""

    def one(sign: str) -> str:
        if sign in _SIGNS or sign.isascii():
            return _SIGNS.get(sign, sign)
        # Letters with accents are made of both.
        known = unicodedata.category(sign)[0] == "L" and unicodedata.decomposition(sign)
        return sign if sign == " " or (known and ord(sign) < 0x180) else f"[U+{ord(sign):04X}]"

    return "".join(map(one, escaped(text.replace("\N{NO-BREAK SPACE}", " "))))


def latex_table(result: Result) -> str:
    r"""Scores and differences as LaTeX tables, best first; needs ``\usepackage{booktabs}``."""

    def tabular(table: Table) -> str:
        rows = [table.headings, *([cell.text for cell in row] for row in table.rows)]
        head, *body = (" & ".join(map(escaped, row)) + r" \\" for row in rows)
        begin = rf"\begin{{tabular}}{{l{'r' * (len(table.headings) - 1)}}}"
        lines = [begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        return "\n".join(lines) + "\n"

    text = tabular(score_table(result))
    if compared := comparisons(result):
        reference = escaped(compared[0].reference.label)
        text += f"\n% Differences from {reference}\n{tabular(difference_table(compared))}"
    return text


def long_table(table: Table, caption: str) -> str:
    r"""A table that may go over several pages, for the report; the first two columns are text."""
    head = " & ".join(map(_plain, table.headings)) + r" \\"
    body = [" & ".join(_plain(cell.text) for cell in row) + r" \\" for row in table.rows]
    columns = "l>{\\raggedright\\arraybackslash}p{4.2cm}" + "r" * (len(table.headings) - 2)
    return "\n".join(
        [
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{_plain(caption)}}}\\",
            *(r"\toprule", head, r"\midrule", r"\endfirsthead"),
            *(r"\toprule", head, r"\midrule", r"\endhead", r"\bottomrule", r"\endfoot"),
            *body,
            r"\end{longtable}",
        ]
    )


def best_table(decision: Decision) -> Table:
    """The chosen setting of each algorithm (figure 9 of the paper), and how it compares."""
    candidates = decision.candidates
    published = any(each.setting.published for each in candidates)
    places = max(2, decimals(n for each in candidates for n in (each.score.low, each.score.high)))
    rows = []
    for each in candidates:
        its, printed = each.comparison, each.setting.published
        texts = [
            each.setting.algorithm,
            each.setting.parameters,
            str(each.among),
            number(each.score.value, places),
            interval(each.score.low, each.score.high, places),
            MISSING if its is None else number(its.difference, places, signed=True),
            MISSING if each.z is None else number(each.z, 2),
            "best" if its is None else "not worse" if each.best else "worse",
        ]
        if published:
            texts.append(MISSING if printed is None else f"{printed[0]:g} ± {printed[1]:g}")
        rows.append(tuple(Cell(text, {}) for text in texts))
    headings = ("Algorithm", "Parameters", "Of", "Score", "95 % interval", "Difference", "Z")
    return Table((*headings, "Verdict", *["Published"] * published), tuple(rows))


_PREAMBLE = r"""\documentclass[a4paper]{article}
\usepackage[margin=2cm]{geometry}
\usepackage{array}
\usepackage{graphicx}
\usepackage{longtable}
\IfFileExists{booktabs.sty}{\usepackage{booktabs}}{%
  \newcommand{\toprule}{\hline\noalign{\smallskip}}%
  \newcommand{\midrule}{\noalign{\smallskip}\hline\noalign{\smallskip}}%
  \newcommand{\bottomrule}{\noalign{\smallskip}\hline}}
\DeclareTextCommandDefault{\textquotedbl}{''}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt}
\setlength{\tabcolsep}{4pt}
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
    body = [rf"\title{{{_plain(title)}}}", r"\author{}", r"\date{}", "", r"\begin{document}"]
    body += [r"\maketitle", *(f"{_plain(note)}\n" for note in notes)]
    order = list(dict.fromkeys(each.problem for each in settings))
    ranked = sorted(settings, key=lambda each: order.index(each.problem))
    for problem, group in groupby(ranked, key=lambda each: each.problem):
        members, scaled = on_one_machine(list(group), mix=mix)
        name = f"{order.index(problem) + 1}-" if len(order) > 1 else ""
        name += re.sub(r"[^a-z0-9]+", "-", problem.lower()).strip("-")[:40] or "problem"
        decision = best_under(members, test=test, held_out=held_out)
        grid = bounds_grid(members, test=test, held_out=held_out)
        body += ["", rf"\section{{{_plain(problem)}}}", "", _opening(members, decision, scaled), ""]
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
                rf"\caption{{{_plain(f'{problem}. {figure.caption}')}}}",
                r"\end{figure}",
            ]
        table = settings_table(members)
        path = directory / f"{name}-settings.csv"
        write_table(table, path)
        written[f"{problem}: all settings"] = path
        tested = "held-out MDPs" if decision.held_out else "all MDPs"
        best = f"{problem}: the chosen setting of each algorithm, on {tested}."
        body += [r"\clearpage", r"{\footnotesize", long_table(best_table(decision), best)]
        body += [long_table(table, f"{problem}: all settings, on all MDPs."), r"}", r"\clearpage"]
    text = _PREAMBLE + "\n".join([*body, r"\end{document}", ""])
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
    return " ".join(_plain(sentence) for sentence in sentences if sentence)
