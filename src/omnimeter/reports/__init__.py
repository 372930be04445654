"""What is shown of an evaluation: scores and comparisons as data, figures, pages and tables.

Nothing heavy is loaded before a figure or a page is made.
"""

from omnimeter.reports.comparisons import Comparison, Verdict, comparisons
from omnimeter.reports.page import rejudge, write_figures, write_report
from omnimeter.reports.scores import ScoreRow, score_rows
from omnimeter.reports.tables import Table, latex_table, result_json, score_table, write_csv

__all__ = [
    "Comparison",
    "ScoreRow",
    "Table",
    "Verdict",
    "comparisons",
    "latex_table",
    "rejudge",
    "result_json",
    "score_rows",
    "score_table",
    "write_csv",
    "write_figures",
    "write_report",
]
