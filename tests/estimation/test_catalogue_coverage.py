"""The benchmark of coverage: its functions, and cells of the catalogue chosen in advance."""

import re
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

import coverage_benchmark as benchmark
from coverage_benchmark import Amounts, Cell, Pools, Setup
from omnimeter.estimation import Estimate
from pages import ROOT


def synthetic_pools():
    rng = np.random.default_rng(1)
    draws = {
        "random-v1": rng.uniform(-0.1, 0.1, 500),
        "learner-v1": rng.uniform(0, 0.9, 500),
        "same-v1": np.zeros(500),
        "copy-v1": np.zeros(500),
    }
    return Pools(
        environment_class="some-v1",
        payoffs=draws,
        complexities=rng.integers(1, 9, 500).astype(float),
        strata={agent: [v[:100], v[100:200], v[200:300]] for agent, v in draws.items()},
        sets={5: {agent: v.reshape(-1, 5) for agent, v in draws.items()}},
        repetitions=draws,
        tests={agent: v.reshape(5, -1) for agent, v in draws.items()},
    )


def test_the_script_does_not_pass_for_the_package_of_its_name():
    spec = spec_from_file_location("coverage", benchmark.PATH)
    with pytest.raises(ImportError, match="not the package"):
        spec.loader.exec_module(module_from_spec(spec))


def test_the_page_has_the_tables_and_a_tenth_of_the_cells_at_most_is_bounded():
    page = (ROOT / "docs" / "intervals.md").read_text("utf-8")
    _, table = page.split("<!-- begin: benchmarks/coverage.py -->")
    table, _ = table.split("<!-- end: benchmarks/coverage.py -->")
    for kind in ("score", "difference", "strata", "battery", "universal", "anytime"):
        assert f"| {kind} | 20 |" in table
    (share,) = re.findall(r"From 20 values on ([\d.]+)% of the cells are bounded", table)
    assert float(share) <= 10


def test_every_kind_is_measured_and_told():
    pools = synthetic_pools()
    cells = [benchmark.measure(each, 30) for each in benchmark.setups(pools)]
    assert {cell.kind for cell in cells} == set(benchmark.KINDS) - {"methods"}
    assert "copy-v1" not in {cell.agent for cell in cells}  # it is the same as another
    assert all(cell.coverage + cell.below + cell.above == pytest.approx(1) for cell in cells)
    constant = [cell for cell in cells if cell.agent == "same-v1"]
    assert all(cell.coverage == cell.bounded == 1 for cell in constant)
    compared = [benchmark.measure(each, 10) for each in benchmark.method_setups(pools)]
    text = benchmark.tables_of(cells, compared, exercises=500, resamples=30)
    assert "| score | 5 | 3 |" in text
    assert "| betting | 20 |" in text


def test_misses_are_told_apart():
    def sampler(rng, low, high):
        return Estimate((low + high) / 2, low, high, 0.95, 3, bounded=bool(rng.random() < 2))

    cells = [
        benchmark.measure(Setup("score", "a", "b", 3, 0.5, partial(sampler, low=low, high=high)), 4)
        for low, high in [(0, 1), (0, 0.4), (0.6, 1)]
    ]
    assert [(cell.coverage, cell.below, cell.above) for cell in cells] == [
        (1, 0, 0),
        (0, 1, 0),
        (0, 0, 1),
    ]
    assert benchmark.bounded_share([Cell("score", "a", "b", 20, 1, 0, 0, 1, 0.6, 3)]) == 1


def test_methods_get_the_same_samples():
    setups = [each for each in benchmark.method_setups(synthetic_pools()) if each.count == 5]
    seen = {}
    for each in setups:
        if each.agent == "learner-v1":
            rng = np.random.default_rng(3)
            seen[each.kind] = [each.sampler(rng).value for _ in range(3)]
    assert len(seen) == len(benchmark.METHODS)
    assert all(values == pytest.approx(seen["ours"]) for values in seen.values())


def test_what_carries_the_spread_is_rare():
    """One value in a hundred does, so that a sample of ten has a tenth of one."""
    values = np.tile([1.0] + [0.0] * 99, 10)
    assert benchmark.carriers_of(values, 10) == pytest.approx(0.1, rel=0.05)


def test_tables_take_their_place_in_a_page(tmp_path):
    page = tmp_path / "page.md"
    begin, end = (f"<!-- {each}: benchmarks/coverage.py -->" for each in ("begin", "end"))
    page.write_text(f"before\n{begin}\nold\n{end}\nafter\n", "utf-8")
    benchmark.write_tables(page, "new\n")
    assert page.read_text("utf-8") == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"


# Cells chosen over classes, agents, kinds and numbers of values before they were measured, and the
# bands in which docs/intervals.md says that they lie: 93 to 97 %, more where a good part of the
# intervals is bounded, less where hardly a sample shows what carries the spread. Sampling 1,000
# times leaves about 0.7 points either way, and another pool another coverage.
INSIDE, ABOVE, RARE = (0.92, 0.985), (0.93, 1.0), (0.78, 0.93)
AMOUNTS = Amounts(exercises=1_500, stratum=400, tests=300, sets=300, repetitions=300)
CELLS = [
    ("score", "automata-v1", "random-v1", 20, INSIDE),
    ("score", "automata-v1", "q-learning-v1", 5, ABOVE),
    ("score", "automata-v1", "q-learning-v1", 60, INSIDE),
    ("score", "buttons-v1", "random-v1", 10, ABOVE),
    ("score", "cups-v1", "cup-presser-v1", 5, ABOVE),
    ("score", "cups-v1", "cup-presser-v1", 60, INSIDE),
    ("score", "torus-v1", "torus-agent-v1", 5, ABOVE),
    ("score", "torus-v1", "torus-agent-v1", 60, INSIDE),
    ("score", "lambda-v1", "q-learning-v1", 200, INSIDE),
    ("difference", "lambda-v1", "q-learning-v1 - random-v1", 20, INSIDE),
    ("difference", "torus-v1", "torus-agent-v1 - random-v1", 60, INSIDE),
    ("difference", "cups-v1", "cup-presser-v1 - random-v1", 5, ABOVE),
    ("strata", "cups-v1", "random-v1", 20, ABOVE),
    ("strata", "automata-v1", "q-learning-v1", 60, ABOVE),
    ("battery", benchmark.BATTERY, "oracle-v1", 1, ABOVE),
    ("battery", benchmark.BATTERY, "q-learning-v1", 20, INSIDE),
    ("universal", "automata-v1", "q-learning-v1", 5, ABOVE),
    ("universal", "torus-v1", "torus-agent-v1", 20, RARE),
    ("anytime", "automata-v1", "q-learning-v1", 10, ABOVE),
    ("correlation", "lambda-v1", "q-learning-v1", 60, INSIDE),
]


def class_of(where):
    return "lambda-v1" if where == benchmark.BATTERY else where


@cache
def pools_of(environment_class):
    """The pools of the agents that are measured in a class, drawn once."""
    labels = [agent for _, where, agent, *_ in CELLS if class_of(where) == environment_class]
    agents = {"random-v1", *(each for label in labels for each in label.split(" - "))}
    return benchmark.draw_pools(environment_class, sorted(agents), AMOUNTS)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "where", "agent", "count", "band"), CELLS)
def test_cells_cover_as_documented(kind, where, agent, count, band):
    (setup,) = [
        each
        for each in benchmark.setups(pools_of(class_of(where)))
        if each[:4] == (kind, where, agent, count)
    ]
    cell = benchmark.measure(setup, 1_000)
    assert band[0] <= cell.coverage <= band[1]
    if band == RARE:
        assert cell.carriers < 2
