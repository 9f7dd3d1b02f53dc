"""Checkpoints that a command cannot use: each command gives advice that it follows itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load_file, save_file

from tests.checkpoints import small_act
from tests.helpers import yardarm, yardarm_here
from tests.training.made import META_WORLD_STATES, demonstrations
from yardarm.policies.learned.config import FeatureType, PolicyFeature

REACH = ("--env.type=metaworld", "--env.task=reach-v3")
ONE = "--eval.n_episodes=1"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign") / "checkpoint"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"type": "xvla"}))
    return folder


@pytest.fixture
def without_statistics(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    seen = {"observation.environment_state": PolicyFeature(FeatureType.ENV, (39,))}
    small_act(image=None, input_features=seen).save_pretrained(folder)
    file = folder / "policy_postprocessor_step_0_unnormalizer_processor.safetensors"
    known = load_file(file)
    save_file({name: value for name, value in known.items() if not name.startswith("action.")}, file)
    return folder


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (
            ("eval", "--policy.path={}", *REACH),
            "add --policy.python=PATH, the Python of an environment that has lerobot",
        ),
        (("eval", "--policy.type=expert", *REACH, ONE, "--against={}"), "add --against.python=PATH"),
        (("record", "--policy.path={}", *REACH, "--n_episodes=1", "--dataset.root=new"), "add --policy.python=PATH"),
        (("serve", "--policy.path={}"), "`yardarm-serve --backend=lerobot --policy.path=…` in LeRobot's own"),
        (
            ("train", "--policy.path={}", "--dataset.root=data"),
            "which cannot be trained here, but only act, diffusion, pi0, pi05, smolvla: train it with LeRobot, and "
            "evaluate it with `yardarm eval --policy.python=PATH`",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_checkpoint_that_only_lerobot_runs_gets_advice_that_works(
    words: tuple[str, ...], advice: str, foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    demonstrations(tmp_path / "data", episodes=2)
    answer = yardarm_here(*(word.format(foreign) for word in words))
    assert answer.returncode == 2
    assert f"{foreign / 'config.json'} is of a policy of type 'xvla'" in answer.stderr
    assert advice in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_against_takes_the_advice_that_it_gives(foreign: Path) -> None:
    words = (f"--against.path={foreign}", "--against.python=/no/python")
    answer = yardarm_here("eval", "--policy.type=expert", *REACH, ONE, *words)
    assert "--against.python=/no/python cannot be run" in answer.stderr


def test_training_does_not_take_another_python(foreign: Path, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2)
    answer = yardarm_here("train", f"--policy.path={foreign}", f"--dataset.root={data}", "--policy.python=python3")
    assert answer.returncode == 2
    assert "--policy.python is for evaluations: training runs here, without LeRobot" in answer.stderr


@pytest.mark.parametrize("command", ["eval", "record", "serve"])
def test_missing_statistics_are_refused_by_every_command(
    command: str, without_statistics: Path, tmp_path: Path
) -> None:
    recorded = (*REACH, "--n_episodes=1", f"--dataset.root={tmp_path / 'data'}")
    words = {"eval": (*REACH, ONE), "record": recorded, "serve": ()}[command]
    run = yardarm if command == "serve" else yardarm_here  # a server that takes it would not end
    answer = run(command, f"--policy.path={without_statistics}", *words)
    assert answer.returncode == 2
    assert f"{without_statistics} has no normalisation statistics for 'action'; get a complete copy" in answer.stderr
    assert "--policy.allow_missing_stats=true" in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_who_allows_missing_statistics_is_warned_and_it_is_written_down(
    without_statistics: Path, tmp_path: Path
) -> None:
    answer = yardarm(
        *("eval", f"--policy.path={without_statistics}", "--policy.allow_missing_stats=true", *REACH),
        *(ONE, f"--output_dir={tmp_path / 'run'}"),
    )
    assert answer.returncode == 0, answer.stderr
    assert f"{without_statistics} has no normalisation statistics for 'action': raw values pass" in answer.stderr
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert config["policy"]["allow_missing_stats"] is True


def test_a_training_gives_a_policy_the_statistics_that_it_lacks(without_statistics: Path, tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2, features=META_WORLD_STATES)
    words = ("--steps=1", "--batch_size=2", "--num_workers=0", "--threads=1", f"--output_dir={tmp_path / 'run'}")
    answer = yardarm_here("train", f"--policy.path={without_statistics}", f"--dataset.root={data}", *words)
    assert answer.returncode == 0, answer.stderr
    assert "statistics" not in answer.stderr
    trained = tmp_path / "run" / "checkpoints" / "last" / "pretrained_model"
    assert "action.mean" in load_file(trained / "policy_postprocessor_step_0_unnormalizer_processor.safetensors")


def test_a_dataset_without_statistics_is_not_trained_on(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data", episodes=2)
    words = ("train", "--policy.type=act", f"--dataset.root={data}", "--steps=1", f"--output_dir={tmp_path / 'run'}")
    stats = json.loads((data / "meta" / "stats.json").read_text())
    del stats["action"]
    (data / "meta" / "stats.json").write_text(json.dumps(stats))
    answer = yardarm_here(*words)
    assert answer.returncode == 2
    advice = f"yardarm dataset recompute-stats {data} --in_place=true"
    assert f"{data} has no statistics to normalise 'action' with; `{advice}` adds them" in answer.stderr
    assert not (tmp_path / "run").exists()
    assert yardarm_here(*advice.split()[1:]).returncode == 0
    assert "action" in json.loads((data / "meta" / "stats.json").read_text())
