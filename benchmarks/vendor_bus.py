"""The vendors' SDKs, driven as LeRobot drives them: one group for reading, one for writing, set up anew each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from yardarm.robots.motors.registers import DYNAMIXEL_X, FEETECH_STS, Register

# How often LeRobot tries again to read the positions of these arms.
RETRIES = 2


class VendorBus:
    """Six motors on a port."""

    def __init__(self, kind: str, port: str) -> None:
        if kind == "feetech":
            import scservo_sdk as sdk

            self.registers: Mapping[str, Register] = FEETECH_STS
            protocol = 0
        else:
            import dynamixel_sdk as sdk

            self.registers = DYNAMIXEL_X
            protocol = 2.0
        self._success = sdk.COMM_SUCCESS
        self._port = sdk.PortHandler(port)
        if kind == "feetech":
            self._port.setPacketTimeout = self._set_packet_timeout
        handler = sdk.PacketHandler(protocol)
        self._reader = sdk.GroupSyncRead(self._port, handler, 0, 0)
        self._writer = sdk.GroupSyncWrite(self._port, handler, 0, 0)
        self._port.openPort()

    def sync_read(self, register: str, ids: Sequence[int]) -> dict[int, int]:
        """A register of several motors; raises if it cannot be read."""
        own, reader = self.registers[register], self._reader
        reader.clearParam()
        reader.start_address, reader.data_length = own.address, own.size
        for id in ids:
            reader.addParam(id)
        for _ in range(RETRIES + 1):
            outcome = reader.txRxPacket()
            if outcome == self._success:
                return {id: reader.getData(id, own.address, own.size) for id in ids}
        raise ConnectionError(f"error {outcome}")

    def sync_write(self, register: str, values: Mapping[int, int]) -> None:
        """Set a register of several motors."""
        own, writer = self.registers[register], self._writer
        writer.clearParam()
        writer.start_address, writer.data_length = own.address, own.size
        for id, value in values.items():
            writer.addParam(id, list(value.to_bytes(own.size, "little")))
        writer.txPacket()

    def forget(self) -> None:
        """Drop what has come unasked; LeRobot never does."""
        self._port.ser.reset_input_buffer()

    def close(self) -> None:
        self._port.closePort()

    def _set_packet_timeout(self, size: int) -> None:
        """LeRobot's replacement for the Feetech package's own: the bytes' time, and 50 ms."""
        port: Any = self._port
        port.packet_start_time = port.getCurrentTime()
        port.packet_timeout = port.tx_time_per_byte * (size + 3.0) + 50
