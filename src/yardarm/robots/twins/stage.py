"""Twins for any command: ``--robot.port=twin`` starts one in this process, and a port may lead to one in another.

flags ──▶ Stage.from_data ──▶ with stage: twins live, and `data` has their ports ──▶ devices are made as for real arms
                                   └──▶ stage.clock: the host's, or the twins' own
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from yardarm.config import decode, option, plain_value
from yardarm.errors import UsageError
from yardarm.files import is_locked, lock_folder
from yardarm.robots.clock import Clock, HostClock
from yardarm.robots.making import TELEOPERATORS, find_driver
from yardarm.robots.twins.door import RemoteTwin, open_door
from yardarm.robots.twins.motion import read_motion
from yardarm.robots.twins.options import TwinOptions, TwinPlan, plan_twin
from yardarm.robots.twins.scenes import check_scene
from yardarm.robots.twins.time import TwinTime
from yardarm.robots.twins.twin import Twin

__all__ = ["Stage", "StageOptions"]

TWIN = "twin"
ROBOT, TELEOP = "robot", "teleop"
# Options of a twin that this command starts; one that runs elsewhere was given them there.
OF_THE_ROBOT = ("scene", "seed", "faults")
# What is younger may be about to be locked by its owner.
ABANDONED_AFTER_S = 60.0
AnyTwin = Twin | RemoteTwin


@dataclass
class StageOptions:
    """Flags below ``--twin.`` of commands that use robots."""

    realtime: bool = option(True, "false: time passes in the twins only, so nothing is late and every run is the same")
    scene: str = option("", "what is on the robot's table: cube_and_box")
    seed: int = option(0, "where things are at first; each reset of the scene counts it on")
    faults: str = option("", "disturb the robot's answers: 0.02, or lost=0.01,late=0.02,seed=3, …")
    motion: Path | None = option(None, "move the leader by a CSV or JSON file: `time`, and a column per joint")
    repeat: bool = option(False, "begin that motion again when it ends")

    def __post_init__(self) -> None:
        check_scene(self.scene)
        if self.seed < 0:
            raise UsageError(f"--twin.seed must not be negative, got {self.seed}")


class Stage:
    """The twins of a command, its own and others', and the clock that goes with them."""

    def __init__(self, data: dict[str, Any], options: StageOptions, plans: Mapping[str, TwinPlan], told: bool) -> None:
        self._data, self._options, self._plans, self._told = data, options, plans, told
        self._stack = contextlib.ExitStack()
        self.twins: dict[str, AnyTwin] = {}
        """By section: robot, teleop."""
        self.clock: Clock = HostClock()
        """What the loop, the guard and cameras go by."""

    @classmethod
    def from_data(cls, data: dict[str, Any], command: str) -> Stage:
        """Take the section ``twin`` out of a configuration, and check it; inside of the block, ports are the twins'."""
        given = data.pop(TWIN, {})
        if not isinstance(given, Mapping):
            raise UsageError(f"--twin must have options, such as --twin.realtime=false, got {given!r}")
        options: StageOptions = decode(StageOptions, TWIN, given, command)
        plans = {name: _planned(name, data[name], options) for name in (ROBOT, TELEOP) if _port(data, name) == TWIN}
        for name in OF_THE_ROBOT:
            if name in given and ROBOT not in plans:
                raise UsageError(f"--twin.{name}={given[name]} is for --robot.port=twin, which is not given")
        if options.motion and TELEOP not in plans:
            raise UsageError("--twin.motion moves a leader of this command; add --teleop.port=twin")
        if options.repeat and not options.motion:
            raise UsageError("--twin.repeat repeats --twin.motion, which is not given")
        return cls(data, options, plans, bool(given))

    def __enter__(self) -> Self:
        try:
            self._begin()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def is_real_time(self) -> bool:
        """Whether time passes by itself."""
        return not isinstance(self.clock, TwinTime)

    @property
    def scene(self) -> str:
        """What is on the robot's table; empty: nothing, or nobody knows."""
        twin = self.twins.get(ROBOT)
        return "" if twin is None else (twin.spec if isinstance(twin, RemoteTwin) else twin.about).scene

    def reset(self, seed: int | None = None) -> None:
        """Set up the scene anew, from a seed or the next one; without a scene, a person would do it."""
        if self.scene:
            self.twins[ROBOT].reset_scene(seed)

    def _begin(self) -> None:
        for section in (ROBOT, TELEOP):
            if section in self._plans:
                self._start(section, self._plans[section])
            elif (port := self._arms_port(section)) and (found := open_door(port)):
                self._stack.callback(found.close)
                self.twins[section] = found
        if self._told and not self.twins:
            raise UsageError("--twin.… is for twins; add --robot.port=twin, or the port of one that runs")
        self._choose_clock()
        if _watches_robot(self._data) and ROBOT in self.twins:
            self._data[TELEOP].setdefault("port", self.twins[ROBOT].port)
            if (unit := self._data[ROBOT].get("use_degrees")) is not None:
                self._data[TELEOP].setdefault("use_degrees", unit)

    def _start(self, section: str, plan: TwinPlan) -> None:
        own = self._data[section]
        if plan.id is None and "calibration_dir" not in own:
            folder = self._stack.enter_context(_passing_folder())  # nobody will ask for this calibration again
            own["calibration_dir"] = str(folder)
            plan = replace(plan, calibration=None, calibration_file=folder / "None.json")
        twin = self._stack.enter_context(plan.open())
        own["port"] = twin.port
        self.twins[section] = twin

    def _choose_clock(self) -> None:
        stepped = [name for name, twin in self.twins.items() if not _is_real_time(twin)]
        by_itself = [name for name in (ROBOT, TELEOP) if name not in stepped and self._lives_by_itself(name)]
        if stepped and by_itself:
            raise UsageError(
                f"the {stepped[0]} is a twin whose time passes when somebody lets it, but the {by_itself[0]}'s passes "
                "by itself; start both with --twin.realtime=false, or none"
            )
        if not self._options.realtime and not stepped:
            raise UsageError("--twin.realtime=false: the twin lives in real time; start it with --twin.realtime=false")
        if stepped:
            self.clock = TwinTime([self.twins[name] for name in stepped])

    def _lives_by_itself(self, section: str) -> bool:
        """Whether a section names an arm that does not wait: a real one, or a twin in real time."""
        if section in self.twins:
            return _is_real_time(self.twins[section])
        return bool(self._arms_port(section))

    def _arms_port(self, section: str) -> str:
        """The port of a section's own arm: a script has none."""
        return "" if section == TELEOP and _watches_robot(self._data) else _port(self._data, section)


@contextlib.contextmanager
def _passing_folder() -> Iterator[Path]:
    """A folder that is removed when the block ends; if this process is killed, by the next one that needs one."""
    prefix = f"yardarm-twin-{os.geteuid()}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # it is being removed, or is somebody else's
            if time.time() - left.stat().st_mtime > ABANDONED_AFTER_S and not is_locked(left):
                shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=prefix) as name:
        lock = lock_folder(Path(name))
        try:
            yield Path(name)
        finally:
            os.close(lock)


def _is_real_time(twin: AnyTwin) -> bool:
    return twin.is_real_time


def _port(data: Mapping[str, Any], section: str) -> str:
    own = data.get(section)
    return str(plain_value(own.get("port", "")) or "") if isinstance(own, Mapping) else ""


def _watches_robot(data: Mapping[str, Any]) -> bool:
    """Whether the teleoperator is a script that looks at the robot's twin."""
    own = data.get(TELEOP)
    type = str(own.get("type", "")) if isinstance(own, Mapping) else ""
    return type in TELEOPERATORS.names() and bool(getattr(find_driver(TELEOPERATORS, type), "watches_robot", False))


def _planned(section: str, device: Mapping[str, Any], options: StageOptions) -> TwinPlan:
    is_robot = section == ROBOT
    own = {name: value for name, value in device.items() if name != "port" and name.partition(".")[0] != "cameras"}
    asked = TwinOptions(
        calibrated=True,
        realtime=options.realtime,
        faults=options.faults if is_robot else "",
        scene=options.scene if is_robot else "",
        seed=options.seed,
    )
    motion = read_motion(options.motion, options.repeat) if options.motion and not is_robot else None
    return plan_twin(section, own, asked, motion)
