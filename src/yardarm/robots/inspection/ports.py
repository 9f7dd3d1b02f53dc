"""The serial ports of this machine."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.errors import SetupError

__all__ = ["UsbPort", "usb_ports"]


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
