"""What a learned policy is given, before its pipeline: checked, and with images in their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor
from torch.nn import functional as F

from yardarm.errors import UsageError
from yardarm.policies.batching import Observations
from yardarm.policies.processing import Batch
from yardarm.policies.protocol import TASK, ObservationSpec

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["check_observations", "resized"]


def check_observations(policy: LearnedPolicy, observations: Observations) -> None:
    """Refuse what the network would misread, or fail on somewhere deep inside."""
    shapes = policy.row_shapes()
    wanted = [*shapes, TASK] if policy.wants.instruction else [*shapes]
    for name in wanted:
        if name not in observations:
            raise UsageError(f"predict: '{name}' is missing; the policy reads {', '.join(wanted)}")
    for name, shape in shapes.items():
        value = observations[name]
        if not isinstance(value, np.ndarray):
            raise UsageError(f"predict: '{name}' must be a numpy array, not {type(value).__name__}")
        if name in policy.cameras and value.dtype != np.uint8:
            raise UsageError(f"predict: '{name}' must be bytes (height, width, channel), not {value.dtype}")
        if value.shape[1:] != shape and name not in policy.wants.resizable:
            raise UsageError(f"predict: '{name}' must have the shape {('batch', *shape)}, not {value.shape}")
    texts = observations[TASK] if policy.wants.instruction else []
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"predict: '{TASK}' must be a list of instructions, one for each row, not {texts!r}")
    rows = {name: len(value) for name, value in observations.items() if np.ndim(value)}
    if len(set(rows.values())) > 1 or 0 in rows.values():
        listed = ", ".join(f"'{name}' {count}" for name, count in rows.items())
        raise UsageError(f"predict: every input needs the same number of rows, at least one; there are {listed}")


def resized(batch: Batch, wants: ObservationSpec, cameras: Sequence[str]) -> Batch:
    """Images in the size that the policy was trained with; most have it already."""
    other_sizes: dict[str, Tensor] = {}
    for name in cameras:
        image, (height, width, _) = batch[name], wants.shapes[name]
        assert isinstance(image, Tensor)
        if image.shape[-2:] != (height, width):
            flat = F.interpolate(image.flatten(0, -4), (height, width), mode="bilinear", antialias=True)
            other_sizes[name] = flat.unflatten(0, image.shape[:-3])
    return {**batch, **other_sizes}
