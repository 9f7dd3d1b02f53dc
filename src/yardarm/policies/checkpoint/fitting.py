"""Whether the tensors of a file are those that a network has."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from yardarm.errors import UsageError

__all__ = ["check_fit"]


def check_fit(found: Mapping[str, Tensor], expected: Mapping[str, Tensor], source: str, settings: str) -> None:
    """Refuse other names, other shapes, and values that are no numbers; `source` was to fit `settings`."""
    misfit = f"{source} does not fit its {settings}"
    if missing := [name for name in expected if name not in found]:
        raise UsageError(f"{misfit}: it lacks {_few(missing)}")
    if unknown := [name for name in found if name not in expected]:
        raise UsageError(f"{misfit}: nothing there is called {_few(unknown)}")
    for name, value in expected.items():
        if found[name].shape != value.shape:
            raise UsageError(
                f"{misfit}: '{name}' has the shape {tuple(found[name].shape)}, where {tuple(value.shape)} is expected"
            )
        # NaN and infinity survive a sum, which is far quicker than a search.
        if not found[name].sum(dtype=torch.float64).isfinite():
            raise UsageError(f"{source} is damaged: '{name}' has values that are not finite (NaN or infinity)")


def _few(names: list[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names[:3])
    return listed + (f" and {len(names) - 3} more" if len(names) > 3 else "")
