"""A third-party package, really installed: listed without an import, described and made."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from omnimeter.catalogue import Entry, Kind, describe, listing, make, parse, resolve
from omnimeter.contract import OmnimeterError, Spec
from omnimeter.kernels import KernelAgent, KernelEnvironmentClass

ENVIRONMENTS = ["sample-plain-walk-v1", "sample-walk-v1"]
AGENTS = ["sample-plain-v1", "sample-table-v1"]

LISTING = """
import json, sys, time
from omnimeter.catalogue import listing
begin = time.perf_counter()
entries = listing()
seconds = time.perf_counter() - begin
theirs = [entry for entry in entries if entry.package == "omnimeter-sample"]
loaded = [name for name in sys.modules if name.startswith(("omnimeter_sample", "omnimeter."))]
heavy = [name for name in ("numba", "pydantic", "scipy") if name in sys.modules]
summaries = [entry.summary for entry in theirs]
print(json.dumps({"seconds": seconds, "summaries": summaries, "loaded": loaded, "heavy": heavy}))
"""


def of_the_sample(kind: Kind) -> list[Entry]:
    return [entry for entry in listing(kind) if entry.package == "omnimeter-sample"]


@pytest.mark.usefixtures("plugin")
def test_third_party_parts_are_listed() -> None:
    environments, agents = of_the_sample(Kind.ENVIRONMENT), of_the_sample(Kind.AGENT)
    assert [entry.id for entry in environments] == ENVIRONMENTS
    assert [entry.id for entry in agents] == AGENTS
    assert {entry.version for entry in environments + agents} == {"1.2.0"}
    assert not any(entry.problem for entry in environments + agents)
    assert environments[1].location == "omnimeter_sample.walk:Walk"
    assert environments[1].summary == "A walk on a ring with one good and one bad cell."


def test_listing_imports_none_of_the_parts(plugin_path: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LISTING],
        env={**os.environ, "PYTHONPATH": plugin_path},
        capture_output=True,
        text=True,
        check=True,
    )
    result = json.loads(done.stdout)
    packages = {name.split(".")[1] for name in result["loaded"] if "." in name}
    assert not [name for name in result["loaded"] if name.startswith("omnimeter_sample")]
    assert packages == {"catalogue", "contract"}
    assert result["heavy"] == []
    assert len(result["summaries"]) == 4
    assert all(result["summaries"])
    assert result["seconds"] < 0.5


@pytest.mark.usefixtures("plugin")
def test_third_party_parts_are_made() -> None:
    walk = make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, "sample-walk(size=5)"))
    assert isinstance(walk, KernelEnvironmentClass)
    assert walk.complexity(walk.draw(np.random.default_rng(1))) == 5
    assert isinstance(make(Kind.AGENT, Spec("sample-table-v1", {"rate": "0.5"})), KernelAgent)
    assert resolve(Kind.AGENT, "sample-plain") is resolve(Kind.AGENT, "omnimeter_sample:Repeater")


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (Kind.ENVIRONMENT, "sample-wlak", "Did you mean 'sample-walk'"),
        (Kind.ENVIRONMENT, "sample-walk(sizes=3)", "Did you mean 'size'.*Known: size"),
        (Kind.ENVIRONMENT, "sample-walk(size=2)", r"sample-walk-v1: A ring cannot have 2 cells"),
        (Kind.ENVIRONMENT, "sample-walk(size=big)", "valid integer.*Expected: int"),
        (Kind.AGENT, "sample-table(rate=2)", "cannot be made: rate, discount and exploration"),
        (Kind.AGENT, "omnimeter_sample.walk:WalkState", "cannot be used as an agent"),
    ],
)
def test_mistakes_with_third_party_parts(kind: Kind, text: str, reason: str) -> None:
    with pytest.raises(OmnimeterError, match=reason):
        make(kind, parse(kind, text))


@pytest.mark.usefixtures("plugin")
def test_description_of_a_third_party_part() -> None:
    description = describe(Kind.AGENT, "sample-table")
    assert (description.id, description.package) == ("sample-table-v1", "omnimeter-sample")
    assert description.doc == "A Q-learner with one value for each observation and action."
    assert [parameter.name for parameter in description.parameters] == [
        "rate",
        "discount",
        "exploration",
    ]
    assert description.parameters[1].doc == "How much the next value counts, in [0, 1)."
