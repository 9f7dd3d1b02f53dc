"""Beside its port, a twin has a door: it is seen and stepped through a socket, by its own user only."""

from __future__ import annotations

import json
import math
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import RobotFault, UsageError
from yardarm.robots.twins import PortLink, Twin, TwinTime, open_door
from yardarm.robots.twins.door import TwinDoor, TwinSpec, TwinState


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / f"yardarm-{os.geteuid()}"


def test_a_twin_is_seen_and_stepped_through_its_door() -> None:
    with Twin("koch_leader", real_time=False) as twin:
        door = open_door(twin.port)
        assert door is not None
        spec = door.spec
        assert (spec.type, spec.kind, spec.scene, spec.is_real_time) == ("koch_leader", "koch", "", False)
        assert spec.ranges["gripper"] == pytest.approx((math.radians(-10), math.radians(100)), abs=0.01)
        twin.hold({"shoulder_pan": 30.0})
        state = door.advance(1.0)
        assert state.seconds == pytest.approx(1.0)
        assert list(state.qpos) == twin.angles()
        assert state.qpos[0] != 0.0
        door.close()


def test_a_door_is_for_its_own_user_and_is_gone_with_its_twin(folder: Path) -> None:
    with Twin("koch_leader", real_time=False) as twin:
        [place] = folder.iterdir()
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        door = open_door(twin.port)
        assert door is not None
    assert not list(folder.iterdir())
    with pytest.raises(RobotFault, match=r"has ended; start it again|does not answer"):
        door.state()
    door.close()


def test_a_port_without_a_twin_has_no_door(tmp_path: Path) -> None:
    assert open_door("/dev/ttyACM0") is None
    assert open_door(str(tmp_path / "nothing")) is None


@pytest.mark.parametrize("known", [True, False])
def test_a_door_is_found_from_a_shell_that_knows_another_place(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with Twin("koch_leader", real_time=False) as twin:
        if known:
            monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        door = open_door(twin.port)
        assert door is not None
        door.close()


class Interrupted:
    """Lines of a socket, before the first of which somebody presses Ctrl-C."""

    def __init__(self, lines: Any) -> None:
        self._lines, self._is_first = lines, True

    def readline(self, most: int) -> bytes:
        if self._is_first:
            self._is_first = False
            raise KeyboardInterrupt
        return bytes(self._lines.readline(most))

    def close(self) -> None:
        self._lines.close()


def test_after_ctrl_c_answers_are_still_those_to_the_question() -> None:
    with Twin("koch_leader", real_time=False) as twin:
        door = open_door(twin.port)
        assert door is not None
        door._lines = Interrupted(door._lines)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            door.advance(1.0)
        assert door.advance(0.5).seconds == pytest.approx(1.5)
        assert door.state().seconds == pytest.approx(1.5)
        door.close()


def test_a_link_leads_to_the_same_door(tmp_path: Path) -> None:
    with Twin("koch_leader", real_time=False) as twin, PortLink(tmp_path / "arm", twin.port):
        door = open_door(str(tmp_path / "arm"))
        assert door is not None
        door.close()


def test_what_a_killed_twin_leaves_is_no_door_and_stands_in_nobodys_way(folder: Path) -> None:
    code = "from yardarm.robots.twins import Twin\nimport os\nTwin('koch_leader', real_time=False)\nos._exit(9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    [left] = folder.iterdir()
    port = "/" + left.name.removesuffix(".sock").replace("-", "/")
    assert open_door(port) is None
    with Twin("koch_leader", real_time=False) as twin:  # it has probably got the same port
        door = open_door(twin.port)
        assert door is not None
        door.close()


def test_a_twin_in_real_time_is_not_stepped() -> None:
    with Twin("koch_leader") as twin:
        door = open_door(twin.port)
        assert door is not None
        assert door.is_real_time
        with pytest.raises(UsageError, match="lives in real time"):
            door.advance(1.0)
        with pytest.raises(UsageError, match="nothing on its table"):
            door.reset_scene(3)
        door.close()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"nonsense\n", "Expecting value"),
        (b"[]\n", "must be a map"),
        (b"{}\n", "ask is missing"),
        (b'{"ask": "dance"}\n', "not 'dance'"),
        (b'{"ask": "advance"}\n', "between 0 and 3600"),
        (b'{"ask": "advance", "seconds": -1}\n', "between 0 and 3600"),
        (b'{"ask": "advance", "seconds": NaN}\n', "finite"),
        (b'{"ask": "advance", "seconds": "1"}\n', "must be a number"),
        (b'{"ask": "' + b"x" * 5000 + b'"}\n', "Unterminated string"),
    ],
)
def test_nonsense_is_answered_in_one_line_and_moves_nothing(folder: Path, line: bytes, answer: str) -> None:
    with Twin("koch_leader", real_time=False) as twin:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
            visitor.connect(str(next(folder.iterdir())))
            visitor.sendall(line)
            with visitor.makefile("rb") as lines:
                assert answer in json.loads(lines.readline())["error"]
        assert twin.seconds == 0.0


class Liar:
    """Something behind a door that is no twin."""

    port = "/liar"

    @property
    def about(self) -> TwinSpec:
        return TwinSpec("x", "y", "", "yes", {})  # type: ignore[arg-type]

    def look(self) -> TwinState:
        raise UsageError("no")

    def advance(self, seconds: float) -> None: ...

    def reset_scene(self, seed: int | None) -> None: ...


def test_what_lies_about_being_a_twin_is_none() -> None:
    door = TwinDoor(Liar())
    assert open_door(Liar.port) is None
    door.close()


def test_a_twin_lives_where_no_door_can_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    with Twin("koch_leader", real_time=False) as twin:
        assert open_door(twin.port) is None
        twin.advance(0.1)


def test_time_passes_in_all_twins_together_and_never_one_step_too_many() -> None:
    with Twin("koch_leader", real_time=False) as one, Twin("koch_follower", real_time=False) as other:
        other.advance(0.5)
        clock = TwinTime([one, other])
        for tick in range(1, 31):
            clock.wait_until(tick / 30)
            assert clock.now() == tick / 30
            assert 0 <= clock.now() - one.seconds + 1e-9 < 0.002 + 1e-6
        clock.wait_until(0.3)  # it has passed
        assert clock.now() == 1.0
        assert one.seconds == pytest.approx(1.0)
        assert other.seconds == pytest.approx(1.5)
