"""What a policy is called where people read it: as the user named it, not by its hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from yardarm.results.manifest.run import RunManifest

__all__ = ["CheckpointPlace", "PolicyLabel"]

# The folder of a checkpoint that holds the policy.
POLICY = "pretrained_model"
# Folders of a training that have a folder for each step.
BY_STEP = ("checkpoints", "snapshots")
OBJECT = "object:"
# Types that say nothing about a policy: its checkpoint, or its address, does.
GENERAL = ("pretrained", "lerobot", "remote")


@dataclass(frozen=True, slots=True)
class CheckpointPlace:
    """A checkpoint of a training: the training's folder, and the step."""

    training: str
    step: str
    """A number, or ``last``."""

    @classmethod
    def of(cls, path: str) -> CheckpointPlace | None:
        """The place that a checkpoint's path names; None if it is not in a training's folder."""
        parts = PurePosixPath(path).parts
        parts = parts[:-1] if parts and parts[-1] == POLICY else parts
        if len(parts) < 3 or parts[-2] not in BY_STEP or not re.fullmatch(r"\d+|last", parts[-1]):
            return None
        return cls(str(PurePosixPath(*parts[:-2])), parts[-1])


@dataclass(frozen=True, slots=True)
class PolicyLabel:
    """A policy's short name, its id, and all that was given to name it."""

    name: str
    id: str
    full: str
    """A checkpoint's whole path, a server's address, or the name again."""
    checkpoint: CheckpointPlace | None = None

    @classmethod
    def of(cls, manifest: RunManifest) -> PolicyLabel:
        """The label of a run's policy."""
        own = manifest.newest.policy
        identity = manifest.plan.policy or (own.id if own else None) or ""
        if own is None or own.type is None:
            return cls(identity, identity, identity)
        if own.path:
            return cls._of_checkpoint(identity, str(own.path))
        said = own.extra.get("url") or ("" if own.type in GENERAL else own.type.removeprefix(OBJECT)) or identity
        return cls(str(said), identity, str(said))

    @classmethod
    def _of_checkpoint(cls, identity: str, path: str) -> PolicyLabel:
        place = CheckpointPlace.of(path)
        if place is not None:
            return cls(f"{PurePosixPath(place.training).name}/{place.step}", identity, path, place)
        if not path.startswith("/"):  # on the Hub, a name is short enough as it is
            return cls(path, identity, path)
        telling = [part for part in PurePosixPath(path).parts if part not in ("/", POLICY)]
        return cls(telling[-1] if telling else identity, identity, path)

    def to_json(self) -> dict[str, str]:
        """For pages."""
        return {"name": self.name, "id": self.id, "full": self.full}
