"""``yardarm report``: the page again, figures, Markdown and a model card."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import yardarm_here
from tests.pages.runs import toy_run
from tests.report.runs import tasks_of, written


def test_the_page_is_written_again_and_is_the_same(tmp_path: Path) -> None:
    toy_run(tmp_path / "run")
    before = (tmp_path / "run" / "report.html").read_text()
    (tmp_path / "run" / "report.html").unlink()
    answer = yardarm_here("report", tmp_path / "run")
    assert answer.returncode == 0
    assert answer.stdout == f"Report: {tmp_path / 'run' / 'report.html'}\n"
    assert (tmp_path / "run" / "report.html").read_text() == before


def test_several_runs_make_one_page(tmp_path: Path) -> None:
    for name, outcomes in {"a": "sssf", "b": "ffff"}.items():
        written(tmp_path / name, tasks_of({"reach-v3": outcomes}))
    answer = yardarm_here("report", tmp_path / "a", tmp_path / "b")
    assert answer.returncode == 0
    assert answer.stdout == "Report: comparison.html\n"
    assert '"comparisons"' in Path("comparison.html").read_text()


def test_figures_markdown_and_a_model_card(tmp_path: Path) -> None:
    run = written(tmp_path / "run", tasks_of({"reach-v3": "sssf"}))
    figures = yardarm_here("report", run, f"--figures={tmp_path / 'figures'}")
    assert figures.returncode == 0
    assert {path.suffix for path in (tmp_path / "figures").iterdir()} == {".pdf", ".svg"}
    markdown = yardarm_here("report", "--markdown", run)
    assert markdown.returncode == 0
    assert "| reach-v3 | 75.0% | 3/4 |" in markdown.stdout
    card = yardarm_here("report", run, "--model-card")
    assert card.returncode == 0
    assert "model-index" in (run / "README.md").read_text()
    named = yardarm_here("report", run, f"--model_card={tmp_path / 'CARD.md'}")
    assert named.returncode == 0
    assert (tmp_path / "CARD.md").exists()
    assert not (run / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "there is no run nowhere"),
        (["run", "--figures"], "--figures needs a value"),
        (["--markdown"], "needs the folder of at least one run"),
        (["run", "run"], "is given twice"),
        (["run", "--markdwon"], "did you mean 'markdown'"),
        (["run", "--markdown", "--output=x.html"], "--markdown writes no report"),
        (["run", "other", "--model-card"], "--model-card needs the run of one policy, got 2 runs"),
        (["run", "--output=/proc/no/such.html"], "cannot be written"),
        (["run", "--figures=/proc/no/such"], "/proc/no/such"),
        (["run", "--model-card=/proc/no/README.md"], "/proc/no"),
    ],
)
def test_bad_words_get_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    for name in ("run", "other"):
        written(tmp_path / name, tasks_of({"reach-v3": "sf"}))
    answer = yardarm_here("report", *words)
    assert answer.returncode == 2, answer.stderr
    assert said in answer.stderr, answer.stderr
    assert answer.stderr.count("\n") == 1, answer.stderr
