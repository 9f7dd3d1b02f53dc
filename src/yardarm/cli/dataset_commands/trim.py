"""``yardarm dataset trim``: cut frames off the start or end of episodes."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import Flags
from yardarm.datasets.editing import trim_episodes
from yardarm.errors import UsageError

__all__ = ["run"]

FLAGS = [
    ("--episodes", "all", "the episodes to trim, like 1,3,5-8"),
    ("--start", "0", "the first frame to keep; -30 is 30 frames before the end"),
    ("--end", "", "the frame before which to stop; -30 cuts off the last 30 frames [keep all up to the end]"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Cut frames off the start or end of episodes. Videos are copied where the cut allows it; a video that would not\n"
    "begin with a key frame is encoded again, only for that episode.",
    "trim DIR --episodes=12 --start=10 --end=90 --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Trim the episodes and print the result."""
    command = common.read_command(words, "trim", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    if "start" not in flags and "end" not in flags:
        raise UsageError("what should be kept? Give --start=FRAME, --end=FRAME or both")
    wanted = flags.get("episodes", "all")
    episodes = None if wanted == "all" else common.episode_numbers(wanted, "--episodes")
    frames = slice(_frame(flags, "start"), _frame(flags, "end"))
    output = common.destination(flags)
    with common.progress() as show:
        result = trim_episodes(root, episodes, frames, output, show)
    common.say_result(result)
    return 0


def _frame(flags: Flags, name: str) -> int | None:
    if name not in flags:
        return None
    try:
        return int(flags[name])
    except ValueError:
        raise UsageError(f"--{name} must be a frame's number, like 10 or -30, got '{flags[name]}'") from None
