"""``yardarm record --robot.… --teleop.…``: a person moves an arm, and that becomes a dataset."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from yardarm.cli.control_session import (
    ArmSession,
    WatchOptions,
    on_stage,
    protection_rows,
    say_timing,
    take_protection,
    viewed,
    watched,
)
from yardarm.cli.devices import device_rows, take_arms
from yardarm.cli.flags import Flags, describe, listed, read_flags
from yardarm.cli.hand_flags import ee_rows, take_process
from yardarm.config import decode, option, read_config_file
from yardarm.control import Button, Tick, teleoperation
from yardarm.datasets import read_metadata
from yardarm.displays import RobotRecordingDisplay
from yardarm.errors import StorageFault
from yardarm.files import is_locked
from yardarm.recording import push
from yardarm.recording.robot import (
    KEYS,
    Phases,
    RobotDatasetOptions,
    Wish,
    Wishes,
    open_encoder,
    plan_robot_recording,
    waiting_in,
)
from yardarm.robots import Keys
from yardarm.robots.twins import Stage

__all__ = ["SPELLINGS", "RobotRecordOptions", "is_for_robots", "run"]

COMMAND = "record"
SPELLINGS = "record on a robot"
DATASET = "dataset"
SECTIONS = ("robot", "teleop")
# How far twins that live by their own clock may be ahead of the encoder, in frames.
MOST_AHEAD = 256
# How long an episode waits for cameras that have not seen its scene yet.
SCENE_PATIENCE_S = 2.0
BUTTONS = (
    ("→ End", "ArrowRight", Wish.END),
    ("← Record again", "ArrowLeft", Wish.AGAIN),
    ("Esc Stop", "Escape", Wish.STOP),
)


@dataclass
class RobotRecordOptions(WatchOptions):
    """Flags of a recording on a robot without a section."""

    resume: bool = option(False, "append to the dataset of exactly this name or folder")


def is_for_robots(words: Sequence[str]) -> bool:
    """Whether a command's words, or the file that they name, are about a robot or a teleoperator."""
    _, flags = read_flags(words)
    names = {name.partition(".")[0] for name in flags}
    path = flags.get("config_path", "")
    if path and Path(path).is_file():
        names |= read_config_file(Path(path)).keys()
    return bool(names & {*SECTIONS})


def run(words: Sequence[str]) -> int:
    """Record; exit code 0 if the user or the number of episodes ended it."""
    return on_stage(words, SPELLINGS, _help, lambda data, stage: _record(_Session(stage, data)))


def _record(session: _Session) -> int:
    try:
        session.record()
    except StorageFault as fault:
        raise StorageFault(f"{fault}; {_kept(session.root)}") from fault
    finally:
        say_timing(session.loop, session.options)
        _say_result(session.root)
    if session.plan.target.push and _count(session.root):
        print(f"uploaded: {push(session.plan.target)}")
    return 0


class _Session:
    """A recording with all that it needs, checked; nothing is connected yet."""

    def __init__(self, stage: Stage, data: dict[str, Any]) -> None:
        robot, self.teleoperator = take_arms(data, COMMAND, "; a policy on a robot cannot be recorded yet")
        protection = take_protection(data, COMMAND)
        self.dataset: RobotDatasetOptions = decode(RobotDatasetOptions, DATASET, data.pop(DATASET, {}), COMMAND)
        self.process = take_process(data, self.teleoperator, robot, COMMAND)
        self.options: RobotRecordOptions = decode(RobotRecordOptions, "", data, COMMAND)
        self.arm = ArmSession(stage, robot, protection)
        self.loop = self.arm.loop(self.dataset.fps)
        self.teleoperation = partial(
            teleoperation, self.arm.robot, self.teleoperator, self.loop, process=self.process, hold=self.arm.hold
        )
        self.plan = plan_robot_recording(robot, self.dataset, self.options.resume)
        self.root = self.plan.target.root

    def record(self) -> None:
        """Connect, record all episodes, release the arm, and wait until all is saved."""
        display = RobotRecordingDisplay(self.dataset.num_episodes, self.dataset.fps, self.teleoperator.legend)
        if is_locked(self.root):
            print(f"another process still saves to {self.root}; waiting for it", flush=True)
        with open_encoder(self.plan, display) as encoder:
            more = f", which has {_episodes(encoder.episodes)}" if encoder.episodes else ""
            print(f"recording to {self.root}{more}", flush=True)
            keys = Keys(own=KEYS)
            wishes = Wishes(keys, getattr(self.teleoperator, "get_teleop_events", None))
            buttons = [Button(wish.value, label, key, wishes.button(wish)) for label, key, wish in BUTTONS]
            state = self.arm.state(self.loop, str(self.teleoperator), "Recording", buttons)

            def ticks(seconds: float, stop: Callable[[], bool]) -> Iterator[Tick]:
                if self.process is not None:
                    self.process.reset()  # a new scene may have moved the arm: the hand starts from where it is
                for tick in self.teleoperation(seconds=seconds, stop=stop):
                    state.update(tick)
                    yield tick
                    if not self.arm.stage.is_real_time:  # physics can wait, so the disk need not be filled
                        encoder.wait_below(MOST_AHEAD)

            phases = Phases(self.dataset, ticks, self.loop.clock, encoder, wishes, display, self._new_scene)
            with (
                viewed(state, self.options),
                self.teleoperator,  # before the robot, which then waits for nobody
                self.arm.robot,
                keys,
                watched(state, self.options) as say,
                display.shown(state, say),
            ):
                phases.run()

    def _new_scene(self) -> None:
        """Set up a twin's scene; pictures of the old one must not begin an episode of the new one."""
        stage, clock = self.arm.stage, self.loop.clock
        if not stage.scene:
            return
        stage.reset()
        since = clock.now()
        while stage.is_real_time and clock.now() < since + SCENE_PATIENCE_S and not self._sees_since(since):
            clock.wait_until(clock.now() + 1 / self.dataset.fps)

    def _sees_since(self, seconds: float) -> bool:
        return all(frame.captured_s > seconds for frame in self.arm.robot.observe().frames.values())


def _say_result(root: Path) -> None:
    """Say what there is now, and what to do with it."""
    if is_locked(root):  # the user did not wait for the encoder
        print(f"{root} is still being saved, in the background", flush=True)
        return
    if not _count(root):
        print("nothing is recorded", flush=True)
        return
    meta = read_metadata(root)
    print(f"Dataset: {root} ({_episodes(meta.total_episodes)}, {meta.total_frames} frames)")
    print(f"  yardarm dataset view {shlex.quote(str(root))}", flush=True)


def _count(root: Path) -> int:
    return read_metadata(root).total_episodes if (root / "meta" / "info.json").exists() else 0


def _kept(root: Path) -> str:
    """What there is after a fault."""
    kept = f"{_episodes(_count(root))} kept in {root}"
    if count := waiting_in(root):
        kept += f"; {count} more {'is' if count == 1 else 'are'} saved first when you record with --resume=true"
    return kept


def _episodes(count: int) -> str:
    return f"{count} episode{'' if count == 1 else 's'}"


def _help(flags: Flags) -> str:
    return (
        "Record a person who moves an arm as a dataset in LeRobot's format. Each episode is saved while you put things "
        "back.\n"
        "Keys: → or n ends the episode (or the reset), ← or r discards it and records it again, Esc or q stops.\n\n"
        f"usage: yardarm {COMMAND} --robot.type=… --robot.port=… --teleop.type=… --teleop.port=… "
        "--dataset.repo_id=owner/name \\\n"
        '    --dataset.single_task="…" [--flag=value …]\n\n'
        + listed(
            [
                *describe(RobotDatasetOptions, f"{DATASET}."),
                *describe(RobotRecordOptions),
                *device_rows(flags),
                *ee_rows(),
                *protection_rows(),
            ]
        )
        + "\n\nexample:\n"
        f"  yardarm {COMMAND} --robot.type=so101_follower --robot.port=/dev/ttyACM0 --robot.id=blue \\\n"
        "      --teleop.type=so101_leader --teleop.port=/dev/ttyACM1 --teleop.id=blue \\\n"
        '      --dataset.repo_id=me/cube --dataset.single_task="put the cube into the box"\n\n'
        "exit code: 0 it ended as planned or by a key, 1 something failed, 2 invalid command, 130 Ctrl-C, 143 SIGTERM"
    )
