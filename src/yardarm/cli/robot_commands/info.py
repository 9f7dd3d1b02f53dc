"""``yardarm robot info``: an arm's motors, how they are, what is wrong and what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from yardarm.cli.devices import ROBOT, TELEOP, device_rows, take_device
from yardarm.cli.flags import Flags, listed, switch, text
from yardarm.cli.sections import gather, read_only_flags
from yardarm.config import check_names
from yardarm.errors import UsageError
from yardarm.robots import Robot, Teleoperator
from yardarm.robots.cameras import CameraReport, watch_camera
from yardarm.robots.inspection import (
    ArmReport,
    MotorReport,
    inspect_device,
    inspect_port,
    scan_port,
    usb_ports,
)

__all__ = ["run"]

COMMAND = "robot info"
OWN_FLAGS = [
    ("--port", "", "instead of a type: look at whatever answers on this port [all ports on the USB]"),
    ("--json", "false", "print the report as JSON"),
]
HEADINGS = ("joint", "id", "model", "firmware", "volts", "°C", "load", "torque", "position", "range")
BAR = 13
# How long to look at a camera.
WATCHED_S = 1.0


def run(words: Sequence[str]) -> int:
    """Show the report; exit code 1 if something is wrong."""
    flags = read_only_flags(words, COMMAND, _help)
    if flags is None:
        return 0
    as_json, port = switch(flags, "json"), text(flags, "port")
    data = gather({name: value for name, value in flags.items() if name not in ("json", "port")})
    if port and (ROBOT in data or TELEOP in data):
        raise UsageError("--port is for an arm of unknown type; give --robot.port or --teleop.port, or omit the type")
    if ROBOT in data or TELEOP in data:
        device = take_device(data, COMMAND)
        check_names("", data, (), COMMAND)
        reports = inspect_device(device)
        cameras = _watched(device)
    else:
        check_names("", data, (), COMMAND)
        cameras = []
        reports = _whatever_answers(port)
    if as_json:
        shown = {"arms": [report.to_json() for report in reports], "cameras": [own.to_json() for own in cameras]}
        print(json.dumps(shown, indent=2, ensure_ascii=False))
    else:
        for report in reports:
            _show(report)
        for camera in cameras:
            _show_camera(camera)
    is_wrong = any(report.problems for report in reports) or any(camera.problem for camera in cameras)
    return 1 if not reports or is_wrong else 0


def _watched(device: Robot | Teleoperator) -> list[CameraReport]:
    """What each camera of a robot gives, watched for a moment."""
    cameras = device.cameras if isinstance(device, Robot) else {}
    return [watch_camera(camera, WATCHED_S)[0] for camera in cameras.values()]


def _show_camera(camera: CameraReport) -> None:
    given = "" if camera.measured_fps is None else f", {camera.measured_fps:g} measured"
    print(
        f"camera {camera.name}: {camera.type} {camera.source}, {camera.width}×{camera.height} at {camera.fps:g}{given}"
    )
    print(f"✗ {camera.problem}" if camera.problem else "✓ nothing is wrong")
    print()


def _whatever_answers(port: str | None) -> list[ArmReport]:
    reports = []
    paths = [port] if port else [found.path for found in usb_ports()]
    if not paths:
        print("yardarm: no serial port on the USB; plug an arm in, or give --port=…", file=sys.stderr)
    for path in paths:
        scan = scan_port(path)
        if scan.motors:
            reports.append(inspect_port(scan))
        else:
            print(f"yardarm: {path}: {scan.in_words()}", file=sys.stderr)
    return reports


def _show(report: ArmReport) -> None:
    print(f"{report.port}: {report.arm}")
    if report.calibration:
        print(f"calibration: {report.calibration}")
    rows = [HEADINGS, *(_row(motor) for motor in report.motors)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for problem in report.problems:
        print(f"✗ {problem}")
    if not report.problems:
        print("✓ nothing is wrong")
    print()


def _row(motor: MotorReport) -> tuple[str, ...]:
    state = motor.state
    if state is None:
        return (motor.name, str(motor.id), "–", *("",) * (len(HEADINGS) - 3))
    return (
        motor.name,
        str(motor.id),
        state.model,
        state.firmware,
        f"{state.volts:.1f}",
        str(state.celsius),
        f"{state.load:.0f}%",
        "on" if state.has_torque else "off",
        str(state.position),
        _bar(state.position, *motor.range) if motor.range else "",
    )


def _bar(position: int, low: int, high: int) -> str:
    """Where a position is between two ends: ``1024 ├──●──────┤ 3072``."""
    share = (position - low) / max(high - low, 1)
    place = min(max(round(share * (BAR - 1)), 0), BAR - 1)
    mark = "●" if 0 <= share <= 1 else "✗"
    return f"{low:>4} ├{'─' * place}{mark}{'─' * (BAR - 1 - place)}┤ {high}"


def _help(flags: Flags) -> str:
    return (
        "Show an arm's motors: model, firmware, voltage, temperature, load, torque, position within its range; what is "
        "wrong,\nand what to do about it; and what its cameras give. It only reads: nothing moves, and motors may be "
        "missing.\n\n"
        f"usage: yardarm {COMMAND} --robot.type=… --robot.port=… [--flag=value …]\n"
        f"       yardarm {COMMAND} [--port=…]\n\n"
        + listed([*OWN_FLAGS, *device_rows(flags)])
        + "\n\nexit code: 0 nothing is wrong, 1 something is, 2 invalid command"
    )
