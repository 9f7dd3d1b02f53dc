"""A recording on a robot, from its plan to the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from yardarm.datasets import read_metadata
from yardarm.errors import StorageFault
from yardarm.files import is_locked
from yardarm.recording.robot.encoder_process import EncoderProcess
from yardarm.recording.robot.listener import RobotRecordingListener
from yardarm.recording.robot.plan import RobotRecordingPlan

__all__ = ["open_encoder"]


@contextlib.contextmanager
def open_encoder(plan: RobotRecordingPlan, listener: RobotRecordingListener) -> Iterator[EncoderProcess]:
    """The encoder of a recording; after the block, when the robot is released, what has ended is saved.

    A new dataset that got no episode, because an arm could not be connected, is not left behind.
    """
    try:
        with _saving_at_the_end(plan, listener) as encoder:
            yield encoder
    finally:
        if not plan.before:
            _remove_if_empty(plan.target.root)


@contextlib.contextmanager
def _saving_at_the_end(plan: RobotRecordingPlan, listener: RobotRecordingListener) -> Iterator[EncoderProcess]:
    with EncoderProcess(plan.job) as encoder:

        def hear() -> None:
            for episode in encoder.news():
                listener.saved(episode)
            listener.saving(encoder.waiting)

        try:
            yield encoder
        except StorageFault:
            raise  # there is nothing to wait for
        except BaseException:
            encoder.finish(hear)
            hear()
            raise
        encoder.finish(hear)
        hear()


def _remove_if_empty(root: Path) -> None:
    """Remove a dataset without episodes, but nothing else that may be in its folder."""
    if not (root / "meta" / "info.json").exists() or is_locked(root) or read_metadata(root).total_episodes:
        return
    for name in ("info.json", "stats.json"):
        (root / "meta" / name).unlink(missing_ok=True)
    folders = [path for path in root.rglob("*") if path.is_dir()]
    for folder in (*sorted(folders, reverse=True), root):
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()
