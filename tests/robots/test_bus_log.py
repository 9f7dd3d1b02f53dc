"""A log keeps what went over the cable, shows it readably, and plays it again."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.robots.twin_port import TwinPort, twin_of
from yardarm.errors import BusFault, UsageError
from yardarm.robots import make_robot, make_teleoperator
from yardarm.robots.bus_log import read_bus_log, replay, shown, summary
from yardarm.robots.motors import FeetechBus, read_calibration_file
from yardarm.robots.motors.registers import Register
from yardarm.robots.twins.port import Outgoing, PortServer

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
SO101 = GOLDEN / "so101_follower"


@pytest.fixture
def twin() -> Iterator[TwinPort]:
    with twin_of("so101_follower", read_calibration_file(SO101 / "calibration.json")) as own:
        yield own


def arm_on(path: str, log: Path, patience_s: float = 0.5, **options: Any) -> Any:
    arm: Any = make_robot(
        "so101_follower", port=path, id="calibration", calibration_dir=SO101, log=log, watchdog=False, **options
    )
    arm.bus.line.patience_s = patience_s  # a busy machine must not look like a lost packet
    return arm


def test_a_session_is_kept_shown_and_played_again(twin: TwinPort, tmp_path: Path) -> None:
    log = tmp_path / "arm.jsonl"
    with arm_on(twin.path, log) as arm:
        observation = arm.get_observation()
        arm.send_action({**observation, "gripper.pos": 60.0})
        twin.servo(6).error = 0x20
        arm.health()
    (session,) = read_bus_log(log)
    assert session.was_closed
    assert session.device == "so_follower 'calibration'"
    assert session.header["config"]["port"] == twin.path
    text = "\n".join(shown(session))
    assert "ping of shoulder_pan (1)" in text
    raw = arm.bus.scale("gripper").raw(60.0)
    assert "sync read Present_Position 1–6" in text
    assert f"gripper 60.0 ({raw})" in text
    assert "write P_Coefficient = 16 of wrist_roll (5)" in text
    assert "gripper 70 REPORTS overload" in text
    assert f"shoulder_pan {observation['shoulder_pan.pos']:.1f} (" in text
    assert "reported: gripper overload" in summary(session)
    report = replay(session)
    assert report.replayed == len(session.calls)
    assert not report.differences
    assert not report.notes


def test_dynamixels_packets_are_understood_too(tmp_path: Path) -> None:
    folder, log = GOLDEN / "koch_leader", tmp_path / "leader.jsonl"
    with twin_of("koch_leader", read_calibration_file(folder / "calibration.json")) as twin:
        leader: Any = make_teleoperator(
            "koch_leader", port=twin.path, id="calibration", calibration_dir=folder, log=log, watchdog=False
        )
        leader.bus.line.patience_s = 0.5
        with leader:
            leader.get_action()
    (session,) = read_bus_log(log)
    text = "\n".join(shown(session))
    assert "sync read Present_Position 1–6" in text
    assert "write Torque_Enable = 1 of gripper (6)" in text
    assert not replay(session).differences


@pytest.fixture
def broken_log(twin: TwinPort, tmp_path: Path) -> Path:
    """The log of an arm that loses a motor, and whose user has no patience."""
    log = tmp_path / "broken.jsonl"
    arm = arm_on(twin.path, log)
    arm.bus.connect(handshake=False)
    arm.bus.sync_read("Present_Position")
    twin.chain.servos.pop()
    arm.bus.line.patience_s = arm.bus.line.lateness_s = arm.bus.retry_budget_s = 0.05
    with pytest.raises(BusFault, match="no answer from gripper"):
        arm.bus.sync_read("Present_Position", num_retry=1)
    arm.bus.line.patience_s = 0.5
    arm.bus.write("Torque_Enable", "shoulder_pan", 0)
    arm.bus.line.close()
    return log


def test_what_went_wrong_is_marked(broken_log: Path) -> None:
    (session,) = read_bus_log(broken_log)
    assert not session.was_closed
    lines = list(shown(session, only_faults=True))
    assert any("NO ANSWER from gripper (6)" in line for line in lines)
    assert any("sync_read(Present_Position, num_retry=1) ended with BusFault: reading" in line for line in lines)
    assert lines[-1].endswith("here the log ends: the port was not closed")
    assert not any("Torque_Enable" in line for line in lines)
    assert "missing answers: gripper" in summary(session)
    assert "calls that failed: 1" in summary(session)


def test_a_failure_fails_again_elsewhere(broken_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yardarm.robots.bus_log.replaying.SLOWER", 1)  # its patience is long enough
    (session,) = read_bus_log(broken_log)
    report = replay(session)
    assert report.replayed == 4
    assert not report.differences


def test_another_driver_comes_to_other_values(twin: TwinPort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "arm.jsonl"
    with arm_on(twin.path, log) as arm:
        arm.get_observation()
    (session,) = read_bus_log(log)
    decoded = FeetechBus._decoded
    monkeypatch.setattr(FeetechBus, "_decoded", lambda self, *words: decoded(self, *words) + 1)
    differences = replay(session).differences
    assert "sync_read(Present_Position" in str(differences[-1])
    assert differences[-1].then != differences[-1].now


def test_a_driver_that_sends_other_bytes_is_found_out(
    twin: TwinPort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "arm.jsonl"
    arm = arm_on(twin.path, log)
    arm.bus.connect()
    arm.bus.disconnect(disable_torque=False)
    (session,) = read_bus_log(log)
    monkeypatch.setattr("yardarm.robots.motors.feetech_bus.MODEL", Register(4, 2))
    monkeypatch.setattr("yardarm.robots.bus_log.replaying.SLOWER", 1)
    report = replay(session)
    assert "sent ffff0104020302f3" in report.differences[0].then
    assert "sent ffff0104020402f2" in report.differences[0].now
    assert report.notes == ["the driver sends other bytes than then: what follows cannot be played"]


def test_late_and_damaged_answers_are_seen_in_the_log_and_again_in_a_replay(tmp_path: Path) -> None:
    """A port whose second answer is late, and comes with noise."""
    log = tmp_path / "arm.jsonl"
    calibration = read_calibration_file(SO101 / "calibration.json")
    with twin_of("so101_follower", calibration) as twin:
        answers: list[float] = []

        def answer(content: bytes) -> Iterator[Outgoing]:
            for own in twin.chain.take(content):
                answers.append(time.monotonic() + (0.25 if len(answers) == 1 else 0))
                noise = b"\x00\xff" if len(answers) == 2 else b""
                yield Outgoing(noise + own, not_before=max(answers))  # a motor answers in turn

        with PortServer(answer) as port:
            arm = arm_on(port.path, log, patience_s=0.1)
            arm.bus.connect(handshake=False)
            values = [arm.bus.read("P_Coefficient", "gripper") for _ in range(3)]
            arm.bus.disconnect(disable_torque=False)
    assert len(set(values)) == 1
    (session,) = read_bus_log(log)
    text = "\n".join(shown(session))
    assert "NO ANSWER from gripper (6)" in text
    assert "late: gripper (6)" in text
    assert "2 bytes were no answer: 00 ff" in text
    report = replay(session)
    assert not report.differences


def test_sessions_follow_each_other_and_a_cut_line_is_ignored(twin: TwinPort, tmp_path: Path) -> None:
    log = tmp_path / "arm.jsonl"
    for _ in range(2):
        arm = arm_on(twin.path, log)
        arm.bus.connect(handshake=False)
        arm.bus.ping(1)
        arm.bus.disconnect(disable_torque=False)
    with log.open("a") as file:
        file.write('{"t": 1.0, "se')
    sessions = read_bus_log(log)
    assert [len(session.calls) for session in sessions] == [3, 3]


def test_every_line_is_on_disk_at_once(twin: TwinPort, tmp_path: Path) -> None:
    arm = arm_on(twin.path, tmp_path / "arm.jsonl")
    arm.bus.connect(handshake=False)
    arm.bus.ping(1)
    entries = [json.loads(line) for line in arm.config.log.read_text().splitlines()]
    assert [next(name for name in entry if name != "t") for entry in entries] == [
        *("format", "call", "gave", "call", "sent", "got", "gave")
    ]
    arm.bus.line.close()


def test_a_file_that_is_no_log_is_not_appended_to(twin: TwinPort, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes\n")
    with pytest.raises(UsageError, match="is not a log of a bus"):
        arm_on(twin.path, notes).bus.connect(handshake=False)
    assert notes.read_text() == "my notes\n"


def test_two_devices_do_not_share_a_file(twin: TwinPort, tmp_path: Path) -> None:
    first, second = arm_on(twin.path, tmp_path / "arm.jsonl"), arm_on(twin.path, tmp_path / "arm.jsonl")
    first.bus.connect(handshake=False)
    with pytest.raises(UsageError, match="another device writes its log to"):
        second.connect()
    first.bus.disconnect(disable_torque=False)


def test_a_full_disk_does_not_stop_an_arm(twin: TwinPort, caplog: pytest.LogCaptureFixture) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("only Linux has a disk that is always full")
    with arm_on(twin.path, Path("/dev/full")) as arm:
        arm.get_observation()
    assert [record.getMessage() for record in caplog.records if "log" in record.getMessage()] == [
        "the log /dev/full ends here: [Errno 28] No space left on device"
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("hello\n", "line 1 is no line of a bus log: 'hello'"),
        ('{"t": 1}\n', "does not begin with a header"),
        ('{"format": 9}\n', "has format 9, and this version reads 1"),
        ('{"format": 1}\n', "is damaged"),
    ],
)
def test_what_is_no_log_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_bus_log(path)
    with pytest.raises(UsageError, match="cannot write the log"):
        arm_on("/dev/null", tmp_path / "missing" / "arm.jsonl").connect()


def test_what_was_interrupted_or_lost_is_not_played(twin: TwinPort, tmp_path: Path) -> None:
    log = tmp_path / "arm.jsonl"
    with arm_on(twin.path, log) as arm:
        arm.get_observation()
    (session,) = read_bus_log(log)
    changed = [dataclasses.replace(call) for call in session.calls]
    changed[-2].fault, changed[-2].text = "KeyboardInterrupt", ""
    changed[-1].ended = None
    report = replay(dataclasses.replace(session, calls=changed))
    assert [note.partition(": ")[2] for note in report.notes] == [
        f"{changed[-2]} was interrupted, and is not played",
        "close(true) was cut off; nothing after it is played",
    ]
