"""A program's side of the watchdog: it is told what to do if this process dies, and later that all is well."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from yardarm.errors import RobotFault
from yardarm.robots import watchdog
from yardarm.robots.motors import MotorBus
from yardarm.robots.motors.registers import MODELS

__all__ = ["TorqueWatch"]


BLOCKED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TorqueWatch:
    """A process that releases the motors of a bus if this one is killed. It is started, and not waited for."""

    def __init__(self, device: str, bus: MotorBus) -> None:
        order = {
            "device": device,
            "port": bus.line.port,
            "baud_rate": bus.line.baud_rate,
            "requests": [(request.hex(), answer.hex()) for request, answer in _release_requests(bus)],
        }
        self._owner = os.getpid()
        # By its file, not as a module: it starts in a third of the time. -P: beside it lies an operator.py.
        words = [sys.executable, "-P", str(Path(watchdog.__file__)), str(self._owner)]
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            # It inherits that. Inside of `try`: a Ctrl-C that has just come raises here, with all of them blocked.
            signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
            # In a session of its own, because Ctrl-C is for this process alone.
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise RobotFault(
                f"the watchdog of {device} cannot be started: {error}; the option watchdog=false does without it"
            ) from None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self._tell(json.dumps(order))

    def done(self) -> None:
        """The motors are released, or were never ours: end it."""
        if os.getpid() != self._owner:
            return  # a copy of this object, in a child
        self._tell(watchdog.DONE)
        self._process.kill()  # it may still be starting
        self._close()

    def take_over(self) -> None:
        """The motors could not be released from here: let it try for a while."""
        if os.getpid() == self._owner and self._process.stdin is not None:
            self._process.stdin.close()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # somebody has ended it; or it was left to try
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            self._process.communicate()


def _release_requests(bus: MotorBus) -> list[tuple[bytes, bytes]]:
    """What anybody must send to release the motors, and how each answer begins; nobody answers the first."""
    protocol, motors = bus.protocol, bus.motors.values()
    torque = MODELS[next(iter(motors)).model].registers["Torque_Enable"]
    everybody = {motor.id: bytes(torque.size) for motor in motors}
    requests = [(protocol.sync_write(everybody, torque.address, torque.size), b"")]
    for motor in motors:
        for name in bus.torque_registers:
            own = MODELS[motor.model].registers[name]
            requests.append(
                (protocol.write(motor.id, own.address, bytes(own.size)), protocol.acknowledgement(motor.id))
            )
    return requests
