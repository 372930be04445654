"""Specs from lines, options and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omnimeter.catalogue import (
    Entry,
    Kind,
    entries,
    forget,
    make,
    parse,
    read_spec,
    with_parameters,
    write_spec,
)
from omnimeter.contract import InvalidInputError, Spec, UnknownNameError


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with one agent, and a catalogue with another in two versions."""
    listed = [Entry(Kind.AGENT, f"random-v{n}", "alpha", "1", "json:loads") for n in (1, 2)]
    monkeypatch.setattr(entries, "read_entry_points", lambda: listed)
    monkeypatch.chdir(tmp_path)
    Path("my_agent.py").write_text("def act(observation, depth: int = 1): return depth\n")
    forget()
    yield tmp_path
    forget()


def error_message(text: str) -> str:
    with pytest.raises((InvalidInputError, UnknownNameError)) as caught:
        parse(Kind.AGENT, text)
    return str(caught.value)


def test_ids_become_full() -> None:
    assert parse(Kind.AGENT, "random") == Spec("random-v2")
    assert parse(Kind.AGENT, " random-v1 ") == Spec("random-v1")
    assert parse(Kind.AGENT, "random(rate=10)") == Spec("random-v2", {"rate": 10})
    assert "Did you mean 'random'" in error_message("randum")
    assert "names no agent" in error_message("")
    assert "names no agent" in error_message("(rate=3)")


def test_file_has_a_digest_that_follows_its_content() -> None:
    first = parse(Kind.AGENT, "my_agent.py:act(depth=3)")
    assert (first.id, first.parameters) == ("my_agent.py:act", {"depth": 3})
    assert len(first.digest) == 16
    with Path("my_agent.py").open("a") as file:
        file.write("# edited\n")
    assert parse(Kind.AGENT, "my_agent.py:act(depth=3)").digest != first.digest
    assert "There is no file 'my_agnt.py'. Did you mean 'my_agent.py'?" in error_message(
        "my_agnt.py:act"
    )


def test_parsing_runs_nothing() -> None:
    Path("my_agent.py").write_text("raise RuntimeError\n")
    assert parse(Kind.AGENT, "my_agent.py:act").digest
    assert parse(Kind.AGENT, "no_such.module:act") == Spec("no_such.module:act")


def test_part_whose_file_has_changed_is_not_made() -> None:
    spec = parse(Kind.AGENT, "my_agent.py:act")
    assert make(Kind.AGENT, spec)(0) == 1
    Path("my_agent.py").write_text("def act(observation): return 7\n")
    with pytest.raises(InvalidInputError, match=r"my_agent.py has changed since"):
        make(Kind.AGENT, spec)
    write_spec(spec, "old.json")
    assert "my_agent.py has changed since" in error_message("old.json")


def test_options_are_merged() -> None:
    spec = with_parameters(Spec("random-v1", {"rate": 1, "label": "x"}), ["rate=[2]", "size=big"])
    assert spec == Spec("random-v1", {"rate": [2], "label": "x", "size": "big"})
    assert with_parameters(spec, []) == spec
    with pytest.raises(InvalidInputError, match=r"'rate'.*'key=value' is expected"):
        with_parameters(spec, ["rate"])


def test_files_are_written_and_read_again() -> None:
    spec = parse(Kind.AGENT, 'my_agent.py:act(depth=3,label="ü")')
    write_spec(spec, "agent.json")
    assert read_spec("agent.json") == spec
    assert parse(Kind.AGENT, "agent.json") == spec


def test_spec_in_a_file_is_normalised() -> None:
    Path("agent.json").write_text('{"id": "random", "parameters": {"rate": 3}}')
    assert parse(Kind.AGENT, "agent.json") == Spec("random-v2", {"rate": 3})
    Path("agent.json").write_text('{"id": "my_agent.py:act"}')
    assert parse(Kind.AGENT, "agent.json").digest


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{\n  "id": random\n}', "agent.json, line 2, column 9: this is not JSON: Expecting value"),
        ("", "line 1, column 1"),
        ('["random"]', "agent.json: input should be an object"),
        ('{"parameters": {}}', "agent.json: id: field required"),
        ('{"id": 3}', "agent.json: id: input should be a valid string"),
        ('{"id": "random", "parameters": [1]}', "parameters: input should be an object"),
        ('{"id": "random", "parameter": {}}', "unknown field. Did you mean 'parameters'?"),
        ('{"id": "random", "parameters": {"rate": NaN}}', "is not JSON"),
        ('{"id": "randum"}', "Did you mean 'random'?"),
    ],
)
def test_mistakes_in_files(content: str, reason: str) -> None:
    Path("agent.json").write_text(content)
    assert reason in error_message("agent.json")


def test_files_that_cannot_be_read() -> None:
    assert "absent.json cannot be read: No such file" in error_message("absent.json")
    Path("latin.json").write_bytes(b'{"id": "\xff"}')
    assert "latin.json is not JSON" in error_message("latin.json")
    Path("folder.json").mkdir()
    assert "folder.json cannot be read: Is a directory" in error_message("folder.json")
