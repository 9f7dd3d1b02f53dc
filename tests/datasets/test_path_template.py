"""Paths of a dataset's files: known fields are filled in, and nothing else is understood."""

from __future__ import annotations

import json
import shutil
import time
import tracemalloc
from pathlib import Path

import pytest

from tests.datasets.made import PLAIN, make_dataset
from yardarm.datasets import read_metadata
from yardarm.datasets.editing import describe_dataset
from yardarm.datasets.info import DATA_PATH, VIDEO_PATH
from yardarm.datasets.path_template import fill_template
from yardarm.errors import DatasetFault, UsageError


@pytest.mark.parametrize(
    "template",
    [
        DATA_PATH,
        VIDEO_PATH,
        "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "{video_key}/{chunk_index}/{file_index:d}/{file_index:03d}",
    ],
)
def test_a_template_is_filled_as_python_does(template: str) -> None:
    for number in (0, 7, 1234567):
        values = {"chunk_index": number, "file_index": number, "episode_chunk": number, "episode_index": number}
        assert fill_template(template, video_key="cam.a", **values) == template.format(video_key="cam.a", **values)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("made") / "dataset", [3, 2], PLAIN)


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        ("{chunk_index:03000000000d}", "fields are written as {chunk_index:03d}"),
        ("{chunk_index:099d}", "pads {chunk_index} to 99 digits"),
        ("{chunk_index:>9}", "fields are written as"),
        ("{chunk_index:{file_index}d}", "fields are written as"),
        ("{chunk_index.__class__}", "fields are written as"),
        ("{chunk_index[0]}", "fields are written as"),
        ("{chunk_index!r}", "fields are written as"),
        ("{0}", "has the field {0}"),
        ("{}", "fields are written as"),
        ("{self}", "has the field {self}"),
        ("{video_key}/{file_index}", "has the field {video_key}"),
        ("/etc/{file_index}", "leads out of the dataset's folder"),
        ("data/../../{file_index}", "leads out of the dataset's folder"),
        ("data\\..\\{file_index}", "leads out of the dataset's folder"),
        ("", "must be a path of at most 500 characters"),
        ("x" * 501, "must be a path of at most 500 characters"),
        (3, "data_path must be text, got 3"),
    ],
)
def test_other_templates_are_refused(template: object, complaint: str, dataset: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(dataset, tmp_path / "copy"))
    info = json.loads((root / "meta/info.json").read_text())
    (root / "meta/info.json").write_text(json.dumps({**info, "data_path": template}))
    tracemalloc.start()
    started = time.monotonic()
    with pytest.raises(DatasetFault) as refused:
        describe_dataset(root)
    assert complaint in str(refused.value)
    assert "info.json is damaged: data_path" in str(refused.value)
    assert time.monotonic() - started < 5
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_a_cameras_name_does_not_lead_out_of_the_dataset(dataset: Path) -> None:
    meta = read_metadata(dataset)
    assert meta.data_file(meta.episodes[0]) == dataset / "data/chunk-000/file-000.parquet"
    for name in ("../../../etc", "/etc"):
        with pytest.raises(UsageError, match="leads out of the dataset's folder"):
            fill_template("{video_key}/{file_index:03d}.mp4", video_key=name, file_index=0)
