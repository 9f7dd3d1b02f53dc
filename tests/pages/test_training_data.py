"""What the page of a training shows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.pages.trainings import (
    MANIFEST,
    checkpoint_point,
    evaluation_point,
    train_point,
    usual_points,
    write_training,
)
from yardarm.errors import UsageError
from yardarm.pages import StoredTraining, training_data, training_line
from yardarm.results import TrainingFolder, TrainingManifest

NAN = float("nan")


def training(
    points: Sequence[Mapping[str, Any]], status: str = "finished", name: str = "act", **manifest: Any
) -> StoredTraining:
    content = {**MANIFEST, "step": 0, "steps": 1000, **manifest}
    return StoredTraining(name, Path("/outputs/act"), status, TrainingManifest.from_json(content), points)


def shown(points: Sequence[Mapping[str, Any]], status: str = "finished", **more: Any) -> dict[str, Any]:
    data = training_data(training(points, status, **more))
    json.dumps(data, allow_nan=False)  # as it is sent
    return data


def test_a_training_that_has_just_begun_can_be_shown() -> None:
    data = shown([], "running")
    assert (data["step"], data["steps"], data["loss"], data["evaluation"]) == (0, 1000, None, None)
    assert data["train"]["steps"] == data["saved"] == data["evaluations"] == []


def test_the_list_says_the_newest_loss_and_success_rate() -> None:
    points = [
        train_point(100, 0.9),
        evaluation_point(100, {"reach-v3": "ffff"}),
        train_point(200, 0.4),
        evaluation_point(200, {"reach-v3": "sssf"}),
        evaluation_point(300, {}, "running"),
    ]
    line = training_line(training(points, "running", step=100))
    assert (line["step"], line["loss"]) == (200, 0.4)  # the manifest is written now and then only
    assert (line["evaluation"]["step"], line["evaluation"]["successes"], line["evaluation"]["rate"]) == (200, 3, 0.75)
    assert line["evaluating"] == ["act/eval/step_000300"]


def test_errors_are_counted_apart() -> None:
    (evaluation,) = shown([evaluation_point(100, {"reach-v3": "ss"}, errors=3)])["evaluations"]
    assert (evaluation["successes"], evaluation["episodes"], evaluation["errors"]) == (2, 2, 3)


def test_a_later_line_about_a_step_replaces_an_earlier_one() -> None:
    points = [evaluation_point(100, {}, "running"), evaluation_point(100, {"reach-v3": "ss"})]
    (evaluation,) = shown(points, "running")["evaluations"]
    assert (evaluation["status"], evaluation["episodes"]) == ("finished", 2)


def test_an_evaluation_does_not_go_on_without_its_training() -> None:
    data = shown([evaluation_point(100, {}, "running")], "interrupted")
    assert data["evaluations"][0]["status"] == "interrupted"
    assert data["evaluating"] == []


@pytest.mark.parametrize(("name", "run"), [("day/act", "day/act/eval/step_000100"), (".", "eval/step_000100")])
def test_evaluations_lead_to_their_runs(name: str, run: str) -> None:
    data = shown([evaluation_point(100, {"reach-v3": "s"})], name=name)
    assert data["evaluations"][0]["run"] == run


def test_few_points_are_shown_as_they_are() -> None:
    data = shown(list(usual_points(1000)))
    assert data["train"]["every"] == 1
    assert data["train"]["steps"] == list(range(100, 1001, 100))
    assert data["train"]["columns"]["loss"]["values"][-1] == pytest.approx(0.05 + 2 * 2.718281828**-2.5, rel=1e-5)
    assert "low" not in data["train"]["columns"]["loss"]
    assert data["validation"]["steps"] == [500, 1000]


def test_many_points_are_thinned_and_no_spike_is_lost() -> None:
    points = [train_point(step, 100.0 if step == 1234 else 0.5) for step in range(1, 5002)]
    train = shown(points, steps=5001)["train"]
    assert len(train["steps"]) <= 1000
    assert train["steps"][-1] == 5001
    column = train["columns"]["loss"]
    assert max(column["high"]) == 100.0
    assert min(column["low"]) == 0.5
    spike = column["high"].index(100.0)
    assert column["values"][spike] == pytest.approx((100 + 5 * 0.5) / 6, rel=1e-5)
    assert train["steps"][spike] >= 1234 > train["steps"][spike - 1]


@pytest.mark.parametrize("none", [None, NAN])
def test_a_loss_that_is_no_number_is_said_and_left_out(none: float | None) -> None:
    data = shown([train_point(100, 0.5), train_point(200, none), train_point(300, none)])
    assert data["train"]["columns"]["loss"]["values"] == [0.5, None, None]
    assert data["loss"] is None
    assert data["warnings"] == ["The loss is not a number after step 100: the training has diverged."]


def test_the_parts_of_a_loss_are_shown_if_there_are_several() -> None:
    assert shown([train_point(100, 1.0)])["losses"] == ["loss", "parts.l1_loss", "parts.kld_loss"]
    assert shown([train_point(100, 1.0)])["train"]["columns"]["parts.l1_loss"]["values"] == [0.9]
    assert shown([train_point(100, 1.0, parts={"mse": 1.0})])["losses"] == ["loss"]


def test_the_time_left_goes_by_the_newest_pace() -> None:
    slow = [train_point(step, elapsed_s=float(step)) for step in range(100, 301, 100)]
    resumed = [train_point(step, elapsed_s=0.1 * (step - 300)) for step in range(400, 601, 100)]
    assert shown([*slow, *resumed], "running")["now"]["seconds_left"] == pytest.approx(40.0)
    assert shown([train_point(500, data_s=0.1, update_s=0.3)], "running")["now"]["seconds_left"] == pytest.approx(200.0)
    assert shown([*slow, *resumed], "interrupted")["now"]["seconds_left"] is None


def test_waiting_for_data_is_said_when_it_costs_much() -> None:
    assert not shown([train_point(100, data_s=0.01, update_s=0.09)], "running")["warnings"]
    (warning,) = shown([train_point(100, data_s=0.03, update_s=0.06)], "running")["warnings"]
    assert "33% of the time" in warning


def test_tasks_are_drawn_where_they_can_be_told_apart() -> None:
    several = shown([evaluation_point(100, {"reach-v3": "sf", "push-v3": "ff"})])
    assert several["tasks"]["drawn"] == ["reach-v3", "push-v3"]
    assert several["evaluations"][0]["tasks"]["reach-v3"]["rate"] == 0.5
    assert shown([evaluation_point(100, {"reach-v3": "sf"})])["tasks"]["drawn"] == []
    many = shown([evaluation_point(100, {f"task-{number}": "s" for number in range(50)})])
    assert many["tasks"] == {"count": 50, "drawn": []}


def test_checkpoints_and_evaluations_are_listed_together() -> None:
    points = [checkpoint_point(100), evaluation_point(200, {"reach-v3": "s"}), checkpoint_point(200), train_point(300)]
    assert shown(points)["saved"] == [
        {"step": 200, "checkpoint": "checkpoints/000200", "evaluation": 0},
        {"step": 100, "checkpoint": "checkpoints/000100", "evaluation": None},
    ]


def test_commands_go_on_with_it_and_evaluate_it() -> None:
    points = [checkpoint_point(100), checkpoint_point(200)]
    commands = shown(points, "interrupted")["commands"]
    assert commands["resume"] == "yardarm train --output_dir=/outputs/act --resume=true"
    assert commands["evaluate"] == (
        "yardarm eval --policy.path=/outputs/act/checkpoints/000200/pretrained_model "
        "--env.type=metaworld --env.task=reach-v3,push-v3"
    )
    assert shown(points, "finished")["commands"]["resume"] is None
    assert shown([], "interrupted")["commands"] == {"resume": None, "evaluate": None}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [({"policy": None}, "policy is missing"), ({"steps": "many"}, "steps must be a whole number, got 'many'")],
)
def test_a_wrong_value_in_a_manifest_is_told_by_its_name(
    change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    folder = write_training(tmp_path / "act", usual_points(300), **change)
    with pytest.raises(UsageError, match=rf"training\.json is damaged: {complaint}"):
        TrainingFolder(folder).read_manifest()


def test_points_that_cannot_be_understood_are_named() -> None:
    with pytest.raises(UsageError, match=r"/outputs/act cannot be shown .* damaged, or from another version"):
        training_data(training([{"kind": "train", "step": 1}]))
