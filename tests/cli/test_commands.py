"""The command line as a user meets it: a subprocess, its output, its files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest
import yaml

from tests.helpers import courses, yardarm, yardarm_here

REACH = ["eval", "--policy.type=expert", "--env.type=metaworld", "--env.task=reach-v3"]


def test_help_explains_every_command() -> None:
    assert "usage: yardarm COMMAND" in yardarm("--help").stdout
    for command in ("eval", "tasks", "replay", "info"):
        answer = yardarm_here(command, "--help")
        assert answer.returncode == 0
        assert f"usage: yardarm {command}" in answer.stdout
    flags = yardarm_here("eval", "--help").stdout
    for flag in ("--eval.n_episodes", "--env.task", "--seed", "--output_dir", "--config_path", "--env.camera_name"):
        assert flag in flags


def test_eval_leaves_the_files_of_a_run(tmp_path: Path) -> None:
    words = [*REACH, "--eval.n_episodes=3", "--eval.pictures=0", "--output_dir=run"]
    answer = yardarm(*words)
    assert answer.returncode == 0, answer.stderr
    assert "\nreach-v3  100.0%   3/3  43.9% – 100.0%" in answer.stdout
    assert "yardarm replay run --task=reach-v3 --episode=0" in answer.stdout
    run = tmp_path / "run"
    assert {path.name for path in run.iterdir()} == {
        "actions",
        "config.yaml",
        "episodes.jsonl",
        "eval_info.json",
        "manifest.json",
        "report.html",
    }
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "finished"
    (session,) = manifest["sessions"]
    assert session["versions"]["metaworld"] == "3.1.1"
    assert session["command"][1:] == words
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    assert sorted((line["index"], line["seed"]) for line in lines) == [(0, 1000), (1, 1001), (2, 1002)]
    played = np.load(run / "actions" / "metaworld" / "reach-v3" / "00000.npz")
    assert played["actions"].shape == (lines[0]["steps"] if lines[0]["index"] == 0 else len(played["rewards"]), 4)
    info = json.loads((run / "eval_info.json").read_text())
    assert info["overall"]["pc_success"] == 100


def test_a_runs_config_repeats_it(tmp_path: Path) -> None:
    assert yardarm(*REACH, "--eval.n_episodes=2", "--output_dir=run").returncode == 0
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert config["env"]["task"] == "reach-v3"
    again = yardarm("eval", "--config_path=run/config.yaml", "--output_dir=again")
    assert again.returncode == 0, again.stderr
    assert courses(tmp_path / "again") == courses(tmp_path / "run")


def test_flags_may_be_separated_by_spaces() -> None:
    words = "eval --policy.type expert --env.type metaworld --env.task reach-v3 --eval.n_episodes 1 --seed 3"
    assert yardarm(*words.split(), "--output_dir", "run").returncode == 0
    assert json.loads(Path("run/episodes.jsonl").read_text())["seed"] == 3


def test_lerobots_flags_are_accepted_with_warnings_where_they_mislead() -> None:
    answer = yardarm(
        *[word.replace("reach-v3", "metaworld-reach-v3") for word in REACH],
        "--env.episode_length=400",
        "--env.multitask_eval=false",
        "--env.render_mode=rgb_array",
        "--env.max_parallel_tasks=1",
        "--env.obs_type=pixels_agent_pos",
        "--eval.batch_size=1",
        "--eval.use_async_envs=false",
        "--eval.n_episodes=1",
        "--job_name=try",
    )
    assert answer.returncode == 0, answer.stderr
    assert "--env.multitask_eval=false has no effect" in answer.stderr
    assert "prefix" in answer.stderr
    assert "LeRobot ignores it" in answer.stderr
    assert "render_mode" not in answer.stderr
    assert list(Path("outputs/eval").glob("*/*_try"))


def test_errors_that_remain_end_with_exit_code_1(tmp_path: Path) -> None:
    answer = yardarm(
        "eval", "--env.type=toy", "--policy.type=random", "--env.task=left", "--eval.n_episodes=2",
        "--env.fault=raise", "--env.fault_times=9", f"--env.scratch={tmp_path}", "--output_dir=run",
    )  # fmt: skip
    assert answer.returncode == 1
    assert "1 of 2 episodes ended in errors" in answer.stderr
    assert "the toy is broken" in Path("run/episodes.jsonl").read_text()


def test_tasks_lists_groups_ids_names_and_instructions() -> None:
    answer = yardarm_here("tasks", "metaworld")
    rows = [line.split("\t") for line in answer.stdout.splitlines()]
    assert ["medium", "0", "basketball-v3", "Dunk the basketball into the basket"] in rows
    assert len(rows) == 28 + 11 + 6 + 5 + 10 + 50
    assert "toy: 3 tasks" in yardarm("tasks").stdout


def test_info_names_versions_and_the_renderer() -> None:
    answer = yardarm("info")
    assert answer.returncode == 0
    assert re.search(r"^metaworld +ready, renders with", answer.stdout, re.MULTILINE)
    assert "usable core" in answer.stdout


def test_replay_renders_the_video_and_checks_it(tmp_path: Path) -> None:
    assert yardarm(*REACH, "--eval.n_episodes=1", "--env.episode_length=12", "--output_dir=run").returncode == 0
    words = ["replay", "run", "--episode=0", "--camera=topview", "--size=48x65", "--fps=40", "--output=out.mp4"]
    answer = yardarm(*words)
    assert answer.returncode == 0, answer.stderr
    assert "matches all 2 recorded fingerprints" in answer.stdout
    with av.open("out.mp4") as video:
        frames = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
        assert float(video.streams.video[0].average_rate) == 40
    assert len(frames) == 7, "steps 0, 2, … 12"
    assert frames[0].shape == (48, 66, 3), "an odd side is made even"
    assert frames[0].std() > 10, "there is something to see"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--task=reech-v3"], "has no finished episode of 'reech-v3'; did you mean 'reach-v3'?"),
        (["--episode=7"], "'reach-v3' has no finished episode 7; it has 0"),
        (["--camera=corner9"], "unknown camera 'corner9'; did you mean 'corner"),
        (["--size=huge"], "--size must be HEIGHTxWIDTH"),
        (["--fps=0"], "--fps must be a whole number, at least 1"),
        (["--output=video.avi"], "--output must end in .mp4"),
    ],
)
def test_replays_mistakes(flags: list[str], message: str, finished_run: Path) -> None:
    answer = yardarm_here("replay", finished_run, *flags)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_replay_that_diverges_says_so(finished_run: Path, tmp_path: Path) -> None:
    run = shutil.copytree(finished_run, tmp_path / "run")
    actions = run / "actions" / "metaworld" / "reach-v3" / "00000.npz"
    arrays = dict(np.load(actions))
    arrays["actions"][3] += 0.1
    np.savez(actions, **arrays)
    answer = yardarm("replay", run, "--size=32", "--fps=8")
    assert answer.returncode == 1
    assert "diverges from the recording (fingerprint after step 10)" in answer.stderr, "not at the start, which agrees"
    whole = actions.read_bytes()
    actions.write_bytes(whole[: len(whole) // 2])
    assert "is damaged" in yardarm_here("replay", run).stderr
    actions.write_bytes(b"rubbish")
    assert "is damaged" in yardarm_here("replay", run).stderr
    actions.unlink()
    assert "is missing" in yardarm_here("replay", run).stderr


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    words = ["--eval.n_episodes=1", "--env.episode_length=10", f"--output_dir={folder}"]
    assert yardarm(*REACH, *words).returncode == 0
    return folder


def test_videos_are_made_after_the_evaluation_and_listed() -> None:
    answer = yardarm(*REACH, "--eval.n_episodes=2", "--eval.videos=1", "--env.episode_length=8", "--output_dir=run")
    assert answer.returncode == 0, answer.stderr
    assert "Video: run/videos/metaworld/reach-v3/episode_00000_corner2.mp4" in answer.stdout
    info = json.loads(Path("run/eval_info.json").read_text())
    assert info["overall"]["video_paths"] == ["run/videos/metaworld/reach-v3/episode_00000_corner2.mp4"]


@pytest.mark.parametrize("use_async_envs", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_what_cannot_be_replayed_is_filmed_while_it_runs(use_async_envs: str) -> None:
    answer = yardarm(
        "eval", "--env.type=toy", "--policy.type=toy-mover", "--env.replayable=false", "--env.task=far",
        "--eval.n_episodes=3", "--eval.videos=2", f"--eval.use_async_envs={use_async_envs}", "--output_dir=run",
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    videos = sorted(Path("run/videos/toy/far").iterdir())
    assert [video.name for video in videos] == ["episode_00000_front.mp4", "episode_00001_front.mp4"]
    with av.open(str(videos[0])) as video:
        assert sum(1 for _ in video.decode(video=0)) == 21
    refused = yardarm("replay", "run", "--episode=0")
    assert refused.returncode == 2
    assert "cannot be replayed" in refused.stderr


def test_worlds_without_opengl_are_filmed_and_replayed(tmp_path: Path) -> None:
    words = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=2", "--output_dir=run"]
    answer = yardarm(*words, "--eval.videos=1", MUJOCO_GL="rubbish")
    assert answer.returncode == 0, answer.stderr
    assert len(list(Path("run/videos").rglob("*.mp4"))) == 2
    assert yardarm("replay", "run", "--task=left", "--episode=1").returncode == 0
    # A file of the user's own among the videos disturbs nobody.
    Path("run/videos/toy/left/episode_best.mp4").write_text("")
    assert yardarm(*words).returncode == 0


def test_one_video_that_cannot_be_made_does_not_cost_the_others(tmp_path: Path) -> None:
    words = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=2", "--output_dir=run"]
    assert yardarm(*words).returncode == 0
    Path("run/actions/toy/left/00000.npz").unlink()
    answer = yardarm(*words, "--eval.videos=2")
    assert answer.returncode == 0
    assert "the video run/videos/toy/left/episode_00000_front.mp4 could not be made" in answer.stderr
    assert len(list(Path("run/videos").rglob("*.mp4"))) == 3
    assert "(all)" in answer.stdout


def test_videos_without_any_actions_end_all_the_same() -> None:
    words = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=1", "--output_dir=run"]
    assert yardarm(*words).returncode == 0
    shutil.rmtree("run/actions")
    answer = yardarm(*words, "--eval.videos=1", timeout=60)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.count("warning: the video run/videos/toy") == 2


def test_a_terminal_that_cannot_show_a_dash_ends_nothing() -> None:
    answer = yardarm(*REACH, "--eval.n_episodes=1", PYTHONIOENCODING="ascii")
    assert answer.returncode == 0, answer.stderr


def test_a_closed_pipe_is_no_error() -> None:
    answer = subprocess.run(
        f"{sys.executable} -m yardarm tasks metaworld | head -1", shell=True, capture_output=True, text=True
    )
    assert answer.stderr == ""
