"""The cups of the anytime test, section 6.1."""

from omnimeter.environments.cups.generator import Cups

__all__ = ["Cups"]
