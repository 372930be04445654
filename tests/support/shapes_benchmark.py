"""``benchmarks/shapes.py``, which the tests share with those that run it."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PATH = Path(__file__).parents[2] / "benchmarks" / "shapes.py"

_spec = spec_from_file_location(__name__, PATH)
assert _spec is not None
assert _spec.loader is not None
_module = module_from_spec(_spec)
sys.modules[__name__] = _module
_spec.loader.exec_module(_module)
