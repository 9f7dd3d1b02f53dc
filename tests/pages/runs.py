"""Real runs of the toy benchmark, small enough for a test: some of the mover's episodes fail, all of the other's."""

from __future__ import annotations

from pathlib import Path

from toy_world import ToyConfig

import yardarm
from yardarm.results import RunResult

STEPS = 11
MOVER, SLOWLY = "toy-mover", "toy_world:SlowlyPolicy"


def toy_run(folder: Path, policy: str = MOVER, n_episodes: int = 6, **more: object) -> RunResult:
    """Evaluate one of the toy's policies on its two tasks."""
    return yardarm.evaluate(
        policy, ToyConfig(max_steps=STEPS), n_episodes=n_episodes, output_dir=folder, batch_size=2, **more
    )
