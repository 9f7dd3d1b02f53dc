"""A leader and a follower without hardware, and the flags that reach them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import GOLDEN
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.robots.motors import calibration_to_json, read_calibration_file

CALIBRATION = read_calibration_file(GOLDEN / "robots" / "so101_follower" / "calibration.json")


@dataclass(frozen=True)
class TwinArms:
    """Motors with a memory and no physics: what they are sent is where they are, at once."""

    leader: TwinPort
    follower: TwinPort
    folder: Path

    @property
    def robot(self) -> list[str]:
        return _flags("robot", "so101_follower", self.follower.path, self.folder)

    @property
    def words(self) -> list[str]:
        return [*self.robot, *_flags("teleop", "so101_leader", self.leader.path, self.folder)]

    def torques(self) -> set[int]:
        return {servo.get("Torque_Enable") for servo in self.follower.chain.servos}


@contextlib.contextmanager
def twin_arms(folder: Path, leader_faults: str = "") -> Iterator[TwinArms]:
    (folder / "a.json").write_text(calibration_to_json(CALIBRATION))
    with (
        twin_of("so101_leader", CALIBRATION, leader_faults) as leader,
        twin_of("so101_follower", CALIBRATION) as follower,
    ):
        yield TwinArms(leader, follower, folder)


def _flags(section: str, type: str, port: str, folder: Path) -> list[str]:
    own = {"type": type, "port": port, "id": "a", "calibration_dir": folder}
    return [f"--{section}.{name}={value}" for name, value in own.items()]
