"""Compares one evaluation of several policies with one evaluation for each, in one run.

python benchmarks/several.py --output=benchmarks/2026-11-several.md
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median

import torch
from campaign import Measurements, run_campaign
from report import Figure, Section

import yardarm.policies.shipped as shipped
from yardarm import load_policy
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.results import read_journal

TASKS = ("reach-v3", "door-open-v3", "drawer-close-v3", "push-v3", "window-open-v3")
POLICIES, TARGET = 3, 0.9
METHOD = """
Three checkpoints on five tasks of Meta-World. **Separately**: `yardarm eval --policy.path=A …` for each, one command
after another; the time is the sum. **Together**: `yardarm eval --policy.path=A,B,C …`. Both are whole commands as a
user gives them, from the first import to the last page, with default options; only the second includes the comparison
at the end. They are measured in turn, several times, since the speed of a shared machine drifts; the table
has the ratio of medians. Episodes are compared: every one goes the same way in both.

The checkpoints are the policy that comes with the package (0.9 million parameters, 39 raw values, a look every 4
steps), with a little noise in the weights of two of them.
"""


def noisy_checkpoints(folder: Path) -> list[Path]:
    """The shipped policy, and slightly changed copies."""
    return _near(load_policy(Path(shipped.__file__).parent / "mt10_act", device="cpu"), folder)


def _near(policy: LearnedPolicy, folder: Path) -> list[Path]:
    paths = [folder / f"checkpoint_{number}" for number in range(POLICIES)]
    torch.manual_seed(0)
    for path in paths:
        policy.save_pretrained(path)
        with torch.no_grad():
            for weights in policy.network.parameters():
                weights.add_(0.01 * weights.abs().mean() * torch.randn_like(weights))
    return paths


def measure_states(episodes: int, rounds: int) -> Section:
    with tempfile.TemporaryDirectory() as folder:
        return _measure("states", noisy_checkpoints(Path(folder) / "checkpoints"), Path(folder), episodes, rounds)


def _measure(what: str, checkpoints: Sequence[Path], folder: Path, episodes: int, rounds: int) -> Section:
    together, separately = [], []
    for number in range(rounds):
        alone = [folder / f"alone_{number}_{path.name}" for path in checkpoints]
        separately.append(sum(_command([path], run, episodes) for path, run in zip(checkpoints, alone, strict=True)))
        all_of_them = folder / f"together_{number}"
        together.append(_command(checkpoints, all_of_them, episodes))
        for path, run in zip(checkpoints, alone, strict=True):
            assert _courses(run) == _courses(all_of_them / "policies" / path.name), "an episode went another way"
    ratio = median(together) / median(separately)
    figure = Figure(
        f"{len(checkpoints)} checkpoints × {len(TASKS)} tasks × {episodes} episodes, {what}: time",
        f"{median(together):.1f} s ({ratio:.2f} of it)",
        f"one after the other: {median(separately):.1f} s",
        f"at most {TARGET} of it",
        ratio <= TARGET,
    )
    spread = [f"{name} {min(own):.1f}–{max(own):.1f} s" for name, own in (("together", together), ("sum", separately))]
    return Section(
        f"{what}, {episodes} episodes of each task", [figure], [f"Over {rounds} rounds: {', '.join(spread)}."]
    )


def _command(checkpoints: Sequence[Path], run: Path, episodes: int) -> float:
    words = [
        *(sys.executable, "-m", "yardarm", "eval", f"--policy.path={','.join(map(str, checkpoints))}"),
        *("--env.type=metaworld", f"--env.task={','.join(TASKS)}", f"--eval.n_episodes={episodes}"),
        f"--output_dir={run}",
    ]
    started = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _courses(run: Path) -> dict[str, str]:
    return {str(record.key): json.dumps(record.course()) for record in read_journal(run / "episodes.jsonl")}


FULL: Measurements = {
    "ten": partial(measure_states, episodes=10, rounds=3),
    "thirty": partial(measure_states, episodes=30, rounds=1),
}
SMALL: Measurements = {name: partial(measure_states, episodes=2, rounds=1) for name in FULL}

if __name__ == "__main__":
    run_campaign("Several policies in one evaluation", __doc__ or "", METHOD, FULL, SMALL)
