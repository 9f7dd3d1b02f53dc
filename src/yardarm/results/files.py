"""Where things are in a run's folder."""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from yardarm.contents import read_json
from yardarm.errors import UsageError
from yardarm.files import write_atomically
from yardarm.results.manifest.formats import check_format
from yardarm.results.manifest.run import RunManifest
from yardarm.results.record import EpisodeKey

__all__ = ["PlayedEpisode", "ReplayTrace", "RunFolder"]

LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """What was played, for replay: the actions, the rewards they brought, and the state they started from."""

    actions: np.ndarray
    rewards: np.ndarray
    initial_state: np.ndarray
    travel: float = math.nan
    """How far the robot's own state was from where it began, at the end."""

    def content(self) -> memoryview:
        """What `RunFolder.load_played` reads, made in memory: a file would be written in many small pieces."""
        buffer = io.BytesIO()
        np.savez(
            buffer,
            actions=self.actions,
            rewards=self.rewards,
            initial_state=self.initial_state,
            travel=np.float64(self.travel),
        )
        return buffer.getbuffer()


@dataclass(frozen=True, slots=True)
class ReplayTrace:
    """What a replay saw of the robot's own state, every so many steps, and where it left the recorded course."""

    states: np.ndarray
    every: int
    diverged_at: int | None = None


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved configuration; ``--config_path`` takes it."""
        return self.path / "config.yaml"

    @property
    def manifest(self) -> Path:
        """What the run is, and what it was made with."""
        return self.path / "manifest.json"

    @property
    def journal(self) -> Path:
        """One line per finished episode."""
        return self.path / "episodes.jsonl"

    @property
    def eval_info(self) -> Path:
        """The summary, in LeRobot's schema."""
        return self.path / "eval_info.json"

    @property
    def report(self) -> Path:
        """The page that shows it all."""
        return self.path / "report.html"

    @property
    def opponent(self) -> RunFolder:
        """The run of a second policy that plays the same episodes, if there is one."""
        return RunFolder(self.path / "against")

    @property
    def worker_log(self) -> Path:
        """What simulators print."""
        return self.path / "workers.log"

    @property
    def policy_error(self) -> Path:
        """Where in its code the policy failed, if it did."""
        return self.path / "policy_error.txt"

    def actions(self, key: EpisodeKey) -> Path:
        """What was played in an episode."""
        return self.path / "actions" / _place(key) / f"{key.index:05d}.npz"

    def video(self, key: EpisodeKey, camera: str) -> Path:
        """An episode's video."""
        return self.path / "videos" / _place(key) / f"episode_{key.index:05d}_{_safe(camera)}.mp4"

    def trace(self, key: EpisodeKey) -> Path:
        """What a replay saw, beside its videos."""
        return self.path / "videos" / _place(key) / f"episode_{key.index:05d}_states.npz"

    def videos(self) -> Callable[[EpisodeKey], list[str]]:
        """Look up the videos that there are, from any camera, by episode."""
        found = self.pictures()
        return lambda key: [str(path) for path in found(key) if path.suffix == ".mp4"]

    def pictures(self) -> Callable[[EpisodeKey], list[Path]]:
        """Look up all that replays have left, videos and what they saw, by episode."""
        found: dict[tuple[Path, int], list[Path]] = {}
        for path in sorted((self.path / "videos").rglob("episode_*")):
            if match := re.fullmatch(r"episode_(\d{5,})_.*\.(mp4|npz)", path.name):
                place = path.parent.relative_to(self.path / "videos")
                found.setdefault((place, int(match[1])), []).append(path)
        return lambda key: found.get((_place(key), key.index), []) if found else []

    def save_played(self, key: EpisodeKey, played: PlayedEpisode) -> None:
        """Store what was played."""
        write_atomically(self.actions(key), lambda file: file.write(played.content()))

    def load_played(self, key: EpisodeKey) -> PlayedEpisode:
        """Read what was played."""
        with self._arrays(key) as arrays:
            travel = float(arrays["travel"]) if "travel" in arrays else math.nan
            return PlayedEpisode(arrays["actions"], arrays["rewards"], arrays["initial_state"], travel)

    def save_trace(self, key: EpisodeKey, trace: ReplayTrace) -> None:
        """Store what a replay saw."""
        diverged = -1 if trace.diverged_at is None else trace.diverged_at
        write_atomically(
            self.trace(key),
            lambda file: np.savez(file, states=trace.states, every=trace.every, diverged_at=diverged),
        )

    def load_trace(self, key: EpisodeKey) -> ReplayTrace | None:
        """Read what a replay saw; None if there was none, or nothing can be read of it."""
        try:
            with np.load(self.trace(key)) as arrays:
                diverged = int(arrays["diverged_at"])
                return ReplayTrace(arrays["states"], int(arrays["every"]), diverged if diverged >= 0 else None)
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            return None  # it can be made again

    def initial_state(self, key: EpisodeKey) -> np.ndarray:
        """Read where an episode began, and nothing else."""
        with self._arrays(key) as arrays:
            return np.asarray(arrays["initial_state"])

    @contextlib.contextmanager
    def _arrays(self, key: EpisodeKey) -> Iterator[Mapping[str, np.ndarray]]:
        path = self.actions(key)
        try:
            with np.load(path) as arrays:
                yield arrays
        except FileNotFoundError:
            raise UsageError(f"{path} is missing, so the episode cannot be replayed") from None
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path} is damaged ({error}), so the episode cannot be replayed") from error

    def read_manifest(self) -> RunManifest:
        """Read the manifest, or say that this is not a run."""
        try:
            content = read_json(self.manifest)
            check_format(content, self.manifest)
            return RunManifest.from_json(content)
        except (FileNotFoundError, NotADirectoryError):
            if not self.path.exists():
                raise UsageError(f"there is no run {self.path}") from None
            raise UsageError(f"{self.path} is not a run of Yardarm: it has no manifest.json") from None
        except (ValueError, OSError) as error:
            raise UsageError(f"{self.manifest} is damaged: {error}") from error


def _place(key: EpisodeKey) -> Path:
    """The folder of a task's episodes, inside that of its benchmark."""
    return Path(_safe(key.benchmark), *(_safe(part) for part in key.task.split("/") if part))


def _safe(name: str) -> str:
    """A name that leads nowhere else: an environment from elsewhere may call its tasks what it likes."""
    safe = re.sub(r"[^\w.+-]|^\.+", "_", name)[:LONGEST_NAME]
    # What had to be changed is told apart from what it looks like now.
    return safe if safe == name else f"{safe}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
