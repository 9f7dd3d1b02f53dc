"""Finished episodes, played again from their seeds and actions: to film them, to record them, to look at tasks."""

from yardarm.replay.pictures import first_pictures
from yardarm.replay.playback import Playback, PlaybackResult, Watcher
from yardarm.replay.stored_run import StoredRun
from yardarm.replay.videos import Replay, ReplayResult, replay_all

__all__ = [
    "Playback",
    "PlaybackResult",
    "Replay",
    "ReplayResult",
    "StoredRun",
    "Watcher",
    "first_pictures",
    "replay_all",
]
