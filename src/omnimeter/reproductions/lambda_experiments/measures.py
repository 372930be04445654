"""The two readings of complexity in section 5.4 of the Lambda thesis.

Its formula is the compressed length of space and pattern, a sign that the text has lost, and the
length of the pattern. The example beside it gives the compressed length alone; the sign is most
likely that of a product.
"""

from __future__ import annotations

from dataclasses import dataclass

from omnimeter.environments.lambda_class.complexity import Grade


@dataclass(frozen=True)
class Measure:
    """One reading.

    Attributes:
        name: In rows.
        grade: What the class calls it.
        title: For a reader.
        axis: What it is made of.
        per: Slopes are told for a difference this large.
        unit: That difference, for a reader.
        mark: What stands before the last word in names of figures.
    """

    name: str
    grade: Grade
    title: str
    axis: str
    per: int
    unit: str
    mark: str = ""


COMPRESSED = Measure(
    "compressed-length",
    "environment",
    "compressed length",
    "compressed length of space and pattern, in bytes",
    100,
    "100 bytes",
)

PRODUCT = Measure(
    "product",
    "product",
    "product",
    "compressed length of space and pattern, times the length of the pattern",
    10_000,
    "10,000",
    "product.",
)

MEASURES = (COMPRESSED, PRODUCT)
