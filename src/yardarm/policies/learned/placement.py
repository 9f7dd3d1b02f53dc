"""Where and how a network computes."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch

from yardarm.errors import UsageError, nearest, one_line
from yardarm.machine import working_instructions

__all__ = ["Placement", "choose_device", "choose_dtype"]

DEVICES = ("cpu", "cuda", "mps", "xpu")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Set here for programs that import Yardarm; oneDNN reads it when it first computes.
os.environ.update({name: value for name, value in working_instructions().items() if name not in os.environ})


@dataclass(frozen=True, slots=True)
class Placement:
    """The device and the type of numbers of a policy."""

    device: torch.device
    dtype: torch.dtype = torch.float32
    resize_images: bool = False
    """Whether images of another size than the policy was trained with are resized, or refused."""


def choose_device(name: str) -> torch.device:
    """The device of this name; "auto" is the fastest kind that is there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name.partition(":")[0] not in DEVICES:
        raise UsageError(f"--policy.device={name} is unknown; auto, or one of {', '.join(DEVICES)}")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UsageError(f"--policy.device={name} cannot be used here: {one_line(error)[:120]}") from error
    return device


def choose_dtype(name: str) -> torch.dtype:
    """The floating point type of this name."""
    if name not in DTYPES:
        raise UsageError(f"--policy.dtype={name} is unknown{nearest(name, DTYPES)} one of {', '.join(DTYPES)}")
    return DTYPES[name]
