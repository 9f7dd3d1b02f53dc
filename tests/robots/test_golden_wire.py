"""The bytes that arms send, and the numbers that they return, are those of LeRobot's own classes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.robots.answers import type_ahead
from tests.robots.scripted_port import ScriptedPort
from yardarm.errors import RobotFault, UsageError
from yardarm.robots import make_robot, make_teleoperator
from yardarm.robots.motors.setup import find_motors_at, give_id

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
# What LeRobot gets wrong, by the notes of the recording, is right here: other bytes, or other numbers.
BETTER_BYTES = ("FF FF FD inside the data",)
BETTER_NUMBERS = ("so this one is the state of the call before", "overload bit in the answer to a write")


def recording(name: str) -> list[dict[str, Any]]:
    lines = (GOLDEN / name / "wire.jsonl").read_text().splitlines()
    return [line for line in map(json.loads, lines) if "call" in line]


@pytest.fixture
def port() -> Iterator[ScriptedPort]:
    own = ScriptedPort()
    yield own
    own.close()


@pytest.mark.parametrize("name", ["so101_follower", "so101_leader", "koch_follower", "koch_leader", "omx_follower"])
def test_an_arm_speaks_as_in_lerobot(name: str, port: ScriptedPort, monkeypatch: pytest.MonkeyPatch) -> None:
    make = make_teleoperator if name.endswith("leader") else make_robot
    options: dict[str, Any] = {"port": port.path, "id": "calibration", "calibration_dir": GOLDEN / name}
    options["num_read_retries"] = 2  # as in LeRobot
    arm: Any = patient(make(name, **options))
    for line in recording(name):
        note = line.get("note", "")
        if line["call"] == "connect" and ("typed" in line or "raises" in line):
            arm = patient(make(name, **options))
            type_ahead(monkeypatch, *line.get("typed", []))
        if line["call"] == "connect" and "max_relative_target" in note:
            arm = patient(make(name, **options, max_relative_target=cap_of(note)))
        arm.bus.line.patience_s = 0.05 if "raises" in line else 0.5  # a failure may come as fast as it likes
        with port.following(line["wire"]):
            outcome = call(arm, line)
        if line["call"] == "send_action" and outcome != "raised" and out_of_reach(arm, line["args"][0]):
            assert not out_of_reach(arm, outcome), note  # where LeRobot asks for what the joint cannot do
            continue
        if not any(words in note for words in BETTER_BYTES) and "raises" not in line:
            assert port.sent == [sent for sent, _ in line["wire"]], (line["call"], note)
        if not any(words in note for words in BETTER_NUMBERS):
            assert outcome == expected(line), (line["call"], note)


@pytest.mark.parametrize(("name", "joint"), [("so101", "wrist_roll"), ("koch", "gripper")])
def test_a_new_motor_gets_its_id_as_in_lerobot(name: str, joint: str, port: ScriptedPort) -> None:
    line = recording(f"{name}_setup_motor")[0]
    bus = make_robot(f"{name}_follower", port=port.path, id="new").bus  # type: ignore[attr-defined]
    bus.connect(handshake=False)
    with port.following(line["wire"]):
        [found] = find_motors_at(bus, 1_000_000)
        give_id(bus, joint, found)
    assert port.sent == [sent for sent, _ in line["wire"]]
    bus.line.close()


def out_of_reach(arm: Any, goals: dict[str, float]) -> bool:
    scales = {name: arm.bus.scale(name.removesuffix(".pos")) for name in goals}
    return any(scales[name].reachable(goal) != goal for name, goal in goals.items())


def patient(arm: Any) -> Any:
    arm.bus.retry_budget_s = 10.0  # a busy machine must not look like a lost packet
    return arm


def cap_of(note: str) -> Any:
    if "for each joint" not in note:
        return float(note.split()[-1])
    joints = ["shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper"]
    return {joint: float(cap) for cap, joint in enumerate(joints, start=1)}


def call(arm: Any, line: dict[str, Any]) -> Any:
    name, args, options = line["call"], line["args"], line.get("kwargs", {})
    owner = arm.bus if name in ("read", "write", "sync_read", "sync_write") else arm
    try:
        found = getattr(owner, name)
        return found(*args, **options) if callable(found) else found
    except (RobotFault, UsageError):
        return "raised"


def expected(line: dict[str, Any]) -> Any:
    if "raises" in line:
        return "raised"
    result = line["result"]
    return pytest.approx(result, abs=1e-9) if isinstance(result, dict) else result
