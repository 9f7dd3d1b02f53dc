"""docs/robots.md: its commands and its code work as they stand there, on twins."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers import GOLDEN, yardarm_here
from tests.robots.answers import type_ahead
from tests.robots.twin_port import twin_of
from yardarm.robots.motors import read_calibration_file

PAGE = (Path(__file__).parents[2] / "docs" / "robots.md").read_text()
COMMANDS = re.findall(r"^ {4,}(yardarm .*)$", PAGE, re.MULTILINE)
CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CALIBRATION = read_calibration_file(GOLDEN / "robots" / "so101_follower" / "calibration.json")


@pytest.fixture
def ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Two arms where the page has them, calibrated."""
    for kind in ("robots/so_follower", "teleoperators/so_leader"):
        (tmp_path / kind).mkdir(parents=True)
        for name in ("blue.json", "blue.json.previous", "two_left.json", "two_right.json"):
            content = (GOLDEN / "robots" / "so101_follower" / "calibration.json").read_text()
            (tmp_path / kind / name).write_text(content)
    monkeypatch.setenv("HF_LEROBOT_CALIBRATION", str(tmp_path))
    with twin_of("so101_follower", CALIBRATION) as one, twin_of("so101_leader", CALIBRATION) as other:
        for servo in (*one.chain.servos, *other.chain.servos):
            own = list(CALIBRATION.values())[servo.id - 1]
            servo.shaft = (own.range_min + own.range_max) // 2 + own.homing_offset
        yield {"/dev/ttyACM0": one.path, "/dev/ttyACM1": other.path}


def with_ports(text: str, ports: dict[str, str]) -> str:
    for name, path in ports.items():
        text = text.replace(name, path)
    return text


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_guide_works_as_typed(
    command: str, ports: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(with_ports(command, ports))[1:]
    if words[0] == "find-joint-limits":
        words += ["--teleop_time_s=0.2", "--warmup_time_s=0"]
    if words[:2] == ["robot", "log"]:
        arm = f"--robot.type=so101_follower --robot.port={ports['/dev/ttyACM0']} --robot.id=blue"
        assert yardarm_here("robot", "info", *arm.split(), f"--robot.log={words[2]}").returncode == 0
    type_ahead(monkeypatch, *["" if words[0] != "setup-motors" else "s"] * 6)
    answer = yardarm_here(*words)
    is_about_all_ports = words in (["find-port"], ["robot", "info"])  # there are none on the USB of most test machines
    assert answer.returncode == 0 or is_about_all_ports, answer.stderr + answer.stdout
    assert "unknown" not in answer.stderr


def test_there_are_commands_and_code() -> None:
    assert len(COMMANDS) >= 9
    assert len(CODE) == 2


@pytest.mark.parametrize("code", CODE)
def test_the_code_of_the_guide_works(code: str, ports: dict[str, str]) -> None:
    exec(with_ports(code, ports), {})
