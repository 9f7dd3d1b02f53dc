"""In a notebook, progress is drawn in place, results are HTML, and mistakes end in their message."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]


def execute(notebook: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run all cells in a kernel of their own, whose working directory is the folder."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=280, kernel_name="python3", resources=resources).execute()
    return notebook


def cells(*sources: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def shown(cell: nbformat.NotebookNode, kind: str = "text/html") -> list[str]:
    return [output.data[kind] for output in cell.outputs if kind in output.get("data", {})]


def test_a_cell_shows_one_bar_and_one_table(tmp_path: Path) -> None:
    evaluate = "yardarm.evaluate('toy-mover', 'left', benchmark='toy', n_episodes=8)"
    notebook = execute(cells("import yardarm", f"run = {evaluate}\nrun", "run.plot();", "run.to_pandas()"), tmp_path)
    _, evaluated, plotted, tabled = notebook.cells
    bar, table = shown(evaluated)
    assert "<progress" in bar
    assert 'max="8" value="8"' in bar
    assert "8/8 episodes · " in bar
    assert "<table" in table
    text = shown(evaluated, "text/plain")
    assert text[0].startswith("8/8 episodes · "), "for whoever reads it without HTML"
    assert text[1].startswith("task   success")
    assert not [output for output in evaluated.outputs if output.get("name") == "stderr"]
    assert len(shown(plotted, "image/png")) == 1
    assert "<table" in shown(tabled)[0]


def test_a_bar_can_be_turned_off(tmp_path: Path) -> None:
    call = "import yardarm\nrun = yardarm.evaluate('zero', 'left', benchmark='toy', n_episodes=2, progress=False)"
    assert execute(cells(call), tmp_path).cells[0].outputs == []


def test_a_mistake_ends_in_its_message(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError) as failed:
        execute(cells("import yardarm", "yardarm.evaluate('expert', 'reach-v3', n_episodes='ten')"), tmp_path)
    assert failed.value.evalue == "n_episodes must be a whole number, got 'ten'"
    assert failed.value.traceback.count("site-packages") == 0


@pytest.mark.slow
def test_the_example_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "examples" / "first_hour.ipynb", as_version=4)
    assert not [cell for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")], "stripped"
    execute(notebook, tmp_path)
    for cell in notebook.cells:
        assert not [output for output in cell.get("outputs", ()) if output.get("name") == "stderr"], cell.source
    assert sum(len(shown(cell)) for cell in notebook.cells if cell.cell_type == "code") >= 10
