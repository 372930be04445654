"""Where agents and environments meet: exercises run stepwise or compiled, and agents' handles."""

from omnimeter.interaction.dispatch import run, run_single
from omnimeter.interaction.kernels import KernelAgent, KernelEnvironment, KernelEnvironmentClass
from omnimeter.interaction.loop import interact

__all__ = [
    "KernelAgent",
    "KernelEnvironment",
    "KernelEnvironmentClass",
    "interact",
    "run",
    "run_single",
]
