"""However a program ends, its arm is released."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.helpers import descendants, wait_until
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.errors import BusFault, RobotFault
from yardarm.robots import make_robot
from yardarm.robots.motors import PERCENT, FeetechBus, Motor, read_calibration_file
from yardarm.robots.motors.line import SerialLine
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.port import Outgoing, PortServer
from yardarm.robots.uninterrupted import uninterrupted

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
# A user's program: connects, says so, and then does what the test wants.
PROGRAM = """
import os, sys, time
from yardarm.robots import make_robot, make_teleoperator
type, port, folder, then = sys.argv[1:]
make = make_teleoperator if type.endswith("leader") else make_robot
options = {"port": port, "id": "calibration", "calibration_dir": folder}
arm = make(type, **options)
arm.bus.line.patience_s = 0.3  # a busy machine must not look like a lost packet
with arm:
    if "child" in then and os.fork() == 0:
        time.sleep(60)  # it has all that its parent has open
    print("connected", flush=True)
    if then == "raise":
        raise ValueError("a bug of the user's")
    if "wait" in then:
        time.sleep(60)
"""


@contextlib.contextmanager
def program(type: str, then: str) -> Iterator[tuple[TwinPort, subprocess.Popen[str]]]:
    folder = GOLDEN / type
    with twin_of(type, read_calibration_file(folder / "calibration.json")) as twin:
        words = [sys.executable, "-c", PROGRAM, type, twin.path, str(folder), then]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "connected\n", process.stderr and process.stderr.read()
            try:
                yield twin, process
            finally:
                process.kill()


def torques(twin: TwinPort) -> set[int]:
    return {servo.get("Torque_Enable") for servo in twin.chain.servos}


def watchdogs(pid: int) -> list[psutil.Process]:
    found = []
    for process in descendants(pid):
        with contextlib.suppress(psutil.Error):  # it has just ended
            found += [process] * any("watchdog.py" in word for word in process.cmdline())
    return found


@pytest.mark.parametrize(
    ("type", "signal_number"),
    [("so101_follower", signal.SIGKILL), ("koch_leader", signal.SIGKILL), ("so101_follower", signal.SIGTERM)],
)
def test_the_watchdog_releases_the_arm_of_a_killed_program(type: str, signal_number: int) -> None:
    with program(type, "wait") as (twin, process):
        assert 1 in torques(twin)
        wait_until(lambda: len(watchdogs(process.pid)) == 1)  # for a moment, it is a copy of the program
        watchdog = watchdogs(process.pid)
        os.kill(watchdog[0].pid, signal.SIGTERM)  # a shutdown tells everybody; it stays until its work is done
        process.send_signal(signal_number)
        _, said = process.communicate()
        wait_until(lambda: torques(twin) == {0}, timeout=15)
        if type.startswith("so101"):
            assert {servo.get("Lock") for servo in twin.chain.servos} == {0}
        wait_until(lambda: not watchdog[0].is_running())
        assert "the watchdog has done it" in said


def test_a_child_that_inherited_everything_does_not_keep_the_torque_on() -> None:
    with program("so101_follower", "wait with a child") as (twin, process):
        (child,) = [own for own in descendants(process.pid) if "watchdog.py" not in " ".join(own.cmdline())]
        (watchdog,) = watchdogs(process.pid)
        try:
            process.kill()
            wait_until(lambda: torques(twin) == {0}, timeout=15)
            wait_until(lambda: not watchdog.is_running())  # it would find the next test's twin under the same path
        finally:
            child.kill()


def in_a_child(act: Callable[[], object]) -> None:
    """Do something in a fork of this process, and wait for its end."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def test_a_child_that_leaves_the_block_does_not_release_its_parents_arm(twin: TwinPort) -> None:
    with arm_on(twin, watchdog=False) as arm:
        in_a_child(lambda: arm.__exit__(None, None, None))
        assert torques(twin) == {1}
        arm.get_observation()
        with pytest.raises(BusFault, match="another program uses it"):
            SerialLine(twin.path, 1_000_000, FeetechBus.protocol).open()
    assert torques(twin) == {0}


def test_a_child_does_not_keep_the_port_locked(twin: TwinPort) -> None:
    arm = arm_on(twin, watchdog=False)
    arm.connect()
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        arm.disconnect()
        arm.connect()
        arm.disconnect()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("then", ["raise", "leave"])
def test_a_program_that_ends_releases_the_arm_itself_and_leaves_no_watchdog(then: str) -> None:
    with program("so101_follower", then) as (twin, process):
        _, said = process.communicate(timeout=60)
        assert torques(twin) == {0}
        assert "watchdog" not in said
        assert ("ValueError: a bug of the user's" in said) == (then == "raise")


def arm_on(twin: TwinPort, **options: Any) -> Any:
    folder = GOLDEN / "so101_follower"
    arm: Any = make_robot("so101_follower", port=twin.path, id="calibration", calibration_dir=folder, **options)
    arm.bus.line.patience_s = 0.3  # a busy machine must not look like a lost packet
    return arm


@pytest.fixture
def twin() -> Iterator[TwinPort]:
    with twin_of("so101_follower", read_calibration_file(GOLDEN / "so101_follower" / "calibration.json")) as own:
        yield own


def own_watchdogs() -> list[psutil.Process]:
    return watchdogs(os.getpid())


def test_a_disconnected_arm_is_not_watched_any_more(twin: TwinPort) -> None:
    before = len(own_watchdogs())
    with arm_on(twin):
        assert len(own_watchdogs()) == before + 1
    assert len(own_watchdogs()) == before


@pytest.mark.parametrize("options", [{"watchdog": False}, {"disable_torque_on_disconnect": False}])
def test_no_watchdog_where_none_is_wanted_or_the_arm_shall_stay_up(twin: TwinPort, options: dict[str, bool]) -> None:
    before = len(own_watchdogs())
    with arm_on(twin, **options):
        assert len(own_watchdogs()) == before
    assert torques(twin) == ({0} if "watchdog" in options else {1})


def test_an_arm_without_the_watchdog_that_it_should_have_is_not_driven(
    twin: TwinPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = arm_on(twin)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(RobotFault, match=r"watchdog of so_follower 'calibration' cannot be started.*watchdog=false"):
        arm.connect()
    assert not arm.is_connected
    assert torques(twin) == {0}


def test_a_dead_motor_does_not_keep_the_others_on_torque(twin: TwinPort) -> None:
    arm = arm_on(twin, watchdog=False)
    arm.connect()
    dead = twin.chain.servos.pop(0)
    with pytest.raises(BusFault, match=r"shoulder_pan \(id 1\).*may still hold"):
        arm.disconnect()
    assert torques(twin) == {0}
    assert dead.get("Torque_Enable") == 1
    assert not arm.is_connected


def test_once_a_motor_is_silent_all_are_told_at_once(twin: TwinPort) -> None:
    arm = arm_on(twin, watchdog=False)
    arm.connect()
    arm.bus.line.patience_s, arm.bus.line.lateness_s, arm.bus.retry_budget_s = 0.05, 0.0, 0.1
    heard: list[list[int]] = []
    dead, take = twin.chain.servos.pop(0), twin.chain.before_request
    twin.chain.before_request = lambda: (take(), heard.append([s.get("Torque_Enable") for s in twin.chain.servos]))
    with pytest.raises(BusFault, match="may still hold"):
        arm.disconnect()
    twin.chain.before_request = take
    asked = next(number for number, torque in enumerate(heard) if 0 in torque)
    assert heard[asked] == [0] * 5
    assert dead.get("Torque_Enable") == 1


def test_motors_that_are_all_silent_share_the_time_of_two(twin: TwinPort) -> None:
    arm = arm_on(twin, watchdog=False)
    arm.connect()
    arm.bus.line.patience_s, arm.bus.line.lateness_s, arm.bus.retry_budget_s = 0.05, 0.0, 0.2
    twin.chain.servos.clear()
    before = arm.bus.counts.retries
    with pytest.raises(BusFault, match=r"shoulder_pan.*gripper.*may still hold"):
        arm.disconnect()
    # The last four are asked once; without a common budget, all six would be asked again three times.
    assert arm.bus.counts.retries - before <= 12


def test_what_cannot_be_released_now_is_left_to_the_watchdog(twin: TwinPort) -> None:
    arm = arm_on(twin)
    arm.connect()
    away = twin.chain.servos.pop()
    with pytest.raises(BusFault):
        arm.disconnect()
    twin.chain.servos.append(away)  # plugged in again
    wait_until(lambda: torques(twin) == {0}, timeout=9)
    arm.connect()
    arm.disconnect()


def test_a_watchdog_leaves_an_arm_alone_that_somebody_else_has_taken(twin: TwinPort) -> None:
    killed = arm_on(twin)
    killed.connect()
    (watchdog,) = own_watchdogs()
    silent, twin.chain.servos[:] = list(twin.chain.servos), []
    killed.bus.line.patience_s, killed.bus.retry_budget_s = 0.02, 0.0
    with pytest.raises(BusFault):
        killed.disconnect()  # the watchdog tries from now on, for 10 s
    twin.chain.servos[:] = silent[:-1]
    bus = FeetechBus(twin.path, killed.bus.motors)
    bus.connect(handshake=False)
    try:
        wait_until(lambda: not watchdog.is_running() or watchdog.status() == psutil.STATUS_ZOMBIE, timeout=9)
    finally:
        bus.disconnect(disable_torque=False)


def test_a_block_without_torque_that_fails_leaves_the_arm_without(twin: TwinPort) -> None:
    with arm_on(twin, watchdog=False) as arm:
        with pytest.raises(ValueError, match="half-way"), arm.bus.torque_disabled():
            raise ValueError("half-way through the registers")
        assert torques(twin) == {0}
        with arm.bus.torque_disabled():
            assert torques(twin) == {0}
        assert torques(twin) == {1}


def test_a_connect_that_fails_half_way_releases_the_arm(twin: TwinPort, monkeypatch: pytest.MonkeyPatch) -> None:
    arm = arm_on(twin)
    before = len(own_watchdogs())
    configure = type(arm).configure

    def fail(self: Any) -> None:
        configure(self)
        assert torques(twin) == {1}
        raise KeyboardInterrupt

    monkeypatch.setattr(type(arm), "configure", fail)
    with pytest.raises(KeyboardInterrupt):
        arm.connect()
    assert torques(twin) == {0}
    assert not arm.is_connected
    assert len(own_watchdogs()) == before


def test_what_ctrl_c_has_interrupted_is_no_answer_to_the_next_request() -> None:
    chain = chain_of({"gripper": Motor(6, "sts3215", PERCENT)})
    chain.servos[0].set("P_Coefficient", 11)
    chain.servos[0].set("D_Coefficient", 22)

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    with PortServer(lambda content: (Outgoing(answer, 0.04) for answer in chain.take(content))) as port:
        bus = FeetechBus(port.path, {"gripper": Motor(6, "sts3215", PERCENT)})
        bus.connect(handshake=False)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            with pytest.raises(KeyboardInterrupt):
                bus.read("P_Coefficient", "gripper", num_retry=20)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        bus.line.patience_s = 0.5
        assert bus.read("D_Coefficient", "gripper", num_retry=5) == 22
        bus.line.close()


def test_a_second_ctrl_c_waits_until_the_arm_is_released() -> None:
    done = []

    def leave() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("released")
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert done == ["released"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def ctrl_c_in(name: str, monkeypatch: pytest.MonkeyPatch, is_meant: Callable[..., bool]) -> None:
    """Have Ctrl-C come while a function of `signal` runs: it then does its work, and raises."""
    real = getattr(signal, name)

    def interrupted(*arguments: Any) -> Any:
        answer = real(*arguments)
        if is_meant(*arguments):
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(signal, name, interrupted)


def test_ctrl_c_while_the_watchdog_starts_leaves_no_signal_blocked(
    twin: TwinPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctrl_c_in("pthread_sigmask", monkeypatch, lambda how, numbers: how == signal.SIG_BLOCK and bool(numbers))
    with pytest.raises(KeyboardInterrupt):
        arm_on(twin).connect()
    monkeypatch.undo()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)  # the tests after this one need them
    assert not blocked


def test_ctrl_c_while_handlers_are_put_back_leaves_none_out(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def leave() -> None:
        with uninterrupted():
            ctrl_c_in("signal", monkeypatch, lambda number, handler: number == signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        leave()
    monkeypatch.undo()
    after = {number: signal.signal(number, handler) for number, handler in before.items()}
    assert after == before


def test_ctrl_c_does_not_hide_that_an_arm_may_still_hold(twin: TwinPort, caplog: pytest.LogCaptureFixture) -> None:
    arm = arm_on(twin, watchdog=False)
    arm.connect()
    arm.bus.line.patience_s, arm.bus.retry_budget_s = 0.05, 0.0
    twin.chain.servos.pop(0)
    take = twin.chain.before_request
    twin.chain.before_request = lambda: (take(), os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        arm.disconnect()
    twin.chain.before_request = take
    assert "the arm may still hold: switch off its power before you touch it" in caplog.text


def test_signals_are_no_matter_of_other_threads() -> None:
    done: list[str] = []

    def release() -> None:
        with uninterrupted():
            done.append("released")

    thread = threading.Thread(target=release)
    thread.start()
    thread.join()
    assert done == ["released"]


def test_what_went_wrong_is_said_once_at_the_end(twin: TwinPort, caplog: pytest.LogCaptureFixture) -> None:
    with arm_on(twin, watchdog=False) as arm:
        twin.servo(6).error = 0x20
        arm.get_observation()
        caplog.clear()
    assert [record.getMessage() for record in caplog.records] == [f"on {twin.path}: gripper (id 6) reported overload"]
    twin.servo(6).error = 0
    caplog.clear()
    with arm_on(twin, watchdog=False):
        pass
    assert not caplog.records
