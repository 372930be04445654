"""Carrying out evaluations: from a protocol's exercises to durable outcomes."""

from omnimeter.execution.conduct import Isolation
from omnimeter.execution.evaluation import Evaluation
from omnimeter.execution.progress import Observer
from omnimeter.execution.running import Result, evaluate, summarise
from omnimeter.execution.workforce import Options

__all__ = ["Evaluation", "Isolation", "Observer", "Options", "Result", "evaluate", "summarise"]
