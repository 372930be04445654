"""The contract of agents, environments, exercises and protocols, as types.

``docs/standard.md`` is its normative text. Authors of agents read ``agent``, authors of environment
classes ``environment``.
"""

from omnimeter.contract.agent import STOP, Agent, Briefing, Move, Observation, Space, single
from omnimeter.contract.environment import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    Percept,
)
from omnimeter.contract.errors import InvalidInputError, OmnimeterError, UnknownNameError
from omnimeter.contract.exercise import (
    Budget,
    Clock,
    ClockKind,
    Ending,
    Exercise,
    Fault,
    FaultKind,
    Outcome,
    Timeout,
    TimeoutRule,
    Trace,
)
from omnimeter.contract.kernels import AgentKernels, EnvironmentKernels, kernel
from omnimeter.contract.outcomes import Outcomes
from omnimeter.contract.overlay import Graph, Lattice, Overlay
from omnimeter.contract.prior import MDPDistribution, Prior
from omnimeter.contract.protocol import Interval, Payoff, Protocol, Score
from omnimeter.contract.spec import Spec, stream

__all__ = [
    "STOP", "Agent", "AgentKernels", "Briefing", "Budget", "Claims", "Clock", "ClockKind", "Ending",
    "Environment", "EnvironmentClass", "EnvironmentKernels", "Exercise", "Fault", "FaultKind",
    "Graph", "Instance", "Interval", "InvalidInputError", "Lattice", "MDPDistribution", "Move",
    "Observation", "OmnimeterError", "Outcome", "Outcomes", "Overlay", "Payoff", "Percept", "Prior",
    "Protocol", "Score", "Space", "Spec", "Timeout", "TimeoutRule", "Trace",
    "UnknownNameError", "kernel", "single", "stream",
]  # fmt: skip
