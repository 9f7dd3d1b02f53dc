"""Each mistake gets one clear line on stderr and exit code 2, before anything slow starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import path_with, yardarm, yardarm_here

EVAL = ["eval", "--policy.type=expert", "--env.type=metaworld", "--env.task=reach-v3", "--eval.n_episodes=1"]


def with_flag(flag: str) -> list[str]:
    name = flag.partition("=")[0]
    return [*[word for word in EVAL if word.partition("=")[0] != name], flag]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evil"], "unknown command 'evil'; did you mean 'eval'?"),
        (["eval"], "--env.type is missing; give one of aloha, gym, hub, libero, metaworld, pusht, so101_twin, toy"),
        (["eval", "--env.type=metaworld"], "--policy.type is missing"),
        (["eval", "reach-v3"], "yardarm eval takes flags only, not 'reach-v3'"),
        (["eval", "-x"], "'-x' is not a flag"),
        (with_flag("--env.type=metaworl"), "unknown benchmark 'metaworl'; did you mean 'metaworld'?"),
        (with_flag("--env.task=reech-v3"), "unknown task 'reech-v3'; did you mean 'reach-v3'?"),
        (with_flag("--policy.type=expret"), "unknown policy 'expret'; did you mean 'expert'?"),
        (with_flag("--policy.type=no.such.module:Name"), "cannot import 'no.such.module:Name'"),
        (with_flag("--policy.type=json:Name"), "module 'json' has no 'Name'"),
        (with_flag("--policy.type=json:JSONDecoder"), "has no wants, place, start, infer"),
        (with_flag("--policy.size=3"), "policy 'expert' has no option 'size'"),
        (
            with_flag("--policy.path=lerobot/act"),
            "--policy.type=expert and --policy.path=lerobot/act exclude each other",
        ),
        ([*EVAL[:1], *EVAL[2:], "--policy.path="], "--policy.path is empty"),
        ([*EVAL[:1], *EVAL[2:], "--policy.path=a/b/c"], "there is no such folder, and it is not a Hub id"),
        (with_flag("--policy.type=pretrained"), "--policy.path=CHECKPOINT or --policy.type is missing"),
        (with_flag("--rename_map=nonsense"), "--rename_map=nonsense must map the environment's names to the policy's"),
        (with_flag("--policy.type=act"), "--policy.type=act needs trained weights: give --policy.path="),
        (with_flag("--eval.n_episode=3"), "unknown option '--eval.n_episode'; did you mean 'n_episodes'?"),
        (with_flag("--eval.n_episodes=many"), "--eval.n_episodes must be a whole number, got 'many'"),
        (with_flag("--eval.n_episodes=0"), "--eval.n_episodes must be positive, got 0"),
        (with_flag("--eval.n_episodes=1000000"), "--eval.n_episodes must be at most 100,000 a task, got 1000000"),
        (with_flag("--eval.batch_size=-1"), "--eval.batch_size must not be negative, got -1"),
        (with_flag("--env.max_parallel_tasks=-1"), "--env.max_parallel_tasks must not be negative, got -1"),
        (with_flag("--env.task="), "--env.task is empty"),
        (with_flag("--seed=null"), "--seed must be a whole number"),
        (with_flag("--policy.type=my:"), "'my:' is not of the form package.module:Name"),
        (with_flag("--policy.type=.foo:Bar"), "cannot import '.foo:Bar'"),
        (with_flag("--policy.type=json:__doc__"), "'json:__doc__' is not a class"),
        (with_flag("--policy.type=builtins:int"), "'builtins:int' is not a class"),
        (with_flag("--eval.use_async_envs=perhaps"), "--eval.use_async_envs must be true or false, got 'perhaps'"),
        (with_flag("--eval=3"), "'eval' must be a section of its own: --eval.…=…"),
        (with_flag("--seed=1.5"), "--seed must be a whole number, got 1.5"),
        (with_flag("--output_dir"), "--output_dir needs a value: --output_dir=…"),
        (with_flag("--output_dir="), "--output_dir is empty"),
        (with_flag("--config_path"), "--config_path needs a value"),
        (with_flag("--env.task"), "--env.task needs a value"),
        (with_flag("--env.type"), "--env.type needs a value"),
        (with_flag("--policy.type"), "--policy.type needs a value"),
        (with_flag("--eval.n_episodes"), "--eval.n_episodes needs a value"),
        (with_flag("--seeds=3"), "unknown option '--seeds'; did you mean 'seed'?"),
        (with_flag("--seed=-1"), "--seed must not be negative"),
        (with_flag("--job_name=a/b"), "--job_name must be short and without '/'"),
        (with_flag("--env.obs_type=pixel"), "--env.obs_type 'pixel' is unknown; did you mean 'pixels'?"),
        (with_flag("--env.camera_name=corner5"), "--env.camera_name 'corner5' is unknown; did you mean 'corner"),
        (with_flag("--env.episode_length=0"), "--env.episode_length must be positive"),
        (with_flag("--config_path=nowhere.yaml"), "there is no configuration file nowhere.yaml"),
        ([*EVAL, "--seed=1", "--seed=2"], "--seed is given twice"),
        (["tasks", "metawrld"], "unknown benchmark 'metawrld'; did you mean 'metaworld'?"),
        (["tasks", "a", "b"], "takes one benchmark"),
        (["info", "please"], "yardarm info takes no arguments, got 'please'"),
        (["replay", "nowhere"], "there is no run nowhere"),
        (["replay", "a", "b"], "needs the folder of one run, got 2"),
        (["replay", "a", "--tsk=b"], "unknown option '--tsk'; did you mean 'task'?"),
    ],
)
def test_a_mistake_gets_one_clear_line(words: list[str], message: str) -> None:
    answer = yardarm_here(*words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not answer.stdout
    assert not Path("outputs").exists(), "something was started"


@pytest.mark.parametrize("words", [["evil"], with_flag("--env.task=reech-v3"), ["replay", "nowhere"]])
def test_a_mistake_is_all_that_the_program_talks_of(words: list[str]) -> None:
    answer = yardarm(*words)
    assert answer.returncode == 2
    assert answer.stderr.startswith("yardarm: ")
    assert answer.stderr.count("\n") == 1
    assert not answer.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "must contain a mapping"),
        ("eval: {n_episodes: [", "cannot be read"),
        ("eval: 3", "'eval' must be a section of its own"),
        ("tracking: {enable: true}", "unknown option '--tracking'"),
        ("eval: {1: 2}", "unknown option '--eval.1'"),
        ("seed: many", "--seed must be a whole number, got 'many'"),
    ],
)
def test_a_bad_config_file_gets_one_clear_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(content)
    answer = yardarm_here("eval", "--config_path=config.yaml")
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_an_output_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = yardarm_here(*EVAL, f"--output_dir={tmp_path / 'file' / 'run'}")
    assert answer.returncode == 2
    assert "cannot be made" in answer.stderr


@pytest.mark.parametrize("content", ["{}", "[]", '{"plan": 3}', "rubbish"])
def test_a_damaged_manifest_is_named(content: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text(content)
    for words in ([*EVAL, "--output_dir=run"], ["replay", "run"]):
        answer = yardarm_here(*words)
        assert answer.returncode == 2
        assert "manifest.json is damaged" in answer.stderr
        assert answer.stderr.count("\n") == 1


def test_a_file_beside_the_user_does_not_stand_in_for_a_module(tmp_path: Path) -> None:
    (tmp_path / "socket.py").write_text("raise RuntimeError('this is not the socket you are looking for')")
    script = f"{sys.executable.rpartition('/')[0]}/yardarm"
    words = [script, *EVAL, "--output_dir=run"]
    assert subprocess.run(words, capture_output=True, text=True).returncode == 0


def test_experts_of_another_benchmark_are_refused(tmp_path: Path) -> None:
    answer = yardarm_here("eval", "--env.type=toy", "--policy.type=expert")
    assert answer.returncode == 2
    assert "the policy is for tasks with an expert of their own, which 'left' of toy has not" in answer.stderr


@pytest.mark.parametrize(
    ("package", "version", "message"),
    [
        (
            "metaworld",
            "2.0",
            "needs metaworld==3.1.1, but metaworld 2.0 is installed; run: yardarm setup metaworld (or: pip",
        ),
        (
            "mujoco",
            "3.8.1",
            "needs mujoco==3.3.0, but mujoco 3.8.1 is installed; run: yardarm setup metaworld (or: pip",
        ),
        (
            "gymnasium",
            "0.29",
            "needs gymnasium>=1.1,<2, but gymnasium 0.29 is installed; run: yardarm setup metaworld (or: pip",
        ),
    ],
)
def test_versions_that_do_not_fit_are_named(package: str, version: str, message: str, tmp_path: Path) -> None:
    # A distribution of another version, found before the real one.
    info = tmp_path / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    answer = yardarm(*EVAL, PYTHONPATH=path_with(tmp_path))
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("value", ["rubbish", pytest.param("glfw", marks=pytest.mark.slow)])
def test_a_broken_renderer_is_found_before_any_episode_runs(value: str, tmp_path: Path) -> None:
    answer = yardarm(*EVAL, "--eval.videos=1", f"--output_dir={tmp_path / 'run'}", MUJOCO_GL=value)
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "egl" in answer.stderr
    assert not (tmp_path / "run" / "episodes.jsonl").exists()
    # Mended, the same command runs.
    again = yardarm(*EVAL, "--env.episode_length=3", f"--output_dir={tmp_path / 'run'}")
    assert again.returncode == 0, again.stderr


def test_a_renderer_that_is_not_needed_does_not_matter() -> None:
    assert yardarm(*EVAL, MUJOCO_GL="rubbish").returncode == 0
