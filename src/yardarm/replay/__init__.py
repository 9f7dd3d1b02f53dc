"""Finished episodes, played again from their seeds and actions: to film them, to record them, to look at tasks."""

from yardarm.replay.last_pictures import BACKGROUND, LastPicture, draw_pictures, missing_pictures
from yardarm.replay.pictures import first_pictures
from yardarm.replay.playback import Playback, PlaybackResult, Watcher
from yardarm.replay.stop_sign import StopSign
from yardarm.replay.stored_run import StoredRun, draw_missing
from yardarm.replay.videos import Replay, ReplayResult, replay_all

__all__ = [
    "BACKGROUND",
    "LastPicture",
    "Playback",
    "PlaybackResult",
    "Replay",
    "ReplayResult",
    "StopSign",
    "StoredRun",
    "Watcher",
    "draw_missing",
    "draw_pictures",
    "first_pictures",
    "missing_pictures",
    "replay_all",
]
