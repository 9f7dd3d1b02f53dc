"""What the comparison of runs shows: the episodes that they share, whichever of them do."""

from __future__ import annotations

from pathlib import Path

from tests.report.runs import tasks_of, written
from yardarm.comparison import compare, read_runs
from yardarm.pages import comparison_data


def test_runs_may_disagree_on_episodes_that_the_first_does_not_have(tmp_path: Path) -> None:
    alone = written(tmp_path / "a", tasks_of({"reach-v3": "sss"}))
    both = [
        written(tmp_path / name, tasks_of({"reach-v3": "ss", "door-v3": own}))
        for name, own in (("b", "ss"), ("c", "ff"))
    ]
    runs = read_runs([alone, *both])
    episodes = comparison_data(compare(runs), runs)["episodes"]
    found = dict(zip(zip(episodes["task"], episodes["index"], strict=True), episodes["outcomes"], strict=True))
    assert found == {
        ("metaworld/reach-v3", 0): "sss",
        ("metaworld/reach-v3", 1): "sss",
        ("metaworld/door-v3", 0): "-sf",
        ("metaworld/door-v3", 1): "-sf",
    }
