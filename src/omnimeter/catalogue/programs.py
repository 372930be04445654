"""Programs in any language that are agents: what a command names, and what it needs to run."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from glob import glob
from os.path import abspath, basename, dirname, isdir, isfile, join, realpath

from omnimeter.catalogue.loading import place_of
from omnimeter.contract import InvalidInputError, Spec

ID = "command-v1"
"""The agent that is a program: its parameter ``run`` is the command, ``files`` what it reads."""

INSTALLED = ("lib", "lib64", "libexec", "conf", "share", "pyvenv.cfg")
"""What an interpreter may need of the folder in whose ``bin`` it is."""

_EXAMPLE = "Write it as in a terminal: command(run='node agent.js')."
_MOST_LINKS = 20
_SHIMS = "shims"  # the folder of pyenv, asdf and others with scripts that look for a program


@dataclass(frozen=True)
class Program:
    """A program that is an agent, as it is on this machine.

    Attributes:
        command: The program, with its absolute path, and its arguments.
        files: The files that it is made of, by names that do not depend on folders.
        places: Files and folders that it needs besides, to be run at all.
    """

    command: tuple[str, ...]
    files: dict[str, str]
    places: tuple[str, ...]


def is_program(spec: Spec) -> bool:
    """Whether an agent is a program, which always has a process of its own."""
    return spec.id == ID or spec.id == ID.rpartition("-")[0]


def command_words(spec: Spec) -> list[str]:
    """The words of a command.

    Raises:
        InvalidInputError: It is none.
    """
    if extra := sorted(spec.parameters.keys() - {"run", "files"}):
        message = f"{spec.id} has no parameter {extra[0]!r}."
        raise InvalidInputError(message, "Known: run, files.")
    run = spec.parameters.get("run")
    if not isinstance(run, str):
        message = (
            "The agent 'command' needs the parameter 'run': the command that starts a program."
        )
        raise InvalidInputError(message, _EXAMPLE)
    try:
        words = shlex.split(run)
    except ValueError as error:
        raise InvalidInputError(f"The command {run!r} cannot be read: {error}.", _EXAMPLE) from None
    if not words or "\0" in run:
        raise InvalidInputError(f"The command {run!r} names no program.", _EXAMPLE)
    return words


def files_of_program(spec: Spec) -> dict[str, str]:
    """The files that a command names, and those that ``files`` declares, as far as they exist."""
    if not _is_given(spec):
        return {}
    known = {
        f"run[{place}]=": place_of(word)
        for place, word in enumerate(command_words(spec))
        if isfile(place_of(word)) and (place > 0 or os.sep in word)
    }
    return known | {name: path for each in _declared(spec) for name, path in _matching(each)}


def _is_given(spec: Spec) -> bool:
    return isinstance(spec.parameters.get("run"), str)


def _declared(spec: Spec) -> list[str]:
    given = spec.parameters.get("files") or ()
    names = [given] if isinstance(given, str) else given
    if isinstance(names, list | tuple) and all(isinstance(each, str) for each in names):
        return list(names)
    message = f"The parameter 'files' of a command cannot be {given!r}."
    raise InvalidInputError(message, 'Give names of files: files=["model.json","lib/*.js"].')


def _matching(name: str) -> Iterator[tuple[str, str]]:
    """The files of a name, a folder or a pattern, by names below where relative ones begin."""
    place = place_of(name)
    if isfile(place):
        yield f"files={name}", place
        return
    pattern = join(name, "**") if isdir(place) else name
    for file in sorted(glob(pattern, root_dir=place_of() or ".", recursive=True)):
        if isfile(place_of(file)):
            yield f"files={file}", place_of(file)


def check_program(spec: Spec) -> None:
    """Check that a command names a program that is there, and files that are there.

    Raises:
        InvalidInputError: Something is not, and what was looked for; or there is no command.
    """
    words = command_words(spec)
    _executable(words[0])
    # What is given to an interpreter first is its script.
    script = next((word for word in words[1:] if not word.startswith("-")), "")
    named = os.sep in script or re.search(r"\w\.[A-Za-z]\w{0,4}$", script)
    if named and "://" not in script and not os.path.exists(place_of(script)):
        known = glob(join(dirname(place_of(script)) or ".", "*"))
        names = [basename(each) for each in known]
        close = difflib.get_close_matches(basename(script), names, n=1, cutoff=0.5)
        nearest = [join(dirname(script), each) for each in close]
        advice = f"Did you mean {nearest[0]!r}?" if nearest else "Check the path."
        where = abspath(place_of(script))
        message = f"The command {spec.parameters['run']!r} names {where}, which does not exist."
        raise InvalidInputError(message, advice)
    for each in _declared(spec):
        if not any(True for _ in _matching(each)):
            message = f"The command declares the file {each!r}, and there is none."
            raise InvalidInputError(message, f"Looked for: {abspath(place_of(each))}.")


def program_of(spec: Spec) -> Program:
    """The program of an agent, as it is run on this machine.

    Raises:
        InvalidInputError: There is no such program, or it cannot be executed.
    """
    words = command_words(spec)
    executable = _executable(words[0])
    places = dict.fromkeys(_needed(executable, _MOST_LINKS))
    return Program((executable, *words[1:]), files_of_program(spec), tuple(places))


def _executable(name: str) -> str:
    """The absolute path of a program: a path if it has a slash, else as the terminal finds it."""
    if os.sep in name:
        path = abspath(place_of(name))
        if not isfile(path):
            there = "is a folder" if isdir(path) else "does not exist"
            message = f"The program {name!r} cannot be run: {path} {there}."
            raise InvalidInputError(message, "Check the path, or compile it first.")
        if not os.access(path, os.X_OK):
            advice = f"Make it executable (chmod +x {shlex.quote(name)}), or name what runs it, as "
            advice += f"in command(run='python3 {name}')."
            raise InvalidInputError(f"The file {path} is not executable.", advice)
        return path
    which = shutil.which(name)
    if which is not None and basename(dirname(which)) == _SHIMS:
        others = os.environ.get("PATH", os.defpath).split(os.pathsep)
        path_without = os.pathsep.join(each for each in others if basename(each) != _SHIMS)
        shim, which = which, shutil.which(name, path=path_without)
        if which is None:
            message = f"{shim} only looks for the program {name!r}, by files that no agent can see."
            raise InvalidInputError(message, "Name the program itself, by its path.")
    if which is None:
        close = difflib.get_close_matches(name, _in_path(), n=1, cutoff=0.75)
        advice = "Install it, or write its path."
        if isfile(place_of(name)):
            advice = f"A file of this folder is written with its path: './{name}'."
        elif close:
            advice = f"Did you mean {close[0]!r}?"
        message = f"There is no program {name!r} in the folders of PATH."
        raise InvalidInputError(message, advice)
    return abspath(which)


def _in_path() -> list[str]:
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [entry for each in folders if isdir(each) for entry in os.listdir(each)]


def _needed(path: str, steps: int) -> Iterator[str]:
    """An executable file, where its links lead, what is installed with it, and its interpreter."""
    link = path
    while steps and os.path.islink(link):
        yield link
        link, steps = abspath(join(dirname(link), os.readlink(link))), steps - 1
        if basename(dirname(link)) == "bin":
            yield from _installed(dirname(dirname(link)))
    yield from (path, realpath(path))
    for each in {path, realpath(path)}:
        if basename(dirname(each)) == "bin":
            yield from _installed(dirname(dirname(each)))
    try:
        with open(path, "rb") as file:
            first = file.readline(256)
    except OSError:
        return
    words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and steps:
        yield from _needed(words[0], steps - 1)
        names = [each for each in words[1:] if not each.startswith("-") and "=" not in each]
        if basename(words[0]) == "env" and names and (program := shutil.which(names[0])):
            yield from _needed(program, steps - 1)


def _installed(folder: str) -> Iterator[str]:
    """What is installed in a folder with a ``bin``; not what a user keeps in their own."""
    own = folder in (os.path.expanduser("~"), os.path.expanduser("~/.local"))
    for name in INSTALLED:
        place = join(folder, name)
        if folder != "/" and os.path.exists(place) and not (own and name in ("share", "conf")):
            yield place
