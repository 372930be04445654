"""Docstring lines read from source files, without running them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnimeter.catalogue import forget
from omnimeter.catalogue.docstrings import summary

FILES = {
    "__init__.py": "raise RuntimeError('imported')\nfrom shelf.inner import Box as Gate\n",
    "inner/__init__.py": "from ..inner.deep import Box\nfrom .deep import Window\n",
    "inner/deep.py": (
        'class Box:\n    """A box.\n\n    Long."""\n\n    class Knob:\n        """A knob."""\n'
        'def Window():\n    """\n    A window.\n    """\n'
        "class Silent: pass\n"
    ),
    "circle.py": "from shelf.circle import Round\n",
    "broken.py": "class Box(:\n",
    "foreign.py": "from no_such_package.part import Name\nfrom .... import Beyond\n",
}


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        path = tmp_path / "shelf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("shelf.inner.deep:Box", "A box."),
        ("shelf.inner.deep:Box.Knob", "A knob."),
        ("shelf.inner.deep:Box.Hinge", ""),
        ("shelf.inner.deep:Window", "A window."),
        ("shelf.inner:Window", "A window."),
        ("shelf:Gate", "A box."),
        ("shelf:Gate.Knob", "A knob."),
        ("shelf.inner.deep:Silent", ""),
        ("shelf.inner.deep:Absent", ""),
        ("shelf.circle:Round", ""),
        ("shelf.broken:Box", ""),
        ("shelf.foreign:Name", ""),
        ("shelf.foreign:Beyond", ""),
        ("shelf.absent:Box", ""),
        ("no_such_package:Box", ""),
        ("sys:exit", ""),
    ],
)
def test_summary(location: str, expected: str) -> None:
    assert summary(location) == expected
    assert "shelf" not in sys.modules
