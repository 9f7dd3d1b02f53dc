"""SCS motors: the bytes of a hand of sixteen are those of LeRobot's own class."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robots.scripted_port import ScriptedPort
from yardarm.errors import UsageError
from yardarm.robots.motors import PERCENT, Motor, ScsBus
from yardarm.robots.robot import BusRobot, BusRobotConfig

GOLDEN = Path(__file__).parents[1] / "golden" / "robots" / "hope_jr_hand"


class Hand(BusRobot):
    """As a package would add it."""

    name = "hope_jr_hand"
    bus_class = ScsBus
    motors = {  # noqa: RUF012 - a table
        name: Motor(own["id"], "scs0009", PERCENT)
        for name, own in json.loads((GOLDEN / "calibration.json").read_text()).items()
    }

    def configure(self) -> None:
        with self.bus.torque_disabled():
            self.bus.configure_motors()


@pytest.fixture
def port() -> Iterator[ScriptedPort]:
    own = ScriptedPort()
    yield own
    own.close()


def test_a_hand_speaks_as_in_lerobot(port: ScriptedPort) -> None:
    hand = Hand(BusRobotConfig(port=port.path, id="calibration", calibration_dir=GOLDEN, watchdog=False))
    hand.bus.line.patience_s, hand.bus.retry_budget_s = 0.5, 10.0  # a busy machine must not look like a lost packet
    lines = [json.loads(line) for line in (GOLDEN / "wire.jsonl").read_text().splitlines()]
    for line in [line for line in lines if "call" in line]:
        with port.following(line["wire"]):
            outcome = getattr(hand, line["call"])(*line["args"])
        assert port.sent == [sent for sent, _ in line["wire"]], line["call"]
        expected = line["result"]
        assert outcome == (pytest.approx(expected, abs=1e-9) if isinstance(expected, dict) else expected)


def test_nobody_is_asked_together(port: ScriptedPort) -> None:
    bus = ScsBus(port.path, Hand.motors)
    bus.connect(handshake=False)
    with pytest.raises(UsageError, match="one by one"):
        bus.broadcast_ping()
    bus.disconnect(disable_torque=False)
