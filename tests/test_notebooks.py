"""The notebooks run from top to bottom, show charts and pages, and are stored without what they print."""

from __future__ import annotations

import json
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_nothing_that_was_printed_is_stored(file: Path) -> None:
    cells = [cell for cell in json.loads(file.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_they_run(file: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(file, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert {output.output_type for output in outputs} == {"execute_result"}
    shown = [output.data.get("text/html") or output.data.get("image/svg+xml", "") for output in outputs]
    assert all(shown)
    assert sum(picture.startswith("<svg") for picture in shown) >= 1
    assert not any("http" in text.replace("http://www.w3.org/", "") for text in shown)
    assert "<iframe" in shown[-1]
    (page,) = tmp_path.glob("*.html")
    assert page.name in shown[-1]
