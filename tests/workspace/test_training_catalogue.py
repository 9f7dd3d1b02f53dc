"""The trainings below a folder: found, followed as they grow, and kept from what lies outside."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.pages.trainings import append_points, train_point, usual_points, with_evaluation, write_training
from tests.report.runs import tasks_of, written
from yardarm.errors import UsageError
from yardarm.results import Curve, RunFolder, TrainingFolder
from yardarm.workspace.run_catalogue import RunCatalogue
from yardarm.workspace.training_catalogue import TrainingCatalogue
from yardarm.workspace.viewed_folder import ViewedFolder


def trainings(folder: Path) -> TrainingCatalogue:
    return TrainingCatalogue(ViewedFolder(folder))


def test_trainings_and_their_evaluations_are_found_by_one_walk(tmp_path: Path) -> None:
    points = with_evaluation(tmp_path / "day/act", 100, {"reach-v3": "sf"})
    write_training(tmp_path / "day/act", points)
    written(tmp_path / "expert", tasks_of({"reach-v3": "s"}))
    written(tmp_path / "day/act/checkpoints/000100/run", tasks_of({"reach-v3": "s"}))  # belongs to the checkpoint
    viewed = ViewedFolder(tmp_path)
    found = list(viewed.walk())
    assert [line["name"] for line in TrainingCatalogue(viewed).lines(found)] == ["day/act"]
    runs = {line["name"] for line in RunCatalogue(viewed).lines(found)}
    assert runs == {"expert", "day/act/eval/step_000100"}


def test_a_folder_that_is_a_training_has_one(tmp_path: Path) -> None:
    write_training(tmp_path / "act", usual_points(1000))
    (line,) = trainings(tmp_path / "act").lines()
    assert (line["name"], line["step"], line["policy"]) == (".", 1000, "act")


def test_a_damaged_training_shows_as_damaged_and_breaks_nothing(tmp_path: Path) -> None:
    for name in ("good", "torn", "bent", "odd"):
        write_training(tmp_path / name, usual_points(1000))
    (tmp_path / "torn/training.json").write_text('{"policy": ')
    (tmp_path / "bent/metrics.jsonl").write_text("nonsense\n")
    (tmp_path / "odd/training.json").write_text("{}")
    lines = {line["name"]: line for line in trainings(tmp_path).lines()}
    assert {name for name, line in lines.items() if line["status"] == "damaged"} == {"torn", "bent", "odd"}
    assert "training.json is damaged" in lines["torn"]["problem"]
    assert "metrics.jsonl is damaged at line 1" in lines["bent"]["problem"]
    assert lines["good"]["status"] == "finished"


def test_a_training_that_grew_is_read_on(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "act", [train_point(100, 0.5)])
    catalogue = trainings(tmp_path)
    assert catalogue.line("act")["loss"] == 0.5
    append_points(folder, [train_point(200, 0.25)])
    assert catalogue.line("act")["loss"] == 0.25
    assert catalogue.data("act")["train"]["columns"]["loss"]["values"] == [0.5, 0.25]


def test_a_training_whose_process_has_gone_is_interrupted(tmp_path: Path) -> None:
    folder = TrainingFolder(write_training(tmp_path / "act", [train_point(100)], status="running"))
    catalogue = trainings(tmp_path)
    curve = Curve(folder.journal, upto=100)
    for path in (folder.journal, folder.manifest):  # silent for long, but somebody holds it
        os.utime(path, (time.time() - 3600,) * 2)
    assert catalogue.line("act")["status"] == catalogue.data("act")["status"] == "running"
    curve.close()
    assert catalogue.line("act")["status"] == catalogue.data("act")["status"] == "interrupted"


def test_an_evaluation_knows_its_training(tmp_path: Path) -> None:
    points = with_evaluation(tmp_path / "act", 100, {"reach-v3": "s"})
    write_training(tmp_path / "act", points)
    alone = written(tmp_path / "runs/day/alone", tasks_of({"reach-v3": "s"}))
    run = RunFolder(tmp_path / "act/eval/step_000100")
    assert trainings(tmp_path).evaluated_by(run) == "act"
    assert trainings(tmp_path / "act").evaluated_by(run) == "."
    assert trainings(tmp_path / "act/eval").evaluated_by(run) is None  # it lies outside of what is viewed
    assert trainings(tmp_path).evaluated_by(RunFolder(alone)) is None


@pytest.mark.parametrize("name", ["..", "../secret", "/etc", "link", "nothing", "act/eval"])
def test_nothing_else_has_a_name(tmp_path: Path, name: str) -> None:
    write_training(tmp_path / "shown/act", [])
    write_training(tmp_path / "secret", [])
    (tmp_path / "shown/link").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageError, match=r"outside the viewed folder|there is no training"):
        trainings(tmp_path / "shown").data(name)


def test_a_training_with_links_that_lead_outside_is_not_shown(tmp_path: Path) -> None:
    folder = write_training(tmp_path / "shown/act", [])
    secret = write_training(tmp_path / "secret", [train_point(100)])
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").symlink_to(secret / "metrics.jsonl")
    catalogue = trainings(tmp_path / "shown")
    with pytest.raises(UsageError, match="is a link to outside the viewed folder"):
        catalogue.data("act")
    assert [line["status"] for line in catalogue.lines()] == ["damaged"]
