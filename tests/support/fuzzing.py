"""Malformed commands and files: ``python fuzzing.py SEED COUNT`` types many and counts exit codes.

Commands and options are those of the Typer application. Every command runs in this process, in a
scratch directory, with the error handling of ``main`` and a limit of time; memory is limited for
the whole process. A failure is a traceback, a "bug of Omnimeter", an exit code that is not
documented, or a command that does not end.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 30.0
"""Seconds of processor time after which a command counts as one that never ends."""

MEMORY = 6 << 30
"""Bytes of address space that all commands have."""

SMALL = ["--exercises", "2", "--interactions", "20"]
BASES: dict[str, list[list[str]]] = {
    "list": [["agent"], []],
    "show": [["cups"], ["mine.py:Mine"], ["random", "--kind", "agent"]],
    "run": [
        ["--agent", "random", "--class", "cups", *SMALL],
        ["--agent", "random", "--agent", "constant(action=1)", "--class", "buttons", *SMALL],
        ["--agent", "random", "--class", "mdp(file=mdp.toml)", *SMALL],
        ["--agent", "mine.py:Mine", "--isolation", "none", "--class", "cups", *SMALL],
        ["--agent", "random", "--battery", "battery.json"],
        ["--spec", "spec.json", "--out", "spec"],
        ["--agent", "random", "--class", "gc", "--prior", "gc", *SMALL],
        ["--agent", "random", "--class", "gc", "--then", "gdl", "--at", "10", "-n", "2"],
    ],
    "campaign run": [["study.toml"], ["study.toml", "--dry-run"], ["study"]],
    "campaign status": [["study"]],
    "campaign results": [["study"]],
    "campaign export": [["study", "--out", "outcomes.csv"]],
    "prepare": [["--agent", "random", "--prior", "gc", "--horizon", "5"]],
    "test": [
        ["--agent", "random", "--class", "cups", "--interactions", "60", "--repetitions", "2"],
        ["--agent", "random", "--class", "cups", "--interactions", "10", "--definition", "10"],
    ],
    "compare": [["evaluation", "other"], ["evaluation", "other", "--online-bound", "1"]],
    "audit": [["cups", "--instances", "2", "--interactions", "20"]],
    "measure": [
        ["cups", "--exercises", "2", "--steps", "3"],
        ["--file", "overlay.csv"],
        ["--file", "overlay.parquet", "--knowledge", "knowledge.csv"],
        ["--file", "named.csv", "--edges", "edges.csv"],
    ],
    "reproduce": [["students", "--only", "nothing"], ["no-such"]],
    "study invite": [["people"], ["people.toml", "--out", "people"]],
    "study status": [["people"], ["people", "--json"]],
    "study export": [["people", "--out", "people.csv"]],
    "report": [["evaluation"], ["evaluation", "--json"], ["evaluation", "--payoff", "total"]],
}
"""Commands that are small and correct, to be mutated; one that is not listed begins with none."""

HUGE = ["1" + "0" * 20, "9" * 30, str(2**64), str(2**63), "1" + "0" * 5000, "1e300", "1e20"]
NUMBERS = ["0", "-1", "-" + "9" * 25, "nan", "inf", "-inf", "1e400", "-0.0", "1e-320", "0x10",
           "1_0", "٣", "3.5", "", " ", "true", "null", "1,5", "--", "1e", "½", *HUGE]  # fmt: skip
DEEP = ["[" * 100_000, "[" * 3000 + "]" * 3000, '{"a":' * 3000 + "1" + "}" * 3000, "(" * 5000]
TEXTS = ["", " ", "\0", "a\0b", "\udcff", "x\ud800", "x" * 300, "x/" * 3000, "../../..", "/", ".",
         "~", "*", "-", "=", "a=", "=1", ":", "a:", ":b", "a.py:", ".py:X", "(", ")", "a(", "a)",
         "cups(", "cups()", "cups(a=1)", "cups(a=1,a=2)", "cups(cups=1)", "random(rate=nan)",
         "random(rate=[[[1]]])", 'random(rate={"a":1,"a":2})', "random(rate='", "é(ü=ß).py:Ä",
         "random-v99999999999999999999", "[bold]x[/bold]", "[/x]", "\x1b[31mred", "%s%d{0}{}",
         "mine.py:Mine(a(1)", "no (v2).py:Mine(x=1)", "os:system", "sys:exit", "mine.py:Mine.x.y",
         "/dev/null:X", "/dev/zero:X", ".:X", "folder:X", "folder", "folder/x.py:X", "binary.py:X",
         "spec.json", "battery.json", "binary.json", "\u202e", "\n", "a\nb", "None", "True",
         "python:random", "slowed(agent=slowed(agent=random,seconds=1),seconds=1)",
         "slowed(agent=" * 400 + "random" + ",seconds=1)" * 400, *DEEP]  # fmt: skip


TIMERS = ((signal.SIGPROF, signal.ITIMER_PROF, 1), (signal.SIGALRM, signal.ITIMER_REAL, 10))
"""Processor time is limited, and real time, of which other processes take their share, tenfold."""


class EndlessError(BaseException):
    """A command that takes too long; no exception handler of ours may keep it."""


def _write_samples() -> None:
    """All files that correct commands read, in the current directory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    Path("mine.py").write_text(
        "from omnimeter import Agent\nclass Mine(Agent):\n"
        "    def __init__(self, depth: int = 1): ...\n    def act(self, r, o): return 0\n"
    )
    Path("a (1), b.py").write_text(Path("mine.py").read_text())
    Path("folder").mkdir()
    Path("binary.py").write_bytes(bytes(range(256)))
    Path("binary.json").write_bytes(bytes(range(256)))
    theta, rewards = [[[1, 1], [1, 1]], [[1, 1], [1, 1]]], [[[0, 1], [0, 1]], [[0, 1], [0, 1]]]
    Path("mdp.toml").write_text(f"theta = {theta}\nrewards = {rewards}\n")
    Path("mdp.json").write_text(json.dumps({"theta": theta, "rewards": rewards}))
    np.savez("mdp.npz", theta=np.array(theta, float), rewards=np.array(rewards, float))
    Path("mdp.zz").write_bytes(b"x\x9c")
    exercises = [{"environment_class": "cups", "interactions": 20}]
    Path("battery.json").write_text(json.dumps({"title": "Small", "exercises": exercises}))
    Path("agent.json").write_text(json.dumps({"id": "random-v1", "parameters": {}}))
    Path("overlay.csv").write_text("x,y,a,b\n0,0,true,1\n0,1,false,2\n1,0,true,3\n1,1,true,4\n")
    columns = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "a": [True, False, True, True]}
    pq.write_table(pa.table(columns), "overlay.parquet")
    Path("knowledge.csv").write_text("x,y,a\n0,0,true\n0,1,true\n")
    Path("named.csv").write_text("square,a\nu,true\nv,false\n")
    Path("edges.csv").write_text("from,to\nu,v\nv,u\n")
    Path("study.toml").write_text(
        'seeds = [0]\n[[agents]]\nagent = "random(rate=1|2)"\ngroup = "a"\n[[tests]]\n'
        'class = "cups"\ngrid = {set.rule = ["rest"], exercises = [1, 2]}\ninteractions = 5\n'
        'agents = ["a"]\n[limits.a]\nmemory_limit = 100\n[run]\nexecutor = "this-process"\n'
    )
    for agent, out in (("random", "evaluation"), ("constant(action=1)", "other")):
        given = ["--agent", agent, "--class", "cups", *SMALL, "--traces", "--out", out]
        code, _, errors = typed(["run", *given, "--seed", "1"])
        assert code == 0, errors
    shutil.copy("evaluation/spec.json", "spec.json")
    Path("people.toml").write_text(
        'title = "People"\nrewards = "steps"\norder = "random"\nbreaks = [1]\n'
        'battery = "battery.json"\n[[questionnaire]]\nname = "mood"\ntext = "How?"\n'
        'kind = "choice"\noptions = ["well", "badly"]\n'
    )
    code, _, errors = typed(["study", "invite", "people.toml", "--out", "people"])
    assert code == 0, errors


FILES: dict[str, list[str]] = {
    "spec.json": ["run", "--spec", "spec.json", "--out", "spec"],
    "battery.json": ["run", "--agent", "random", "--battery", "battery.json"],
    "agent.json": ["run", "--agent", "agent.json", "--class", "cups", *SMALL],
    "mdp.toml": ["run", "--agent", "random", "--class", "mdp(file=mdp.toml)", *SMALL],
    "mdp.json": ["run", "--agent", "random", "--class", "mdp(file=mdp.json)", *SMALL],
    "mdp.npz": ["run", "--agent", "random", "--class", "mdp(file=mdp.npz)", *SMALL],
    "mdp.zz": ["run", "--agent", "random", "--class", "mdp(file=mdp.zz)", *SMALL],
    "mine.py": ["run", "--agent", "mine.py:Mine", "--isolation", "none", "--class", "cups", *SMALL],
    "overlay.csv": ["measure", "--file", "overlay.csv"],
    "overlay.parquet": ["measure", "--file", "overlay.parquet"],
    "knowledge.csv": ["measure", "--file", "overlay.csv", "--knowledge", "knowledge.csv"],
    "study.toml": ["campaign", "run", "study.toml", "--dry-run"],
    "people.toml": ["study", "invite", "people.toml", "--out", "other-people"],
    "edges.csv": ["measure", "--file", "named.csv", "--edges", "edges.csv"],
}
"""The files that users write, with a command that reads each."""


class Fuzzer:
    """Draws malformed commands; one seed always gives the same ones."""

    def __init__(self, seed: int) -> None:
        import typer

        from omnimeter.catalogue import Kind, describe, listing
        from omnimeter.cli.app import app, commands_in

        self.rng = random.Random(seed)
        self.commands: Any = commands_in(typer.main.get_command(app))
        del self.commands["serve"]  # which goes on until it is interrupted
        self.parameters = {
            kind: [
                (entry.id, [each.name for each in describe(kind, entry.id).parameters])
                for entry in listing(kind)
            ]
            for kind in (Kind.ENVIRONMENT, Kind.AGENT, Kind.PAYOFF, Kind.ADJUSTMENT)
        }

    def command(self) -> list[str]:
        """The next command; the files that it reads may have been mutated for it."""
        kind = self.rng.random()
        if kind < 0.55:
            return self._options()
        if kind < 0.75:
            return self._parts()
        return self._file() if kind < 0.9 else self._stored()

    def _options(self) -> list[str]:
        """A command with some options that have any value."""
        rng = self.rng
        name = rng.choice(sorted(self.commands))
        arguments = list(rng.choice(BASES.get(name, [[]])))
        if rng.random() < 0.2 and arguments:
            arguments[rng.randrange(len(arguments))] = self._value("")
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            option = rng.choice(self.commands[name].params)
            if option.param_type_name == "argument":
                arguments.append(self._value(option.metavar or ""))
            elif option.is_flag:
                arguments.append(option.opts[0])
            else:
                arguments += [rng.choice(option.opts), self._value(option.metavar or "")]
        return [*name.split(), *arguments]

    def _value(self, metavar: str) -> str:
        rng = self.rng
        numeric = metavar in ("N", "NUMBER", "SECONDS", "LENGTH", "MB", "D")
        if rng.random() < (0.85 if numeric else 0.2):
            return rng.choice(NUMBERS)
        if metavar.startswith("NAME=") and rng.random() < 0.8:
            name = rng.choice(("file", "rule", "cups", "size", "weight", "", "é", "1"))
            return f"{name}={rng.choice((rng.choice(NUMBERS), rng.choice(TEXTS)))}"
        if rng.random() < 0.3:
            return self._edited(rng.choice(("random(rate=10)", "cups(rule=rest)", "mine.py:Mine")))
        if rng.random() < 0.2 and Path.cwd().exists():
            return rng.choice(sorted(map(str, Path().iterdir())))
        return rng.choice(TEXTS)

    def _edited(self, text: str) -> str:
        """A text with some characters removed, doubled or replaced."""
        letters = list(text)
        for _ in range(self.rng.randint(1, 3)):
            place = self.rng.randrange(len(letters) + 1)
            letters[place : place + self.rng.randint(0, 2)] = self.rng.choice(
                [*"()[]{},=:'\"\\. /é\0\n1e-", "((", "=="]
            )
        return "".join(letters)

    def _parts(self) -> list[str]:
        """A part of the catalogue with parameters of any value."""
        from omnimeter.catalogue import Kind

        rng = self.rng
        kind = rng.choice(list(self.parameters))
        part, names = rng.choice(self.parameters[kind])
        chosen = rng.sample(names, min(len(names), rng.choice((1, 1, 2))))
        given = ",".join(f"{name}={self._parameter()}" for name in chosen)
        text = f"{part}({given})" if given else part
        run = ["run", "--agent", "random", "--class", "cups", *SMALL]
        if kind is Kind.AGENT:
            return [*run, "--agent", text]
        if kind is Kind.PAYOFF:
            return [*run, "--payoff", text]
        if kind is Kind.ADJUSTMENT:
            more = ["--definition", "15", "--interactions", "10", "--exercises", "2"]
            return ["test", "-a", "random", "-c", "cups", *more, "--adjustment", text]
        complexity = ["--complexity", rng.choice(NUMBERS)] if rng.random() < 0.3 else []
        return ["run", "--agent", "random", "--class", text, *SMALL, *complexity]

    def _parameter(self) -> str:
        rng = self.rng
        values = ["[]", "{}", '""', "[1,2]", '{"id":3}', '{"id":"random"}', "-3", "[null]", "[[]]"]
        large = rng.choice((*HUGE, "1000000", "1000000000"))
        return rng.choice((rng.choice(NUMBERS), rng.choice(values), large))

    def _file(self) -> list[str]:
        """A command that reads a file which was mutated."""
        name = self.rng.choice(sorted(FILES))
        self._mutate(Path(name))
        return FILES[name]

    def _stored(self) -> list[str]:
        """A command on a stored evaluation, a file of which was mutated."""
        folder = self.rng.choice(("evaluation", "other"))
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        self._mutate(self.rng.choice(files))
        again = ["run", "--agent", "random", "--class", "cups", *SMALL, "--traces"]
        commands = [
            ["report", folder],
            ["report", folder, "--json"],
            ["report", folder, "--latex"],
            ["report", folder, "--payoff", "total"],
            ["compare", "evaluation", "other"],
            [*again, "--seed", "1", "--out", folder],
            ["run", "--spec", f"{folder}/spec.json", "--out", folder],
        ]
        return self.rng.choice(commands)

    def _mutate(self, path: Path) -> None:
        """Replace, cut or edit a file, or put something else in its place."""
        rng = self.rng
        content = path.read_bytes()
        kind = rng.random()
        if path.suffix == ".json" and kind < 0.6:
            with contextlib.suppress(ValueError):
                path.write_text(self._json(json.loads(content)), errors="surrogatepass")
                return
        if kind < 0.7:
            edited = bytearray(content)
            for _ in range(rng.randint(1, 4)):
                place = rng.randrange(len(edited) + 1)
                more = rng.choice(
                    (b"", rng.randbytes(2), b"[", b'"', b"-", b"1e999", b"\xff", b",")
                )
                edited[place : place + rng.randint(0, 3)] = more
            path.write_bytes(edited)
        elif kind < 0.8:
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
        elif kind < 0.95:
            other = rng.choice(
                (b"", b"\0" * 100, rng.randbytes(100), b"null", b"[]", b'"x"', b"{}")
            )
            path.write_bytes(rng.choice((other, rng.choice(DEEP).encode())))
        else:
            path.unlink()
            if rng.random() < 0.5:
                path.mkdir()

    def _json(self, data: Any) -> str:
        """The text of JSON data in which one value is another, or one key is there twice."""
        rng = self.rng
        places: list[tuple[Any, Any]] = []

        def collect(value: Any) -> None:
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, each in pairs:
                places.append((value, key))
                if isinstance(each, dict | list):
                    collect(each)

        if isinstance(data, dict | list):
            collect(data)
        if not places:
            return "[]"
        holder, key = rng.choice(places)
        if rng.random() < 0.15 and isinstance(holder, dict):
            text = json.dumps(data)
            return re.sub(rf'("{re.escape(key)}": )', r"\g<1>1, \g<1>", text, count=1)
        if rng.random() < 0.2:
            if isinstance(holder, dict):
                holder[rng.choice(("x", "", "id", "é"))] = holder.pop(key)
            else:
                del holder[key]
            return json.dumps(data)
        wrong = ["maybe", "", "\0", "\ud800", "x" * 300, 10**20, -(10**20), -1, 0, 1.5, 1e308, True,
                 None, [], {}, [1], {"id": 1}, {"id": "random", "x": 1}, "../..",
                 "random(rate="]  # fmt: skip
        holder[key] = rng.choice(wrong)
        text = json.dumps(data)
        return text.replace(
            "1e+308", rng.choice(("1e308", "1e999", "NaN", "[" * 50_000, "1" * 5000))
        )


def typed(arguments: list[str], limit: float = LIMIT) -> tuple[int, str, str]:
    """Type a command: its exit code, output and errors; -1 if it did not end in time."""
    from omnimeter.cli import main

    def too_long(*_ignored: object) -> None:
        for _, timer, _ in TIMERS:
            signal.setitimer(timer, 0)
        raise EndlessError

    out, errors = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    errors.reconfigure(errors="backslashreplace")  # as that of a process is
    before = sys.argv
    sys.argv = ["omnimeter", *arguments]
    for kind, timer, seconds in TIMERS:
        signal.signal(kind, too_long)
        signal.setitimer(timer, seconds * limit)
    code: Any = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            main()
    except SystemExit as leaving:
        code = leaving.code or 0
    except EndlessError:
        code = -1
    except BaseException as error:
        code = -2
        errors.write(f"Traceback: {type(error).__name__}: {str(error)[:300]}")
    finally:
        for _, timer, _ in TIMERS:
            signal.setitimer(timer, 0)
        sys.argv = before
    texts = []
    for stream in (out, errors):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))
    return code, texts[0], texts[1]


def failure(arguments: list[str], code: int, errors: str) -> str:
    """Why the end of a command is a failure; empty when it is none."""
    if code == -1:
        return "never ends"
    if "Traceback" in errors:
        return "traceback"
    if "bug of Omnimeter" in errors:
        return "bug"
    allowed = {0, 2, 3, 4} | ({1} if arguments[:1] in (["audit"], ["reproduce"]) else set())
    return "" if code in allowed else "exit code"


def run(seed: int, count: int, seconds: float = float("inf")) -> dict[str, Any]:
    """Type malformed commands: how many, their exit codes, and all failures."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    warnings.simplefilter("ignore")
    begun, failures, codes = time.monotonic(), [], Counter[int]()
    slowest: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        samples = Path(folder, "samples")
        samples.mkdir()
        os.chdir(samples)
        _write_samples()
        fuzzer = Fuzzer(seed)
        for number in range(count):
            if time.monotonic() - begun > seconds:
                break
            place = Path(folder, f"{number}")
            shutil.copytree(samples, place)
            os.chdir(place)
            arguments = fuzzer.command()
            if log := os.environ.get("FUZZ_LOG"):
                Path(log).write_text(repr((number, arguments))[:2000])
            started = time.monotonic()
            code, _, errors = typed(arguments, LIMIT)
            slowest = sorted([*slowest, (time.monotonic() - started, str(arguments)[:200])])[-5:]
            codes[code] += 1
            if why := failure(arguments, code, errors):
                shown = shlex.join(arguments).encode("utf-8", "backslashreplace").decode()
                last = errors.strip().splitlines()[-3:]
                failures.append(
                    {"number": number, "why": why, "command": shown[:400], "error": last}
                )
                print(json.dumps(failures[-1]), file=sys.stderr, flush=True)
            os.chdir(samples)
            shutil.rmtree(place, ignore_errors=True)
        os.chdir(folder)
    counts = {str(code): codes[code] for code in sorted(codes)}
    return {"commands": codes.total(), "codes": counts, "failures": failures, "slowest": slowest}


if __name__ == "__main__":
    LIMIT = float(sys.argv[3]) if len(sys.argv) > 3 else LIMIT
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2])), indent=1))
