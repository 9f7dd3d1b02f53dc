"""The serial ports of this machine."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from yardarm.errors import SetupError

__all__ = ["UsbPort", "permission_hint", "usb_ports"]


@dataclass(frozen=True, slots=True)
class UsbPort:
    """A serial port on the USB."""

    path: str
    description: str


def usb_ports() -> list[UsbPort]:
    """The serial ports on the USB, where arms are; a built-in port or Bluetooth would only keep us waiting."""
    try:
        from serial.tools import list_ports
    except ModuleNotFoundError as error:
        raise SetupError(f"robots need pyserial; run: pip install 'yardarm[robots]' ({error})") from error
    found = [UsbPort(port.device, port.description) for port in list_ports.comports() if port.vid is not None]
    return sorted(found, key=lambda port: port.path)


def permission_hint(path: str) -> str:
    """What to do if this user may not open a port; empty if that is not what is wrong."""
    if not os.path.exists(path) or os.access(path, os.R_OK | os.W_OK):
        return ""
    if not sys.platform.startswith("linux"):
        return f"you may not use {path}; change its permissions"
    group = _group(path)
    return (
        f"you may not use {path}; join the group that may, then log in again: sudo usermod -aG {group} $USER "
        f"(or, until the next restart: sudo chmod 666 {path})"
    )


def _group(path: str) -> str:
    import grp

    try:
        return grp.getgrgid(os.stat(path).st_gid).gr_name
    except KeyError:
        return "dialout"
