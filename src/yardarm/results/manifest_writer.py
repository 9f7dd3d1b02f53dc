"""Keeps a run's manifest up to date during the run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from yardarm.files import write_json
from yardarm.results.files import RunFolder
from yardarm.results.manifest.run import RunManifest, TrackingRecord
from yardarm.results.manifest.session import SessionRecord, TuningChoiceRecord
from yardarm.results.manifest.stopping import StoppingRecord
from yardarm.results.mixing import cautions
from yardarm.results.provenance import now

__all__ = ["ManifestWriter"]

WRITE_EVERY_S = 10.0


class ManifestWriter:
    """Holds the record of a run, replaces it by a newer one, and writes it: running, then finished or interrupted."""

    def __init__(self, folder: RunFolder, manifest: RunManifest) -> None:
        self.folder = folder
        self.current = manifest
        """As it will be written."""
        self._in_session = False
        self._earlier_s = manifest.wall_s
        self._opened = self._written = time.monotonic()
        self._ended: float | None = None

    @property
    def wall_s(self) -> float:
        """Seconds that the run has taken, over all its sessions; what follows its end, such as pictures, is no part."""
        return self._earlier_s + (self._ended or time.monotonic()) - self._opened

    def begin_session(self, session: SessionRecord, from_scratch: bool = False) -> None:
        """Note what this session is made with; `from_scratch`: earlier ones left nothing that counts."""
        earlier = () if from_scratch else self.current.sessions
        sessions = (*earlier, replace(session, started=now()))
        self.current = replace(self.current, sessions=sessions, warnings=tuple(cautions(sessions)))
        self._in_session = True
        self._write("running")

    def note_stopping(self, state: StoppingRecord) -> None:
        """Keep the state of early stopping; it is written with the rest."""
        self.current = replace(self.current, stopping=state)

    def note_tuning(self, choice: TuningChoiceRecord) -> None:
        """Keep what number of workers was chosen on the way, and why; it is written with the rest."""
        self._replace_session(self.current.newest.tuned(choice))

    def note_tracked(self, tracking: TrackingRecord) -> None:
        """Keep what a tracker knows the run by; it is written with the rest."""
        self.current = replace(self.current, tracking=tracking)

    def keep_current(self) -> None:
        """Write now and then, so that a crash loses little of the time spent."""
        if time.monotonic() - self._written > WRITE_EVERY_S:
            self._write("running")

    def finish(self, warnings: Sequence[str] = ()) -> None:
        """All is done."""
        self._ended = time.monotonic()
        self.current = replace(self.current, warnings=(*cautions(self.current.sessions), *warnings))
        self._write("finished")

    def close(self) -> None:
        """What began but did not finish was interrupted."""
        if self.current.status == "running":
            self._write("interrupted")

    def move_to(self, folder: RunFolder) -> None:
        """Be the manifest of what was saved of a run, which is not finished."""
        self.folder = folder
        self._write("interrupted")

    def _replace_session(self, session: SessionRecord) -> None:
        self.current = replace(self.current, sessions=(*self.current.sessions[:-1], session))

    def _write(self, status: str) -> None:
        self.current = replace(self.current, status=status, updated=now(), wall_s=self.wall_s)
        if self._in_session:
            self._replace_session(replace(self.current.newest, updated=self.current.updated))
        self._written = time.monotonic()
        write_json(self.folder.manifest, self.current.to_json())
