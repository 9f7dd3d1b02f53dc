"""Rollouts become datasets: what was played is what is recorded, in the planned order, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import assert_all_gone, descendants, start_yardarm, wait_until, yardarm_here
from tests.recording.reading import assert_holds, column, contents, finished, table
from yardarm import evaluate
from yardarm.datasets import read_metadata
from yardarm.errors import StorageFault
from yardarm.evaluation import EvaluationListener
from yardarm.recording import RecordConfig, RecordedDataset, RecordingListener, SourceEpisode, record
from yardarm.replay import StoredRun
from yardarm.results import RunFolder, RunResult
from yardarm.simulators.metaworld import MetaworldExpert, MetaworldSimulator

TOY = ["record", "--env.type=toy", "--policy.type=toy-mover"]
REACH = ["record", "--policy.type=expert", "--env.type=metaworld", "--env.task=reach-v3"]


def recorded(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    answer = yardarm_here(*words)
    assert answer.returncode == code, answer.stderr
    return answer


def test_a_dataset_holds_what_was_played_whoever_played_it(tmp_path: Path) -> None:
    words = [*REACH, "--n_episodes=3", "--env.episode_length=6", "--dataset.image_size=32x48", "--output_dir=run"]
    root = tmp_path / "data"
    answer = recorded(*words, "--dataset.root=data", "--workers=2")
    assert f"Dataset: {root} (3 episodes, 18 frames, 1 task(s), " in answer.stdout
    assert f"View it: yardarm dataset view {root}" in answer.stdout
    assert_holds(root, tmp_path / "run", finished(tmp_path / "run"))
    meta = read_metadata(root)
    assert (meta.fps, meta.robot_type, meta.tasks) == (80, "metaworld", ("Reach a goal position",))
    features = {name: (feature.dtype, feature.shape) for name, feature in meta.info.features.items()}
    assert features["observation.image"] == ("video", (32, 48, 3))
    assert features["observation.state"] == ("float32", (4,))
    assert features["observation.environment_state"] == ("float32", (39,))
    assert features["action"] == ("float32", (4,))
    assert features["next.reward"] == ("float32", (1,))
    assert features["next.success"] == features["next.done"] == ("bool", (1,))
    raw = column(root, "observation.environment_state")
    np.testing.assert_array_equal(column(root, "observation.state"), raw[:, :4])
    assert np.ptp(raw[:6, :3], axis=0).max() > 0.005, "the hand has moved"
    assert 0.1 < np.mean(meta.stats["observation.image"]["mean"]) < 0.9, "something was drawn"

    recorded(*words, "--dataset.root=alone", "--workers=1")
    assert contents(tmp_path / "alone") == contents(root)


def test_actions_can_be_what_the_expert_would_have_done(tmp_path: Path) -> None:
    world = ["--env.type=metaworld", "--env.task=reach-v3", "--env.episode_length=6", "--n_episodes=2"]
    states = "--dataset.features=observation.environment_state"
    recorded("record", "--policy.type=expert", *world, states, "--dataset.root=own", "--dataset.labels=expert")
    np.testing.assert_array_equal(column(tmp_path / "own", "action"), column(tmp_path / "own", "played_action"))

    random = ["record", "--policy.type=random", *world, "--dataset.root=data", "--output_dir=run"]
    recorded(*random, "--dataset.features=observation.state", "--dataset.labels=expert")
    root = tmp_path / "data"
    meta, (first, *_) = read_metadata(root), finished(tmp_path / "run")
    assert "observation.environment_state" not in meta.info.features
    played = RunFolder(tmp_path / "run").load_played(first.key).actions
    np.testing.assert_allclose(column(root, "played_action")[:6], played, rtol=1e-6)
    episode = StoredRun(RunFolder(tmp_path / "run")).episode(first)
    simulator, expert = MetaworldSimulator(episode.task), MetaworldExpert(episode)
    simulator.reset(episode)
    for action, label in zip(played, column(root, "action")[:6], strict=True):
        raw = simulator.observe(["observation.environment_state"])["observation.environment_state"]
        np.testing.assert_allclose(label, np.clip(expert.actions(raw)[0], -1, 1), rtol=1e-6)
        simulator.step(action)

    mixed = recorded(*random, "--dataset.features=observation.state", code=2)
    assert "holds a dataset of other features ('played_action' differs)" in mixed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--env.type=toy", "--dataset.labels=expert"], "toy has no expert"),
        (["--env.type=so101_twin", "--dataset.labels=expert"], "the expert of so101_twin plans an episode at its"),
        (["--env.type=metaworld", "--dataset.labels=exprt"], "'exprt' is unknown; did you mean 'expert'?"),
    ],
)
def test_labels_need_an_expert_that_can_be_asked_anywhere(words: list[str], message: str, tmp_path: Path) -> None:
    answer = recorded("record", "--policy.type=random", *words, "--dataset.root=data", code=2)
    assert message in answer.stderr
    assert not (tmp_path / "data").exists()


def test_frames_show_what_was_seen_before_the_action(tmp_path: Path) -> None:
    words = ["--env.task=left", "--n_episodes=2", "--dataset.root=data", "--dataset.video=false", "--output_dir=run"]
    recorded(*TOY, *words)
    root = tmp_path / "data"
    assert_holds(root, tmp_path / "run", finished(tmp_path / "run"))
    states, rewards = column(root, "observation.state")[:, 0], column(root, "next.reward")
    first = read_metadata(root).episodes[0].length
    # The toy's reward is its distance to the goal after the step, which is what is seen in the next frame.
    np.testing.assert_allclose(rewards[: first - 1], -np.abs(-1 - states[1:first]), atol=1e-6)
    pictures = table(root)["observation.image"].to_pylist()
    assert all(picture["bytes"].startswith(b"\x89PNG") for picture in pictures)


def test_episodes_are_saved_in_the_planned_order(tmp_path: Path) -> None:
    """Failures of the toy are twice as long as its successes, which overtake them on several workers."""
    words = [*TOY, "--n_episodes=8", "--env.step_s=0.003", "--env.task=left,far", "--output_dir=run"]
    recorded(*words, "--workers=3", "--dataset.root=data")
    records = finished(tmp_path / "run")
    order = [*(record for record in records if record.key.task == "left"), *(r for r in records if r.key.task == "far")]
    assert_holds(tmp_path / "data", tmp_path / "run", order)
    lines = [json.loads(line) for line in (tmp_path / "data" / "meta" / "rollouts.jsonl").read_text().splitlines()]
    assert [(line["task"], line["seed"]) for line in lines] == [
        (task, 1000 + index) for task in ("left", "far") for index in range(8)
    ]
    recorded(*words, "--workers=1", "--dataset.root=alone")
    assert contents(tmp_path / "alone") == contents(tmp_path / "data")


def test_only_successes_plays_until_there_are_enough(tmp_path: Path) -> None:
    words = [*TOY, "--env.task=left", "--env.max_steps=9", "--n_episodes=4", "--only_successes", "--output_dir=run"]
    recorded(*words, "--dataset.root=data", "--dataset.features=states")
    records = finished(tmp_path / "run")
    assert 4 < len(records) <= 40
    solved = [record for record in records if record.success]
    assert_holds(tmp_path / "data", tmp_path / "run", solved[:4])
    assert "observation.image" not in read_metadata(tmp_path / "data").features
    recorded(*words, "--dataset.root=data", "--dataset.features=states")
    assert len(finished(tmp_path / "run")) == len(records)
    assert read_metadata(tmp_path / "data").total_episodes == 4


def test_too_few_successes_are_kept_and_said(tmp_path: Path) -> None:
    words = [*TOY, "--n_episodes=2", "--only_successes=true", "--dataset.features=states", "--dataset.root=data"]
    answer = recorded(*words, "--env.task=left,far", code=1)
    assert "fewer than 2 successes in 20 episodes per task, which is the limit: far 0" in answer.stderr
    meta = read_metadata(tmp_path / "data")
    assert (meta.tasks, meta.total_episodes) == (("Go left",), 2)


def test_more_episodes_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    words = [*TOY, "--env.task=left", "--dataset.features=states", "--dataset.root=data", "--output_dir=run"]
    recorded(*words, "--n_episodes=2")
    answer = recorded(*words, "--n_episodes=5")
    assert "recording 3 episodes" in answer.stdout
    assert_holds(tmp_path / "data", tmp_path / "run", finished(tmp_path / "run"))
    fewer = recorded(*words, "--n_episodes=3", code=2)
    assert "more than --n_episodes=3 are there already" in fewer.stderr


def test_a_dataset_of_others_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    words = [*TOY, "--n_episodes=2", "--dataset.features=states", "--dataset.root=data", "--env.task=left"]
    recorded(*words)
    for changed, complaint in [
        ("--seed=50", "which --seed=50 would not play"),
        ("--env.task=right", "which is not one of the tasks to record"),
        ("--policy.type=zero", "holds episodes of 'toy-mover-"),
    ]:
        flag = changed.split("=")[0]
        answer = recorded(*(word for word in words if not word.startswith(flag)), changed, code=2)
        assert complaint in answer.stderr
        assert not [run for run in tmp_path.rglob("episodes.jsonl") if "zero" in str(run) and run.stat().st_size]


def killed_when(saved: int, words: list[str], root: Path) -> None:
    process = start_yardarm(*words)
    info = root / "meta" / "info.json"
    wait_until(lambda: info.exists() and json.loads(info.read_text())["total_episodes"] >= saved)
    children = descendants(process.pid)
    process.kill()
    process.communicate()
    assert_all_gone(children)


def test_a_killed_recording_resumes_where_it_stopped(tmp_path: Path) -> None:
    words = [*TOY, "--n_episodes=4", "--env.step_s=0.01", "--workers=2"]
    recorded(*words, "--output_dir=whole", "--dataset.root=whole_data")
    words += ["--dataset.root=data"]  # and no output_dir: it finds its run
    killed_when(2, words, tmp_path / "data")
    before = read_metadata(tmp_path / "data").total_episodes
    assert before < 8, "it was not killed in the middle"
    answer = recorded(*words)
    assert "8 of them already finished" in answer.stdout
    assert f"({before} more are already recorded)" in answer.stdout
    assert contents(tmp_path / "data") == contents(tmp_path / "whole_data")
    assert "nothing left to record" in recorded(*words).stdout


def change_journal(run: Path, index: int, **changes: object) -> None:
    journal = run / "episodes.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    changed = [{**line, **changes} if line["index"] == index else line for line in lines]
    journal.write_text("".join(json.dumps(line) + "\n" for line in changed))


def test_what_goes_another_way_is_not_recorded_but_told(tmp_path: Path) -> None:
    words = [*TOY, "--env.task=left", "--n_episodes=4", "--output_dir=run", "--dataset.features=states"]
    recorded(*words, "--dataset.root=before")
    change_journal(tmp_path / "run", 1, fingerprints={"0": "something else"})
    records = finished(tmp_path / "run")
    RunFolder(tmp_path / "run").actions(records[2].key).unlink()
    answer = recorded(*words, "--dataset.root=data", code=1)
    assert "left episode 1 is not in the dataset: played again, it went another way" in answer.stderr
    assert "left episode 2 is not in the dataset: it cannot be played again: " in answer.stderr
    assert "2 episodes could not be recorded" in answer.stderr
    assert_holds(tmp_path / "data", tmp_path / "run", [records[0], records[3]])
    refused = recorded(*words, "--dataset.root=before", code=2)
    assert "(seed 1001 of 'left') went another way than in run; choose another folder" in refused.stderr


def test_a_worker_that_dies_loses_no_episode(tmp_path: Path) -> None:
    fault = [f"--env.{name}" for name in ("fault=kill", "fault_at=1", "fault_times=1", f"scratch={tmp_path}")]
    words = [*TOY[1:], "--env.task=left", "--output_dir=run", *fault]
    recorded("eval", *words, "--eval.n_episodes=3")
    (tmp_path / "left-1").unlink()  # so that its worker is killed once more
    recorded("record", *words, "--n_episodes=3", "--dataset.root=data")
    assert len((tmp_path / "left-1").read_text()) == 2
    assert_holds(tmp_path / "data", tmp_path / "run", finished(tmp_path / "run"))


def test_an_evaluation_records_all_of_its_tasks_in_one_dataset(tmp_path: Path) -> None:
    words = ["eval", *TOY[1:], "--env.task=left,right", "--eval.n_episodes=3", "--output_dir=run"]
    answer = recorded(*words, "--eval.recording=true")
    root = tmp_path / "run" / "recordings"
    assert f"Dataset: {root} (6 episodes" in answer.stdout
    assert_holds(root, tmp_path / "run", finished(tmp_path / "run"))
    meta = read_metadata(root)
    assert meta.tasks == ("Go left", "Go right")
    assert [episode.tasks for episode in meta.episodes] == [("Go left",)] * 3 + [("Go right",)] * 3
    again = recorded(*words, "--eval.recording=true")
    assert "nothing left to record" in again.stdout


def test_python_records_an_evaluation_too(tmp_path: Path) -> None:
    run = evaluate("toy-mover", "left", benchmark="toy", n_episodes=2, recording=True)
    assert_holds(run.path / "recordings", run.path, finished(run.path))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_hundred_episodes_read_back_frame_by_frame(tmp_path: Path) -> None:
    from yardarm.datasets import LeRobotDataset

    words = [*REACH, "--n_episodes=100", "--env.episode_length=8", "--dataset.image_size=64", "--output_dir=run"]
    recorded(*words, "--dataset.root=data")
    records = finished(tmp_path / "run")
    assert_holds(tmp_path / "data", tmp_path / "run", records)
    dataset = LeRobotDataset("yardarm/reach", root=tmp_path / "data")
    assert (dataset.num_episodes, len(dataset)) == (100, 800)
    actions = np.concatenate([RunFolder(tmp_path / "run").load_played(record.key).actions for record in records])
    pictures = []
    for index in range(len(dataset)):
        frame = dataset[index]
        assert frame["episode_index"] == index // 8
        assert frame["task"] == "Reach a goal position"
        np.testing.assert_array_equal(frame["action"].numpy(), actions[index])
        assert tuple(frame["observation.image"].shape) == (3, 64, 64)
        pictures.append(frame["observation.image"].numpy())
    # Each episode begins with the arm in the same place, and goes on another way.
    first, last = pictures[0::8], pictures[7::8]
    assert max(np.abs(picture - first[0]).mean() for picture in first) < 0.02
    assert np.mean([np.abs(end - begin).mean() for begin, end in zip(first, last, strict=True)]) > 0.005


@pytest.mark.parametrize("episode", [2, 6])
def test_a_dataset_that_is_deleted_meanwhile_is_not_recorded(episode: int, tmp_path: Path) -> None:
    root = tmp_path / "data"

    class Deletes(RecordingListener):
        """Deletes the dataset when it has that many episodes."""

        count = 0

        def saved(self, source: SourceEpisode) -> None:
            self.count += 1
            if self.count == episode:
                shutil.rmtree(root)

    config = RecordConfig.from_data(
        {"env": {"type": "toy"}, "policy": {"type": "toy-mover"}, "n_episodes": 3, "workers": 1}
        | {"dataset": {"root": str(root), "features": "states"}, "output_dir": str(tmp_path / "run")}
    )
    with pytest.raises(StorageFault, match=r"rollouts.jsonl was deleted, moved or replaced while it was being written"):
        record(config, Deletes())


class Diary(RecordingListener):
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[EvaluationListener]:
        yield EvaluationListener()
        self.heard.append("evaluated")

    def played(self, result: RunResult, too_few: Mapping[str, int]) -> None:
        self.heard.append(f"played {result.counts.episodes}, too few {dict(too_few)}")

    def nothing_to_record(self, result: RunResult) -> None:
        self.heard.append("nothing to record")

    @contextlib.contextmanager
    def writing(self, result: RunResult) -> Iterator[None]:
        yield
        self.heard.append("wrote")

    def written(self, dataset: RecordedDataset) -> None:
        self.heard.append(f"{dataset.episodes} episodes in {dataset.root.name}")


def recording_config(folder: Path, **options: object) -> RecordConfig:
    own = {"dataset": {"root": str(folder / "data"), "features": "states"}, "output_dir": str(folder / "run")}
    return RecordConfig.from_data({"policy": {"type": "toy-mover"}, "n_episodes": 2, **own, **options})


def test_a_recording_from_python_tells_each_of_its_steps(tmp_path: Path) -> None:
    diary = Diary()
    recording = record(recording_config(tmp_path, env={"type": "toy", "task": "left"}), diary)
    assert diary.heard == ["evaluated", "played 2, too few {}", "wrote", "2 episodes in data"]
    assert recording.dataset is not None
    assert recording.dataset.root == tmp_path / "data"
    assert_holds(tmp_path / "data", tmp_path / "run", finished(tmp_path / "run"))


def test_a_recording_without_an_episode_writes_nothing(tmp_path: Path) -> None:
    diary = Diary()
    config = recording_config(tmp_path, env={"type": "toy", "task": "far"}, only_successes=True)
    recording = record(config, diary)
    assert diary.heard == ["evaluated", "played 20, too few {'far': 0}", "nothing to record"]
    assert recording.dataset is None
    assert recording.too_few == {"far": 0}
    assert not (tmp_path / "data").exists()
