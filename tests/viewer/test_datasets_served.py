"""What the viewer answers about datasets, and what it refuses."""

from __future__ import annotations

import io
import json
import os
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image

from tests.datasets.made import make_dataset
from tests.helpers import yardarm_here
from tests.pages.shown_dataset import shown_dataset
from tests.viewer.served import ask, viewing_datasets
from yardarm.viewer import DatasetCatalogue

EPISODE = {"dataset": "shown", "index": 1}
VIDEO = Path("videos/observation.images.front/chunk-000/file-000.mp4")
DATA = Path("data/chunk-000/file-000.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets")
    shown_dataset(folder / "shown")
    outside = tmp_path_factory.mktemp("outside")
    for name, path in {"linked_video": VIDEO, "linked_data": DATA, "linked_meta": Path("meta/tasks.parquet")}.items():
        shutil.copytree(folder / "shown", folder / name)
        shutil.move(folder / name / path, outside / name)
        (folder / name / path).symlink_to(outside / name)
    shutil.copytree(folder / "shown", folder / "elsewhere")
    info = folder / "elsewhere/meta/info.json"
    paths = {"data_path": f"{outside}/linked_data", "video_path": "../../../../../../etc/{video_key}"}
    info.write_text(json.dumps({**json.loads(info.read_text()), **paths}))
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with viewing_datasets(folder) as address:
        yield address


def test_it_listens_on_this_machine_and_answers_its_own_pages_only(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")
    assert ask(address, "/api/datasets", {"Host": "evil.example"})[0] == 403
    assert ask(address, "/api/dataset/video", {"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_a_video_is_served_in_the_parts_that_are_asked_for(address: str, folder: Path) -> None:
    query = urlencode({**EPISODE, "camera": "observation.images.front"})
    request = urllib.request.Request(f"{address}/api/dataset/video?{query}", headers={"Range": "bytes=10-19"})
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 206
        assert answer.headers["Content-Type"] == "video/mp4"
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.read() == (folder / "shown" / VIDEO).read_bytes()[10:20]


def test_a_picture_of_the_table_is_served_as_it_is(address: str) -> None:
    query = urlencode({**EPISODE, "camera": "observation.image", "frame": 7})
    with urllib.request.urlopen(f"{address}/api/dataset/picture?{query}") as answer:
        assert answer.headers["Content-Type"] == "image/png"
        assert np.array(Image.open(io.BytesIO(answer.read())))[0, 0, 0] == 40 + 6 * 7
    for wrong in ({"camera": "observation.image", "frame": 99}, {"camera": "observation.images.front", "frame": 0}):
        assert ask(address, "/api/dataset/picture", **EPISODE, **wrong)[0] == 404


@pytest.mark.parametrize("dataset", ["../..", "/etc", "shown/meta", "nothing", "", "shown/../../x", "a\0b"])
@pytest.mark.parametrize("path", ["/api/dataset", "/api/dataset/episode", "/api/dataset/video", "/api/dataset/picture"])
def test_what_is_no_dataset_of_the_folder_is_refused(address: str, path: str, dataset: str) -> None:
    status, answer = ask(address, path, dataset=dataset, index=0, camera="observation.images.front", frame=0)
    assert status == 404
    assert answer["problem"]


@pytest.mark.parametrize("dataset", ["linked_video", "linked_data", "linked_meta", "elsewhere"])
@pytest.mark.parametrize("path", ["/api/dataset", "/api/dataset/episode", "/api/dataset/video", "/api/dataset/picture"])
def test_links_and_descriptions_that_lead_outside_are_refused(address: str, path: str, dataset: str) -> None:
    status, answer = ask(address, path, dataset=dataset, index=0, camera="observation.images.front", frame=0)
    assert status == 404
    by_itself = "data_path leads out of the dataset's folder"
    assert (by_itself if dataset == "elsewhere" else "is outside the viewed folder") in answer["problem"]


def test_a_snapshot_of_the_hub_is_shown_from_a_folder_that_holds_its_blobs(tmp_path: Path) -> None:
    snapshot = make_dataset(tmp_path / "hub/datasets--me--toy/snapshots/abc")
    blobs = tmp_path / "hub/datasets--me--toy/blobs"
    blobs.mkdir()
    for number, path in enumerate([path for path in snapshot.rglob("*") if path.is_file()]):
        shutil.move(path, blobs / str(number))
        path.symlink_to(os.path.relpath(blobs / str(number), path.parent))
    (name,) = DatasetCatalogue([tmp_path / "hub"]).names()
    assert DatasetCatalogue([tmp_path / "hub"]).metadata(name).total_episodes == 3


def test_datasets_of_several_folders_have_names_of_their_own(tmp_path: Path) -> None:
    for place in ("a/toy", "b/toy", "more/x/one", "more/two"):
        (tmp_path / place / "meta").mkdir(parents=True)
        (tmp_path / place / "meta/info.json").write_text("{}")
    catalogue = DatasetCatalogue([tmp_path / "a/toy", tmp_path / "b/toy", tmp_path / "more"])
    assert catalogue.names() == ["toy", "toy (2)", "more/two", "more/x/one"]
    assert catalogue.path("toy (2)") == tmp_path / "b/toy"
    assert catalogue.path("more/x/one") == tmp_path / "more/x/one"
    assert DatasetCatalogue([tmp_path / "more"]).names() == ["two", "x/one"]
    assert DatasetCatalogue([tmp_path / "a/toy"]).names() == ["toy"]


def test_an_episode_that_is_added_is_shown(tmp_path: Path) -> None:
    root = make_dataset(tmp_path / "toy", [3])
    catalogue = DatasetCatalogue([root])
    assert catalogue.metadata("toy").total_episodes == 1
    shutil.rmtree(root)
    make_dataset(root, [3, 4])
    assert catalogue.metadata("toy").total_episodes == 2


@pytest.mark.parametrize(
    ("words", "page"),
    [([], "/dataset?dataset=shown"), (["--episode=2"], "/dataset/episode?dataset=shown&index=2")],
)
def test_one_dataset_is_opened_at_once(
    folder: Path, words: list[str], page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yardarm.viewer.serve_datasets", lambda catalogue, listening, ready: ready("http://here"))
    answer = yardarm_here("dataset", "view", folder / "shown", "--open=false", *words)
    assert f" at http://here{page} " in answer.stdout


def test_bad_words_get_one_line(folder: Path, tmp_path: Path) -> None:
    for words, said in {
        (): "needs a dataset, or a folder of datasets",
        ("nowhere",): "there is no folder nowhere",
        (tmp_path,): "there is no dataset in",
        (folder, "--port=99999"): "--port must be at most 65535",
        (folder, "--prot=1"): "did you mean 'port'",
        (folder, "--episode=1"): "--episode=1 needs one dataset, and there are 5",
        (folder / "shown", "--episode=x"): "--episode must be a whole number",
        (folder / "shown", folder, "--rerun"): "--rerun takes one dataset",
        (folder / "shown", "--rerun", "--port=1"): "--port is for the browser",
    }.items():
        answer = yardarm_here("dataset", "view", *words)
        assert answer.returncode == 2, answer
        assert said in answer.stderr, answer.stderr
        assert answer.stderr.count("\n") == 1, answer.stderr
