"""Every environment class of the catalogue as a Gymnasium environment, single and vectorised.

Importing this package registers them as ``omnimeter/<id>``; none of them is imported for that.
"""

from omnimeter.gymnasium_adapter.environment import NAMESPACE, OmnimeterEnv, register
from omnimeter.gymnasium_adapter.vector import OmnimeterVectorEnv

__all__ = ["NAMESPACE", "OmnimeterEnv", "OmnimeterVectorEnv", "register"]

register()
