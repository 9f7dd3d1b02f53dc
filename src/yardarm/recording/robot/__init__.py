"""Recording on a robot: ticks become episodes, while a person teleoperates."""

from yardarm.recording.robot.dataset_info import robot_dataset_info
from yardarm.recording.robot.encoder_process import EncoderProcess
from yardarm.recording.robot.job import EncoderJob, SavedEpisode
from yardarm.recording.robot.listener import RobotRecordingListener
from yardarm.recording.robot.options import RobotDatasetOptions
from yardarm.recording.robot.phases import Phases
from yardarm.recording.robot.plan import RobotRecordingPlan, plan_robot_recording
from yardarm.recording.robot.run import open_encoder
from yardarm.recording.robot.spool import waiting_in
from yardarm.recording.robot.tick_layout import TickLayout
from yardarm.recording.robot.wishes import KEYS, Wish, Wishes

__all__ = [
    "KEYS",
    "EncoderJob",
    "EncoderProcess",
    "Phases",
    "RobotDatasetOptions",
    "RobotRecordingListener",
    "RobotRecordingPlan",
    "SavedEpisode",
    "TickLayout",
    "Wish",
    "Wishes",
    "open_encoder",
    "plan_robot_recording",
    "robot_dataset_info",
    "waiting_in",
]
