"""The look at an environment class before a test: whether random behaviour is worth nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnimeter.audits import Finding
    from omnimeter.contract import EnvironmentClass, Spec

INSTANCES = 16
INTERACTIONS = 1260
"""Half of what an audit takes, so that nobody waits long."""

LEVEL = 0.999
"""A class is refused only when chance would hardly do that to a balanced one."""


def balance_of(spec: Spec, environment_class: EnvironmentClass) -> Finding:
    """What a short audit of the balance of a class finds (anytime test, Definition 13).

    Raises:
        InvalidInputError: The class does not claim to be balanced or is found not to be, or cannot
            be examined.
    """
    from omnimeter.audits.balance import check_balance
    from omnimeter.audits.subject import Subject
    from omnimeter.contract import InvalidInputError, OmnimeterError

    subject = Subject(environment_class, INSTANCES, INTERACTIONS, 0, LEVEL, lambda _: None)
    try:
        finding = check_balance(subject)
    except OmnimeterError:
        raise
    except Exception as error:  # a stranger's class may raise anything
        raise InvalidInputError(
            f"{spec.label} cannot be examined: {type(error).__name__}: {error}",
            "omnimeter audit tells more.",
        ) from error
    if finding.claimed and finding.passed:
        return finding
    what = "is not balanced" if not finding.passed else "does not claim to be balanced"
    raise InvalidInputError(
        f"{spec.label} {what}. {finding.summary}",
        "Choose another class, or insist with --unbalanced; the score then says so. "
        "omnimeter audit examines the class.",
    )
