"""Whether an environment class is fit for testing: balanced, sensitive, in range, repeatable."""

from omnimeter.audits.examination import audit
from omnimeter.audits.finding import Audit, Finding

__all__ = ["Audit", "Finding", "audit"]
