"""Logarithmic axes and lengths of time, as people read them."""

from __future__ import annotations

import pytest

from omnimeter.reports import text
from omnimeter.reports.figures import Curve, CurveFigure, Scale
from omnimeter.reports.plotting import inline_svg


@pytest.mark.parametrize("agents", [2, 7])
@pytest.mark.parametrize(
    ("scale", "places", "marks"),
    [
        (Scale.AMOUNTS, (1.0, 1e3, 1e7), (">1<", ">10 million<")),
        (Scale.AMOUNTS, (17.0, 60.0, 460.0), (">20<", ">200<")),
        (Scale.SECONDS, (1e-6, 1e-3, 50.0), (">1 µs<", ">1 s<")),
    ],
)
def test_logarithmic_axes_have_marks_that_people_read(
    scale: Scale, places: tuple[float, ...], marks: tuple[str, str], agents: int
) -> None:
    unknown = (None,) * 3
    bands = (None, -9.0, 0.0), (None, 9.0, 0.5)
    curves = [Curve("a", places, (0.0, 0.1, 0.2), *bands)]
    curves += [Curve(f"b{n}", places[:2], (0.5, 0.1), *(unknown[:2],) * 2) for n in range(agents)]
    figure = CurveFigure("x", "X", "", "across", "up", tuple(curves), banded=True, scale=scale)
    drawn = inline_svg(figure, {curve.label: n for n, curve in enumerate(curves)})
    assert marks[0] in drawn
    if agents == 2:
        assert marks[1] in drawn
    assert "10^" not in drawn


def test_times_in_a_unit_that_suits_them() -> None:
    assert text.duration(1e-6) == "1 µs"
    assert text.duration(1.5e-6) == "1.5 µs"
    assert text.duration(0.02525) == "25.2 ms"
    assert text.duration(3) == "3 s"
    assert text.duration(5e-9) == "5 ns"
    assert text.duration(86_400) == "86 400 s"
    assert text.grouped(-0.123456) == f"{text.MINUS}0.123"
    assert text.grouped(12_345) == "12 345"
