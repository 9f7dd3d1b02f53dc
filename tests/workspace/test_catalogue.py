"""The runs below a folder: found, named, read again when they change, and kept from what lies outside."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.report.runs import tasks_of, written
from yardarm.errors import UsageError
from yardarm.workspace.run_catalogue import RunCatalogue
from yardarm.workspace.viewed_folder import ViewedFolder

GOLDEN = Path(__file__).parent.parent / "golden" / "eval_info.json"
TASKS = tasks_of({"reach-v3": "ssf"})


def test_runs_are_found_wherever_they_are(tmp_path: Path) -> None:
    for name in ("a", "day/b", "day/b/against"):
        written(tmp_path / name, TASKS)
    (tmp_path / "day" / "notes").mkdir()
    (tmp_path / "day" / "notes" / "manifest.json").write_text("{}")  # of some other program
    assert {line["name"] for line in RunCatalogue(ViewedFolder(tmp_path)).lines()} == {"a", "day/b", "day/b/against"}


def test_a_folder_that_is_a_run_has_one(tmp_path: Path) -> None:
    written(tmp_path / "run", TASKS)
    (line,) = RunCatalogue(ViewedFolder(tmp_path / "run")).lines()
    assert (line["name"], line["successes"], line["episodes"]) == (".", 2, 3)


def test_a_damaged_run_shows_as_damaged_and_breaks_nothing(tmp_path: Path) -> None:
    for name in ("good", "torn", "lost"):
        written(tmp_path / name, TASKS)
    (tmp_path / "torn" / "manifest.json").write_text('{"plan": ')
    (tmp_path / "lost" / "manifest.json").unlink()
    lines = {line["name"]: line for line in RunCatalogue(ViewedFolder(tmp_path)).lines()}
    assert {name: line["status"] for name, line in lines.items()} == {
        "good": "finished",
        "torn": "damaged",
        "lost": "damaged",
    }
    assert "manifest.json" in lines["torn"]["problem"]


def test_lerobots_runs_are_listed_to_be_compared(tmp_path: Path) -> None:
    (tmp_path / "lerobot").mkdir()
    shutil.copy(GOLDEN, tmp_path / "lerobot" / "eval_info.json")
    (line,) = RunCatalogue(ViewedFolder(tmp_path)).lines()
    assert (line["status"], line["episodes"]) == ("LeRobot", sum(len(own) for own in successes()))
    assert line["successes"] == sum(sum(own) for own in successes())


def successes() -> list[list[bool]]:
    return [task["metrics"]["successes"] for task in json.loads(GOLDEN.read_text())["per_task"]]


def test_a_run_that_grew_is_read_again(tmp_path: Path) -> None:
    run = written(tmp_path / "run", TASKS, n_episodes=9)
    catalogue = RunCatalogue(ViewedFolder(tmp_path))
    assert catalogue.result("run").result.counts.episodes == 3
    record = json.loads((run / "episodes.jsonl").read_text().splitlines()[0])
    with (run / "episodes.jsonl").open("a") as journal:
        journal.write(json.dumps({**record, "index": 3, "seed": 1003}) + "\n")
    assert catalogue.result("run").result.counts.episodes == 4
    assert catalogue.line("run")["episodes"] == 4


@pytest.mark.parametrize("inside", ["manifest.json", "against", "videos"])
def test_a_run_with_links_that_lead_outside_is_not_shown(tmp_path: Path, inside: str) -> None:
    run = written(tmp_path / "shown" / "run", TASKS)
    secret = written(tmp_path / "secret", TASKS)
    (run / "manifest.json").unlink() if inside == "manifest.json" else None
    (run / inside).symlink_to(secret / inside if inside == "manifest.json" else secret)
    catalogue = RunCatalogue(ViewedFolder(tmp_path / "shown"))
    with pytest.raises(UsageError, match="is a link to outside the viewed folder"):
        catalogue.result("run")
    assert [line["status"] for line in catalogue.lines()] == ["damaged"]


def test_odd_runs_do_not_hide_the_others(tmp_path: Path) -> None:
    written(tmp_path / "good", TASKS)
    odd = written(tmp_path / "odd", TASKS)
    manifest = json.loads((odd / "manifest.json").read_text())
    (odd / "manifest.json").write_text(json.dumps({**manifest, "wall_s": float("nan")}))
    deep = written(tmp_path / "deep", TASKS)
    (deep / "manifest.json").write_text("[" * 100_000)
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    lines = {line["name"]: line for line in RunCatalogue(ViewedFolder(tmp_path)).lines()}
    assert lines["good"]["status"] == "finished"
    assert "manifest.json is damaged: wall_s must be a finite number" in lines["odd"]["problem"]
    assert lines["deep"]["status"] == "damaged"
    json.dumps(list(lines.values()), allow_nan=False).encode()


@pytest.mark.parametrize("name", ["..", "../secret", "/etc", "run/../../secret", "link", "no-such-run", "run/actions"])
def test_nothing_else_has_a_name(tmp_path: Path, name: str) -> None:
    written(tmp_path / "shown" / "run", TASKS)
    written(tmp_path / "secret", TASKS)
    (tmp_path / "shown" / "link").symlink_to(tmp_path / "secret")
    catalogue = RunCatalogue(ViewedFolder(tmp_path / "shown"))
    with pytest.raises(UsageError, match=r"outside the viewed folder|there is no run"):
        catalogue.folder(name)
    assert [line["name"] for line in catalogue.lines()] == ["run"]
