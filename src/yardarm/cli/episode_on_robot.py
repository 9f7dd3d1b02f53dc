"""``yardarm replay --robot.type=…``: a dataset's episode, played on an arm."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
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
from yardarm.cli.devices import ROBOT, device_rows, take_robot
from yardarm.cli.flags import Flags, describe, listed
from yardarm.config import decode, option
from yardarm.control import RecordedEpisode, Straying, approach, playback, read_episode
from yardarm.errors import UsageError
from yardarm.robots import Guarded, Robot
from yardarm.robots.twins import Stage

__all__ = ["EpisodeOptions", "EpisodeSource", "is_for_a_robot", "robot_rows", "run_on_robot"]

COMMAND = "replay"
DATASET = "dataset"
SECTIONS = (ROBOT, DATASET, "guard", "hold", "twin")


@dataclass
class EpisodeSource:
    """Flags below ``--dataset.``."""

    repo_id: str = option("", "the dataset's name on the Hub (owner/name), or its folder")
    root: str | None = option(None, "its folder, if it is not where LeRobot keeps it")


@dataclass
class EpisodeOptions(WatchOptions):
    """Flags of the command itself."""

    episode: int | None = option(None, "which episode to play, from 0")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.episode is not None and self.episode < 0:
            raise UsageError(f"--episode must not be negative, got {self.episode}")


def is_for_a_robot(flags: Flags) -> bool:
    """Whether the flags are about an arm, and not about a run."""
    return any(name.partition(".")[0] in SECTIONS for name in flags)


def run_on_robot(words: Sequence[str]) -> int:
    """Play the episode, and say how far the arm strayed from it."""
    return on_stage(words, COMMAND, robot_help, _play)


def _play(data: dict[str, Any], stage: Stage) -> int:
    robot = take_robot(data, COMMAND)
    protection = take_protection(data, COMMAND)
    source: EpisodeSource = decode(EpisodeSource, DATASET, data.pop(DATASET, {}), COMMAND)
    options: EpisodeOptions = decode(EpisodeOptions, "", data, COMMAND)
    if robot is None:
        raise UsageError("which arm? Give --robot.type=so101_follower --robot.port=…; or a run's folder, to render it")
    episode = _episode(source, options, robot)
    arm = ArmSession(stage, robot, protection)
    loop, straying = arm.loop(episode.fps), Straying(episode)
    # The way to the first action is slow in any case.
    ramp = arm.robot if isinstance(arm.robot, Guarded) else Guarded(robot)
    state = arm.state(arm.loop(episode.fps), title=f"Replay of episode {episode.index}")
    try:
        with viewed(state, options), arm.robot, watched(state, options), contextlib.suppress(KeyboardInterrupt):
            state.note = "going slowly to where the episode begins"
            for tick in approach(ramp, episode.actions[0], state.loop, arm.hold):
                state.update(tick)
            state.loop, state.note = loop, f"episode {episode.index}, {len(episode.actions) / episode.fps:.1f} s"
            for tick in playback(arm.robot, episode, loop, arm.hold):
                straying.add(tick)
                state.update(tick)
    finally:
        for line in straying.lines():
            print(line)
        say_timing(loop, options)
    return 0


def _episode(source: EpisodeSource, options: EpisodeOptions, robot: Robot) -> RecordedEpisode:
    """The episode, whose actions must be the robot's."""
    if not source.repo_id and source.root is None:
        raise UsageError("which dataset? Give --dataset.repo_id=owner/name, or --dataset.root=FOLDER")
    if options.episode is None:
        raise UsageError("which episode? Give --episode=0, or another one")
    episode = read_episode(source.repo_id, source.root, options.episode)
    if not episode.actions:
        raise UsageError(f"episode {episode.index} has no frames; there is nothing to play")
    recorded, known = list(episode.actions[0]), list(robot.action_features)
    if set(recorded) != set(known):
        raise UsageError(
            f"the episode's actions are {', '.join(recorded)}, but {robot} has {', '.join(known)}; play it on the "
            "kind of robot that it was recorded with"
        )
    return episode


def robot_rows(flags: Flags) -> list[tuple[str, str, str]]:
    """The lines of ``--help``."""
    rows: list[tuple[str, str, str]] = [*describe(EpisodeSource, f"{DATASET}."), *describe(EpisodeOptions)]
    return [*rows, *device_rows(flags, (ROBOT,)), *protection_rows()]


def robot_help(flags: Flags) -> str:
    """What ``yardarm replay --robot.type=… --help`` says."""
    return (
        "Play an episode of a dataset on an arm: it goes slowly to the first action, then follows the actions at the\n"
        "dataset's rate. At the end it says how far each joint strayed from the recording.\n\n"
        "usage: yardarm replay --robot.type=… --robot.port=… --dataset.repo_id=… --episode=… [--flag=value …]\n\n"
        + listed(robot_rows(flags))
        + "\n\nexample:\n"
        "  yardarm replay --robot.type=so101_follower --robot.port=/dev/ttyACM0 --robot.id=blue \\\n"
        "      --dataset.repo_id=me/cubes --episode=3"
    )
