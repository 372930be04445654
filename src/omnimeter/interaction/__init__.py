"""Where agents and environments meet: the loop, its compiled form, and the seats of agents."""

from omnimeter.interaction.kernels import KernelAgent, KernelEnvironment, KernelEnvironmentClass
from omnimeter.interaction.loop import interact, take

__all__ = ["KernelAgent", "KernelEnvironment", "KernelEnvironmentClass", "interact", "take"]
