"""The Lambda environment class: spaces, Good and Evil, and the rewards that they leave."""

from omnimeter.environments.lambda_class.generator import Lambda

__all__ = ["Lambda"]
