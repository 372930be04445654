"""Parts named by their location: files and modules, and all that can be wrong with them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnimeter.catalogue import Kind, resolve
from omnimeter.contract import Agent, InvalidInputError, UnknownNameError

AGENT = """
from omnimeter import Agent
class MyAgent(Agent):
    level = 1
    def act(self, reward, observation):
        return 0
    class Inner(Agent):
        pass
"""


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def error_message(name: str, kind: Kind = Kind.AGENT) -> str:
    with pytest.raises((InvalidInputError, UnknownNameError)) as caught:
        resolve(kind, name)
    return str(caught.value)


def test_class_in_a_file(directory: Path) -> None:
    write("my_agent.py", AGENT)
    part = resolve(Kind.AGENT, "my_agent.py:MyAgent")
    assert issubclass(part, Agent)
    assert sys.modules[part.__module__].MyAgent is part
    assert resolve(Kind.AGENT, f"{directory}/my_agent.py:MyAgent") is part
    assert resolve(Kind.AGENT, "my_agent.py:MyAgent.Inner") is part.Inner


def test_class_in_a_module() -> None:
    assert resolve(Kind.AGENT, "omnimeter.contract:Agent") is Agent


def test_file_name_need_not_be_a_module_name() -> None:
    write("some dir/my-agent.v2.py", AGENT)
    part = resolve(Kind.AGENT, "some dir/my-agent.v2.py:MyAgent")
    assert part.__module__.isidentifier()


def test_edited_file_is_another_module_even_within_one_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write("my_agent.py", AGENT)
    os.utime("my_agent.py", (0, 0))
    first = resolve(Kind.AGENT, "my_agent.py:MyAgent")
    write("my_agent.py", AGENT.replace("level = 1", "level = 2"))
    os.utime("my_agent.py", (0, 0))
    second = resolve(Kind.AGENT, "my_agent.py:MyAgent")
    assert (first.level, second.level) == (1, 2)
    assert first.__module__ != second.__module__
    assert not Path("__pycache__").exists()


def test_siblings_can_be_imported_and_are_not_mixed_up() -> None:
    for directory in ("a", "b"):
        write(f"{directory}/policy.py", f"origin = {directory!r}")
        write(f"{directory}/pack/__init__.py", "")
        write(f"{directory}/pack/inner.py", f"origin = {directory!r}")
        imports = "import policy\nfrom pack.inner import origin\n"
        write(f"{directory}/agent.py", imports + "def act(): return policy.origin, origin")
    first = resolve(Kind.AGENT, "a/agent.py:act")
    second = resolve(Kind.AGENT, "b/agent.py:act")
    assert (first(), second()) == (("a", "a"), ("b", "b"))
    assert sys.path[-2:] == [str(Path("a").resolve()), str(Path("b").resolve())]


def test_siblings_of_installed_packages_are_left_alone() -> None:
    import json

    write("json.py", "raise RuntimeError")
    write("agent.py", "import json\ndef act(): return json")
    assert resolve(Kind.AGENT, "agent.py:act")() is json


def test_functions_and_objects_can_be_agents() -> None:
    write("own.py", "def act(observation): return 0\nclass Model:\n  def predict(self, o): ...\n")
    assert resolve(Kind.AGENT, "own.py:act")(3) == 0
    assert isinstance(resolve(Kind.AGENT, "own.py:Model"), type)
    write("more.py", "from own import Model\nmodel = Model()\nnumber = 3\nclass Empty: ...\n")
    assert hasattr(resolve(Kind.AGENT, "more.py:model"), "predict")
    assert "more.py:number cannot be used as an agent" in error_message("more.py:number")
    assert "nor can it act, predict or be called" in error_message("more.py:Empty")


@pytest.mark.parametrize("kind", [Kind.ENVIRONMENT, Kind.PROTOCOL, Kind.PAYOFF])
def test_wrong_kind(kind: Kind) -> None:
    write("my_agent.py", AGENT)
    assert re.search(f"cannot be used as an? {kind}: ", error_message("my_agent.py:MyAgent", kind))


def test_payoff_is_called_and_has_bounds() -> None:
    text = "class {}:\n  def __call__(self, trace): ...\n  def {}(self, rewards): ...\n"
    write("pay.py", text.format("Good", "bounds") + text.format("Bad", "limits"))
    resolve(Kind.PAYOFF, "pay.py:Good")
    assert "a payoff defines bounds" in error_message("pay.py:Bad", Kind.PAYOFF)


def test_environment_object_instead_of_its_class() -> None:
    text = "from omnimeter import EnvironmentClass as C\nclass E(C):\n"
    text += "".join(f"  def {name}(self): ...\n" for name in ("draw", "complexity", "build"))
    write("own.py", text + "thing = E()\n")
    assert "it is one object of E; name the class itself" in error_message(
        "own.py:thing", Kind.ENVIRONMENT
    )


def test_reproductions_are_called() -> None:
    write("own.py", "def repeat(): ...\nnumber = 3\n")
    assert callable(resolve(Kind.REPRODUCTION, "own.py:repeat"))
    assert "it cannot be called" in error_message("own.py:number", Kind.REPRODUCTION)


def test_missing_file() -> None:
    write("agents/my_agent.py", AGENT)
    message = error_message("agents/my_agnt.py:MyAgent")
    assert "There is no file 'agents/my_agnt.py'" in message
    assert "Did you mean 'agents/my_agent.py'?" in message
    assert "Check the path" in error_message("nowhere/my_agent.py:MyAgent")
    write("folder.py/x", "")
    assert "folder.py cannot be read: Is a directory" in error_message("folder.py:MyAgent")


def test_missing_name() -> None:
    write("my_agent.py", AGENT)
    message = error_message("my_agent.py:MyAgnet")
    assert message == (
        "There is no object in my_agent.py called 'MyAgnet'. Did you mean 'MyAgent'?"
    )
    write("empty.py", "")
    assert "It defines nothing" in error_message("empty.py:MyAgent")


@pytest.mark.parametrize("text", ["my_agent.py", "my_agent.py:", ":MyAgent", "a/b:1x", "m.n:a b"])
def test_incomplete_location(text: str) -> None:
    write("my_agent.py", AGENT)
    assert "does not say which object is meant" in error_message(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n\nclass A(:\n", "line 3: SyntaxError: invalid syntax. Fix"),
        ("x = 1\n  y = 2\n", "line 2: IndentationError: unexpected indent."),
        ("x = 1\nraise ValueError('not today.')\n", "line 2: ValueError: not today. Fix"),
        ("def f():\n    1 / 0\n\nf()\n", "line 2: ZeroDivisionError: division by zero."),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3."),
        ("import no_such_thing\n", "line 1: ModuleNotFoundError: No module named 'no_such_thing'."),
        ("raise KeyError\n", "line 1: KeyError. Fix"),
        ("x = 1\neval('1 +')\n", "line 2: SyntaxError: invalid syntax. Fix"),
    ],
)
def test_file_that_fails(text: str, expected: str) -> None:
    write("bad.py", text)
    message = error_message("bad.py:MyAgent")
    assert message.startswith("bad.py, ")
    assert expected in message
    assert not any(name.endswith("_bad") for name in sys.modules)


def test_sibling_that_fails() -> None:
    write("lame.py", "\n1 / 0\n")
    write("agent.py", "\n\nimport lame\n")
    assert "agent.py, line 3: ZeroDivisionError" in error_message("agent.py:MyAgent")
    write("lame.py", "\nclass (\n")
    message = error_message("agent.py:MyAgent")
    assert message.startswith("agent.py cannot be imported: ")
    assert "/lame.py, line 2: SyntaxError: invalid syntax" in message


@pytest.mark.parametrize("content", [b"x = '\xff'\n", b"x = 1\0\n"])
def test_file_that_is_not_text(content: bytes) -> None:
    Path("bad.py").write_bytes(content)
    message = error_message("bad.py:MyAgent")
    assert message.startswith("bad.py")
    assert "loading.py" not in message  # the user cannot change the catalogue's own files


def test_interruption_is_not_swallowed() -> None:
    write("slow.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        resolve(Kind.AGENT, "slow.py:MyAgent")


def test_missing_module() -> None:
    assert "There is no module 'no_such.part'. Install" in error_message("no_such.part:MyAgent")
    assert "There is no module 'json.part'" in error_message("json.part:MyAgent")
    write("own/my_agent.py", AGENT)
    assert "Did you mean 'own/my_agent.py:MyAgent'?" in error_message("own.my_agent:MyAgent")


def test_module_that_fails(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(directory))
    write("failing.py", "\nimport no_such_thing\n")
    message = error_message("failing:MyAgent")
    assert f"failing cannot be imported: {directory}/failing.py, line 2: Module" in message
    write("odd.py", "\n\nclass (\n")
    assert "odd.py, line 3: SyntaxError: invalid syntax" in error_message("odd:MyAgent")
