"""Markdown that is read back says what was found, whatever runs and tasks are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.report.runs import VERSIONS, MadeTask, compared, stored, tasks_of
from yardarm.report import markdown
from yardarm.report.markdown import escaped
from yardarm.stats import Interval, clustered, wilson
from yardarm.stats.over_tasks import TaskCounts

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
Table = list[list[str]]


def shown(token: Token) -> str:
    return "".join(child.content for child in token.children or ())


def tables(text: str) -> list[Table]:
    """The tables as a reader of the page sees them, with their headers."""
    found: list[Table] = []
    tokens = READER.parse(text)
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type in ("th_open", "td_open"):
            found[-1][-1].append(shown(tokens[place + 1]))
    return found


def texts(text: str) -> list[str]:
    """Paragraphs and list items as a reader sees them."""
    return [shown(token) for token in READER.parse(text) if token.type == "inline"]


def numbers(interval: str) -> list[float]:
    low, high = interval.split(" – ")
    return [float(end.removesuffix("%")) / 100 for end in (low, high)]


def near(interval: Interval) -> Sequence[float]:
    return pytest.approx([interval.low, interval.high], abs=0.0005)


def test_a_runs_table_gives_its_numbers_back(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "sssf", "push-v3": "ffff"}), policy="act-1")
    text = markdown([run], None)
    (table,) = tables(text)
    assert table[0] == ["task", "success", "k/n", "95% interval", "mean steps"]
    assert [row[:3] + row[4:] for row in table[1:]] == [
        ["reach-v3", "75.0%", "3/4", "170"],
        ["push-v3", "0.0%", "0/4", "500"],
        ["all", "37.5%", "3/8", "335"],
    ]
    assert [numbers(row[3]) for row in table[1:]] == [near(wilson(3, 4)), near(wilson(0, 4)), near(wilson(3, 8))]
    head, *_, below = texts(text)
    assert head.startswith("act-1 on metaworld (medium): 37.5% success, 3/8 episodes, 95% interval 13.7% – 69.4%")
    assert "Intervals (95%): Wilson;" in below
    assert "2 tasks, 4 episodes each, seed 1000." in below
    assert "Made with Yardarm 0.1.0 (metaworld 3.1.1, mujoco 3.3.0)." in below


def test_several_groups_have_a_column_and_a_sum_each(tmp_path: Path) -> None:
    tasks = [MadeTask("one", "ss", "easy"), MadeTask("two", "sf", "easy"), MadeTask("three", "ff", "hard")]
    (table,) = tables(markdown([stored(tmp_path / "run", tasks)], None))
    assert [row[:2] + row[3:4] for row in table] == [
        ["group", "task", "k/n"],
        ["easy", "one", "2/2"],
        ["easy", "two", "1/2"],
        ["easy", "whole group", "3/4"],
        ["hard", "three", "0/2"],
        ["", "all", "3/6"],
    ]


def test_errors_are_read_both_ways(tmp_path: Path) -> None:
    text = markdown([stored(tmp_path / "run", tasks_of({"reach-v3": "sfee", "push-v3": "ssss"}))], None)
    (table,) = tables(text)
    assert table[0][-3:] == ["errors", "if they had failed", "if they had succeeded"]
    assert table[1][4] == "275"  # of 50 and 500 steps: what broke took none
    assert table[1][-3:] == ["2", "25.0% (4.6% – 69.9%)", "75.0% (30.1% – 95.4%)"]
    assert table[2][-3:] == ["", "", ""]
    assert "2 error(s) not counted (62.5% if they had failed, 87.5% if they had succeeded)" in text


def test_what_the_intervals_are_is_told(tmp_path: Path) -> None:
    options = {"confidence": 0.9, "interval": "clopper_pearson", "over_tasks": "clustered"}
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "sssf", "push-v3": "ffff"}), options=options)
    text = markdown([run], None)
    (table,) = tables(text)
    assert table[0][3] == "90% interval"
    assert numbers(table[-1][3]) == near(clustered([TaskCounts(3, 4), TaskCounts(0, 4)], 0.9))
    assert "Intervals (90%): Clopper–Pearson (exact); over several tasks, clustered (for new tasks" in text


def test_a_run_that_is_not_finished_says_so(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "ss", "push-v3": ""}), status="interrupted", n_episodes=5)
    text = markdown([run], None)
    assert "**Not finished** (interrupted): 2 of 10 episodes." in text
    assert tables(text)[0][2] == ["push-v3", "-", "0/0", "-", "-"]
    finished = stored(tmp_path / "other", tasks_of({"reach-v3": "ss"}))
    assert "Not finished" not in markdown([finished], None)


def precise(released: int) -> dict[str, object]:
    """What a manifest says of a run that was precise enough after so many episodes."""
    return {
        "rule": "precision",
        "n_episodes": 20,
        "confidence": 0.95,
        "half_width": 0.2,
        "a": "act",
        "players": 1,
        "maximum": 20,
        "released": released,
        "decision": "precise",
        "dropped": {},
        "rate": 0.75,
        "successes": 3,
        "episodes": 4,
        "interval": [0.6, 0.9],
    }


def test_a_run_that_stopped_early_says_what_was_decided(tmp_path: Path) -> None:
    options = {"stop": "precision"}
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "sssfs"}), options=options, stopping=precise(4))
    text = markdown([run], None)
    assert "- Precise enough after 4 of at most 20 episodes: 75.0%" in text
    assert "confidence sequences (valid at any stopping time)" in text
    assert "Not finished" not in text
    assert tables(text)[0][1][2] == "3/4"  # what finished ahead of its turn is not counted


def test_a_comparison_tells_of_an_early_stop_but_not_where_the_run_lies(tmp_path: Path) -> None:
    early = stored(tmp_path / "run", tasks_of({"reach-v3": "sssfs"}), stopping=precise(4))
    inside = stored(tmp_path / "run" / "against", tasks_of({"reach-v3": "sssss"}), stopping=precise(4))
    text = markdown([early, inside], compared(early, inside))
    assert "run/against was stopped early" in text
    assert str(tmp_path) not in text


def test_two_runs_are_compared_task_by_task(tmp_path: Path) -> None:
    a = stored(tmp_path / "a", tasks_of({"reach-v3": "s" * 10, "push-v3": "s" * 10}))
    b = stored(tmp_path / "b", tasks_of({"reach-v3": "f" * 9 + "s", "push-v3": "s" * 10}))
    text = markdown([a, b], compared(a, b))
    runs, tasks = tables(text)
    assert [row[:3] for row in runs[1:]] == [["A: a", "100.0%", "20/20"], ["B: b", "55.0%", "11/20"]]
    assert tasks[0] == ["task", "A", "B", "A − B", "95% interval", "p", "p (Holm)", "only A", "only B", "pairs"]
    assert tasks[1] == ["reach-v3", "100.0%", "10.0%", "+90.0", tasks[1][4], "0.0039", "0.0078", "9", "0", "10"]
    assert tasks[3][0] == "all"
    assert tasks[3][6:] == ["", "9", "0", "20"]
    assert any(line.startswith("A is better than B: A − B = +45.0 points") for line in texts(text))
    assert any(line.startswith("b: b. 2 tasks, 10 episodes each") for line in texts(text))


def test_more_runs_have_letters_and_every_pair(tmp_path: Path) -> None:
    outcomes = {"weak": "s" * 4 + "f" * 36, "good": "s" * 38 + "ff", "best": "s" * 40}
    runs = [stored(tmp_path / name, tasks_of({"reach-v3": letters})) for name, letters in outcomes.items()]
    table, pairs = tables(markdown(runs, compared(*runs)))
    assert [(row[0], row[-1]) for row in table[1:]] == [("weak", "b"), ("good", "a"), ("best", "a")]
    assert [(*row[:3], *row[-3:]) for row in pairs[1:]] == [
        ("weak", "good", "−85.0", "0", "34", "40"),
        ("weak", "best", "−90.0", "0", "36", "40"),
        ("good", "best", "−5.0", "0", "2", "40"),
    ]
    assert pairs[3][4] == "0.500"


def test_runs_of_different_episodes_have_no_pairs(tmp_path: Path) -> None:
    a = stored(tmp_path / "a", tasks_of({"reach-v3": "ssss"}))
    b = stored(tmp_path / "b", tasks_of({"reach-v3": "sfff"}))
    _, tasks = tables(markdown([a, b], compared(a, b, paired=False)))
    assert tasks[0] == ["task", "A", "B", "A − B", "95% interval", "p"]
    assert len(tasks) == 2  # one task needs no sum


def test_versions_of_all_sessions_and_of_other_interpreters_are_told(tmp_path: Path) -> None:
    run = stored(
        tmp_path / "run",
        tasks_of({"reach-v3": "s"}),
        sessions=[{"versions": {**VERSIONS, "yardarm": "0.0.9"}, "other_interpreters": {}}],
        other_interpreters={"/opt/python": {"mujoco": "3.1.0", "torch": None}},
    )
    assert "Yardarm 0.0.9 and 0.1.0 (metaworld 3.1.1, mujoco 3.3.0 and 3.1.0)" in markdown([run], None)


def test_a_policy_is_called_by_its_place_on_the_hub_and_never_by_a_path_of_this_machine(tmp_path: Path) -> None:
    here = {"path": "/home/me/secret", "commit": None}
    there = {"path": "someone/act_pusht", "commit": "0f" * 20}
    found = []
    for name, described in (("plain", {}), ("here", here), ("there", there)):
        run = stored(tmp_path / name, tasks_of({"reach-v3": "s"}), policy="act-1a2b", described=described)
        found.append(markdown([run], None))
    assert [text.split("**")[1] for text in found] == ["act-1a2b", "act-1a2b", "someone/act_pusht"]
    assert "secret" not in "".join(found)


def test_odd_names_stay_what_they_are(tmp_path: Path) -> None:
    name, policy = r"a|b \| `c` *d* _e_ [f](g) <h> $i$ ~~j~~ &amp;", "1. **bold**|#"
    tasks = [MadeTask(name, "sf", "g|1"), MadeTask("x", "sf", "g|2"), MadeTask("y", "s", "g|2")]
    text = markdown([stored(tmp_path / "run", tasks, policy=policy)], None)
    (table,) = tables(text)
    assert table[1][:2] == ["g|1", name]
    assert texts(text)[0].startswith(f"{policy} on metaworld (g|1, g|2): ")


# No control characters: they have no look that could be kept.
@given(st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" |\\`*_[]<>~$&#!"), min_size=1))
def test_any_name_is_shown_as_it_is_in_a_table_in_bold_and_in_a_list(name: str) -> None:
    plain = " ".join(name.split())
    if not plain:
        return
    text = (
        f"| task | k/n |\n| :--- | ---: |\n| {escaped(name)} | 1/2 |\n\n**{escaped(name)}** on\n\n- A: {escaped(name)}"
    )
    assert tables(text) == [[["task", "k/n"], [plain, "1/2"]]]
    assert texts(text)[-2:] == [f"{plain} on", f"A: {plain}"]


def test_names_of_tasks_need_no_backslashes() -> None:
    assert escaped("pick_up_the_black_bowl-v3") == "pick_up_the_black_bowl-v3"
