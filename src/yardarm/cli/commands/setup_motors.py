"""``yardarm setup-motors``: give the motors of a new arm their ids."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.devices import device_rows, take_device
from yardarm.cli.flags import Flags, listed
from yardarm.cli.sections import gather, read_only_flags
from yardarm.config import check_names
from yardarm.errors import UsageError

__all__ = ["run"]

COMMAND = "setup-motors"


def run(words: Sequence[str]) -> int:
    """Ask for one motor after the other."""
    flags = read_only_flags(words, COMMAND, _help)
    if flags is None:
        return 0
    data = gather(flags)
    device = take_device(data, COMMAND)
    check_names("", data, (), COMMAND)
    set_up = getattr(device, "setup_motors", None)
    if set_up is None:
        raise UsageError(f"{device} has no motors whose ids could be set")
    set_up()
    return 0


def _help(flags: Flags) -> str:
    return (
        "Give the motors of a new arm their ids. All come from the factory with the same id, so you connect them one "
        "at a time,\nthe last joint first; each is checked afterwards. You can stop and run it again at any time.\n\n"
        f"usage: yardarm {COMMAND} --robot.type=… --robot.port=… [--flag=value …]\n\n"
        + listed(device_rows(flags))
        + f"\n\nexample:\n  yardarm {COMMAND} --robot.type=so101_follower --robot.port=/dev/ttyACM0"
    )
