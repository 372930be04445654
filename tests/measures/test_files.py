"""Overlays and knowledge bases in table files."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from omnimeter.contract import InvalidInputError
from omnimeter.contract.overlay import Graph, Lattice
from omnimeter.measures import (
    Belief,
    inconsistency,
    overlay_difference,
    read_knowledge,
    read_overlay,
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="world.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


GRID = "y,x,time,tree,height\n2,1,1,,3\n1,1,1,true,\n1,2,1,false,low\n2,2,1,true,3\n"


def test_a_grid_over_time(write):
    overlay = read_overlay(write(GRID + "1,2,3,true,low\n1,2,4,true,\n"))
    assert overlay.adjacency == Lattice((2, 2))
    assert list(overlay.names) == ["(1, 1)", "(1, 2)", "(2, 1)", "(2, 2)"]  # x, y
    assert overlay.columns == {"tree": [True], "height": [3, "low"]}
    assert overlay.codes.tolist() == [[1, 0], [0, 1], [0, 2], [1, 1]]
    assert overlay.changes.tolist() == [[3, 2, 0, 1], [4, 2, 1, 0]]
    assert overlay.duration == 4
    assert read_overlay(write(GRID), torus=True).adjacency == Lattice((2, 2), torus=True)


def test_parquet_and_csv_are_the_same(write, tmp_path):
    table = pa.table({"x": [0, 1, 2], "wet": [True, False, None], "depth": [1.5, np.nan, 2.0]})
    parquet.write_table(table, tmp_path / "world.parquet")
    one = read_overlay(tmp_path / "world.parquet")
    two = read_overlay(write("x,wet,depth\n0,true,1.5\n1,false,\n2,,2.0\n"))
    assert one.columns == two.columns == {"wet": [True], "depth": [1.5, 2.0]}
    assert one.codes.tolist() == two.codes.tolist() == [[1, 1], [0, 0], [0, 2]]
    assert one.adjacency == two.adjacency == Lattice((3,))


def test_axes_go_by_name_and_values_by_cell(write):
    one = read_overlay(write("x10,x2,h\n1,1,3\n1,2,high\n1,3,\n2,1,\n2,2,\n2,3,3\n"))
    two = read_overlay(write("x2,x10,h\n1,1,3\n1,2,\n2,1,3\n2,2,\n3,1,\n3,2,3.0\n"))
    assert one.adjacency == two.adjacency == Lattice((3, 2))
    assert overlay_difference(one, two).total == 1
    beliefs = read_knowledge(write("x10,x2,h\n1,1,3\n2,3,3\n", "kb.csv"), one)
    assert inconsistency(one, beliefs).of_beliefs == 0
    mixed = read_overlay(write("x,p\n1,true\n2,false\n3,unknown\n4,1_0\n5,-1e1\n"))
    assert mixed.columns == {"p": [True, "unknown", "1_0", -10.0]}
    assert mixed.codes[:, 0].tolist() == [1, 0, 2, 3, 4]


def test_named_squares_with_edges(write):
    world = write("square,x\nhome,1\nwood,2\n3,\n")
    edges = write("from,to\nhome,wood\nwood,home\nwood,3\n3,wood\n", "edges.csv")
    overlay = read_overlay(world, edges=edges)
    assert isinstance(overlay.adjacency, Graph)
    assert overlay.adjacency.successors == [[1], [0, 2], [1]]
    assert overlay.columns == {"x": [1, 2]}  # where squares have names, x is a value
    known = read_knowledge(write("square,x,tree\nwood,2,false\n3,,true\n", "kb.csv"), overlay)
    assert known == [Belief(1, "x", 2), Belief(1, "tree", False), Belief(2, "tree", True)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,p\n", "no rows"),
        ("x,y,p\n1,1,true\n1,2,\n2,2,\n", r"no row for the square \(2, 1\) of a grid of \(2, 2\)"),
        ("x,p\n1,true\n1,\n", r"two rows for the square \(1\)"),
        ("x,time,p\n1,1,true\n2,2,\n", r"in 1 of 2 squares at time 1, such as \(2\)"),
        ("x,time,p\n1,0,true\n", "time 0"),
        ("x,p\n1.5,true\n", "row 1: x is 1.5, not a whole number"),
        ("p,q\n1,2\n", "does not name squares: it has the columns p, q"),
        ("square,p\na,\n,true\n", "row 2: the square has no name"),
        ("square,p\na,true\n", "which squares are adjacent"),
        ("x\n1\n2\n", "no proposition"),
        ("x,p\n1,2,3\n", "not a table"),
        ("x,y,p\n0,0,1\n100000000000,1,2\n", r"no row for the square \(0, 1\)"),
        ("x,p\n1e300,true\n", r"row 1: x is 1e\+300"),
        ("x,time,p\n1,1,true\n1,100000000000,\n", "100000000000 time steps, not 1 to"),
        ("x,p,p\n1,true,true\n", "2 columns with the name 'p'"),
    ],
)
def test_what_is_wrong_in_a_table_is_said(write, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_overlay(write(text))


def test_what_is_wrong_in_other_files_is_said(write, tmp_path):
    with pytest.raises(InvalidInputError, match=r"nowhere\.csv cannot be read"):
        read_overlay(tmp_path / "nowhere.csv")
    world = write("square,p\na,true\nb,\n")
    with pytest.raises(InvalidInputError, match="row 1: there is no square 'c'"):
        read_overlay(world, edges=write("from,to\na,c\n", "edges.csv"))
    with pytest.raises(InvalidInputError, match="has the columns a, c"):
        read_overlay(world, edges=write("a,c\na,c\n", "edges.csv"))
    grid = write("x,p\n1,true\n2,\n", "grid.csv")
    with pytest.raises(InvalidInputError, match="edges are given too"):
        read_overlay(grid, edges=write("from,to\na,b\n", "edges.csv"))
    with pytest.raises(InvalidInputError, match=r"beliefs about the square \(3\)"):
        read_knowledge(write("x,p\n3,true\n", "kb.csv"), read_overlay(grid))
