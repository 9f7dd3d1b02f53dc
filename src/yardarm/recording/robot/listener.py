"""What somebody who watches a recording hears of it."""

from __future__ import annotations

from yardarm.recording.robot.job import SavedEpisode

__all__ = ["RobotRecordingListener"]


class RobotRecordingListener:
    """Does nothing; override what you need."""

    def recording(self, number: int, done: int, frames: int, seconds: float, waiting: int) -> None:
        """Episode `number` is recorded; called in each turn. `done` episodes are before it in this recording."""

    def resetting(self, number: int, seconds: float, waiting: int) -> None:
        """There are so many seconds left until episode `number` begins; called in each turn."""

    def began(self, number: int) -> None:
        """An episode begins."""

    def began_reset(self, number: int) -> None:
        """There is time to put things back before an episode."""

    def saved(self, episode: SavedEpisode) -> None:
        """An episode is in the dataset."""

    def discarded(self, number: int, frames: int) -> None:
        """An episode is not kept, as the user wished."""

    def removed(self, number: int) -> None:
        """An episode that had been kept is not kept after all, as the user wished."""

    def cut_short(self, number: int, frames: int) -> None:
        """The recording was interrupted in an episode, which is kept as it is."""

    def lost(self, number: int, frames: int) -> None:
        """Something failed in an episode, which is not kept."""

    def finishing(self, count: int) -> None:
        """So many episodes have ended before, and could not be saved then; they are saved first."""

    def saving(self, waiting: int) -> None:
        """The robot is released, and so many frames still wait to be encoded."""
