"""How a hand is moved: flags below ``--ee.``, for commands with a teleoperator that moves a hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from yardarm.config import option, positive
from yardarm.errors import UsageError

__all__ = ["AXES", "EeOptions"]

AXES = ("x", "y", "z")
SMALLEST, LARGEST = "min", "max"


@dataclass
class EeOptions:
    """Flags below ``--ee.``; those with long names are LeRobot's."""

    speed: float = option(0.12, "how fast the hand moves at most, in metres per second")
    end_effector_step_sizes: float | dict[str, float] | None = option(
        None, "instead of a speed: metres in each turn of the loop; one number, or {x: …, y: …, z: …}"
    )
    end_effector_bounds: dict[str, list[float]] | None = option(
        None, "the box that the hand stays in, in metres from the base: {min: [x, y, z], max: [x, y, z]}"
    )
    max_ee_step_m: float = option(
        0.05, "how far the hand's goal may be from the hand, and from the last goal, in metres"
    )
    gripper_speed_factor: float = option(20.0, "how far ahead of the gripper its goal is while it moves, of 0 … 100")
    orientation_weight: float = option(0.01, "how much a radian counts against a metre where the arm cannot do both")
    urdf_path: Path | None = option(None, "the arm's URDF file, for an arm that has no model here, or a better one")
    target_frame_name: str | None = option(None, "which of the file's frames is the hand [gripper_frame_link]")

    def __post_init__(self) -> None:
        """Refuse what would move the hand nowhere, or anywhere."""
        positive("--ee.speed", self.speed)
        positive("--ee.max_ee_step_m", self.max_ee_step_m)
        positive("--ee.gripper_speed_factor", self.gripper_speed_factor)
        if not self.orientation_weight >= 0:
            raise UsageError(f"--ee.orientation_weight must not be negative, got {self.orientation_weight}")
        if isinstance(sizes := self.end_effector_step_sizes, dict) and sorted(sizes) != [*AXES]:
            raise UsageError(f"--ee.end_effector_step_sizes needs x, y and z, got {', '.join(sizes) or 'nothing'}")
        for size in self.step_sizes or ():
            positive("--ee.end_effector_step_sizes", size)
        if self.end_effector_bounds is not None:
            self._check_bounds(self.end_effector_bounds)

    def _check_bounds(self, bounds: dict[str, list[float]]) -> None:
        ends = bounds.get(SMALLEST, []), bounds.get(LARGEST, [])
        is_box = sorted(bounds) == [LARGEST, SMALLEST] and all(len(end) == len(AXES) for end in ends)
        if not is_box or not all(low < high for low, high in zip(*ends, strict=True)):
            raise UsageError(
                "--ee.end_effector_bounds must be {min: [x, y, z], max: [x, y, z]}, each min below its max; got "
                f"{bounds}"
            )

    @property
    def step_sizes(self) -> tuple[float, ...] | None:
        """Metres in each turn, along x, y and z; None: by speed."""
        sizes = self.end_effector_step_sizes
        if sizes is None:
            return None
        return tuple(sizes[axis] for axis in AXES) if isinstance(sizes, dict) else (sizes,) * len(AXES)

    @property
    def box(self) -> tuple[list[float], list[float]]:
        """The smallest and the largest x, y and z."""
        bounds = self.end_effector_bounds
        if bounds is None:
            return [-math.inf] * len(AXES), [math.inf] * len(AXES)
        return bounds[SMALLEST], bounds[LARGEST]
