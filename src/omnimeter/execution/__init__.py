"""Carrying out evaluations: from a protocol's exercises to durable outcomes."""

from omnimeter.execution.conduct import Isolation
from omnimeter.execution.progress import Observer
from omnimeter.execution.running import check, evaluate
from omnimeter.execution.workforce import Options

__all__ = ["Isolation", "Observer", "Options", "check", "evaluate"]
