"""`yardarm train` as a user meets it."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers import (
    assert_all_gone,
    courses,
    descendants,
    journal_lines,
    start_yardarm,
    wait_until,
    yardarm,
    yardarm_here,
)
from tests.training.made import IMAGES, META_WORLD_STATES, demonstrations
from tests.training.test_resume import assert_same, weights
from yardarm.training import Checkpoint

TINY = (
    *("--policy.type=act", "--policy.device=cpu", "--policy.chunk_size=4", "--policy.n_action_steps=4"),
    *("--policy.dim_model=16", "--policy.n_heads=2", "--policy.dim_feedforward=32", "--policy.n_encoder_layers=1"),
    *("--policy.n_vae_encoder_layers=1", "--policy.latent_dim=4", "--threads=1", "--batch_size=4"),
)
SHORT = ("--env.type=metaworld", "--env.task=reach-v3", "--env.episode_length=30")


def test_a_training_that_was_killed_goes_on_and_gives_the_same_weights(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    words = ("train", *TINY, f"--dataset.root={data}", "--steps=300", "--log_freq=50", "--save_freq=10")
    process = start_yardarm(*words, f"--output_dir={tmp_path / 'killed'}")
    wait_until((tmp_path / "killed" / "checkpoints" / "000020").is_dir)
    process.kill()
    process.communicate()
    assert not (tmp_path / "killed" / "checkpoints" / "000300").exists(), "it was too quick to be killed"
    again = yardarm_here("train", "--resume=true", f"--config_path={tmp_path / 'killed'}")
    assert again.returncode == 0, again.stderr
    assert "resuming after step" in again.stdout
    assert yardarm_here(*words, f"--output_dir={tmp_path / 'whole'}").returncode == 0
    assert_same(weights(tmp_path / "killed"), weights(tmp_path / "whole"))
    steps = [json.loads(line)["step"] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps), "points of the session that was killed are not told twice"


@pytest.mark.parametrize("sent", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_signal_stops_after_a_checkpoint_and_says_how_to_go_on(sent: signal.Signals, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    words = ("train", *TINY, f"--dataset.root={data}", "--steps=100000", "--log_freq=5", "--save_freq=0")
    process = start_yardarm(*words, f"--output_dir={tmp_path / 'run'}")
    wait_until(
        lambda: (tmp_path / "run" / "metrics.jsonl").exists() and (tmp_path / "run" / "metrics.jsonl").read_text() != ""
    )
    process.send_signal(sent)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert "Traceback" not in said
    command = said.strip().splitlines()[-1].strip()
    assert command == f"yardarm train --resume=true --config_path={tmp_path / 'run'}"
    [checkpoint] = [path for path in (tmp_path / "run" / "checkpoints").iterdir() if not path.is_symlink()]
    again = yardarm_here(*command.split()[1:], f"--steps={int(checkpoint.name) + 3}", "--log_freq=1")
    assert again.returncode == 0, again.stderr


@pytest.mark.slow
def test_record_train_evaluate_compare(tmp_path: Path) -> None:
    """The whole loop, in a real simulator."""
    expert = ("--policy.type=expert", *SHORT[:2])
    recorded = yardarm_here(
        *("record", *expert, "--n_episodes=3", "--seed=100000", f"--dataset.root={tmp_path / 'data'}"),
        *("--dataset.features=observation.environment_state", f"--output_dir={tmp_path / 'recorded'}"),
    )
    assert recorded.returncode == 0, recorded.stderr
    trained = yardarm_here(
        *("train", *TINY, *SHORT, f"--dataset.root={tmp_path / 'data'}", f"--output_dir={tmp_path / 'run'}"),
        *("--steps=20", "--eval_freq=10", "--eval.n_episodes=2", "--save_freq=0", "--log_freq=5"),
    )
    assert trained.returncode == 0, trained.stderr
    points = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    evaluated = {point["step"]: point for point in points if point["kind"] == "evaluation"}
    assert {step: (point["status"], point["episodes"]) for step, point in evaluated.items()} == {
        10: ("finished", 2),
        20: ("finished", 2),
    }
    assert evaluated[20]["low"] <= evaluated[20]["rate"] <= evaluated[20]["high"]

    policy = tmp_path / "run" / "checkpoints" / "last" / "pretrained_model"
    alone = yardarm_here(
        "eval", f"--policy.path={policy}", *SHORT, "--eval.n_episodes=2", f"--output_dir={tmp_path / 'own'}"
    )
    assert alone.returncode == 0, alone.stderr
    assert courses(tmp_path / "own") == courses(tmp_path / "run" / "eval" / "step_000020")

    # An evaluation that a stop has left undone is done when the training goes on.
    shutil.rmtree(tmp_path / "run" / "eval" / "step_000020")
    kept = [point for point in points if (point["kind"], point["step"]) != ("evaluation", 20)]
    (tmp_path / "run" / "metrics.jsonl").write_text("".join(f"{json.dumps(point)}\n" for point in kept))
    again = yardarm_here("train", "--resume=true", f"--config_path={tmp_path / 'run'}")
    assert again.returncode == 0, again.stderr
    assert courses(tmp_path / "own") == courses(tmp_path / "run" / "eval" / "step_000020")

    played = yardarm_here(
        "eval", "--policy.type=expert", *SHORT, "--eval.n_episodes=2", f"--output_dir={tmp_path / 'expert'}"
    )
    assert played.returncode == 0, played.stderr
    compared = yardarm_here("compare", tmp_path / "own", tmp_path / "expert")
    assert compared.returncode == 0, compared.stderr
    assert "expert" in compared.stdout


@pytest.mark.slow
def test_evaluations_can_be_waited_for(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", features=META_WORLD_STATES)
    result = yardarm(
        *("train", *TINY, *SHORT, f"--dataset.root={data}", f"--output_dir={tmp_path / 'run'}", "--steps=2"),
        *("--eval_freq=1", "--eval.n_episodes=1", "--eval.background=false", "--save_freq=0", "--log_freq=1"),
    )
    assert result.returncode == 0, result.stderr
    points = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    order = [(point["step"], point["kind"]) for point in points if point.get("status") != "running"]
    assert order.index((1, "evaluation")) < order.index((2, "train")), "training waits"


@pytest.mark.slow
def test_evaluations_that_other_versions_have_begun_go_on_if_that_is_allowed(tmp_path: Path) -> None:
    data, run = demonstrations(tmp_path / "data", features=META_WORLD_STATES), tmp_path / "run"
    begun = yardarm(
        *("train", *TINY, *SHORT, f"--dataset.root={data}", f"--output_dir={run}", "--steps=2", "--eval_freq=2"),
        *("--eval.n_episodes=2", "--eval.background=false", "--save_freq=0", "--log_freq=1"),
    )
    assert begun.returncode == 0, begun.stderr
    # As if it had been stopped in its evaluation, and another MuJoCo installed since.
    curve, evaluated = run / "metrics.jsonl", run / "eval" / "step_000002"
    kept = [line for line in curve.read_text().splitlines(keepends=True) if '"evaluation"' not in line]
    manifest = json.loads((evaluated / "manifest.json").read_text())
    manifest["sessions"][-1]["versions"]["mujoco"], manifest["status"] = "3.0.0", "interrupted"
    (evaluated / "manifest.json").write_text(json.dumps(manifest))
    first = (evaluated / "episodes.jsonl").read_text().splitlines(keepends=True)[0]
    (evaluated / "episodes.jsonl").write_text(first)
    for words, status in (((), "failed"), (("--allow_mixed_versions=true",), "finished")):
        curve.write_text("".join(kept))
        resumed = yardarm("train", "--resume=true", f"--config_path={run}", *words)
        point = json.loads(curve.read_text().splitlines()[-1])
        assert (point["kind"], point["status"]) == ("evaluation", status), resumed.stderr
        assert ("mujoco was 3.0.0, is now" in str(point["problem"])) == (status == "failed")
    assert "allow_mixed_versions" not in (run / "checkpoints/last/pretrained_model/train_config.json").read_text()
    assert json.loads((evaluated / "manifest.json").read_text())["mixed_versions"]["mujoco"][0] == "3.0.0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "which dataset"),
        (("--dataset.root=nowhere", "--policy.type=act"), "nowhere"),
        (("--dataset.rot=x",), "unknown option '--dataset.rot'; did you mean 'root'"),
        (("--resume=true",), "--resume=true needs a training"),
        (("--resume=true", "--config_path=nowhere"), "there is no nowhere to resume from"),
        (("--steps=many", "--dataset.root=x"), "--steps"),
        (("run",), "takes flags only, not 'run'"),
        (("--eval.cores=-1", "--dataset.root=x"), "--eval.cores must not be negative"),
    ],
)
def test_a_mistake_has_one_line_and_code_2(words: tuple[str, ...], message: str) -> None:
    result = yardarm_here("train", *words)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def video_of(data: Path) -> Path:
    [video] = data.rglob("*.mp4")
    return video


@pytest.mark.parametrize("streaming", ["false", "true"])
def test_a_missing_video_is_noticed_before_the_policy_is_made(streaming: str, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2, features=IMAGES)
    video = video_of(data)
    video.unlink()
    # Weights that are not there would be complained of when the network is made.
    words = (*TINY, "--policy.pretrained_backbone_weights=nothing", f"--dataset.streaming={streaming}", "--steps=2")
    result = yardarm_here("train", *words, f"--dataset.root={data}", f"--output_dir={tmp_path / 'run'}")
    assert result.returncode == 2
    assert result.stderr == f"yardarm: {video} is missing; the dataset is incomplete\n"
    assert not (tmp_path / "run").exists()


def test_videos_of_episodes_that_are_not_trained_on_may_be_missing(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2, features=IMAGES)
    rows = pq.read_table(data / "meta" / "episodes" / "chunk-000" / "file-000.parquet").to_pydict()
    rows["videos/observation.image/file_index"] = [0, 1]
    pq.write_table(pa.table(rows), data / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
    words = (
        *TINY,
        "--policy.pretrained_backbone_weights=null",
        "--num_workers=0",
        "--steps=1",
        f"--dataset.root={data}",
    )
    whole = yardarm_here("train", *words, f"--output_dir={tmp_path / 'whole'}")
    assert "file-001.mp4 is missing" in whole.stderr
    part = yardarm_here("train", *words, "--dataset.episodes=[0]", f"--output_dir={tmp_path / 'part'}")
    assert part.returncode == 0, part.stderr


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_training_that_fails_before_its_first_step_leaves_nothing_behind(workers: int, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2, features=IMAGES)
    video_of(data).write_bytes(b"no video")
    words = (*TINY, "--policy.pretrained_backbone_weights=null", f"--num_workers={workers}", "--steps=2")
    result = yardarm("train", *words, f"--dataset.root={data}", f"--output_dir={tmp_path / 'run'}")
    assert result.returncode == 2
    assert str(video_of(data)) in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_help_explains_every_flag() -> None:
    shown = yardarm_here("train", "--help").stdout
    for flag in (
        "--steps",
        "--dataset.root",
        "--policy.type",
        "--optimizer.lr",
        "--peft.r",
        "--eval.background",
        "--view",
    ):
        assert flag in shown


def tell_everybody(process: subprocess.Popen[str], sent: signal.Signals) -> list[psutil.Process]:
    """Send a signal as Slurm does: to all processes, whatever group or session they are in."""
    others = descendants(process.pid)
    for own in (psutil.Process(process.pid), *others):
        with contextlib.suppress(psutil.NoSuchProcess):
            own.send_signal(sent)
    return others


@pytest.mark.parametrize("sent", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)])
def test_a_signal_to_all_processes_of_a_training_stops_it_as_cleanly(sent: signal.Signals, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    words = ("train", *TINY, f"--dataset.root={data}", "--steps=100000", "--log_freq=5", "--save_freq=0")
    process = start_yardarm(*words, "--num_workers=2", f"--output_dir={tmp_path / 'run'}")
    wait_until(lambda: process.poll() is not None or len(points(tmp_path / "run")) > 0, 120)
    others = tell_everybody(process, sent)
    assert len(others) == 2, "those that load data"
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + sent, said
    assert "Traceback" not in said
    assert said.count("yardarm: stopping after this step") == 1, "the training says so, and nobody else"
    [checkpoint] = [path for path in (tmp_path / "run" / "checkpoints").iterdir() if not path.is_symlink()]
    assert Checkpoint(checkpoint).problem() is None
    assert_all_gone(others)


@pytest.mark.slow
def test_a_signal_to_all_processes_is_no_failure_of_the_evaluation_beside(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", features=META_WORLD_STATES)
    words = ("train", *TINY, f"--dataset.root={data}", "--steps=100000", "--log_freq=5", "--save_freq=0")
    beside = (*SHORT, "--eval_freq=20", "--eval.n_episodes=1000", "--eval.background=true", "--num_workers=2")
    process = start_yardarm(*words, *beside, f"--output_dir={tmp_path / 'run'}")
    wait_until(lambda: process.poll() is not None or journal_lines(tmp_path / "run" / "eval" / "step_000020") > 0, 120)
    others = tell_everybody(process, signal.SIGTERM)
    assert len(others) > 4, "two that load data, an evaluation, and its own"
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143, said
    assert "Traceback" not in said
    assert not [point for point in points(tmp_path / "run") if point.get("status") == "failed"]
    assert_all_gone(others)


def points(run: Path) -> list[dict[str, Any]]:
    """The learning curve so far."""
    curve = run / "metrics.jsonl"
    return [json.loads(line) for line in curve.read_text().splitlines()] if curve.exists() else []
