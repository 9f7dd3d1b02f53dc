"""LeRobot's flags of edit-dataset and dataset-viz, on real datasets where LeRobot keeps them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.datasets.made import PLAIN, WITH_VIDEO, make_dataset
from tests.helpers import yardarm_here
from yardarm.datasets import read_metadata


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """LeRobot's cache, with a dataset of four episodes and two instructions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_LEROBOT_HOME", str(tmp_path / "home"))
    make_dataset(tmp_path / "home" / "me" / "cube", [5, 3, 7, 4], PLAIN)
    return tmp_path / "home" / "me"


def edit(*words: object) -> str:
    answer = yardarm_here("edit-dataset", *words)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def lengths(folder: Path) -> list[int]:
    return [episode.length for episode in read_metadata(folder).episodes]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


DELETE = ("--operation.type", "delete_episodes", "--operation.episode_indices")


def test_an_edit_in_place_keeps_the_original_and_what_was_kept_before(home: Path) -> None:
    before = content(home / "cube")
    assert f"The original is kept: {home / 'cube_old'}" in edit("--repo_id", "me/cube", *DELETE, "[0, 2]")
    assert lengths(home / "cube") == [3, 4]
    assert content(home / "cube_old") == before
    edit("--repo_id=me/cube", *DELETE, "[0]")
    assert (lengths(home / "cube"), lengths(home / "cube_old_2")) == ([4], [3, 4])
    assert content(home / "cube_old") == before


def test_a_new_name_leaves_the_dataset_alone(home: Path) -> None:
    before = content(home / "cube")
    edit("--repo_id=me/cube", "--new_repo_id=me/short", *DELETE, "[3]")
    edit("--repo_id=me/cube", "--new_root=elsewhere", *DELETE, "[0]")
    assert (lengths(home / "short"), lengths(Path("elsewhere"))) == ([5, 3, 7], [3, 7, 4])
    assert content(home / "cube") == before
    assert not (home / "cube_old").exists()


def test_a_folder_is_edited_in_place_by_its_path(home: Path) -> None:
    shutil.copytree(home / "cube", "mine")
    edit("--root=mine", *DELETE, "[0]")
    edit("--repo_id=mine", *DELETE, "[0]")
    assert (lengths(Path("mine")), lengths(Path("mine_old")), lengths(Path("mine_old_2"))) == (
        [7, 4],
        [5, 3, 7, 4],
        [3, 7, 4],
    )


def test_a_dataset_with_a_root_and_a_name_goes_to_its_name_as_in_lerobot(home: Path) -> None:
    shutil.move(home / "cube", "mine")
    edit("--repo_id=me/cube", "--root=mine", *DELETE, "[0]")
    assert (lengths(home / "cube"), lengths(Path("mine"))) == ([3, 7, 4], [5, 3, 7, 4])


def test_parts_are_datasets_of_their_own(home: Path) -> None:
    edit("--repo_id=me/cube", "--operation.type=split", '--operation.splits={"train": 0.5, "val": 0.5}')
    assert (lengths(home / "cube_train"), lengths(home / "cube_val")) == ([5, 3], [7, 4])
    edit(
        "--repo_id=me/cube", "--new_root=parts", "--operation.type=split", '--operation.splits={"a": [1], "b": [0, 2]}'
    )
    assert (lengths(Path("parts/a")), lengths(Path("parts/b"))) == ([3], [5, 7])
    assert sorted(path.name for path in home.iterdir()) == ["cube", "cube_train", "cube_val"]


def test_datasets_are_merged_by_name_and_by_folder(home: Path) -> None:
    make_dataset(Path("ball"), [2], PLAIN)
    merge = ["--operation.type=merge", "--new_repo_id=me/both"]
    edit(*merge, "--operation.repo_ids=['me/cube', 'ball']")
    assert lengths(home / "both") == [5, 3, 7, 4, 2]
    edit(
        "--operation.type=merge",
        "--new_root=two",
        "--operation.repo_ids=[a,b]",
        f"--operation.roots=[ball,{home}/cube]",
    )
    assert lengths(Path("two")) == [2, 5, 3, 7, 4]


def test_instructions_are_reworded_with_lerobots_precedence(home: Path) -> None:
    words = ["--repo_id=me/cube", "--operation.type=modify_tasks"]
    edit(*words, "--new_repo_id=me/one", "--operation.new_task=lift")
    edit(
        *words, "--new_repo_id=me/two", "--operation.new_task=lift", '--operation.task_replacements={"task 1": "push"}'
    )
    edit(*words, '--operation.task_replacements={"task 0": "turn"}')
    edit(*words, "--new_repo_id=me/three", "--operation.new_task=lift", '--operation.episode_tasks={"2": "push"}')
    assert read_metadata(home / "one").tasks == ("lift",)
    assert [episode.tasks for episode in read_metadata(home / "three").episodes] == [
        ("lift",),
        ("lift",),
        ("push",),
        ("lift",),
    ]
    assert read_metadata(home / "two").tasks == ("lift", "push")
    assert read_metadata(home / "cube").tasks == ("turn", "task 1")
    assert read_metadata(home / "cube_old").tasks == ("task 0", "task 1")


def test_features_go_and_statistics_are_computed_again(home: Path) -> None:
    edit("--repo_id=me/cube", "--operation.type=remove_feature", "--operation.feature_names=['next.success']")
    assert "next.success" not in read_metadata(home / "cube").info.features
    edit("--repo_id=me/cube", "--operation.type=recompute_stats")
    assert lengths(home / "cube_recomputed_stats") == [5, 3, 7, 4]
    words = ["--repo_id=me/cube", "--new_repo_id=me/cube", "--operation.type=recompute_stats"]
    assert "would be replaced; allow it by --operation.overwrite=true" in yardarm_here("edit-dataset", *words).stderr
    assert "cube_old_2" in edit(*words, "--operation.overwrite=true")


def test_videos_are_encoded_again_with_lerobots_encoder_flags(home: Path) -> None:
    make_dataset(home / "film", [4], WITH_VIDEO)
    words = ["--repo_id=me/film", "--operation.type=reencode_videos", "--operation.rgb_encoder.vcodec=libsvtav1"]
    edit(*words, "--operation.rgb_encoder.crf=50", "--operation.rgb_encoder.extra_options={}")
    described = read_metadata(home / "film_reencoded").info.features["observation.images.top"].info
    assert (described["video.codec"], described["video.crf"]) == ("av1", 50)


def test_a_configuration_file_works(home: Path) -> None:
    Path("edit.json").write_text(
        '{"repo_id": "me/cube", "operation": {"type": "delete_episodes", "episode_indices": [1]}}'
    )
    edit("--config_path=edit.json", "--new_repo_id=me/fewer")
    assert lengths(home / "fewer") == [5, 7, 4]


def test_information_is_shown(home: Path) -> None:
    assert "4 episode(s), 19 frames" in edit(
        "--repo_id=me/cube", "--operation.type=info", "--operation.show_features=true"
    )
    assert "--operation.episode_indices" in edit("--operation.type=delete_episodes", "--help")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repo_id=me/cube"], "--operation.type is missing; use one of delete_episodes, split"),
        (["--repo_id=me/cube", "--operation.type=delete_episode"], "is unknown; did you mean 'delete_episodes'?"),
        (["--operation.type=info"], "which dataset? Give --repo_id=owner/name or --root=FOLDER"),
        (["--repo_id=me/cube", *DELETE, "[9]"], "--operation.episode_indices 9: the dataset has 4 episodes, 0 to 3"),
        (["--repo_id=me/cube", *DELETE, "many"], "--operation.episode_indices must be a list"),
        (["--repo_id=me/cube", *DELETE[:2]], "--operation.episode_indices is missing"),
        (
            ["--repo_id=me/cube", "--operation.type=split", "--operation.splits={a: 2}"],
            "--operation.splits: the share of",
        ),
        (["--repo_id=me/cube", "--new_root=home/me/cube/x", *DELETE, "[0]"], "--new_root=home/me/cube/x is inside"),
        (["--operation.type=merge", "--operation.repo_ids=[a,b]"], "merge needs a name for the result"),
        (["--repo_id=a/b", "--operation.type=merge"], "omit --repo_id and --root"),
        (["--root=home/me/cube", "--push_to_hub=true", *DELETE, "[0]"], "--push_to_hub needs a name on the Hub"),
        (["--repo_id=me/cube", "--operation.type=modify_tasks"], "nothing to reword"),
        (["--repo_id=me/cube", "--operation.type=info", "--operation.num_workers=2"], "all cores are used"),
        (["me/cube"], "takes flags only, not 'me/cube'"),
    ],
)
def test_a_mistake_gets_one_line_and_changes_nothing(home: Path, words: list[str], message: str) -> None:
    before = content(home)
    answer = yardarm_here("edit-dataset", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert content(home) == before


def test_nothing_is_kept_of_an_edit_that_fails(home: Path) -> None:
    next((home / "cube").glob("data/**/*.parquet")).write_bytes(b"damaged")
    before = content(home)
    answer = yardarm_here("edit-dataset", "--repo_id=me/cube", *DELETE, "[0]")
    assert answer.returncode != 0
    assert content(home) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--repo-id=me/cube", "--episode-index=9"], "9: the dataset has 4 episodes"),
        (["--repo_id=me/cube", "--episode_index=many"], "--episode_index must be a whole number"),
        (["--episode-index=0"], "which dataset? Give --repo-id=owner/name or --root=FOLDER"),
        (["--repo-id=me/cube", "--save", "1"], "--save 1 needs a folder for the file: add --output-dir=DIR"),
        (["--repo-id=me/cube", "--output-dir=x"], "add --save 1"),
        (["--repo-id=me/cube", "--mode", "distant"], "--mode=distant: to view from another machine, tunnel the port"),
        (["--repo-id=me/cube", "--ws-port=3"], "unknown option '--ws_port'; did you mean"),
        (["me/cube"], "takes flags only, not 'me/cube'"),
    ],
)
def test_a_mistake_in_viewing_gets_one_line(home: Path, words: list[str], message: str) -> None:
    answer = yardarm_here("dataset-viz", *words)
    assert answer.returncode == 2
    assert message in answer.stderr


def test_an_episode_is_saved_for_rerun_under_lerobots_name(home: Path) -> None:
    pytest.importorskip("rerun")
    words = ["--repo-id", "me/cube", "--episode-index", "1", "--save", "1", "--output-dir", "out", "--mode", "local"]
    assert yardarm_here("lerobot-dataset-viz", *words).returncode == 0
    assert Path("out/me_cube_episode_1.rrd").exists()
