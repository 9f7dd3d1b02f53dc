"""Videos in edits: copied where they can be, encoded anew where not, and left alone where nothing changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.frames_of import assert_same_episodes, episodes_of
from tests.datasets.made import FAST, WITH_VIDEO, make_dataset
from yardarm.datasets import DatasetMetadata, VideoEncoding, read_metadata
from yardarm.datasets.editing import delete_episodes, merge_datasets, reencode_videos, rename_task
from yardarm.datasets.video import Segment, can_be_copied, video_info
from yardarm.errors import DatasetFault, UsageError

TOP = "observation.images.top"
FPS = 10


def video_files(root: Path) -> list[Path]:
    return sorted(Path(root, "videos").rglob("*.mp4"))


def files_of_episodes(meta: DatasetMetadata) -> list[int]:
    return [episode.videos[TOP].slot.file for episode in meta.episodes]


@pytest.mark.parametrize("options", [{"bf": "0"}, {"bf": "3"}, {"bf": "2", "x264-params": "open-gop=1"}])
def test_packets_are_copied_whatever_order_frames_are_stored_in(options: dict[str, str]) -> None:
    make_dataset(Path("own"), (9, 13, 7), encoding=VideoEncoding("h264", g=4, extra_options=options))
    expected = episodes_of(Path("own"))
    delete_episodes(Path("own"), [0], Path("less"))
    assert_same_episodes(episodes_of(Path("less")), expected[1:])


def test_videos_of_different_kinds_lie_in_different_files() -> None:
    make_dataset(Path("a"), (4, 3))
    make_dataset(Path("b"), (5,), encoding=VideoEncoding("libsvtav1"))
    meta = merge_datasets([Path("a"), Path("b")], Path("both"))
    assert_same_episodes(episodes_of(Path("both")), [*episodes_of(Path("a")), *episodes_of(Path("b"))])
    assert files_of_episodes(meta) == [0, 0, 1]
    info = meta.info.features[TOP].info
    assert (info["video.codec"], info["video.height"]) == (None, 32)


def test_video_files_grow_to_the_size_that_is_named() -> None:
    make_dataset(Path("own"), (5,) * 6, video_files_size_in_mb=0.0015)
    meta = delete_episodes(Path("own"), [0], Path("less"))
    assert len(video_files(Path("less"))) > 1
    assert files_of_episodes(meta) == sorted(files_of_episodes(meta))
    assert_same_episodes(episodes_of(Path("less")), episodes_of(Path("own"))[1:])


def test_an_episode_that_begins_without_a_key_frame_is_encoded_anew() -> None:
    # One long video with a single key frame, cut into episodes only by what is said of it.
    one_key_frame = VideoEncoding("h264", g=250, crf=1)
    make_dataset(Path("own"), (5, 8, 6), encoding=one_key_frame)
    make_dataset(Path("long"), (19,), encoding=one_key_frame)
    shutil.copy(video_files(Path("long"))[0], video_files(Path("own"))[0])
    assert not can_be_copied(Segment(video_files(Path("own"))[0], 0.5, 8, FPS))
    expected = episodes_of(Path("own"))
    delete_episodes(Path("own"), [0], Path("less"))
    for found, was in zip(episodes_of(Path("less")), expected[1:], strict=True):
        difference = np.abs(found[TOP].astype(int) - was[TOP])
        assert difference.max() <= 6
        np.testing.assert_array_equal(found["action"], was["action"])


def test_an_end_that_needs_what_comes_after_is_not_copied() -> None:
    make_dataset(Path("long"), (19,), encoding=VideoEncoding("h264", g=250, preset="slow", extra_options={"bf": "3"}))
    path = video_files(Path("long"))[0]
    assert can_be_copied(Segment(path, 0.0, 19, FPS))
    assert not can_be_copied(Segment(path, 0.0, 2, FPS))


def test_all_videos_are_encoded_anew() -> None:
    make_dataset(Path("own"), (5, 3, 7))
    meta = reencode_videos(Path("own"), VideoEncoding("libsvtav1", g=4, crf=10), Path("anew"))
    for found, was in zip(episodes_of(Path("anew")), episodes_of(Path("own")), strict=True):
        assert np.abs(found.pop(TOP).astype(int) - was.pop(TOP)).mean() < 3
        assert_same_episodes([found], [was])
    assert meta.info.features[TOP].info["video.codec"] == "av1"
    assert [video_info(path)["video.codec"] for path in video_files(Path("anew"))] == ["av1"]
    assert not list(Path("anew").glob(".*"))


def test_an_edit_in_place_that_keeps_all_episodes_leaves_video_files_alone() -> None:
    make_dataset(Path("own"), (5, 3))
    (path,) = video_files(Path("own"))
    before = path.stat().st_ino, path.read_bytes()
    rename_task(Path("own"), "task 0", "lift", None)
    assert read_metadata(Path("own")).tasks == ("lift", "task 1")
    assert (path.stat().st_ino, path.read_bytes()) == before


def test_what_a_codec_cannot_take_is_refused_before_anything_is_written() -> None:
    make_dataset(Path("plain"), (2,), {"action": WITH_VIDEO["action"]})
    with pytest.raises(UsageError, match="plain has no videos to encode"):
        reencode_videos(Path("plain"), FAST, Path("anew"))
    make_dataset(Path("odd"), (2,), {**WITH_VIDEO, TOP: _odd()}, VideoEncoding("libsvtav1"))
    with pytest.raises(UsageError, match=r"is 33x48; h264 needs even sides"):
        reencode_videos(Path("odd"), FAST, Path("anew"))


def _odd() -> object:
    return type(WITH_VIDEO[TOP])("video", (33, 48, 3))


def test_a_video_that_ends_early_is_named_with_its_frames() -> None:
    make_dataset(Path("own"), (5, 8))
    make_dataset(Path("short"), (9,))
    path = video_files(Path("own"))[0]
    shutil.copy(video_files(Path("short"))[0], path)
    for edit in (
        lambda: delete_episodes(Path("own"), [0], Path("less")),
        lambda: reencode_videos(Path("own"), FAST, Path("less")),
    ):
        with pytest.raises(DatasetFault, match=f"{path} has 4 of the 8 frames from 0.500 s on"):
            edit()
        assert not Path("less").exists()
