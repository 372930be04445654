"""Tests in which random behaviour must be worth nothing refuse classes where it is not."""

from __future__ import annotations

from omnimeter.contract import EnvironmentClass, InvalidInputError, Spec


def refuse_unbalanced(environment_class: EnvironmentClass, spec: Spec) -> None:
    """Refuse a class that does not even claim to be balanced (anytime test, Definition 13).

    Raises:
        InvalidInputError: The class does not claim it.
    """
    if not environment_class.claims().balanced:
        raise InvalidInputError(
            f"{spec.label} is not balanced: random behaviour is worth something there.",
            "Choose another class, or insist with --unbalanced (unbalanced=true in a spec). "
            "omnimeter audit examines the class.",
        )
