"""Recording on a robot: ticks become episodes, while a person teleoperates."""

from yardarm.recording.robot.dataset_info import robot_dataset_info
from yardarm.recording.robot.encoder_process import EncoderProcess
from yardarm.recording.robot.job import EncoderJob, SavedEpisode
from yardarm.recording.robot.tick_layout import TickLayout

__all__ = ["EncoderJob", "EncoderProcess", "SavedEpisode", "TickLayout", "robot_dataset_info"]
