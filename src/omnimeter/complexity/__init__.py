"""Complexities of texts: functions of strings that know nothing of agents."""

from omnimeter.complexity.compression import compressed_length

__all__ = ["compressed_length"]
