"""Carrying out evaluations: from a protocol's exercises to stored outcomes."""

from omnimeter.execution.evaluation import Observer, Run, check, evaluate
from omnimeter.execution.journaling import Journaling
from omnimeter.execution.workers import Isolation, Options
from omnimeter.interaction.sandbox import Sandboxing

__all__ = [
    "Isolation",
    "Journaling",
    "Observer",
    "Options",
    "Run",
    "Sandboxing",
    "check",
    "evaluate",
]
