"""A recording on a robot, from its plan to the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from yardarm.datasets import read_metadata
from yardarm.errors import StorageFault, YardarmError
from yardarm.files import is_locked
from yardarm.recording.robot.encoder_process import EncoderProcess
from yardarm.recording.robot.job import EncoderJob
from yardarm.recording.robot.listener import RobotRecordingListener
from yardarm.recording.robot.plan import RobotRecordingPlan
from yardarm.recording.robot.spool import waiting_in

__all__ = ["open_encoder"]


@contextlib.contextmanager
def open_encoder(plan: RobotRecordingPlan, listener: RobotRecordingListener) -> Iterator[EncoderProcess]:
    """The encoder of a recording; after the block, when the robot is released, what has ended is saved.

    A new dataset that got no episode, because an arm could not be connected, is not left behind.
    """
    try:
        with _saving_at_the_end(plan.job, listener) as encoder:
            yield encoder
    except StorageFault:
        _try_again(plan.job, listener)
        raise
    finally:
        if not plan.before:
            _remove_if_empty(plan.target.root)


@contextlib.contextmanager
def _saving_at_the_end(job: EncoderJob, listener: RobotRecordingListener) -> Iterator[EncoderProcess]:
    if not is_locked(job.root) and (count := waiting_in(job.root)):
        listener.finishing(count)
    with EncoderProcess(job) as encoder:

        def tell_saved() -> None:
            for episode in encoder.news():
                listener.saved(episode)

        def hear() -> None:
            tell_saved()
            listener.saving(encoder.waiting)

        tell_saved()
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


def _try_again(job: EncoderJob, listener: RobotRecordingListener) -> None:
    """Save what has ended with a new encoder: the episode that was cut off has made space, and the old one is gone.

    If that fails, too, the next recording with ``--resume`` does it.
    """
    if waiting_in(job.root):
        with contextlib.suppress(YardarmError), _saving_at_the_end(replace(job, resume=True), listener):
            pass


def _remove_if_empty(root: Path) -> None:
    """Remove a dataset without episodes, but nothing else that may be in its folder."""
    if not (root / "meta" / "info.json").exists() or is_locked(root):
        return
    if read_metadata(root).total_episodes or waiting_in(root):
        return
    for name in ("info.json", "stats.json"):
        (root / "meta" / name).unlink(missing_ok=True)
    folders = [path for path in root.rglob("*") if path.is_dir()]
    for folder in (*sorted(folders, reverse=True), root):
        with contextlib.suppress(OSError):  # it is not empty
            folder.rmdir()
