"""Folders of runs and of a training that Yardarm 0.1 has written (format 1), and what it takes to resume them.

`make` wrote them with the code of 0.1; a later version would write its own format. They were then stripped: no pages,
logs and weights, actions of the shards only, a made-up machine. `expected.json` has what 0.1 showed of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from toy_world import ToyConfig

import yardarm
from yardarm.evaluation import EvalConfig, EvalOptions, evaluate
from yardarm.policies import ActionChunk, BatchedPolicy, ObservationSpec, Request
from yardarm.tasks import EpisodeSpec
from yardarm.tracking import WandbOptions

RUNS = Path(__file__).parent
TOY = ToyConfig(task="left,right", max_steps=14)
SLOW_TOY = ToyConfig(task="left", max_steps=14, step_s=0.2)


class Steady(BatchedPolicy):
    """Heads for the goal, a batch at a time: its manifest has a record of batching."""

    wants = ObservationSpec(inputs=("observation.state",))
    id = "steady"

    def predict(self, observations: Mapping[str, np.ndarray]) -> np.ndarray:
        """One action."""
        position, goal = observations["observation.state"].T
        return np.sign(goal - position).reshape(-1, 1, 1)


class Sometimes:
    """Solves a share of the episodes, by their seed."""

    wants = ObservationSpec(inputs=("observation.state",))
    place = "host"
    quick = True

    def __init__(self, share: float) -> None:
        self.share = share
        self.id = f"sometimes-{share}"

    def start(self, episode: EpisodeSpec) -> bool:
        """Whether it will."""
        return bool(np.random.default_rng([episode.seed, 7]).random() < self.share)

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        """Head for the goal, or stay."""
        chunks = []
        for request in requests:
            position, goal = request.observation["observation.state"]
            chunks.append(ActionChunk(np.full((1, 1), np.sign(goal - position) if request.state else 0.0)))
        return chunks


def make(folder: Path) -> None:
    """Two sessions, of which the second was tuned; two early stops; two shards."""
    yardarm.evaluate(Steady(), SLOW_TOY, n_episodes=2, batch_size=1, output_dir=folder / "two_sessions")
    yardarm.evaluate(Steady(), SLOW_TOY, n_episodes=26, output_dir=folder / "two_sessions")
    duel = {"stop": "decided", "against": Sometimes(0.9), "n_episodes": 15}
    yardarm.evaluate(Sometimes(0.1), TOY, batch_size=2, output_dir=folder / "decided", **duel)
    precise = {"stop": "precision", "half_width": 0.25, "n_episodes": 20}
    tracked = WandbOptions(enable=True, mode="offline", project="golden")
    yardarm.evaluate(Sometimes(0.9), TOY, batch_size=2, output_dir=folder / "precise", wandb=tracked, **precise)
    for shard in ("1/2", "2/2"):
        evaluate(shard_config(folder / "sharded", shard))


def shard_config(folder: Path, shard: str | None, n_episodes: int = 3) -> EvalConfig:
    """One of two parts of an evaluation."""
    return EvalConfig(
        env=TOY,
        policy=Sometimes(0.9),
        eval=EvalOptions(n_episodes=n_episodes, batch_size=1),
        output_dir=folder,
        shard=shard,
        method="sometimes",
        training_seed=7,
    )
