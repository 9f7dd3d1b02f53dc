"""What is written here is what LeRobot writes: the same files, columns and types; and LeRobot itself reads it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.datasets.made import GOLDEN, WITH_ALL, make_dataset
from yardarm.datasets import DatasetInfo, DatasetWriter, LeRobotDataset

LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON")


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LeRobot's dataset, read here and written again."""
    golden = LeRobotDataset(root=GOLDEN / "data", return_uint8=True)
    root = tmp_path_factory.mktemp("rewritten") / "made"
    features = {name: golden.meta.info.features[name] for name in GOLDEN_FEATURES}
    with DatasetWriter.create(root, DatasetInfo(golden.fps, features, "sawyer")) as writer:
        for row, item in enumerate(golden):
            writer.add_frame({**{name: item[name].numpy() for name in features}, "task": item["task"]})
            if row + 1 in golden.episode_bounds:
                writer.save_episode()
    return root


GOLDEN_FEATURES = ("observation.state", "observation.images.top", "action", "next.success")
PARQUET = ("data/chunk-000/file-000.parquet", "meta/episodes/chunk-000/file-000.parquet", "meta/tasks.parquet")


def test_the_files_are_lerobots(rewritten: Path) -> None:
    found, expected = (
        sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        for root in (rewritten, GOLDEN / "data")
    )
    assert found == expected


@pytest.mark.parametrize("name", PARQUET)
def test_the_columns_are_lerobots(rewritten: Path, name: str) -> None:
    own, expected = (pq.read_schema(root / name) for root in (rewritten, GOLDEN / "data"))
    assert {field.name: str(field.type) for field in own} == {field.name: str(field.type) for field in expected}


def test_the_tables_say_what_their_columns_are_as_lerobots_do(rewritten: Path) -> None:
    own, expected = (
        json.loads(pq.read_schema(root / PARQUET[0]).metadata[b"huggingface"])["info"]["features"]
        for root in (rewritten, GOLDEN / "data")
    )
    assert own == expected
    own, expected = (
        json.loads(pq.read_schema(root / PARQUET[2]).metadata[b"pandas"])["index_columns"]
        for root in (rewritten, GOLDEN / "data")
    )
    assert own == expected


def test_the_numbers_are_lerobots(rewritten: Path) -> None:
    own, expected = (pq.read_table(root / PARQUET[0]).to_pydict() for root in (rewritten, GOLDEN / "data"))
    assert own == expected
    own, expected = (
        pq.read_table(root / PARQUET[1])
        .select(["tasks", "length", "dataset_from_index", "dataset_to_index"])
        .to_pydict()
        for root in (rewritten, GOLDEN / "data")
    )
    assert own == expected


def test_the_description_is_lerobots(rewritten: Path) -> None:
    own, expected = (json.loads((root / "meta/info.json").read_text()) for root in (rewritten, GOLDEN / "data"))
    assert own == expected | {"features": own["features"]}
    for name, feature in expected["features"].items():
        info = feature.pop("info", {})
        found = own["features"][name].pop("info", {})
        assert own["features"][name] == feature
        assert found == info


def test_the_statistics_are_lerobots_but_for_its_estimates(rewritten: Path) -> None:
    own, expected = (json.loads((root / "meta/stats.json").read_text()) for root in (rewritten, GOLDEN / "data"))
    assert own.keys() == expected.keys()
    for name, feature in expected.items():
        assert own[name].keys() == feature.keys()
        for kind, value in feature.items():
            assert np.shape(own[name][kind]) == np.shape(value)
            if kind in ("min", "max", "mean", "std") and name != "observation.images.top":
                assert np.allclose(own[name][kind], value, rtol=1e-5, atol=1e-7)
            elif kind in ("mean", "std"):  # of pictures that were compressed twice
                assert np.allclose(own[name][kind], value, atol=0.02)


READING = """
import json, sys
from lerobot.datasets.lerobot_dataset import LeRobotDataset
dataset = LeRobotDataset("lab/toy", root=sys.argv[1], video_backend="pyav")
items = []
for row in range(len(dataset)):
    item = dataset[row]
    items.append({key: value.tolist() if hasattr(value, "tolist") else value for key, value in item.items()})
print(json.dumps(items))
"""


@pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no interpreter that has LeRobot")
def test_lerobot_reads_the_same(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "made", [5, 3, 7], WITH_ALL)
    done = subprocess.run(
        [str(LEROBOT_PYTHON), "-c", READING, str(root)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        **{"capture_output": True, "text": True, "timeout": 200},
    )
    assert done.returncode == 0, done.stderr
    items: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    for found, item in zip(items, LeRobotDataset(root=root), strict=True):
        assert found.keys() == item.keys()
        for name, value in item.items():
            if isinstance(value, str):
                assert found[name] == value
            else:
                assert np.allclose(found[name], value.numpy(), atol=1e-6)
