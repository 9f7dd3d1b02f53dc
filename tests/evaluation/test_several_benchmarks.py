"""One evaluation over several benchmarks: one queue, one report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.helpers import courses, yardarm
from yardarm.api import evaluate
from yardarm.errors import UsageError
from yardarm.evaluation import EvalConfig, Plan, config_from_data, config_to_data
from yardarm.policies import PolicySpec
from yardarm.results import read_journal
from yardarm.tasks import BENCHMARKS
from yardarm.tasks.metaworld import MetaworldConfig

ToyConfig = BENCHMARKS.load("toy")
LISTED = {
    "policy": {"type": "random"},
    "env": [
        {"type": "toy", "task": "left,right", "max_parallel_tasks": 2},
        {"type": "metaworld", "task": "reach-v3", "episode_length": 5},
    ],
    "eval": {"n_episodes": 2},
}


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "both.yaml"
    path.write_text(yaml.safe_dump(LISTED))
    return path


@pytest.mark.slow
def test_a_list_in_a_file_is_one_run(config_file: Path) -> None:
    answer = yardarm("eval", f"--config_path={config_file}", "--output_dir=run", "--eval.videos=1")
    assert answer.returncode == 0, answer.stderr
    assert "random on 3 task(s): 6 episodes" in answer.stdout
    assert "metaworld/reach-v3  reach-v3" in answer.stdout
    info = json.loads(Path("run/eval_info.json").read_text())
    assert set(info["per_group"]) == {"toy/left", "toy/right", "metaworld/reach-v3"}
    assert info["overall"]["n_episodes"] == 6
    assert sorted(info["overall"]["video_paths"]) == [
        "run/videos/metaworld/reach-v3/episode_00000_corner2.mp4",
        "run/videos/toy/left/episode_00000_front.mp4",
        "run/videos/toy/right/episode_00000_front.mp4",
    ]
    # What was written down runs again, and has nothing left to do.
    again = yardarm("eval", "--config_path=run/config.yaml")
    assert again.returncode == 0, again.stderr
    assert "6 of them already finished" in again.stdout


@pytest.mark.slow
def test_episodes_are_those_of_each_benchmark_alone(tmp_path: Path) -> None:
    envs = [ToyConfig(task="left"), MetaworldConfig(task="reach-v3", episode_length=5)]
    both = evaluate("random", envs, n_episodes=3, output_dir=tmp_path / "both")
    alone = [evaluate("random", env, n_episodes=3, output_dir=tmp_path / env.name) for env in envs]
    assert courses(both) == {**courses(alone[0]), **courses(alone[1])}
    assert {record.key.benchmark for record in read_journal(tmp_path / "both" / "episodes.jsonl")} == {
        "toy",
        "metaworld",
    }


def test_a_configuration_goes_there_and_back() -> None:
    config = config_from_data(LISTED)
    assert [env.name for env in config.envs] == ["toy", "metaworld"]
    assert config_from_data(config_to_data(config)) == config


def test_the_same_task_with_other_options_is_refused() -> None:
    envs = [MetaworldConfig(task="reach-v3"), MetaworldConfig(task="reach-v3", episode_length=5)]
    with pytest.raises(UsageError, match="'reach-v3' of metaworld is selected twice, with different options"):
        evaluate("random", envs, n_episodes=1)


def test_the_same_task_twice_runs_once() -> None:
    envs = [MetaworldConfig(task="reach-v3", episode_length=5)] * 2
    run = evaluate("random", envs, n_episodes=2)
    assert len(run.episodes) == 2
    assert [len(result.episodes) for result in run.tasks] == [2]


def test_tasks_stand_in_the_order_of_their_first_selection() -> None:
    tasks = MetaworldConfig(task="push-v3,reach-v3,easy").tasks()
    distinct = Plan("policy", tasks, 1, 1000).distinct_tasks()
    assert [task.name for task in distinct[:3]] == ["push-v3", "reach-v3", "button-press-v3"]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ([], "env is an empty list"),
        ([3], "each benchmark in the list must be a section with a type, got '3'"),
        ([{"task": "left"}], "--env.type is missing"),
        ("toy", "'env' must be a section of its own"),
    ],
)
def test_lists_that_make_no_sense_are_named(env: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        config_from_data({**LISTED, "env": env})


def test_flags_cannot_reach_into_a_list(config_file: Path) -> None:
    answer = yardarm("eval", f"--config_path={config_file}", "--env.task=left")
    assert answer.returncode == 2
    assert "--env.task: the configuration file has a list under 'env'; edit it there" in answer.stderr


def test_names_are_not_mixed_with_configurations() -> None:
    with pytest.raises(UsageError, match="not a mix of both"):
        evaluate("random", [ToyConfig(), "reach-v3"], n_episodes=1)  # type: ignore[list-item]


def test_one_benchmark_needs_no_list() -> None:
    config = EvalConfig(env=ToyConfig(), policy=PolicySpec("random"))
    assert config.envs == (config.env,)
    assert config_to_data(config)["env"]["type"] == "toy"
