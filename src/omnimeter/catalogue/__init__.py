"""From a name to a part and back: entry points, versioned ids, places and specs."""

from omnimeter.catalogue.entries import Kind
from omnimeter.catalogue.listing import Description, Entry, Parameter, describe, forget, listing
from omnimeter.catalogue.making import make, resolve
from omnimeter.catalogue.specs import inner_part, parse, read_spec, with_parameters, write_spec

__all__ = [
    "Description",
    "Entry",
    "Kind",
    "Parameter",
    "describe",
    "forget",
    "inner_part",
    "listing",
    "make",
    "parse",
    "read_spec",
    "resolve",
    "with_parameters",
    "write_spec",
]
