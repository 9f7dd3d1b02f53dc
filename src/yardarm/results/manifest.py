"""The manifest of a run: what it is, what it was made with, and how far it has come."""

from __future__ import annotations

import datetime as dt
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.files import write_json
from yardarm.machine import cpu_model, total_memory_gb, usable_cores, versions
from yardarm.results.environment import influential_variables
from yardarm.results.files import FORMAT, RunFolder
from yardarm.results.mixing import benchmarks_of, cautions, mixed_versions
from yardarm.secrecy import redacted

__all__ = ["Manifest", "joined_sessions", "now", "provenance", "sessions_of"]

WRITE_EVERY_S = 10.0
SESSION = (
    "session_started",
    "updated",
    "versions",
    "environment_variables",
    "machine",
    "git_commit",
    "command",
    "batch_size",
    "renderer",
    "other_interpreters",
    "worlds",
    "uses_torch",
    "policy",
    "runner",
    "inference",
    "tuning",
)


class Manifest:
    """Kept up to date while a run goes on: its status is running, finished or interrupted.

    What the newest session was made with stands at the top; what earlier ones were made with, under ``sessions``.
    """

    def __init__(self, folder: RunFolder, plan: Mapping[str, Any]) -> None:
        self.folder = folder
        self._content: dict[str, Any] = (
            folder.read_manifest() if folder.manifest.exists() else {"started": now(), "sessions": []}
        )
        self._content.update(plan, format=FORMAT)
        self._earlier_s = self._content.get("wall_s", 0.0)
        self._opened = self._written = time.monotonic()

    @property
    def content(self) -> Mapping[str, Any]:
        """All of it, as it will be written."""
        return self._content

    @property
    def wall_s(self) -> float:
        """Seconds that the run has taken, over all its sessions."""
        return self._earlier_s + time.monotonic() - self._opened

    @property
    def inference(self) -> dict[str, Any] | None:
        """How the policy's batches are put together, if the run has begun."""
        return self._content.get("inference")

    @property
    def warnings(self) -> Sequence[str]:
        """What is odd about the run, as far as it is written down."""
        return self._content.get("warnings", ())

    @property
    def tracked(self) -> Mapping[str, Any]:
        """What a tracker knows the run by; empty if it is not tracked."""
        return self._content.get("wandb", {})

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """What each session was made with, the newest last."""
        return sessions_of(self._content) if "status" in self._content else []

    @property
    def mixed_versions(self) -> Mapping[str, Sequence[str]]:
        """What was used in several versions, by the sessions so far."""
        return mixed_versions(self.sessions, benchmarks_of(self._content))

    def begin_session(self, setting: Mapping[str, Any], anew: bool = False) -> None:
        """Note what this session is made with; `anew`: earlier ones have left nothing that counts."""
        earlier = [] if anew else self.sessions
        self._content.update({**provenance(), **setting}, sessions=earlier, session_started=now())
        self._content.update(mixed_versions=self.mixed_versions, warnings=list(cautions(sessions_of(self._content))))
        self._write("running")

    def note_stopping(self, state: Mapping[str, Any]) -> None:
        """Keep what a run that may stop early has come to; it is written with the rest."""
        self._content["stopping"] = dict(state)

    def note_tuning(self, choice: Mapping[str, Any]) -> None:
        """Keep what number of workers was chosen on the way, and why; it is written with the rest."""
        self._content["batch_size"] = choice["workers"]
        before = self._content["tuning"]
        self._content["tuning"] = {**before, "choices": [*before["choices"], {"at": now(), **choice}]}

    def note_tracked(self, tracked: Mapping[str, Any]) -> None:
        """Keep what a tracker knows the run by; it is written with the rest."""
        self._content["wandb"] = dict(tracked)

    def keep_current(self) -> None:
        """Write now and then, so that a crash loses little of the time spent."""
        if time.monotonic() - self._written > WRITE_EVERY_S:
            self._write("running")

    def finish(self, warnings: Sequence[str] = ()) -> None:
        """All is done."""
        self._content["warnings"] = [*cautions(self.sessions), *warnings]
        self._write("finished")

    def close(self) -> None:
        """What began but did not finish was interrupted."""
        if self._content.get("status") == "running":
            self._write("interrupted")

    def move_to(self, folder: RunFolder) -> None:
        """Be the manifest of what was saved of a run, which is not finished."""
        self.folder = folder
        self._write("interrupted")

    def _write(self, status: str) -> None:
        self._content.update(status=status, updated=now(), wall_s=self.wall_s)
        self._written = time.monotonic()
        write_json(self.folder.manifest, self._content)


def sessions_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each session of a run was made with, the newest last."""
    return [*manifest.get("sessions", ()), {name: manifest.get(name) for name in SESSION}]


def joined_sessions(parts: Iterable[Mapping[str, Any]], there: Mapping[str, Any] | None) -> dict[str, Any]:
    """The sessions of several runs as one manifest has them: the newest that played at the top.

    `there` is what they are merged into, which has those of runs that were merged before.
    """
    sessions = [session for part in parts for session in sessions_of(part)]
    known = [_which(session) for session in sessions]
    sessions += [session for session in (sessions_of(there) if there else ()) if _which(session) not in known]
    *earlier, newest = sorted(sessions, key=lambda own: (bool(own.get("batch_size")), str(own.get("session_started"))))
    return {**newest, "sessions": earlier}


def _which(session: Mapping[str, Any]) -> list[Any]:
    """What tells a session from others, and does not change while it goes on."""
    return [session.get(name) for name in ("session_started", "machine", "command")]


def provenance() -> dict[str, Any]:
    """Everything about this machine and this process that a reader of the results may ask for."""
    return {
        "versions": versions(),
        "machine": {
            "platform": platform.platform(),
            "cpu": cpu_model(),
            "usable_cores": usable_cores(),
            "memory_gb": total_memory_gb(),
        },
        "git_commit": _git_commit(),
        "command": [Path(sys.argv[0]).name, *redacted(sys.argv[1:])],
        "environment_variables": influential_variables(),
    }


def _git_commit() -> str | None:
    """The commit of the folder that the command was given in; "+" marks uncommitted changes."""
    try:
        commit = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, timeout=5, check=True).stdout.strip()


def now() -> str:
    """The time, as manifests have it."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
