"""Where agents and environments meet: exercises run stepwise or compiled, and agents' handles."""

from omnimeter.interaction.kernels import KernelAgent, KernelEnvironment, KernelEnvironmentClass
from omnimeter.interaction.loop import interact
from omnimeter.interaction.run import run, run_single

__all__ = [
    "KernelAgent",
    "KernelEnvironment",
    "KernelEnvironmentClass",
    "interact",
    "run",
    "run_single",
]
