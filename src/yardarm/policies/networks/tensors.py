"""Between numpy and torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

__all__ = ["add_to_digest", "as_tensor", "image_tensor"]


def as_tensor(value: np.ndarray, device: torch.device) -> Tensor:
    """The same values on a device. Numbers with a point become float32; integers and booleans stay what they are.

    Doubles are narrowed before they are moved, since not every device has them.
    """
    if value.dtype.kind == "f":
        value = value.astype(np.float32, copy=False)
    return torch.from_numpy(np.ascontiguousarray(value)).to(device)


def image_tensor(value: np.ndarray, device: torch.device) -> Tensor:
    """Images (…, height, width, channel) of bytes as float32 0…1 with channels first.

    They are moved as bytes, a quarter of the way's cost.
    """
    return torch.from_numpy(np.ascontiguousarray(value)).to(device).movedim(-1, -3).float() / 255


def add_to_digest(digest: hashlib._Hash, tensors: Mapping[str, Tensor]) -> None:
    """Add names and values, whatever their order, device and layout in memory."""
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].detach().reshape(-1).view(torch.uint8).numpy(force=True).data)
