"""The notebooks of the documentation are run in a real kernel, cell by cell, and show what they show."""

import json
import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from notebook_pages import notebook_page

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
QUICK = "steward"
WITHOUT_WIDGETS = "import sys\nsys.modules['ipywidgets'] = None  # importing it fails, as where it is not installed"
"""In such a kernel nothing can draw a bar, and everything has to work all the same."""


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Run cells in a kernel of their own, in an empty folder; return what each shows, as plain text."""
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    desk = tmp_path / "desk"
    desk.mkdir()

    def run(sources):
        cells = [nbformat.v4.new_code_cell(source) for source in (WITHOUT_WIDGETS, *sources)]
        notebook = nbformat.v4.new_notebook(cells=cells)
        client = NotebookClient(notebook, kernel_name="python3", timeout=300)
        client.execute(cwd=str(desk))
        return [cell.outputs for cell in notebook.cells[1:]]

    return run


def shown(outputs):
    """What a notebook keeps: results and prints as plain text; no pictures, which differ with what draws them."""
    kept = []
    for output in outputs:
        assert output.get("name") != "stderr", f"a warning, or something else that nobody expects: {output['text']}"
        if output.output_type == "stream":
            before = kept.pop()["text"] if kept and kept[-1]["output_type"] == "stream" else []  # pieces of any length
            text = lines("".join(before) + output.text)
            kept.append({"name": output.name, "output_type": "stream", "text": text})
        elif output.output_type == "execute_result":
            data = {"text/plain": lines(output.data["text/plain"])}
            kept.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return kept


def lines(text):
    return text.splitlines(keepends=True)


@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in NAMES]
)
def test_a_notebook_runs_and_prints_what_it_shows(name, executed):
    """With SHOAL_EXAMPLES=write, what really came out is written into the notebook, to be looked at."""
    path = NOTEBOOKS / f"{name}.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    fresh = [shown(outputs) for outputs in executed("".join(cell["source"]) for cell in code)]
    if os.environ.get("SHOAL_EXAMPLES") == "write":
        for cell, outputs in zip(code, fresh, strict=True):
            cell["outputs"] = outputs
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    else:
        assert [cell["outputs"] for cell in code] == fresh, (
            "SHOAL_EXAMPLES=write writes what comes out into the notebook"
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_valid_and_has_no_traces_of_where_it_ran(name):
    text = (NOTEBOOKS / f"{name}.ipynb").read_text("utf-8")
    nbformat.validate(nbformat.reads(text, 4))
    assert not re.search(r"\"execution_count\": \d|/tmp|/home|\d+(\.\d+)? (s|ms|seconds)\b", text)


def test_there_is_a_notebook_for_each_kind_of_reader():
    assert NAMES == ["researcher", "scientist", "steward"]


ANONYMIZE = """
import pandas as pd
import shoal as sh
people = pd.DataFrame({"age": [21, 24, 29, 41, 43, 48], "disease": ["flu", "hiv", "cold"] * 2})
age = {"role": "quasi-identifier", "hierarchy": [10]}
policy = sh.Policy(attributes={"age": age, "disease": "sensitive"}, require=[{"model": "k-anonymity", "k": 3}])
release = sh.anonymize(people, policy)
"""
SHOWN = {
    "release": "release",
    "policy": "policy",
    "risk": "sh.risk(people, 'age')",
    "comparison": "sh.compare(people, policy, 'optimal')",
    "audit": "sh.audit(release)",
    "plot": "sh.plot.ClassSizes.from_release(release)",
}


@pytest.mark.thorough
def test_anonymize_in_a_kernel_without_widgets(executed):
    """DuckDB, which verifies, wanted to draw a bar there, and could not."""
    _, saved, *results = executed([ANONYMIZE, "release.save('out');\nassert sh.verify('out', people)", *SHOWN.values()])
    assert saved == []
    for outputs in results:
        (only,) = outputs
        assert {"text/html", "text/plain"} <= {*only.data}
        assert len(only.data["text/plain"]) < 400
        assert "hiv" not in str(only.data)


def test_a_page_of_the_site_shows_code_and_what_comes_out():
    page = notebook_page(NOTEBOOKS / "steward.ipynb")
    assert page.startswith("# A data steward: ")
    assert "[the notebook](steward.ipynb)" in page
    assert "```python\ndraft = sh.draft(" in page
    assert "```text\nVerdict: " in page
