"""What is shown of an evaluation: scores and comparisons as data, figures, pages and tables.

Nothing heavy is loaded before a figure or a page is made.
"""

from omnimeter.reports.comparisons import Comparison, Verdict, comparisons
from omnimeter.reports.decisions import Decision, best_under, bounds_grid
from omnimeter.reports.latex import latex_table, write_latex_report
from omnimeter.reports.page import rejudge, write_figures, write_report
from omnimeter.reports.scores import ScoreRow, score_rows
from omnimeter.reports.settings import Setting, settings_of
from omnimeter.reports.tables import Table, result_json, score_table, settings_table, write_csv

__all__ = [
    "Comparison",
    "Decision",
    "ScoreRow",
    "Setting",
    "Table",
    "Verdict",
    "best_under",
    "bounds_grid",
    "comparisons",
    "latex_table",
    "rejudge",
    "result_json",
    "score_rows",
    "score_table",
    "settings_of",
    "settings_table",
    "write_csv",
    "write_figures",
    "write_latex_report",
    "write_report",
]
