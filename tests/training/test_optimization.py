"""Schedules of the learning rate."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from yardarm.errors import UsageError
from yardarm.policies import OptimizerOptions, SchedulerOptions
from yardarm.training.optimization import make_optimizer, make_scheduler, parameter_groups

SMOLVLA = {"num_warmup_steps": 1000, "num_decay_steps": 30_000, "peak_lr": 1e-4, "decay_lr": 2.5e-6}


def rates(options: SchedulerOptions, steps: int, lr: float = 1e-4, part: float | None = None) -> list[list[float]]:
    """The learning rates of each group, step by step."""
    network = torch.nn.ModuleDict({"backbone": torch.nn.Linear(1, 1), "head": torch.nn.Linear(1, 1)})
    groups = parameter_groups(network, {} if part is None else {"backbone.": part})
    optimizer = make_optimizer(groups, OptimizerOptions("sgd", lr=lr))
    scheduler = make_scheduler(optimizer, options, steps)
    seen = []
    for _ in range(steps + 1):
        seen.append([float(rate) for rate in scheduler.get_last_lr()])
        optimizer.step()
        scheduler.step()
    return seen


def lerobots(step: int, warmup: int, decay: int, peak: float, last: float) -> float:
    """What LeRobot documents: from peak/(warmup+1) in a line to peak; after that half a cosine from step 0 on."""
    if step < warmup:
        return peak / (warmup + 1) + (peak - peak / (warmup + 1)) * step / warmup
    return last + (peak - last) * math.cos(math.pi * min(step, decay) / (2 * decay)) ** 2


@pytest.mark.parametrize(
    ("steps", "warmup", "decay"),
    [(31_000, 1000, 30_000), (30_000, 1000, 30_000), (3000, 100, 3000), (100, 3, 100), (20, 0, 20)],
)
def test_the_decay_with_warmup_is_lerobots(steps: int, warmup: int, decay: int) -> None:
    """A training shorter than the decay has both shortened, rounding down."""
    found = rates(SchedulerOptions(type="cosine_decay_with_warmup", **SMOLVLA), steps)
    for step, [rate] in enumerate(found):
        assert rate == pytest.approx(lerobots(step, warmup, decay, 1e-4, 2.5e-6), rel=1e-12)
    assert found[-1] == [pytest.approx(2.5e-6, rel=1e-12)]


def test_known_points_of_the_schedule() -> None:
    found = [rate for [rate] in rates(SchedulerOptions(type="cosine_decay_with_warmup", **SMOLVLA), 30_000)]
    assert found[0] == pytest.approx(1e-4 / 1001)
    assert found[500] == pytest.approx(1e-4 * (0.5 + 0.5 / 1001))
    assert found[1000] == pytest.approx(9.97330e-5, rel=1e-5)  # the cosine has run for a thousand steps already
    assert found[15_000] == pytest.approx((1e-4 + 2.5e-6) / 2)


def test_parts_with_their_own_rate_keep_the_ratio() -> None:
    for kind in ({"type": "cosine_decay_with_warmup", **SMOLVLA}, {"name": "cosine", "num_warmup_steps": 3}):
        for whole, part in rates(SchedulerOptions(**kind), 50, part=1e-5):
            assert part == pytest.approx(whole / 10, rel=1e-9)


def test_the_peak_is_the_optimisers_rate_unless_another_is_named() -> None:
    plain = SchedulerOptions(type="cosine_decay_with_warmup", decay_lr=1e-5)
    assert rates(plain, 10, lr=1e-3)[-1] == [pytest.approx(1e-5)]
    assert rates(SchedulerOptions(type="cosine_decay_with_warmup", decay_lr=1e-5, peak_lr=1e-4), 10, lr=1e-3)[-1] == [
        pytest.approx(1e-4)  # LeRobot's peak is but a divisor
    ]
    assert rates(SchedulerOptions(type="cosine_decay_with_warmup"), 10)[-1] == [pytest.approx(0, abs=1e-15)]


PRESET = SchedulerOptions(type="cosine_decay_with_warmup", num_warmup_steps=7, num_decay_steps=70, decay_lr=1e-6)


@pytest.mark.parametrize(
    ("preset", "changes", "expected"),
    [
        (PRESET, {}, PRESET),
        (PRESET, {"num_decay_steps": 9}, SchedulerOptions("constant", 7, PRESET.type, 9, None, 1e-6)),
        (PRESET, {"name": "cosine"}, SchedulerOptions("cosine")),
        (PRESET, {"type": "diffuser"}, SchedulerOptions()),
        (SchedulerOptions("cosine", 5), {"num_warmup_steps": 2}, SchedulerOptions("cosine", 2)),
        (SchedulerOptions("cosine", 5), {"type": PRESET.type}, SchedulerOptions(type=PRESET.type)),
    ],
)
def test_another_type_takes_nothing_over_from_a_preset(
    preset: SchedulerOptions, changes: dict[str, Any], expected: SchedulerOptions
) -> None:
    assert preset.changed(changes) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "vqbet"}, "--scheduler.type=vqbet is unknown; one of diffuser, cosine_decay_with_warmup"),
        ({"decay_lr": 1e-6}, "--scheduler.decay_lr is for --scheduler.type=cosine_decay_with_warmup, but the type is"),
        ({"type": PRESET.type, "name": "cosine"}, "--scheduler.name is for --scheduler.type=diffuser, but"),
        ({"type": PRESET.type, "num_decay_steps": 0}, "--scheduler.num_decay_steps must be above 0, got 0"),
        ({"type": PRESET.type, "peak_lr": -1.0}, "--scheduler.peak_lr must be above 0"),
        ({"type": PRESET.type, "decay_lr": -1.0}, "--scheduler.decay_lr must not be negative"),
    ],
)
def test_a_schedule_that_cannot_be_meant_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SchedulerOptions().changed(options)
