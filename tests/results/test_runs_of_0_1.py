"""What Yardarm 0.1 has left on disk is read, compared, merged and resumed as it was then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import yardarm
from tests.golden.runs_0_1 import RUNS, SLOW_TOY, TOY, Sometimes, Steady, shard_config
from tests.helpers import courses
from yardarm.comparison import compare, read_runs
from yardarm.evaluation import evaluate, merge_runs
from yardarm.pages import run_data
from yardarm.results import RunFolder, eval_info, read_result
from yardarm.workspace.training_catalogue import TrainingCatalogue
from yardarm.workspace.viewed_folder import ViewedFolder

NAMES = ["two_sessions", "decided", "decided/against", "precise", "sharded/shard_1_of_2", "sharded/shard_2_of_2"]
# Sentences, which may be put better, and paths.
WORDS = ("sentences", "caution", "mixed", "warnings", "path", "name", "commands", "policy_label")
EXPECTED = RUNS / "expected.json"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(RUNS, tmp_path / "runs"))


def page_of(run: Path) -> dict[str, Any]:
    """What the page of a run shows, as a browser gets it."""
    data = run_data(read_result(RunFolder(run)), run.name)
    assert data.pop("pictures") == []  # 0.1 drew none
    made_with = {name: value for name, value in data["made_with"].items() if name not in ("repeat", "config")}
    return plain({**{name: data[name] for name in data if name not in WORDS}, "made_with": made_with})


def page_of_training(folder: Path) -> dict[str, Any]:
    data = TrainingCatalogue(ViewedFolder(folder)).data(".")
    return plain({name: data[name] for name in data if name not in WORDS})


def plain(data: Any) -> Any:
    return json.loads(json.dumps(data))


def expected() -> dict[str, Any]:
    """What 0.1 read in these folders."""
    return json.loads(EXPECTED.read_text())


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_what_it_showed(name: str) -> None:
    assert page_of(RUNS / name) == expected()[name]


def test_the_page_of_a_training_shows_what_it_showed() -> None:
    assert page_of_training(RUNS / "training") == expected()["training"]


# The second of two policies does not know from its own folder how many episodes the first has played.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "decided/against"])
def test_the_summary_of_a_run_is_the_one_that_it_has(name: str) -> None:
    folder = RunFolder(RUNS / name)
    read = eval_info(read_result(folder).result, folder.videos())
    assert without_times(plain(read)) == without_times(json.loads(folder.eval_info.read_text()))


def without_times(info: dict[str, Any]) -> dict[str, Any]:
    overall = {name: value for name, value in info["overall"].items() if name not in ("eval_s", "eval_ep_s")}
    return {**info, "overall": overall}


def test_runs_are_compared() -> None:
    (pair,) = compare(read_runs([RUNS / "decided", RUNS / "decided" / "against"])).pairs
    assert (pair.pairs, round(9 * pair.overall.difference)) == (9, -8)


def test_shards_are_merged(runs: Path) -> None:
    (merged,) = merge_runs([runs / "sharded"])
    assert (merged.missing, merged.absent_shards) == (0, ())
    parts = [courses(runs / "sharded" / f"shard_{number}_of_2") for number in (1, 2)]
    assert courses(merged.result) == {**parts[0], **parts[1]}


def test_a_run_is_resumed_with_the_batching_that_it_began_with(runs: Path) -> None:
    run = runs / "two_sessions"
    before = courses(run)
    result = yardarm.evaluate(
        Steady(), SLOW_TOY, n_episodes=27, batch_size=1, output_dir=run, allow_mixed_versions=True
    )
    assert len(result.episodes) == 27
    assert before.items() < courses(run).items()


def test_an_early_stop_stays_decided(runs: Path) -> None:
    duel: dict[str, Any] = {"stop": "decided", "against": Sometimes(0.9), "n_episodes": 15}
    again = yardarm.evaluate(Sometimes(0.1), TOY, output_dir=runs / "decided", **duel)
    assert plain(eval_info(again, lambda key: ()))["overall"]["stopping"] == stopping_of("decided")
    precise: dict[str, Any] = {"stop": "precision", "half_width": 0.25, "n_episodes": 20}
    again = yardarm.evaluate(Sometimes(0.9), TOY, output_dir=runs / "precise", **precise)
    assert plain(eval_info(again, lambda key: ()))["overall"]["stopping"] == stopping_of("precise")


def stopping_of(name: str) -> Any:
    return json.loads((RUNS / name / "eval_info.json").read_text())["overall"]["stopping"]


def test_a_shard_is_resumed_with_more_episodes(runs: Path) -> None:
    config = shard_config(runs / "sharded", "2/2", n_episodes=4)
    config.allow_mixed_versions = True
    assert len(evaluate(config).episodes) == 4
