"""``omnimeter doctor``: what it says where agents can be contained, and where they cannot."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from omnimeter.cli.app import app
from omnimeter.interaction import sandbox


@pytest.mark.parametrize("works", [True, False])
def test_doctor(works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "obstacle", lambda mechanism: "" if works else "not today")
    told = CliRunner().invoke(app, ["doctor"])
    data = CliRunner().invoke(app, ["doctor", "--json"])
    assert told.exit_code == data.exit_code == (0 if works else 1)
    read = json.loads(data.stdout)
    assert read["contained"] is works
    for name in ("namespaces", "landlock"):
        assert read[name]["good"] is works
        assert ("not today" in read[name]["state"]) is not works
        assert bool(read[name]["advice"]) is not works
    lines = {line.split()[0] for line in told.stdout.splitlines() if line[0] != " "}
    assert lines == set(read) - {"contained"}


def test_a_cache_that_others_can_write(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("cache")
    (place / "kernels").mkdir()
    monkeypatch.setenv("OMNIMETER_CACHE_DIR", str(place))
    for mode, good in ((0o700, True), (0o777, False)):
        (place / "kernels").chmod(mode)
        read = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
        assert read["cache"]["good"] is good
