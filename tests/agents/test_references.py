"""The compiled loop counts no references: that is what makes it as fast as C++ (design note)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COUNT = """
import re
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Budget, Exercise, Spec
from omnimeter.environments.cups import Cups
from omnimeter.interaction import run_single
from omnimeter.interaction.compilation import runner
import numpy as np

cups = Cups()
instance = cups.draw(np.random.default_rng(1), 3)
exercise = Exercise(Spec("random-v1"), Spec("cups-v1"), instance, Budget(interactions=5), 1, 0)
list(run_single(cups, RandomAgent(), [exercise]))
(code,) = runner(cups.kernels, RandomAgent.kernels).inspect_llvm().values()
loop = re.split(r"^define ", code, flags=re.MULTILINE)[1]
assert "omnimeter_generated" in loop.splitlines()[0]
print(len(re.findall(r"call.*@NRT_(?:incref|decref)", loop)))
"""


def test_the_compiled_loop_counts_no_references(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, "OMNIMETER_CACHE_DIR": str(tmp_path)},  # cached code cannot be inspected
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "0", done.stdout + done.stderr
