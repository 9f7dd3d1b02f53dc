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


def test_a_p_value_is_rounded_once_for_terminal_and_page(tmp_path: Path) -> None:
    written(tmp_path / "a", tasks_of({"reach-v3": "sssss"}))
    written(tmp_path / "b", tasks_of({"reach-v3": "fffff"}))
    runs = read_runs([tmp_path / "a", tmp_path / "b"])
    data = comparison_data(compare(runs), runs)
    (pair,) = data["comparisons"]
    assert pair["overall"]["p_value"] == 0.0625
    assert pair["overall"]["p_text"]["p_value"] == "0.063"
    assert "p = 0.063" in data["verdicts"][0]


def test_checkpoints_of_one_training_make_a_curve(tmp_path: Path) -> None:
    for step, letters in {"000400": "ssss", "000200": "ssff", "last": "ssss"}.items():
        path = f"/home/me/train/push/checkpoints/{step}/pretrained_model"
        written(tmp_path / step, tasks_of({"reach-v3": letters}), described={"path": path})
    written(tmp_path / "expert", tasks_of({"reach-v3": "ssss"}))
    runs = read_runs(sorted(tmp_path.iterdir()))
    (curve,) = comparison_data(compare(runs), runs)["over_steps"]
    assert curve["name"] == "push"
    assert [(point["step"], point["rate"], point["run"]) for point in curve["points"]] == [(200, 0.5, 0), (400, 1.0, 1)]
    assert curve["points"][0]["low"] < 0.5 < curve["points"][0]["high"]
    assert comparison_data(compare(runs[1:]), runs[1:])["over_steps"] == []  # one checkpoint is no curve
