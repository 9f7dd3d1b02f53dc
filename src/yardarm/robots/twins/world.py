"""A twin's scene without a port and without a clock: the same motors and the same physics, one action at a time."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.robots.motors import calibration_to_json
from yardarm.robots.motors.units import Scale
from yardarm.robots.so_arm import SoFollower, SoFollowerConfig
from yardarm.robots.twins.arm_model import STEP_S
from yardarm.robots.twins.meshes import picture_model
from yardarm.robots.twins.mounted_arm import SLICE, MountedArm
from yardarm.robots.twins.scenes.picking import Picking
from yardarm.robots.twins.time import NEARLY
from yardarm.robots.twins.twin import Twin

__all__ = ["ScriptedPlan", "TwinWorld"]

TYPE = "so101_follower"


class TwinWorld:
    """An SO-101 and its scene. Values are in the units of the arm's driver, in the order of `joints`.

    The arm begins at rest, as a twin does, with its motors configured by its driver. What is seen and done in each turn
    of a loop on a twin whose time waits is the same here, to the bit.
    """

    def __init__(self, scene: str, fps: int) -> None:
        self._scene, self._fps = scene, fps
        self._registers, self._scales = _configured(scene)
        self.joints = list(self._scales)
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Start anew, from a seed."""
        self.arm = MountedArm(TYPE, calibrated=True, published_model=True, scene=self._scene, seed=seed)
        for name, servo in self.arm.servos.items():
            servo.memory[:] = self._registers[name]
            servo.writes += 1
        self._turn = 0

    def positions(self) -> list[float]:
        """Where the joints are, as the motors show it."""
        return [self._scales[name].value(servo.present_position()) for name, servo in self.arm.servos.items()]

    def act(self, goals: Sequence[float]) -> None:
        """Send the joints to their goals, and let one turn of the loop pass."""
        for (name, servo), goal in zip(self.arm.servos.items(), goals, strict=True):
            servo.set_signed("Goal_Position", self._scales[name].raw(float(goal)))
            servo.writes += 1
        steps = self._steps_until(self._turn + 1) - self._steps_until(self._turn)
        while steps > 0:
            count = min(steps, SLICE)
            self.arm.live(count)
            steps -= count
        self._turn += 1

    @property
    def success(self) -> bool:
        """Whether the scene is as it should be in the end."""
        return self.arm.success

    @property
    def qpos(self) -> list[float]:
        """All of MuJoCo's positions."""
        return self.arm.body.state()

    def picture_model(self) -> Any:
        """MuJoCo's model for pictures, whose positions are `qpos`."""
        return picture_model(self.arm.model)

    def inner_state(self) -> list[float]:
        """What the motors' next moves depend on, besides MuJoCo's state."""
        return [number for drive in self.arm.drives.values() for number in drive.inner_state()]

    def _steps_until(self, turn: int) -> int:
        """The same as `TwinTime`: the steps that fit."""
        return math.floor(turn / self._fps / STEP_S + NEARLY)


class ScriptedPlan:
    """What a person would do in the scene: actions from its beginning to its end."""

    def __init__(self, seed: int, fps: int) -> None:
        self._seed, self._fps = seed, fps

    def actions(self, qpos: Sequence[float]) -> list[list[float]]:
        """All of them, for a scene that has just begun."""
        arm = MountedArm(TYPE, calibrated=True, published_model=True, scene="cube_and_box")
        path = Picking(arm.body.model, arm.model.rest).plan(qpos, self._seed)
        return [
            [arm.drives[name].mounting.value(angle) for name, angle in path(turn / self._fps).items()]
            for turn in range(math.ceil((path.seconds + 1.0) * self._fps))
        ]


def _configured(scene: str) -> tuple[Mapping[str, bytes], dict[str, Scale]]:
    """What the arm's own driver writes into its motors, and its units: asked of a twin, once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Twin(TYPE, calibrated=True, published_model=True, real_time=False, scene=scene) as twin,
    ):
        assert twin.calibration is not None
        Path(folder, "None.json").write_text(calibration_to_json(twin.calibration), encoding="utf-8")
        # Made by hand: where only a world is installed, nothing can read flags. A busy machine needs retries.
        config = SoFollowerConfig(port=twin.port, calibration_dir=Path(folder), watchdog=False, num_read_retries=20)
        with SoFollower(config) as robot:
            twin.settle()
            registers = {name: bytes(servo.memory) for name, servo in twin.servos.items()}
            return registers, {name: robot.bus.scale(name) for name in twin.motors}
