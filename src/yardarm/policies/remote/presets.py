"""What servers that were made for a benchmark expect to be sent.

For LIBERO it is what openpi's and vla-eval's own clients send. Neither has a client for Meta-World: there the names are
chosen here, in their manner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.policies.remote.mapping import INSTRUCTION

__all__ = ["PRESETS", "Preset"]


@dataclass(frozen=True, slots=True)
class Preset:
    """Observations, and after how many actions such a policy looks again."""

    observations: Mapping[str, Any]
    replan: int = 0
    """0: when all are played."""


def _image(source: str, size: int | None = None) -> dict[str, Any]:
    return {"from": source} if size is None else {"from": source, "resize": [size, size]}


# Yardarm's LIBERO shows images as LeRobot does, turned by 180° already: as openpi and vla-eval turn them.
PRESETS: Mapping[tuple[str, str], Preset] = {
    ("openpi", "libero"): Preset(
        {
            "observation/image": _image("observation.images.image", 224),
            "observation/wrist_image": _image("observation.images.image2", 224),
            "observation/state": {"from": "observation.state", "dtype": "float64"},
            "prompt": INSTRUCTION,
        },
        replan=5,
    ),
    ("openpi", "metaworld"): Preset(
        {
            "observation/image": _image("observation.image", 224),
            "observation/state": {"from": "observation.state", "dtype": "float64"},
            "prompt": INSTRUCTION,
        }
    ),
    ("vla-eval", "libero"): Preset(
        {
            "images": {
                "agentview": _image("observation.images.image", 256),
                "wrist": _image("observation.images.image2", 256),
            },
            # vla-eval's angles are at most half a turn, openpi's may be more.
            "states": ["observation.state[0:3]", "observation.state[3:6] as axis_angle", "observation.state[6:8]"],
            "task_description": INSTRUCTION,
        }
    ),
    ("vla-eval", "metaworld"): Preset(
        {
            "images": {"corner2": _image("observation.image")},
            "states": "observation.state",
            "task_description": INSTRUCTION,
        }
    ),
}
