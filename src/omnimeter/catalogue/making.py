"""From a spec to a part that is ready to be used."""

from __future__ import annotations

from functools import partial
from inspect import isroutine
from typing import Any

from omnimeter.catalogue.failures import making_failure
from omnimeter.catalogue.kinds import Kind
from omnimeter.catalogue.parameters import check_names
from omnimeter.catalogue.resolution import resolve
from omnimeter.catalogue.specs import check_digest
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec


def make(kind: Kind, spec: Spec) -> Any:
    """Build a part with its parameters.

    A class is constructed. A function is bound to its parameters, and any other object is taken as
    it is: who uses it knows what to do with it.

    Raises:
        UnknownNameError: There is no such part.
        InvalidInputError: The part cannot be loaded, a parameter does not fit, the part refuses
            it, or its file is no longer what the spec says.
    """
    check_digest(spec)
    part = resolve(kind, spec.id)
    if not isinstance(part, type) and not spec.parameters:
        return part
    if not isinstance(part, type) and not isroutine(part):
        raise InvalidInputError(f"{spec.id} is a single object, which takes no parameters.")
    check_names(part, spec.parameters, spec.id)
    values = dict(spec.parameters)
    if values:
        from omnimeter.catalogue.coercion import coerced

        values = coerced(part, values, spec.id)
    return _constructed(part, values, spec) if isinstance(part, type) else partial(part, **values)


def _constructed(part: type, values: dict[str, Any], spec: Spec) -> Any:
    try:
        return part(**values)
    except OmnimeterError as error:
        raise InvalidInputError(f"{spec.id}: {error.message}", error.advice) from error
    except Exception as error:
        raise making_failure(error, spec.label) from error
