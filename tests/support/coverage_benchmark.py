"""``benchmarks/coverage.py`` under a name that is not that of another package."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PATH = Path(__file__).parents[2] / "benchmarks" / "coverage.py"

_spec = spec_from_file_location(__name__, PATH)
assert _spec is not None
assert _spec.loader is not None
_module = module_from_spec(_spec)
_module.PATH = PATH  # type: ignore[attr-defined]
sys.modules[__name__] = _module
_spec.loader.exec_module(_module)
