"""Carries out a campaign by Ray with two workers: ``ray_driver.py DIR``."""

import signal
import sys
from pathlib import Path

from campaign_samples import units_in
from omnimeter.execution.cluster import ray_executor
from omnimeter.execution.units import Receipt, unfinished


def interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def tell(receipt: Receipt) -> None:
    print(receipt.unit, receipt.outcome, receipt.reason, receipt.tail, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupt)
    try:
        ray_executor(2)(unfinished(units_in(Path(sys.argv[1]))), tell)
    except KeyboardInterrupt:
        print("interrupted")
