"""Whatever is wrong with a file of a run or a dataset, whoever reads it gets one line, and no traceback."""

from __future__ import annotations

import json
import random
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from tests.datasets.made import WITH_ALL, make_dataset
from tests.datasets.v21 import make_v21
from tests.golden.runs_0_1 import RUNS
from tests.mutations import damaged, files_below
from tests.pages.runs import SLOWLY, toy_run
from tests.pages.trainings import usual_points, with_evaluation, write_training
from yardarm.comparison import compare, read_runs
from yardarm.datasets import read_metadata
from yardarm.datasets.browsing import read_frames, read_info
from yardarm.datasets.editing import describe_dataset
from yardarm.errors import YardarmError
from yardarm.files import write_json
from yardarm.pages import comparison_data, write_report
from yardarm.pages.dataset_data import dataset_data, dataset_episode_data, dataset_facts
from yardarm.policies import PolicySpec
from yardarm.report import comparison_sheet, markdown, write_model_card
from yardarm.results import RunFolder, TrainingFolder, read_result
from yardarm.workspace.run_line import run_line
from yardarm.workspace.training_catalogue import TrainingCatalogue
from yardarm.workspace.viewed_folder import ViewedFolder

ROUNDS = [pytest.param(25, id="few"), pytest.param(400, id="many", marks=pytest.mark.slow)]
MOST_SECONDS = 20
Read = Callable[[Path], Iterator[Callable[[], object]]]
"""All that is done with a folder."""
MOST_MEMORY = 2**30


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    toy_run(folder / "mover", n_episodes=3)
    toy_run(folder / "duel", n_episodes=8, against=PolicySpec(SLOWLY), stop="decided")
    lerobot = folder / "lerobot"
    lerobot.mkdir()
    shutil.copy(folder / "mover" / "eval_info.json", lerobot)
    shutil.copytree(RUNS / "two_sessions", folder / "of_0_1")
    return folder


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("made") / "dataset", [6, 5], WITH_ALL)


@pytest.fixture(scope="module")
def dataset_v2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_v21(tmp_path_factory.mktemp("made") / "dataset", [6, 5])


def read_run(folder: Path) -> Iterator[Callable[[], object]]:
    """What `yardarm report`, `compare` and the viewer's list do."""
    run, other = RunFolder(folder), folder.parent / "other"
    yield lambda: write_report(run, None)
    yield lambda: markdown([read_result(run)], None)
    yield lambda: write_model_card(read_result(run), folder / "README.md")
    yield lambda: json.dumps(run_line(run), allow_nan=False)
    yield lambda: compare_runs(folder, other)


def read_training(folder: Path) -> Iterator[Callable[[], object]]:
    """What the viewer does with a training."""
    yield lambda: json.dumps(TrainingCatalogue(ViewedFolder(folder)).data("."), allow_nan=False)


def compare_runs(*folders: Path) -> None:
    runs = read_runs(folders, allow_unfinished=True)
    comparison = compare(runs)
    comparison_sheet(comparison).print(Console(file=StringIO()))
    json.dumps(comparison_data(comparison, runs), allow_nan=False)


def read_dataset(root: Path) -> Iterator[Callable[[], object]]:
    """What `yardarm dataset info`, `dataset view` and a training do."""
    yield lambda: json.dumps(dataset_facts("name", read_info(root)), allow_nan=False)
    yield lambda: json.dumps(describe_dataset(root).to_json())
    yield lambda: json.dumps(dataset_data(read_metadata(root), "name"), allow_nan=False)
    yield lambda: [
        json.dumps(dataset_episode_data(meta, own), allow_nan=False)
        for meta in [read_metadata(root)]
        for own in meta.episodes
    ]
    yield lambda: [read_frames(meta, meta.episodes) for meta in [read_metadata(root)]]


def check_all(folder: Path, kinds: tuple[str, ...], read: Read, rounds: int) -> None:
    """Damage a file, read, mend it, and so on; a file that nobody reads is damaged in vain."""
    chance, files = random.Random(rounds), files_below(folder, *kinds)
    told = 0
    for number in range(rounds):
        path = files[number % len(files)]
        whole = path.read_bytes()
        content, what = damaged(whole, path.name, chance)
        path.write_bytes(content)
        for action in read(folder):
            started, memory = time.monotonic(), peak_memory()
            try:
                complaint = complaint_of(action)
            except Exception as error:
                raise AssertionError(f"round {number}: {path.relative_to(folder)}: {what}") from error
            told += complaint is not None
            assert "\n" not in (complaint or ""), (path, what)
            assert time.monotonic() - started < MOST_SECONDS, (path, what)
            assert peak_memory() - memory < MOST_MEMORY, (path, what)
        path.write_bytes(whole)
    assert told > rounds / 4, "most damage is noticed"


def complaint_of(action: Callable[[], object]) -> str | None:
    """What a user is told; None if nothing is wrong."""
    try:
        with np.errstate(all="ignore"):
            action()
    except YardarmError as error:
        return str(error)
    return None


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("name", ["mover", "duel", "lerobot", "of_0_1"])
def test_a_damaged_run_is_told_in_a_line(name: str, rounds: int, runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / name, tmp_path / name)
    shutil.copytree(runs / "mover", tmp_path / "other")
    check_all(tmp_path / name, (".json", ".jsonl"), read_run, rounds)


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("of_0_1", [True, False])
def test_a_damaged_training_is_told_in_a_line(of_0_1: bool, rounds: int, tmp_path: Path) -> None:
    folder = tmp_path / "training"
    points = with_evaluation(folder, 100, {"reach-v3": "sf"})
    training = TrainingFolder(write_training(folder, [*usual_points(300), *points]))
    if not of_0_1:
        write_json(training.manifest, training.read_manifest().to_json())
    check_all(folder, (".json", ".jsonl"), read_training, rounds)


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("kind", [".json", ".parquet"])
def test_a_damaged_dataset_is_told_in_a_line(kind: str, rounds: int, dataset: Path, tmp_path: Path) -> None:
    check_all(Path(shutil.copytree(dataset, tmp_path / "dataset")), (kind,), read_dataset, rounds)


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("kind", [".json", ".jsonl", ".parquet"])
def test_a_damaged_dataset_of_version_2_is_told_in_a_line(
    kind: str, rounds: int, dataset_v2: Path, tmp_path: Path
) -> None:
    check_all(Path(shutil.copytree(dataset_v2, tmp_path / "dataset")), (kind,), read_dataset, rounds)
