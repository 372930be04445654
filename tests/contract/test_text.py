"""Texts of agents can be printed, stored and shown anywhere, whatever they are made of."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.markup import escape

from omnimeter.contract import Fault, FaultKind, InvalidInputError, Spec
from omnimeter.contract.spec import fingerprint
from omnimeter.contract.text import (
    LONGEST_DETAIL,
    LONGEST_MESSAGE,
    clean,
    clean_detail,
    clean_line,
    clean_message,
    without_folders,
)

ODD = st.text(
    st.one_of(
        st.sampled_from(
            "\x1b[]0;m\x07\\\x9b\x9c\x9d\r\n\t\x00\u202e\u200b\udcff\ud800/'\"`: (C\x85"
        ),
        st.characters(categories=None),
    ),
    max_size=60,
)
"""Mostly what is dangerous: escape sequences, halves of pairs, overrides, paths."""


@given(ODD)
@example("\x1b]0;title\x07\x1b[31mred\x1b[0m")
@example("\x1b\x1b[[31m")
@example("'/a/b'/c/d")
def test_a_clean_text_has_nothing_but_what_can_be_seen(text: str) -> None:
    for cleaned in (clean(text), clean_message(text), clean_detail(text)):
        kinds = {unicodedata.category(sign) for sign in cleaned if sign not in "\n\t"}
        assert not kinds & {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}
    assert not set("\n\t") & set(clean_line(text))


@given(ODD)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    for function in (clean, clean_line, clean_message, clean_detail, without_folders):
        once = function(text)
        assert function(once) == once


@given(ODD, st.sampled_from(["ascii", "utf-8", "latin-1"]))
def test_a_fault_can_be_printed_on_any_terminal_and_stored(text: str, encoding: str) -> None:
    fault = Fault(FaultKind.AGENT_ERROR, text, text)
    assert Fault.from_json(json.loads(json.dumps(fault.to_json()))) == fault
    fault.message.encode()  # as a page or a column of a table
    sink = io.TextIOWrapper(io.BytesIO(), encoding, errors="backslashreplace")
    out = Console(file=sink, force_terminal=False, width=200)
    out.print(f"[red]fault[/red] {escape(fault.message)}", soft_wrap=True, emoji=False)
    assert len(fingerprint(fault.to_json())) == 16


@given(st.text(st.characters(categories=None), max_size=20))
def test_labels_and_errors_are_clean(text: str) -> None:
    label = Spec(text, {"name": text}).label
    assert clean_line(label) == label
    error = InvalidInputError(f"There is no {text}.", text)
    assert (error.message, error.advice) == (clean(error.message), clean(error.advice))


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m and \x9b2Jclear", "red and clear"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x07b", "alinkb"),
        ("50 %\r100 %\r\ndone", "50 %\n100 %\ndone"),
        ("user\u202etxt.exe\u2066", "usertxt.exe"),
        ("half \ud800 and \x00", "half � and �"),
        ("[red]not red[/red]", "[red]not red[/red]"),
        ("Größe 3 µs, 名前", "Größe 3 µs, 名前"),
    ],
)
def test_what_is_left_of_control_sequences(given_text: str, shown: str) -> None:
    assert clean(given_text) == shown


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ('  File "/home/my user/my agents/a.py", line 3', '  File "a.py", line 3'),
        ("No such file or directory: '/srv/x y/w.npz'", "No such file or directory: 'w.npz'"),
        ("see /usr/lib/python3/x.py:7 and /tmp", "see x.py:7 and /tmp"),
        (r"C:\Users\me\a.py and D:/b/c.py", "a.py and c.py"),
        (
            "https://example.org/a/b, 1/2, and/or, ./a/b",
            "https://example.org/a/b, 1/2, and/or, ./a/b",
        ),
    ],
)
def test_files_are_named_without_their_folders(given_text: str, shown: str) -> None:
    assert clean_message(given_text) == shown


def test_texts_are_bounded() -> None:
    fault = Fault(FaultKind.AGENT_ERROR, "first " + "m" * 10**6, "d" * 10**6 + " last")
    assert len(fault.message) == LONGEST_MESSAGE
    assert fault.message.startswith("first")
    assert len(fault.detail) == LONGEST_DETAIL
    assert fault.detail.endswith(" last")
