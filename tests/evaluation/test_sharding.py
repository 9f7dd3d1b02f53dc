"""The parts of a plan: every episode is in one of them, whatever the plan grows to."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import courses, journal_lines, yardarm, yardarm_here
from yardarm.errors import UsageError
from yardarm.evaluation.sharding.shard import Shard
from yardarm.pages.run_data import run_data
from yardarm.results import RunFolder, read_result
from yardarm.workspace.run_line import run_line

TOY = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--eval.n_episodes=5"]
CELLS, SHARDS, EPISODES = st.integers(1, 60), st.integers(1, 40), st.integers(1, 80)


def shards_of(count: int) -> list[Shard]:
    return [Shard(number, count) for number in range(1, count + 1)]


def owner(count: int, cell: int, cells: int, index: int) -> int:
    (number,) = [shard.number for shard in shards_of(count) if shard.has(cell, cells, index)]
    return number


@given(st.data(), CELLS, SHARDS, st.integers(0, 10**6))
def test_every_episode_is_in_exactly_one_shard_and_more_episodes_move_none(
    data: st.DataObject, cells: int, count: int, index: int
) -> None:
    # The number of episodes is no argument, so it can move nothing.
    assert 1 <= owner(count, data.draw(st.integers(0, cells - 1)), cells, index) <= count


@given(CELLS, SHARDS, EPISODES)
def test_shards_are_balanced_and_have_few_tasks(cells: int, count: int, episodes: int) -> None:
    sizes: Counter[int] = Counter()
    touched: dict[int, set[int]] = {number: set() for number in range(1, count + 1)}
    for cell in range(cells):
        for index in range(episodes):
            number = owner(count, cell, cells, index)
            sizes[number] += 1
            touched[number].add(cell)
    share = cells * episodes / count
    # Only the two ends of a shard cut a task; there van der Corput's sequence is off by log2(n)/3 + 1 at most.
    off = 2 * (math.log2(episodes) / 3 + 1)
    assert all(abs(sizes[number] - share) <= off for number in touched)
    assert all(len(own) <= math.ceil(cells / count) + 1 for own in touched.values())


def test_shards_that_fit_the_tasks_cut_none() -> None:
    assert [owner(4, cell, 8, index) for cell in range(8) for index in (0, 1, 2)] == [
        number for number in (1, 2, 3, 4) for _ in range(6)
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/8", "shards are numbered from 1 to 8, so there is no 0"),
        ("9/8", "shards are numbered from 1 to 8, so there is no 9"),
        ("1/0", "there can be 1 to 100,000 shards, not 0"),
        ("x", "must be a number and a count, like --shard=2/8"),
        ("-1/8", "must be a number and a count"),
        ("", "must be a number and a count"),
    ],
)
def test_a_shard_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Shard.parse(text)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--shard=9/8", "so there is no 9"),
        ("--eval.stop=precision", "needs all outcomes in one place"),
        ("--against=random", "merge the shards, then `yardarm compare`"),
        ("--eval.recording=true", "--config_path=run/config.yaml --eval.recording=true`"),
    ],
)
def test_what_needs_the_whole_evaluation_is_refused(flag: str, message: str) -> None:
    shard = () if flag.startswith("--shard") else ("--shard=1/2",)
    answer = yardarm_here(*TOY, *shard, flag, "--output_dir=run")
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not Path("run").exists()


def test_a_shard_needs_a_folder_that_all_share() -> None:
    answer = yardarm_here(*TOY, "--shard=1/2")
    assert answer.returncode == 2
    assert "--shard=1/2 needs --output_dir, the same for all shards" in answer.stderr


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second of three shards, in its folder."""
    folder = tmp_path_factory.mktemp("sharded") / "run"
    answer = yardarm(*TOY, "--shard=2/3", f"--output_dir={folder}")
    assert answer.returncode == 0, answer.stderr
    assert "shard 2/3 of toy-mover" in answer.stdout
    assert "This is shard 2 of 3 of an evaluation" in answer.stdout
    return folder / "shard_2_of_3"


def test_a_shard_is_a_finished_run_of_its_own_episodes(second: Path) -> None:
    stored = read_result(RunFolder(second))
    assert stored.manifest.shard == "2/3"
    assert stored.status == "finished"
    assert stored.result.planned == journal_lines(second) == len(stored.result.episodes) < 10
    assert run_line(RunFolder(second))["status"] == "finished"
    assert "This is shard 2 of 3" in " ".join(run_data(stored, "run")["sentences"])
    assert "This is shard 2 of 3" in (second / "report.html").read_text()


def test_the_same_command_goes_on_with_a_shard_and_more_episodes_are_added(second: Path) -> None:
    before = courses(second)
    words = [word for word in TOY if "n_episodes" not in word]
    for output in (second.parent, second):  # a message or a config.yaml may name the shard's own folder
        again = yardarm(*words, "--eval.n_episodes=9", "--shard=2/3", f"--output_dir={output}")
        assert again.returncode == 0, again.stderr
    assert before.items() < courses(second).items()
    stored = read_result(RunFolder(second))
    assert stored.is_finished
    assert len(stored.result.episodes) == stored.result.planned
    assert not (second / second.name).exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--output_dir={shard}"], "holds shard 2/3, not a whole run: add --shard=2/3"),
        (["--output_dir={out}", "--shard=2/3", "--seed=7"], "seed was 1000, is now 7"),
    ],
)
def test_a_shards_folder_is_kept_to_its_shard(flags: list[str], message: str, second: Path) -> None:
    words = [flag.format(shard=second, out=second.parent) for flag in flags]
    answer = yardarm_here(*TOY, *words)
    assert answer.returncode == 2
    assert message in answer.stderr


def test_a_folder_that_says_it_is_another_shard_is_refused(second: Path, tmp_path: Path) -> None:
    other = tmp_path / "run" / "shard_1_of_3"
    other.mkdir(parents=True)
    (other / "manifest.json").write_text((second / "manifest.json").read_text())
    answer = yardarm_here(*TOY, "--shard=1/3", f"--output_dir={other.parent}")
    assert "holds shard 2/3, not 1/3; choose another --output_dir" in answer.stderr


def test_a_shard_without_episodes_is_finished_at_once(tmp_path: Path) -> None:
    words = ["eval", "--env.type=toy", "--policy.type=toy-mover", "--env.task=left", "--eval.n_episodes=1"]
    answer = yardarm_here(*words, "--shard=2/2", f"--output_dir={tmp_path}/run")
    assert answer.returncode == 0, answer.stderr
    stored = read_result(RunFolder(tmp_path / "run" / "shard_2_of_2"))
    assert stored.is_finished
    assert stored.result.planned == 0


def test_resume_without_a_folder_takes_no_shard() -> None:
    answer = yardarm(*TOY, "--shard=1/9", "--output_dir=outputs/eval/mine")
    assert answer.returncode == 0, answer.stderr
    resumed = yardarm(*TOY, "--resume=true")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(next(Path("outputs/eval").glob("2*/*/manifest.json")).read_text())["n_episodes"] == 5
