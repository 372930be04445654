"""The words of Omnimeter, as types. ``docs/standard.md`` is their normative text."""

from omnimeter.contract.agent import STOP, Agent, Briefing, Move
from omnimeter.contract.budget import (
    FOREVER,
    NANOSECONDS,
    Budget,
    Clock,
    ClockKind,
    Timeout,
    TimeoutRule,
    nanoseconds,
)
from omnimeter.contract.environment import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    Percept,
    canonical,
    fingerprint,
)
from omnimeter.contract.errors import (
    InvalidInputError,
    OmnimeterError,
    StoreError,
    UnknownNameError,
)
from omnimeter.contract.exercise import Exercise, Outcome, check_company, is_own_fault
from omnimeter.contract.kernels import AgentKernels, EnvironmentKernels, kernel
from omnimeter.contract.protocol import Interval, Moment, Payoff, Protocol, Score
from omnimeter.contract.spaces import FloatArray, IntArray, Observation, Space, single
from omnimeter.contract.spec import Spec
from omnimeter.contract.streams import Stream, stream
from omnimeter.contract.trace import Ending, Fault, FaultKind, Trace

__all__ = [
    "FOREVER",
    "NANOSECONDS",
    "STOP",
    "Agent",
    "AgentKernels",
    "Briefing",
    "Budget",
    "Claims",
    "Clock",
    "ClockKind",
    "Ending",
    "Environment",
    "EnvironmentClass",
    "EnvironmentKernels",
    "Exercise",
    "Fault",
    "FaultKind",
    "FloatArray",
    "Instance",
    "IntArray",
    "Interval",
    "InvalidInputError",
    "Moment",
    "Move",
    "Observation",
    "OmnimeterError",
    "Outcome",
    "Payoff",
    "Percept",
    "Protocol",
    "Score",
    "Space",
    "Spec",
    "StoreError",
    "Stream",
    "Timeout",
    "TimeoutRule",
    "Trace",
    "UnknownNameError",
    "canonical",
    "check_company",
    "fingerprint",
    "is_own_fault",
    "kernel",
    "nanoseconds",
    "single",
    "stream",
]
