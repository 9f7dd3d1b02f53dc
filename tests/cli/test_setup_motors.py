"""``yardarm setup-motors``: the dialogue on a terminal, and with answers from a pipe."""

from __future__ import annotations

import pytest

from tests.helpers import yardarm_here
from tests.robots.answers import on_a_terminal, type_ahead
from tests.robots.moved_twin import moved_twin
from yardarm.robots.twins.factory import new_servo


def test_on_a_terminal_motors_are_plugged_in_one_after_the_other() -> None:
    with moved_twin("koch_follower") as twin:
        twin.chain.servos.clear()
        words = ("lerobot-setup-motors", "--robot.type=koch_follower", f"--robot.port={twin.path}")
        with on_a_terminal(*words) as terminal:
            terminal.wait_for(r"Connect gripper \(xl330-m288\) to the controller board, and no other motor")
            twin.chain.servos[:] = [new_servo("xl330-m288")]
            terminal.type("\n")
            terminal.wait_for("gripper has the id 6 now")
            terminal.wait_for(r"Connect wrist_roll \(xl330-m288\)")
            terminal.type("\n")
            terminal.wait_for(r"this is gripper \(id 6\), which is done")
            terminal.wait_for("Connect wrist_roll")
            twin.chain.servos[:] = [new_servo("xl330-m288")]
            terminal.type("\n")
            terminal.wait_for("wrist_roll has the id 5 now")
            terminal.wait_for("Connect wrist_flex")
            terminal.type("\x03")
            assert terminal.exit_code() == 130
        assert [servo.id for servo in twin.chain.servos] == [5]


def test_answers_may_come_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    with moved_twin("so101_leader") as twin:
        twin.chain.servos[:] = [new_servo("sts3215")]
        type_ahead(monkeypatch, "", *["s"] * 5)
        answer = yardarm_here("setup-motors", "--teleop=so101_leader", f"--teleop.port={twin.path}")
        assert answer.returncode == 0, answer.stderr
        assert "gripper has the id 6 now (it had 1, at 1000000 baud)." in answer.stdout
        assert twin.chain.servos[0].id == 6


def test_a_port_that_is_not_there_is_named() -> None:
    answer = yardarm_here("setup-motors", "--robot=so101_follower", "--robot.port=/dev/no-such-port")
    assert answer.returncode == 1
    assert "cannot open the port /dev/no-such-port" in answer.stderr
    assert answer.stderr.count("\n") == 1
