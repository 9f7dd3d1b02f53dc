"""All random generators of a process, as tensors under LeRobot's names."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["all_generator_states", "generator_states", "restore_generators", "seed_generators"]


def seed_generators(seed: int) -> None:
    """Begin all of them from a number."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # the global one, which others may draw from
    torch.manual_seed(seed)


def generator_states() -> dict[str, Tensor]:
    """Where each of them is."""
    version, words, _ = random.getstate()
    numbers = np.random.get_state()
    assert not isinstance(numbers, dict)
    _, keys, place, has_gauss, gauss = numbers
    states = {
        "py_rng_version": torch.tensor([version]),
        "py_rng_state": torch.tensor(words),
        "np_rng_state_values": torch.from_numpy(keys.astype(np.int64)),
        "np_rng_state_index": torch.tensor([place]),
        "np_rng_has_gauss": torch.tensor([has_gauss]),
        "np_rng_cached_gaussian": torch.tensor([gauss], dtype=torch.float32),
        "torch_rng_state": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        states["torch_cuda_rng_state"] = torch.cuda.get_rng_state()
    if torch.backends.mps.is_available():
        states["torch_mps_rng_state"] = torch.mps.get_rng_state()
    return states


def all_generator_states(accelerator: Any) -> list[dict[str, Tensor]]:
    """Those of every process, in order; the first one writes them."""
    if accelerator.num_processes == 1:
        return [generator_states()]
    from accelerate.utils import gather_object

    return gather_object([generator_states()])


def restore_generators(states: Mapping[str, Tensor]) -> None:
    """Go on from there."""
    random.setstate((int(states["py_rng_version"]), tuple(states["py_rng_state"].tolist()), None))
    gauss = int(states["np_rng_has_gauss"]), float(states["np_rng_cached_gaussian"])
    keys = states["np_rng_state_values"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", keys, int(states["np_rng_state_index"]), *gauss))
    torch.set_rng_state(states["torch_rng_state"])
    if torch.cuda.is_available() and "torch_cuda_rng_state" in states:
        torch.cuda.set_rng_state(states["torch_cuda_rng_state"])
    if torch.backends.mps.is_available() and "torch_mps_rng_state" in states:
        torch.mps.set_rng_state(states["torch_mps_rng_state"])
