"""Entry points, ids and listing, with made-up entries in place of installed packages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from omnimeter.catalogue import Entry, Kind, entries, forget, listing, resolve
from omnimeter.catalogue.entries import find, read_id
from omnimeter.contract import InvalidInputError, UnknownNameError

Claiming = Callable[..., None]


@pytest.fixture
def claiming(monkeypatch: pytest.MonkeyPatch) -> Iterator[Claiming]:
    """Have packages list agents: ``claiming(("alpha", "one-v1"), ("beta", "two-v1", "a:B"))``."""

    def claim(*claims: tuple[str, ...]) -> None:
        made = tuple(
            Entry(Kind.AGENT, name, package, "1.0", (location or ["json:JSONDecoder"])[0])
            for package, name, *location in claims
        )
        monkeypatch.setattr(entries, "read_entry_points", lambda: made)
        forget()

    yield claim
    forget()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cups-v1", ("cups", 1)),
        ("long-name-2-v10", ("long-name-2", 10)),
        ("cups-v0", ("cups", 0)),
        ("cups", None),
        ("Cups-v1", None),
        ("cups_a-v1", None),
        ("cups-v01", None),
        ("cups--a-v1", None),
        ("cups-v1 ", None),
        ("-v1", None),
    ],
)
def test_ids(text: str, expected: tuple[str, int] | None) -> None:
    assert read_id(text) == expected


def test_groups_are_those_that_packages_write_down() -> None:
    assert [kind.group for kind in Kind] == [
        "omnimeter.environments",
        "omnimeter.agents",
        "omnimeter.protocols",
        "omnimeter.payoffs",
        "omnimeter.adjustments",
        "omnimeter.elements",
        "omnimeter.reproductions",
    ]


def test_unversioned_name_is_the_newest_version(claiming: Claiming) -> None:
    claiming(("alpha", "one-v2"), ("alpha", "one-v10"), ("alpha", "one-v9"), ("alpha", "o-v99"))
    assert find(Kind.AGENT, "one").id == "one-v10"
    assert find(Kind.AGENT, "one-v2").id == "one-v2"


def test_listing_is_in_order_of_versions(claiming: Claiming) -> None:
    claiming(("alpha", "one-v10"), ("alpha", "two-v1"), ("beta", "one-v9"))
    assert [entry.id for entry in listing()] == ["one-v9", "one-v10", "two-v1"]
    assert listing(Kind.PROTOCOL) == []


def test_misspelt_name_gets_the_nearest_of_its_kind(claiming: Claiming) -> None:
    claiming(("alpha", "lambda-v1"), ("alpha", "other-v1"))
    with pytest.raises(UnknownNameError, match=r"no agent 'lamda'\. Did you mean 'lambda'\?"):
        resolve(Kind.AGENT, "lamda")
    with pytest.raises(UnknownNameError, match="'lambda-v1'"):
        resolve(Kind.AGENT, "lambda-v2")
    with pytest.raises(UnknownNameError, match="No environment is known at all"):
        resolve(Kind.ENVIRONMENT, "lambda")


def test_malformed_name_is_the_fault_of_its_package(claiming: Claiming) -> None:
    claiming(("alpha", "Bad_Name"), ("beta", "good-v1"))
    with pytest.raises(InvalidInputError, match=r"'alpha' lists the agent 'Bad_Name'.*name-vN"):
        resolve(Kind.AGENT, "Bad_Name")
    problems = {entry.id: entry.problem for entry in listing()}
    assert "alpha" in problems["Bad_Name"]
    assert problems["good-v1"] == ""
    assert find(Kind.AGENT, "good").package == "beta"


def test_second_claim_to_an_id_is_an_error_that_names_both(claiming: Claiming) -> None:
    claiming(("alpha", "one-v1"), ("beta", "one-v1"), ("beta", "two-v1"))
    for name in ("one-v1", "one"):
        with pytest.raises(InvalidInputError, match=r"claimed more than once.*'alpha'.*'beta'"):
            resolve(Kind.AGENT, name)
    listed = {(entry.id, entry.package): bool(entry.problem) for entry in listing()}
    assert listed == {
        ("one-v1", "alpha"): True,
        ("one-v1", "beta"): True,
        ("two-v1", "beta"): False,
    }


def test_two_claims_of_one_package_clash_too(claiming: Claiming) -> None:
    claiming(("alpha", "one-v1", "json:loads"), ("alpha", "one-v1", "json:dumps"))
    with pytest.raises(InvalidInputError, match=r"json:dumps.*json:loads"):
        resolve(Kind.AGENT, "one")


def test_same_id_in_two_kinds_is_no_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tuple(Entry(kind, "one-v1", "alpha", "1", "json:loads") for kind in Kind)
    monkeypatch.setattr(entries, "read_entry_points", lambda: made)
    forget()
    assert not any(entry.problem for entry in listing())
    forget()


def test_malformed_location(claiming: Claiming) -> None:
    claiming(("alpha", "one-v1", "json"))
    with pytest.raises(InvalidInputError, match=r"'alpha'.*'json', which must be written"):
        resolve(Kind.AGENT, "one")


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("no_such_package.part:Name", "There is no module"),
        ("json:Decoder", r"Did you mean 'JSONDecoder'"),
        ("json:JSONDecodeError", "cannot be used as an agent"),
    ],
)
def test_listed_part_that_cannot_be_loaded(claiming: Claiming, location: str, reason: str) -> None:
    claiming(("alpha", "one-v1", location))
    with pytest.raises(InvalidInputError, match=f"'alpha'.*{reason}"):
        resolve(Kind.AGENT, "one")


def test_functions_can_be_listed(claiming: Claiming) -> None:
    claiming(("alpha", "one-v1", "json:loads"))
    assert resolve(Kind.AGENT, "one-v1") is json.loads


def test_entry_points_are_read_once_until_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(entries, "read_entry_points", lambda: calls.append(1) or ())
    forget()
    listing()
    listing(Kind.AGENT)
    assert len(calls) == 1
    forget()
    listing()
    assert len(calls) == 2
    forget()
