"""Reports of plain results read columns alone: no object is made of any outcome."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from omnimeter.contract import Outcome, Outcomes, Spec
from omnimeter.contract.agent import IntArray
from omnimeter.protocols import summarise
from omnimeter.reports import comparisons, result_json, score_rows
from omnimeter.reports.page import gather, render
from omnimeter.results import Record
from reports_samples import FAIR, GOOD, POOR, a_result, a_store, an_evaluation


class ColumnsOnly(Outcomes):
    """Outcomes of which no object can be had."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._source = outcomes
        self._arrays: dict[str, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self._source)

    def objects(self, rows: IntArray) -> list[Outcome]:
        raise AssertionError(f"{len(rows)} objects were asked for")

    def compute(self, name: str) -> NDArray[Any]:
        return self._source.column(name)

    def remarks(self, name: str) -> list[tuple[Any, IntArray]]:
        return self._source.remarks(name)

    def distinct_exercises(self) -> list[Any]:
        return self._source.distinct_exercises()

    def by_agent(self, agents: Any) -> dict[Spec, Outcomes]:
        groups = self._source.by_agent(agents)
        return {agent: ColumnsOnly(each) for agent, each in groups.items()}

    def take(self, rows: IntArray) -> Any:
        return ColumnsOnly(self._source.take(rows))


def test_a_page_needs_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    payoffs = {agent: rng.uniform(-1, 1, 30).round(2).tolist() for agent in (GOOD, FAIR, POOR)}
    evaluation = an_evaluation((GOOD, FAIR, POOR), exercises=30, complexity=[3, 4, 5])
    record = a_store(tmp_path, evaluation, payoffs)
    usual = render(gather(record))
    expected = result_json(summarise(evaluation, record.outcomes()))
    outcomes = ColumnsOnly(Outcomes(record.outcomes()))
    monkeypatch.setattr(Record, "outcomes", lambda _: outcomes)
    assert render(gather(record)) == usual
    assert result_json(summarise(evaluation, outcomes)) == expected


def test_scores_are_computed_once() -> None:
    result = a_result({GOOD: [0.5, 0.25, 1.0], POOR: [0.0, -0.25, 0.5]})
    first, again = score_rows(result), score_rows(result)
    assert first == again
    assert first is not again  # a caller may change its own
    assert first[0] is again[0]
    assert comparisons(result) == comparisons(result)
