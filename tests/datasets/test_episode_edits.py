"""Episodes trimmed, relabelled and deleted, alone and together, read back frame by frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.datasets.frames_of import assert_same_episodes, episodes_of, snapshot
from tests.datasets.made import PLAIN, WITH_ALL, make_dataset
from yardarm.datasets import VideoEncoding, read_metadata
from yardarm.datasets.editing import (
    delete_episodes,
    describe_dataset,
    edit_episodes,
    merge_datasets,
    relabel_episodes,
    trim_episodes,
)
from yardarm.datasets.review import REVIEW_FILE, EpisodeEdits, Review, read_review, write_review
from yardarm.datasets.statistics import number_stats
from yardarm.errors import DatasetFault, UsageError

LENGTHS = (8, 5, 10, 6)
TOP = "observation.images.top"
# Any frame can be cut out without encoding anything again.
KEY_FRAMES_ONLY = VideoEncoding("h264", g=1, crf=20)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with features of all kinds, which no edit may change."""
    return make_dataset(tmp_path_factory.mktemp("source") / "data", LENGTHS, WITH_ALL, KEY_FRAMES_ONLY)


@pytest.fixture(scope="module")
def episodes(source: Path) -> list[dict[str, Any]]:
    return episodes_of(source)


def part(episode: dict[str, Any], kept: range, task: str | None = None) -> dict[str, Any]:
    """What an edit should leave of an episode: its frames, with times that start at 0 again."""
    own = {name: values[kept.start : kept.stop] for name, values in episode.items()}
    own["timestamp"] = episode["timestamp"][: len(kept)]
    return {**own, "task": np.array([task] * len(kept))} if task else own


@st.composite
def edits(draw: st.DrawFn) -> EpisodeEdits:
    numbers = st.integers(0, len(LENGTHS) - 1)
    deleted = draw(st.frozensets(numbers, max_size=len(LENGTHS) - 1))
    trimmed = {}
    for number in draw(st.frozensets(numbers)):
        start = draw(st.integers(0, LENGTHS[number] - 1))
        trimmed[number] = range(start, draw(st.integers(start + 1, LENGTHS[number])))
    relabelled = draw(st.dictionaries(numbers, st.sampled_from(["task 0", "another task"])))
    return EpisodeEdits(deleted, trimmed, relabelled)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=edits().filter(lambda own: not own.is_empty))
def test_frames_of_the_result_are_those_of_the_kept_ranges(
    source: Path, episodes: list[Any], tmp_path_factory: pytest.TempPathFactory, wanted: EpisodeEdits
) -> None:
    result = tmp_path_factory.mktemp("result") / "edited"
    edit_episodes(source, wanted, result)
    expected = [
        part(episode, wanted.trimmed.get(number, range(LENGTHS[number])), wanted.relabelled.get(number))
        for number, episode in enumerate(episodes)
        if number not in wanted.deleted
    ]
    assert_same_episodes(episodes_of(result), expected)


def test_a_trim_leaves_the_source_as_it_was_and_counts_again(source: Path, episodes: list[Any]) -> None:
    before = snapshot(source)
    meta = trim_episodes(source, [2], slice(3, -2), Path("trimmed"))
    assert [episode.length for episode in meta.episodes] == [8, 5, 5, 6]
    state = np.concatenate([episode["observation.state"] for episode in episodes_of(Path("trimmed"))])
    np.testing.assert_allclose(meta.stats["observation.state"]["max"], number_stats(state)["max"])
    np.testing.assert_allclose(meta.stats["observation.state"]["mean"], number_stats(state)["mean"])
    assert int(meta.stats["frame_index"]["max"][0]) == 7
    assert snapshot(source) == before
    summary = describe_dataset(Path("trimmed"))
    assert not summary.missing
    assert not summary.leftovers
    assert not summary.damaged


def test_a_cut_between_key_frames_encodes_that_episode_again() -> None:
    make_dataset(Path("own"), (9, 12), encoding=VideoEncoding("h264", g=250, crf=1))
    whole = episodes_of(Path("own"))
    trim_episodes(Path("own"), [1], slice(5, 11), Path("trimmed"))
    found = episodes_of(Path("trimmed"))
    np.testing.assert_array_equal(found[0][TOP], whole[0][TOP])
    assert np.abs(found[1][TOP].astype(int) - whole[1][TOP][5:11]).max() <= 4  # lossy, but the right pictures


def test_relabelling_keeps_the_video_files(source: Path, episodes: list[Any]) -> None:
    meta = relabel_episodes(source, [0, 2], "stack the cubes", Path("relabelled"))
    assert meta.tasks == ("task 1", "stack the cubes")
    assert [episode.tasks for episode in meta.episodes] == [("stack the cubes",), ("task 1",)] * 2
    own = [path.read_bytes() for path in sorted(source.glob("videos/**/*.mp4"))]
    assert [path.read_bytes() for path in sorted(Path("relabelled").glob("videos/**/*.mp4"))] == own


@pytest.mark.parametrize(
    ("frames", "message"),
    [
        (slice(8, None), "nothing would be left of episode 0, which has 8 frames; delete it instead"),
        (slice(0, 9), "--end=9: episode 0 has only 8 frames"),
        (slice(-9, None), "--start=-9: episode 0 has only 8 frames"),
    ],
)
def test_a_trim_that_cannot_be_is_refused(source: Path, frames: slice, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        trim_episodes(source, [0], frames, Path("none"))
    assert not Path("none").exists()


def noted(root: Path, review: Review) -> None:
    write_review(root, review, [episode.length for episode in read_metadata(root).episodes])


def test_flags_follow_their_episodes_and_applied_edits_are_gone() -> None:
    make_dataset(Path("own"), LENGTHS, PLAIN)
    planned = EpisodeEdits(frozenset({0}), {2: range(2, 9)}, {3: "new words"})
    noted(Path("own"), Review({0: "too dark", 2: "stops early", 3: ""}, planned))
    meta = edit_episodes(Path("own"), planned, Path("edited"))
    assert read_review(meta) == Review({1: "stops early", 2: ""})
    assert read_review(read_metadata(Path("own"))).edits == planned
    assert not describe_dataset(Path("edited")).leftovers


def test_other_edits_carry_planned_edits_along() -> None:
    make_dataset(Path("a"), LENGTHS, PLAIN)
    make_dataset(Path("b"), (4, 4), PLAIN)
    noted(Path("a"), Review({}, EpisodeEdits(trimmed={2: range(2, 9)})))
    noted(Path("b"), Review({1: "blurred"}))
    delete_episodes(Path("a"), [0], None)
    assert read_review(read_metadata(Path("a"))).edits.trimmed == {1: range(2, 9)}
    both = merge_datasets([Path("a"), Path("b")], Path("both"))
    assert read_review(both) == Review({4: "blurred"}, EpisodeEdits(trimmed={1: range(2, 9)}))


def test_notes_about_episodes_that_are_others_now_are_ignored() -> None:
    make_dataset(Path("own"), LENGTHS, PLAIN)
    noted(Path("own"), Review({1: "blurred", 3: "dark"}))
    make_dataset(Path("other"), (8, 7, 10, 6), PLAIN)
    Path("other", REVIEW_FILE).write_bytes(Path("own", REVIEW_FILE).read_bytes())
    assert read_review(read_metadata(Path("other"))).flags == {3: "dark"}


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"format": 1}', json.dumps({"format": 2, **Review().to_json(), "lengths": {}})]
)
def test_a_damaged_file_of_notes_is_named(content: str) -> None:
    make_dataset(Path("own"), LENGTHS, PLAIN)
    Path("own", REVIEW_FILE).write_text(content)
    with pytest.raises(DatasetFault, match=r"yardarm_review.json is unreadable: .*; delete it to start again"):
        read_review(read_metadata(Path("own")))
