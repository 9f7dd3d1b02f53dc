"""Twins in processes of their own, which stand for hardware and note when they are told where to go."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from processes import CONTEXT

from yardarm.robots.twins import Servo, TwinOptions, plan_twin

TYPES = {"robot": "so101_follower", "teleop": "so101_leader"}
WAVE = "time,shoulder_pan,gripper\n0,-30,20\n1,30,80\n2,-30,20\n"


@dataclass(frozen=True)
class TwinProcess:
    """A twin that lives elsewhere."""

    flags: list[str]
    """What reaches it, for Yardarm's commands and for LeRobot's."""
    _pipe: Connection

    def goals(self) -> list[float]:
        """When goals have arrived there, since it was last told to forget; by the monotonic clock."""
        return self._ask("goals")

    def latest_goal(self) -> float | None:
        """When the last one has arrived: asks less of the twin than all of them."""
        return self._ask("latest")

    def forget_goals(self) -> None:
        self._ask("forget")

    def _ask(self, what: str) -> Any:
        self._pipe.send(what)
        return self._pipe.recv()


@contextlib.contextmanager
def twin_process(section: str, folder: Path) -> Iterator[TwinProcess]:
    """A calibrated arm, `robot` or `teleop`, whose calibration is in the folder; a hand moves the leader."""
    device = {"type": TYPES[section], "id": "a", "calibration_dir": str(folder / section)}
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(section, device, folder, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        port = ours.recv()
        yield TwinProcess([f"--{section}.{name}={value}" for name, value in {**device, "port": port}.items()], ours)
    finally:
        ours.close()  # it ends when nobody is there to ask
        process.join()


def run_like_hardware() -> None:
    """Take precedence over everything else, if that is allowed here: no load slows hardware down."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(20))


def _serve(section: str, device: dict[str, str], folder: Path, pipe: Connection) -> None:
    run_like_hardware()
    options = TwinOptions(calibrated=True)
    if section == "teleop":
        wave = folder / "wave.csv"
        wave.write_text(WAVE)
        options = TwinOptions(calibrated=True, motion=wave, repeat=True)
    goals: list[float] = []
    with plan_twin(section, device, options).open() as twin, contextlib.suppress(EOFError):
        _note_goals(twin.servos["shoulder_pan"], goals)
        pipe.send(twin.port)
        while True:
            match pipe.recv():
                case "goals":
                    pipe.send(goals)
                case "latest":
                    pipe.send(goals[-1] if goals else None)
                case "forget":
                    pipe.send(goals.clear())


def _note_goals(servo: Servo, goals: list[float]) -> None:
    """Note when somebody writes where the motor is to go; a sync write reaches all motors at once."""
    address, write = servo.registers["Goal_Position"].address, servo.write

    def noted(start: int, data: bytes) -> int:
        if start <= address < start + len(data):
            goals.append(time.monotonic())
        return write(start, data)

    servo.write = noted  # type: ignore[method-assign]
