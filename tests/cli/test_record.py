"""``yardarm record`` as a user meets it: its help, its mistakes, Ctrl-C."""

from __future__ import annotations

import json
import re
import shlex
import signal
from pathlib import Path

import pytest

from tests.helpers import assert_all_gone, descendants, start_yardarm, wait_until, yardarm_here
from yardarm.datasets import read_metadata
from yardarm.recording import RecordDatasetOptions

RECORD = ["record", "--policy.type=expert", "--env.type=metaworld", "--env.task=reach-v3", "--dataset.root=data"]
TOY = ["record", "--policy.type=toy-mover", "--env.type=toy", "--dataset.root=data"]


def with_flags(words: list[str], *flags: str) -> list[str]:
    names = [flag.partition("=")[0] for flag in flags]
    return [*[word for word in words if word.partition("=")[0] not in names], *flags]


def test_help_explains_the_flags() -> None:
    answer = yardarm_here("record", "--help")
    assert answer.returncode == 0
    for flag in ("--n_episodes", "--only_successes", "--dataset.image_size", "--env.task", "--seed", "--output_dir"):
        assert f"\n  {flag} " in answer.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["record", "here"], "yardarm record takes flags only, not 'here'"),
        (RECORD[:-1], "--dataset.root=FOLDER is missing (or --dataset.repo_id=owner/name)"),
        (with_flags(RECORD, "--env.task=reech-v3"), "unknown task 'reech-v3'; did you mean 'reach-v3'?"),
        (with_flags(RECORD, "--n_episode=3"), "unknown option '--n_episode'; did you mean 'n_episodes'?"),
        (with_flags(RECORD, "--n_episodes=0"), "--n_episodes must be positive, got 0"),
        (with_flags(RECORD, "--n_episodes=many"), "--n_episodes must be a whole number, got 'many'"),
        (with_flags(RECORD, "--workers=65"), "--workers must lie between 0 (fit to this machine) and 64"),
        (with_flags(RECORD, "--dataset=data"), "'dataset' must be a section of its own: --dataset.root=…"),
        (with_flags(RECORD, "--dataset.rot=data"), "unknown option '--dataset.rot'; did you mean 'root'?"),
        (with_flags(RECORD, "--dataset.repo_id=name"), "'name' is not the name of a dataset: it must be owner/name"),
        (with_flags(RECORD, "--dataset.push_to_hub=true"), "add --dataset.repo_id=owner/name"),
        (with_flags(RECORD, "--dataset.private=true"), "add --dataset.push_to_hub=true"),
        (with_flags(RECORD, "--output_dir=data"), "--dataset.root and --output_dir are both data"),
        (with_flags(RECORD, "--dataset.image_size=8"), "--dataset.image_size must be HEIGHTxWIDTH or one number"),
        (with_flags(RECORD, "--dataset.image_size=96x"), "like 96 or 96x128; got '96x'"),
        (with_flags(RECORD, "--dataset.vcodec=h265"), "unknown video codec 'h265'"),
        (with_flags(RECORD, "--dataset.vcodec=h264", "--dataset.image_size=33"), "h264 needs even sides"),
        (
            with_flags(RECORD, "--dataset.crf=99"),
            "crf (0: best, largest) must be between 0 and 63 for libsvtav1, got 99",
        ),
        (
            with_flags(RECORD, "--dataset.features=observation.stat"),
            "does not offer 'observation.stat'; did you mean 'observation.state'?",
        ),
        (with_flags(RECORD, "--dataset.features=,"), "--dataset.features is empty"),
        (
            with_flags(RECORD, "--dataset.features=states", "--dataset.image_size=96"),
            "--dataset.image_size=96: no image is recorded",
        ),
        (with_flags(TOY, "--dataset.image_size=96"), "the images of 'toy' have one size only"),
        (with_flags(TOY, "--env.replayable=false"), "'left' of toy cannot be recorded"),
        (with_flags(TOY, "--policy.type=expert"), "the policy is for tasks with an expert of their own"),
        (["eval", *TOY[1:3], "--env.replayable=false", "--eval.recording=true"], "'left' of toy cannot be recorded"),
        (["eval", *TOY[1:3], "--eval.recording_repo_id=a/b"], "needs --eval.recording=true"),
        (
            ["eval", *TOY[1:3], "--eval.recording=true", "--eval.recording_private=true"],
            "add --eval.recording_repo_id=owner/name",
        ),
        (
            ["eval", *TOY[1:3], "--eval.recording=true", "--eval.recording_repo_id=b"],
            "'b' is not the name of a dataset",
        ),
    ],
)
def test_a_mistake_is_answered_by_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    answer = yardarm_here(*words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "outputs").exists()
    assert not (tmp_path / "data").exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "notes.txt").write_text("mine")
    assert "is a file, or a folder with something else in it" in yardarm_here(*TOY).stderr
    (tmp_path / "file").write_text("")
    assert yardarm_here(*with_flags(TOY, "--dataset.root=file")).returncode == 2
    assert "file/data cannot be written" in yardarm_here(*with_flags(TOY, "--dataset.root=file/data")).stderr


def test_a_dataset_of_other_features_is_refused(tmp_path: Path) -> None:
    words = [*TOY, "--n_episodes=1", "--env.task=left"]
    assert yardarm_here(*words).returncode == 0
    for flag in ("--dataset.features=states", "--dataset.crf=20", "--dataset.video=false"):
        answer = yardarm_here(*words, flag)
        assert answer.returncode == 2, flag
        assert "data holds a dataset of other features ('observation.image' differs)" in answer.stderr
    (tmp_path / "data" / "meta" / "rollouts.jsonl").unlink()
    assert "1 episodes, 0 of which were recorded by this command" in yardarm_here(*words).stderr


def test_a_dataset_is_looked_for_where_lerobot_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_LEROBOT_HOME", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    assert RecordDatasetOptions(repo_id="owner/name").target.root == tmp_path / "hf" / "lerobot" / "owner" / "name"
    monkeypatch.setenv("HF_LEROBOT_HOME", str(tmp_path / "lerobot"))
    assert RecordDatasetOptions(repo_id="owner/name").target.root == tmp_path / "lerobot" / "owner" / "name"


def test_ctrl_c_stops_cleanly_and_says_how_to_continue(tmp_path: Path) -> None:
    words = [*TOY, "--n_episodes=3", "--env.step_s=0.02", "--workers=1"]
    process = start_yardarm(*words)
    info = tmp_path / "data" / "meta" / "info.json"
    wait_until(lambda: info.exists() and json.loads(info.read_text())["total_episodes"] >= 1)
    children = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert_all_gone(children)
    assert "Traceback" not in errors
    saved = read_metadata(tmp_path / "data").total_episodes
    told = re.search(r"stopped; (\d) of 6 episodes are recorded; resume with", errors)
    assert told is not None, errors
    assert int(told[1]) in (saved - 1, saved)  # it may have been stopped in the moment between saving and counting
    assert not list((tmp_path / "data").glob(".draft*")), "nothing half done is left"
    command = re.search(r"^  yardarm (record .*)$", errors, re.MULTILINE)
    assert command is not None
    answer = yardarm_here(*shlex.split(command[1]))
    assert answer.returncode == 0, answer.stderr
    assert read_metadata(tmp_path / "data").total_episodes == 6
