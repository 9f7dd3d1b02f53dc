"""``yardarm replay``: render the video of a finished episode from its seed and actions; or play one on an arm."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from yardarm.cli.episode_on_robot import is_for_a_robot, robot_rows, run_on_robot
from yardarm.cli.flags import listed, read_flags, refuse_unknown, switch, text
from yardarm.displays import divergence_warning
from yardarm.engine import VIDEO_FPS, VIDEO_HEIGHT, EngineOptions
from yardarm.envs import ProcessPool
from yardarm.errors import EnvironmentFault, UsageError
from yardarm.replay import Replay, ReplayResult, StoredRun, replay_all
from yardarm.results import RunFolder

__all__ = ["run"]

FLAGS = ("task", "episode", "camera", "size", "fps", "output", "trust_remote_code", "help")
HELP = f"""\
Render the video of a finished episode as MP4. The episode is replayed from its seed and actions, and checked against
the recorded fingerprints.

usage: yardarm replay RUN [--task=…] [--episode=…] [--camera=…] [--size=…] [--fps=…] [--output=…]
                      [--trust_remote_code=true]

  RUN        a run's folder
  --task     the task's name (BENCHMARK/TASK if two benchmarks have it); optional if the run has one task
  --episode  the episode's index [0]
  --camera   the camera [the policy's]
  --size     the video's size, HEIGHTxWIDTH [{VIDEO_HEIGHT} high, with the aspect ratio of the policy's image]
  --fps      frames per second; without a GPU a frame takes about 0.2 s to render [{VIDEO_FPS}]
  --output   the video's file [RUN/videos/BENCHMARK/TASK/episode_NNNNN_CAMERA.mp4]
  --trust_remote_code  run code that the run refers to: an environment's folder, a package, another Python [false]

example:
  yardarm replay outputs/eval/my_run --task=reach-v3 --episode=3 --size=480x640

exit code: 0 the replay matches the recording, 1 it diverges or failed, 2 invalid command

Or play an episode of a dataset on an arm:

usage: yardarm replay --robot.type=… --robot.port=… --dataset.repo_id=… --episode=… [--flag=value …]

"""


def run(words: Sequence[str]) -> int:
    """Replay one episode; exit code 1 if it diverges from the recording."""
    plain, flags = read_flags(words)
    if is_for_a_robot(flags):
        return run_on_robot(words)
    if "help" in flags or not words:
        print(HELP + listed(robot_rows({})))
        return 0
    if len(plain) != 1:
        raise UsageError(f"yardarm replay needs the folder of one run, got {len(plain)}; see `yardarm replay --help`")
    refuse_unknown(flags, FLAGS, "replay")
    replay = _prepare(StoredRun(RunFolder(Path(plain[0])), switch(flags, "trust_remote_code")), flags)
    result = _render(replay)
    if result.error:
        raise EnvironmentFault(f"the replay failed: {result.error}")
    print(f"Video: {replay.path}")
    if result.diverged_at is not None:
        print(divergence_warning(result), file=sys.stderr)
        return 1
    print(f"The replay matches all {len(replay.record.fingerprints)} recorded fingerprints.")
    return 0


def _prepare(stored: StoredRun, flags: dict[str, str]) -> Replay:
    record = stored.find(text(flags, "task"), _integer(flags, "episode", 0))
    output = text(flags, "output")
    path = Path(output) if output is not None else None
    if path is not None and path.suffix != ".mp4":
        raise UsageError(f"--output must end in .mp4, got '{path}'")
    fps = _integer(flags, "fps", VIDEO_FPS, least=1)
    return stored.replay(record, text(flags, "camera") or "", _size(text(flags, "size")), fps, path)


def _render(replay: Replay) -> ReplayResult:
    pool = ProcessPool(1, time_limit_s=EngineOptions().timeout_s)
    try:
        pool.choose_renderer([replay.episode.task])
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            bar = progress.add_task("rendering", total=replay.frames)
            (result,) = replay_all([replay], pool, lambda: progress.advance(bar))
        return result
    finally:
        pool.close()


def _integer(flags: dict[str, str], name: str, default: int, least: int = 0) -> int:
    text = flags.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise UsageError(f"--{name} must be a whole number, at least {least}, got '{text}'")
    return int(text)


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    parts = text.lower().split("x")
    sides = parts * 2 if len(parts) == 1 else parts
    if len(sides) != 2 or not all(side.isdecimal() and 16 <= int(side) <= 4096 for side in sides):
        raise UsageError(f"--size must be HEIGHTxWIDTH, each between 16 and 4096, like 480x640; got '{text}'")
    return int(sides[0]), int(sides[1])
