"""The torus with Good and Evil of the anytime test, section 6.3."""

from omnimeter.environments.torus.generator import Torus

__all__ = ["Torus"]
