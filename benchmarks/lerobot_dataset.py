"""Reads, loads or writes the same frames with LeRobot, in its interpreter, and prints how many per second."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import torch
from lerobot.datasets.lerobot_dataset import LeRobotDataset

FPS, WINDOW = 30, 50


def main() -> None:
    what, root, numbers = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    torch.set_num_threads(1)
    print({"read": read, "load": load, "write": write}[what](root, numbers))


def open_dataset(root: Path, **options: object) -> LeRobotDataset:
    deltas = {"action": [step / FPS for step in range(WINDOW)]}
    return LeRobotDataset("lab/same", root=root, delta_timestamps=deltas, video_backend="pyav", **options)


def read(root: Path, rows: list[int]) -> float:
    dataset = open_dataset(root)
    dataset[0]
    best = 0.0
    for _ in range(3):
        started = time.process_time()
        for row in rows:
            dataset[row]
        best = max(best, len(rows) / (time.process_time() - started))
    return best


def load(root: Path, numbers: list[int]) -> float:
    loader = torch.utils.data.DataLoader(
        open_dataset(root), batch_size=16, num_workers=2, persistent_workers=True, shuffle=True, drop_last=True
    )
    best = 0.0
    for _ in range(3):
        started = time.perf_counter()
        for _ in loader:
            pass
        best = max(best, numbers[0] / (time.perf_counter() - started))
    return best


def write(root: Path, numbers: list[int]) -> float:
    """Write the frames of a stored dataset, which are read before the clock starts."""
    stored = LeRobotDataset("lab/same", root=root, video_backend="pyav")
    own = ("observation.state", "action", "observation.images.a", "observation.images.b")
    frames = []
    for row in range(len(stored)):
        item = stored[row]
        pictures = {key: (item[key] * 255).round().byte().permute(1, 2, 0).numpy() for key in own[2:]}
        numbers_of = {key: item[key].numpy() for key in own[:2]}
        frames.append({**numbers_of, **pictures, "task": "push"})
    features = {key: {**stored.features[key], "shape": tuple(stored.features[key]["shape"])} for key in own}
    target = root.parent / "lerobot"
    shutil.rmtree(target, ignore_errors=True)
    started = time.perf_counter()
    dataset = LeRobotDataset.create("lab/same", FPS, features, root=target)
    length = len(frames) // numbers[0]
    for number, frame in enumerate(frames):
        dataset.add_frame(dict(frame))
        if (number + 1) % length == 0:
            dataset.save_episode()
    dataset.finalize()
    return len(frames) / (time.perf_counter() - started)


main()
