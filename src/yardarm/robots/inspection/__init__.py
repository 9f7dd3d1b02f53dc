"""Looking at ports, motors and arms, without changing anything."""

from yardarm.robots.inspection.findings import Finding
from yardarm.robots.inspection.inspecting import ArmReport, MotorReport, inspect_device, inspect_port
from yardarm.robots.inspection.motor_state import MotorState
from yardarm.robots.inspection.ports import UsbPort, permission_hint, usb_ports
from yardarm.robots.inspection.scanning import PortScan, scan_port

__all__ = [
    "ArmReport",
    "Finding",
    "MotorReport",
    "MotorState",
    "PortScan",
    "UsbPort",
    "inspect_device",
    "inspect_port",
    "permission_hint",
    "scan_port",
    "usb_ports",
]
