"""Looking at ports, motors and arms, without changing anything."""

from yardarm.robots.inspection.inspecting import ArmReport, MotorReport, inspect_device, inspect_port
from yardarm.robots.inspection.motor_state import MotorState
from yardarm.robots.inspection.ports import UsbPort, usb_ports
from yardarm.robots.inspection.problems import Problem
from yardarm.robots.inspection.scanning import PortScan, scan_port

__all__ = [
    "ArmReport",
    "MotorReport",
    "MotorState",
    "PortScan",
    "Problem",
    "UsbPort",
    "inspect_device",
    "inspect_port",
    "scan_port",
    "usb_ports",
]
