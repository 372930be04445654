"""Carrying out evaluations: from a protocol's exercises to durable outcomes."""

from omnimeter.execution.evaluation import Observer, check, evaluate
from omnimeter.execution.workers import Isolation, Options

__all__ = ["Isolation", "Observer", "Options", "check", "evaluate"]
