"""Compares a checkpoint behind ``yardarm-serve --backend=lerobot`` with LeRobot's own loop, using LeRobot's Python.

Three episodes of made-up observations are played twice: as ``lerobot-eval`` does, asking for an action after every
step; and as the server does, interleaved in random order, looking only when the policy reads.

    PYTHONPATH=serve/src path/to/lerobots/python scripts/check_lerobot_backend.py CHECKPOINT …
"""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import torch

from yardarm_serve import BackendError, Episode, Look, Request
from yardarm_serve.lerobot import LeRobotBackend
from yardarm_serve.lerobot.backend import _batch

EPISODES = 3
STEPS = 24
INSTRUCTION = "pick up the cup"


def made_up_looks(backend: LeRobotBackend, seed: int) -> list[Look]:
    """An episode's observations at every step."""
    generator = np.random.default_rng(seed)
    looks = []
    for step in range(STEPS + 100):
        values = {}
        for name, shape in backend.contract.inputs.items():
            if name in backend.contract.images:
                values[name] = generator.integers(0, 256, shape or (64, 64, 3), np.uint8)
            else:
                values[name] = generator.normal(size=shape or (1,)).astype(np.float32)
        looks.append(Look(step, values))
    return looks


def as_lerobot_does(backend: LeRobotBackend, looks: list[Look], seed: int) -> np.ndarray:
    """Call `select_action` after every step."""
    loaded = backend._loaded
    loaded.policy.reset()
    torch.manual_seed(seed)
    actions = []
    for look in looks[:STEPS]:
        batch = loaded.preprocessor(_batch([Request(Episode(INSTRUCTION), None, [look])], [look]))
        with torch.inference_mode():
            actions.append(loaded.postprocessor(loaded.policy.select_action(batch)).float().numpy(force=True)[0])
    return np.array(actions)


def as_the_server_does(backend: LeRobotBackend, looks: list[list[Look]]) -> list[np.ndarray]:
    """Ask the backend for the episodes in random order."""
    choose = random.Random(0)
    specs = [Episode(INSTRUCTION, seed=seed) for seed in range(EPISODES)]
    states: list[Any] = [None] * EPISODES
    seen = [[episode[0]] for episode in looks]
    actions: list[list[np.ndarray]] = [[] for _ in range(EPISODES)]
    while waiting := [number for number in range(EPISODES) if len(actions[number]) < STEPS]:
        number = waiting[0] if backend.contract.episodes == 1 else choose.choice(waiting)
        if states[number] is None:
            states[number] = backend.start(specs[number])
        (answer,) = backend.infer([Request(specs[number], states[number], seen[number])])
        before = len(actions[number])
        actions[number] += list(answer.actions)
        offsets = sorted({offset for each in answer.looks.values() for offset in each}) or [len(answer.actions)]
        seen[number] = [looks[number][before + offset] for offset in offsets]
    return [np.array(episode[:STEPS]) for episode in actions]


def main() -> None:
    """Check each checkpoint on the command line."""
    torch.set_num_threads(1)
    for path in sys.argv[1:]:
        try:
            backend = LeRobotBackend(path, device="cpu")
        except BackendError as error:
            sys.exit(str(error))
        looks = [made_up_looks(backend, seed) for seed in range(EPISODES)]
        expected = [as_lerobot_does(backend, looks[seed], seed) for seed in range(EPISODES)]
        played = as_the_server_does(backend, looks)
        error = max(float(np.abs(ours - theirs).max()) for ours, theirs in zip(played, expected, strict=True))
        about = backend.contract.about
        print(f"{path}: {about['type']}, {about['mode']}, LeRobot {about['lerobot']}: largest difference {error:.2g}")


if __name__ == "__main__":
    main()
