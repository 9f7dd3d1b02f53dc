"""Compares the training loop with its lower bound: forward and backward of one batch in memory.

python benchmarks/training.py --output=benchmarks/2026-11-training.md
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from report import Figure, Section, document, table

from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter
from yardarm.machine import usable_cores
from yardarm.training import config_from_data
from yardarm.training.devices import open_accelerator
from yardarm.training.learner import make_learner
from yardarm.training.run import make_trainer
from yardarm.training.samples import Preparation
from yardarm.training.trainer import Trainer

log = logging.getLogger("benchmark")

TARGET = 0.9
EPISODES, LENGTH, SIDE, ROUNDS = 20, 60, 96, 7
METHOD = """
Three trainings at the sizes of `recipes/`: an ACT on Meta-World's 39 raw values, an ACT on images of 96 pixels with a
ResNet-18, and the same with image augmentation. The data is made up (20 episodes of 60 frames; images are AV1 video, as
LeRobot's), the code is that of `yardarm train`: `Trainer.advance` loads a batch, prepares it (bytes to floats,
normalisation), computes the loss and its gradient, clips, and updates weights and their moving average.

**The bound** is only forward and backward of the same network on one batch that was prepared before. Both
are measured in turn, in rounds of a few steps, since the speed of a shared machine drifts; the ratio is that of the
medians. Torch has the same number of threads in both; images are decoded by worker processes, on the same cores.

The loop itself measures where the rest of the time goes: waiting for data, preparing and updating.
"""


@dataclass(frozen=True)
class Case:
    name: str
    images: bool
    policy: dict[str, Any]
    batch_size: int
    steps: int
    """Steps per round."""
    dataset: dict[str, Any]


SMALL = {
    **{"type": "act", "device": "cpu", "use_vae": False, "chunk_size": 16, "n_action_steps": 4, "n_heads": 4},
    **{"dim_model": 128, "dim_feedforward": 512, "pretrained_backbone_weights": None},
}
CASES = {
    "states": Case("ACT on states, batches of 128", False, {**SMALL, "n_encoder_layers": 3}, 128, 10, {}),
    "images": Case("ACT on 96 px images, batches of 32", True, {**SMALL, "n_encoder_layers": 2}, 32, 3, {}),
    "augmented": Case(
        "the same with augmentation",
        True,
        {**SMALL, "n_encoder_layers": 2},
        32,
        3,
        {"image_transforms": {"enable": True}},
    ),
}


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="the result file")
    parser.add_argument("--only", choices=CASES, help="measure one case")
    parser.add_argument("--threads", type=int, default=max(1, usable_cores() - 1), help="number of torch threads")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    started = time.monotonic()
    chosen = [CASES[options.only]] if options.only else list(CASES.values())
    with tempfile.TemporaryDirectory() as folder:
        sections = [measure(case, Path(folder)) for case in chosen]
    log.info("%s", table(sections))
    if options.output:
        options.output.write_text(document("The training loop", METHOD, sections, time.monotonic() - started))


def measure(case: Case, folder: Path) -> Section:
    data = folder / ("images" if case.images else "states")
    if not data.exists():
        make_up(data, case.images)
    trainer, prepared = open_trainer(case, data)
    trainer.advance()
    bound, loop, waits = [], [], []
    for _ in range(ROUNDS):
        bound.append(seconds(lambda: forward_backward(trainer, prepared), case.steps))
        begun = time.perf_counter()
        steps = [trainer.advance() for _ in range(case.steps)]
        loop.append((time.perf_counter() - begun) / case.steps)
        waits.append(sum(step.data_s for step in steps) / case.steps)
    ratio = median(bound) / median(loop)
    speed, most = case.batch_size / median(loop), case.batch_size / median(bound)
    figure = Figure(
        f"samples a second: {case.name}",
        f"{speed:.0f} ({ratio:.2f} of the bound)",
        f"forward and backward alone: {most:.0f}",
        f"at least {TARGET} of it",
        ratio >= TARGET,
    )
    return Section(case.name, [figure], notes(trainer, bound, loop, waits))


def notes(trainer: Trainer, bound: list[float], loop: list[float], waits: list[float]) -> list[str]:
    def update() -> None:
        trainer._update()
        if trainer.average is not None:
            trainer.average.update(trainer.step)

    batch = trainer._next_batch()
    preparing = median(seconds(lambda: trainer._prepare(batch), 3) for _ in range(3))
    prepared = trainer._prepare(batch)
    updating = []
    for _ in range(3):
        trainer._learning(prepared)["loss"].backward()
        updating.append(seconds(update, 1))
    parts = {"waiting for data": median(waits), "preparing": preparing, "clipping and updating": median(updating)}
    listed = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in parts.items())
    spread = " ms, the bound ".join(f"{1000 * min(own):.0f}–{1000 * max(own):.0f}" for own in (loop, bound)) + " ms"
    return [
        f"A step takes {1000 * median(loop):.1f} ms, forward and backward {1000 * median(bound):.1f} ms; {listed}.",
        f"Over the rounds a step took {spread}; {torch.get_num_threads()} thread(s) of torch.",
        f"{sum(value.numel() for value in trainer.policy.network.parameters()):,} parameters.",
    ]


def open_trainer(case: Case, data: Path) -> tuple[Trainer, dict[str, torch.Tensor]]:
    config = config_from_data(
        {
            "dataset": {"root": str(data), **case.dataset},
            "policy": case.policy,
            "batch_size": case.batch_size,
            "ema_decay": 0.999,
            "steps": 10_000,
        }
    )
    learner = make_learner(config, None)
    device = learner.policy.placement.device
    trainer = make_trainer(config, learner, open_accelerator(learner.policy.config, config.options, device))
    prepared = Preparation(learner.policy, learner.data.names)(trainer._next_batch())
    return trainer, prepared


def forward_backward(trainer: Trainer, prepared: dict[str, torch.Tensor]) -> None:
    trainer.objective.train()
    trainer.objective(prepared)["loss"].backward()
    trainer.optimizer.zero_grad()


def seconds(what: Callable[[], object], times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        what()
    return (time.perf_counter() - begun) / times


def make_up(root: Path, images: bool) -> None:
    features = {"action": DatasetFeature("float32", (4,))}
    if images:
        features["observation.image"] = DatasetFeature("video", (SIDE, SIDE, 3), ["height", "width", "channels"])
        features["observation.state"] = DatasetFeature("float32", (4,))
    else:
        features["observation.environment_state"] = DatasetFeature("float32", (39,))
    generator = np.random.default_rng(0)
    writer = DatasetWriter.create(root, DatasetInfo(80, features))
    for _ in range(EPISODES):
        for step in range(LENGTH):
            frame: dict[str, Any] = {"task": "made up"}
            for name, feature in features.items():
                if feature.is_visual:
                    picture = np.full((SIDE, SIDE, 3), 90, np.uint8)
                    picture[step : step + 20, 20:60] = generator.integers(255, size=3)
                    frame[name] = picture
                else:
                    frame[name] = generator.standard_normal(feature.shape).astype(np.float32)
            writer.add_frame(frame)
        writer.save_episode()
    writer.finalize()


if __name__ == "__main__":
    main()
