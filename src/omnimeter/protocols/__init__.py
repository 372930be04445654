"""The tests: which exercise comes next, and what the score is. Reached by id."""

from omnimeter.protocols.evaluation import Evaluation, Result, summarise

__all__ = ["Evaluation", "Result", "summarise"]
