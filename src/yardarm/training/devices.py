"""The devices of a training: one, or several by ``accelerate launch``; and the precision they compute in."""

from __future__ import annotations

from typing import Any

import torch

from yardarm.errors import UsageError
from yardarm.policies.learning import PolicyConfig
from yardarm.training.config import TrainOptions

__all__ = ["open_accelerator", "precision_of"]


def precision_of(config: PolicyConfig, options: TrainOptions, device: torch.device) -> str:
    """No, bf16 or fp16: as the flag says, or as torch mixes by itself on the device if the policy wants it."""
    if options.mixed_precision:
        precision = options.mixed_precision
    elif config.use_amp:
        precision = "fp16" if torch.get_autocast_dtype(device.type) == torch.float16 else "bf16"
    else:
        precision = "no"
    if precision == "fp16" and device.type == "cpu":
        raise UsageError("--mixed_precision=fp16 needs a GPU; on a CPU there is bf16")
    return precision


def open_accelerator(config: PolicyConfig, options: TrainOptions, device: torch.device) -> Any:
    """What brings the network to its devices. Alone on one, it changes nothing."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    if device.index:
        raise UsageError(f"--policy.device={device}: choose a GPU by CUDA_VISIBLE_DEVICES, and let it be cuda here")
    torch.backends.cudnn.deterministic = options.cudnn_deterministic
    torch.backends.cudnn.benchmark = not options.cudnn_deterministic
    AcceleratorState._reset_state()  # an earlier training of this process may have had another precision
    return Accelerator(
        mixed_precision=precision_of(config, options, device),
        cpu=device.type == "cpu",
        step_scheduler_with_optimizer=False,
    )
