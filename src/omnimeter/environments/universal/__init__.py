"""The universal Lambda class: Markov algorithms write the spaces and move their inhabitants."""

from omnimeter.environments.universal.generator import UniversalLambda

__all__ = ["UniversalLambda"]
