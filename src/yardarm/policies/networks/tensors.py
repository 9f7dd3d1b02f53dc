"""Between numpy and torch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

__all__ = ["add_to_digest", "as_tensor"]


def as_tensor(value: np.ndarray, device: torch.device) -> Tensor:
    """Float32 on a device, as policies are trained: images, which arrive as bytes, as 0…1 with channels first.

    Bytes are moved as bytes, a quarter of the way's cost. Doubles are narrowed before, since not every device has them.
    """
    if value.dtype == np.uint8:
        return torch.from_numpy(np.ascontiguousarray(value)).to(device).movedim(-1, -3).float() / 255
    return torch.from_numpy(np.ascontiguousarray(value, dtype=np.float32)).to(device)


def add_to_digest(digest: hashlib._Hash, tensors: Mapping[str, Tensor]) -> None:
    """Add names and values, whatever their order, device and layout in memory."""
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].detach().reshape(-1).view(torch.uint8).numpy(force=True).data)
