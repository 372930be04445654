"""Showing what an evaluation says: scores and comparisons as data, figures, pages and tables.

Nothing heavy is loaded before a figure or a page is made.
"""

from omnimeter.reports.comparisons import Comparison, Verdict, comparisons
from omnimeter.reports.page import rejudge, write_figures, write_report
from omnimeter.reports.scores import ScoreRow, score_table
from omnimeter.reports.tables import latex_table, write_csv

__all__ = [
    "Comparison",
    "ScoreRow",
    "Verdict",
    "comparisons",
    "latex_table",
    "rejudge",
    "score_table",
    "write_csv",
    "write_figures",
    "write_report",
]
