"""Checkpoints are whole or not there; a damaged one is named, and the one before it is offered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.training.made import demonstrations, small_training
from yardarm.errors import UsageError
from yardarm.training import find_checkpoint_to_resume, train
from yardarm.training.checkpoints import Checkpoint, write_checkpoint


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    data = demonstrations(folder / "data")
    train(small_training(data, folder / "run", save_freq=2))
    return folder / "run"


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run", symlinks=True))


def test_the_layout_is_lerobots(trained: Path) -> None:
    assert sorted(path.name for path in (trained / "checkpoints").iterdir()) == ["000002", "000004", "000006", "last"]
    assert (trained / "checkpoints" / "last").readlink() == Path("000006")
    last = trained / "checkpoints" / "last"
    assert {"config.json", "model.safetensors", "train_config.json", "policy_preprocessor.json"} <= {
        path.name for path in (last / "pretrained_model").iterdir()
    }
    assert {
        "optimizer_state.safetensors",
        "optimizer_param_groups.json",
        "rng_state.safetensors",
        "scheduler_state.json",
        "training_step.json",
    } <= {path.name for path in (last / "training_state").iterdir()}
    assert json.loads((last / "training_state" / "training_step.json").read_text())["step"] == 6


@pytest.mark.parametrize(
    "place", [".", "checkpoints", "checkpoints/last", "checkpoints/last/pretrained_model/train_config.json"]
)
def test_a_training_is_found_by_any_of_its_folders(place: str, trained: Path) -> None:
    assert find_checkpoint_to_resume(trained / place).step == 6


def test_an_earlier_checkpoint_can_be_chosen(trained: Path) -> None:
    assert find_checkpoint_to_resume(trained / "checkpoints" / "000002" / "pretrained_model").step == 2


@pytest.mark.parametrize("name", ["training_state/optimizer_state.safetensors", "pretrained_model/model.safetensors"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_offered(name: str, copy: Path) -> None:
    file = copy / "checkpoints" / "000006" / name
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(UsageError, match=f"000006 is damaged: {name} has changed .* whole: --config_path=.*/000004/"):
        find_checkpoint_to_resume(copy)


def test_a_missing_file_is_damage_too_and_only_whole_checkpoints_are_offered(copy: Path) -> None:
    (copy / "checkpoints" / "000006" / "training_state" / "rng_state.safetensors").unlink()
    (copy / "checkpoints" / "000004" / "pretrained_model" / "config.json").write_text("{}")
    with pytest.raises(UsageError, match=r"rng_state.safetensors is missing; .*/000002/pretrained_model/train_config"):
        find_checkpoint_to_resume(copy)


def test_a_folder_without_checkpoints_is_said_to_have_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no checkpoints to resume from"):
        find_checkpoint_to_resume(tmp_path)
    with pytest.raises(UsageError, match=r"there is no .*nowhere"):
        find_checkpoint_to_resume(tmp_path / "nowhere")


def test_a_checkpoint_that_fails_half_way_leaves_the_last_one_as_it_was(copy: Path) -> None:
    def fails(checkpoint: Checkpoint) -> None:
        (checkpoint.policy / "config.json").write_text("half")
        raise RuntimeError("the power has gone")

    with pytest.raises(RuntimeError):
        write_checkpoint(copy / "checkpoints", 8, fails)
    assert find_checkpoint_to_resume(copy).step == 6
    assert [path.name for path in (copy / "checkpoints").iterdir() if path.name.startswith(".")] == []
