"""``kill -9`` at any moment: every episode that was said to be saved is there, whole, and the recording goes on."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.control.twin_arms import TwinArms, twin_arms
from tests.datasets.test_lerobot import LEROBOT_PYTHON, READING
from tests.helpers import descendants, start_yardarm, wait_until, yardarm_here
from yardarm.datasets import LeRobotDataset, read_measured, read_metadata
from yardarm.datasets.quality import PROBLEM, check_dataset
from yardarm.files import is_locked

SAVED = re.compile(r"episode (\d+) is saved: (\d+) frames")
FAST_SEEDS = 3
SLOW_SEEDS = 50


def record_words(arms: TwinArms, root: Path, episodes: int) -> list[str]:
    own = {"root": root, "single_task": "wave", "fps": 30, "num_episodes": episodes}
    own |= {"episode_time_s": 0.8, "reset_time_s": 0.05}
    return ["record", *arms.words, *(f"--dataset.{name}={value}" for name, value in own.items())]


def recorded_until_killed(arms: TwinArms, root: Path, seed: int, resume: bool) -> dict[int, int]:
    """Record, and kill at a moment that depends on the seed; returns what was said to be saved."""
    chance = random.Random(seed)
    process = start_yardarm(*record_words(arms, root, 1000), *["--resume=true"] * resume)
    assert process.stdout is not None
    told: dict[int, int] = {}
    wanted = chance.randint(0, 3)
    for line in process.stdout:
        if found := SAVED.match(line):
            told[int(found[1])] = int(found[2])
        if line.startswith("recording episode") and len(told) >= wanted:
            break
    assert process.poll() is None, process.stderr and process.stderr.read()
    time.sleep(chance.uniform(0, 1.5))
    victims = [psutil.Process(process.pid)]
    if chance.random() < 0.5:  # all at once, as a power cut would
        victims += [one for one in descendants(process.pid) if "encoder" in " ".join(one.cmdline())]
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=60)
    told |= {int(number): int(frames) for number, frames in SAVED.findall(out)}
    return told


def assert_whole(root: Path, told: dict[int, int]) -> int:
    """All that was told is there, and nothing in it is half; returns how many episodes there are."""
    meta = read_metadata(root)
    assert meta.total_episodes >= len(told)
    for episode in meta.episodes:
        assert told.get(episode.index, episode.length) == episode.length
        measured = read_measured(root, episode.index)
        assert measured is not None
        assert len(measured) == episode.length
    if meta.total_episodes:
        report = check_dataset(meta)
        assert not [str(finding) for finding in report.findings if finding.severity == PROBLEM]
        dataset = LeRobotDataset(root=root)
        assert len([dataset[row] for row in range(len(dataset))]) == meta.total_frames
    return meta.total_episodes


def assert_lerobot_reads(root: Path, episodes: int) -> None:
    done = subprocess.run(
        [str(LEROBOT_PYTHON), "-c", READING, str(root)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(root.parent / "hf")},
        **{"capture_output": True, "text": True, "timeout": 400},
    )
    assert done.returncode == 0, done.stderr
    items = json.loads(done.stdout.splitlines()[-1])
    assert {item["episode_index"] for item in items} == set(range(episodes))
    assert len(items) == read_metadata(root).total_frames


def check_kill(folder: Path, seed: int, by_lerobot: bool = False) -> None:
    root = folder / "cube"
    with twin_arms(folder) as arms:
        told = recorded_until_killed(arms, root, seed, resume=False)
        wait_until(lambda: not is_locked(root))  # an encoder that outlived its recorder may save one more
        before = assert_whole(root, told)
        if before and by_lerobot:
            assert_lerobot_reads(root, before)
        answer = yardarm_here(*record_words(arms, root, 1), *["--resume=true"] * bool(before))
        assert answer.returncode == 0, answer.stderr
        assert assert_whole(root, told) == before + 1
        assert not [path.name for path in root.rglob(".*")]


@pytest.mark.parametrize("seed", range(FAST_SEEDS))
def test_a_kill_loses_the_unfinished_episode_at_most(seed: int, tmp_path: Path) -> None:
    check_kill(tmp_path, seed)


# LeRobot takes half a minute to start, so it reads some only.
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FAST_SEEDS, SLOW_SEEDS))
def test_fifty_kills_lose_the_unfinished_episodes_at_most(seed: int, tmp_path: Path) -> None:
    check_kill(tmp_path, seed, by_lerobot=bool(LEROBOT_PYTHON) and seed % 10 == 0)
