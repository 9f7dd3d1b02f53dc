"""``yardarm find-cameras``: which cameras are there, what they can do, and what they see."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from yardarm.cli.flags import describe, listed, number, read_flags, refuse_unknown, text
from yardarm.errors import SetupError, UsageError, nearest
from yardarm.robots import Camera, make_camera
from yardarm.robots.cameras import (
    CAMERAS,
    CameraReport,
    FoundCamera,
    found_devices,
    found_realsenses,
    save_picture,
    watch_camera,
)

__all__ = ["run"]

COMMAND = "find-cameras"
OPENCV, REALSENSE = "opencv", "realsense"
OUTPUT_DIR = "outputs/captured_images"
WATCHED_S = 2.0
USUAL_RATES = (5, 10, 15, 20, 24, 25, 30, 50, 60, 90)
FLAGS = [
    ("--output-dir", OUTPUT_DIR, "where a picture of each camera is saved"),
    ("--record-time-s", f"{WATCHED_S:g}", "how long to watch each camera"),
    ("--url", "", "instead of what is plugged in: try a stream, such as http://…/video or rtsp://…"),
]


def run(words: Sequence[str]) -> int:
    """Say which cameras are there; exit code 1 if none is, or none can be used."""
    plain, given = read_flags(words, ("help",))
    if "help" in given:
        print(_help())
        return 0
    flags = {name.replace("_", "-"): value for name, value in given.items()}
    refuse_unknown(flags, [name.removeprefix("--") for name, _, _ in FLAGS], COMMAND)
    kind = _kind(plain)
    seconds = number(flags, "record-time-s", WATCHED_S)
    if seconds <= 0:
        raise UsageError(f"--record-time-s must be positive, got {seconds:g}")
    folder = Path(text(flags, "output-dir") or OUTPUT_DIR)
    url = text(flags, "url")
    found = [FoundCamera(OPENCV, url, "")] if url else list(_plugged_in(kind))
    if not found:
        print(
            f"no camera was found{f' by {kind}' if kind else ''}: is it plugged in? A network camera needs "
            "--url=http://… or --url=rtsp://…"
        )
        return 1
    usable = [_show(camera, folder, seconds) for camera in found]
    return 0 if any(usable) else 1


def _kind(plain: Sequence[str]) -> str | None:
    if not plain:
        return None
    if len(plain) > 1 or plain[0] not in (OPENCV, REALSENSE):
        wrong = plain[-1]
        raise UsageError(f"'{wrong}' is unknown{nearest(wrong, (OPENCV, REALSENSE))} use opencv, realsense, or neither")
    return plain[0]


def _plugged_in(kind: str | None) -> Iterator[FoundCamera]:
    if kind in (None, OPENCV):
        yield from found_devices()
    if kind == REALSENSE:
        yield from found_realsenses()
    elif kind is None:
        with contextlib.suppress(SetupError):  # who has none needs no SDK
            yield from found_realsenses()


def _show(found: FoundCamera, folder: Path, seconds: float) -> bool:
    """Watch a camera, save what it sees, and say how to ask for it; returns whether it can be used."""
    camera = _camera(found)
    print(f"{camera.config.source}{f' ({found.about})' if found.about else ''}", flush=True)
    if found.problem:
        print(f"  ✗ {found.problem}\n")
        return False
    report, picture = watch_camera(camera, seconds)
    if picture is None:
        print(f"  ✗ {report.problem}\n")
        return False
    rate = report.measured_fps or 0.0
    print(f"  gives     {report.width}×{report.height}, {rate:g} pictures a second (measured)")
    if found.modes:
        print(f"  can do    {', '.join(map(str, found.modes))}")
    path = folder / f"{found.type}_{re.sub(r'[^A-Za-z0-9]+', '_', camera.config.source).strip('_')}.png"
    save_picture(path, picture, camera.config)
    print(f"  picture   {path}")
    print(f"  to use    {_flags(found, report)}")
    if report.problem:
        print(f"  ✗ {report.problem}")
    print()
    return True


def _camera(found: FoundCamera) -> Camera:
    return make_camera(found.type, **{_option(found): found.source})


def _option(found: FoundCamera) -> str:
    return "index_or_path" if found.type == OPENCV else "serial_number_or_name"


def _flags(found: FoundCamera, report: CameraReport) -> str:
    """What to type to get this camera; by its stable name, if it has one, and without a password."""
    source = found.about if found.type == OPENCV and found.about else report.source
    size = f"width: {report.width}, height: {report.height}, fps: {_rate(found, report):g}"
    return f'--robot.cameras="{{front: {{type: {found.type}, {_option(found)}: {source}, {size}}}}}"'


def _rate(found: FoundCamera, report: CameraReport) -> float:
    """The rate that the camera tells, or a usual one that is close to what was measured."""
    told = [mode.fps for mode in found.modes if (mode.width, mode.height) == (report.width, report.height) and mode.fps]
    measured = report.measured_fps or 1.0
    usual = min(USUAL_RATES, key=lambda rate: abs(rate - measured))
    return told[0] if told else usual if abs(usual - measured) < 0.1 * usual else max(1, round(measured))


def _help() -> str:
    types = "\n\n".join(
        f"options of type: {name}\n{listed(describe(CAMERAS.load(name).config_class, ''))}" for name in CAMERAS.names()
    ).replace("  --", "  ")
    return (
        "Find cameras: lists what is plugged in and what it can do, watches each for a moment, saves a picture of "
        "each, and\nprints the flags that give it to a robot.\n\n"
        f"usage: yardarm {COMMAND} [opencv|realsense] [--flag=value …]\n\n{listed(FLAGS)}\n\n"
        'A robot\'s cameras are a map, --robot.cameras="{front: {type: opencv, …}}", or dotted flags:\n'
        f"--robot.cameras.front.type=opencv.\n\n{types}\n\n"
        "exit code: 0 a camera was found, 1 none was, or none can be used, 2 invalid command"
    )
