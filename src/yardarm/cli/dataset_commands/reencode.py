"""``yardarm dataset reencode``: encode all videos again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import Flags, number
from yardarm.datasets import VideoEncoding
from yardarm.datasets.editing import reencode_videos
from yardarm.errors import UsageError

__all__ = ["run"]

USUAL = VideoEncoding()
FLAGS = [
    ("--vcodec", USUAL.vcodec, "libsvtav1, h264 or hevc"),
    ("--pix_fmt", USUAL.pix_fmt, "yuv420p or yuv444p"),
    ("--g", str(USUAL.g), "frames between key frames: fewer make seeking faster and files larger"),
    ("--crf", str(USUAL.crf), "quality: 0 is the best, with the largest files"),
    ("--preset", "", "the codec's preset, from fast to small [12 for libsvtav1, otherwise veryfast]"),
    ("--extra_options", "", "more options for the codec, as a JSON object"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Decode all videos and encode them again, on all cores. Depth maps are copied unchanged.",
    "reencode DIR --vcodec=h264 --crf=23 --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Encode the videos again and print the result."""
    command = common.read_command(words, "reencode", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    encoding = _encoding(flags)
    output = common.destination(flags)
    with common.progress() as show:
        result = reencode_videos(root, encoding, output, show)
    common.say_result(result)
    return 0


def _encoding(flags: Flags) -> VideoEncoding:
    try:
        extra = json.loads(flags.get("extra_options", "{}"))
        options = {str(name): str(value) for name, value in extra.items()}
    except (ValueError, AttributeError):
        raise UsageError(f"--extra_options must be a JSON object, got '{flags['extra_options']}'") from None
    return VideoEncoding(
        flags.get("vcodec", USUAL.vcodec),
        flags.get("pix_fmt", USUAL.pix_fmt),
        int(number(flags, "g", USUAL.g, whole=True)),
        int(number(flags, "crf", USUAL.crf, whole=True)),
        flags.get("preset", USUAL.preset),
        options,
    )
