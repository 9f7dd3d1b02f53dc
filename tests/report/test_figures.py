"""Figures show the numbers that were found, in grey, on a paper's column, and come out the same every time."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.runs import MadeTask, compared, stored, tasks_of
from yardarm.errors import UsageError
from yardarm.report import forest, write_figures
from yardarm.stats import bonett_price, wilson

SVG = {"svg": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
POINTS = 72
LIBERO = "pick_up_the_black_bowl_between_the_plate_and_the_ramekin_and_place_it_on_the_plate"


@pytest.fixture
def svg_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fonts make PDFs slow."""
    monkeypatch.setattr(forest, "UNDATED", {"svg": {"Date": None}})


class Drawing:
    """What can be read off an SVG: texts with their places, marks and intervals in the axis' own numbers."""

    def __init__(self, path: Path) -> None:
        self.source = path.read_text()
        self.root = ElementTree.fromstring(self.source)
        self.texts = [(text.text or "", *self._place(text)) for text in self.root.iterfind(".//svg:text", SVG)]
        ticks = [
            (float(text.replace("−", "-")), x)
            for group in self.root.iterfind(".//svg:g", SVG)
            if re.fullmatch(r"xtick_\d+", group.get("id", ""))
            for text, x, _ in [(node.text or "", *self._place(node)) for node in group.iterfind(".//svg:text", SVG)]
        ]
        (self.low, low_x), *_, (self.high, high_x) = ticks
        self._scale = (self.high - self.low) / (high_x - low_x)
        self._left = low_x

    @staticmethod
    def _place(node: ElementTree.Element) -> tuple[float, float]:
        if node.get("x") is not None:
            return float(node.get("x", "")), float(node.get("y", ""))
        x, y = re.findall(r"-?[\d.]+", node.get("transform", ""))[:2]
        return float(x), float(y)

    def value(self, x: float) -> float:
        return self.low + (x - self._left) * self._scale

    def group(self, name: str) -> ElementTree.Element:
        found = self.root.find(f".//svg:g[@id='{name}']", SVG)
        assert found is not None, name
        return found

    def mark(self, number: int) -> float:
        use = self.group(f"mark-{number}").find(".//svg:use", SVG)
        assert use is not None
        return self.value(float(use.get("x", "")))

    def filled(self, number: int) -> bool:
        use = self.group(f"mark-{number}").find(".//svg:use", SVG)
        assert use is not None
        return "fill: #ffffff" not in use.get("style", "")

    def height_of(self, number: int) -> float:
        use = self.group(f"mark-{number}").find(".//svg:use", SVG)
        assert use is not None
        return float(use.get("y", ""))

    def interval(self, name: str) -> tuple[float, float]:
        path = self.group(name).find(".//svg:path", SVG)
        assert path is not None
        low, _, high, _ = map(float, re.findall(r"-?[\d.]+", path.get("d", "")))
        return self.value(low), self.value(high)

    def row(self, number: int) -> list[str]:
        """What is written beside a mark, from left to right."""
        y = self.height_of(number)
        return [text for text, x, at in sorted(self.texts, key=lambda own: own[1]) if abs(at - y) < 4]

    @property
    def words(self) -> str:
        return " ".join(text for text, _, _ in self.texts)

    @property
    def size(self) -> tuple[float, float]:
        return tuple(float(self.root.get(side, "").removesuffix("pt")) / POINTS for side in ("width", "height"))  # type: ignore[return-value]


@pytest.mark.usefixtures("svg_only")
def test_a_forest_plot_shows_every_rate_and_interval_from_the_best_task_to_the_worst(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({"push-v3": "sfff", "reach-v3": "ssss", "door-v3": "ssff"}))
    (path,) = write_figures([run], None, tmp_path / "figures")
    assert path == tmp_path / "figures" / "forest.svg"
    drawing = Drawing(path)
    expected = [("reach-v3", 4, 4), ("door-v3", 2, 4), ("push-v3", 1, 4), ("all tasks", 7, 12)]
    for number, (name, successes, episodes) in enumerate(expected):
        assert drawing.row(number) == [name, f"{successes}/{episodes}"]
        assert drawing.mark(number) == pytest.approx(100 * successes / episodes, abs=0.01)
        interval = wilson(successes, episodes)
        assert drawing.interval(f"interval-{number}") == pytest.approx(
            (100 * interval.low, 100 * interval.high), abs=0.01
        )
    heights = [drawing.height_of(number) for number in range(4)]
    assert heights[3] - heights[2] > 1.3 * (heights[2] - heights[1])  # set apart
    assert "success rate (%), 95% interval" in drawing.words


@pytest.mark.usefixtures("svg_only")
def test_groups_stand_above_their_tasks(tmp_path: Path) -> None:
    tasks = [MadeTask("one", "ss", "easy"), MadeTask("two", "sf", "easy"), MadeTask("three", "ff", "hard")]
    (path,) = write_figures([stored(tmp_path / "run", tasks)], None, tmp_path)
    drawing = Drawing(path)
    assert [drawing.row(number) for number in range(5)] == [
        ["easy", "3/4"],
        ["one", "2/2"],
        ["two", "1/2"],
        ["three", "0/2"],
        ["all tasks", "3/6"],
    ]


@pytest.mark.usefixtures("svg_only")
def test_errors_and_an_early_end_are_told(tmp_path: Path) -> None:
    tasks = tasks_of({"reach-v3": "ssee", "push-v3": "e", "never": ""})
    run = stored(tmp_path / "run", tasks, status="interrupted")
    drawing = Drawing(write_figures([run], None, tmp_path)[0])
    assert drawing.row(0) == ["reach-v3", "2/2", "2"]
    assert drawing.row(3) == ["all tasks", "2/2", "3"]
    assert "0/0" in drawing.words
    assert drawing.root.find(".//svg:g[@id='mark-1']", SVG) is None  # nothing is known, so nothing is drawn
    assert "Not finished: 5 of 12 episodes." in drawing.words


@pytest.mark.usefixtures("svg_only")
def test_a_single_task_is_not_summed_up(tmp_path: Path) -> None:
    drawing = Drawing(write_figures([stored(tmp_path / "run", tasks_of({"PushT-v0": "ssf"}))], None, tmp_path)[0])
    assert "all tasks" not in drawing.words
    assert drawing.size[0] == pytest.approx(3.4)


@pytest.mark.usefixtures("svg_only")
def test_two_runs_are_shown_by_their_differences(tmp_path: Path) -> None:
    better = stored(tmp_path / "better", tasks_of({"reach-v3": "s" * 30, "push-v3": "s" * 30}))
    worse = stored(tmp_path / "worse", tasks_of({"reach-v3": "s" * 15 + "f" * 15, "push-v3": "s" * 29 + "f"}))
    comparison = compared(better, worse)
    paths = write_figures([better, worse], comparison, tmp_path)
    assert [path.name for path in paths] == ["forest_better.svg", "forest_worse.svg", "comparison.svg"]
    drawing = Drawing(paths[-1])
    assert drawing.interval("reference") == pytest.approx((0, 0), abs=0.01)
    assert drawing.row(0) == ["reach-v3", "15 : 0"]
    assert [drawing.mark(number) for number in range(3)] == pytest.approx([50, 100 / 30, 1600 / 60], abs=0.01)
    assert [drawing.filled(number) for number in range(3)] == [True, False, True]
    counts = comparison.pairs[0].overall.counts
    assert counts is not None
    interval = bonett_price(counts)
    assert drawing.interval("interval-2") == pytest.approx((100 * interval.low, 100 * interval.high), abs=0.01)
    assert "A: better" in drawing.words
    assert "B: worse" in drawing.words


@pytest.mark.usefixtures("svg_only")
def test_a_comparison_with_a_run_that_stopped_early_says_so(tmp_path: Path) -> None:
    stopping = {"rule": "precision", "n_episodes": 6, "confidence": 0.95, "a": "act", "players": 1, "maximum": 6}
    stopping |= {"released": 4, "decision": "precise", "successes": 4, "episodes": 4, "rate": 1.0}
    stopping |= {"interval": [0.5, 1.0], "half_width": 0.3, "dropped": {}}
    early = stored(tmp_path / "early", tasks_of({"reach-v3": "ssssss"}), stopping=stopping)
    other = stored(tmp_path / "other", tasks_of({"reach-v3": "sfffff"}))
    forest_of_early, _, comparison = map(Drawing, write_figures([early, other], compared(early, other), tmp_path))
    assert forest_of_early.row(0) == ["reach-v3", "4/4"]
    assert "stopped early" in comparison.words


@pytest.mark.usefixtures("svg_only")
def test_a_comparison_with_a_run_that_is_not_finished_says_so(tmp_path: Path) -> None:
    early = stored(tmp_path / "early", tasks_of({"reach-v3": "sss"}), n_episodes=6, status="interrupted")
    other = stored(tmp_path / "other", tasks_of({"reach-v3": "sfffff"}))
    *_, comparison = map(Drawing, write_figures([early, other], compared(early, other), tmp_path))
    assert "A run is not finished" in comparison.words


@pytest.mark.usefixtures("svg_only")
def test_runs_of_the_same_name_have_a_figure_each(tmp_path: Path) -> None:
    runs = [stored(tmp_path / name, tasks_of({"reach-v3": "sf"})) for name in ("x/run_2", "y/run", "z/run")]
    names = [path.name for path in write_figures(runs, None, tmp_path / "figures")]
    assert len(set(names)) == len(names) == 3


@pytest.mark.usefixtures("svg_only")
def test_more_runs_are_shown_with_letters_and_pair_by_pair(tmp_path: Path) -> None:
    outcomes = {"weak": "s" * 4 + "f" * 36, "good": "s" * 38 + "ff", "best": "s" * 40}
    runs = [stored(tmp_path / name, tasks_of({"reach-v3": letters})) for name, letters in outcomes.items()]
    paths = write_figures(runs, compared(*runs), tmp_path)
    assert [path.stem for path in paths][-2:] == ["letters", "pairs"]
    letters, pairs = Drawing(paths[-2]), Drawing(paths[-1])
    assert [letters.row(number)[:3] for number in range(3)] == [
        ["best", "40/40", "a"],
        ["good", "38/40", "a"],
        ["weak", "4/40", "b"],
    ]
    columns = {text: x for text, x, _ in letters.texts if text in ("a", "b")}
    assert columns["a"] < columns["b"]
    assert [pairs.row(number)[0] for number in range(3)] == ["weak − good", "weak − best", "good − best"]
    assert [pairs.filled(number) for number in range(3)] == [True, True, False]
    assert pairs.mark(1) == pytest.approx(-90, abs=0.01)


@pytest.mark.usefixtures("svg_only")
def test_runs_that_stand_side_by_side_have_one_order_of_tasks(tmp_path: Path) -> None:
    one = stored(tmp_path / "a" / "run", tasks_of({"x": "ssff", "y": "sfff"}))
    other = stored(tmp_path / "b" / "run", tasks_of({"x": "ssff", "y": "ssss"}))
    first, second = write_figures([one, other], None, tmp_path)
    assert (first.name, second.name) == ("forest_run.svg", "forest_run_2.svg")
    assert [Drawing(path).row(0)[0] for path in (first, second)] == ["y", "y"]


@pytest.mark.usefixtures("svg_only")
def test_long_names_are_wrapped_and_stay_clear_of_the_axis(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({LIBERO: "ssf", "short": "ssf"}, group="libero_spatial"))
    drawing = Drawing(write_figures([run], None, tmp_path)[0])
    assert drawing.size[0] == pytest.approx(7.0)
    names = [text for text, x, _ in drawing.texts if x < 5]
    assert " ".join(names[:2]) == LIBERO.replace("_", " ")
    axis_begins = min(x for text, x, _ in drawing.texts if text == "0")
    with matplotlib.style.context(forest.STYLE):
        assert all(forest._text_width(name) * POINTS < axis_begins - 5 for name in names[:-1])


def test_ninety_tasks_make_the_figure_higher_not_tighter() -> None:
    marks = [forest.Mark(f"KITCHEN SCENE{k} {LIBERO}"[:90], 0.5, wilson(5, 10), ("5/10",)) for k in range(90)]
    plot = forest.ForestPlot(marks, forest.Scale(0, 1, (0, 1), "success rate"), ("k/n",))
    with matplotlib.style.context(["default", forest.STYLE]):
        figure = forest.drawn(plot)
    assert figure.get_figwidth() == 7.0
    rows = sorted(text.get_position()[1] for text in figure.texts if text.get_text() == "5/10")
    assert min(high - low for low, high in itertools.pairwise(rows)) > 7 / POINTS


@pytest.mark.usefixtures("svg_only")
def test_a_name_is_never_read_as_mathematics(tmp_path: Path) -> None:
    name = r"cost $\frac{1}{0}$ & <b>"
    drawing = Drawing(write_figures([stored(tmp_path / "run", tasks_of({name: "sf"}))], None, tmp_path)[0])
    assert drawing.row(0)[0] == name


def test_figures_are_grey_with_fonts_that_journals_take_and_the_same_each_time(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "ssf", "push-v3": "sff"}))
    pdf, svg = write_figures([run], None, tmp_path / "once")
    with matplotlib.rc_context({"font.size": 20, "pdf.fonttype": 3, "xtick.direction": "in", "axes.labelcolor": "red"}):
        again = write_figures([run], None, tmp_path / "again")
    assert [path.read_bytes() for path in (pdf, svg)] == [path.read_bytes() for path in again]
    content = pdf.read_bytes()
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content
    assert b"CreationDate" not in content
    colours = set(re.findall(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})\b", svg.read_text()))
    assert len(colours) > 2
    assert all(red == green == blue for red, green, blue in colours)
    sizes = re.findall(r"font-size: ([\d.]+)px|font: (?:bold )?([\d.]+)px", svg.read_text())
    assert sizes
    assert all(float(one or other) >= 7 for one, other in sizes)
    assert "<text" in svg.read_text()


def test_without_matplotlib_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "s"}))
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'yardarm\[figures\]'"):
        write_figures([run], None, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


@pytest.mark.usefixtures("svg_only")
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "s"}))
    with pytest.raises(UsageError, match=r"taken.forest\.svg cannot be written"):
        write_figures([run], None, tmp_path / "taken")


@given(st.text(st.sampled_from("ab_-/ W"), min_size=1, max_size=80), st.integers(8, 60))
def test_wrapped_names_fit_their_lines_and_lose_only_their_middle(name: str, width: int) -> None:
    lines = forest.wrapped(name, width)
    assert all(len(line) <= width for line in lines)
    assert len(lines) <= max(forest.MOST_LINES, 2 * len(name) // width + 1)
    if len(name) <= 2 * width:
        assert "".join("".join(lines).split()) == "".join(name.split())
