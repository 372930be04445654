"""The example notebook runs, and shows what its file says."""

from pathlib import Path

from notebooks import code_cells, run

NOTEBOOK = Path(__file__).parents[2] / "examples" / "omnimeter.ipynb"


def test_the_notebook_shows_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for cell in code_cells(NOTEBOOK):
        printed, value = run("".join(cell["source"]), names)
        streams = [each for each in cell["outputs"] if each["output_type"] == "stream"]
        values = [each["data"] for each in cell["outputs"] if "data" in each]
        assert printed == "".join("".join(each["text"]) for each in streams)
        assert [repr(value)] * (value is not None) == [
            "".join(each["text/plain"]) for each in values
        ]
        for each in values:
            if "text/html" in each:
                assert value._repr_html_() == "".join(each["text/html"])
    assert (tmp_path / "page.html").exists()
