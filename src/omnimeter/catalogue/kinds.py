"""Which kinds of parts there are, where packages list them, and what each must be."""

from __future__ import annotations

from enum import StrEnum

from omnimeter.contract import EnvironmentClass, Protocol


class Kind(StrEnum):
    """The kinds of parts in the catalogue."""

    ENVIRONMENT = "environment"
    AGENT = "agent"
    PROTOCOL = "protocol"
    PAYOFF = "payoff"
    ADJUSTMENT = "adjustment"
    REPRODUCTION = "reproduction"

    @property
    def group(self) -> str:
        """The group of entry points under which packages list parts of this kind."""
        return f"omnimeter.{self}s"

    @property
    def phrase(self) -> str:
        """The kind in the middle of a sentence: ``an agent``."""
        article = "an" if self.value[0] in "ae" else "a"
        return f"{article} {self.value}"


def objection(kind: Kind, thing: object) -> str:
    """Why an object cannot be a part of some kind; empty when it can."""
    match kind:
        case Kind.ENVIRONMENT:
            return _not_derived(thing, EnvironmentClass)
        case Kind.PROTOCOL:
            return _not_derived(thing, Protocol)
        case Kind.AGENT:
            if any(_offers(thing, method) for method in ("act", "predict", "__call__")):
                return ""
            return "it is not a subclass of omnimeter.Agent, nor can it act, predict or be called"
        case Kind.PAYOFF | Kind.ADJUSTMENT:
            missing = [method for method in ("__call__", "bounds") if not _offers(thing, method)]
            wanted = f"{kind.phrase} defines {' and '.join(missing)}"
            return f"{wanted}, and this does not" if missing else ""
        case Kind.REPRODUCTION:
            return "" if callable(thing) else "it cannot be called"


def _not_derived(thing: object, base: type) -> str:
    if isinstance(thing, type) and issubclass(thing, base):
        return ""
    if isinstance(thing, base):
        return f"it is one object of {type(thing).__name__}; name the class itself"
    return f"it is not a subclass of omnimeter.{base.__name__}"


def _offers(thing: object, method: str) -> bool:
    """Whether an object, or the objects of a class, have a method.

    Every class can be called, so for a class only what it defines for its objects counts.
    """
    if isinstance(thing, type):
        return any(method in vars(base) for base in thing.__mro__)
    return hasattr(thing, method)
