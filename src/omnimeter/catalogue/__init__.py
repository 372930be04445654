"""From a name to a part and back: entry points, versioned ids, locations and specs."""

from omnimeter.catalogue.consent import without_consent
from omnimeter.catalogue.entries import Entry, Kind, forget, listing
from omnimeter.catalogue.files import files_of, parts_in, unhashed
from omnimeter.catalogue.loading import files_in, place_of
from omnimeter.catalogue.making import Description, describe, make, resolve
from omnimeter.catalogue.parameters import Parameter
from omnimeter.catalogue.programs import is_program, program_of
from omnimeter.catalogue.specs import (
    alternatives,
    check_digest,
    check_name,
    checked_name,
    given_spec,
    inner_part,
    normalised,
    parse,
    parse_agents,
    read_spec,
    with_digest,
    with_parameters,
    write_spec,
)

__all__ = [
    "Description", "Entry", "Kind", "Parameter", "alternatives", "check_digest", "check_name",
    "checked_name",
    "describe", "files_in", "files_of", "forget", "given_spec", "inner_part", "is_program",
    "listing", "make", "normalised", "parse", "parse_agents", "parts_in", "place_of",
    "program_of", "read_spec", "resolve", "unhashed", "with_digest", "with_parameters",
    "without_consent", "write_spec",
]  # fmt: skip
