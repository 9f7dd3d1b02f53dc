"""``yardarm record --robot.… --teleop.…``: episodes, keys, interruptions, and mistakes, on twins."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.twin_arms import TwinArms, twin_arms
from tests.datasets.frames_of import snapshot
from tests.helpers import descendants, start_yardarm, wait_until, yardarm_here
from tests.recording.robot.ticks import frames_in_videos
from tests.robots.answers import Terminal, on_a_terminal
from tests.robots.cameras.pictures import HEIGHT, WIDTH, write_video
from tests.viewer.served import ask, send
from yardarm.datasets import DatasetWriter, LeRobotDataset, VideoEncoding, read_measured, read_metadata
from yardarm.recording.robot import robot_dataset_info
from yardarm.robots import make_robot

RIGHT, LEFT, ESC = "\x1b[C", "\x1b[D", "\x1b"
LONG = 600


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[TwinArms]:
    with twin_arms(tmp_path) as own:
        yield own


def words_for(arms: TwinArms, root: Path, **dataset: object) -> list[str]:
    own = {"root": root, "single_task": "wave", "fps": 20, "episode_time_s": LONG, "reset_time_s": LONG, **dataset}
    return ["record", *arms.words, *(f"--dataset.{name}={value}" for name, value in own.items())]


def wait_for_frames(terminal: Terminal, episode: int, frames: int = 5) -> None:
    """Wait until some frames of an episode are recorded."""
    terminal.wait_for(rf"RECORDING episode {episode} .* ({'|'.join(map(str, range(frames, 10 * frames)))}) frames")


def test_it_records_for_the_given_times_and_says_what_there_is(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    words = words_for(arms, root, num_episodes=2, episode_time_s=0.95, reset_time_s=0.1)
    answer = yardarm_here(*words)
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[0] == f"recording to {root}"
    assert [line for line in lines if line.startswith(("recording episode", "reset"))] == [
        "recording episode 0",
        "reset: put things back",
        "recording episode 1",
    ]
    assert re.search(r"^episode 1 is saved: \d+ frames, 0\.\d s, \d+ kB$", answer.stdout, re.MULTILINE)
    assert re.search(r"Hz.*period error median", answer.stdout)
    assert lines[-1] == f"  yardarm dataset view {root}"
    assert arms.torques() == {0}
    dataset = LeRobotDataset(root=root)
    assert dataset.meta.info.robot_type == "so_follower"
    assert dataset.meta.tasks == ("wave",)
    for episode in dataset.meta.episodes:
        measured = read_measured(root, episode.index)
        assert measured is not None
        assert len(measured) == episode.length <= 19
        assert (measured.sent_s >= measured.began_s).all()


def test_keys_end_an_episode_repeat_it_and_stop(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with on_a_terminal(*words_for(arms, root)) as terminal:
        terminal.wait_for("recording episode 0")
        terminal.wait_for("→ or n: end the episode · ← or r: discard it")
        wait_for_frames(terminal, 0)
        assert arms.torques() == {1}
        terminal.type(RIGHT)
        terminal.wait_for(r"RESET: put things back; episode 1 begins in \d+ s")
        terminal.wait_for(r"episode 0 is saved: \d+ frames")
        terminal.type("n")
        wait_for_frames(terminal, 1)
        terminal.type(LEFT)  # during an episode: it is discarded
        terminal.wait_for(r"episode 1 is discarded \(\d+ frames\), and will be recorded again")
        terminal.wait_for("RESET")
        terminal.type(RIGHT)
        wait_for_frames(terminal, 1)
        terminal.type("n")
        terminal.wait_for(r"episode 1 is saved")
        terminal.type("r")  # during the reset: what was saved is removed
        terminal.wait_for("episode 1 is removed again")
        wait_for_frames(terminal, 1)
        terminal.type(ESC)
        terminal.wait_for(r"episode 1 is saved: \d+ frames")
        assert terminal.exit_code() == 0
        assert f"Dataset: {root} (2 episodes" in terminal.output
    assert arms.torques() == {0}
    assert read_metadata(root).total_episodes == 2
    checks = json.loads(yardarm_here("dataset", "check", root, "--json").stdout)["checks"]
    assert not {"files", "not_numbers"} & {check["name"] for check in checks}
    assert "turns" in {check["name"] for check in checks}
    assert not [path for path in root.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("how", "code"), [("ctrl-c", 130), ("sigterm", 143)])
def test_an_interruption_releases_the_arm_and_keeps_what_there_is(
    how: str, code: int, arms: TwinArms, tmp_path: Path
) -> None:
    root = tmp_path / "cube"
    with on_a_terminal(*words_for(arms, root)) as terminal:
        wait_for_frames(terminal, 0)
        if how == "ctrl-c":
            terminal.type("\x03")
        else:
            os.kill(terminal.process.pid, signal.SIGTERM)
        terminal.wait_for(r"episode 0 was interrupted after \d+ frames; it is kept as it is")
        terminal.wait_for(r"episode 0 is saved")
        assert terminal.exit_code() == code
        assert "Traceback" not in terminal.output
    assert arms.torques() == {0}
    assert read_metadata(root).total_episodes == 1


def test_a_terminal_that_is_closed_keeps_what_there_is(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with on_a_terminal(*words_for(arms, root)) as terminal:
        wait_for_frames(terminal, 0)
        os.kill(terminal.process.pid, signal.SIGHUP)
        assert terminal.exit_code() == 129
    assert arms.torques() == {0}
    assert read_metadata(root).total_episodes == 1


def test_resume_appends_and_refuses_what_does_not_fit(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    short = {"num_episodes": 1, "episode_time_s": 1, "reset_time_s": 0}
    assert yardarm_here(*words_for(arms, root, **short)).returncode == 0
    again = yardarm_here(*words_for(arms, root, **short))
    assert again.returncode == 2
    assert "has 1 episode already; add --resume=true to append" in again.stderr
    resumed = yardarm_here(*words_for(arms, root, **short), "--resume=true")
    assert resumed.returncode == 0, resumed.stderr
    assert f"recording to {root}, which has 1 episode" in resumed.stdout
    assert "recording episode 1" in resumed.stdout
    assert read_metadata(root).total_episodes == 2
    other = yardarm_here(*words_for(arms, root, **{**short, "fps": 10}), "--resume=true")
    assert other.returncode == 2
    assert "has 20 frames per second; add --dataset.fps=20" in other.stderr
    assert read_metadata(root).total_episodes == 2


def test_resume_refuses_another_encoding_before_an_arm_is_connected(tmp_path: Path) -> None:
    film = write_video(tmp_path / "film.mp4", [100] * 10)
    camera = {"type": "file", "path": str(film), "width": WIDTH, "height": HEIGHT, "fps": 30}
    robot = make_robot("so101_follower", port="x", cameras={"front": camera})
    DatasetWriter.create(tmp_path / "cube", robot_dataset_info(robot, 30), VideoEncoding("h264", crf=23)).finalize()
    words = [*BOTH, f"--robot.cameras={json.dumps({'front': camera})}", f"--dataset.root={tmp_path / 'cube'}"]
    for resume in ("true", "false"):  # without episodes, it would be continued in any case
        answer = yardarm_here("record", *words, "--dataset.single_task=wave", f"--resume={resume}")
        assert answer.returncode == 2
        assert answer.stderr.count("\n") == 1
        assert "add --dataset.crf=23 --dataset.preset=veryfast --dataset.vcodec=h264, or" in answer.stderr


def test_a_killed_encoder_stops_the_recording_in_one_line(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with on_a_terminal(*words_for(arms, root)) as terminal:
        wait_for_frames(terminal, 0)
        terminal.type("n")
        terminal.wait_for("episode 0 is saved")
        terminal.type("n")
        wait_for_frames(terminal, 1)
        encoders = [one for one in descendants(terminal.process.pid) if "encoder" in " ".join(one.cmdline())]
        os.kill(encoders[0].pid, signal.SIGKILL)
        terminal.wait_for(r"episode 1 is not kept: something failed after \d+ frames")
        assert terminal.exit_code() == 1
        assert "the encoder was ended by SIGKILL" in terminal.output
        assert f"1 episode kept in {root}" in terminal.output
        assert "Traceback" not in terminal.output
    assert arms.torques() == {0}
    assert read_metadata(root).total_episodes == 1


def test_a_leader_that_is_unplugged_loses_the_running_episode_only(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with twin_arms(tmp_path) as arms:
        words = [*words_for(arms, root, num_episodes=3), "--hold.patience_s=0.3"]
        with on_a_terminal(*words) as terminal:
            wait_for_frames(terminal, 0)
            terminal.type("n")
            terminal.wait_for("episode 0 is saved")
            terminal.type("n")
            wait_for_frames(terminal, 1)
            arms.leader.chain.servos.clear()
            terminal.wait_for("episode 1 is not kept: something failed")
            assert terminal.exit_code() == 1
            assert "so_leader 'a' does not answer" in terminal.output
        assert arms.torques() == {0}
    assert read_metadata(root).total_episodes == 1


def test_kill_9_of_the_recorder_keeps_all_that_had_ended(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    with on_a_terminal(*words_for(arms, root, reset_time_s=0)) as terminal:
        for episode in range(2):
            wait_for_frames(terminal, episode)
            terminal.type("n")
        wait_for_frames(terminal, 2)
        terminal.process.kill()
        terminal.process.wait()
    wait_until(lambda: not (root / "meta").exists() or read_metadata(root).total_episodes == 2)
    short = words_for(arms, root, num_episodes=1, episode_time_s=1)
    resumed = yardarm_here(*short, "--resume=true")
    assert resumed.returncode == 0, resumed.stderr
    assert read_metadata(root).total_episodes == 3
    assert not [path for path in root.iterdir() if path.name.startswith(".")]


BOTH = ["--robot=so101_follower", "--robot.port=x", "--teleop=so101_leader", "--teleop.port=y"]
NAMED = [*BOTH, "--dataset.root=cube", "--dataset.single_task=wave"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (BOTH[:2], "which arms? Give --robot.type=so101_follower"),
        ([*BOTH, "--dataset.root=cube"], "what is done? A policy is told so in words: --dataset.single_task="),
        ([*BOTH, "--dataset.single_task=x"], "--dataset.repo_id=owner/name is missing"),
        ([*BOTH, "--dataset.single_task=x", "--dataset.repo_id=me/eval_x"], "names that begin with eval_ are for"),
        ([*BOTH, "--dataset.single_task=x", "--dataset.repo_id=cube"], "a dataset's name must be owner/name"),
        ([*NAMED, "--dataset.fps=0"], "--dataset.fps must be positive"),
        ([*NAMED, "--dataset.episode_time_s=0"], "--dataset.episode_time_s must be positive"),
        ([*NAMED, "--dataset.reset_time_s=-1"], "--dataset.reset_time_s must not be negative"),
        ([*NAMED, "--dataset.vcodec=h265"], "unknown video codec 'h265'"),
        ([*NAMED, "--dataset.private=true"], "--dataset.private is for a dataset that is uploaded"),
        ([*NAMED, "--dataset.push_to_hub=true"], "--dataset.push_to_hub needs a name on the Hub"),
        ([*NAMED, "--dataset.episode_time=3"], "unknown option '--dataset.episode_time'; did you mean"),
        ([*NAMED, "--resume=true"], "--resume=true: there is no dataset"),
        ([*NAMED, "--play_sounds=true"], "--play_sounds=true: recording makes no sounds"),
        ([*NAMED, "--policy.path=x"], "--policy.path=x: a policy on a robot cannot be recorded yet"),
        ([*NAMED, "--env.type=pusht"], "--env.type=pusht: a recording is on a robot or in simulation"),
        ([*NAMED, "--dataset.encoder_threads=2"], "--dataset.encoder_threads=2: another process encodes"),
        ([*NAMED, "cube"], "takes flags only, not 'cube'"),
        ([*BOTH, "--dataset.single_task=x", "--dataset.root=/dev/null/cube"], "cannot be made: /dev/null is a file"),
    ],
)
def test_a_mistake_gets_one_line_before_an_arm_is_connected(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = yardarm_here("record", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "cube").exists()


def test_a_configuration_file_can_name_the_arms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("record.yaml").write_text("robot: {type: so101_follower, port: x}\nteleop: {type: so101_leader, port: y}\n")
    answer = yardarm_here("record", "--config_path=record.yaml", "--dataset.root=cube")
    assert (answer.returncode, "what is done?" in answer.stderr) == (2, True)


def test_the_date_and_time_are_added_to_a_name_unless_told_otherwise(
    arms: TwinArms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_LEROBOT_HOME", str(tmp_path / "home"))
    own = ["--dataset.repo_id=me/cube", "--dataset.single_task=x", "--dataset.num_episodes=1"]
    own += ["--dataset.episode_time_s=1", "--dataset.fps=10"]
    assert yardarm_here("lerobot-record", *arms.words, *own).returncode == 0
    (stamped,) = (tmp_path / "home" / "me").iterdir()
    assert re.fullmatch(r"cube_\d{8}_\d{6}", stamped.name)
    answer = yardarm_here("record", *arms.words, *own, "--resume=true")
    assert answer.returncode == 2
    assert answer.stderr.endswith(f"; there is me/{stamped.name}\n")
    assert yardarm_here("record", *arms.words, *own, "--dataset.no_stamp=true").returncode == 0
    assert (tmp_path / "home" / "me" / "cube").is_dir()


def test_by_the_twins_own_clock_a_recording_is_the_same_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "wave.csv").write_text("time,shoulder_pan,gripper\n0,0,50\n1,30,100\n2,0,50\n")
    twins = ["--robot=so101_follower", "--robot.port=twin", "--teleop=so101_leader", "--teleop.port=twin"]
    twins += ["--twin.realtime=false", f"--twin.motion={tmp_path / 'wave.csv'}"]
    own = ["--dataset.single_task=wave", "--dataset.num_episodes=2", "--dataset.fps=10"]
    own += ["--dataset.episode_time_s=1", "--dataset.reset_time_s=0.5"]
    for name in "ab":
        answer = yardarm_here("record", *twins, *own, f"--dataset.root={tmp_path / name}")
        assert answer.returncode == 0, answer.stderr
        assert "0 late, 0 missed" in answer.stdout
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")
    dataset = LeRobotDataset(root=tmp_path / "a")
    assert [episode.length for episode in dataset.meta.episodes] == [10, 10]
    assert dataset[9]["observation.state"][0] > 10


def test_the_page_has_the_keys_as_buttons(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    process = start_yardarm(*words_for(arms, root), "--view", "--view_open=false", stdin=-1)
    assert process.stdout is not None
    while not (found := re.match(r"Viewing it at (\S+)", process.stdout.readline())):
        assert process.poll() is None
    address = found[1].rstrip("/")
    wait_until(lambda: "RECORDING episode 0" in ask(address, "/api/control")[1]["note"])
    buttons = ask(address, "/api/control")[1]["buttons"]
    assert [button["key"] for button in buttons] == ["ArrowRight", "ArrowLeft", "Escape"]
    assert send(address, "/api/control/press", button="end")[0] == 200
    wait_until(lambda: "RESET" in ask(address, "/api/control")[1]["note"])
    assert send(address, "/api/control/press", button="stop")[0] == 200
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "episode 0 is saved" in out
    assert read_metadata(root).total_episodes == 1


def test_an_arm_that_does_not_answer_leaves_no_dataset_behind(arms: TwinArms, tmp_path: Path) -> None:
    arms.follower.chain.servos.clear()
    answer = yardarm_here(*words_for(arms, tmp_path / "cube"))
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "cube").exists()


def test_a_pipe_can_say_what_keys_would(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    process = start_yardarm(*words_for(arms, root, num_episodes=1), stdin=-1)
    assert process.stdout is not None
    assert process.stdin is not None
    while "recording episode 0" not in process.stdout.readline():
        pass
    wait_until(lambda: arms.torques() == {1})
    process.stdin.write("right\n")
    process.stdin.flush()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "episode 0 is saved" in out


def with_cameras(tmp_path: Path) -> str:
    """A camera of 20 pictures a second and one of 5, of other sizes, from files."""
    fast = write_video(tmp_path / "fast.mp4", [20 + 2 * level for level in range(100)], fps=20, width=48, height=32)
    slow = write_video(tmp_path / "slow.mp4", [20 + 20 * level for level in range(10)], fps=5, width=32, height=24)
    front = f"{{type: file, path: {fast}, width: 48, height: 32, fps: 20}}"
    wrist = f"{{type: file, path: {slow}, width: 24, height: 32, fps: 5, rotation: 90}}"
    return f"--robot.cameras={{front: {front}, wrist: {wrist}}}"


def test_cameras_of_different_rates_have_a_frame_for_each_row(arms: TwinArms, tmp_path: Path) -> None:
    root = tmp_path / "cube"
    words = words_for(arms, root, num_episodes=2, episode_time_s=1, reset_time_s=0, vcodec="h264")
    answer = yardarm_here(*words, with_cameras(tmp_path))
    assert answer.returncode == 0, answer.stderr
    dataset = LeRobotDataset(root=root, return_uint8=True)
    rows = len(dataset)
    assert frames_in_videos(root, "front") == frames_in_videos(root, "wrist") == rows
    assert dataset[0]["observation.images.wrist"].shape == (3, 32, 24)
    for episode in dataset.meta.episodes:
        measured = read_measured(root, episode.index)
        assert measured is not None
        assert len(set(measured.numbers["wrist"].tolist())) <= 7
        assert (measured.captured_s["front"] <= measured.joints_s + 0.1).all()
        changed = measured.numbers["wrist"][1:] != measured.numbers["wrist"][:-1]
        assert ((measured.captured_s["wrist"][1:] != measured.captured_s["wrist"][:-1]) == changed).all()


def test_with_cameras_and_the_twins_clock_a_recording_is_the_same_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    twins = ["--robot=so101_follower", "--robot.port=twin", "--teleop=so101_leader", "--teleop.port=twin"]
    own = ["--dataset.single_task=wave", "--dataset.num_episodes=1", "--dataset.fps=20", "--dataset.episode_time_s=1"]
    for name in "ab":
        words = [*twins, "--twin.realtime=false", *own, with_cameras(tmp_path)]
        answer = yardarm_here("record", *words, f"--dataset.root={tmp_path / name}")
        assert answer.returncode == 0, answer.stderr
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")
    measured = read_measured(tmp_path / "a", 0)
    assert measured is not None
    assert measured.numbers["front"].tolist() == list(range(20))


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ("{type: file, path: FILM, width: 48, height: 32}", "fps"),
        ("{type: file, path: FILM, width: 64, height: 48, fps: 20}", "64"),
    ],
)
def test_a_camera_that_cannot_be_as_wanted_is_named_and_nothing_is_recorded(
    camera: str, message: str, arms: TwinArms, tmp_path: Path
) -> None:
    film = write_video(tmp_path / "film.mp4", [100] * 10, fps=20, width=48, height=32)
    words = words_for(arms, tmp_path / "cube", num_episodes=1, episode_time_s=0.2)
    answer = yardarm_here(*words, f"--robot.cameras={{front: {camera.replace('FILM', str(film))}}}")
    assert answer.returncode == 2
    assert "front" in answer.stderr
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert arms.torques() <= {0}
