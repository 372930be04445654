"""From a name to a part and back: entry points, versioned ids, places and specs."""

from omnimeter.catalogue.descriptions import Description, Parameter, describe
from omnimeter.catalogue.kinds import Kind
from omnimeter.catalogue.listings import Entry, forget, listing
from omnimeter.catalogue.making import make
from omnimeter.catalogue.resolution import resolve
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
