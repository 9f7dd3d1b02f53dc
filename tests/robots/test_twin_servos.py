"""A twin's motors answer as the recorded ones do, byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yardarm.robots.twins.chain import DynamixelSide, FeetechSide, MotorChain
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
# SCS motors have no twin.
ARMS = [path.parent.name for path in sorted(GOLDEN.glob("*/wire.jsonl")) if path.parent.name != "hope_jr_hand"]
# The recording damages answers here, or has motors complain.
DISTURBED = ("corrupted", "cut short", "missing", "overload", "late answer", "another model", "differs")
# The vendor's package forgets to stuff this request, so that no motor understands it.
MALFORMED = "FF FF FD inside the data"


@pytest.mark.parametrize("name", ARMS)
def test_motors_answer_as_recorded(name: str) -> None:
    first, *calls = [json.loads(line) for line in (GOLDEN / name / "wire.jsonl").read_text().splitlines()]
    kind, side = (FeetechServo, FeetechSide()) if first["bus"] == "feetech" else (DynamixelServo, DynamixelSide())
    chain = MotorChain([kind(bytes.fromhex(memory)) for memory in first["registers"].values()], side)
    checked = 0
    for line in calls:
        note = line.get("note", "")
        for servo in chain.servos:
            if note.startswith("again"):
                servo.shaft = 2048  # the recording starts over
            servo.shaft = line.get("shaft", {}).get(str(servo.id), servo.shaft)
        for id, address, content in line.get("poke", []):
            for servo in chain.servos:
                if servo.id == id:
                    servo.memory[address : address + len(content) // 2] = bytes.fromhex(content)
        for sent, answered in line.get("wire", []):
            answer = b"".join(chain.take(bytes.fromhex(sent))).hex()
            if "sweep" in line and sent in SWEEP_READS:
                continue
            if not any(words in note for words in DISTURBED) and MALFORMED not in note:
                assert answer == answered, (line["call"], note, sent)
                checked += 1
    assert checked


# During a sweep the recording moves the shafts between two readings.
SWEEP_READS = ("fffffe0982380201020304062c", "fffffd00fe0b008284000400020304062b90")
