"""Packets, signs, units and capped goals are those of LeRobot and of the vendors' packages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yardarm.robots.motors import MotorCalibration, calibration_from_json, calibration_to_json
from yardarm.robots.motors.dynamixel import DynamixelProtocol, crc16
from yardarm.robots.motors.encoding import sign_magnitude, twos_complement, unsign_magnitude, untwos_complement
from yardarm.robots.motors.feetech import FeetechProtocol
from yardarm.robots.motors.registers import MODELS
from yardarm.robots.motors.units import DEGREES, Scale
from yardarm.robots.robot import closer_goals

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
PROTOCOLS = {"feetech": FeetechProtocol(), "dynamixel": DynamixelProtocol()}


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLDEN / f"{name}.jsonl").read_text().splitlines()]


def test_packets_are_the_vendors_but_for_the_stuffing_that_they_forget() -> None:
    for line in lines("packets"):
        if "crc" in line:
            assert crc16(bytes.fromhex(line["crc_of"])) == line["crc"]
            continue
        protocol = PROTOCOLS[line["family"]]
        if line["instruction"] == "write":
            packet = protocol.write(line["id"], line["address"], bytes(line["data"]))
        else:
            packet = protocol.sync_read(line["ids"], line["address"], line["length"])
        assert (packet.hex() == line["packet"]) is ("note" not in line), line


def test_signs_are_encoded_as_recorded() -> None:
    for line in lines("encodings"):
        value, encoded = line["value"], line["encoded"]
        if line["kind"] == "sign_magnitude":
            assert sign_magnitude(value, line["sign_bit"]) == encoded
            assert unsign_magnitude(encoded, line["sign_bit"]) == line["decoded"]
        else:
            size = next(line[name] for name in ("size", "bytes", "n_bytes") if name in line)
            assert twos_complement(value, size) == encoded
            assert untwos_complement(encoded, size) == line["decoded"]


def test_units_are_lerobots_but_for_goals_beyond_the_range() -> None:
    for line in lines("normalisation"):
        low, high = line["range"]
        calibration = MotorCalibration(1, line["drive_mode"], 0, low, high)
        reversed_here = bool(line["drive_mode"]) and line["family"] == "feetech"
        scale = Scale(line["mode"], MODELS[line["model"]].resolution, calibration, reversed_here)
        for raw, value in line["raw_to_value"]:
            assert scale.value(raw) == pytest.approx(value, abs=1e-9)
        for value, raw in line["value_to_raw"]:
            assert scale.raw(value) == (min(max(raw, low), high) if line["mode"] == DEGREES else raw)


def test_goals_are_capped_as_in_lerobot() -> None:
    for line in lines("safe_goal"):
        goals = {name: goal for name, (goal, _) in line["goal_and_present"].items()}
        present = {name: own for name, (_, own) in line["goal_and_present"].items()}
        assert closer_goals(goals, present, line["max_relative_target"]) == pytest.approx(line["safe"], abs=1e-12)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/calibration.json")), ids=lambda path: path.parent.name)
def test_calibration_files_are_read_and_written_to_the_byte(path: Path) -> None:
    text = path.read_text()
    assert calibration_to_json(calibration_from_json(text, str(path))) == text
