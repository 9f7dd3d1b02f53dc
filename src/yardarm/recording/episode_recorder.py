"""Watches an episode that is played again, and writes each of its steps into a draft of the dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from yardarm.datasets import EpisodeDraft
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Film
from yardarm.policies import Look, PlayableChunk
from yardarm.recording.labels import PLAYED_ACTION, ExpertLabels
from yardarm.recording.source_episodes import SourceEpisode
from yardarm.results import PlayedEpisode

__all__ = ["EpisodeRecorder"]

# Bytes of looks that go through shared memory at once: a whole episode of states, or some pictures, but so few that
# progress can be shown.
ROOM = 4 << 20
MOST_PICTURES = 16


class EpisodeRecorder:
    """Frame t is what was seen before action t, the action, and what came of it."""

    film: Film | None = None

    def __init__(
        self,
        source: SourceEpisode,
        inputs: Sequence[str],
        draft: EpisodeDraft,
        on_frame: Callable[[], None],
        labels: ExpertLabels | None = None,
    ) -> None:
        self.draft = draft
        self._source = source
        self._inputs = tuple(inputs)
        self._on_frame = on_frame
        self._labels = labels
        task = source.episode.task
        looked_at = dict.fromkeys((*inputs, *(labels.inputs if labels else ())))
        features = {name: task.env.features[name] for name in looked_at}
        most = MOST_PICTURES if any(feature.is_image for feature in features.values()) else task.max_steps
        fitting = ROOM // MemoryLayout(features).look_size()
        self.layout = MemoryLayout(features, looks=max(1, min(fitting, most)))

    def chunks(self, played: PlayedEpisode) -> Iterator[PlayableChunk]:
        """As many actions at once as there is room for looks; the last is played alone, without a look after it."""
        self._played = played
        return self._dealt(played.actions)

    def _dealt(self, actions: np.ndarray) -> Iterator[PlayableChunk]:
        inputs, size = tuple(self.layout.inputs), self.layout.looks
        watched = actions[:-1]
        for start in range(0, len(watched), size):
            chunk = watched[start : start + size]
            yield PlayableChunk(chunk, dict.fromkeys(range(1, len(chunk) + 1), inputs))
        yield PlayableChunk(actions[-1:], {})

    def see(self, looks: Sequence[Look]) -> None:
        """Write frames."""
        last = len(self._played.actions) - 1
        for look in looks:
            self.draft.add_frame(
                {
                    **{name: look.values[name] for name in self._inputs},
                    **self._actions(look),
                    "next.reward": self._played.rewards[look.step],
                    "next.success": np.bool_(look.step == last and self._source.record.success),
                    "next.done": np.bool_(look.step == last),
                    "task": self._source.instruction,
                }
            )
            self._on_frame()

    def _actions(self, look: Look) -> dict[str, np.ndarray]:
        played = self._played.actions[look.step]
        if self._labels is None:
            return {"action": played}
        return {"action": self._labels.action(look), PLAYED_ACTION: played}

    def take_frame(self, frame: np.ndarray) -> None:
        """No film is made."""

    def discard(self) -> None:
        """Throw away what was written."""
        self.draft.close()
