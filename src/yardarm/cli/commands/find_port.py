"""``yardarm find-port``: which port an arm is on, and what answers there."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence

from yardarm.cli.flags import Flags, listed, read_flags, refuse_unknown, switch, text
from yardarm.errors import UsageError
from yardarm.robots import Operator, TerminalOperator
from yardarm.robots.inspection import UsbPort, scan_port, usb_ports

__all__ = ["run"]

COMMAND = "find-port"
FLAGS = [
    ("--port", "", "ask only on these ports, separated by commas; they need not be on the USB"),
    ("--unplug", "", "true: find out by unplugging; otherwise only if asking does not settle it, on a terminal"),
]
# How long a computer takes to notice that a cable was unplugged.
UNPLUGGED_S = 5.0


def run(words: Sequence[str]) -> int:
    """Say what answers on each port; exit code 1 if no arm was found."""
    plain, flags = read_flags(words, ("help", "unplug"))
    if "help" in flags:
        print(_help())
        return 0
    if plain:
        raise UsageError(f"yardarm {COMMAND} takes flags only, not '{plain[0]}'")
    refuse_unknown(flags, [name.removeprefix("--") for name, _, _ in FLAGS], COMMAND)
    ports = _ports(flags)
    if switch(flags, "unplug"):
        return _unplug(ports, TerminalOperator())
    answering = [port.path for port in ports() if _show(port)]
    if not ports():
        print("no serial port on the USB: is the cable plugged in? Some cables only carry power")
    if len(answering) != 1 and ports() and "unplug" not in flags and sys.stdin.isatty():
        return _unplug(ports, TerminalOperator())
    return 0 if answering else 1


def _ports(flags: Flags) -> Callable[[], list[UsbPort]]:
    """The ports that there are now: those that were named, or all on the USB."""
    named = text(flags, "port")
    if named is None:
        return usb_ports
    paths = [path for part in named.split(",") if (path := part.strip())]
    if not paths:
        raise UsageError("--port needs a value: --port=/dev/ttyACM0")
    if missing := [path for path in paths if not os.path.exists(path)]:
        raise UsageError(f"--port={named}: there is no {missing[0]}; `yardarm {COMMAND}` lists what there is")
    return lambda: [UsbPort(path, "") for path in paths if os.path.exists(path)]


def _show(port: UsbPort) -> bool:
    """Say what answers on a port; returns whether anything does."""
    scan = scan_port(port.path)
    about = f" ({port.description})" if port.description not in ("", "n/a") else ""
    print(f"{port.path}{about}: {scan.in_words()}", flush=True)
    return bool(scan.motors)


def _unplug(ports: Callable[[], list[UsbPort]], operator: Operator) -> int:
    """LeRobot's way: what is gone after the cable was unplugged is the arm's port."""
    before = {port.path for port in ports()}
    if not before:
        raise UsageError("no serial port is there; plug the arm in first")
    operator.ask("Unplug the USB cable of the arm, then press ENTER.")
    ends = time.monotonic() + UNPLUGGED_S
    while not (gone := before - {port.path for port in ports()}) and time.monotonic() < ends:
        time.sleep(0.1)
    if len(gone) != 1:
        found = f"{len(gone)} ports are gone ({', '.join(sorted(gone))})" if gone else "no port is gone"
        raise UsageError(
            f"{found}, so the arm's cannot be told; plug everything in and try again, with one arm at a time"
        )
    operator.say(f"The port of the arm is {gone.pop()}. Plug it in again.")
    return 0


def _help() -> str:
    return (
        "Find the port of an arm: lists the serial ports on the USB, and asks on each, in both protocols and at the "
        "common\nbaud rates, which motors are there. Nothing moves, and nothing is changed.\n\n"
        f"usage: yardarm {COMMAND} [--flag=value …]\n\n{listed(FLAGS)}\n\n"
        "exit code: 0 an arm was found, 1 none was, 2 invalid command"
    )
