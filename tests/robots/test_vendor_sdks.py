"""What the vendors' own packages read and write on the twin's motors is what our buses do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.robots.twin_port import twin_of
from yardarm.robots.koch import KochFollower
from yardarm.robots.motors import DynamixelBus, FeetechBus, MotorBus
from yardarm.robots.so_arm import SoFollower

ARMS: dict[str, Any] = {"so101_follower": (SoFollower, FeetechBus), "koch_follower": (KochFollower, DynamixelBus)}
each = pytest.mark.parametrize("name", list(ARMS))
WRITTEN = {"shoulder_pan": 1234, "elbow_flex": 7, "gripper": 4095}


class VendorBus:
    """The vendor's package for an arm."""

    def __init__(self, name: str, port: str) -> None:
        if name == "so101_follower":
            sdk: Any = pytest.importorskip("scservo_sdk")
            self.handler = sdk.PacketHandler(0)
        else:
            sdk = pytest.importorskip("dynamixel_sdk")
            self.handler = sdk.PacketHandler(2.0)
        self.sdk, self.port = sdk, sdk.PortHandler(port)
        assert self.port.openPort()
        # A busy machine must not look like a lost packet.
        self.port.setPacketTimeout = lambda size: self.port.setPacketTimeoutMillis(2000)

    def read(self, id: int, address: int, size: int) -> int:
        ask = {1: self.handler.read1ByteTxRx, 2: self.handler.read2ByteTxRx, 4: self.handler.read4ByteTxRx}[size]
        value, outcome, error = ask(self.port, id, address)
        assert (outcome, error) == (self.sdk.COMM_SUCCESS, 0)
        return int(value)

    def sync_read(self, ids: list[int], address: int, size: int) -> list[int]:
        group = self.sdk.GroupSyncRead(self.port, self.handler, address, size)
        for id in ids:
            group.addParam(id)
        assert group.txRxPacket() == self.sdk.COMM_SUCCESS
        return [group.getData(id, address, size) for id in ids]

    def sync_write(self, values: dict[int, int], address: int, size: int) -> None:
        group = self.sdk.GroupSyncWrite(self.port, self.handler, address, size)
        for id, value in values.items():
            group.addParam(id, list(value.to_bytes(size, "little")))
        assert group.txPacket() == self.sdk.COMM_SUCCESS


@contextlib.contextmanager
def vendor(name: str, port: str) -> Iterator[VendorBus]:
    bus = VendorBus(name, port)
    yield bus
    bus.port.closePort()


@contextlib.contextmanager
def ours(name: str, port: str) -> Iterator[MotorBus]:
    arm, bus_class = ARMS[name]
    bus: MotorBus = bus_class(port, arm.motors)
    bus.line.patience_s = 2.0
    bus.connect()
    yield bus
    bus.disconnect(disable_torque=False)


@each
def test_both_read_every_register_alike(name: str) -> None:
    arm, _ = ARMS[name]
    with twin_of(name) as twin:
        for number, servo in enumerate(twin.chain.servos):
            servo.shaft = 300 * number + 17
        registers = twin.chain.servos[0].registers
        with ours(name, twin.path) as bus:
            own = {register: bus.sync_read(register, normalize=False) for register in registers}
        with vendor(name, twin.path) as other:
            for register, place in registers.items():
                ids = [motor.id for motor in arm.motors.values()]
                assert other.sync_read(ids, place.address, place.size) == list(own[register].values()), register
                assert other.read(ids[2], place.address, place.size) == own[register]["elbow_flex"], register


@each
def test_each_reads_what_the_other_has_written(name: str) -> None:
    arm, _ = ARMS[name]
    with twin_of(name) as twin:
        goal = twin.chain.servos[0].registers["Goal_Position"]
        with vendor(name, twin.path) as other:
            other.sync_write({arm.motors[name].id: value for name, value in WRITTEN.items()}, goal.address, goal.size)
            assert other.read(arm.motors["gripper"].id, goal.address, goal.size) == 4095
        with ours(name, twin.path) as bus:
            assert bus.sync_read("Goal_Position", WRITTEN, normalize=False) == WRITTEN
            bus.write("Goal_Position", "gripper", 99, normalize=False)
            bus.sync_write("Goal_Position", {"elbow_flex": 55, "shoulder_pan": 66}, normalize=False)
            bus.ping(arm.motors["gripper"].id)  # once this is answered, that has arrived
        with vendor(name, twin.path) as other:
            ids = [arm.motors[name].id for name in WRITTEN]
            assert other.sync_read(ids, goal.address, goal.size) == [66, 55, 99]


@each
def test_both_find_the_same_motors(name: str) -> None:
    arm, _ = ARMS[name]
    with twin_of(name) as twin:
        with ours(name, twin.path) as bus:
            found = list(bus.broadcast_ping())
        with vendor(name, twin.path) as other:
            for id in range(1, 8):
                if id in found:
                    number, outcome, _ = other.handler.ping(other.port, id)
                    assert outcome == other.sdk.COMM_SUCCESS
                    assert number == twin.servo(id).get("Model_Number")
        assert found == [motor.id for motor in arm.motors.values()]
