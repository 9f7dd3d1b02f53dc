"""Ticks as a loop would make them, from a formula: each tells where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np

from yardarm.control import Tick
from yardarm.datasets import VideoEncoding
from yardarm.recording.robot import EncoderJob, TickLayout, robot_dataset_info
from yardarm.robots import Frame, Reading

FPS = 10
JOINTS = {"pan.pos": float, "gripper.pos": float}
FAST = VideoEncoding("h264", crf=20)
TASK = "pick the cube"


def described(cameras: Mapping[str, tuple[int, ...]] | None = None) -> Any:
    """What a robot says of itself before it is connected."""
    seen = {**JOINTS, **(cameras or {})}
    return SimpleNamespace(robot_type="so_follower", observation_features=seen, action_features=JOINTS)


def job_for(
    root: Path,
    cameras: Mapping[str, tuple[int, ...]] | None = None,
    *,
    resume: bool = False,
    encoding: VideoEncoding = FAST,
) -> EncoderJob:
    robot = described(cameras)
    info = robot_dataset_info(robot, FPS)
    return EncoderJob(root, info, encoding, TickLayout.of(robot), TASK, resume)


def tick_of(episode: int, index: int, cameras: Mapping[str, tuple[int, ...]] | None = None, repeats: int = 1) -> Tick:
    """A tick; its cameras give each picture `repeats` times."""
    values: dict[str, float] = {"pan.pos": 10.0 * episode + index, "gripper.pos": float(index)}
    due = 100.0 * episode + index / FPS
    frames = {
        name: Frame(picture_of(shape, index // repeats), due - 0.02, index // repeats)
        for name, shape in (cameras or {}).items()
    }
    pictures = {name: frame.picture for name, frame in frames.items()}
    reading = Reading({**values, **pictures}, due + 0.002, frames)
    asked = {name: value + 5 for name, value in values.items()}
    sent = {name: value + 1 for name, value in values.items()}
    return Tick(index, due, due + 0.001, reading, asked, sent, due + 0.004)


def ticks(episode: int, count: int, cameras: Mapping[str, tuple[int, ...]] | None = None) -> Iterator[Tick]:
    return (tick_of(episode, index, cameras) for index in range(count))


def picture_of(shape: tuple[int, ...], number: int) -> np.ndarray:
    return np.full(shape, 20 + 8 * (number % 20), np.uint8)


def frames_in_videos(root: Path, camera: str) -> int:
    """How many frames a camera's files have, by a decoder."""
    count = 0
    for path in sorted((root / "videos" / f"observation.images.{camera}").rglob("*.mp4")):
        with av.open(str(path)) as video:
            count += sum(1 for _ in video.decode(video=0))
    return count
