"""``yardarm teleoperate``: on a terminal, in a pipe, and when something goes wrong."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.control.twin_arms import CALIBRATION, TwinArms, twin_arms
from tests.helpers import start_yardarm, wait_until, yardarm_here
from tests.robots.answers import on_a_terminal
from tests.robots.cameras.mjpeg import MjpegServer
from tests.robots.cameras.pictures import HEIGHT, WIDTH, write_video
from tests.viewer.served import ask

SUMMARY = r"Hz.*: [\d,]+ turns, [\d,]+ late, [\d,]+ missed.*; period error median [\d.]+ ms, 99% [\d.]+ ms, worst"


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[TwinArms]:
    with twin_arms(tmp_path) as own:
        yield own


def test_on_a_terminal_it_shows_a_table_until_ctrl_c(arms: TwinArms) -> None:
    with on_a_terminal("teleoperate", *arms.words, "--fps=30") as terminal:
        terminal.wait_for(r"[\d.]+ of 30 Hz · [\d,]+ late · [\d,]+ missed")
        terminal.wait_for(r"joint\s+asked\s+is at\s+load")
        terminal.wait_for(r"shoulder_pan\s+-?[\d.]+°\s+-?[\d.]+°")
        assert arms.torques() == {1}
        terminal.type("\x03")
        assert terminal.exit_code() == 0
        assert re.search(SUMMARY, terminal.output), terminal.output
    assert arms.torques() == {0}


def test_in_a_pipe_it_draws_nothing_and_writes_its_timing(arms: TwinArms, tmp_path: Path) -> None:
    words = [*arms.words, "--fps=20", "--teleop_time_s=0.5", f"--timing={tmp_path / 'timing.json'}"]
    answer = yardarm_here("lerobot-teleoperate", *words)
    assert answer.returncode == 0, answer.stderr
    assert "\x1b" not in answer.stdout
    assert re.match(SUMMARY.replace("Hz.*", "[^:]*Hz[^:]*"), answer.stdout), answer.stdout
    assert "a turn: observe " in answer.stdout
    timing = json.loads((tmp_path / "timing.json").read_text())
    assert timing["done"] + timing["missed"] == 10
    assert set(timing["parts"]) == {"observe", "ask", "send"}
    assert arms.follower.servo(1).get("Goal_Position") != 0
    assert arms.torques() == {0}


def test_sigterm_releases_the_arm_and_says_how_it_went(arms: TwinArms) -> None:
    process = start_yardarm("teleoperate", *arms.words)
    wait_until(lambda: arms.torques() == {1})
    asked = arms.leader.chain.requests
    wait_until(lambda: arms.leader.chain.requests > asked + 3)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert re.search(SUMMARY, out)
    assert arms.torques() == {0}


def test_a_leader_that_is_unplugged_is_named_and_the_arm_released(tmp_path: Path) -> None:
    with twin_arms(tmp_path) as arms:
        with on_a_terminal("teleoperate", *arms.words, "--fps=20", "--hold.patience_s=2") as terminal:
            terminal.wait_for(r"shoulder_pan\s+-?[\d.]+°")
            arms.leader.chain.servos.clear()
            terminal.wait_for(r"HOLDING STILL: so_leader 'a' does not answer")
            assert terminal.exit_code() == 1
            assert re.search(r"yardarm: stopped, after [\d.]+ s without an action: so_leader 'a'", terminal.output)
            assert re.search(SUMMARY, terminal.output)
        assert arms.torques() == {0}


def test_a_terminal_that_stands_still_keeps_no_arm_from_being_released(arms: TwinArms) -> None:
    with on_a_terminal("teleoperate", *arms.words, "--fps=20", "--hold.patience_s=0.5") as terminal:
        terminal.wait_for(r"shoulder_pan\s+-?[\d.]+°")
        terminal.type("\x13")  # Ctrl-S
        arms.leader.chain.servos.clear()
        wait_until(lambda: arms.torques() == {0})
        terminal.type("\x11")  # Ctrl-Q
        assert terminal.exit_code() == 1
        assert re.search(r"stopped, after [\d.]+ s without an action: so_leader 'a'", terminal.output)


def test_a_camera_that_hangs_holds_the_arm_until_it_is_back(arms: TwinArms) -> None:
    with MjpegServer(fps=8) as server:  # slowly: no pictures must wait on the way, where the server cannot stop them
        camera = f"type: opencv, index_or_path: '{server.url}', width: {WIDTH}, height: {HEIGHT}, fps: 8, warmup_s: 0"
        words = [*arms.words, f"--robot.cameras={{front: {{{camera}}}}}", "--fps=20", "--hold.patience_s=60"]
        with on_a_terminal("teleoperate", *words) as terminal:
            terminal.wait_for(r"cameras: front \d+ ms old")
            server.is_hanging = True
            # The table says it again and again; a line is said once, on a busy machine perhaps before the camera hangs.
            terminal.wait_for(r"HOLDING STILL: camera 'front' has shown nothing new for [1-9][\d.]* s \(limit 0.5 s\)")
            assert arms.torques() == {1}
            server.is_hanging = False
            terminal.wait_for(r"recovered after [\d.]+ s")
            terminal.wait_for(r"cameras: front \d+ ms old")
            terminal.type("\x03")
            assert terminal.exit_code() == 0
            assert re.search(r", [\d,]+ held; period error", terminal.output), terminal.output
    assert arms.torques() == {0}


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ("type: file, path: none.mp4, width: 64, height: 48", "cannot be opened: there is no file or folder none.mp4"),
        ("type: file, path: film.mp4, width: 20, height: 10", f"it gives {WIDTH}×{HEIGHT}, not 20×10 as asked for"),
        ("type: file, path: empty, width: 64, height: 48", "empty has no pictures"),
        ("type: opencv, index_or_path: 77, width: 64, height: 48", "there is no such camera; `yardarm find-cameras`"),
        ("type: opencv, index_or_path: /dev/null, backend: none, width: 64, height: 48", "backend 'none' is unknown"),
        ("type: sim, width: 64, height: 48", "there is no twin on"),
    ],
)
def test_a_camera_that_cannot_be_opened_is_found_before_anything_moves(
    camera: str, message: str, arms: TwinArms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_video(tmp_path / "film.mp4", [100] * 10)
    (tmp_path / "empty").mkdir()
    asked = arms.leader.chain.requests, arms.follower.chain.requests
    words = [*arms.words, f"--robot.cameras={{front: {{{camera}, fps: 30}}}}", "--teleop_time_s=1"]
    answer = yardarm_here("teleoperate", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert (arms.leader.chain.requests, arms.follower.chain.requests) == asked


def test_ctrl_c_does_not_wait_for_a_camera_that_is_being_connected(arms: TwinArms, tmp_path: Path) -> None:
    film = write_video(tmp_path / "film.mp4", [100] * 10)
    camera = f"type: file, path: {film}, width: {WIDTH}, height: {HEIGHT}, fps: 30, warmup_s: 1000"
    with on_a_terminal("teleoperate", *arms.words, f"--robot.cameras={{front: {{{camera}}}}}") as terminal:
        wait_until(lambda: str(film) in [own.path for own in psutil.Process(terminal.process.pid).open_files()])
        terminal.type("\x03")
        assert terminal.exit_code() == 130
        assert "Traceback" not in terminal.output
    assert arms.torques() == {0}


def test_the_guard_can_be_told_how_fast(arms: TwinArms) -> None:
    lift = arms.follower.servo(2)
    lift.shaft = (CALIBRATION["shoulder_lift"].range_max + CALIBRATION["shoulder_lift"].range_min) // 2
    lift.shaft += CALIBRATION["shoulder_lift"].homing_offset
    before = lift.present_position()
    arms.leader.servo(2).shaft = lift.shaft + 300
    short = ("--teleop_time_s=0.3", "--fps=20")
    assert yardarm_here("teleoperate", *arms.words, *short, "--guard.start_speed=0.001").returncode == 0
    assert lift.get("Goal_Position") == pytest.approx(before, abs=1)
    assert yardarm_here("teleoperate", *arms.words, *short, "--guard.enabled=false").returncode == 0
    assert lift.get("Goal_Position") == pytest.approx(before + 300, abs=2)


TWINS = ["--robot=so101_follower", "--robot.port=twin", "--teleop=so101_leader", "--teleop.port=twin"]


def test_on_twins_whose_time_waits_nothing_is_late() -> None:
    answer = yardarm_here("teleoperate", *TWINS, "--twin.realtime=false", "--teleop_time_s=2", "--fps=30")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("30 Hz kept: 60 turns, 0 late, 0 missed; period error median 0.00 ms")


def test_the_page_is_served_while_the_arm_moves(arms: TwinArms) -> None:
    process = start_yardarm("teleoperate", *arms.words, "--display_data=true", "--view_open=false")
    assert process.stdout is not None
    address = re.findall(r"Viewing it at (http\S+)", process.stdout.readline())[0]
    wait_until(lambda: len(ask(address, "/api/control")[1]["joints"]) == 6)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert re.search(SUMMARY, out)
    assert arms.torques() == {0}


def test_a_page_that_cannot_be_served_is_said_before_anything_moves(arms: TwinArms) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = f"--view_port={taken.getsockname()[1]}"
        answer = yardarm_here("teleoperate", *arms.words, "--view", port)
    assert (answer.returncode, answer.stderr.count("choose another with --view_port")) == (2, 1)
    assert arms.follower.chain.requests == 0


BOTH = ["--robot=so101_follower", "--robot.port=x", "--teleop=so101_leader", "--teleop.port=y"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "which arms? Give --robot.type=so101_follower"),
        (BOTH[:2], "which arms?"),
        ([*BOTH, "--fps=0"], "--fps must be positive, got 0"),
        ([*BOTH, "--teleop_time_s=-1"], "--teleop_time_s must be positive"),
        ([*BOTH, "--hold.patience_s=0"], "--hold.patience_s must be positive"),
        ([*BOTH, "--hold.patence_s=1"], "unknown option '--hold.patence_s'; did you mean 'patience_s'"),
        ([*BOTH, "--guard.max_speed={elbow: 3}"], "so_follower has no joint 'elbow'; did you mean 'elbow_flex'?"),
        ([*BOTH, "--timing=/no/such/file.json"], "--timing=/no/such/file.json: there is no folder /no/such"),
        ([*BOTH, "--timing=/"], "--timing=/ is a folder; name a file in it"),
        ([*BOTH, "--display_mode=rerun"], "--display_mode=rerun: --view shows cameras and joints in the browser"),
        ([*BOTH, "--display_ip=1.2.3.4"], "--display_ip=1.2.3.4: --view shows"),
        ([*BOTH, "--view_port=99999"], "--view_port must lie between 1 and 65535"),
        ([*BOTH, "--speed=3"], "unknown option '--speed'"),
        (["so101"], "yardarm teleoperate takes flags only, not 'so101'"),
        (
            ["--robot=koch_follower", "--robot.port=x", "--teleop=bi_so_leader", "--teleop.id=z"]
            + [f"--teleop.{side}_arm_config.port={side}" for side in ("left", "right")],
            "bi_so_leader 'z' cannot move koch_follower: its actions are left_shoulder_pan.pos",
        ),
    ],
)
def test_a_mistake_gets_one_line_before_anything_moves(more: list[str], message: str) -> None:
    answer = yardarm_here("teleoperate", *more)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_help_lists_everything() -> None:
    said = yardarm_here("teleoperate", "--help").stdout
    for flag in ("--fps", "--teleop_time_s", "--guard.max_speed", "--hold.patience_s", "--robot.type", "--teleop.type"):
        assert flag in said
