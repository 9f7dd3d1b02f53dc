"""A loop that moves a twin and sees through two cameras, for tests of its page."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.control import Button, HoldOptions, LiveState, Loop, teleoperation
from yardarm.errors import UsageError
from yardarm.robots import Frame, Guarded, Reading, make_robot, make_teleoperator
from yardarm.robots.motors import calibration_to_json
from yardarm.robots.twins import Twin
from yardarm.viewer import Listening, served_control


@dataclass
class ControlScene:
    """Where its page is, what was pressed, and whether its camera is frozen."""

    address: str = ""
    pressed: list[str] = field(default_factory=list)
    frozen: threading.Event = field(default_factory=threading.Event)
    state: Any = None
    leader: Any = None


@contextlib.contextmanager
def control_scene(folder: Path) -> Iterator[ControlScene]:
    scene, over = ControlScene(), threading.Event()
    with Twin("so101_leader", calibrated=True) as leader_twin, Twin("so101_follower", calibrated=True) as twin:
        assert leader_twin.calibration
        assert twin.calibration
        (folder / "l.json").write_text(calibration_to_json(leader_twin.calibration))
        (folder / "f.json").write_text(calibration_to_json(twin.calibration))
        scene.leader = leader_twin
        leader_twin.play(lambda t: {"shoulder_pan": 40 * math.sin(t), "gripper": 50 + 40 * math.sin(2 * t)})
        own = {"calibration_dir": folder, "watchdog": False}
        leader = patient(make_teleoperator("so101_leader", port=leader_twin.port, id="l", **own))
        robot = patient(make_robot("so101_follower", port=twin.port, id="f", **own))
        see(robot, scene)
        loop, guarded = Loop(30), Guarded(robot)
        buttons = [
            Button("end", "→ End the episode", "ArrowRight", lambda: scene.pressed.append("end")),
            Button("stop", "Esc Stop", "Escape", lambda: scene.pressed.append("stop")),
            Button("repeat", "← Record again", "ArrowLeft", refuse),
        ]
        scene.state = state = LiveState(guarded, loop, str(leader), buttons=buttons)

        def move() -> None:
            for tick in teleoperation(guarded, leader, loop, stop=over.is_set, hold=HoldOptions(patience_s=600)):
                state.update(tick)

        with leader, guarded, served_control(state, Listening()) as scene.address:
            thread = threading.Thread(target=move)
            thread.start()
            try:
                yield scene
            finally:
                over.set()
                thread.join()


def refuse() -> None:
    raise UsageError("there is nothing to record again")


def patient(arm: Any) -> Any:
    arm.bus.line.patience_s, arm.bus.retry_budget_s = 2.0, 10.0
    return arm


def see(robot: Any, scene: ControlScene) -> None:
    """Give the robot two cameras: one of colours that move, and one of depth."""
    observe, seen = robot.observe, {"number": 0, "captured": 0.0}

    def observed() -> Reading:
        reading = observe()
        if not scene.frozen.is_set():
            seen.update(number=seen["number"] + 1, captured=robot.clock.now())
        ramp = np.arange(160, dtype=np.uint8)
        front = np.stack([np.tile(np.roll(ramp, int(seen["number"])), (120, 1))] * 3, axis=-1)
        depth = np.tile(np.arange(160, dtype=np.uint16) * 10, (120, 1))[..., None]
        frames = {
            "front": Frame(front, seen["captured"], int(seen["number"])),
            "front_depth": Frame(depth, seen["captured"], int(seen["number"])),
        }
        pictures = {name: frame.picture for name, frame in frames.items()}
        return Reading({**reading.values, **pictures}, reading.joints_s, frames)

    robot.observe = observed
