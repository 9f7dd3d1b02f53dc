"""Demonstrations like those of an arm: smooth, slightly noisy reaches to different places; and faults to inject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.datasets.made import FAST
from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter

FPS = 30
NAMES = ["shoulder_pan.pos", "shoulder_lift.pos", "gripper.pos"]
CAMERA = "observation.images.front"
ARM = DatasetFeature("float32", (3,), NAMES)
PICTURES = DatasetFeature("video", (64, 96, 3), ["height", "width", "channels"])
STATE = "observation.state"


@dataclass(frozen=True)
class Demonstration:
    """One episode, before it is written."""

    state: np.ndarray
    action: np.ndarray
    task: str = "reach the cube"
    pictures: np.ndarray | None = None


Fault = Callable[[Demonstration], Demonstration]


def demonstration(seed: int, with_pictures: bool = False) -> Demonstration:
    """A reach to some place, with the gripper closing at the end."""
    random = np.random.default_rng(seed)
    length = int(random.integers(70, 110))
    way = np.linspace(0, 1, length)
    way = (10 * way**3 - 15 * way**4 + 6 * way**5)[:, None]
    goal = np.array([40, 30]) * random.uniform(0.4, 1.0, 2) * random.choice([-1, 1], 2)
    arm = random.normal(0, 3, 2) + way * goal
    gripper = np.where(np.arange(length) > 0.8 * length, 5.0, 90.0)[:, None]
    action = np.concatenate([arm, gripper], axis=1)
    late = np.maximum(np.arange(length) - 2, 0)
    state = action[late] + random.normal(0, 0.05, action.shape)
    pictures = _pictures(state) if with_pictures else None
    return Demonstration(state.astype(np.float32), action.astype(np.float32), pictures=pictures)


def _pictures(state: np.ndarray) -> np.ndarray:
    """A bright hand in front of a table, where the arm is."""
    table = np.add.outer(np.arange(64), np.arange(96))[:, :, None].repeat(3, axis=2)
    pictures = np.repeat((40 + table // 2).astype(np.uint8)[None], len(state), axis=0)
    for picture, (pan, lift, _) in zip(pictures, state, strict=True):
        top, left = int(28 + lift / 2), int(44 + pan / 2)
        picture[max(0, top) : top + 10, max(0, left) : left + 8] = 240
    return pictures


def record(
    root: Path,
    count: int,
    faults: Mapping[int, Fault] | None = None,
    with_pictures: bool = False,
    state: str = STATE,
) -> Path:
    """Write demonstrations with the real writer, some of them with faults."""
    features = {state: ARM, "action": ARM, **({CAMERA: PICTURES} if with_pictures else {})}
    with DatasetWriter.create(root, DatasetInfo(FPS, features, "toy_arm"), FAST) as writer:
        for number in range(count):
            own = (faults or {}).get(number, lambda same: same)(demonstration(number, with_pictures))
            for frame in range(len(own.state)):
                picture = {} if own.pictures is None else {CAMERA: own.pictures[frame]}
                writer.add_frame({state: own.state[frame], "action": own.action[frame], **picture, "task": own.task})
            writer.save_episode()
    return root


def still_at_the_end(own: Demonstration) -> Demonstration:
    """The robot waits for 40 frames after it is done."""
    wait = np.full(40, len(own.state) - 1)
    places = np.concatenate([np.arange(len(own.state)), wait])
    noise = np.where(np.arange(len(places))[:, None] >= len(own.state), 0.02, 0) * np.sin(places * 7.0)[:, None]
    pictures = None if own.pictures is None else own.pictures[places]
    state = (own.state[places] + noise).astype(np.float32)
    return replace(own, state=state, action=own.action[places], pictures=pictures)


def jumping(own: Demonstration) -> Demonstration:
    """A glitch of one sensor for one frame."""
    state = own.state.copy()
    state[50, 0] += 70
    return replace(own, state=state)


def broken(own: Demonstration) -> Demonstration:
    """A sensor that says nothing for three frames."""
    state = own.state.copy()
    state[20:23, 1] = np.nan
    return replace(own, state=state)


def far_off(own: Demonstration) -> Demonstration:
    """A motor that slowly drives where no other episode goes."""
    ramp = np.linspace(0, 900, len(own.state), dtype=np.float32)
    state = own.state.copy()
    state[:, 1] += ramp
    return replace(own, state=state)


def frozen(own: Demonstration) -> Demonstration:
    """A camera that hangs from frame 10 on."""
    assert own.pictures is not None
    pictures = own.pictures.copy()
    pictures[10:] = pictures[10]
    return replace(own, pictures=pictures)


def black(own: Demonstration) -> Demonstration:
    """A camera with its cap on."""
    assert own.pictures is not None
    return replace(own, pictures=np.zeros_like(own.pictures))
