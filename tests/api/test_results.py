"""Results show themselves: as text, as HTML, as pandas' tables, as figures."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pandas
import pytest

import yardarm
from tests.report.runs import MadeTask, tasks_of, written
from yardarm.api import EvaluatedRun, FinishedTraining
from yardarm.errors import SetupError, UsageError

matplotlib.use("agg")

REACH = {"reach-v3": "sssff", "push-v3": "sseff"}
VOID = ("path", "circle")  # closed by themselves, in an SVG


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def run(tmp_path: Path) -> EvaluatedRun:
    return yardarm.read_run(written(tmp_path / "reaching", tasks_of(REACH)))


@pytest.fixture
def better(tmp_path: Path) -> EvaluatedRun:
    return yardarm.read_run(written(tmp_path / "better", tasks_of({"reach-v3": "sssss", "push-v3": "sssff"})))


class Page(HTMLParser):
    """Reads HTML, and holds that every tag is closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(source)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_run_prints_the_table_of_the_command(run: EvaluatedRun) -> None:
    lines = str(run).splitlines()
    assert lines[0].split() == [
        *("group", "task", "success", "k/n", "95%", "interval", "mean", "steps", "mean", "return"),
        *("errors", "if", "they", "had", "failed", "if", "they", "had", "succeeded"),
    ]
    assert re.match(r"medium +reach-v3 +60.0% +3/5 +23.1% – 88.2%", lines[1])
    assert lines[-1] == f"Results: {run.path}"
    assert "1 of 10 episodes ended in errors, which count as neither success nor failure" in str(run)
    assert repr(run) == str(run)


def test_small_values_read_well(run: EvaluatedRun) -> None:
    assert repr(run.counts) == "Counts(5/9 solved, 1 error)"
    assert repr(run.counts.interval) == "Interval(0.267 to 0.811, 95%)"


def test_html_has_the_same_numbers_and_a_drawing_of_each_interval(run: EvaluatedRun) -> None:
    page = Page(run._repr_html_())
    assert {"table", "svg"} <= page.tags
    assert "script" not in page.tags
    assert run._repr_html_().count("<svg") == 4, "two tasks, their group, all"
    for text in ("reach-v3", "60.0%", "3/5", "23.1% – 88.2%", str(run.path)):
        assert text in page.text


def test_html_has_no_colours_but_those_of_the_page(run: EvaluatedRun, better: EvaluatedRun) -> None:
    source = run._repr_html_() + yardarm.compare(run, better)._repr_html_()
    colours = set(re.findall(r"#[0-9a-f]{3,6}\b|rgba?\([^)]*\)|\b(?:black|white)\b(?!-)", source))
    assert colours == {"rgba(128, 128, 128, 0.5)"}, "grey lines show on both light and dark"


def test_names_are_escaped(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    shown = yardarm.read_run(written(tmp_path / "run", [MadeTask(name, "sf")]))._repr_html_()
    assert "<script" not in shown
    assert name in Page(shown).text


def test_a_run_is_a_table_of_episodes(run: EvaluatedRun) -> None:
    frame = run.to_pandas()
    assert len(frame) == 10
    assert list(frame["task"].unique()) == ["reach-v3", "push-v3"]
    assert frame["success"].dtype == "boolean"
    assert frame["steps"].dtype == "Int64"
    failed = frame[frame["status"] == "error"]
    assert len(failed) == 1
    assert failed[["success", "steps", "return"]].isna().all(axis=None)
    assert frame["success"].mean() == pytest.approx(5 / 9), "errors count as neither"
    assert list(frame["seed"][:3]) == [1000, 1001, 1002]


def test_an_episode_of_two_groups_is_one_row_with_both(tmp_path: Path) -> None:
    tasks = [MadeTask("reach-v3", "sf", group="easy"), MadeTask("reach-v3", "sf", group="mt10")]
    frame = yardarm.read_run(written(tmp_path / "run", tasks)).to_pandas()
    assert list(frame["group"]) == ["easy,mt10"] * 2


def test_an_empty_run_is_an_empty_table_with_the_same_types(tmp_path: Path, run: EvaluatedRun) -> None:
    folder = written(tmp_path / "empty", tasks_of({"reach-v3": "s"}))
    (folder / "episodes.jsonl").write_text("")
    empty = yardarm.read_run(folder)
    assert (empty.to_pandas().dtypes == run.to_pandas().dtypes).all()
    assert "Not finished: 0 of 1 episodes" in str(empty)
    Page(empty._repr_html_())
    empty.plot()


def test_a_comparison_shows_itself(run: EvaluatedRun, better: EvaluatedRun) -> None:
    comparison = yardarm.compare(run, better)
    assert "No significant difference" in str(comparison)
    assert "reaching" in Page(comparison._repr_html_()).text
    frame = comparison.to_pandas()
    assert list(frame["task"]) == ["reach-v3", "push-v3", "(all)"]
    assert frame["difference"].iloc[0] == pytest.approx(-0.4)
    assert list(frame["pairs"]) == [5, 4, 9]
    labels = [label.get_text() for label in comparison.plot().get_yticklabels()]
    assert labels == ["push-v3", "reach-v3", "all tasks"], "the task that favours A most comes first"


def test_more_than_two_runs_are_plotted_by_their_rates(run: EvaluatedRun, better: EvaluatedRun, tmp_path: Path) -> None:
    third = written(tmp_path / "third", tasks_of({"reach-v3": "fffff", "push-v3": "fffff"}))
    axes = yardarm.compare(run, better, third).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["better", "reaching", "third"]


def test_a_plot_is_drawn_on_the_axes_that_are_given(run: EvaluatedRun) -> None:
    _, axes = plt.subplots()
    assert run.plot(ax=axes) is axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["reach-v3", "push-v3", "all tasks"]
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("plot", "matplotlib")])
def test_a_missing_package_is_answered_with_the_line_to_type(
    run: EvaluatedRun, monkeypatch: pytest.MonkeyPatch, method: str, package: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SetupError, match=rf"{method}\(\) needs {package}.*run: pip install 'yardarm\[notebook\]'"):
        getattr(run, method)()


def test_results_can_be_sent_to_other_processes(run: EvaluatedRun) -> None:
    assert pickle.loads(pickle.dumps(run)) == run


def test_a_run_that_was_evaluated_against_nothing_says_so(run: EvaluatedRun) -> None:
    with pytest.raises(UsageError, match="was not evaluated against anything"):
        run.comparison()


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing_here"):
        yardarm.read_run(tmp_path / "nothing_here")


POINTS = (
    {"kind": "train", "step": 10, "loss": 2.0, "parts": {"l1": 1.5}, "lr": 1e-3},
    {"kind": "evaluation", "step": 10, "status": "running", "run": "eval/10"},
    {"kind": "train", "step": 20, "loss": 1.0, "parts": {"l1": 0.5}, "lr": 1e-3},
    {
        **{"kind": "evaluation", "step": 10, "status": "finished", "run": "eval/10", "confidence": 0.95},
        **{"successes": 3, "episodes": 4, "errors": 0, "rate": 0.75, "low": 0.3, "high": 0.95},
    },
    {"kind": "checkpoint", "step": 20, "path": "checkpoints/000020"},
)


def test_a_training_shows_its_curve(tmp_path: Path) -> None:
    training = FinishedTraining(tmp_path, 20, True, tmp_path / "checkpoints" / "000020", POINTS)
    assert str(training).splitlines()[:2] == [
        "step  loss  success  k/n  95% interval",
        "10    2     75.0%    3/4  30.0% – 95.0%",
    ]
    assert f"Policy: {training.policy}" in str(training)
    assert [point["rate"] for point in training.evaluations] == [0.75]
    frame = training.to_pandas()
    assert list(frame["kind"]) == ["train", "evaluation", "train", "checkpoint"]
    assert frame["loss_l1"].dropna().tolist() == [1.5, 0.5]
    left, right = training.plot().figure.axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("loss", "success rate (%)")
    assert isinstance(frame, pandas.DataFrame)
    Page(training._repr_html_())


def test_a_training_without_evaluations_lists_some_of_its_losses(tmp_path: Path) -> None:
    points = tuple({"kind": "train", "step": step, "loss": 1 / step, "parts": {}} for step in range(1, 101))
    training = FinishedTraining(tmp_path, 100, True, None, points)
    steps = [int(line.split()[0]) for line in str(training).splitlines()[1:11]]
    assert steps == [1, 12, 23, 34, 45, 56, 67, 78, 89, 100]
    assert "No policy was saved" in str(training)
    with pytest.raises(UsageError, match="saved no checkpoint"):
        training.policy  # noqa: B018
