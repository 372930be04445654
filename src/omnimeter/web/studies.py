"""Studies with people: what is asked of participants, who takes part, and what happened."""

from __future__ import annotations

import json
import os
import secrets
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from shutil import rmtree
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from omnimeter.api.evaluation import plan
from omnimeter.api.universal import test as universal_test
from omnimeter.catalogue import Kind, make
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec, stream
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.spec import JsonData, fingerprint
from omnimeter.contract.text import clean_line
from omnimeter.protocols import Evaluation
from omnimeter.protocols.battery import Item, find_battery
from omnimeter.protocols.sample import draw
from omnimeter.results import files
from omnimeter.results.journal import Log, read_log

MOST_PARTICIPANTS = 100_000
"""Participants of one study."""

MOST_QUESTIONS, LONGEST_ANSWER = 30, 4_000
"""Questions of a study, and characters of a free answer: all of them fit into one message."""

FIRST_SLOT = 10.0
"""Seconds of the first exercise of an anytime test: what a person needs to see anything. Only the
time in which they are asked counts: not how long they read or rest between two exercises."""

Text = Annotated[str, Field(max_length=20_000)]


@dataclass(frozen=True)
class Question(JsonData):
    """A question of a questionnaire.

    Attributes:
        name: Its name in tables.
        text: What is asked.
        kind: ``scale``: one of so many steps; ``choice``: one of the options; ``text``: free.
        options: The options of a choice, or the words at both ends of a scale.
        steps: The steps of a scale.
        required: Whether it must be answered.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
    text: Text
    kind: Literal["scale", "choice", "text"] = "text"
    options: tuple[Text, ...] = ()
    steps: Annotated[int, Field(ge=2, le=11)] = 5
    required: bool = False

    def check(self, answer: object) -> str | int | None:
        """The answer, if it is one.

        Raises:
            ValueError: It is none.
        """
        if answer is None or answer == "":
            if self.required:
                raise ValueError(f"{self.name} is not answered")
            return None
        if self.kind == "scale" and type(answer) is int and 1 <= answer <= self.steps:
            return answer
        if self.kind == "choice" and isinstance(answer, str) and answer in self.options:
            return answer
        if self.kind == "text" and isinstance(answer, str) and len(answer) <= LONGEST_ANSWER:
            answer.encode()  # an error where it is no text that can be written
            return answer
        raise ValueError(f"{self.name} has no such answer")


STANDARD = (
    Question("motivation", "", "scale"),
    Question("usability", "", "scale"),
    Question("difficulty", "", "scale"),
    Question("strategy", ""),
    Question("remarks", ""),
)
"""What is asked at the end (Lambda thesis, 6.4); the texts are those of the pages' language."""


@dataclass(frozen=True)
class Design(JsonData):
    """What a study asks of its participants; the file of a study says it.

    Attributes:
        title: What people call it.
        battery: The sequence of exercises: a name, or what the file of a battery holds.
        test: Instead: an anytime test, with the names of ``omnimeter.test`` and ``class``.
        environments: Whether each participant gets environments of their own, or all the same.
        order: Whether exercises come in the order of the battery, in a random one for each
            participant, or in the orders of a balanced Latin square in turn.
        rewards: How they are shown: three signs, steps, or the number.
        colours: Whether cells have colours.
        breaks: After which exercises the participant is told to rest.
        language: The language of the pages.
        after_interruption: Whether a participant who was away longer than ``minutes_away`` goes on
            at the exact step, begins the exercise anew, or cannot go on.
        minutes_away: How long that is.
        instructions: Instead of the standard ones.
        consent: What participants agree to; without it they are not asked.
        questionnaire: What is asked at the end; by default motivation, usability and strategy.
    """

    title: Annotated[str, Field(pattern=r"\S", max_length=200)]
    battery: str | dict[str, Any] | None = None
    test: dict[str, Any] | None = None
    environments: Literal["own", "same"] = "own"
    order: Literal["fixed", "random", "balanced"] = "fixed"
    rewards: Literal["signs", "steps", "number"] = "signs"
    colours: bool = True
    breaks: tuple[Annotated[int, Field(ge=1)], ...] = ()
    language: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Za-z]{2,8})?$")] = "en"
    after_interruption: Literal["resume", "restart", "block"] = "resume"
    minutes_away: Annotated[float, Field(ge=0, le=1e6)] = 30.0
    instructions: Text = ""
    consent: Text = ""
    questionnaire: Annotated[tuple[Question, ...], Field(max_length=MOST_QUESTIONS)] | None = None

    def __post_init__(self) -> None:
        if (self.battery is None) == (self.test is None):
            message = "A study has either a battery or a test."
            advice = 'Write battery = "thesis-table-6-1", or a table [test] with class = "lambda".'
            raise InvalidInputError(message, advice)
        names = [each.name for each in self.questionnaire or ()]
        if len(set(names)) < len(names):
            raise InvalidInputError("Two questions have the same name.", "Give each its own.")
        if self.test is not None and self.order != "fixed":
            message = "An anytime test chooses its exercises itself: order has no effect."
            raise InvalidInputError(message, "Leave it out, or give a battery.")
        if self.is_timed and self.after_interruption == "restart":
            message = "In a test with time an exercise ends without its participant."
            raise InvalidInputError(message, 'Let after_interruption be "resume" or "block".')

    @property
    def is_timed(self) -> bool:
        """Whether it depends on time how well a participant does."""
        return self.test is not None and "time" in self.test

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is asked at the end."""
        return STANDARD if self.questionnaire is None else self.questionnaire

    def evaluation(self, person: Spec, seed: int, number: int) -> Evaluation:
        """What a participant takes: the same for any agent in their place.

        Args:
            person: The agent.
            seed: The secret seed of the study.
            number: The number of the participant, from 0 on.

        Raises:
            OmnimeterError: The test cannot be made.
        """
        own = stream(seed, "participant", number).seed % 2**62
        root = seed if self.environments == "same" else own
        if self.test is not None:
            given = {"repetitions": 1, **self.test, "seed": root, "traces": True}
            if "time" in given and given.get("definition", 18) == 18:
                given = {"slot": FIRST_SLOT, "clock": "own", **given}
            try:
                return universal_test(person, given.pop("class", "lambda"), **given).evaluation
            except TypeError as error:
                raise InvalidInputError(f"The table [test] is wrong: {error}.") from error
        taken = find_battery(self.battery or "")
        places = self._places(len(taken.exercises), own, number)
        if self.order != "fixed":
            # Environments are drawn by the place in the battery, whatever the order.
            drawn = [
                _with_instance(item, root, place) for place, item in enumerate(taken.exercises)
            ]
            taken = replace(taken, exercises=tuple(drawn[place] for place in places))
            battery: str | dict[str, Any] = taken.to_json()
        else:
            battery = self.battery or ""
        settings = {"seed": root, "memory": "carried"}
        return plan(person, None, battery, settings, traces=True)[0]

    def _places(self, count: int, seed: int, number: int) -> list[int]:
        """Which exercise of the battery comes first, second and so on."""
        if self.order == "random":
            return [int(each) for each in stream(seed, "order").generator().permutation(count)]
        if self.order == "balanced":
            return latin_row(count, number)
        return list(range(count))

    def places(self, seed: int, number: int) -> list[int]:
        """The order of a participant's exercises; empty where the test chooses them."""
        if self.battery is None:
            return []
        own = stream(seed, "participant", number).seed % 2**62
        return self._places(len(find_battery(self.battery).exercises), own, number)


def _with_instance(item: Item, seed: int, place: int) -> Item:
    """An exercise of a battery with the environment that is drawn at its place."""
    if item.instance is not None:
        return item
    spec = item.environment_class
    instance = draw(make(Kind.ENVIRONMENT, spec), spec, seed, place, item.complexity)
    return replace(item, instance=instance, complexity=None)


def latin_row(count: int, number: int) -> list[int]:
    """A row of the balanced Latin square: each follows each other equally often (Williams 1949).

    An odd number of things needs twice as many rows: the second half is in reverse.
    """
    row = number % (count if count % 2 == 0 else 2 * count)
    zigzag = [(place + 1) // 2 if place % 2 else count - place // 2 for place in range(count)]
    ordered = [(each + row) % count for each in zigzag]
    return ordered[::-1] if row >= count else ordered


def read_design(path: str | Path) -> Design:
    """The design in the file of a study.

    Raises:
        InvalidInputError: It cannot be read, or is wrong; the message says which key.
    """
    path = Path(path)
    advice = "`omnimeter study new` writes an example."
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}.", advice) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInputError(f"{path} is not TOML: {error}.", advice) from error
    design = Design.from_json(json.dumps(data, default=str), str(path), advice)
    design.evaluation(Spec("random-v1"), 0, 0)  # finds out whether it can be made
    return design


@dataclass(frozen=True)
class Participant(JsonData):
    """A person who was invited.

    Attributes:
        name: How tables call them.
        token: The secret part of their link.
        number: Their place in the order of invitations, from 0 on.
        expires: The second of the epoch after which the link cannot be used; 0 for never, -1 if it
            was revoked.
    """

    name: str
    token: str
    number: int
    expires: float = 0.0

    @property
    def is_expired(self) -> bool:
        """Whether the link cannot be used any more."""
        return self.expires != 0 and self.expires <= time.time()

    @property
    def is_revoked(self) -> bool:
        """Whether the experimenter has taken the link back."""
        return self.expires < 0


class Study:
    """A study in a directory.

    Args:
        path: Its directory.

    Raises:
        StoreError: There is none, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._changed, self._read_before = -1, dict[str, Participant]()
        self._damaged: dict[Path, StoreError] = {}
        content = self._read()
        self.design = Design.from_json(json.dumps(content["design"]), str(self._file))
        self.seed = int(content["seed"])

    @classmethod
    def create(cls, path: Path, design: Design) -> Study:
        """A new study, with a secret seed; or the one that is there, if it is the same.

        Raises:
            StoreError: The directory holds something else, or cannot be written.
        """
        file = path / "study.json"
        if file.exists():
            study = cls(path)
            if study.design != design:
                message = f"{path} is a study with another design."
                raise StoreError(message, "Choose another directory.")
            return study
        if path.exists() and any(path.iterdir()):
            message = f"{path} is not empty and holds no study."
            raise StoreError(message, "Choose another directory.")
        files.make_directory(path, mode=0o700)
        plain = json.loads(json.dumps(design.to_json()))
        seed = secrets.randbits(62)
        content = {"format": 1, "design": plain, "seed": seed, "fingerprint": fingerprint(plain)}
        files.write(file, (json.dumps(content, indent=1) + "\n").encode())
        return cls(path)

    @property
    def _file(self) -> Path:
        return self.path / "study.json"

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self._file.read_bytes())
            if content["format"] > 1:
                raise files.newer_format_error(self._file, content["format"])
            intact = fingerprint(content["design"]) == content["fingerprint"]
        except FileNotFoundError as error:
            message = f"{self.path} is not a study: it has no file study.json."
            raise StoreError(message, "A study is made by 'omnimeter study new'.") from error
        except OSError as error:
            raise files.read_error(error, self._file) from error
        except (ValueError, KeyError, TypeError):
            intact = False
        if not intact:
            raise StoreError(f"{self._file} is not as it was written.", "Restore the file.")
        return dict(content)

    def folder(self, participant: Participant) -> Path:
        """Where everything of a participant is."""
        return self.path / "participants" / participant.name

    def evaluation(self, participant: Participant) -> Evaluation:
        """What a participant takes."""
        person = Spec("person-v1", {"participant": participant.name})
        return self.design.evaluation(person, self.seed, participant.number)

    @property
    def _known(self) -> dict[str, Participant]:
        """The participants by their tokens; those whom another process has invited too."""
        folder = self.path / "participants"
        changed = folder.stat().st_mtime_ns if folder.exists() else 0
        if changed != self._changed:
            known, damaged = {}, dict[Path, StoreError]()
            for file in sorted(folder.glob("p*/participant.json")):
                try:
                    one = Participant.from_json(file.read_text(encoding="utf-8"), str(file))
                    known[one.token] = one
                except FileNotFoundError:  # who has just withdrawn
                    pass
                except (OmnimeterError, OSError, ValueError) as error:  # the others take part
                    message = f"{file} cannot be read: {error}"
                    damaged[file.parent] = StoreError(message, "Restore the file.")
            self._changed, self._read_before, self._damaged = changed, known, damaged
        return self._read_before

    @property
    def participants(self) -> list[Participant]:
        """Those who were invited and have not withdrawn, in the order of their invitations."""
        return sorted(self._known.values(), key=lambda each: each.number)

    @property
    def damaged(self) -> dict[Path, StoreError]:
        """The folders of participants who cannot be read, and why."""
        _ = self._known  # which is read again where something has changed
        return dict(self._damaged)

    def find(self, token: str) -> Participant | None:
        """Whose link it is."""
        return self._known.get(token)

    def invite(self, count: int = 1, days: float = 0.0) -> list[Participant]:
        """Make links for further participants.

        Args:
            count: How many.
            days: After how many days they cannot be used any more; 0 for never.

        Raises:
            InvalidInputError: There would be too many.
            StoreError: They cannot be stored.
        """
        if not 1 <= count <= MOST_PARTICIPANTS - len(self._known):
            advice = f"Give a number of up to {MOST_PARTICIPANTS - len(self._known)}."
            raise InvalidInputError(f"{count} participants cannot be invited.", advice)
        number = self._next_number()
        expires = time.time() + 86_400 * days if days else 0.0
        new = list[Participant]()
        while len(new) < count:
            one = Participant(_name(number), secrets.token_urlsafe(18), number, expires)
            number += 1
            folder = self.folder(one)
            unfinished = folder.with_name(f".{folder.name}-{one.token}")
            files.make_directory(unfinished, mode=0o700)
            self._write(one, unfinished)
            try:
                with files.write_errors(folder):
                    unfinished.rename(folder)
            except StoreError:
                rmtree(unfinished)
                if not folder.exists():
                    raise
                continue  # another process has just given the number
            new.append(one)
        return new

    def _write(self, one: Participant, folder: Path) -> None:
        files.write(folder / "participant.json", (json.dumps(one.to_json()) + "\n").encode())

    def _next_number(self) -> int:
        """A number that no participant had, those who have withdrawn included."""
        names = [each.name[1:] for each in (self.path / "participants").glob("p*")]
        given = [int(name) for name in names if name.isdecimal()]
        gone = [int(line["withdrawn"]) + 1 for line in read_log(self.path / "withdrawn.log")]
        return max([*given, *gone], default=0)

    def withdraw(self, participant: Participant) -> None:
        """Delete everything of a participant; that a person withdrew is kept, not who.

        Raises:
            StoreError: It cannot be deleted.
        """
        with suppress(DamagedError):  # which can be deleted; another process may not be using it
            self.open_events(participant).close()
        link = _digest(participant.token)
        with Log(self.path / "withdrawn.log", {"of": "withdrawals"}) as log:
            log.add({"withdrawn": participant.number, "time": time.time(), "link": link})
        self._delete(participant.name)

    def _delete(self, name: str) -> None:
        folder = self.path / "participants" / name
        gone = folder.with_name(f".{name}-withdrawn")
        with files.write_errors(folder):
            if folder.exists():
                folder.rename(gone)
            if gone.exists():
                rmtree(gone)

    def finish_withdrawals(self) -> None:
        """Delete what is left of those who withdrew, where that was interrupted.

        Raises:
            StoreError: It cannot be deleted.
        """
        for line in read_log(self.path / "withdrawn.log"):
            self._delete(_name(int(line["withdrawn"])))

    def has_withdrawn(self, token: str) -> bool:
        """Whether a link was that of a participant who withdrew.

        Raises:
            StoreError: The log is damaged.
        """
        lines, link = read_log(self.path / "withdrawn.log"), _digest(token)
        return any(line.get("link") == link for line in lines)

    def revoke(self, participant: Participant) -> Participant:
        """Let the link of a participant be used no more; what they did is kept.

        Raises:
            StoreError: That cannot be stored.
        """
        over = replace(participant, expires=-1.0)
        self._write(over, self.folder(participant))
        with files.write_errors(self.path):
            os.utime(self.path / "participants")  # by which all processes see that it changed
        return over

    @property
    def withdrawn(self) -> int:
        """How many have withdrawn.

        Raises:
            StoreError: The log is damaged.
        """
        return len(read_log(self.path / "withdrawn.log"))

    def events(self, participant: Participant) -> list[dict[str, Any]]:
        """What happened with a participant, also while their session goes on.

        Raises:
            StoreError: The log is damaged.
        """
        return read_log(self.folder(participant) / "events.log")

    def open_events(self, participant: Participant) -> Log:
        """The log of a participant, for its only writer."""
        folder = self.folder(participant)
        return Log(folder / "events.log", {"participant": participant.name})

    def __iter__(self) -> Iterator[tuple[Participant, Path]]:
        """Each participant, and where their evaluation is stored if it has begun."""
        for each in self.participants:
            yield each, self.folder(each) / "evaluation"


def _name(number: int) -> str:
    """How tables call the participant of a number."""
    return f"p{number + 1:04d}"


def _digest(token: str) -> str:
    """What is kept of a link, which cannot be had from it."""
    return blake2b(token.encode(), digest_size=16).hexdigest()


def studies_in(
    root: Path, known: Mapping[str, Study] = MappingProxyType({})
) -> tuple[dict[str, Study], dict[str, str]]:
    """The studies in a directory, or the one that it is, and what is wrong with others, by name.

    Args:
        root: The directory.
        known: Those that have been read before; they are not read again.

    Raises:
        StoreError: The directory is that of one study, which is damaged.
    """
    studies, damaged = dict(known), dict[str, str]()
    for file in [root / "study.json", *sorted(root.glob("*/study.json"))]:
        name = clean_line(file.parent.resolve().name)
        if name in studies or not file.exists():
            continue
        try:
            study = Study(file.parent)
            for other, each in studies.items():
                if each.seed == study.seed:  # whose links lead to one of them only
                    message = f"{file.parent} is a copy of {other}."
                    raise StoreError(message, "Keep one of them in this folder.")
        except OmnimeterError as error:
            if file.parent == root:
                raise
            damaged[name] = str(error)
        else:
            studies[name] = study
    return studies, damaged
