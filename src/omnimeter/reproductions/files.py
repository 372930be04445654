"""Writing what a reproduction found: records as CSV, figures as PNG and SVG."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.contract import StoreError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Make the directory; say clearly when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}.", "Choose another place with --out."
        ) from error


def write_records(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Records with the same fields, as CSV."""
    with writing_to(path), path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)
    return path


def write_figure(figure: Figure, path: Path) -> dict[str, Path]:
    """A figure as PNG and SVG, the same bytes each time. The path has no ending yet."""
    import matplotlib as mpl

    png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
    with writing_to(png), mpl.rc_context({"svg.hashsalt": "omnimeter", "svg.fonttype": "none"}):
        figure.savefig(png, dpi=150, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None})
    return {"figure": png, "figure (vector)": svg}
