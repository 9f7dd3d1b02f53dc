"""The loop that controls a robot or its twin: deadlines, what is seen and sent in each turn, and when."""

from yardarm.control.dead_man import DeadMan
from yardarm.control.histogram import Histogram
from yardarm.control.holding import HoldOptions
from yardarm.control.live_state import Button, JointNow, LiveState
from yardarm.control.loop import Beat, Loop
from yardarm.control.playback import Straying, approach, playback
from yardarm.control.process import Process
from yardarm.control.recorded_episode import RecordedEpisode, read_episode
from yardarm.control.teleoperation import teleoperation
from yardarm.control.tick import Tick
from yardarm.control.timing import Timing
from yardarm.control.undisturbed import undisturbed

__all__ = [
    "Beat",
    "Button",
    "DeadMan",
    "Histogram",
    "HoldOptions",
    "JointNow",
    "LiveState",
    "Loop",
    "Process",
    "RecordedEpisode",
    "Straying",
    "Tick",
    "Timing",
    "approach",
    "playback",
    "read_episode",
    "teleoperation",
    "undisturbed",
]
