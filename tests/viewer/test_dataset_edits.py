"""Flags and planned edits, as pages send them: kept, checked, applied to a new dataset or in place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.demonstrations import record, still_at_the_end
from tests.datasets.frames_of import snapshot
from tests.helpers import wait_until
from tests.viewer.served import ask, send, viewing_datasets
from yardarm.datasets import read_metadata
from yardarm.datasets.review import REVIEW_FILE, read_review

NAME = {"dataset": "arm"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record(tmp_path / "data" / "arm", 5, {3: still_at_the_end})
    return tmp_path / "data"


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with viewing_datasets(folder) as address:
        yield address


def note(address: str, episodes: list[int], **change: Any) -> dict[str, Any]:
    status, answer = send(address, "/api/dataset/note", **NAME, episodes=episodes, **change)
    assert status == 200, answer
    return dict(answer)


def finished(address: str) -> dict[str, Any]:
    wait_until(lambda: ask(address, "/api/dataset/applied", **NAME)[1]["state"] != "running")
    return dict(ask(address, "/api/dataset/applied", **NAME)[1])


def test_flags_and_planned_edits_are_kept_beside_the_metadata(address: str, folder: Path) -> None:
    before = snapshot(folder)
    note(address, [1, 2], flag="blurred")
    note(address, [3], keep=[5, 90], task="reach the ball")
    review = note(address, [0], delete=True)
    assert review["flags"] == {"1": "blurred", "2": "blurred"}
    assert review["summary"] == "1 deletion, 1 trim, 1 new instruction"
    arm, new = folder / "arm", folder / "arm_edited"
    assert review["commands"] == [
        f"yardarm dataset trim {arm} --episodes=3 --start=5 --end=90 --output={new}",
        f"yardarm dataset relabel {new} --episodes=3 --task='reach the ball' --in_place=true",
        f"yardarm dataset delete {new} --episodes=0 --in_place=true",
    ]
    assert ask(address, "/api/dataset", **NAME)[1]["review"] == review
    after = snapshot(folder)
    assert after.pop(f"arm/{REVIEW_FILE}")
    assert after == before, "frames are as they were"
    note(address, [1, 2], flag=None)
    assert send(address, "/api/dataset/clear", **NAME)[1]["summary"] == ""
    assert snapshot(folder) == before, "without notes there is no file"


def test_edits_are_written_to_a_new_dataset_and_stay_planned(address: str, folder: Path) -> None:
    note(address, [3], keep=[5, 90])
    note(address, [4], flag="good one")
    note(address, [0], delete=True)
    assert send(address, "/api/dataset/apply", **NAME, output="clean")[0] == 200
    job = finished(address)
    assert (job["state"], job["name"], job["episodes"]) == ("done", "clean", 4)
    meta = read_metadata(folder / "clean")
    assert meta.episodes[2].length == 85
    assert read_review(meta).flags == {3: "good one"}
    assert read_metadata(folder / "arm").total_episodes == 5
    assert ask(address, "/api/dataset", **NAME)[1]["review"]["summary"] == "1 deletion, 1 trim"


def test_a_dataset_is_replaced_only_when_that_is_asked_for(address: str, folder: Path) -> None:
    note(address, [0], delete=True)
    assert send(address, "/api/dataset/apply", **NAME)[0] == 400
    assert send(address, "/api/dataset/apply", **NAME, replace=True)[0] == 200
    assert finished(address)["state"] == "done"
    data = ask(address, "/api/dataset", **NAME)[1]
    assert (data["episodes"], data["review"]["summary"]) == (4, "")
    assert [path.name for path in folder.iterdir()] == ["arm"]


def test_a_new_dataset_lies_beside_the_old_one_and_nowhere_else(address: str, folder: Path) -> None:
    note(address, [0], delete=True)
    before = snapshot(folder.parent)
    for output in ("../elsewhere", "/tmp/elsewhere", "arm", "a/b", ".hidden", "", "arm_edited\n"):
        status, answer = send(address, "/api/dataset/apply", **NAME, output=output)
        assert status == 400, output
        assert "name" in answer["problem"], output
        assert snapshot(folder.parent) == before, output


def test_notes_that_make_no_sense_are_refused(address: str, folder: Path) -> None:
    changes: list[tuple[dict[str, Any], str]] = [
        ({"episodes": [9], "flag": ""}, "episodes 9: the dataset has 5 episodes, 0 to 4"),
        ({"episodes": [0], "keep": [5, 5]}, "nothing would be left of episode 0"),
        ({"episodes": [0], "keep": [0, 9999]}, "--end=9999: episode 0 has only "),
        ({"episodes": [0], "keep": [3]}, "'keep' must be two frames"),
        ({"episodes": [0], "task": " "}, "an instruction must not be empty"),
        ({"episodes": [0], "flag": 3}, "flag must be "),
        ({"episodes": "all", "flag": ""}, "episodes must be "),
        ({"episodes": [0], "flag": "x" * 2000}, "'flag' must be shorter than 1000 characters"),
    ]
    for change, problem in changes:
        status, answer = send(address, "/api/dataset/note", **NAME, **change)
        assert status == 400, change
        assert problem in answer["problem"], change
    assert not (folder / "arm" / REVIEW_FILE).exists()


def test_other_datasets_and_viewers_that_others_reach_are_left_alone(folder: Path) -> None:
    with viewing_datasets(folder, "--edit=false") as address:
        assert ask(address, "/api/dataset", **NAME)[1]["editable"] is False
        assert send(address, "/api/dataset/note", **NAME, episodes=[0], flag="")[0] == 403
        assert send(address, "/api/dataset/apply", **NAME, replace=True)[0] == 403
    with viewing_datasets(folder) as address:
        status, answer = send(address, "/api/dataset/note", dataset="../outside", episodes=[0], flag="")
        assert (status, "outside" in answer["problem"]) == (400, True)


def test_checks_run_in_the_background_and_again_when_files_change(address: str, folder: Path) -> None:
    def checked() -> dict[str, Any]:
        wait_until(lambda: ask(address, "/api/dataset/checks", **NAME)[1]["state"] != "running")
        return dict(ask(address, "/api/dataset/checks", **NAME)[1])

    report = checked()["report"]
    assert report["summary"] == "1 warning in 5 episodes"
    assert report["checks"][0]["findings"][0]["episode"] == 3
    note(address, [3], delete=True)
    send(address, "/api/dataset/apply", **NAME, replace=True)
    finished(address)
    assert checked()["report"]["summary"] == "nothing suspicious in 4 episodes"


def test_notes_that_cannot_be_read_are_told_and_the_page_is_shown(address: str, folder: Path) -> None:
    (folder / "arm" / REVIEW_FILE).write_text("{")
    data = ask(address, "/api/dataset", **NAME)[1]
    assert "yardarm_review.json is unreadable" in data["review"]["problem"]
    assert data["episodes"] == 5
