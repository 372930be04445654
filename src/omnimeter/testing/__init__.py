"""Conformance suites: inherit one and set the part to be tested.

A suite is a class of pytest tests whose name does not begin with ``Test``, so that only what
inherits it is collected::

    from omnimeter.testing import EnvironmentClassSuite

    class TestMine(EnvironmentClassSuite):
        environment_class = Mine()
"""

from omnimeter.testing.agents import AgentSuite
from omnimeter.testing.environments import EnvironmentClassSuite
from omnimeter.testing.payoffs import AdjustmentSuite, PayoffSuite
from omnimeter.testing.protocols import ProtocolSuite

__all__ = ["AdjustmentSuite", "AgentSuite", "EnvironmentClassSuite", "PayoffSuite", "ProtocolSuite"]
