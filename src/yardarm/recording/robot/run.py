"""A recording on a robot, from its plan to the dataset."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from yardarm.errors import StorageFault
from yardarm.recording.robot.encoder_process import EncoderProcess
from yardarm.recording.robot.listener import RobotRecordingListener
from yardarm.recording.robot.plan import RobotRecordingPlan

__all__ = ["open_encoder"]


@contextlib.contextmanager
def open_encoder(plan: RobotRecordingPlan, listener: RobotRecordingListener) -> Iterator[EncoderProcess]:
    """The encoder of a recording; after the block, when the robot is released, what has ended is saved."""
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
