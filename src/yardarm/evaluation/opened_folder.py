"""A run's folder as a command found or made it, so that it can be left as it was if the run never begins."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.results import LABELS, Labels, RunFolder, SeveralFolder, read_labels, write_labels

__all__ = ["OpenedFolder"]


@dataclass(frozen=True, slots=True)
class OpenedFolder:
    """A folder that a run is going to be played in."""

    path: Path
    made: tuple[Path, ...]
    """The folders that the command made for it, the innermost first."""
    before: frozenset[str]
    """What was in it already."""

    @classmethod
    def make(cls, path: Path, must_be_new: bool = False) -> OpenedFolder:
        """Make a folder and those around it, as far as they are missing."""
        missing = tuple(own for own in (path, *path.parents) if not own.exists())
        path.mkdir(parents=True, exist_ok=not must_be_new)
        return cls(path, missing, frozenset(os.listdir(path)))

    @contextlib.contextmanager
    def unmade_if_refused(self) -> Iterator[None]:
        """Remove it again if the run is refused."""
        try:
            yield
        except UsageError:
            self._unmake()
            raise

    def name_after(self, job_name: str | None) -> None:
        """Show a new run under the name of its job, until somebody gives it another."""
        if job_name and job_name != self.path.name and LABELS not in self.before:
            with contextlib.suppress(UsageError):  # it is good enough for a folder, but not for a list
                write_labels(self.path, Labels(name=job_name))

    def leave(self, job_name: str | None, keep_log: bool) -> None:
        """Remove the files of a run that never began, and the folders that were made for it, if nothing else is there.

        `keep_log`: what simulators printed may say why they failed.
        """
        run, several = RunFolder(self.path), SeveralFolder(self.path)
        files = [run.config, run.manifest, run.journal, run.eval_info, run.report, run.policy_error, several.index]
        with contextlib.suppress(UsageError):
            if read_labels(self.path) == Labels(name=job_name or ""):  # else somebody has labelled it meanwhile
                files.append(self.path / LABELS)
        if not keep_log or not run.worker_log.exists() or not run.worker_log.stat().st_size:
            files.append(run.worker_log)
        for file in files:
            if file.name not in self.before:
                file.unlink(missing_ok=True)
        actions = self.path / "actions"
        if actions.name not in self.before and actions.is_dir():
            shutil.rmtree(actions)
        self._unmake()

    def _unmake(self) -> None:
        with contextlib.suppress(OSError):  # something else is in it
            for folder in self.made:
                folder.rmdir()
