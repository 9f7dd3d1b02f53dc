"""``yardarm find-port``: what answers on a port, and which port is gone."""

from __future__ import annotations

import re

import pytest

from tests.helpers import yardarm_here
from tests.robots.answers import on_a_terminal, type_ahead
from tests.robots.twin_port import twin_of
from yardarm.robots.twins.port import PortServer


@pytest.mark.parametrize(
    ("type", "unplugged", "text"),
    [
        (
            "so101_follower",
            (),
            "6 Feetech motors (sts3215), ids 1–6: so100_follower, so101_follower, so100_leader or so101_leader",
        ),
        ("koch_leader", (), "6 Dynamixel motors (xl330-m077), ids 1–6: koch_leader"),
        ("omx_follower", (), "6 Dynamixel motors (xl430-w250 and xl330-m288), ids 11–16: omx_follower"),
        ("so101_follower", (5,), "5 Feetech motors (sts3215), ids 1–4, 6: like so100_follower, but without id 5"),
        ("so101_follower", (2, 3, 4, 5, 6), "1 Feetech motor (sts3215), id 1: a new motor? `yardarm setup-motors`"),
    ],
)
def test_it_says_what_answers_and_which_arm_it_looks_like(type: str, unplugged: tuple[int, ...], text: str) -> None:
    with twin_of(type) as twin:
        for id in unplugged:
            twin.chain.servos.remove(twin.servo(id))
        before = [bytes(servo.memory) for servo in twin.chain.servos]
        answer = yardarm_here("find-port", f"--port={twin.path}")
        after = [bytes(servo.memory) for servo in twin.chain.servos]
    assert f"{twin.path}: {text}" in answer.stdout
    assert answer.returncode == 0
    assert [memory[:40] for memory in before] == [memory[:40] for memory in after]


@pytest.mark.parametrize("value", ["", ","])
def test_a_port_without_a_name_is_a_missing_value(value: str) -> None:
    answer = yardarm_here("find-port", f"--port={value}")
    assert (answer.returncode, answer.stderr) == (2, "yardarm: --port needs a value: --port=/dev/ttyACM0\n")


def test_a_silent_port_is_said_to_be_silent() -> None:
    with PortServer(lambda content: []) as port:
        answer = yardarm_here("lerobot-find-port", f"--port={port.path}", "--unplug=false")
    assert answer.stdout == f"{port.path}: no motor answers; is the power on?\n"
    assert answer.returncode == 1


def test_the_port_that_is_gone_is_the_arms() -> None:
    with PortServer(lambda content: []) as stays, PortServer(lambda content: []) as goes:
        with on_a_terminal("find-port", f"--port={stays.path},{goes.path}") as terminal:
            terminal.wait_for(re.escape(f"{goes.path}: no motor answers"))
            terminal.wait_for("Unplug the USB cable of the arm")
            goes.close()
            terminal.type("\n")
            terminal.wait_for(f"The port of the arm is {goes.path}")
            assert terminal.exit_code() == 0
        goes.close = lambda: None  # type: ignore[method-assign]


def test_a_port_that_did_not_go_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yardarm.cli.commands.find_port.UNPLUGGED_S", 0.0)
    type_ahead(monkeypatch, "")
    with PortServer(lambda content: []) as port:
        answer = yardarm_here("find-port", f"--port={port.path}", "--unplug")
    assert answer.returncode == 2
    assert "no port is gone" in answer.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port=/dev/no-such-port"], "there is no /dev/no-such-port"),
        (["--prot=x"], "unknown option '--prot'; did you mean 'port'?"),
        (["/dev/ttyACM0"], "yardarm find-port takes flags only, not '/dev/ttyACM0'"),
    ],
)
def test_a_mistake_gets_one_line(words: list[str], message: str) -> None:
    answer = yardarm_here("find-port", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
