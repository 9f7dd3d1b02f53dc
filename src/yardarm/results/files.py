"""The files in a run's folder."""

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
    """An episode's actions, rewards and initial state, for replay."""

    actions: np.ndarray
    rewards: np.ndarray
    initial_state: np.ndarray
    travel: float = math.nan
    """How far the robot's state ended from where it began."""

    def content(self) -> memoryview:
        """The file's content, made in memory: numpy would write a file in many small pieces."""
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
    """The robot's state during a replay, every n-th step, and where the replay diverged from the recording."""

    states: np.ndarray
    every: int
    diverged_at: int | None = None


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """The resolved configuration, which ``--config_path`` accepts."""
        return self.path / "config.yaml"

    @property
    def manifest(self) -> Path:
        """What the run is, and which software and hardware produced it."""
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
        """The report as a web page."""
        return self.path / "report.html"

    @property
    def opponent(self) -> RunFolder:
        """The run of a second policy on the same episodes, if there is one."""
        return RunFolder(self.path / "against")

    @property
    def worker_log(self) -> Path:
        """The output of simulators."""
        return self.path / "workers.log"

    @property
    def policy_error(self) -> Path:
        """The traceback of the policy's failure, if it failed."""
        return self.path / "policy_error.txt"

    def actions(self, key: EpisodeKey) -> Path:
        """An episode's actions."""
        return self.path / "actions" / _place(key) / f"{key.index:05d}.npz"

    def video(self, key: EpisodeKey, camera: str) -> Path:
        """An episode's video."""
        return self.path / "videos" / _place(key) / f"episode_{key.index:05d}_{_safe(camera)}.mp4"

    def picture(self, key: EpisodeKey) -> Path:
        """How an episode looked at its end."""
        return self.path / "pictures" / _place(key) / f"episode_{key.index:05d}.jpg"

    def trace(self, key: EpisodeKey) -> Path:
        """A replay's trace, next to its videos."""
        return self.path / "videos" / _place(key) / f"episode_{key.index:05d}_states.npz"

    def videos(self) -> Callable[[EpisodeKey], list[str]]:
        """A function that looks up an episode's existing videos, from any camera."""
        found = self.replayed()
        return lambda key: [str(path) for path in found(key) if path.suffix == ".mp4"]

    def replayed(self) -> Callable[[EpisodeKey], list[Path]]:
        """A function that looks up all files that replays made of an episode: pictures, videos and traces."""
        found: dict[tuple[Path, int], list[Path]] = {}
        for kind in (self.path / "pictures", self.path / "videos"):
            for path in sorted(kind.rglob("episode_*")):
                if match := re.fullmatch(r"episode_(\d{5,})(_.*\.(mp4|npz)|\.jpg)", path.name):
                    found.setdefault((path.parent.relative_to(kind), int(match[1])), []).append(path)
        return lambda key: found.get((_place(key), key.index), []) if found else []

    def save_played(self, key: EpisodeKey, played: PlayedEpisode) -> None:
        """Store an episode's actions."""
        write_atomically(self.actions(key), lambda file: file.write(played.content()))

    def load_played(self, key: EpisodeKey) -> PlayedEpisode:
        """Read an episode's actions."""
        with self._arrays(key) as arrays:
            travel = float(arrays["travel"]) if "travel" in arrays else math.nan
            return PlayedEpisode(arrays["actions"], arrays["rewards"], arrays["initial_state"], travel)

    def save_trace(self, key: EpisodeKey, trace: ReplayTrace) -> None:
        """Store a replay's trace."""
        diverged = -1 if trace.diverged_at is None else trace.diverged_at
        write_atomically(
            self.trace(key),
            lambda file: np.savez(file, states=trace.states, every=trace.every, diverged_at=diverged),
        )

    def load_trace(self, key: EpisodeKey) -> ReplayTrace | None:
        """Read a replay's trace; None if it does not exist or cannot be read."""
        try:
            with np.load(self.trace(key)) as arrays:
                diverged = int(arrays["diverged_at"])
                return ReplayTrace(arrays["states"], int(arrays["every"]), diverged if diverged >= 0 else None)
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            return None  # another replay can make it again

    def initial_state(self, key: EpisodeKey) -> np.ndarray:
        """Read only an episode's initial state."""
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
        """Read the manifest, or raise if this is not a run."""
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
    """The folder of a task's episodes, within its benchmark's folder."""
    return Path(_safe(key.benchmark), *(_safe(part) for part in key.task.split("/") if part))


def _safe(name: str) -> str:
    """A name that is safe as a folder's: a foreign environment can give its tasks any names."""
    safe = re.sub(r"[^\w.+-]|^\.+", "_", name)[:LONGEST_NAME]
    # The hash distinguishes a changed name from a task that already has the new name.
    return safe if safe == name else f"{safe}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
