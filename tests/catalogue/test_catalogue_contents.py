"""The files that a part is made of, and the digest that depends on them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import omnimeter
from omnimeter.catalogue import Kind, files_of, make, parse, unhashed, with_digest
from omnimeter.contract import InvalidInputError, Spec

AGENT = (
    "from omnimeter import Agent\nchoice = 0\n{}class A(Agent):\n"
    "{}    def act(self, r, o): return choice\n"
)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def write(path: str, text: str = "") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def agent(imports: str = "", body: str = "", path: str = "agent.py") -> Spec:
    """The spec of an agent with these statements before its class and in it."""
    write(path, AGENT.format(imports, body))
    return parse(Kind.AGENT, f"{path}:A")


def digest(location: str = "agent.py:A") -> str:
    return parse(Kind.AGENT, location).digest


def test_single_file_has_the_digest_of_its_content() -> None:
    import hashlib

    spec = agent()
    assert spec.digest == hashlib.sha256(Path("agent.py").read_bytes()).hexdigest()[:16]
    write("unrelated.py", "x = 1")
    assert digest() == spec.digest
    assert files_of(spec) == ["agent.py"]


@pytest.mark.parametrize(
    ("imports", "files"),
    [
        ("import policy\n", {"policy.py"}),
        ("def f():\n    import policy\n", {"policy.py"}),
        ("import pack.inner as p\n", {"pack/__init__.py", "pack/inner.py"}),
        ("from pack import inner\n", {"pack/__init__.py", "pack/inner.py"}),
        ("from pack import deep\n", {
            "pack/__init__.py", "pack/deep/__init__.py", "pack/inner.py", "policy.py",
        }),
        ("from bare.leaf import x\n", {"bare/leaf.py"}),
        ("from first import x\n", {"first.py", "second.py"}),
        ("import importlib\np = importlib.import_module('policy')\n", {"policy.py"}),
        ("try:\n    import absent, numpy\nexcept ImportError:\n    from policy import *\n",
         {"policy.py"}),
        ("import json\nif json is None:\n    from . import policy\n", set()),
    ],
)  # fmt: skip
def test_what_is_imported_from_the_folder_counts(imports: str, files: set[str]) -> None:
    write("policy.py", "x = 1")
    write("pack/__init__.py")
    write("pack/inner.py", "x = 1")
    write("pack/deep/__init__.py", "from ..inner import x\nimport policy")
    write("pack/other.py")
    write("bare/leaf.py", "x = 1")
    write("first.py", "from second import x")
    write("second.py", "def f(): import first\nx = 1")
    spec = agent(imports)
    assert set(files_of(spec)) == {"agent.py", *files}
    make(Kind.AGENT, spec)
    for file in files:
        before, text = digest(), Path(file).read_text()
        write(file, text + "# edited")
        assert digest() != before
        write(file, text)
    assert unhashed(spec) == []


def test_declared_weights_are_part_of_the_identity() -> None:
    """An agent that was trained anew is another one: its earlier score is not its own."""
    body = """    files = ("net/weights.npz",)
    def begin(self, briefing, rng):
        import numpy as np
        from pathlib import Path
        global choice
        choice = int(np.load(Path(__file__).parent / "net/weights.npz")["w"].argmax())
"""
    Path("net").mkdir()

    def trained(weights: list[int]) -> Spec:
        np.savez("net/weights.npz", w=np.array(weights))
        return agent(body=body)

    def evaluated(out: str) -> omnimeter.Result:
        return omnimeter.evaluate(
            "agent.py:A", "cups", exercises=4, interactions=100, seed=3, isolation="none", out=out
        )

    first = trained([1, 0, 0])
    assert files_of(first) == ["agent.py", "net/weights.npz"]
    before = evaluated("first")
    second = trained([0, 0, 1])
    assert (second.id, second.parameters) == (first.id, first.parameters)
    assert second.key != first.key
    with pytest.raises(omnimeter.OmnimeterError, match="agents"):  # which are another's results
        evaluated("first")
    after = evaluated("second")
    assert before.scores[first.label].value != after.scores[second.label].value


@pytest.mark.parametrize("declaration", [
    'files = ("w.npz", "more")',
    'files: tuple[str, ...] = ("w.npz", "m*/*.txt")',
    'files = ["w.npz", "more/**"]',
])  # fmt: skip
def test_declarations(declaration: str) -> None:
    write("w.npz", "1")
    write("more/a.txt", "2")
    expected = {"agent.py", "w.npz", "more/a.txt"}
    assert set(files_of(agent(body=f"    {declaration}\n"))) == expected
    assert set(files_of(agent(imports=f"{declaration}\n"))) == expected


def test_declaration_of_a_base_class_in_another_file() -> None:
    write("pack/__init__.py")
    write("pack/w.npz", "1")
    write("pack/base.py", "class Base:\n    files = 'w.npz'\n    def act(self, r, o): return 0\n")
    write("agent.py", "from pack.base import Base as B\nclass A(B): pass\n")
    files = ["agent.py", "pack/__init__.py", "pack/base.py", "pack/w.npz"]
    assert sorted(files_of(parse(Kind.AGENT, "agent.py:A"))) == files
    write("agent.py", "from pack.base import Base as A\n")
    assert sorted(files_of(parse(Kind.AGENT, "agent.py:A"))) == files


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ('files = ("w.npz",)', "agent.py declares the file 'w.npz', which does not exist"),
        ('files = ("*.npz",)', "declares the file '[*].npz', which does not exist"),
        (f"files = ({str(Path(__file__))!r},)", "does not exist in its folder"),
        ('files = ("a\\0b",)', "does not exist"),
        ("files = list_of()", "line 4: the declaration of files cannot be read"),
        ("files = (1, 2)", "line 4: the declaration of files cannot be read"),
    ],
)
def test_wrong_declarations(declaration: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        agent(body=f"    {declaration}\n")


def test_files_in_parameters() -> None:
    agent()
    write("w.npz", "1")
    first = parse(Kind.AGENT, 'agent.py:A(weights="w.npz", more=["w.npz", "absent"], x=absent)')
    assert files_of(first) == ["agent.py", "w.npz"]
    write("w.npz", "2")
    assert parse(Kind.AGENT, first.label).digest != first.digest
    with pytest.raises(InvalidInputError, match=r"agent.py or w.npz or w.npz has changed"):
        with_digest(first)


def test_parts_in_parameters() -> None:
    agent()
    spec = parse(Kind.AGENT, "slowed(agent=agent.py:A,seconds=1)")
    assert files_of(spec) == ["agent.py"]
    assert spec.digest == ""


def test_digest_depends_on_neither_folder_nor_order(directory: Path) -> None:
    digests = set()
    for folder in ("a", "b/c", str(directory / "d")):
        write(f"{folder}/policy.py", "x = 1")
        write(f"{folder}/w.npz", "1")
        body = '    files = ("w.npz",)\n'
        digests.add(agent("import policy\n", body, f"{folder}/agent.py").digest)
    assert len(digests) == 1
    write("a/policy.py", "1")
    write("a/w.npz", "x = 1")
    assert digest("a/agent.py:A") not in digests


def test_modules_are_read_without_importing_them(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(directory))
    write("some_pack/__init__.py", "raise RuntimeError")
    write("some_pack/agent.py", "from . import policy\nimport numpy\nimport beside\n")
    write("some_pack/policy.py")
    write("beside.py")
    spec = parse(Kind.AGENT, "some_pack.agent:A")
    names = {"some_pack/__init__.py", "some_pack/agent.py", "some_pack/policy.py", "beside.py"}
    assert set(files_of(spec)) == {str(directory / name) for name in names}
    write("some_pack/policy.py", "x = 2")
    assert digest("some_pack.agent:A") != spec.digest
    assert "some_pack" not in sys.modules


def test_installed_modules_do_not_count_their_neighbours() -> None:
    files = files_of(parse(Kind.AGENT, "typer.main:Typer"))
    assert files
    assert all("/typer/" in file for file in files)
    assert parse(Kind.AGENT, "omnimeter.contract:Agent").digest == ""


def test_what_cannot_be_hashed_is_reported() -> None:
    assert unhashed(parse(Kind.AGENT, "sys:exit")) == ["sys has no source file"]
    spec = agent("import importlib\nimportlib.import_module('a' + 'b')\n")
    assert unhashed(spec) == ["agent.py, line 4, imports a module of a computed name"]
    assert unhashed(parse(Kind.AGENT, "no_such_module:A")) == []
    assert unhashed(parse(Kind.AGENT, "slowed(agent=agent.py:A,seconds=1)")) == unhashed(spec)


def test_links_are_followed_like_imports(directory: Path) -> None:
    agent("import policy\n", path="real/agent.py")
    write("real/policy.py")
    Path("link.py").symlink_to("real/agent.py")
    spec = parse(Kind.AGENT, "link.py:A")
    assert files_of(spec) == ["link.py", str(directory / "real/policy.py")]
    make(Kind.AGENT, spec)
