"""The benchmark of environments shared as folders, on the Hub or locally: an ``env.py`` with a ``make_env``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import UsageError
from yardarm.hub import HUB_ID, HubFiles, download, hash_of_files
from yardarm.tasks.gym import GymLikeConfig
from yardarm.tasks.spec import TaskSpec

__all__ = ["HubConfig"]

DEFAULT_FILE = "env.py"


@dataclass
class HubConfig(GymLikeConfig):
    """Flags of ``--env.type=hub``."""

    name: ClassVar[str] = "hub"
    probe: ClassVar[str] = "yardarm.simulators.folder:describe_folder"
    simulator: ClassVar[str] = "yardarm.simulators.folder:FolderSimulator"
    about: ClassVar[str] = "an environment from a folder's env.py: --env.path=FOLDER_OR_HUB_ID"

    path: str = option("", "a folder, or a Hub id: owner/name[@revision][:file]; default file: env.py")
    task: str = option("", "suites of the environment, separated by commas; default: all")
    task_ids: list[int] | None = option(None, "ids of tasks within each suite; default: all")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path.strip() and (source := self._source()).is_local:
            self.path = f"{source.where}:{source.file}"  # so that a run's config.yaml works from anywhere

    def foreign_code(self) -> str:
        """The file that would run."""
        return str(self._source())

    def probe_arguments(self) -> dict[str, Any]:
        """Where the code is, and which environments to create."""
        folder, _ = self._pinned().fetch()
        return {
            "source": {"folder": str(folder), **self._making()},
            "suites": [word.strip() for word in self.task.split(",") if word.strip()],
            "task_ids": self.task_ids,
            "wanted": {"episode_length": self.episode_length, "success_key": self.success_entry()},
        }

    def tasks_from(self, answer: Sequence[Mapping[str, Any]]) -> tuple[TaskSpec, ...]:
        """One task per environment that `make_env` created."""
        folder, identity = self._source().fetch()
        tasks = []
        for found in answer:
            options = {**identity, **self._making(), "suite": found["suite"], "task_id": found["task_id"]}
            task = self.task_from(
                found, group=found["suite"], index=found["task_id"], name=found["name"], options=options
            )
            tasks.append(replace(task, env=replace(task.env, folder=str(folder))))
        return tuple(tasks)

    def _making(self) -> dict[str, Any]:
        source = self._source()
        return {"file": source.file, "kwargs": self.kwargs, "label": Path(source.where).name}

    def _pinned(self) -> Source:
        """The source at the Hub's current commit, which the run's config.yaml then names."""
        source = self._source()
        if not source.is_local and not source.is_pinned:
            folder, _ = source.fetch()
            self.path = f"{source.where}@{folder.name}:{source.file}"
        return self._source()

    def _source(self) -> Source:
        if not self.path.strip():
            raise UsageError("--env.path is empty; give a folder with an env.py, or a Hub id (owner/name)")
        return Source.of(self.path.strip())


@dataclass(frozen=True, slots=True)
class Source:
    """A file of code: in a local folder, or in a repository on the Hub."""

    where: str
    file: str
    revision: str | None = None

    @classmethod
    def of(cls, text: str) -> Source:
        """Read ``folder[:file]``, ``folder/file.py`` or ``owner/name[@revision][:file]``."""
        place, colon, file = text.partition(":")
        local = Path(place).expanduser()
        if local.is_file():
            return cls(str(local.parent.absolute()), local.name)
        if local.is_dir():
            return cls(str(local.absolute()), file if colon else DEFAULT_FILE)
        repo_id, _, revision = place.partition("@")
        if not HUB_ID.fullmatch(repo_id):
            raise UsageError(f"--env.path={text}: there is no such folder, and it is not a Hub id (owner/name) either")
        return cls(repo_id, file if colon else DEFAULT_FILE, revision or None)

    @property
    def is_local(self) -> bool:
        """Whether it is a local folder."""
        return Path(self.where).is_absolute()

    @property
    def is_pinned(self) -> bool:
        """Whether it names a commit, so that the code never changes."""
        return re.fullmatch("[0-9a-f]{40}", self.revision or "") is not None

    def fetch(self) -> tuple[Path, dict[str, Any]]:
        """The folder, downloaded if necessary, and what identifies its code."""
        if not self.is_local:
            folder = download(HubFiles(self.where, self.revision, "environment", self.file, allow=("*",)))
            identity = {"repository": self.where, "commit": folder.name, "file": self.file}
            return folder, {**identity, "code": hash_of_files(folder, "*.py")}
        folder = Path(self.where)
        if not (folder / self.file).is_file():
            raise UsageError(
                f"--env.path: {folder} has no {self.file}; name another file with --env.path={folder}:FILE"
            )
        return folder, {
            "file": self.file,
            "content": hash_of_files(folder, "*"),
            "code": hash_of_files(folder, "*.py"),
        }

    def __str__(self) -> str:
        if self.is_local:
            return f"{self.file} of the folder {self.where}"
        at = f" at {self.revision}" if self.revision else ""
        newest = "" if self.is_pinned else ", in its newest version"
        return f"{self.file} of {self.where}{at} from the Hub{newest}"
