"""``yardarm dataset`` as a user types it."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.demonstrations import broken, record, still_at_the_end
from tests.datasets.frames_of import assert_same_episodes, episodes_of, snapshot
from tests.datasets.made import PLAIN, make_dataset
from tests.datasets.v21 import make_v21
from tests.helpers import start_yardarm, wait_until, yardarm, yardarm_here
from yardarm.cli.commands.dataset import COMMANDS
from yardarm.datasets import read_metadata


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("made") / "data", (5, 3, 7, 4), PLAIN)


@pytest.fixture
def own(made: Path) -> Path:
    return Path(shutil.copytree(made, "own"))


def test_help_names_every_command() -> None:
    answer = yardarm_here("dataset")
    assert answer.returncode == 0
    assert all(name in answer.stdout for name in COMMANDS)
    assert "dataset" in yardarm_here("--help").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    answer = yardarm_here("dataset", name, "--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert f"usage: yardarm dataset {name} DIR" in answer.stdout


def test_info_shows_what_is_there() -> None:
    make_dataset(Path("own"), (5, 3))
    text = yardarm_here("dataset", "info", "own").stdout
    assert "own (v3.0, toy)" in text
    assert "2 episode(s), 8 frames: 0.8 seconds at 10 frames per second" in text
    assert "h264 yuv420p" in text
    assert "task 1 (1 episode(s))" in text
    content = json.loads(yardarm_here("dataset", "info", "own", "--json").stdout)
    assert content["features"]["action"]["shape"] == [2]
    assert (content["leftovers"], content["tasks"]) == ([], {"task 0": 1, "task 1": 1})


@pytest.mark.usefixtures("own")
def test_episodes_are_deleted_from_a_copy_or_in_place() -> None:
    before, expected = snapshot(Path("own")), episodes_of(Path("own"))
    answer = yardarm_here("dataset", "delete", "own", "--episodes=0,2-3", "--output=less")
    assert answer.stdout == "less: 1 episode(s), 3 frames, 1 task(s)\n", answer.stderr
    assert snapshot(Path("own")) == before
    assert yardarm_here("dataset", "delete", "own", "--episodes=[0, 2]", "--in_place=true").returncode == 0
    assert_same_episodes(episodes_of(Path("own")), [expected[1], expected[3]])


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    "splits",
    ["train=0.75,val=0.25", '{"train": 0.75, "val": 0.25}', "train=0-2,val=3", '{"train": [0, 1, 2], "val": [3]}'],
)
def test_a_split_is_written_in_several_ways(splits: str) -> None:
    answer = yardarm_here("dataset", "split", "own", f"--splits={splits}", "--output=parts")
    assert answer.stdout.splitlines()[1] == "parts/val: 1 episode(s), 4 frames, 1 task(s)", answer.stderr
    assert read_metadata(Path("parts/train")).total_frames == 15


@pytest.mark.usefixtures("own")
def test_the_other_edits_do_what_they_say() -> None:
    make_dataset(Path("more"), (2,), PLAIN)
    np.save("reward.npy", np.arange(19) / 2)
    words = [
        ["merge", "own", "more", "--output=both"],
        ["add-feature", "own", "--name=reward", "--values=reward.npy", "--dtype=float32", "--output=with"],
        ["add-feature", "with", "--name=success", "--dtype=int64", "--value=1", "--in_place"],
        ["add_feature", "with", "--name=pose", "--value=[0, 0.5]", "--in_place"],
        ["add-feature", "with", "--name=words", "--dtype=string", "--value=7", "--in_place"],
        ["remove-feature", "own", "--names=next.success", "--output=without"],
        ["rename-task", "own", "--from=task 0", "--to=lift", "--output=renamed"],
        ["recompute-stats", "own", "--in_place=true"],
    ]
    for line in words:
        answer = yardarm_here("dataset", *line)
        assert (answer.returncode, answer.stderr) == (0, ""), line
    assert read_metadata(Path("both")).total_episodes == 5
    first = episodes_of(Path("with"))[0]
    np.testing.assert_array_equal(first["reward"], np.arange(5, dtype=np.float32) / 2)
    assert (first["success"][0], first["pose"][0].tolist(), first["words"][0]) == (1, [0, 0.5], "7")
    features = read_metadata(Path("with")).info.features
    assert (features["pose"].dtype, features["pose"].shape) == ("float32", (2,))
    assert "next.success" not in read_metadata(Path("without")).features
    assert read_metadata(Path("renamed")).tasks == ("lift", "task 1")


def test_episodes_are_trimmed_and_relabelled(own: Path) -> None:
    answer = yardarm_here("dataset", "trim", own, "--episodes=0,2", "--start=1", "--end=-1", "--output=less")
    assert answer.stdout == "less: 4 episode(s), 15 frames, 2 task(s)\n", answer.stderr
    assert (
        yardarm_here("dataset", "relabel", "less", "--episodes=0-2", "--task=lift", "--in_place=true").returncode == 0
    )
    meta = read_metadata(Path("less"))
    assert [episode.length for episode in meta.episodes] == [3, 3, 5, 4]
    assert [episode.tasks for episode in meta.episodes] == [*[("lift",)] * 3, ("task 1",)]


def test_a_check_says_what_is_wrong_and_its_exit_code_says_whether() -> None:
    record(Path("good"), 8)
    record(Path("bad"), 12, {**dict.fromkeys(range(10), still_at_the_end), 11: broken})
    good = yardarm_here("dataset", "check", "good")
    assert (good.returncode, good.stdout) == (0, "good: nothing suspicious in 8 episodes\n")
    bad = yardarm_here("dataset", "check", "bad")
    assert bad.returncode == 1
    assert "  problem: episode 11: observation.state shoulder_lift.pos is not a number" in bad.stdout
    assert "  and 2 more; --json lists them all" in bad.stdout
    assert "`yardarm dataset view bad` shows them" in bad.stdout
    report = json.loads(yardarm_here("dataset", "check", "bad", "--cameras=false", "--json").stdout)
    assert [check["name"] for check in report["checks"]] == ["not_numbers", "idle"]
    assert len(report["checks"][1]["findings"]) == 10


def test_videos_are_encoded_anew_and_old_versions_converted() -> None:
    make_v21(Path("old"), (3, 2))
    assert yardarm_here("dataset", "convert", "old", "--output=new").returncode == 0
    answer = yardarm_here("dataset", "reencode", "new", "--vcodec=h264", "--crf=20", "--g=3", "--in_place=true")
    assert answer.returncode == 0, answer.stderr
    info = read_metadata(Path("new")).info.features["observation.images.top"].info
    assert (info["video.codec"], info["video.crf"], info["video.g"]) == ("h264", 20, 3)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["delte", "own"], "unknown command 'dataset delte'; did you mean 'delete'?"),
        (["info", "elsewhere"], "there is no dataset elsewhere"),
        (["info", "own", "own"], "takes the folder of one dataset, got own own"),
        (["info", "."], ". is not a LeRobot dataset: it has no meta/info.json"),
        (["delete", "own", "--episodes=1"], "--output is missing; give --output=DIR, or --in_place=true"),
        (["delete", "own", "--episodes=1", "--output=o", "--in_place=true"], "cannot be combined"),
        (["delete", "own", "--output=o"], "--episodes is missing; give it like --episodes=1,3,5-8"),
        (["delete", "own", "--episodes=1,9,12", "--output=o"], "--episodes 9, 12: the dataset has 4 episodes, 0 to 3"),
        (["delete", "own", "--episodes=2,1-2", "--output=o"], "--episodes must not be repeated, got 2 more than once"),
        (["delete", "own", "--episodes=-1", "--output=o"], "--episodes: '-1' is not an episode number"),
        (["delete", "own", "--episodes=3-1", "--output=o"], "--episodes: '3-1' ends before it starts"),
        (
            ["delete", "own", "--episodes=0-3", "--output=o"],
            "all 4 episodes of own would be deleted; nothing would be left",
        ),
        (["trim", "own", "--output=o"], "what should be kept? Give --start=FRAME, --end=FRAME or both"),
        (["trim", "own", "--start=ten", "--output=o"], "--start must be a frame's number, like 10 or -30, got 'ten'"),
        (["trim", "own", "--end=4", "--output=o"], "--end=4: episode 1 has only 3 frames"),
        (["trim", "own", "--episodes=1", "--start=3", "--output=o"], "nothing would be left of episode 1"),
        (["relabel", "own", "--episodes=1", "--output=o"], "--task is missing; give it like --task='pick up the cube'"),
        (["relabel", "own", "--episodes=1", "--task= ", "--output=o"], "the new instruction of episode 1 is empty"),
        (["check", "elsewhere"], "there is no dataset elsewhere"),
        (["check", "own", "--cameras=no"], "--cameras must be true or false, got 'no'"),
        (["check", "own", "--camera=false"], "unknown option '--camera'; did you mean 'cameras'?"),
        (["delete", "own", "--episode=0", "--output=o"], "unknown option '--episode'; did you mean 'episodes'?"),
        (["delete", "own", "--episodes=0", "--output=own"], "own already exists and is not empty"),
        (
            ["split", "own", "--splits=train=0.9,val=0.2", "--output=o"],
            "the shares add up to 1.1; they must add up to at most 1",
        ),
        (["split", "own", "--splits=val=0.05,train=0.95", "--output=o"], "'val' would be empty: 0.05 of 4 episodes"),
        (["split", "own", "--splits=a=0-2,b=2-3", "--output=o"], "episode 2 is in 'a' and in 'b'"),
        (["split", "own", "--splits=a=0-2,b=0.5", "--output=o"], "mixes shares and lists of episodes"),
        (["split", "own", "--splits=../a=0-2", "--output=o"], "'../a' cannot be a folder's name"),
        (["split", "own", "--splits={", "--output=o"], "--splits is not valid JSON"),
        (["split", "own", "--splits=0.8", "--output=o"], "'0.8' has no names; write it like train=0.8,val=0.2"),
        (["merge", "--output=o"], "takes the folders of datasets"),
        (["merge", "own", "--output=o"], "takes at least two datasets, got own"),
        (["merge", "own", "b"], "--output is missing; try: yardarm dataset merge own b --output=DIR"),
        (["merge", "own", "own", "o"], "--output is missing; try: yardarm dataset merge own own --output=o"),
        (["merge", "own", "./own", "--output=o"], "own is named twice"),
        (["add-feature", "own", "--name=action", "--value=1.0", "--output=o"], "own already has a feature 'action'"),
        (["add-feature", "own", "--name=x", "--output=o"], "give either --values=FILE.npy with one row per frame, or"),
        (["add-feature", "own", "--name=x", "--values=no.npy", "--output=o"], "there is no no.npy"),
        (["add-feature", "own", "--name=x", "--values=short.npy", "--output=o"], "for each of 19 frames, got (7,)"),
        (["add-feature", "own", "--name=x", "--values=text.npy", "--output=o"], "text.npy is not a NumPy file"),
        (["add-feature", "own", "--name=a/b", "--value=1.0", "--output=o"], "call it 'a.b'"),
        (["add-feature", "own", "--name=x", "--value=1.5", "--dtype=int64", "--output=o"], "'x' must be int64, got"),
        (
            ["add-feature", "own", "--name=x", "--value=1", "--dtype=float", "--output=o"],
            "has the dtype 'float'; it must be one of",
        ),
        (
            ["add-feature", "own", "--name=x", "--value=1", "--dtype=image", "--output=o"],
            "the picture 'x' has the shape",
        ),
        (["remove-feature", "own", "--names=actoin", "--output=o"], "no feature 'actoin'; did you mean 'action'?"),
        (["remove-feature", "own", "--names=index", "--output=o"], "'index' belongs to every dataset"),
        (["rename-task", "own", "--from=tsk 0", "--to=x", "--output=o"], "no task 'tsk 0'; did you mean 'task 0'?"),
        (
            ["rename-task", "own", "--from=task 0", "--to=task 0", "--output=o"],
            "must not be empty or the same as 'task 0'",
        ),
        (["recompute-stats", "own", "--every=0", "--output=o"], "--every must be at least 1, got 0"),
        (["reencode", "own", "--vcodec=h265", "--output=o"], "unknown video codec 'h265'"),
        (["reencode", "own", "--crf=99", "--output=o"], "must be between 0 and 63 for libsvtav1, got 99"),
        (["convert", "own", "--output=o"], "own already has version v3.0"),
    ],
)
def test_a_mistake_gets_one_line_and_changes_nothing(words: list[str], expected: str) -> None:
    np.save("short.npy", np.zeros(7))
    Path("text.npy").write_text("no array")
    before = snapshot(Path("own"))
    answer = yardarm_here("dataset", *words)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert snapshot(Path("own")) == before
    assert {path.name for path in Path().iterdir()} == {"own", "short.npy", "text.npy"}


def test_ctrl_c_leaves_everything_as_it_was() -> None:
    make_dataset(Path("own"), (60,) * 4)
    before = snapshot(Path("own"))
    process = start_yardarm("dataset", "reencode", "own", "--vcodec=h264", "--preset=placebo", "--in_place=true")
    wait_until(lambda: list(Path().glob(".own.editing-*/.parts/*.mp4")) != [] or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (
        130,
        "yardarm: stopped; the dataset is intact (with --in_place: either unchanged or fully edited)\n",
    )
    assert snapshot(Path("own")) == before
    assert sorted(Path().iterdir()) == [Path("own")]


def test_a_damaged_dataset_is_one_line_too() -> None:
    make_dataset(Path("own"), (3, 2))
    path = next(Path("own/videos").rglob("*.mp4"))
    path.write_bytes(path.read_bytes()[:-200])
    answer = yardarm("dataset", "delete", "own", "--episodes=0", "--output=less")
    assert answer.returncode == 2
    assert str(path) in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
