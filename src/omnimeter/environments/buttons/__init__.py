"""The button-and-ball examples of both papers."""

from omnimeter.environments.buttons.generator import Buttons

__all__ = ["Buttons"]
