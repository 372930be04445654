"""The complexity of texts."""

import pytest

from omnimeter.complexity import compressed_length

PATTERN = "20122220022222200222222002"
EIGHT_CELLS = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|"
    "12+3++++++|1-----23-------|1++++++2-------3++|1----2+++3+"
)


def test_the_pattern_of_the_thesis_compresses_to_nineteen() -> None:
    assert compressed_length(PATTERN) == 19


def test_the_eight_cell_space_compresses_to_about_what_the_thesis_found() -> None:
    # The thesis reports 60 with the compressor of R; builds of zlib differ by a byte or two.
    description = EIGHT_CELLS + "203210200"
    assert len(description) == 119
    assert compressed_length(description) == pytest.approx(60, abs=2)


def test_what_repeats_itself_is_simpler() -> None:
    assert compressed_length("01" * 50) < compressed_length("0110100110010110100101100110")


def test_signs_beyond_ascii_count_as_their_bytes() -> None:
    assert compressed_length("⊕") == compressed_length("abc")
