"""Whether an environment class is fit for testing: balanced, sensitive, in range, repeatable."""

from omnimeter.audits.checks import audit
from omnimeter.audits.subject import Audit, Finding

__all__ = ["Audit", "Finding", "audit"]
