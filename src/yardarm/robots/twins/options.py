"""The flags below ``--twin.``, and the twin that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.config import decode, one_of, option, positive
from yardarm.errors import UsageError
from yardarm.files import write_atomically
from yardarm.robots.device import DeviceConfig
from yardarm.robots.motors import MotorCalibration, calibration_to_json, read_calibration_file
from yardarm.robots.places import calibration_folder
from yardarm.robots.twins.faults import parse_faults
from yardarm.robots.twins.motion import Motion, read_motion
from yardarm.robots.twins.mounted_arm import driver_of
from yardarm.robots.twins.scenes import check_scene
from yardarm.robots.twins.twin import Twin

__all__ = ["PortLink", "TwinOptions", "TwinPlan", "plan_twin"]

WALL, STDIN = "wall", "stdin"
AUTO, PUBLISHED, SIMPLE = "auto", "published", "simple"


@dataclass
class TwinOptions:
    """Flags of ``yardarm twin``."""

    calibrated: bool | None = option(
        None,
        "true: calibrated motors, and a file of it for the id if there is none; false: new motors [as that file is]",
    )
    unpacked: bool = option(
        False, "motors that all have id 1, each plugged in when the one before has its own: for setup-motors"
    )
    faults: str = option("", "disturb the answers: 0.02, or lost=0.01,late=0.02,unplugged=gripper@10-12,seed=3, …")
    motion: Path | None = option(
        None, "move the joints by a CSV or JSON file: `time` in seconds, and a column per joint"
    )
    dataset: str | None = option(None, "move the joints as in a recording: a dataset's folder, or owner/name")
    episode: int = option(0, "the episode of that dataset")
    repeat: bool = option(False, "begin the motion or the recording again when it ends")
    view: bool = option(False, "show the arm in the browser, with a slider for each joint")
    view_port: int | None = option(None, "the port of that page [7780, or the next free one]")
    open: bool = option(True, "open a browser for it")
    link: Path | None = option(None, "a name for the port that is the same each time: a link, such as /tmp/blue")
    model: str = option(AUTO, "the body: published (the SO-101's own), simple, or auto")
    clock: str = option(WALL, "wall: real time; stdin: each line is a number of seconds that pass")
    realtime: bool = option(True, "false: time passes only when a command that uses the twin lets it")
    scene: str = option("", "what is on its table: cube_and_box")
    seed: int = option(0, "where those things are")
    seconds: float | None = option(None, "stop after so long [at Ctrl-C]")

    def __post_init__(self) -> None:
        one_of("--twin.clock", self.clock, (WALL, STDIN))
        one_of("--twin.model", self.model, (AUTO, PUBLISHED, SIMPLE))
        if self.seconds is not None:
            positive("--twin.seconds", self.seconds)
        if self.motion and self.dataset:
            raise UsageError("--twin.motion and --twin.dataset exclude each other; omit one")
        if self.unpacked and self.calibrated:
            raise UsageError("--twin.unpacked and --twin.calibrated exclude each other; omit one")
        if self.clock == STDIN and self.view:
            raise UsageError("--twin.view needs the clock on the wall; omit --twin.clock=stdin")
        check_scene(self.scene)
        if self.seed < 0:
            raise UsageError(f"--twin.seed must not be negative, got {self.seed}")
        if not self.realtime and (self.clock == STDIN or self.view):
            other = "--twin.clock=stdin" if self.clock == STDIN else "--twin.view"
            raise UsageError(f"--twin.realtime=false and {other} exclude each other; omit one")
        if self.view_port is not None and not 0 < self.view_port < 65536:
            raise UsageError(f"--twin.view_port must lie between 1 and 65535, got {self.view_port}")


@dataclass(frozen=True, slots=True)
class TwinPlan:
    """A twin before it lives: everything is checked."""

    type: str
    section: str
    """The section of flags that names it: robot, or teleop."""
    id: str | None
    calibration: Mapping[str, MotorCalibration] | None
    calibration_file: Path
    use_degrees: bool | None
    motion: Motion | None
    options: TwinOptions

    def open(self) -> Twin:
        """The twin; it begins to live. With --twin.calibrated, its calibration is on disk, too."""
        wanted = self.options.model
        twin = Twin(
            self.type,
            calibration=self.calibration,
            calibrated=bool(self.options.calibrated),
            real_time=self.options.clock == WALL and self.options.realtime,
            use_degrees=self.use_degrees,
            published_model=None if wanted == AUTO else wanted == PUBLISHED,
            unpacked=self.options.unpacked,
            faults=self.options.faults,
            scene=self.options.scene,
            seed=self.options.seed,
        )
        try:
            if self.motion is not None:
                twin.play(self.motion)
            if twin.calibration and self.calibration is None:
                content = calibration_to_json(twin.calibration).encode()
                self.calibration_file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self.calibration_file, lambda file: file.write(content))
        except BaseException:
            twin.close()
            raise
        return twin

    def flags(self, port: str) -> str:
        """What to type in other commands to reach it."""
        name = f" --{self.section}.id={self.id}" if self.id else ""
        return f"--{self.section}.type={self.type} --{self.section}.port={port}{name}"


def plan_twin(section: str, device: Mapping[str, Any], options: TwinOptions, motion: Motion | None = None) -> TwinPlan:
    """Check what was asked for; `device` is the section ``robot`` or ``teleop``."""
    own = dict(device)
    type = own.pop("type", None)
    if not type:
        raise UsageError(f"--{section}.type is missing, such as --{section}.type={_example(section)}")
    if "port" in own:
        raise UsageError(f"--{section}.port: a twin makes its port; --twin.link={own['port']} gives it a name")
    driver = driver_of(str(type), section)
    parse_faults(options.faults, driver.motors)
    config: DeviceConfig = decode(driver.config_class, section, own, "twin")
    folder = config.calibration_dir or calibration_folder(driver.folder, driver.name)
    file = folder / f"{config.id}.json"
    known = (
        read_calibration_file(file)
        if file.is_file() and options.calibrated is not False and not options.unpacked
        else None
    )
    if options.motion is not None:
        motion = read_motion(options.motion, options.repeat)
    if motion is not None:
        motion.check_joints(list(driver.motors))
    use_degrees = getattr(config, "use_degrees", None)
    return TwinPlan(str(type), section, config.id, known, file, use_degrees, motion, options)


def _example(section: str) -> str:
    return "so101_leader" if section == "teleop" else "so101_follower"


class PortLink:
    """A link to a port, which is gone when its block ends."""

    def __init__(self, path: Path, port: str) -> None:
        self._path, self._port = path, port

    def __enter__(self) -> PortLink:
        if self._path.is_symlink():
            points_to = str(self._path.readlink())
            if self._path.exists() and points_to != self._port and points_to.startswith("/dev/pts/"):
                raise UsageError(
                    f"--twin.link={self._path} leads to {points_to}, which another twin may use; choose another name, "
                    "or delete the link"
                )
            if not self._path.exists() or points_to == self._port:
                self._path.unlink()  # of a twin that was killed; a new one may have got the same port
        try:
            self._path.symlink_to(self._port)
        except OSError as error:
            raise UsageError(
                f"--twin.link={self._path} cannot be made: {error.strerror}; choose another name"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._path.is_symlink() and str(self._path.readlink()) == self._port:
            self._path.unlink()
