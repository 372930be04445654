"""The C-test: series of letters with an unquestionable continuation (anytime test, section 3.2)."""

from omnimeter.environments.c_test.generator import CTest
from omnimeter.series.machine import complexity, decode, encode, written

__all__ = ["CTest", "complexity", "decode", "encode", "written"]
