"""``yardarm replay --robot.…``: an episode is played on an arm, slowly to its start, and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.fake_clock import FakeClock
from tests.control.recorded import JOINTS, write_dataset
from tests.control.twin_arms import TwinArms, twin_arms
from tests.helpers import start_yardarm, wait_until, yardarm_here
from tests.robots.answers import on_a_terminal
from yardarm.control import Loop, RecordedEpisode, Straying, approach, playback
from yardarm.errors import RobotFault
from yardarm.robots import Guarded, GuardOptions, make_robot
from yardarm.robots.motors import calibration_to_json
from yardarm.robots.twins import Twin

# So slow that a busy machine, which misses a second of it, is not far off.
WAVE = [[frame / 4, -20.0, 20.0, 10.0, 0.0, 50.0] for frame in range(20)]


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[TwinArms]:
    with twin_arms(tmp_path) as own:
        yield own


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_dataset(tmp_path_factory.mktemp("data") / "wave", [WAVE[:2], WAVE])


def test_an_episode_is_played_on_a_twin_that_moves(dataset: Path, tmp_path: Path) -> None:
    with Twin("so101_follower", calibrated=True) as twin:
        assert twin.calibration
        (tmp_path / "a.json").write_text(calibration_to_json(twin.calibration))
        own = [
            "--robot=so101_follower",
            f"--robot.port={twin.port}",
            "--robot.id=a",
            f"--robot.calibration_dir={tmp_path}",
        ]
        words = [*own, f"--dataset.root={dataset}", "--dataset.episode=1", f"--timing={tmp_path / 'timing.json'}"]
        answer = yardarm_here("lerobot-replay", *words, "--guard.start_speed=200")
        assert answer.returncode == 0, answer.stderr
        assert not any(joint.has_torque for joint in twin.joint_states())
    rows = re.findall(r"^  (\S+\.pos) +([\d.]+) +([\d.]+)  at ([\d.]+) s$", answer.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == JOINTS, answer.stdout
    # It lags behind a moving goal, and sags: by little. Without the way to the start it would be off by 90.
    assert all(float(worst) < 15 for _, _, worst, _ in rows), answer.stdout
    assert "strayed from the recording (observation.state)" in answer.stdout
    timing = json.loads((tmp_path / "timing.json").read_text())
    assert timing["done"] + timing["missed"] == len(WAVE)


def test_on_a_terminal_ctrl_c_ends_it_and_releases_the_arm(arms: TwinArms, tmp_path: Path) -> None:
    long = write_dataset(tmp_path / "long", [[WAVE[0]] * 4000])
    with on_a_terminal("replay", *arms.robot, f"--dataset.root={long}", "--episode=0") as terminal:
        terminal.wait_for("going slowly to where the episode begins")
        terminal.wait_for(r"episode 0, 200\.0 s")
        assert arms.torques() == {1}
        terminal.type("\x03")
        assert terminal.exit_code() == 0
        assert "strayed from the recording" in terminal.output
        assert re.search(r"Hz.*turns, .* missed; period error", terminal.output)
    assert arms.torques() == {0}


def test_sigterm_releases_the_arm(arms: TwinArms, tmp_path: Path) -> None:
    long = write_dataset(tmp_path / "long", [[WAVE[0]] * 4000])
    process = start_yardarm("replay", *arms.robot, f"--dataset.root={long}", "--episode=0")
    wait_until(lambda: arms.torques() == {1})
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert arms.torques() == {0}


class Sinking:
    """A clock that lets a twin's time pass while somebody waits."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin

    def now(self) -> float:
        return self._twin.seconds

    def wait_until(self, seconds: float) -> None:
        if seconds > self._twin.seconds:
            self._twin.advance(seconds - self._twin.seconds)


def test_the_way_to_the_start_is_slow_and_the_episode_begins_there(tmp_path: Path) -> None:
    with Twin("so101_follower", calibrated=True, real_time=False) as twin:
        assert twin.calibration
        (tmp_path / "a.json").write_text(calibration_to_json(twin.calibration))
        robot = make_robot("so101_follower", port=twin.port, id="a", calibration_dir=tmp_path, watchdog=False)
        robot.bus.line.patience_s = 2.0  # type: ignore[attr-defined]
        robot.clock = clock = Sinking(twin)
        goal = dict(zip(JOINTS, WAVE[0], strict=True))
        with Guarded(robot, GuardOptions(start_speed=30)) as guarded:
            start = guarded.get_observation()
            loop = Loop(20, clock)
            ticks = list(approach(guarded, goal, loop))
            farthest = max(abs(goal[name] - start[name]) for name in JOINTS)
            assert ticks[-1].began_s == pytest.approx(farthest / 30, abs=1.5)
            after = guarded.get_observation()
            assert all(abs(after[name] - goal[name]) < 5 for name in JOINTS)
            actions = [dict(zip(JOINTS, action, strict=True)) for action in WAVE]
            episode = RecordedEpisode(0, 20, actions, None)
            straying = Straying(episode)
            for tick in playback(guarded, episode, loop):
                assert tick.asked == actions[tick.index]
                straying.add(tick)
    assert straying.joints["shoulder_pan.pos"].count == len(WAVE)
    assert straying.joints["shoulder_pan.pos"].worst < 8
    assert "(action)" in straying.lines()[0]


def test_an_arm_that_gets_nowhere_ends_it(arms: TwinArms) -> None:
    options = {"id": "a", "calibration_dir": arms.folder, "watchdog": False}
    robot = make_robot("so101_follower", port=arms.follower.path, **options)
    robot.clock = clock = FakeClock()
    goal = dict.fromkeys(JOINTS, 30.0)
    with Guarded(robot, GuardOptions(start_speed=1e-3)) as guarded:
        turns = approach(guarded, goal, Loop(2, clock))
        with pytest.raises(RobotFault, match="did not get to where the episode begins within 60 s; is it blocked"):
            list(turns)


ARM = ["--robot=so101_follower", "--robot.port=x"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset.repo_id=me/cubes"], "which arm? Give --robot.type=so101_follower"),
        (ARM, "which dataset? Give --dataset.repo_id=owner/name"),
        ([*ARM, "--dataset.root=DATA"], "which episode? Give --episode=0"),
        ([*ARM, "--dataset.root=DATA", "--episode=2"], "there is no episode 2; the dataset has episodes 0 to 1"),
        ([*ARM, "--dataset.root=DATA", "--episode=-1"], "--episode must not be negative"),
        ([*ARM, "--dataset.root=/no/such", "--episode=0"], "/no/such"),
        ([*ARM, "--dataset.root=DATA", "--episode=0", "--dataset.fps=30"], "played at its dataset's own rate"),
        ([*ARM, "--dataset.root=DATA", "--episode=0", "--dataset.episode=1"], "two names of one option"),
        ([*ARM, "--dataset.root=DATA", "--episode=0", "--size=3"], "unknown option '--size'"),
        ([*ARM, "outputs/run"], "yardarm replay takes flags only, not 'outputs/run'"),
        (
            ["--robot=bi_so_follower", "--robot.id=z", "--dataset.root=DATA", "--episode=0"]
            + [f"--robot.{side}_arm_config.port={side}" for side in ("left", "right")],
            "the episode's actions are shoulder_pan.pos, ",
        ),
    ],
)
def test_a_mistake_gets_one_line_before_anything_moves(words: list[str], message: str, dataset: Path) -> None:
    answer = yardarm_here("replay", *[word.replace("DATA", str(dataset)) for word in words])
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_help_tells_both_kinds_apart() -> None:
    assert "usage: yardarm replay RUN" in yardarm_here("replay", "--help").stdout
    on_arm = yardarm_here("replay", "--robot=so101_follower", "--help").stdout
    assert "RUN" not in on_arm
    assert "--dataset.repo_id" in on_arm
    assert "--robot.max_relative_target" in on_arm
