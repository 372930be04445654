"""What authors of kernels import: the decorator, the convention, and what kernels can call."""

from omnimeter.contract.kernels import AgentKernels, EnvironmentKernels, State, kernel
from omnimeter.interaction.intrinsics import (
    below,
    forward,
    generator_state,
    next_bits,
    next_word,
    uniform,
)
from omnimeter.interaction.kernels import KernelAgent, KernelEnvironment, KernelEnvironmentClass

__all__ = [
    "AgentKernels",
    "EnvironmentKernels",
    "KernelAgent",
    "KernelEnvironment",
    "KernelEnvironmentClass",
    "State",
    "below",
    "forward",
    "generator_state",
    "kernel",
    "next_bits",
    "next_word",
    "uniform",
]
