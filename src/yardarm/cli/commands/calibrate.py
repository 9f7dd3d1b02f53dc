"""``yardarm calibrate``: show an arm where its middle and its ends are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yardarm.cli.devices import device_rows, take_device
from yardarm.cli.flags import Flags, describe, listed
from yardarm.cli.sections import gather, read_only_flags
from yardarm.config import decode, option
from yardarm.errors import UsageError

__all__ = ["run"]

COMMAND = "calibrate"


@dataclass
class CalibrateOptions:
    """Flags of the command itself."""

    undo: bool = option(False, "go back to the calibration before the last one, in the file and in the motors")


def run(words: Sequence[str]) -> int:
    """Calibrate, or undo the last calibration."""
    flags = read_only_flags(words, COMMAND, _help)
    if flags is None:
        return 0
    data = gather(flags)
    device = take_device(data, COMMAND)
    options: CalibrateOptions = decode(CalibrateOptions, "", data, COMMAND)
    if not options.undo:
        with device.at_rest():
            device.calibrate()
        return 0
    undo = getattr(device, "undo_calibration", None)
    if undo is None:
        raise UsageError(f"--undo=true: {device} keeps no calibration to go back to")
    with device.at_rest():
        undo()
    print(f"{device} has the calibration before the last one again; the same command undoes this")
    return 0


def _help(flags: Flags) -> str:
    return (
        "Show an arm where its middle and its ends are: you move it by hand. The result is kept in the motors and in "
        "LeRobot's\nfile. If there is one already, ENTER keeps it and c starts anew. Ctrl-C leaves the motors as they "
        "were before.\n\n"
        f"usage: yardarm {COMMAND} --robot.type=… --robot.port=… --robot.id=… [--flag=value …]\n\n"
        + listed([*describe(CalibrateOptions), *device_rows(flags)])
        + "\n\nexamples:\n"
        f"  yardarm {COMMAND} --robot.type=so101_follower --robot.port=/dev/ttyACM0 --robot.id=blue\n"
        f"  yardarm {COMMAND} --teleop.type=so101_leader --teleop.port=/dev/ttyACM1 --teleop.id=blue --undo=true"
    )
